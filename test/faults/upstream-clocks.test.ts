/** Upstream machines whose clocks differ by seconds: a live status dated ahead never hides a terminal one (F27). */
import { beforeEach, expect, it } from 'vitest';
import type { ReconcileNews } from '../../src/ops/reconcile/reconcile.ts';
import { type Answer, eventually, POINT, startReceiver } from '../kit.ts';
import { openForAll } from '../open.ts';
import { type Order, openTill, startUpstream } from './upstream-stand.ts';
import { sendEvent } from './webhook-sender.ts';

/** Added to Puente's clock by hand, so that no poll runs unasked and a lifetime ends at once. */
let passed_ms = 0;
const receiver = openForAll(() => startReceiver());
const upstream = openForAll(() => startUpstream());
const puente = openForAll(() =>
  openTill(
    upstream.url,
    { PUENTE_MERCHANTS_NOTICE_URL: receiver.url },
    { clock: { now: () => Date.now() + passed_ms, sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } },
  ),
);
beforeEach(() => {
  passed_ms = 0;
});

interface Sale {
  device: string;
  id: string;
  order: Order;
}

async function sale(): Promise<Sale> {
  const device = puente.device();
  const { id } = (await puente.create(device)).body as { id: string };
  const order = upstream.orders.get(puente.row(device).idempotency_key);
  if (order === undefined) throw new Error('no order was made');
  return { device, id, order };
}

/** Changes the order on a machine whose clock is `ahead_s` seconds fast. */
function change({ order }: Sale, status: string, ahead_s: number, paid: object = {}): void {
  const payments = (order.transactions as { payments: object[] }).payments.map((one) => ({ ...one, ...paid }));
  const last_updated_date = new Date(Date.now() + ahead_s * 1_000).toISOString();
  Object.assign(order, { status, status_detail: status, last_updated_date, transactions: { payments } });
}

const PAID = { reference_id: '16500000001', status: 'processed' };
const read = ({ id }: Sale): Promise<Answer> => puente.till(`${POINT}/payment-intents/${id}`);
const told = ({ id }: Sale): unknown[] => receiver.received.filter(({ query }) => query.get('id') === id);

async function mismatches(): Promise<ReconcileNews[]> {
  const answer = await puente.ops('/api/reconcile', { method: 'POST', body: {} });
  const news = answer.text.trim().split('\n');
  return news.map((line) => JSON.parse(line) as ReconcileNews).filter((one) => one.news === 'mismatch');
}

it('a payment dated before the last read is shown, notified once, and frees its terminal [F27]', async () => {
  const first = await sale();
  change(first, 'at_terminal', 2);
  expect((await read(first)).body).toMatchObject({ state: 'ON_TERMINAL' });
  change(first, 'processed', 0, PAID);
  expect((await read(first)).body).toMatchObject({ state: 'FINISHED', payment: { id: 16500000001 } });
  await eventually(
    async () => told(first).length,
    (count) => count === 1,
  );
  expect((await puente.create(first.device)).body).toMatchObject({ device_id: first.device });
});

it('a payment dated before the last read that only an event or only the reconciliation brings is shown, too [F27]', async () => {
  const [by_event, found] = [await sale(), await sale()];
  for (const one of [by_event, found]) {
    change(one, 'at_terminal', 7_200);
    expect((await read(one)).body).toMatchObject({ state: 'ON_TERMINAL' });
    change(one, 'processed', -2, PAID);
  }
  expect((await sendEvent(puente.app.public_url, { id: by_event.order.id })).status).toBe(200);
  await eventually(
    async () => told(by_event).length,
    (count) => count === 1,
  );
  expect(await mismatches()).toMatchObject([{ mismatch: { kind: 'stale', legacy_id: found.id } }]);
  expect((await read(found)).body).toMatchObject({ state: 'FINISHED' });
  expect(await mismatches()).toEqual([]);
});

it.each([
  ['canceled', 'CANCELED'],
  ['expired', 'ABANDONED'],
  ['failed', 'ERROR'],
])(
  '%s dated before the last read is a terminal state, too; a payment dated even earlier replaces it [F27]',
  async (status, shown) => {
    const one = await sale();
    change(one, 'at_terminal', 4);
    await read(one);
    change(one, status, 2);
    expect((await read(one)).body).toMatchObject({ state: shown });
    change(one, 'processed', 0, PAID);
    passed_ms += 1_000; // a terminal order is read once a second
    await sendEvent(puente.app.public_url, { id: one.order.id });
    await eventually(
      async () => puente.row(one.device).legacy_state,
      (state) => state === 'FINISHED',
    );
  },
);

it('an order that waits for a person, dated before the last read, releases its terminal when it expires [F27]', async () => {
  const one = await sale();
  change(one, 'at_terminal', 2);
  await read(one);
  change(one, 'action_required', 0);
  expect((await read(one)).body).toMatchObject({ state: 'ON_TERMINAL' });
  passed_ms = 60 * 60_000;
  expect((await read(one)).body).toMatchObject({ state: 'CONFIRMATION_REQUIRED' });
  await eventually(
    async () => told(one).length,
    (count) => count === 1,
  );
});

it('an upstream machine that lags reverts nothing, however it dates its answers [F27]', async () => {
  const one = await sale();
  change(one, 'processed', 0, PAID);
  expect((await read(one)).body).toMatchObject({ state: 'FINISHED' });
  for (const status of ['at_terminal', 'created', 'canceled']) {
    change(one, status, 3_600);
    await sendEvent(puente.app.public_url, { id: one.order.id, request_id: status });
    passed_ms += 1_000;
  }
  await eventually(
    async () => upstream.heard.filter(({ method, path }) => method === 'GET' && path === `/v1/orders/${one.order.id}`),
    (reads) => reads.length >= 2,
  );
  expect((await read(one)).body).toMatchObject({ state: 'FINISHED' });
  expect(told(one)).toHaveLength(1);
});
