/** The continuous reconciliation on a virtual clock: bounded rate, repairs by reads, one report per mismatch, rests. */
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import type { Trace } from '../../../src/ops/trace/trace.ts';
import { ARGENTINA, call, eventually, POINT, tokenOf } from '../../kit.ts';
import { closing, openForAll } from '../../open.ts';
import { openFront } from '../../proxy/http/front.ts';
import { TILL } from '../../proxy/http/qr-till.ts';
import { idOf } from '../../proxy/http/till.ts';

const PER_SECOND = 20;
const STEP_MS = 1000 / PER_SECOND;
const HOUR_MS = 3_600_000;
const SALES = 4;
let now = Date.parse('2026-03-02T09:00:00Z');

const front = openForAll(() =>
  openFront(
    { PUENTE_RECONCILE_SWEEP_PER_SECOND: String(PER_SECOND), PUENTE_RECONCILE_SWEEP_AGE_MS: String(24 * HOUR_MS) },
    { clock: { now: () => now, sleep } },
  ),
);
beforeAll(async () => {
  for (let number = 1; number <= SALES; number++) await sellAndPay(number);
});

const device = (number: number) => `NEWLAND_N950__LOAD${String(number).padStart(7, '0')}`;

async function sellAndPay(number: number): Promise<string> {
  now += 1_000;
  const path = `${POINT}/devices/${device(number)}/payment-intents`;
  const id = idOf(await front.till(path, { body: { amount: 1500 } }));
  now += 1_000;
  await front.atTerminal('pay', device(number));
  await eventually(
    () => saleOf(id),
    (sale) => sale?.state === 'DONE',
  );
  return id;
}

/** The sale that is known by an id or a reference; undefined while none is. */
async function saleOf(id: string): Promise<Trace['sale'] | undefined> {
  const answer = await front.ops(`/api/trace?id=${encodeURIComponent(id)}`);
  return (answer.body as { traces?: Trace[] }).traces?.[0]?.sale; // the API's shape
}

/** Lets the sweep poll as often as it can at this instant. */
const polls = () => sleep(6 * STEP_MS);

/** Reads of orders while the clock advances in steps of the rate. */
async function readsIn(steps: number): Promise<number> {
  const before = front.reads();
  for (let step = 0; step < steps; step++) {
    now += STEP_MS;
    await sleep(2 * STEP_MS);
  }
  return front.reads() - before;
}

interface Line {
  detail: { repaired: boolean };
}

async function linesOf(action: string): Promise<Line[]> {
  return ((await front.ops(`/api/audit?action=${encodeURIComponent(action)}`)).body as { lines: Line[] }).lines;
}

async function told(action: string): Promise<number> {
  return (await linesOf(action)).length;
}

it('reads no faster than its rate, each sale once, and then rests for an hour', async () => {
  now += 61_000;
  const before = front.reads();
  await eventually(
    async () => front.reads() - before,
    (count) => count > 0,
  );
  await polls();
  expect(front.reads() - before, 'one read at one instant').toBe(1);
  expect(await readsIn(1)).toBeLessThanOrEqual(1);
  await eventually(
    async () => readsIn(1).then(() => front.reads() - before),
    (count) => count >= SALES,
  );
  expect(await readsIn(SALES)).toBe(0);
  expect(front.reads() - before).toBe(SALES);
  now += 120_000;
  expect(await readsIn(3), 'nothing has changed').toBe(0);
  now += HOUR_MS;
  await eventually(
    () => readsIn(1),
    (count) => count === 1,
  );
});

it('mends what only a read was missing', async () => {
  const path = `/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`;
  const item = { title: 'Coffee', unit_price: 30, quantity: 1, unit_measure: 'unit', total_amount: 30 };
  const body = {
    external_reference: 'Factura 9',
    title: 'Shop',
    description: 'Table',
    total_amount: 30,
    items: [item],
  };
  expect((await front.till(path, { method: 'PUT', body })).status).toBe(204);
  await front.control(`/pos/${ARGENTINA}/${TILL}/pay`, { method: 'POST', body: {} });
  const paid = await eventually(
    () => saleOf('Factura 9'),
    (sale) => sale?.legacy_state === 'paid',
  );
  await front.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
  now += 2_000;
  const refund = await call(`${front.sandbox.url}/v1/orders/${paid?.order_id}/refund`, {
    method: 'POST',
    token: tokenOf(ARGENTINA),
    headers: { 'x-idempotency-key': 'in-the-panel' },
  });
  expect(refund.status, refund.text).toBe(201);
  await eventually(
    async () => {
      now += 61_000;
      await polls();
      return saleOf('Factura 9');
    },
    (sale) => sale?.legacy_state === 'reverted',
  );
  await front.control('/webhooks', { method: 'PUT', body: { mode: 'normal' } });
});

it('tells what it must not mend once, that it agrees again once, and what differs after that', async () => {
  const rounds = async (differs: boolean, expected: number) => {
    front.lie = differs
      ? (order) => ({ ...order, transactions: { payments: [{ id: 'PAY01', amount: '15.01' }] } })
      : null;
    const round = async () => {
      now += HOUR_MS + 61_000;
      await readsIn(2 * SALES);
      return told('mismatch amount');
    };
    await eventually(round, (count) => count >= expected);
    expect(await round()).toBe(expected);
    front.lie = null;
  };
  await rounds(true, SALES);
  // Repaired.
  await rounds(false, 2 * SALES);
  await rounds(true, 3 * SALES);
});

it('adopts the orphan of a create that was answered as refused', async () => {
  const rule = {
    method: 'POST',
    path: '/v1/orders',
    kind: 'error',
    when: 'after',
    status: 400,
    code: 'property_value',
  };
  await front.control('/faults', { body: rule });
  const body = { amount: 1500, additional_info: { external_reference: 'sale 9' } };
  const refused = await front.till(`${POINT}/devices/${device(9)}/payment-intents`, { body });
  expect(refused.status).toBe(400);
  await front.atTerminal('pay', device(9));
  await eventually(
    async () => {
      now += 61_000;
      await polls();
      return saleOf('sale 9');
    },
    (sale) => sale?.state === 'DONE',
  );
  // The next comparison, which may be made already, adds that both agree.
  expect((await linesOf('mismatch orphan')).filter(({ detail }) => !detail.repaired)).toHaveLength(1);
});

it('is off at 0', async () => {
  await using off = closing(await openFront({}, { clock: { now: () => now, sleep } }));
  const id = idOf(await off.till(`${POINT}/devices/${device(1)}/payment-intents`, { body: { amount: 1500 } }));
  await off.atTerminal('pay', device(1));
  await eventually(
    () => off.ops(`/api/trace?id=${id}`),
    ({ text }) => text.includes('"state":"DONE"'),
  );
  const before = off.reads();
  for (let turn = 0; turn < 3; turn++) {
    now += HOUR_MS;
    await polls();
  }
  expect(off.reads()).toBe(before);
});
