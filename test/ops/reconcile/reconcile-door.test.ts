/** Reconciliation through the ops door: a dry run finds injected faults of each kind, a repair fixes each once. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ReconcileNews } from '../../../src/ops/reconcile/reconcile.ts';
import { type Bench, DEVICE, eventually, POINT, startBench } from '../../kit.ts';
import { idOf } from '../../proxy/http/till.ts';

let bench: Bench;
beforeEach(async () => {
  // The sweep and polls are off, so only the reconciliation finds the faults.
  bench = await startBench({
    PUENTE_RECONCILE_POINT_INTERVAL_MS: '3600000',
    PUENTE_RECONCILE_MAX_INTERVAL_MS: '86400000',
    PUENTE_RECONCILE_SWEEP_PER_SECOND: '0',
    PUENTE_CREATE_SETTLE_AFTER_MS: '3600000',
  });
});
afterEach(() => bench.close());

const sell = (amount: number) => bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount } });

async function reconcile(body: object = {}): Promise<ReconcileNews[]> {
  const answer = await bench.ops('/api/reconcile', { body });
  expect(answer.status).toBe(200);
  return answer.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

async function lines(action: string): Promise<unknown[]> {
  const { body } = await bench.ops(`/api/audit?action=${encodeURIComponent(action)}`);
  return (body as { lines: unknown[] }).lines; // the API's shape
}

const mismatches = (news: ReconcileNews[]) => news.filter((one) => one.news === 'mismatch');

it('refuses a repair without a reason, and an unknown field', async () => {
  expect((await bench.ops('/api/reconcile', { body: { apply: true } })).status).toBe(400);
  expect((await bench.ops('/api/reconcile', { body: { all: true } })).status).toBe(400);
});

it('stale: a payment that no event told is found dry, then repaired, then gone', async () => {
  const id = idOf(await sell(1500));
  await bench.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
  await bench.atTerminal('pay');
  expect(mismatches(await reconcile())).toMatchObject([
    { mismatch: { kind: 'stale', legacy_id: id }, repaired: false },
  ]);
  expect((await bench.ops(`/api/trace?id=${id}`)).body).toMatchObject({ traces: [{ sale: { legacy_state: 'OPEN' } }] });
  expect(mismatches(await reconcile({ apply: true, reason: 'events were lost' }))).toMatchObject([
    { mismatch: { kind: 'stale' }, repaired: true },
  ]);
  expect(mismatches(await reconcile())).toEqual([]);
  expect((await bench.ops(`/api/trace?id=${id}`)).body).toMatchObject({
    traces: [{ sale: { legacy_state: 'FINISHED' } }],
  });
});

it('missing: an order that the service denies is told, and stays the till’s while it may live', async () => {
  const id = idOf(await sell(1500));
  await bench.control('/faults', {
    body: { method: 'GET', path: '/v1/orders/*', kind: 'error', status: 404, code: 'order_not_found', times: 'always' },
  });
  const news = await reconcile({ apply: true, reason: 'a look' });
  expect(mismatches(news)).toMatchObject([
    { mismatch: { kind: 'missing', legacy_id: id, repair: 'none' }, repaired: false },
  ]);
  await reconcile({ apply: true, reason: 'a second look' });
  expect(await lines('mismatch missing')).toMatchObject([{ subject: id }]);
});

it('orphan: an order whose create was answered as refused is adopted, once', async () => {
  await bench.control('/faults', {
    body: { method: 'POST', path: '/v1/orders', kind: 'error', when: 'after', status: 400, code: 'property_value' },
  });
  const refused = await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, {
    body: { amount: 1500, additional_info: { external_reference: 'sale 7' } },
  });
  expect(refused.status).toBe(400);
  const { body } = await bench.control('/state');
  expect((body as { orders: unknown[] }).orders).toHaveLength(1); // the sandbox's shape
  await bench.atTerminal('pay');
  const parked = await eventually(
    () => reconcile(),
    (news) => mismatches(news).length > 0,
  );
  expect(mismatches(parked)).toMatchObject([{ mismatch: { kind: 'orphan', repair: 'adopt' }, repaired: false }]);
  expect(mismatches(await reconcile({ apply: true, reason: 'found an orphan' }))).toMatchObject([{ repaired: true }]);
  expect(mismatches(await reconcile())).toEqual([]);
  expect((await bench.ops('/api/trace?id=sale%207')).body).toMatchObject({
    traces: [{ sale: { legacy_state: 'FINISHED', state: 'DONE' } }],
  });
  for (const action of ['reconcile', 'mismatch orphan']) expect(await lines(action)).toHaveLength(1);
});
