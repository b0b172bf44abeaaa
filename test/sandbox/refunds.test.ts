/** Refunds of the sandbox: every documented refusal, total and in parts. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, codeOf, type Kit, openKit, UNKNOWN_ORDER } from './kit.ts';

const DAY_MS = 24 * 3_600_000;

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

let count = 0;
const refund = (id: string, body?: unknown, key = `refund-${++count}`) =>
  kit.call('POST', `/v1/orders/${id}/refund`, { key, ...(body !== undefined && { body }) });
const get = async (id: string) => (await kit.call('GET', `/v1/orders/${id}`)).body;

async function paidOrder(options: object = {}): Promise<{ id: string; transaction: string }> {
  const { body } = await kit.createOrder();
  await kit.atTerminal('pay', options);
  return { id: body.id, transaction: body.transactions.payments[0].id };
}

describe('refusals', () => {
  test('without authorization, key, or a well-formed id', async () => {
    expect((await kit.call('POST', `/v1/orders/${UNKNOWN_ORDER}/refund`, { merchant: null, key: 'k' })).status).toBe(
      401,
    );
    expect(codeOf(await kit.call('POST', `/v1/orders/${UNKNOWN_ORDER}/refund`))).toBe('empty_required_header');
    const malformed = await refund('ORD1');
    expect([malformed.status, codeOf(malformed)]).toEqual([400, 'invalid_path_param']);
  });

  test('an unknown order', async () => {
    const reply = await refund(UNKNOWN_ORDER);
    expect([reply.status, codeOf(reply)]).toEqual([404, 'order_not_found']);
  });

  test.each([
    ['pick_up', 409, 'action_not_allowed_for_current_state'],
    ['decline', 409, 'cannot_refund_order'],
    ['cancel', 409, 'cannot_refund_order'],
    ['confirm_needed', 409, 'action_not_allowed_for_current_state'],
  ])('after %s', async (action, status, code) => {
    const id = await kit.order();
    await kit.atTerminal(action);
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });

  test('a created order', async () => {
    expect(codeOf(await refund(await kit.order()))).toBe('cannot_refund_order');
  });

  test('twice', async () => {
    const { id } = await paidOrder();
    await refund(id);
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([409, 'order_already_refunded']);
  });

  test('after 90 days', async () => {
    const { id } = await paidOrder();
    await kit.control('POST', 'clock', { advance_ms: 90 * DAY_MS + 1 });
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([409, 'refund_period_exceeded']);
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
    const { id } = await paidOrder();
    const reply = await refund(id, body);
    expect([reply.status, codeOf(reply)]).toEqual([400, code]);
  });

  test.each([
    ['150.01', 400, 'refund_amount_exceeds'],
    ['150.00', 422, 'amount_not_refundable'],
    ['0.00', 422, 'amount_not_refundable'],
  ])('a part of %s', async (amount, status, code) => {
    const { id, transaction } = await paidOrder();
    const reply = await refund(id, { transactions: [{ id: transaction, amount }] });
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });

  test('a part of another transaction', async () => {
    const { id } = await paidOrder();
    const reply = await refund(id, { transactions: [{ id: 'PAY01K7Q2V5B8N4T6W9XJ3P5YZQ1A', amount: '10.00' }] });
    expect([reply.status, codeOf(reply)]).toEqual([404, 'transaction_not_found']);
  });

  test('a part of a payment with a tip', async () => {
    const { id, transaction } = await paidOrder({ tip_minor: 100 });
    const reply = await refund(id, { transactions: [{ id: transaction, amount: '10.00' }] });
    expect([reply.status, codeOf(reply)]).toEqual([403, 'partial_refund_forbidden_with_tips']);
  });

  test('a part of a payment by voucher', async () => {
    const { id, transaction } = await paidOrder({ payment_method_type: 'voucher_card' });
    const reply = await refund(id, { transactions: [{ id: transaction, amount: '10.00' }] });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'unsupported_partially_refunds']);
  });

  test('more refunds than allowed', async () => {
    await kit.control('PUT', 'settings', { max_refunds: 1 });
    const { id, transaction } = await paidOrder();
    const part = { transactions: [{ id: transaction, amount: '10.00' }] };
    expect((await refund(id, part)).status).toBe(201);
    const reply = await refund(id, part);
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
    const { id } = await paidOrder();
    await kit.control('POST', 'faults', { path: '/v1/orders/*/refund', kind: 'error', status, code });
    const reply = await refund(id);
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
    expect((await get(id)).status).toBe('processed');
  });

  test('a key used by another operation', async () => {
    const { body } = await kit.createOrder({}, { key: 'mine' });
    await kit.atTerminal('pay');
    expect(codeOf(await refund(body.id, undefined, 'mine'))).toBe('idempotency_key_already_used');
  });
});

describe('total', () => {
  test.each([[undefined], ['']])('with body %j and a JSON content type', async (body) => {
    const { id, transaction } = await paidOrder({ tip_minor: 250 });
    const reply = await refund(id, body);
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id,
        status: 'refunded',
        status_detail: 'refunded',
        transactions: {
          refunds: [
            {
              id: expect.stringMatching(/^REF[0-9A-HJKMNP-TV-Z]{26}$/),
              transaction_id: transaction,
              reference_id: expect.stringMatching(/^\d+$/),
              amount: '152.50',
              status: 'processing',
            },
          ],
        },
      },
    ]);
    await kit.control('POST', 'clock', { advance_ms: 200 });
    const order = await get(id);
    expect([order.status, order.transactions.refunds[0].status]).toEqual(['refunded', 'processed']);
    expect(order.transactions.payments[0]).toMatchObject({ status: 'refunded', refunded_amount: '152.50' });
    const payment = await kit.call('GET', `/v1/payments/${order.transactions.payments[0].reference_id}`);
    expect([payment.body.status, payment.body.transaction_amount_refunded]).toEqual(['refunded', 152.5]);
  });

  test('the refund may be processed at once', async () => {
    await kit.control('PUT', 'settings', { total_refund_status: 'processed' });
    const { id } = await paidOrder();
    expect((await refund(id)).body.transactions.refunds[0].status).toBe('processed');
  });

  test('the same key does it once', async () => {
    const { id } = await paidOrder();
    const first = await refund(id, undefined, 'same');
    const again = await refund(id, undefined, 'same');
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  test('in the last moment of the window', async () => {
    const { id } = await paidOrder();
    await kit.control('POST', 'clock', { advance_ms: 90 * DAY_MS });
    expect((await refund(id)).status).toBe(201);
  });
});

describe('partial', () => {
  test('several parts until the sum is reached; each answer shows its own node', async () => {
    const { id, transaction } = await paidOrder();
    const part = (amount: string) => refund(id, { transactions: [{ id: transaction, amount }] });
    const first = await part('24.90');
    expect(first.body).toMatchObject({ status: 'processed', status_detail: 'partially_refunded' });
    expect(first.body.transactions.refunds).toHaveLength(1);
    expect(first.body.transactions.refunds[0]).toMatchObject({ amount: '24.90', status: 'processed' });
    expect(codeOf(await part('125.11'))).toBe('refund_amount_exceeds');
    const last = await part('125.10');
    expect(last.body).toMatchObject({ status: 'refunded', status_detail: 'refunded' });
    const order = await get(id);
    expect(order.transactions.refunds.map((node: { amount: string }) => node.amount)).toEqual(['24.90', '125.10']);
    expect(order.transactions.payments[0].refunded_amount).toBe('150.00');
    expect(ARGENTINA).toBe(order.user_id);
  });
});
