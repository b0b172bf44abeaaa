/** Old notices of QR sales through all of Puente: content, receiver, form, reads (`docs/field-notes.md` QR §5). */
import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { ARGENTINA, type Delivery, eventually, type Receiver, startReceiver } from '../../kit.ts';
import { openShop, type Shop } from './till.ts';

const TILL = 'SUC001POS001';
const PAY = `/pos/${ARGENTINA}/${TILL}`;
const SECRET = 'the secret this shop already has';
const SALE = {
  external_reference: 'Factura 0001',
  title: 'Sale',
  description: 'Two coffees',
  total_amount: 241,
  items: [{ title: 'Coffee', unit_price: 120.5, quantity: 2, unit_measure: 'unit', total_amount: 241 }],
};
const V2 = `/instore/qr/seller/collectors/${ARGENTINA}/pos/${TILL}/orders`;

let shop: Shop;
let receiver: Receiver;
afterEach(async () => {
  await shop.close();
  await receiver.close();
});

async function open(
  merchant: Record<string, unknown> = {},
  handle?: (delivery: Delivery) => Promise<number> | number,
  settings: Record<string, string> = {},
): Promise<void> {
  shop = await openShop({ PUENTE_RECONCILE_QR_INTERVAL_MS: '200', ...settings }); // no event is sent for an expired order
  receiver = await startReceiver(handle);
  if (Object.keys(merchant).length > 0) await shop.notify(ARGENTINA, merchant);
}

async function sell(notification_url?: string): Promise<void> {
  const answer = await shop.till(V2, {
    method: 'PUT',
    body: { ...SALE, ...(notification_url === undefined ? {} : { notification_url }) },
  });
  expect([answer.status, answer.text]).toEqual([204, '']);
}

async function buyer(action: string): Promise<void> {
  const answer = await shop.control(`${PAY}/${action}`, { body: {} });
  expect([answer.status, answer.text]).toEqual([200, expect.anything()]);
}

/** The signature of an IPN has the right form but no known key. */
const UNVERIFIABLE = /^ts=(\d{10}),v1=([0-9a-f]{64})$/;

function lines(deliveries: Delivery[]): string[] {
  return deliveries.map(({ path, query }) => `${path}?${query}`);
}

function topics(deliveries: Delivery[]): string[] {
  return deliveries.map(({ query }) => `${query.get('topic') ?? query.get('type')}`);
}

