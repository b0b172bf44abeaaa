/** The IPN feed at a real receiver: `docs/field-notes.md` Spec Events, `docs/field-notes.md` QR §5.1 to §5.3, rule by rule. */
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Heard, MINUTE_MS, PAX, type Receiver, startReceiver } from './kit.ts';
import { ARGENTINA, openShop, preference, type Shop, storeOrder, v1Path, v2Path } from './qr-kit.ts';

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

const ORDER_ID = 40_100_000_001;
const PAYMENT_ID = 131_000_000_001;
const door = `legacy/merchants/${ARGENTINA}/notifications`;

const put = (url: string | null = receiver.url, changes: object = {}) =>
  shop.call('PUT', v2Path(), { body: storeOrder({ ...(url !== null && { notification_url: url }), ...changes }) });

/** What has arrived since the last look, once everything on its way has. */
async function heard(): Promise<Heard[]> {
  await shop.sandbox.world.settled();
  return receiver.heard.splice(0);
}
const urls = async () => (await heard()).map(({ url }) => url).sort();
const ofPayment = `/notices?id=${PAYMENT_ID}&topic=payment`;
const ofOrder = `/notices?id=${ORDER_ID}&topic=merchant_order`;

describe('form', () => {
  it('merchant_order: id before topic, the full resource URL, the agent of the topic, a signature that verifies nowhere', async () => {
    await put();
    const [notice, ...more] = await heard();
    expect(more).toEqual([]);
    expect(notice).toMatchObject({ method: 'POST', url: ofOrder });
    expect(notice?.text).toBe(
      `{"resource":"https://api.mercadolibre.com/merchant_orders/${ORDER_ID}","topic":"merchant_order"}`,
    );
    expect(notice?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'MercadoPago Feed v2.0 merchant_order',
      'x-request-id': expect.stringMatching(/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      'x-signature': expect.stringMatching(/^ts=\d{10},v1=[0-9a-f]{64}$/),
    });
  });

  it('merchant_order: the resource stands on the host of the setting', async () => {
    shop.sandbox.world.configure({ ipn_resource_base: 'http://puente.test:8080/' });
    await put();
    expect((await heard())[0]?.body.resource).toBe(`http://puente.test:8080/merchant_orders/${ORDER_ID}`);
  });

  it('payment: the bare id as resource', async () => {
    await put();
    shop.buyer('pay');
    const notice = (await heard()).find(({ url }) => url === ofPayment);
    expect(notice?.text).toBe(`{"resource":"${PAYMENT_ID}","topic":"payment"}`);
    expect(notice?.headers['user-agent']).toBe('MercadoPago Feed v2.0 payment');
  });

  it("the URL's own parameters are kept in front, and a URL without scheme is called by http", async () => {
    await put(`${receiver.url}?tenant=a%20b&topic=mine`);
    expect(await urls()).toEqual([`/notices?tenant=a%20b&topic=mine&id=${ORDER_ID}&topic=merchant_order`]);
    await shop.call('POST', v1Path('SUC001POS002'), {
      body: preference({ notification_url: receiver.url.replace('http://', '') }),
    });
    expect(await urls()).toEqual([`/notices?id=${ORDER_ID + 1}&topic=merchant_order`]);
  });

  it('a URL that can not be called is told nothing, and nobody else is told instead', async () => {
    await shop.control('PUT', door, { ipn_url: receiver.url });
    await put('http://');
    await put('ftp://shop.test');
    expect(await heard()).toEqual([]);
  });
});

