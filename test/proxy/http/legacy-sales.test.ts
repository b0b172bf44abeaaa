/** Sales created on legacy, as tills see them: which of them hold a unit after a move, and for how long. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  ARGENTINA,
  type Bench,
  DEVICE,
  despiteLearning,
  eventually,
  POINT,
  startBench,
  tokenOf,
} from '../../kit.ts';

const TILL = 'SUC001POS001';
const NUMBER = '1000001';
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;
const INVENTED = `APP_USR-6666666-666666-${'f'.repeat(32)}-${ARGENTINA}`;
const ORDERS = `/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`;
const BY_NUMBER = `/mpmobile/instore/qr/${NUMBER}`;
const HOUR_MS = 3_600_000;

const item = { title: 'Coffee', unit_price: 120.5, quantity: 2, unit_measure: 'unit', total_amount: 241 };
const sale = { external_reference: 'F1', title: 'Shop', description: 'T', total_amount: 241, items: [item] };
const preference = {
  external_reference: 'F1',
  items: [{ id: 'A1', title: 'Coffee', currency_id: 'ARS', unit_price: 120.5, quantity: 2 }],
};

const clock = { ahead_ms: 0 };
let bench: Bench;
beforeEach(async () => {
  clock.ahead_ms = 0;
  const now = (): number => Date.now() + clock.ahead_ms;
  const sleep = (duration_ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, duration_ms));
  bench = await startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }, { clock: { now, sleep } });
});
afterEach(() => bench.close());

const moveToOrders = (): Promise<void> => moveTo('orders');

async function moveTo(stage: string): Promise<void> {
  const path = `/api/merchants/${ARGENTINA}`;
  const { status } = await despiteLearning(async () => {
    const { revision } = (await bench.ops(path)).body as { revision: number }; // every view has a revision
    const body = { stage, reason: 'a test', revision, new: true };
    return bench.ops(`${path}/stage`, { method: 'PUT', body });
  });
  expect(status).toBe(200);
}

const fault = (body: object): Promise<unknown> => bench.control('/faults', { body });
const noFaults = (): Promise<unknown> => bench.control('/faults', { method: 'DELETE' });
const putSale = (path = ORDERS): Promise<{ status: number }> => bench.till(path, { method: 'PUT', body: sale });

async function ordersAsked(): Promise<number> {
  const { requests } = (await bench.control('/state')).body as { requests: { method: string; path: string }[] }; // the control door's form
  return requests.filter(({ method, path }) => method === 'POST' && path === '/v1/orders').length;
}

/** Waits until the metrics show an outcome of proxied sales, which is counted when its row is written. */
const settled = (outcome: string, count = 1): Promise<unknown> =>
  eventually(
    () => bench.ops('/metrics'),
    ({ text }) => text.includes(`puente_legacy_sales_total{state="${outcome}"} ${count}\n`),
  );

