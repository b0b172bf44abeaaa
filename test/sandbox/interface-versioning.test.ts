/** The mapping of `docs/field-notes.md` Spec Versioning, shown where both APIs stand side by side: the same story told to each. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { PAX_TERMINAL, VIRTUAL_TERMINAL } from './kit.ts';
import { ARGENTINA, preference, v1Path } from './legacy/qr-kit.ts';
import { OTHER_TILL, openQrKit, type QrKit } from './qr-kit.ts';

const EXPIRY_MS = 900_000;
const MERCHANT_ORDER = 40_100_000_001;

let kit: QrKit;
beforeAll(async () => {
  kit = await openQrKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

/** An intent of 150.00 at one terminal and an order of as much at another. */
async function pointPair(headers: Record<string, string> = {}) {
  const body = { amount: 15_000, additional_info: { external_reference: 'sale-1' } };
  const path = `/point/integration-api/devices/${PAX_TERMINAL}/payment-intents`;
  const intent = await kit.call('POST', path, { body, headers });
  expect(intent.status).toBe(201);
  return { intent: String(intent.body.id), order: await kit.order() };
}
const act = async (...actions: string[]) => {
  for (const action of actions) {
    await kit.atTerminal(action, {}, PAX_TERMINAL);
    await kit.atTerminal(action, {}, VIRTUAL_TERMINAL);
  }
};
const readIntent = async (id: string) => (await kit.call('GET', `/point/integration-api/payment-intents/${id}`)).body;

/** A v1 order of 150 at one till and an order of as much at another. */
async function qrPair(headers: Record<string, string> = {}, changes: object = {}) {
  const items = [{ title: 'Coffee', currency_id: 'ARS', unit_price: 150, quantity: 1 }];
  const legacy = await kit.call('POST', v1Path(), { body: preference({ items }), headers });
  expect(legacy.status).toBe(200);
  return kit.qrOrder({ config: { qr: { external_pos_id: OTHER_TILL } }, ...changes });
}
const buyer = async (action: string) => {
  await kit.atTill(action);
  await kit.atTill(action, {}, OTHER_TILL);
};
const readMerchantOrder = async () => (await kit.call('GET', `/merchant_orders/${MERCHANT_ORDER}`)).body;

describe('terminal states', () => {
  test.each([
    ['OPEN', [], 'created'],
    ['ON_TERMINAL', ['pick_up'], 'at_terminal'],
    ['PROCESSING', ['pick_up', 'process'], 'at_terminal'],
    ['CONFIRMATION_REQUIRED', ['confirm_needed'], 'action_required'],
    ['ERROR', ['error'], 'failed'],
    ['CANCELED', ['cancel'], 'canceled'],
  ])('%s after %j is %s', async (state, actions, status) => {
    const { intent, order } = await pointPair();
    await act(...actions);
    expect([(await readIntent(intent)).state, (await kit.get(order)).status]).toEqual([state, status]);
  });

  test.each([
    ['pay', 'approved', 'processed'],
    ['decline', 'rejected', 'failed'],
  ])('FINISHED after %s, with a payment that is %s, is %s', async (action, payment_status, status) => {
    const { intent, order } = await pointPair();
    await act(action);
    const finished = await readIntent(intent);
    const payment = await kit.call('GET', `/v1/payments/${finished.payment.id}`);
    expect([finished.state, payment.body.status]).toEqual(['FINISHED', payment_status]);
    expect((await kit.get(order)).status).toBe(status);
  });

  test('PROCESSED is passed through, and orders know nothing between at_terminal and processed', async () => {
    const { intent, order } = await pointPair();
    await act('pick_up', 'process');
    expect((await kit.get(order)).status).toBe('at_terminal');
    await act('pay');
    const { legacy } = (await kit.control('GET', 'state')).body;
    const [{ history }] = legacy.intents.filter(({ id }: { id: string }) => id === intent);
    expect(history.map(({ state }: { state: string }) => state)).toEqual([
      'OPEN',
      'ON_TERMINAL',
      'PROCESSING',
      'PROCESSED',
      'FINISHED',
    ]);
    expect((await kit.get(order)).status).toBe('processed');
  });

  test('ABANDONED is expired, where an order whose time is over is not canceled', async () => {
    await kit.control('PUT', 'settings', { point_expiry: 'expired' });
    const { intent, order } = await pointPair();
    await kit.advance(EXPIRY_MS);
    expect([(await readIntent(intent)).state, (await kit.get(order)).status]).toEqual(['ABANDONED', 'expired']);
  });

  test('refunded is new: a refunded intent stays FINISHED', async () => {
    const { intent, order } = await pointPair();
    await act('pay');
    const { payment } = await readIntent(intent);
    expect((await kit.call('POST', `/v1/payments/${payment.id}/refunds`, { key: 'r1' })).status).toBe(201);
    expect((await kit.call('POST', `/v1/orders/${order}/refund`, { key: 'r2' })).status).toBe(201);
    expect([(await readIntent(intent)).state, (await kit.get(order)).status]).toEqual(['FINISHED', 'refunded']);
  });
});