describe('when', () => {
  it('creation, payment and closure', async () => {
    await put();
    expect(await urls()).toEqual([ofOrder]);
    shop.buyer('pay');
    expect(await urls()).toEqual([ofPayment, ofOrder]);
  });

  it('at the payment alone where merchant orders are born there', async () => {
    shop.sandbox.world.configure({ merchant_order_birth: 'payment' });
    await put();
    expect(await heard()).toEqual([]);
    shop.buyer('pay');
    expect(await urls()).toEqual([ofPayment, ofOrder]);
  });

  it('a declined payment: payment, and the merchant order stays opened', async () => {
    await put();
    await heard();
    shop.buyer('decline');
    expect(await urls()).toEqual([ofPayment]);
  });

  it('locking and unlocking: nothing', async () => {
    await put();
    await heard();
    shop.buyer('lock');
    shop.buyer('unlock');
    expect(await heard()).toEqual([]);
  });

  it.each<[string, () => Promise<unknown> | unknown]>([
    ['its lifetime', () => shop.sandbox.world.clock.advance(600_000)],
    ['DELETE', () => shop.call('DELETE', v2Path())],
    ["the till's next order", () => put(null)],
  ])('expiry by %s', async (_name, end) => {
    await put();
    await heard();
    await end();
    expect(await urls()).toEqual([ofOrder]);
  });

  it('a refund, whole or in parts: payment', async () => {
    await put();
    shop.buyer('pay');
    await heard();
    await shop.call('POST', `/v1/payments/${PAYMENT_ID}/refunds`, { body: { amount: 41 } });
    expect(await urls()).toEqual([ofPayment]);
    await shop.call('POST', `/v1/payments/${PAYMENT_ID}/refunds`);
    expect(await urls()).toEqual([ofPayment]);
  });

  it('after the state is committed, so that a read inside the handler sees it', async () => {
    await put();
    await heard();
    const seen: unknown[] = [];
    receiver.inside = async ({ url }) => {
      const path = url === ofPayment ? `/v1/payments/${PAYMENT_ID}` : `/merchant_orders/${ORDER_ID}`;
      seen.push((await shop.call('GET', path)).body.status);
    };
    shop.buyer('pay');
    await heard();
    expect(seen.sort()).toEqual(['approved', 'closed']);
  });
});

describe('where', () => {
  it("nowhere without a URL; the account's when the order has none; the order's own otherwise", async () => {
    await put(null);
    expect(await heard()).toEqual([]);
    await shop.control('PUT', door, { ipn_url: `${receiver.url}/account` });
    await put(null);
    const topics = `id=${ORDER_ID}&topic=merchant_order`;
    expect(await urls()).toEqual([
      `/notices/account?${topics}`,
      `/notices/account?id=${ORDER_ID + 1}&topic=merchant_order`,
    ]);
    await put();
    expect(await urls()).toEqual([
      `/notices/account?id=${ORDER_ID + 1}&topic=merchant_order`,
      `/notices?id=${ORDER_ID + 2}&topic=merchant_order`,
    ]);
  });

  it('the control door keeps the account URL beside the one of the intents, and shows both', async () => {
    await shop.control('PUT', door, { ipn_url: receiver.url });
    expect((await shop.control('GET', door)).body).toEqual({
      url: null,
      topic: 'point_integration_ipn',
      ipn_url: receiver.url,
    });
    const refused = await shop.call('PUT', `/_sandbox/${door}`, { body: { ipn_url: 'here' } });
    expect(refused.status).toBe(400);
  });

  it('payments of intents go to the account, and what orders pay is never told here', async () => {
    await shop.control('PUT', door, { ipn_url: receiver.url });
    const created = await shop.call('POST', `/point/integration-api/devices/${PAX}/payment-intents`, {
      body: { amount: 1500 },
    });
    expect(created.status).toBe(201);
    await shop.atTerminal('pay', {}, PAX);
    expect(await urls()).toEqual([ofPayment]);
    await shop.order();
    await shop.atTerminal('pay');
    expect(shop.sandbox.world.payments.size).toBe(2);
    expect(await heard()).toEqual([]);
  });
});

