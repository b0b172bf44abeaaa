/** Refunds of orders of both types: every documented refusal as a row, whole refunds and parts, their windows. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, CHILE, codeOf, UNKNOWN_ORDER } from './kit.ts';
import { amount, openQrKit, type QrKit, qrItem, TILL } from './qr-kit.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let kit: QrKit;
beforeAll(async () => {
  kit = await openQrKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

type Type = 'point' | 'qr';
const types: [Type][] = [['point'], ['qr']];
const withCash = { transactions: { payments: [{ amount: '150.00' }], cash_outs: [{ amount: '50.00' }] } };
const cashAlone = { transactions: { cash_outs: [{ amount: '50.00' }] } };
const mayHandOutCash = () => kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });

let count = 0;
const refund = (id: string, body?: unknown, { merchant = ARGENTINA, key = `r-${++count}` } = {}) =>
  kit.call('POST', `/v1/orders/${id}/refund`, { key, merchant, ...(body !== undefined && { body }) });
const part = (transaction: string, text: string) => ({ transactions: [{ id: transaction, amount: text }] });

/** An order of 150.00, created, and paid unless its buyer does something else. */
async function ordered(type: Type, action = 'pay', options: object = {}, changes: object = {}, merchant = ARGENTINA) {
  const { body } = type === 'qr' ? await kit.createQr(changes, { merchant }) : await kit.createOrder(changes);
  if (type === 'qr') await kit.atCode(body.id, action, options);
  else await kit.atTerminal(action, options);
  const order = kit.sandbox.world.orders.get(body.id);
  if (order === undefined) throw new Error('nothing was created');
  return { id: order.id, transaction: order.transaction.id, payment: order.transaction.reference_id ?? 0 };
}
const paymentOf = (number: number) => kit.sandbox.world.payments.get(number);

