/** A move with open sales: a unit has one lane at a time; a retry never charges twice (`docs/protocol.md` §3.10). */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ARGENTINA, DEVICE, eventually, POINT, SECOND_DEVICE, startBench, tokenOf } from '../../kit.ts';
import { openForEach } from '../../open.ts';
import { rawRequest } from '../../proxy/http/raw.ts';
import { idOf, legacyErrorOf } from '../../proxy/http/till.ts';

const bench = openForEach(() => startBench());

const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;
const sell = (amount: number, path = CREATE) => bench.till(path, { body: { amount } });

async function move(stage: 'legacy' | 'orders'): Promise<void> {
  const { revision } = (await bench.ops(`/api/merchants/${ARGENTINA}`)).body as { revision: number }; // a view has one
  const moved = await bench.ops(`/api/merchants/${ARGENTINA}/stage`, {
    method: 'PUT',
    body: { stage, reason: 'a test moves it', revision, new: true },
  });
  expect(moved.status).toBe(200);
}

async function legacyIntents(): Promise<string[]> {
  const { body } = await bench.control('/state');
  return (body as { legacy: { intents: { id: string }[] } }).legacy.intents.map(({ id }) => id); // the sandbox's shape
}

it('while a sale is open on orders its unit stays there: busy for another, the same for its retry', async () => {
  const first = idOf(await sell(1500));
  await move('legacy');
  expect(idOf(await sell(1500))).toBe(first);
  expect(legacyErrorOf(await sell(1600))).toMatchObject({ error: '2205', status: 409 });
  expect(await legacyIntents()).toEqual([]);
});

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

it('other units of the merchant move at once', async () => {
  await sell(1500);
  await move('legacy');
  const elsewhere = await sell(1500, `${POINT}/devices/${SECOND_DEVICE}/payment-intents`);
  expect(await legacyIntents()).toEqual([idOf(elsewhere)]);
});

it('a create in doubt is not sold again on legacy by its retry', async () => {
  await bench.control('/faults', {
    body: { method: 'POST', path: '/v1/orders', kind: 'reset', when: 'after', times: 'always' },
  });
  expect((await sell(1500)).status).toBe(504);
  await move('legacy');
  await bench.control('/faults', { method: 'DELETE' });
  const retried = await eventually(
    () => sell(1500),
    ({ status }) => status === 201,
  );
  expect(await legacyIntents()).toEqual([]);
  expect([...bench.sandbox.world.orders.values()].map(({ status }) => status)).toEqual(['created']);
  expect(idOf(retried)).toMatch(/^[0-9a-f-]{36}$/);
});

it('the list of events shows intents of both sides, after a move in either direction', async () => {
  const day = (offset: number): string => new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10);
  const list = async (): Promise<string[]> => {
    const { body } = await bench.till(`${POINT}/payment-intents/events?startDate=${day(-1)}&endDate=${day(1)}`);
    return (body as { events: { payment_intent_id: string }[] }).events.map((event) => event.payment_intent_id); // as listed
  };
  const cancel = (id: string) => bench.till(`${CREATE}/${id}`, { method: 'DELETE' });
  const on_orders = idOf(await sell(1500));
  await cancel(on_orders);
  await move('legacy');
  const on_legacy = idOf(await sell(1600));
  await cancel(on_legacy);
  expect((await list()).toSorted()).toEqual([on_orders, on_legacy].toSorted());
  await move('orders');
  // Lists are cached for a moment, because tills poll.
  expect(await eventually(list, (ids) => ids.length === 2)).toContain(on_legacy);
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
