/** Old notices of QR sales through all of Puente: content, receiver, form, reads (`docs/field-notes.md` QR §5). */
import { createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { ARGENTINA, type Delivery, type Receiver, startReceiver } from '../../kit.ts';
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

  it('that says a sale was opened, acknowledged once it is paid, leaves an equal create its retry', async () => {
    const paid = Promise.withResolvers<void>();
    const isOpening = ({ query }: Delivery): boolean =>
      query.get('topic') === 'merchant_order' && receiver.received.length === 1;
    await open({}, async (delivery) => {
      if (!isOpening(delivery)) return 500;
      await paid.promise;
      return 200;
    });
    await sell(receiver.url);
    await buyer('pay');
    await receiver.waitFor(1, 'payment');
    paid.resolve();
    // It goes out once what became of the opening is stored.
    await receiver.waitFor(2, 'merchant_order');
    await sell(receiver.url);
    const creates = (await shop.requests('/v1/orders')).filter(
      ({ method, path }) => `${method} ${path}` === 'POST /v1/orders',
    );
    expect(creates).toHaveLength(1);
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
});