describe('QR states', () => {
  test('opened is created', async () => {
    const order = await qrPair();
    expect([(await readMerchantOrder()).status, (await kit.get(order)).status]).toEqual(['opened', 'created']);
  });

  test('an approved payment, and a merchant order closed and paid, is processed', async () => {
    const order = await qrPair();
    await buyer('pay');
    const { status, order_status, payments } = await readMerchantOrder();
    expect([status, order_status, payments[0].status]).toEqual(['closed', 'paid', 'approved']);
    expect((await kit.get(order)).status).toBe('processed');
  });

  test('a refunded payment, and a merchant order closed and reverted, is refunded', async () => {
    const order = await qrPair();
    await buyer('pay');
    const [{ id }] = (await readMerchantOrder()).payments;
    await kit.call('POST', `/v1/payments/${id}/refunds`, { key: 'r1' });
    await kit.call('POST', `/v1/orders/${order}/refund`, { key: 'r2' });
    const { status, order_status, payments } = await readMerchantOrder();
    expect([status, order_status, payments[0].status]).toEqual(['closed', 'reverted', 'refunded']);
    expect((await kit.get(order)).status).toBe('refunded');
  });

  test('canceled and expired are new: the till asked for its order by its own path, and there was no status', async () => {
    const order = await qrPair();
    expect((await kit.call('DELETE', v1Path())).status).toBe(204);
    expect((await kit.call('POST', `/v1/orders/${order}/cancel`, { key: 'c1' })).body.status).toBe('canceled');
    const other = await qrPair();
    await kit.advance(EXPIRY_MS);
    expect((await kit.get(other)).status).toBe('expired');
    expect((await kit.call('GET', v1Path())).status).toBe(404);
  });
});

describe('amounts and headers', () => {
  test('integers with two implied decimals, and numbers, became decimal strings', async () => {
    const { intent, order } = await pointPair();
    expect([(await readIntent(intent)).amount, (await kit.get(order)).transactions.payments[0].amount]).toEqual([
      15_000,
      '150.00',
    ]);
    const qr = await qrPair();
    expect([(await readMerchantOrder()).total_amount, (await kit.get(qr)).total_amount]).toEqual([150, '150.00']);
  });

  test('X-Ttl-Store-Preference in seconds became expiration_time', async () => {
    const order = await qrPair({ 'X-Ttl-Store-Preference': '45' }, { expiration_time: 'PT45S' });
    await kit.advance(44_999);
    expect([(await readMerchantOrder()).order_status, (await kit.get(order)).status]).toEqual([
      'payment_required',
      'created',
    ]);
    await kit.advance(1);
    expect([(await readMerchantOrder()).order_status, (await kit.get(order)).status]).toEqual(['expired', 'expired']);
  });

  test('X-platform-id, X-integrator-id and x-test-scope are taken by the old API; orders carry integration_data', async () => {
    const headers = { 'x-platform-id': 'dev_1', 'x-integrator-id': 'dev_2', 'x-test-scope': 'sandbox' };
    await pointPair(headers);
    const integration_data = { platform_id: 'dev_1', integrator_id: 'dev_2' };
    const order = await qrPair(headers, { integration_data });
    expect((await kit.get(order)).integration_data).toMatchObject(integration_data);
    expect((await kit.get(order)).user_id).toBe(ARGENTINA);
  });

  test('the site of the old API became a country code in capitals', async () => {
    const order = await qrPair();
    expect([(await readMerchantOrder()).site_id, (await kit.get(order)).country_code]).toEqual(['MLA', 'ARG']);
  });
});
