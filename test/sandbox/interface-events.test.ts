/** Event rules of the specification that no other suite shows: local addresses, chargebacks by webhook, orders in the old feeds, subscriptions. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Heard, type Receiver, startReceiver } from './legacy/kit.ts';
import { ARGENTINA, openShop, type Shop, storeOrder, v2Path } from './legacy/qr-kit.ts';
import { qrBody } from './qr-kit.ts';

let shop: Shop;
let receiver: Receiver;
beforeEach(async () => {
  shop = await openShop();
  receiver = await startReceiver();
});
afterEach(async () => {
  await shop.close();
  await receiver.close();
});

const door = `legacy/merchants/${ARGENTINA}/notifications`;
const put = (notification_url?: string) =>
  shop.call('PUT', v2Path(), { body: storeOrder({ ...(notification_url !== undefined && { notification_url }) }) });
const configure = (settings: object) => shop.control('PUT', 'settings', settings);

/** What has arrived since the last look, once everything on its way has. */
async function heard(): Promise<Heard[]> {
  await shop.sandbox.world.settled();
  return receiver.heard.splice(0);
}

describe('local addresses', () => {
  const localhost = () => receiver.url.replace('127.0.0.1', 'localhost');

  test('are called by setting, as where the sandbox stands in', async () => {
    await put(receiver.url);
    expect(await heard()).toHaveLength(1);
  });

  test('are not called: an own URL and the one of the account, by name and by number', async () => {
    await configure({ local_notification_urls: 'not_called' });
    for (const url of [receiver.url, localhost(), 'http://127.0.0.1/notices', 'localhost/notices']) {
      expect((await put(url)).status).toBe(204);
    }
    await shop.control('PUT', door, { ipn_url: receiver.url });
    await put();
    expect(await heard()).toEqual([]);
    expect(shop.sandbox.world.sent_log.list()).toEqual([]);
  });

  test('any other address is called as ever', async () => {
    await configure({ local_notification_urls: 'not_called', webhook_timeout_ms: 1000 }); // nobody listens there
    await put(receiver.url.replace('127.0.0.1', '127.0.0.2'));
    await shop.sandbox.world.settled();
    expect(shop.sandbox.world.sent_log.list()).toHaveLength(1);
  });
});

describe('chargebacks', () => {
  test('by webhook: opened, then decided, and the handler can read it', async () => {
    await put(`${receiver.url}?source_news=webhooks`);
    shop.buyer('pay');
    await heard();
    const [payment] = [...shop.sandbox.world.payments.keys()];
    const seen: unknown[] = [];
    receiver.inside = async ({ body }) => {
      if (body.type !== 'topic_chargebacks_wh') return;
      seen.push((await shop.call('GET', `/v1/chargebacks/${body.data.id}`)).body.status);
    };
    const told = [];
    for (const status of ['opened', 'lost']) {
      await shop.control('POST', `payments/${payment}/chargeback`, { status });
      told.push((await heard()).find(({ body }) => body.type === 'topic_chargebacks_wh'));
    }
    expect(told.map((notice) => notice?.body.action)).toEqual(['chargebacks.created', 'chargebacks.updated']);
    expect(seen).toEqual(['opened', 'lost']);
  });
});

describe('orders in the old feeds', () => {
  test.each([['point_integration_ipn'], ['point_integration_wh']])(
    'neither %s nor the topics of payments and merchant orders tell of orders',
    async (topic) => {
      await shop.control('PUT', door, { url: receiver.url, ipn_url: receiver.url, topic });
      await shop.order();
      await shop.atTerminal('pay');
      await shop.order();
      await shop.atTerminal('cancel');
      await shop.call('POST', '/v1/orders', { key: 'qr-1', body: qrBody() });
      shop.buyer('pay');
      expect([...shop.sandbox.world.orders.values()].map(({ status }) => status)).toEqual([
        'processed',
        'canceled',
        'processed',
      ]);
      expect(await heard()).toEqual([]);
    },
  );

  test('no old topic can be chosen for orders, and no order takes a URL of its own', async () => {
    const refused = await shop.call('POST', '/v1/orders', {
      key: 'k1',
      body: qrBody({ notification_url: receiver.url }),
    });
    expect([refused.status, refused.body.errors[0].details]).toEqual([400, ['notification_url']]);
    const topic = await shop.call('PUT', `/_sandbox/${door}`, { body: { url: receiver.url, topic: 'order' } });
    expect(topic.status).toBe(400);
  });
});

describe('payments of subscriptions', () => {
  test('are told to the account, and the handler can read them', async () => {
    await shop.control('PUT', door, { ipn_url: receiver.url });
    const seen: unknown[] = [];
    receiver.inside = async ({ body }) => {
      const payment = (await shop.call('GET', `/v1/payments/${body.resource}`)).body;
      seen.push([payment.id, payment.status, payment.transaction_amount, payment.external_reference]);
    };
    const attempt = { id: 61, amount_minor: 150_000, external_reference: '2301', payment: { id: 19_800_000_777 } };
    for (const status of ['rejected', 'approved', 'canceled']) {
      await shop.control('POST', `invoices/${ARGENTINA}`, { ...attempt, payment: { ...attempt.payment, status } });
      expect((await heard()).map(({ url }) => url)).toEqual(['/notices?id=19800000777&topic=payment']);
    }
    expect(seen).toEqual([
      [19_800_000_777, 'rejected', 1500, '2301'],
      [19_800_000_777, 'approved', 1500, '2301'],
      [19_800_000_777, 'cancelled', 1500, '2301'],
    ]);
  });

  test('nothing is told before the first attempt', async () => {
    await shop.control('PUT', door, { ipn_url: receiver.url });
    await shop.control('POST', `invoices/${ARGENTINA}`, { status: 'scheduled', payment: null });
    expect(await heard()).toEqual([]);
  });
});