describe('refusals', () => {
  test('without authorization, key, or a well-formed id', async () => {
    const path = `/v1/orders/${UNKNOWN_ORDER}/refund`;
    expect((await kit.call('POST', path, { merchant: null, key: 'k' })).status).toBe(401);
    expect(codeOf(await kit.call('POST', path))).toBe('empty_required_header');
    const malformed = await refund('ORD1');
    expect([malformed.status, codeOf(malformed)]).toEqual([400, 'invalid_path_param']);
    const unknown = await refund(UNKNOWN_ORDER);
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'order_not_found']);
  });

  test.each<[Type, action: string, status: number, code: string]>([
    ['point', 'pick_up', 409, 'action_not_allowed_for_current_state'],
    ['point', 'decline', 409, 'cannot_refund_order'],
    ['point', 'cancel', 409, 'cannot_refund_order'],
    ['point', 'confirm_needed', 409, 'action_not_allowed_for_current_state'],
    ['qr', 'lock', 409, 'cannot_refund_order'],
  ])('a %s order after %s', async (type, action, status, code) => {
    const reply = await refund((await ordered(type, action)).id);
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });

  test('an order that is created, canceled or expired', async () => {
    expect(codeOf(await refund(await kit.order()))).toBe('cannot_refund_order');
    const id = await kit.qrOrder();
    expect([(await refund(id)).status, codeOf(await refund(id))]).toEqual([409, 'cannot_refund_order']);
    await kit.call('POST', `/v1/orders/${id}/cancel`, { key: 'c' });
    expect(codeOf(await refund(id))).toBe('cannot_refund_order');
    const expired = await kit.qrOrder({ expiration_time: 'PT30S' });
    await kit.advance(30_000);
    expect(codeOf(await refund(expired))).toBe('cannot_refund_order');
  });

  test('the QR order of another merchant', async () => {
    const { id } = await ordered('qr');
    const reply = await refund(id, undefined, { merchant: BRAZIL });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'invalid_order_owner']);
    expect((await kit.get(id)).status).toBe('processed');
  });

  test.each(types)('a %s order twice', async (type) => {
    const { id } = await ordered(type);
    await refund(id);
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([409, 'order_already_refunded']);
  });

  test.each([
    ['{"transactions":', 'json_syntax_error'],
    [{ amount: '1.00' }, 'unsupported_properties'],
    [{}, 'required_properties'],
    [[], 'property_type'],
    [{ transactions: {} }, 'property_type'],
    [{ transactions: [] }, 'minimum_items'],
    [{ transactions: [{}, {}] }, 'maximum_items'],
    [{ transactions: [{ id: 'PAY1' }] }, 'required_properties'],
    [{ transactions: [{ id: 'PAY1', amount: 10 }] }, 'property_type'],
    [{ transactions: [{ id: 'PAY1', amount: 'ten' }] }, 'property_value'],
  ])('body %j', async (body, code) => {
    const reply = await refund((await ordered('point')).id, body);
    expect([reply.status, codeOf(reply)]).toEqual([400, code]);
  });

  const voucher = { payment_method_type: 'voucher_card' };
  test.each<[Type, name: string, text: string, options: object, changes: object, status: number, code: string]>([
    ['point', 'of 150.01', '150.01', {}, {}, 400, 'refund_amount_exceeds'],
    ['point', 'of 150.00', '150.00', {}, {}, 422, 'amount_not_refundable'],
    ['point', 'of 0.00', '0.00', {}, {}, 422, 'amount_not_refundable'],
    ['point', 'with a tip', '10.00', { tip_minor: 100 }, {}, 403, 'partial_refund_forbidden_with_tips'],
    ['point', 'paid by voucher', '10.00', voucher, {}, 400, 'unsupported_partially_refunds'],
    ['qr', 'of 150.01', '150.01', {}, {}, 400, 'refund_amount_exceeds'],
    ['qr', 'of 150.00', '150.00', {}, {}, 422, 'amount_not_refundable'],
    ['qr', 'of 0.00', '0.00', {}, {}, 422, 'amount_not_refundable'],
    ['qr', 'paid by voucher', '10.00', voucher, {}, 400, 'unsupported_partially_refunds'],
    ['qr', 'of a withdrawal alone', '10.00', {}, { ...cashAlone, items: undefined }, 404, 'transaction_not_found'],
  ])('a part of a %s order %s', async (type, _name, text, options, changes, status, code) => {
    await mayHandOutCash();
    const { id, transaction } = await ordered(type, 'pay', options, changes);
    const reply = await refund(id, part(transaction, text));
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });

  test('a part of another transaction', async () => {
    const { id } = await ordered('point');
    const reply = await refund(id, part('PAY01K7Q2V5B8N4T6W9XJ3P5YZQ1A', '10.00'));
    expect([reply.status, codeOf(reply)]).toEqual([404, 'transaction_not_found']);
  });

  test('a part of more than what a discount left', async () => {
    const discounts = { payment_methods: [{ type: 'account_money', new_total_amount: '120.00' }] };
    const { id, transaction } = await ordered('qr', 'pay', {}, { discounts });
    expect(codeOf(await refund(id, part(transaction, '120.01')))).toBe('refund_amount_exceeds');
    expect((await refund(id)).body.transactions.refunds[0].amount).toBe('120.00');
  });

  test('a part with decimals in Chile, which are zeros or refused', async () => {
    const items = [qrItem({ unit_price: '2500' })];
    const { id, transaction } = await ordered('qr', 'pay', {}, { ...amount('2500'), items }, CHILE);
    expect(codeOf(await refund(id, part(transaction, '100.50'), { merchant: CHILE }))).toBe('property_value');
    const reply = await refund(id, part(transaction, '100.00'), { merchant: CHILE });
    expect([reply.status, reply.body.transactions.refunds[0].amount]).toEqual([201, '100']);
  });

  test('more refunds than allowed', async () => {
    await kit.control('PUT', 'settings', { max_refunds: 1 });
    const { id, transaction } = await ordered('point');
    expect((await refund(id, part(transaction, '10.00'))).status).toBe(201);
    const reply = await refund(id, part(transaction, '10.00'));
    expect([reply.status, codeOf(reply)]).toEqual([422, 'max_refunds_exceeded']);
  });

  test.each([
    [400, 'invalid_order_owner'],
    [400, 'in_store_payment_refund_order'],
    [401, 'user_not_authorized'],
    [409, 'refund_in_progress'],
    [409, 'movement_operations_pending'],
    [422, 'payment_not_refundable'],
    [425, 'order_payment_not_yet_enabled_for_refund'],
    [428, 'insufficient_money_for_refund'],
    [500, 'idempotency_validation_failed'],
    [500, '500'],
  ])('%i %s on demand', async (status, code) => {
    const { id } = await ordered('point');
    await kit.control('POST', 'faults', { path: '/v1/orders/*/refund', kind: 'error', status, code });
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
    expect((await kit.get(id)).status).toBe('processed');
  });

  test('a key used by another operation', async () => {
    const { body } = await kit.createOrder({}, { key: 'mine' });
    await kit.atTerminal('pay');
    expect(codeOf(await refund(body.id, undefined, { key: 'mine' }))).toBe('idempotency_key_already_used');
  });
});

test.each<[Type, name: string, lifetime_ms: number, settings: object, changes: object, status: number, code: string]>([
  ['point', '90 days', 90 * DAY_MS, {}, {}, 409, 'refund_period_exceeded'],
  ['qr', '360 days', 360 * DAY_MS, {}, {}, 400, 'in_store_payment_refund_order'],
  ['qr', '180 days by setting', 180 * DAY_MS, { qr_refund_days: 180 }, {}, 400, 'in_store_payment_refund_order'],
  ['qr', '72 hours with cash', 72 * HOUR_MS, {}, withCash, 400, 'in_store_payment_refund_order'],
])(
  'a %s order is refunded until the last moment of %s',
  async (type, _name, lifetime_ms, settings, changes, ...late) => {
    await mayHandOutCash();
    await kit.control('PUT', 'settings', settings);
    const [early, other] = [await ordered(type, 'pay', {}, changes), await ordered(type, 'pay', {}, changes)];
    await kit.advance(lifetime_ms);
    expect((await refund(early.id)).status).toBe(201);
    await kit.advance(1);
    const reply = await refund(other.id);
    expect([reply.status, codeOf(reply)]).toEqual(late);
  },
);

