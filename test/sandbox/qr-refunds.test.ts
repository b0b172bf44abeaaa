/** Refunds of QR orders: whole and in parts, their windows, and the refusals that only QR has. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, CHILE, codeOf } from './kit.ts';
import { amount, openQrKit, type QrKit, qrItem, TILL } from './qr-kit.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let kit: QrKit;
beforeAll(async () => {
  kit = await openQrKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

let count = 0;
const refund = (id: string, body?: unknown, merchant = ARGENTINA) =>
  kit.call('POST', `/v1/orders/${id}/refund`, { key: `r-${++count}`, body, merchant });
const part = (transaction: string, text: string) => ({ transactions: [{ id: transaction, amount: text }] });

async function paid(changes: object = {}, options: object = {}, merchant = ARGENTINA) {
  const { body } = await kit.createQr(changes, { merchant });
  await kit.atCode(body.id, 'pay', options);
  const order = kit.sandbox.world.orders.get(body.id);
  if (order?.status !== 'processed') throw new Error(`order ${body.id} was not paid`);
  return { id: order.id, transaction: order.transaction.id, payment: order.transaction.reference_id ?? 0 };
}

describe('refusals', () => {
  test('invalid_order_owner: the order of another merchant', async () => {
    const { id } = await paid();
    const reply = await refund(id, undefined, BRAZIL);
    expect([reply.status, codeOf(reply)]).toEqual([400, 'invalid_order_owner']);
    expect((await kit.get(id)).status).toBe('processed');
  });

  test.each([
    [360, {}],
    [180, { qr_refund_days: 180 }],
  ])('in_store_payment_refund_order: after %i days', async (days, settings) => {
    await kit.control('PUT', 'settings', settings);
    const { id } = await paid();
    await kit.advance(days * DAY_MS + 1);
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([400, 'in_store_payment_refund_order']);
  });

  test('in_store_payment_refund_order: after 72 hours with a cash withdrawal', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const transactions = { payments: [{ amount: '150.00' }], cash_outs: [{ amount: '50.00' }] };
    const { id } = await paid({ transactions });
    await kit.advance(72 * HOUR_MS + 1);
    expect(codeOf(await refund(id))).toBe('in_store_payment_refund_order');
  });

  test('cannot_refund_order: created, canceled, expired', async () => {
    const id = await kit.qrOrder();
    expect([(await refund(id)).status, codeOf(await refund(id))]).toEqual([409, 'cannot_refund_order']);
    await kit.call('POST', `/v1/orders/${id}/cancel`, { key: 'c' });
    expect(codeOf(await refund(id))).toBe('cannot_refund_order');
    const expired = await kit.qrOrder({ expiration_time: 'PT30S' });
    await kit.advance(30_000);
    expect(codeOf(await refund(expired))).toBe('cannot_refund_order');
  });

  test('order_already_refunded: twice', async () => {
    const { id } = await paid();
    await refund(id);
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([409, 'order_already_refunded']);
  });

  test.each([
    ['150.01', 400, 'refund_amount_exceeds'],
    ['150.00', 422, 'amount_not_refundable'],
    ['0.00', 422, 'amount_not_refundable'],
  ])('a part of %s', async (text, status, code) => {
    const { id, transaction } = await paid();
    const reply = await refund(id, part(transaction, text));
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });

  test('a part of more than what a discount left', async () => {
    const discounts = { payment_methods: [{ type: 'account_money', new_total_amount: '120.00' }] };
    const { id, transaction } = await paid({ discounts });
    expect(codeOf(await refund(id, part(transaction, '120.01')))).toBe('refund_amount_exceeds');
    expect((await refund(id)).body.transactions.refunds[0].amount).toBe('120.00');
  });

  test('a part with decimals in Chile, which are zeros or refused', async () => {
    const items = [qrItem({ unit_price: '2500' })];
    const { id, transaction } = await paid({ ...amount('2500'), items }, {}, CHILE);
    expect(codeOf(await refund(id, part(transaction, '100.50'), CHILE))).toBe('property_value');
    const reply = await refund(id, part(transaction, '100.00'), CHILE);
    expect([reply.status, reply.body.transactions.refunds[0].amount]).toEqual([201, '100']);
  });

  test('a part of a payment by voucher', async () => {
    const { id, transaction } = await paid({}, { payment_method_type: 'voucher_card' });
    expect(codeOf(await refund(id, part(transaction, '10.00')))).toBe('unsupported_partially_refunds');
  });

  test('a part of a withdrawal without a sale', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const { id, transaction } = await paid({ transactions: { cash_outs: [{ amount: '50.00' }] } });
    expect(codeOf(await refund(id, part(transaction, '10.00')))).toBe('transaction_not_found');
  });
});

describe('whole', () => {
  test('the answer, the order and the payment', async () => {
    const { id, transaction, payment } = await paid();
    const reply = await refund(id);
    const node = {
      id: expect.stringMatching(/^REF[0-9A-HJKMNP-TV-Z]{26}$/),
      transaction_id: transaction,
      reference_id: expect.stringMatching(/^\d+$/),
      amount: '150.00',
    };
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id,
        status: 'refunded',
        status_detail: 'refunded',
        transactions: { refunds: [{ ...node, status: 'processing' }] },
      },
    ]);
    await kit.advance(200);
    const order = await kit.get(id);
    expect(order.transactions.refunds).toEqual([{ ...node, status: 'processed' }]);
    expect(order.transactions.payments[0]).toMatchObject({
      status: 'refunded',
      status_detail: 'refunded',
      refunded_amount: '150.00',
    });
    expect(kit.sandbox.world.payments.get(payment)).toMatchObject({
      status: 'refunded',
      refunded_minor: 15000,
      refunds: [{ id: Number(reply.body.transactions.refunds[0].reference_id), amount_minor: 15000 }],
    });
  });

  test.each([
    [360, {}],
    [180, { qr_refund_days: 180 }],
  ])('in the last moment of %i days', async (days, settings) => {
    await kit.control('PUT', 'settings', settings);
    const { id } = await paid();
    await kit.advance(days * DAY_MS);
    expect((await refund(id)).status).toBe(201);
  });

  test('with a cash withdrawal both come back, in the last moment of 72 hours', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const transactions = { payments: [{ amount: '150.00' }], cash_outs: [{ amount: '50.00' }] };
    const { id, payment } = await paid({ transactions });
    await kit.advance(72 * HOUR_MS);
    const { body } = await refund(id);
    expect(body.transactions.refunds.map((node: { amount: string }) => node.amount)).toEqual(['150.00', '50.00']);
    const order = await kit.get(id);
    expect([order.status, order.transactions.cash_outs[0].refunded_amount]).toEqual(['refunded', '50.00']);
    expect(kit.sandbox.world.payments.get(payment)).toMatchObject({ status: 'refunded', refunded_minor: 20000 });
  });

  test('of a withdrawal without a sale', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const { id } = await paid({ transactions: { cash_outs: [{ amount: '50.00' }] } });
    const { body } = await refund(id);
    expect([body.status, body.transactions.refunds[0].amount]).toEqual(['refunded', '50.00']);
  });

  test('the payment has each refund in its list', async () => {
    const { id, transaction, payment } = await paid();
    const listed = () => {
      const { status, refunds } = kit.sandbox.world.payments.get(payment) ?? {};
      return [status, refunds?.length];
    };
    expect(listed()).toEqual(['approved', 0]);
    await refund(id, part(transaction, '50.00'));
    expect(listed()).toEqual(['approved', 1]);
    await refund(id);
    expect(listed()).toEqual(['refunded', 2]);
  });
});

describe('in parts', () => {
  test.each([['account_money'], ['credit_card'], ['debit_card'], ['prepaid_card']])(
    'several of a payment by %s, until nothing is left',
    async (payment_method_type) => {
      const { id, transaction, payment } = await paid({}, { payment_method_type });
      const first = await refund(id, part(transaction, '50.00'));
      expect([first.status, first.body.status, first.body.status_detail]).toEqual([
        201,
        'processed',
        'partially_refunded',
      ]);
      expect(first.body.transactions.refunds).toEqual([
        expect.objectContaining({ amount: '50.00', status: 'processed', transaction_id: transaction }),
      ]);
      expect(kit.sandbox.world.payments.get(payment)).toMatchObject({
        status: 'approved',
        status_detail: 'partially_refunded',
        refunded_minor: 5000,
      });
      expect((await refund(id, part(transaction, '100.00'))).body.status).toBe('refunded');
      const order = await kit.get(id);
      expect([order.config.qr.external_pos_id, order.transactions.payments[0].refunded_amount]).toEqual([
        TILL,
        '150.00',
      ]);
    },
  );
});
