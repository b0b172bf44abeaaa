/** A merchant that moves to orders: open legacy sales stay on legacy until terminal; no retry makes a second sale. */
import { beforeEach, expect, it } from 'vitest';
import { ARGENTINA, BRAZIL, DEVICE, despiteLearning, eventually, POINT, SECOND_DEVICE, startBench } from '../../kit.ts';
import { openForEach } from '../../open.ts';
import { idOf, legacyErrorOf } from '../../proxy/http/till.ts';

const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;
const TILL = `/instore/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/orders`;
const PREFERENCE = `/mpmobile/instore/qr/${ARGENTINA}/SUC001POS001`;

const bench = openForEach(() => startBench());
beforeEach(async () => {
  await move('legacy');
});

const sell = (amount: number, path = CREATE) => bench.till(path, { body: { amount } });
const show = (reference: string) =>
  bench.till(TILL, {
    method: 'PUT',
    body: {
      ...{ external_reference: reference, title: 'Shop', total_amount: 20 },
      items: [{ title: 'Coffee', unit_price: 20, quantity: 1, unit_measure: 'unit', total_amount: 20 }],
    },
  });
const shown = async (): Promise<unknown> =>
  ((await bench.till(TILL)).body as { external_reference?: string }).external_reference; // the till's order, on either lane

async function move(stage: 'legacy' | 'orders', merchant = ARGENTINA): Promise<void> {
  const path = `/api/merchants/${merchant}`;
  const { status } = await despiteLearning(async () => {
    const { revision } = (await bench.ops(path)).body as { revision: number }; // every view has a revision
    const body = { stage, reason: 'a test moves it', revision, new: true };
    return bench.ops(`${path}/stage`, { method: 'PUT', body });
  });
  expect(status).toBe(200);
}

/** Resolves when Puente has stored this many legacy answers; it stores them after sending them to the till. */
const known = (count: number, state = 'open') =>
  eventually(
    () => bench.ops('/metrics'),
    ({ text }) => text.includes(`puente_legacy_sales_total{state="${state}"} ${count}\n`),
  );

const orders = (): string[] => [...bench.sandbox.world.orders.values()].map(({ status }) => status);

async function legacyQrs(): Promise<string[]> {
  const { body } = await bench.control('/state');
  return (body as { legacy_qr: { orders: { state: string }[] } }).legacy_qr.orders.map(({ state }) => state); // its shape
}

it('while an intent is open on legacy its terminal stays there, and the others move at once', async () => {
  const first = idOf(await sell(1500));
  await move('orders');
  expect(legacyErrorOf(await sell(1500))).toMatchObject({ error: '2205', status: 409 });
  expect(orders()).toEqual([]);
  expect((await sell(1500, `${POINT}/devices/${SECOND_DEVICE}/payment-intents`)).status).toBe(201);
  expect(orders()).toEqual(['created']);
  expect((await bench.till(`${POINT}/payment-intents/${first}`)).body).toMatchObject({ id: first, state: 'OPEN' });
});

it('the next sale is an order as soon as legacy says that the intent is over', async () => {
  const first = idOf(await sell(1500));
  await known(1);
  await move('orders');
  await bench.atTerminal('pay');
  expect((await sell(1600)).status).toBe(201);
  expect(orders()).toEqual(['created']);
  expect((await bench.till(`${POINT}/payment-intents/${first}`)).body).toMatchObject({ state: 'FINISHED' });
});

it('an intent that is canceled on legacy after the move frees its terminal', async () => {
  const first = idOf(await sell(1500));
  await known(1);
  await move('orders');
  expect((await bench.till(`${CREATE}/${first}`, { method: 'DELETE' })).body).toEqual({ id: first });
  await known(1, 'ended');
  expect((await sell(1600)).status).toBe(201);
  expect(orders()).toEqual(['created']);
});

it('a create whose answer got lost on legacy is not sold again as an order by its retry', async () => {
  await bench.control('/faults', { body: { method: 'POST', path: CREATE, kind: 'reset', when: 'after' } });
  expect((await sell(1500)).status).toBeGreaterThanOrEqual(500);
  await move('orders');
  expect(legacyErrorOf(await sell(1500))).toMatchObject({ error: '2205', status: 409 });
  expect(orders()).toEqual([]);
});

it('a till goes on where it has something, is replaced there, and moves when that is taken away', async () => {
  expect((await show('one')).status).toBe(204);
  await move('orders');
  expect((await show('two')).status).toBe(204);
  expect([await legacyQrs(), orders()]).toEqual([['expired', 'open'], []]);
  expect(await shown()).toBe('two');
  await known(2);
  expect((await bench.till(TILL, { method: 'DELETE' })).status).toBe(204);
  await known(1, 'ended');
  expect((await show('three')).status).toBe(204);
  expect([await legacyQrs(), orders()]).toEqual([['expired', 'canceled'], ['created']]);
  expect(await shown()).toBe('three');
});

it('a v1 sale, which only its merchant order tells of, keeps its till until it is paid', async () => {
  const items = [{ title: 'Coffee', currency_id: 'ARS', unit_price: 20, quantity: 1 }];
  const preference = (external_reference: string) => bench.till(PREFERENCE, { body: { external_reference, items } });
  expect((await preference('one')).status).toBe(200);
  await move('orders');
  expect((await preference('two')).status).toBe(200);
  expect([await legacyQrs(), orders()]).toEqual([['expired', 'open'], []]);
  await known(2);
  expect((await bench.control(`/pos/${ARGENTINA}/SUC001POS001/pay`, { body: {} })).status).toBe(200);
  expect((await preference('three')).status).toBe(200);
  expect(orders()).toEqual(['created']);
  expect(await legacyQrs()).toEqual(['expired', 'paid']);
});

it('what orders refuse goes to legacy after a rollback, as soon as the order on its terminal is over', async () => {
  const voucher = { amount: 1500, payment: { type: 'voucher_card', voucher_type: 'sodexo' } };
  const create = (body: object) => bench.till(CREATE, { merchant: BRAZIL, body });
  await move('orders', BRAZIL);
  expect((await create({ amount: 1500 })).status).toBe(201);
  expect((await create(voucher)).status).toBe(400);
  await bench.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
  await move('legacy', BRAZIL);
  expect(legacyErrorOf(await create(voucher))).toMatchObject({ error: '2205', status: 409 });
  await bench.atTerminal('pay', { merchant: BRAZIL });
  expect((await create(voucher)).body).toMatchObject({ payment: { voucher_type: 'sodexo' } });
  expect(orders()).toEqual(['processed']);
});
