/** After a reset of the sandbox its events still reach Puente, because a reset keeps the settings of the door. */
import { expect, test } from 'vitest';
import { ARGENTINA, call, DEVICE, eventually, INTENT, POINT, startBench, startReceiver, tokenOf } from '../kit.ts';
import { closing } from '../open.ts';

test('a sale after a reset is announced', async () => {
  const bench = await startBench();
  const receiver = await startReceiver();
  try {
    await bench.notify(ARGENTINA, { notice_url: receiver.url });
    expect((await bench.control('/reset', { method: 'POST' })).status).toBe(204);
    const url = `${bench.app.public_url}${POINT}/devices/${DEVICE}/payment-intents`;
    expect((await call(url, { token: tokenOf(ARGENTINA), body: { amount: 1500 } })).status).toBe(201);
    await bench.atTerminal('pay');
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ state: 'FINISHED', amount: 1500 });
    expect(bench.sandbox.world.sent_log.list()).toMatchObject([{ action: 'order.processed', status: 200 }]);
  } finally {
    await bench.close();
    await receiver.close();
  }
});

test('a payment that was open at a reset does not hold its terminal', async () => {
  await using bench = closing(await startBench());
  const create = () => bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
  const { id } = (await create()).body as { id: string }; // the id of an intent
  await bench.control('/reset', { method: 'POST' });
  await eventually(
    async () => (await bench.till(`${POINT}/payment-intents/${id}`)).body,
    (body) => (body as { state: string }).state === 'ABANDONED',
  );
  const next = await create();
  expect(next.status).toBe(201);
  expect(next.body).not.toMatchObject({ id });
});

test('a sandbox that keeps its world goes on with an open payment after a restart', async () => {
  const kept = { PUENTE_SANDBOX_KEEPS_WORLD: 'true' };
  const first = await startBench(kept);
  const { id } = (await first.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } })).body as {
    id: string; // the id of an intent
  };
  await first.app.close();
  await using second = closing(await startBench({ ...kept, PUENTE_DATA_DIR: first.data_dir }));
  expect(second.sandbox.is_restored).toBe(true);
  await second.atTerminal('pay');
  await eventually(
    async () => (await second.till(`${POINT}/payment-intents/${id}`)).body,
    (body) => (body as { state: string }).state === 'FINISHED',
  );
});
