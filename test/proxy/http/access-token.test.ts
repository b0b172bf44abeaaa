/** A token in `X-Access-Token` goes upstream as a bearer token only, and appears nowhere else in clear text. */
import { expect, it } from 'vitest';
import { redactMessages } from '../../../src/proxy/evidence/redact.ts';
import { unknownHeaderNames } from '../../../src/proxy/http/request.ts';
import { ARGENTINA, DEVICE, POINT, tokenOf } from '../../kit.ts';
import { rawRequest, sendRaw } from './raw.ts';
import { answerJson, answerWho, orderFor, startOutside, startUnruly } from './unruly.ts';

const TOKEN = tokenOf(ARGENTINA);

it('orders are asked with the bearer token, never with the header', async () => {
  const upstream = await startUnruly((seen, response) => {
    if (seen.path === '/users/me') answerWho(response);
    else if (seen.path === '/v1/orders') answerJson(response, 201, orderFor(seen));
    else answerJson(response, 404, {});
  });
  const puente = await startOutside(upstream.url, {});
  const line = `POST ${POINT}/devices/${DEVICE}/payment-intents`;
  const bytes = rawRequest(line, [`X-Access-Token: ${TOKEN}`, 'Content-Type: application/json'], '{"amount":1500}');
  const { status } = await sendRaw(puente.app.public_url, bytes);
  await puente.close();
  await upstream.close();
  expect(status).toBe(201);
  const [order] = upstream.seen.filter(({ path }) => path === '/v1/orders');
  expect(order?.headers.authorization).toBe(`Bearer ${TOKEN}`);
  for (const { headers } of upstream.seen) expect(headers['x-access-token']).toBeUndefined();
});

it('legacy is asked with the bearer token, never with the header, which beside another token is left out', async () => {
  const upstream = await startUnruly((_seen, response) => answerJson(response, 200, { devices: [] }));
  const puente = await startOutside(upstream.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
  const other = 'APP_USR-another-token-of-the-tests';
  const asked = async (target: string, headers: string[]): Promise<unknown> => {
    await sendRaw(puente.app.public_url, rawRequest(`GET ${target}`, [`X-Access-Token: ${TOKEN}`, ...headers]));
    const seen = upstream.seen.findLast(({ path }) => path.startsWith('/v1/x'));
    return [seen?.headers.authorization, seen?.headers['x-access-token']];
  };
  try {
    expect(await asked('/v1/x', [])).toEqual([`Bearer ${TOKEN}`, undefined]);
    expect(await asked('/v1/x', [`Authorization: Bearer ${other}`])).toEqual([`Bearer ${other}`, undefined]);
    expect(await asked(`/v1/x?access_token=${other}`, [])).toEqual([undefined, undefined]);
  } finally {
    await puente.close();
    await upstream.close();
  }
});

it('a capture keeps nothing of it, and it is no unknown header', () => {
  const message = { headers: { 'X-Access-Token': TOKEN }, body: null };
  const kept = redactMessages({
    request: { method: 'GET', target: '/', ...message },
    answer: { status: 200, ...message },
    upstream: [],
  });
  expect(JSON.stringify(kept)).not.toContain(TOKEN);
  expect(unknownHeaderNames(['x-access-token'])).toEqual([]);
});
