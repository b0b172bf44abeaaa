/** The ops door and foreign pages: cross-site calls, form posts, DNS rebinding, scripts in texts (F125–F127, F136). */
import { beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, call, OPS_TOKEN, startBench } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { sendRaw } from '../../proxy/http/raw.ts';
import { auditsOf } from '../../proxy/http/till.ts';

let own: string;
const bench = openForAll(() => startBench({ PUENTE_OPS_HOSTS: 'puente-ops.internal' }));
beforeAll(async () => {
  own = new URL(bench.app.ops_url).host;
});

const MERCHANT = `/api/merchants/${ARGENTINA}`;
const CHANGE = { reason: 'agreed with the merchant', revision: 0, new: true, declined: 'finished' };
const get = (headers: Record<string, string>, path = '/api/merchants') => bench.ops(path, { headers });

describe('a call that a browser makes', () => {
  it.each([
    ['for another site', { 'sec-fetch-site': 'cross-site' }],
    ['for a neighbour', { 'sec-fetch-site': 'same-site' }],
    ['of a foreign origin', { origin: 'https://evil.example' }],
    ['of no origin', { origin: 'null' }],
    ['of our name on another port', { origin: 'http://127.0.0.1:1' }],
    ['of two origins', { origin: 'http://a.example http://b.example' }],
  ])('%s is refused, even with a token [F125]', async (_what, headers) => {
    const answers = [await get(headers), await bench.ops(MERCHANT, { method: 'PUT', body: CHANGE, headers })];
    for (const answer of answers) expect([answer.status, answer.body]).toMatchObject([403, { error: 'forbidden' }]);
    expect(answers[0]?.headers['access-control-allow-origin']).toBeUndefined();
    expect(await auditsOf(bench.data_dir)).toEqual([]);
  });

  it('of our own origin, or typed by a person, passes', async () => {
    expect((await get({ origin: `http://${own}`, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    expect((await get({ 'sec-fetch-site': 'none' })).status).toBe(200);
  });

  it('as a preflight gets no permission [F125]', async () => {
    const answer = await call(bench.app.ops_url + MERCHANT, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'PUT' },
    });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json5',
    '',
  ])('as a form could (%j) changes nothing [F125]', async (type) => {
    const headers = { 'content-type': type };
    const answer = await bench.ops(MERCHANT, { method: 'PUT', body: JSON.stringify(CHANGE), headers });
    expect([answer.status, answer.body]).toMatchObject([
      400,
      { error: 'bad_request', message: expect.stringContaining('application/json') },
    ]);
    expect(await auditsOf(bench.data_dir)).toEqual([]);
  });
});

describe('a host name', () => {
  it.each(['evil.example', 'evil.example:8081', 'localhost.evil.example', '127.0.0.1.evil.example', 'a b', '', '@'])(
    '%j that is not ours is refused on every path [F125]',
    async (host) => {
      for (const path of ['/api/merchants', '/healthz', '/metrics', '/nothing']) {
        expect([path, await statusFor(host, path)]).toEqual([path, 403]);
      }
    },
  );

  it.each([
    'localhost',
    'LOCALHOST:1',
    '127.0.0.1',
    '[::1]:8081',
    '10.1.2.3',
    'puente-ops.internal',
    'Puente-Ops.Internal:80',
  ])('%s is ours, or an address, which nobody can turn', async (host) => {
    expect(await statusFor(host, '/api/merchants')).toBe(200);
  });
});

async function statusFor(host: string, path: string): Promise<number> {
  const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${OPS_TOKEN}`, 'Connection: close'];
  return (await sendRaw(bench.app.ops_url, `${lines.join('\r\n')}\r\n\r\n`)).status;
}

describe('every answer', () => {
  it.each(['/api/merchants', '/api/nothing', '/healthz', '/readyz', '/metrics', '/nothing', '/api/merchants/%zz'])(
    '%s may not run scripts, be framed, be cached or be read as another type [F126]',
    async (path) => {
      const { headers } = await bench.ops(path);
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringMatching(/^default-src 'none';.*frame-ancestors 'none'$/),
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      });
      expect(headers['content-type']).toMatch(/^(application\/json|text\/plain)/);
      expect(headers['x-powered-by']).toBeUndefined();
    },
  );

  it('that refuses has one shape, and no internals [F136]', async () => {
    for (const [path, options] of [
      ['/api/nothing', {}],
      ['/api/merchants/%zz', {}],
      [`${MERCHANT}?a=1`, {}],
      ['/api/merchants', { method: 'GET', body: { a: 1 } }],
      [MERCHANT, { method: 'PUT', body: '{"reason":' }],
      [MERCHANT, { method: 'PUT', body: `"${'x'.repeat(600_000)}"` }],
      [MERCHANT, { method: 'PUT', body: `${'['.repeat(100_000)}` }],
      [MERCHANT, { method: 'PATCH', body: CHANGE }],
    ] as const) {
      const { status, body, text } = await bench.ops(path, options);
      expect([path, status >= 400 && status < 500]).toEqual([path, true]);
      expect(body).toEqual(
        expect.objectContaining({ error: expect.any(String), message: expect.stringMatching(/\w/) }),
      );
      expect(text).not.toMatch(/\.ts|node_modules|\bat \w+ \(/);
    }
  });
});

describe('an unknown parameter or field', () => {
  it.each([
    [
      'a field of a body',
      MERCHANT,
      { ...CHANGE, revision_: 1 },
      /^revision_ is not a known field; allowed is reason, /,
    ],
    ['two fields', MERCHANT, { ...CHANGE, a: 1, b: 2 }, /^a, b are not known fields; allowed is /],
    ['a field of Object', MERCHANT, { ...CHANGE, constructor: 1 }, /^constructor is not a known field/],
    ['a missing field', MERCHANT, { revision: 0 }, /^reason/],
  ])('%s is refused by name, with what is allowed [F127]', async (_what, path, body, sentence) => {
    const answer = await bench.ops(path, { method: 'PUT', body });
    expect([answer.status, (answer.body as { message: string }).message]).toEqual([
      400,
      expect.stringMatching(sentence),
    ]);
  });

  it.each([
    ['/api/merchants?limit=1', /^limit is not a known field; allowed is search/],
    ['/api/openapi.json?limit=1', /^limit is not a known field; no field is accepted here/],
    ['/api/audit?order=asc', /^order is not a known field; allowed is merchant, subject, action, since, until, limit/],
    ['/api/audit/verify?expect_sequenc=1', /^expect_sequenc is not .*; allowed is expect_sequence, expect_hash/],
  ])('in the query is refused by name: %s [F127]', async (path, sentence) => {
    const answer = await bench.ops(path);
    expect([answer.status, (answer.body as { message: string }).message]).toEqual([
      400,
      expect.stringMatching(sentence),
    ]);
  });
});