describe('source_news', () => {
  it('webhooks: payment and topic_merchant_order_wh, signed with the secret of the merchant', async () => {
    await shop.control('PUT', door, { ipn_url: receiver.url, secret: 's3cret' });
    await put(`${receiver.url}?source_news=webhooks`);
    shop.buyer('pay');
    const notices = await heard();
    expect(notices.map(({ url }) => url).sort()).toEqual([
      `/notices?source_news=webhooks&data.id=${PAYMENT_ID}&type=payment`,
      `/notices?source_news=webhooks&data.id=${ORDER_ID}&type=topic_merchant_order_wh`,
      `/notices?source_news=webhooks&data.id=${ORDER_ID}&type=topic_merchant_order_wh`,
    ]);
    for (const { url, headers } of notices) {
      const id = new URL(url, receiver.url).searchParams.get('data.id');
      const [, ts, v1] = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-signature'])) ?? [];
      const manifest = `id:${id};request-id:${headers['x-request-id']};ts:${ts};`;
      expect(v1).toBe(createHmac('sha256', 's3cret').update(manifest).digest('hex'));
    }
    const payment = notices.find(({ body }) => body.type === 'payment');
    expect(payment?.headers['user-agent']).toBe('MercadoPago WebHook v1.0 payment');
    expect(payment?.body).toEqual({
      id: expect.any(Number),
      live_mode: true,
      type: 'payment',
      date_created: expect.any(String),
      application_id: '4004001',
      user_id: ARGENTINA,
      version: 1,
      api_version: 'v1',
      action: 'payment.created',
      data: { id: String(PAYMENT_ID) },
    });
  });

  it('webhooks: a merchant order has its id at the root and its status twice', async () => {
    await put(`${receiver.url}?source_news=webhooks`);
    const [created] = await heard();
    const opened = { id: String(ORDER_ID), action: 'create', status: 'opened', data: { status: 'opened' } };
    expect(created?.body).toMatchObject({ ...opened, type: 'topic_merchant_order_wh' });
    shop.buyer('pay');
    const closed = (await heard()).find(({ body }) => body.type === 'topic_merchant_order_wh');
    expect(closed?.body).toMatchObject({ id: String(ORDER_ID), action: 'update', data: { status: 'closed' } });
  });

  it('webhooks: payment.updated from the second time on', async () => {
    await put(`${receiver.url}?source_news=webhooks`);
    shop.buyer('pay');
    await heard();
    await shop.call('POST', `/v1/payments/${PAYMENT_ID}/refunds`);
    expect((await heard()).map(({ body }) => body.action)).toEqual(['payment.updated']);
  });

  it('ipn: webhook alone as the specification says, or IPN alone as the guide says, by the setting', async () => {
    shop.sandbox.world.configure({ source_news_ipn: 'ipn' });
    const url = `${receiver.url}?source_news=ipn`;
    await put(url);
    expect(await urls()).toEqual([`/notices?source_news=ipn&id=${ORDER_ID}&topic=merchant_order`]);
    shop.sandbox.world.configure({ source_news_ipn: 'webhooks' });
    shop.buyer('decline');
    expect(await urls()).toEqual([`/notices?source_news=ipn&data.id=${PAYMENT_ID}&type=payment`]);
  });
});