describe('whole', () => {
  test.each<[Type, tip_minor: number, body: '' | undefined, text: string]>([
    ['point', 250, undefined, '152.50'],
    ['point', 250, '', '152.50'],
    ['qr', 0, undefined, '150.00'],
  ])(
    'a %s order with a tip of %i and body %j: the answer, the order and the payment',
    async (type, tip_minor, body, text) => {
      const { id, transaction, payment } = await ordered(type, 'pay', type === 'point' ? { tip_minor } : {});
      const reply = await refund(id, body);
      const node = {
        id: expect.stringMatching(/^REF[0-9A-HJKMNP-TV-Z]{26}$/),
        transaction_id: transaction,
        reference_id: expect.stringMatching(/^\d+$/),
        amount: text,
      };
      const transactions = { refunds: [{ ...node, status: 'processing' }] };
      expect([reply.status, reply.body]).toEqual([
        201,
        { id, status: 'refunded', status_detail: 'refunded', transactions },
      ]);
      await kit.advance(200);
      const order = await kit.get(id);
      expect([order.status, order.transactions.refunds]).toEqual(['refunded', [{ ...node, status: 'processed' }]]);
      const shown = { status: 'refunded', status_detail: 'refunded', refunded_amount: text };
      expect(order.transactions.payments[0]).toMatchObject(shown);
      const amount_minor = 15_000 + tip_minor;
      const made = { id: Number(reply.body.transactions.refunds[0].reference_id), amount_minor };
      expect(paymentOf(payment)).toMatchObject({ status: 'refunded', refunded_minor: amount_minor, refunds: [made] });
      const { body: read } = await kit.call('GET', `/v1/payments/${payment}`);
      expect([read.status, read.transaction_amount_refunded]).toEqual(['refunded', amount_minor / 100]);
    },
  );

  test('the refund may be processed at once', async () => {
    await kit.control('PUT', 'settings', { total_refund_status: 'processed' });
    const { id } = await ordered('point');
    expect((await refund(id)).body.transactions.refunds[0].status).toBe('processed');
  });

  test('the same key does it once', async () => {
    const { id } = await ordered('point');
    const first = await refund(id, undefined, { key: 'same' });
    const again = await refund(id, undefined, { key: 'same' });
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  test('with a cash withdrawal both come back, and of a withdrawal alone the cash', async () => {
    await mayHandOutCash();
    const { id, payment } = await ordered('qr', 'pay', {}, withCash);
    const { body } = await refund(id);
    expect(body.transactions.refunds.map((node: { amount: string }) => node.amount)).toEqual(['150.00', '50.00']);
    const order = await kit.get(id);
    expect([order.status, order.transactions.cash_outs[0].refunded_amount]).toEqual(['refunded', '50.00']);
    expect(paymentOf(payment)).toMatchObject({ status: 'refunded', refunded_minor: 20000 });
    const alone = await refund((await ordered('qr', 'pay', {}, cashAlone)).id);
    expect([alone.body.status, alone.body.transactions.refunds[0].amount]).toEqual(['refunded', '50.00']);
  });
});

describe('in parts', () => {
  test('several parts until the sum is reached; each answer shows its own node', async () => {
    const { id, transaction } = await ordered('point');
    const first = await refund(id, part(transaction, '24.90'));
    expect(first.body).toMatchObject({ status: 'processed', status_detail: 'partially_refunded' });
    expect(first.body.transactions.refunds).toEqual([
      expect.objectContaining({ amount: '24.90', status: 'processed', transaction_id: transaction }),
    ]);
    expect(codeOf(await refund(id, part(transaction, '125.11')))).toBe('refund_amount_exceeds');
    const last = await refund(id, part(transaction, '125.10'));
    expect(last.body).toMatchObject({ status: 'refunded', status_detail: 'refunded' });
    const order = await kit.get(id);
    expect(order.transactions.refunds.map((node: { amount: string }) => node.amount)).toEqual(['24.90', '125.10']);
    expect([order.transactions.payments[0].refunded_amount, order.user_id]).toEqual(['150.00', ARGENTINA]);
  });

  test.each([['account_money'], ['credit_card'], ['debit_card'], ['prepaid_card']])(
    'of a QR payment by %s, which has each refund in its list',
    async (payment_method_type) => {
      const { id, transaction, payment } = await ordered('qr', 'pay', { payment_method_type });
      const first = await refund(id, part(transaction, '50.00'));
      expect([first.status, first.body.status_detail]).toEqual([201, 'partially_refunded']);
      expect(paymentOf(payment)).toMatchObject({
        status: 'approved',
        status_detail: 'partially_refunded',
        refunded_minor: 5000,
        refunds: [{ amount_minor: 5000 }],
      });
      expect((await refund(id, part(transaction, '100.00'))).body.status).toBe('refunded');
      const order = await kit.get(id);
      expect([order.config.qr.external_pos_id, order.transactions.payments[0].refunded_amount]).toEqual([
        TILL,
        '150.00',
      ]);
      expect(paymentOf(payment)?.refunds).toHaveLength(2);
    },
  );
});
