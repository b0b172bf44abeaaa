/** `GET /v1/payments/{id}` and chargebacks of the sandbox: the whole shape, for payments of every origin. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, type Kit, openKit, tokenOf } from './kit.ts';
import { CHILE, configure, payIntent, payOrder, payQr, TILL } from './payment-kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const read = (id: number | string, options: object = {}) => kit.call('GET', `/v1/payments/${id}`, options);
const OFFSET_DATE = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}-04:00$/);

describe('refusals', () => {
  test('without a token: 401 with cause 5', async () => {
    expect((await read(1, { merchant: null })).body).toEqual({
      message: 'Must provide your access_token to proceed',
      error: 'unauthorized',
      status: 401,
      cause: [{ code: 5, description: 'Must provide your access_token to proceed', data: null }],
    });
  });

  test('with an unknown token: 401', async () => {
    const reply = await read(1, { merchant: '999' });
    expect([reply.status, reply.body.message]).toEqual([401, 'invalid access token']);
  });

  test('an id that is no number: 400', async () => {
    expect((await read('abc')).status).toBe(400);
  });

  test('an unknown payment: 404 with cause 2000', async () => {
    const { status, body } = await read('131999999999');
    expect([status, body.error, body.message, body.cause[0].code]).toEqual([
      404,
      'not_found',
      'Payment not found',
      2000,
    ]);
  });

  test('a payment of another merchant is unknown', async () => {
    const reply = await read(await payIntent(kit), { merchant: BRAZIL });
    expect([reply.status, reply.body.cause[0].code]).toEqual([404, 2000]);
  });

  test('an error of the catalogue can be asked for by its name', async () => {
    await kit.control('POST', 'faults', { path: '/v1/payments/*', kind: 'error', code: 'insufficient_money' });
    const { status, body } = await read(1);
    expect([status, body.cause[0].code]).toEqual([400, 2085]);
  });
});

describe('the token', () => {
  test('may stand in the query', async () => {
    const id = await payIntent(kit);
    const reply = await kit.call('GET', `/v1/payments/${id}?access_token=${tokenOf(ARGENTINA)}`, { merchant: null });
    expect([reply.status, reply.body.id]).toEqual([200, id]);
  });

  test('in the header wins over one in the query', async () => {
    const reply = await kit.call('GET', `/users/me?access_token=${tokenOf(BRAZIL)}`);
    expect(reply.body.id).toBe(Number(ARGENTINA));
  });
});

describe('the shape', () => {
  test('an approved card payment of an intent has every field that clients rely on', async () => {
    const { body } = await read(await payIntent(kit, 15_050, 'TICKET 7', 'pay', { installments: 3 }));
    expect(body).toMatchObject({
      status: 'approved',
      status_detail: 'accredited',
      external_reference: 'TICKET 7',
      transaction_amount: 150.5,
      transaction_amount_refunded: 0,
      currency_id: 'ARS',
      collector_id: 700100200,
      operation_type: 'regular_payment',
      payment_method_id: 'master',
      payment_type_id: 'credit_card',
      installments: 3,
      card: { first_six_digits: '503175', last_four_digits: '0604' },
      date_created: OFFSET_DATE,
      date_approved: OFFSET_DATE,
      date_last_updated: OFFSET_DATE,
      authorization_code: expect.stringMatching(/^\d{6}$/),
      payer: { email: expect.any(String), identification: { type: expect.any(String), number: expect.any(String) } },
      ...TILL,
      fee_details: [{ type: 'mercadopago_fee', amount: 1.2, fee_payer: 'collector' }],
      charges_details: [{ type: 'fee', amounts: { original: 1.2, refunded: 0 } }],
      transaction_details: { net_received_amount: 149.3, total_paid_amount: 150.5 },
      point_of_interaction: { type: 'POINT' },
      refunds: [],
      metadata: {},
      captured: true,
      live_mode: true,
    });
  });

  test('a rejected payment was never approved and brings no money', async () => {
    const { body } = await read(await payIntent(kit, 15_000, 'TICKET 1', 'decline'));
    expect(body).toMatchObject({
      status: 'rejected',
      date_approved: null,
      authorization_code: null,
      captured: false,
      fee_details: [],
      charges_details: [],
      transaction_details: { net_received_amount: 0, total_paid_amount: 0 },
    });
  });

  test('a tip counts as paid, beside the amount', async () => {
    const { body } = await read(await payIntent(kit, 15_000, 'TICKET 1', 'pay', { tip_minor: 1000 }));
    expect([body.transaction_amount, body.transaction_details.total_paid_amount]).toEqual([150, 160]);
  });

  test('a QR payment leads to its merchant order', async () => {
    const { body } = await read(
      await payQr(kit, 120.5, ARGENTINA, 'INV 0001', { payment_method_type: 'account_money' }),
    );
    expect(body).toMatchObject({
      order: { type: 'mercadopago', id: expect.stringMatching(/^\d{11}$/) },
      transaction_amount: 120.5,
      card: {},
      authorization_code: null,
      pos_id: '1000001',
      store_id: '10001',
      point_of_interaction: { type: 'INSTORE', transaction_data: { bank_info: expect.any(Object) } },
    });
    expect((await kit.call('GET', `/merchant_orders/${body.order.id}`)).body.payments[0].id).toBe(body.id);
  });

  test('Chile has no decimals', async () => {
    const { body } = await read(await payQr(kit, 15_990, CHILE), { merchant: CHILE });
    expect([body.transaction_amount, body.currency_id, body.fee_details[0].amount]).toEqual([15_990, 'CLP', 128]);
  });

  test('every other payment names a number that a 64-bit integer holds, as recorded answers do', async () => {
    const { payment } = await payOrder(kit);
    const order = { type: 'mercadopago', id: expect.stringMatching(/^[23]\d{18}$/) };
    const first = (await read(payment)).body.order;
    expect([first, (await read(await payIntent(kit))).body.order]).toEqual([order, order]);
    expect((await read(payment)).body.order).toEqual(first);
  });

  test('setting order_payments hidden: a payment of an order is unknown, others are not', async () => {
    const { payment } = await payOrder(kit);
    const other = await payIntent(kit);
    await configure(kit, { order_payments: 'hidden' });
    expect((await read(payment)).body.cause[0].code).toBe(2000);
    expect((await read(other)).status).toBe(200);
  });
});

describe('chargebacks', () => {
  const open = async (): Promise<number> => {
    const { world } = kit.sandbox;
    const now_ms = world.clock.now();
    const id = world.next('chargeback');
    const payment_id = await payIntent(kit, 15_050);
    const merchant_id = ARGENTINA;
    const times = { created_at_ms: now_ms, updated_at_ms: now_ms };
    world.chargebacks.set(id, { id, payment_id, merchant_id, amount_minor: 15_050, status: 'opened', ...times });
    return id;
  };

  test('an unknown one, and one of another merchant: 404', async () => {
    const id = await open();
    expect((await kit.call('GET', '/v1/chargebacks/1')).status).toBe(404);
    expect((await kit.call('GET', `/v1/chargebacks/${id}`, { merchant: BRAZIL })).status).toBe(404);
  });

  test('shows its payment, amount and status', async () => {
    const id = await open();
    expect((await kit.call('GET', `/v1/chargebacks/${id}`)).body).toMatchObject({
      id: String(id),
      payment_id: expect.any(Number),
      amount: 150.5,
      currency_id: 'ARS',
      status: 'opened',
      date_created: OFFSET_DATE,
    });
  });

  test('setting chargeback_payment payments: the payment stands in a list', async () => {
    const id = await open();
    await configure(kit, { chargeback_payment: 'payments' });
    const { body } = await kit.call('GET', `/v1/chargebacks/${id}`);
    expect([body.payments, body.payment_id]).toEqual([[expect.any(Number)], undefined]);
  });
});
