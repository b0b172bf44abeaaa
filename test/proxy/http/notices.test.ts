/** Old notices for new outcomes: a state is committed before its notice is sent (`docs/field-notes.md` Point §3). */
import { afterEach, describe, expect, it } from 'vitest';
import { ARGENTINA, eventually, INTENT, type Receiver, startReceiver, topicOf } from '../../kit.ts';
import { idOf, openShop, type Shop } from './till.ts';

let shop: Shop;
let receiver: Receiver;
afterEach(async () => {
  await shop.close();
  await receiver.close();
});

describe('the receiver', () => {
  it('reads the announced state inside its handler', async () => {
    shop = await openShop({ PUENTE_READS_FRESH_MS: '60000' });
    let seen: unknown = null;
    receiver = await startReceiver(async (delivery) => {
      if (topicOf(delivery) === INTENT) seen = (await shop.read(delivery.query.get('id') ?? '')).body;
      return 200;
    });
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const device = shop.freshDevice();
    const id = idOf(
      await shop.create(device, { additional_info: { external_reference: '3_1_ab', ticket_number: 'T1' } }),
    );
    await shop.atTerminal('pay', { device });
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ id, state: 'FINISHED' });
    expect(seen).toMatchObject({ id, state: 'FINISHED', additional_info: { external_reference: '3_1_ab' } });
  });
});

describe('the payment of a sale at a terminal', () => {
  it('is told by its own topic beside the intent, with the number that answers on /v1/payments', async () => {
    shop = await openShop();
    receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: `${receiver.url}?tenant=7` });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device, { additional_info: { external_reference: 'Pedido 002' } }));
    await shop.atTerminal('pay', { device });
    const [[intent], [payment]] = [await receiver.waitFor(1, INTENT), await receiver.waitFor(1, 'payment')];
    const { id: number } = (intent?.body as { payment?: { id: number } } | undefined)?.payment ?? {}; // a flat intent
    expect(payment?.text).toBe(`{"resource":"${number}","topic":"payment"}`);
    expect([...(payment?.query ?? [])]).toEqual([
      ['tenant', '7'],
      ['id', String(number)],
      ['topic', 'payment'],
    ]);
    expect(payment?.headers).toMatchObject({
      'user-agent': 'MercadoPago Feed v2.0 payment',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'x-signature': expect.stringMatching(/^ts=\d{10},v1=[0-9a-f]{64}$/),
    });
    const read = await shop.till(`/v1/payments/${number}`);
    expect([read.status, read.body]).toMatchObject([
      200,
      { id: number, status: 'approved', external_reference: 'Pedido 002' },
    ]);
    expect((await shop.read(id)).body).toMatchObject({ payment: { id: number } });
  });
});

describe('held back', () => {
  it('without a URL, and sent as soon as there is one', async () => {
    shop = await openShop();
    receiver = await startReceiver();
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('pay', { device });
    await eventually(
      async () => shop.rows(device)[0],
      (row) => row?.state === 'DONE',
    );
    expect((await shop.ops('/metrics')).text).toMatch(/puente_waiting\{kind="notices"\} 2/);
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ id, state: 'FINISHED' });
    await eventually(
      async () => (await shop.ops('/metrics')).text,
      (text) => /puente_waiting\{kind="notices"\} 0/.test(text),
    );
  });
});
