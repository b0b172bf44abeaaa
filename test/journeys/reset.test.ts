/** After a reset of the sandbox its events still find Puente; the settings of the door are not part of the world. */
import { expect, test } from 'vitest';
import { ARGENTINA, call, DEVICE, POINT, startBench, startReceiver, tokenOf } from '../kit.ts';

test('a sale after a reset is announced', async () => {
  const bench = await startBench();
  const receiver = await startReceiver();
  try {
    await bench.notify(ARGENTINA, { notice_url: receiver.url });
    expect((await bench.control('/reset', { method: 'POST' })).status).toBe(204);
    const url = `${bench.app.public_url}${POINT}/devices/${DEVICE}/payment-intents`;
    expect((await call(url, { token: tokenOf(ARGENTINA), body: { amount: 1500 } })).status).toBe(200);
    await bench.atTerminal('pay');
    const [notice] = await receiver.waitFor(1);
    expect(notice?.body).toMatchObject({ state: 'FINISHED', amount: 1500 });
    expect(bench.sandbox.world.sent_log.list()).toMatchObject([{ action: 'order.processed', status: 200 }]);
  } finally {
    await bench.close();
    await receiver.close();
  }
});