describe('IPN', () => {
  it('tells the merchant order when it is made, and the payment and its merchant order when it is paid', async () => {
    await open();
    await sell(`${receiver.url}?tenant=7&mesa=a%20b`);
    const [opened] = await receiver.waitFor(1);
    const id = opened?.query.get('id');
    expect(id).toMatch(/^8\d{15}$/);
    expect(lines([...receiver.received])).toEqual([
      `/notices?tenant=7&mesa=a+b&id=${id}&topic=merchant_order`, // URLSearchParams prints the space in its own way
    ]);
    expect(opened?.text).toBe(`{"resource":"${shop.app.public_url}/merchant_orders/${id}","topic":"merchant_order"}`);
    expect(opened?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'MercadoPago Feed v2.0 merchant_order',
      'x-request-id': expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    });
    expect(opened?.headers['x-signature']).toMatch(UNVERIFIABLE);
    await buyer('pay');
    const [, order] = await receiver.waitFor(2, 'merchant_order');
    const [payment] = await receiver.waitFor(1, 'payment');
    const number = payment?.query.get('id');
    expect(number).toMatch(/^\d+$/);
    expect(payment?.text).toBe(`{"resource":"${number}","topic":"payment"}`);
    expect(payment?.headers['user-agent']).toBe('MercadoPago Feed v2.0 payment');
    expect([...(payment?.query.keys() ?? [])]).toEqual(['tenant', 'mesa', 'id', 'topic']);
    expect(order?.text).toBe(opened?.text);
    expect(new Set(receiver.received.map(({ headers }) => headers['x-request-id'])).size).toBe(3);
  });

  it('goes to the merchant where the sale names no URL', async () => {
    await open();
    await shop.notify(ARGENTINA, { notice_url: `${receiver.url}?all=1`, notice_secret: SECRET });
    await sell();
    await buyer('pay');
    const told = await receiver.waitFor(3);
    expect(topics(told).sort()).toEqual(['merchant_order', 'merchant_order', 'payment']);
    for (const { query, headers } of told) {
      expect(query.get('all')).toBe('1');
      const [, ts, v1] = UNVERIFIABLE.exec(String(headers['x-signature'])) ?? [];
      const manifest = `id:${query.get('id')};request-id:${headers['x-request-id']};ts:${ts};`;
      expect(v1).not.toBe(createHmac('sha256', SECRET).update(manifest).digest('hex'));
    }
  });

  it('tells a cancel and an expiry by the merchant order alone', async () => {
    await open();
    await sell(receiver.url);
    await receiver.waitFor(1);
    expect((await shop.till(V2, { method: 'DELETE' })).status).toBe(204);
    expect(topics(await receiver.waitFor(2))).toEqual(['merchant_order', 'merchant_order']);
    await sell(receiver.url);
    await receiver.waitFor(3);
    await shop.control('/clock', { body: { advance_ms: 16 * 60_000 } });
    const told = await receiver.waitFor(4);
    expect(topics(told)).toEqual(Array(4).fill('merchant_order'));
    const ids = told.map(({ query }) => query.get('id'));
    expect([ids[1], ids[3]]).toEqual([ids[0], ids[2]]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('is held while the address is one the guard refuses, or when nobody has set one', async () => {
    await open();
    await sell('http://169.254.169.254/latest');
    await eventually(
      async () => (await shop.ops('/metrics')).text,
      (text) => /puente_notice_attempts_total\{outcome="ours"\} [1-9]/.test(text),
    );
    expect((await shop.ops('/metrics')).text).toMatch(/puente_waiting\{kind="notices"\} 1/);
    const log = (await shop.ops('/api/notices')).body;
    expect(log).toMatchObject({
      notices: [{ state: 'pending', last_attempt: { outcome: 'ours', detail: expect.stringContaining('169.254') } }],
    });
  });

  it('calls a URL without a scheme as plain HTTP where that is allowed', async () => {
    await open();
    await sell(receiver.url.replace('http://', ''));
    expect(topics(await receiver.waitFor(1))).toEqual(['merchant_order']);
  });
});

describe('a receiver that refuses one notice', () => {
  it('at the creation, once: the payment and the closed merchant order come at once, and the old notice never again', async () => {
    let refusals = 0;
    await open({}, () => (refusals++ === 0 ? 503 : 200));
    await sell(receiver.url);
    await receiver.waitFor(1);
    await buyer('pay');
    const told = await receiver.waitFor(3);
    expect(topics(told).sort()).toEqual(['merchant_order', 'merchant_order', 'payment']);
    const states = await eventually(
      async () => ((await shop.ops('/api/notices')).body as { notices: { state: string }[] }).notices, // the API's own form
      (notices) => notices.every(({ state }) => state !== 'pending'),
    );
    expect(states.map(({ state }) => state).sort()).toEqual(['delivered', 'delivered', 'superseded']);
  });

  it('every payment, for ever: it learns of the closed merchant order at once', async () => {
    await open({}, (delivery) => (topics([delivery])[0] === 'payment' ? 404 : 200));
    await sell(receiver.url);
    await receiver.waitFor(1);
    await buyer('pay');
    const told = await receiver.waitFor(2, 'merchant_order');
    expect(told).toHaveLength(2);
  });
});

describe('source_news', () => {
  it('ipn: IPN only, whatever the merchant is set to; the parameter stays', async () => {
    await open({ qr_notices: 'both' });
    await sell(`${receiver.url}?source_news=ipn`);
    await buyer('pay');
    const told = await receiver.waitFor(3);
    expect(topics(told).sort()).toEqual(['merchant_order', 'merchant_order', 'payment']);
    expect(told.every(({ path, query }) => `${path}?${query}`.startsWith('/notices?source_news=ipn&id='))).toBe(true);
  });

  it('ipn: webhooks only where the setting reads it as the specification does', async () => {
    await open({ qr_notices: 'both' }, undefined, { PUENTE_NOTICES_SOURCE_NEWS_IPN: 'webhook' });
    await sell(`${receiver.url}?source_news=ipn`);
    await buyer('pay');
    const told = await receiver.waitFor(3);
    expect(topics(told).sort()).toEqual(['payment', 'topic_merchant_order_wh', 'topic_merchant_order_wh']);
    expect(lines(told).every((line) => line.startsWith('/notices?source_news=ipn&data.id='))).toBe(true);
  });

  it('webhooks: webhooks only; the parameter stays', async () => {
    await open();
    await sell(`${receiver.url}?source_news=webhooks`);
    await buyer('pay');
    const told = await receiver.waitFor(3);
    expect(topics(told).sort()).toEqual(['payment', 'topic_merchant_order_wh', 'topic_merchant_order_wh']);
    expect(lines(told).every((line) => line.startsWith('/notices?source_news=webhooks&data.id='))).toBe(true);
  });
});

describe('webhooks', () => {
  it("have the vendor's form, and are signed with the merchant's own secret", async () => {
    await open({ qr_notices: 'webhook', notice_secret: SECRET });
    await sell(receiver.url);
    await buyer('pay');
    const told = await receiver.waitFor(3);
    const [opened, closed] = await receiver.waitFor(2, 'topic_merchant_order_wh');
    const [payment] = await receiver.waitFor(1, 'payment');
    const common = { live_mode: true, user_id: Number(ARGENTINA), version: 1, api_version: 'v1' };
    const id = opened?.query.get('data.id');
    const order = { ...common, id, type: 'topic_merchant_order_wh', application_id: '4004001' };
    expect(opened?.body).toEqual({
      ...order,
      date_created: expect.stringMatching(/Z$/),
      action: 'create',
      status: 'opened',
      data: { status: 'opened' },
    });
    expect(closed?.body).toMatchObject({ ...order, action: 'update', status: 'closed', data: { status: 'closed' } });
    expect(payment?.body).toEqual({
      ...common,
      id: expect.any(Number),
      type: 'payment',
      application_id: '4004001',
      date_created: expect.stringMatching(/Z$/),
      action: 'payment.created',
      data: { id: payment?.query.get('data.id') },
    });
    expect(payment?.headers['user-agent']).toBe('MercadoPago WebHook v1.0 payment');
    for (const { query, headers } of told) {
      const [, ts, v1] = /^ts=(\d{10}),v1=([0-9a-f]{64})$/.exec(String(headers['x-signature'])) ?? [];
      const manifest = `id:${query.get('data.id')};request-id:${headers['x-request-id']};ts:${ts};`;
      expect(v1).toBe(createHmac('sha256', SECRET).update(manifest).digest('hex'));
    }
  });

  it('go out unsigned without a secret, and beside IPN where both are wanted', async () => {
    await open({ qr_notices: 'both' });
    await sell(receiver.url);
    await buyer('pay');
    const told = await receiver.waitFor(6);
    expect(topics(told).sort()).toEqual([
      'merchant_order',
      'merchant_order',
      'payment',
      'payment',
      'topic_merchant_order_wh',
      'topic_merchant_order_wh',
    ]);
    const signed = told.filter(({ headers }) => 'x-signature' in headers);
    expect(topics(signed).sort()).toEqual(['merchant_order', 'merchant_order', 'payment']);
    expect(signed.every(({ query }) => query.has('topic'))).toBe(true);
  });
});

describe('a refund', () => {
  it('is told again by the payment alone, the second one too', async () => {
    await open({ qr_notices: 'webhook' });
    await sell(receiver.url);
    await buyer('pay');
    const told = await receiver.waitFor(3);
    const [payment] = await receiver.waitFor(1, 'payment');
    const number = payment?.query.get('data.id');
    for (const [index, amount] of [100, 141].entries()) {
      const refund = await shop.till(`/v1/payments/${number}/refunds`, { body: { amount } });
      expect([refund.status, refund.text]).toEqual([201, expect.anything()]);
      await receiver.waitFor(4 + index);
    }
    expect(told.slice(3).map(({ body }) => body)).toMatchObject([
      { type: 'payment', action: 'payment.updated', data: { id: number } },
      { type: 'payment', action: 'payment.updated', data: { id: number } },
    ]);
  });
});

describe('the receiver', () => {
  it('reads the announced state inside its handler: the payment, and the merchant order of the payment', async () => {
    const seen: unknown[] = [];
    await open({}, async ({ query }) => {
      if (query.get('topic') !== 'payment') return 200;
      const payment = (await shop.till(`/v1/payments/${query.get('id')}`)).body as { order?: { id: number } }; // legacy form
      seen.push(payment, (await shop.till(`/merchant_orders/${payment.order?.id}`)).body);
      return 200;
    });
    await sell(receiver.url);
    const [opened] = await receiver.waitFor(1);
    await buyer('pay');
    const [told] = await receiver.waitFor(1, 'payment');
    expect(seen).toMatchObject([
      { id: Number(told?.query.get('id')), status: 'approved', external_reference: SALE.external_reference },
      {
        id: Number(opened?.query.get('id')),
        status: 'closed',
        order_status: 'paid',
        external_reference: SALE.external_reference,
      },
    ]);
  });

  it('fetches the resource it was told of from Puente, at its public address', async () => {
    let body: unknown = null;
    await open({}, async (delivery) => {
      const { resource } = delivery.body as { resource: string }; // IPN of a merchant order
      const { pathname, origin } = new URL(resource);
      expect(origin).toBe(shop.app.public_url);
      ({ body } = await shop.till(pathname));
      return 201;
    });
    await sell(receiver.url);
    const [opened] = await receiver.waitFor(1);
    expect(body).toMatchObject({ id: Number(opened?.query.get('id')), status: 'opened', payments: [] });
  });
});