describe('a sale that legacy may have', () => {
  it('without an answer holds its till for the hour while nobody can say whose the token is', async () => {
    await fault({ method: 'PUT', path: '/instore/*', kind: 'reset', when: 'after' });
    await fault({ method: 'GET', path: '/users/me', kind: 'error', status: 503, times: 'always' });
    expect((await putSale()).status).toBe(504);
    await settled('in_doubt');
    await noFaults();
    clock.ahead_ms = HOUR_MS / 2;
    await moveToOrders();
    expect((await putSale()).status).toBe(204);
    expect(await ordersAsked()).toBe(0);
  });

  it('and still shows keeps its till long after the hour, until it is taken away', async () => {
    expect((await putSale()).status).toBe(204);
    await settled('open');
    clock.ahead_ms = 2 * HOUR_MS;
    await moveToOrders();
    expect((await putSale()).status).toBe(204);
    expect(await ordersAsked()).toBe(0);
    expect((await bench.till(ORDERS, { method: 'DELETE' })).status).toBe(204);
    await settled('ended');
    expect((await putSale()).status).toBe(204);
    expect(await ordersAsked()).toBe(1);
  });

  it.each([
    ['at a point of sale', '/instore/*', () => putSale(), () => settled('open', 2)],
    ['at a terminal', '/point/*', () => bench.till(INTENTS, { body: { amount: 1500 } }), () => settled('refused')],
  ])('%s keeps its unit although a read just after it does not show it', async (_what, path, create, again) => {
    await create();
    await settled('open');
    await moveToOrders();
    await fault({ method: 'GET', path, kind: 'error', status: 404, times: 'always' });
    await create();
    await again();
    expect(await ordersAsked()).toBe(0);
    clock.ahead_ms = 60_000; // for a 404 that no lag explains
    await create();
    expect(await ordersAsked()).toBe(1);
  });

  it('by a number that cannot be looked up waits for nobody, and is found out later', async () => {
    await fault({ method: 'GET', path: '/pos/*', kind: 'error', status: 503, times: 'always' });
    expect((await bench.till(BY_NUMBER, { body: preference })).status).toBe(200);
    await settled('open');
    await moveToOrders();
    const other = ORDERS.replace(TILL, 'SUC001POS002');
    expect((await putSale(other)).status).toBe(204);
    expect(await ordersAsked()).toBe(0); // it may be the looked-up till
    await bench.till(other, { method: 'DELETE' });
    await settled('ended');
    await noFaults();
    clock.ahead_ms = 60_000; // past the freshness of reads
    expect((await putSale(other)).status).toBe(204);
    expect(await ordersAsked()).toBe(1);
    expect((await putSale()).status).toBe(204);
    expect(await ordersAsked()).toBe(1);
  });

  it('is also a refund on the terminal', async () => {
    await bench.till(INTENTS, { body: { amount: 1500 } });
    await bench.atTerminal('pay');
    const { payments } = (await bench.control('/state')).body as { payments: { id: number }[] }; // the control door's form
    const body = { payment_id: String(payments.at(-1)?.id) };
    expect((await bench.till(`${POINT}/devices/${DEVICE}/refund`, { body })).status).toBe(200);
    await moveToOrders();
    expect((await bench.till(INTENTS, { body: { amount: 1500 } })).status).toBe(409);
    expect(await ordersAsked()).toBe(0);
  });
});

describe('what an invented token sends', () => {
  it.each([
    ['by a number', BY_NUMBER, preference, 200],
    ['at a terminal', INTENTS, { amount: 1500 }, 201],
  ])('%s holds nothing once legacy has refused it', async (_what, path, body, status) => {
    expect((await bench.till(path, { token: INVENTED, body })).status).toBe(401);
    await settled('refused');
    await moveToOrders();
    expect((await bench.till(path, { body })).status).toBe(status);
    expect(await ordersAsked()).toBe(1);
  });
});

it.each(['legacy', 'shadow'])('on stage %s, a read that shows how a sale ended is in the sums', async (stage) => {
  const { status } = await bench.notify(ARGENTINA, { credential: tokenOf(ARGENTINA) }); // names the currency
  expect(status).toBe(200);
  if (stage !== 'legacy') await moveTo(stage);
  const { id } = (await bench.till(INTENTS, { body: { amount: 1500 } })).body as { id: string }; // a 201 has one
  await settled('open');
  const read = (): Promise<Answer> => bench.till(`${POINT}/payment-intents/${id}`);
  await read();
  const line = { what: 'sale', lane: 'legacy', family: 'point', currency: 'ARS', count: 1, amount: '15.00' };
  const sums = async (): Promise<unknown> =>
    ((await bench.ops(`/api/report?format=json&merchant=${ARGENTINA}`)).body as { sums: unknown }).sums; // the API's form
  expect(await sums()).toMatchObject([{ ...line, outcome: 'open' }]);
  await bench.control('/clock', { body: { advance_ms: HOUR_MS } });
  expect((await read()).body).toMatchObject({ state: 'ABANDONED' });
  await settled('ended');
  expect(await sums()).toMatchObject([{ ...line, outcome: 'expired' }]);
});

it('a slash at the end of a sale changes nothing', async () => {
  await moveToOrders();
  expect((await putSale(`${ORDERS}/`)).status).toBe(204);
  expect((await bench.till(INTENTS, { body: { amount: 1500 } })).status).toBe(201);
  expect((await bench.till(`${INTENTS}/`, { body: { amount: 1600 } })).status).toBe(409);
  expect(await ordersAsked()).toBe(2);
});