describe('chargebacks and delivery_cancellation', () => {
  const chargeback = (body?: object, id: number | string = PAYMENT_ID) =>
    shop.call('POST', `/_sandbox/payments/${id}/chargeback`, { merchant: null, body });

  it('a chargeback makes the payment charged_back, can be read, and is told with the payment', async () => {
    await put();
    shop.buyer('pay');
    await heard();
    const opened = await chargeback();
    expect(opened).toMatchObject({
      status: 200,
      body: { payment_id: PAYMENT_ID, status: 'opened', amount_minor: 24_100 },
    });
    const told = await heard();
    expect(told.map(({ url }) => url).sort()).toEqual([ofPayment, `/notices?id=${opened.body.id}&topic=chargebacks`]);
    expect(told.find(({ body }) => body.topic === 'chargebacks')).toMatchObject({
      text: `{"resource":"${opened.body.id}","topic":"chargebacks"}`,
      headers: { 'user-agent': 'MercadoPago Feed v2.0 chargebacks' },
    });
    expect((await shop.call('GET', `/v1/payments/${PAYMENT_ID}`)).body.status).toBe('charged_back');
    expect((await shop.call('GET', `/v1/chargebacks/${opened.body.id}`)).status).toBe(200);
  });

  it.each([
    ['won', 'approved'],
    ['lost', 'charged_back'],
  ])('a dispute that is %s leaves the payment %s, and is told again', async (outcome, status) => {
    await put();
    shop.buyer('pay');
    const { body } = await chargeback();
    await heard();
    expect(await chargeback({ status: outcome })).toMatchObject({
      status: 200,
      body: { id: body.id, status: outcome },
    });
    expect(await urls()).toEqual([ofPayment, `/notices?id=${body.id}&topic=chargebacks`]);
    expect((await shop.call('GET', `/v1/payments/${PAYMENT_ID}`)).body.status).toBe(status);
    expect((await chargeback({ status: outcome })).status).toBe(409);
  });

  it('a chargeback is refused for what is no approved payment', async () => {
    expect((await chargeback()).status).toBe(404);
    await put();
    shop.buyer('decline');
    expect(await chargeback()).toMatchObject({ status: 409, body: { error: 'refused' } });
    expect((await chargeback({ status: 'won' })).status).toBe(409);
    expect((await chargeback({ status: 'drawn' })).status).toBe(400);
  });

  it("delivery_cancellation goes to the merchant order's URL, and to the account's for anything else", async () => {
    const alert = (body: object, merchant = ARGENTINA) =>
      shop.call('POST', `/_sandbox/legacy/merchants/${merchant}/delivery_cancellation`, { merchant: null, body });
    await shop.control('PUT', door, { ipn_url: `${receiver.url}/account` });
    await put();
    await heard();
    expect((await alert({ id: ORDER_ID })).status).toBe(204);
    expect((await alert({ id: 5 })).status).toBe(204);
    expect((await alert({ id: ORDER_ID }, '700100300')).status).toBe(204); // which has no account URL
    const told = await heard();
    expect(told.map(({ url }) => url).sort()).toEqual([
      '/notices/account?id=5&topic=delivery_cancellation',
      `/notices?id=${ORDER_ID}&topic=delivery_cancellation`,
    ]);
    expect(told.find(({ body }) => body.resource === '5')?.body).toEqual({
      resource: '5',
      topic: 'delivery_cancellation',
    });
    expect((await alert({})).status).toBe(400);
    expect((await alert({ id: 5 }, '1')).status).toBe(404);
  });
});

describe('delivery', () => {
  it('200 and 201 acknowledge; anything else comes back every 15 minutes, after the third try ever later', async () => {
    receiver.statuses = [500, 204, 302, 404, 201];
    await put(receiver.url, { expiration_date: new Date(shop.sandbox.world.clock.now() + 1e10).toISOString() });
    const first = await heard();
    expect(first).toHaveLength(1);
    const tries: number[] = [];
    for (let quarter = 1; quarter <= 8; quarter++) {
      shop.sandbox.world.clock.advance(15 * MINUTE_MS);
      const again = await heard();
      for (const { text, headers } of again) {
        expect([text, headers['x-request-id']]).toEqual([first[0]?.text, first[0]?.headers['x-request-id']]);
        tries.push(quarter);
      }
    }
    expect(tries).toEqual([1, 2, 3, 5]);
    expect(shop.sandbox.world.sent_log.list()).toMatchObject(
      [500, 204, 302, 404, 201].map((status, index) => ({
        topic: 'merchant_order',
        subject: String(ORDER_ID),
        action: 'created',
        attempt: index + 1,
        status,
      })),
    );
  });

  it('a receiver that takes longer than the patience is tried again', async () => {
    expect(shop.sandbox.world.settings.webhook_timeout_ms).toBe(22_000);
    shop.sandbox.world.configure({ webhook_timeout_ms: 50 });
    receiver.inside = () => new Promise(() => {});
    await put();
    expect(await heard()).toHaveLength(1);
    receiver.inside = async () => {};
    shop.sandbox.world.configure({ webhook_timeout_ms: 10_000, merchant_order_birth: 'payment' });
    shop.sandbox.world.clock.advance(15 * MINUTE_MS);
    expect((await heard()).map(({ url }) => url)).toContain(ofOrder);
    expect(shop.sandbox.world.sent_log.list()).toMatchObject([{ status: null }, { status: 200 }, { status: 200 }]);
  });

  it('nothing is told any more after a reset', async () => {
    receiver.statuses = [500];
    await put();
    await heard();
    await shop.control('POST', 'reset');
    shop.sandbox.world.clock.advance(60 * MINUTE_MS);
    expect(await heard()).toEqual([]);
  });
});
