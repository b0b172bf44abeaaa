/**
 * Moves with open sales through the door, in both directions (`docs/protocol.md` §3.10). Each lane alone:
 * `test/proof/protocol-lane.test.ts`, `test/proxy/routing/legacy-sale.test.ts`; in any order: `moves-model.test.ts`.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import {
  ARGENTINA,
  DEVICE,
  despiteLearning,
  eventually,
  POINT,
  SECOND_DEVICE,
  startBench,
  tokenOf,
} from '../../kit.ts';
import { openForEach } from '../../open.ts';
import { rawRequest } from '../../proxy/http/raw.ts';
import { idOf } from '../../proxy/http/till.ts';

const bench = openForEach(() => startBench());

const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;
const TILL = `/instore/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/orders`;
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

async function move(stage: 'legacy' | 'orders'): Promise<void> {
  const path = `/api/merchants/${ARGENTINA}`;
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

async function legacyIntents(): Promise<string[]> {
  const { body } = await bench.control('/state');
  return (body as { legacy: { intents: { id: string }[] } }).legacy.intents.map(({ id }) => id); // the sandbox's shape
}

it('the next sale goes to legacy, with its body, as soon as the open one is over, even if no event told so', async () => {
  const first = idOf(await sell(1500));
  await bench.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
  await move('legacy');
  await bench.atTerminal('pay');
  const second = await sell(1600);
  expect(second.body).toMatchObject({ amount: 1600 });
  expect(await legacyIntents()).toEqual([idOf(second)]);
  expect((await bench.till(`${POINT}/payment-intents/${first}`)).body).toMatchObject({ state: 'FINISHED' });
});

it('a sale whose till is slow to say it goes by the stage as it is then', async () => {
  await move('orders');
  await sell(1500, `${POINT}/devices/${SECOND_DEVICE}/payment-intents`); // from here on the owner of the token is known
  const body = '{"amount":1700}';
  const headers = [`authorization: Bearer ${tokenOf(ARGENTINA)}`, 'content-type: application/json'];
  const whole = rawRequest(`POST ${CREATE}`, headers, body);
  const socket = connect(Number(new URL(bench.app.public_url).port), '127.0.0.1');
  socket.write(whole.subarray(0, -4));
  await pause(300); // enough for the lane to be chosen; on a slower machine the test proves less
  await move('legacy');
  socket.write(whole.subarray(-4));
  const [answer] = await once(socket, 'data');
  socket.destroy();
  expect(String(answer)).toMatch(/^HTTP\/1\.1 201 /);
  expect(await legacyIntents()).toHaveLength(1);
});

it('the next sale is an order as soon as legacy says that the intent is over', async () => {
  await move('legacy');
  const first = idOf(await sell(1500));
  await known(1);
  await move('orders');
  await bench.atTerminal('pay');
  expect((await sell(1600)).status).toBe(201);
  expect(orders()).toEqual(['created']);
  expect((await bench.till(`${POINT}/payment-intents/${first}`)).body).toMatchObject({ state: 'FINISHED' });
});

it('a till goes on where it has something, is replaced there, and moves when that is taken away', async () => {
  await move('legacy');
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
