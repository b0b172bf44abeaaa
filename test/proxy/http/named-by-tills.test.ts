/** Names that tills make up without limit (fields, headers, paths, units) are counted as one; all pages work. */
import { beforeAll, expect, it } from 'vitest';
import type { CoverageView, LossView, UnknownView } from '../../../src/ops/readiness/coverage.ts';
import { usualKeeping } from '../../engines/keeping.ts';
import { type Answer, ARGENTINA, BRAZIL, call, eventually, OPS_TOKEN, POINT } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openShop } from './till.ts';

/** As many as fit into a body. */
const NAMES = 4_600;
const CALLS = 30 + 1 + 20 * 3;
const MERCHANT = `/api/merchants/${ARGENTINA}`;

const shop = openForAll(() => openShop({ PUENTE_ROUTING_DEFAULT_STAGE: 'orders' }));
beforeAll(async () => {
  for (let sale = 0; sale < 30; sale++) {
    const made_up = Array.from({ length: NAMES }, (_, index) => [`n${sale * NAMES + index}`, 1]);
    expect((await shop.create(shop.freshDevice(), Object.fromEntries(made_up))).status).toBeLessThan(300);
  }
  const items = Array.from({ length: 1_500 }, (_, index) => ({ [`x${index}`]: 1, title: 'a' }));
  await shop.till(`/mpmobile/instore/qr/${ARGENTINA}/TILL1`, { body: { external_reference: 'a', items } });
  for (let turn = 0; turn < 20; turn++) {
    const headers = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`x-made-up-${turn}-${index}`, '1']));
    await shop.till(`${POINT}/devices?limit=1`, { headers });
    await shop.till(`/made/up${'x'.repeat(turn)}`);
    await shop.till(`${POINT}/devices/${'D'.repeat(200)}${turn}/payment-intents`, { body: { amount: 1500 } });
  }
  await eventually(kept, (rows) => rows.length === CALLS);
});

/** The exchange rows of all calls, read beside the running process. */
function kept(): Promise<{ losses: string | null; lost: string | null }[]> {
  return usualKeeping().read(shop.data_dir, 'SELECT losses, lost FROM exchanges');
}

async function asked(path: string, headers: Record<string, string> = {}): Promise<Answer> {
  const answer = await shop.ops(path, { headers });
  expect([path, answer.status, answer.status === 200 ? '' : answer.text]).toEqual([path, 200, '']);
  return answer;
}

it('every page and report of the merchant answers, and says how much was not named', async () => {
  const { losses } = (await asked(`/api/losses?merchant=${ARGENTINA}`)).body as { losses: LossView[] };
  expect(losses.length).toBeLessThan(1_100);
  expect(losses.find(({ field }) => field === '(others)')).toMatchObject({ count: 30 });
  const { cells } = (await asked(`${MERCHANT}/coverage`)).body as CoverageView;
  expect(cells.length).toBeLessThan(1_500);
  const { unknowns } = (await asked(`/api/unknowns?merchant=${ARGENTINA}`)).body as { unknowns: UnknownView[] };
  for (const what of ['field', 'header']) expect(unknowns.filter((one) => one.what === what).length).toBe(501);
  for (const path of [
    MERCHANT,
    `${MERCHANT}/readiness`,
    `/api/report?format=json&merchant=${ARGENTINA}`,
    `/api/report?format=html&merchant=${ARGENTINA}`,
    '/api/report?format=json',
    '/api/report/figures',
    '/api/fleet',
  ])
    await asked(path);
  const cookie = await signedIn();
  for (const path of ['/', `/merchants/${ARGENTINA}`, '/reports', '/limitations'])
    await asked(path, { cookie, accept: 'text/html' });
});

async function signedIn(): Promise<string> {
  const at = `${shop.app.ops_url}/sign-in`;
  const form_token = /name="form_token" value="([0-9a-f]+)"/.exec((await call(at)).text)?.[1] ?? '';
  const { headers } = await call(at, {
    body: new URLSearchParams({ form_token, token: OPS_TOKEN }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: shop.app.ops_url },
  });
  return String([headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
}

it('two names that are one to a store cost neither their own call nor those of other merchants', async () => {
  const [first, second] = [shop.freshDevice(), shop.freshDevice()];
  const strange = '{"amount":1500,"z\\ud800":1,"z\\udc00":1}';
  const answers = await Promise.all([
    shop.create(first),
    shop.till(`${POINT}/devices/${shop.freshDevice()}/payment-intents`, { merchant: BRAZIL, body: strange }),
    shop.create(second),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
  await eventually(kept, (rows) => rows.length === CALLS + answers.length);
  const { unknowns } = (await asked(`/api/unknowns?merchant=${BRAZIL}`)).body as { unknowns: UnknownView[] };
  expect(unknowns.map(({ name, count }) => [name, count])).toEqual([['body.z\ufffd', 1]]);
});

it('the merchant can be moved', async () => {
  const { revision } = (await asked(MERCHANT)).body as { revision: number };
  const moved = await shop.ops(`${MERCHANT}/stage`, {
    method: 'PUT',
    body: { stage: 'legacy', reason: 'a test moves it', revision, new: true },
  });
  expect([moved.status, moved.status === 200 ? '' : moved.text]).toEqual([200, '']);
});

it('what one call lost is bounded in its record, too', async () => {
  for (const { losses, lost } of await kept())
    for (const list of [losses, lost]) expect(JSON.parse(list ?? '[]').length).toBeLessThan(200);
});
