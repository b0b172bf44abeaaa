/** The vendor's event simulator, as the sandbox speaks it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BRAZIL, codeOf, type Kit, openKit, UNKNOWN_ORDER } from './kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const simulate = (id: string, body: unknown, options: object = {}) =>
  kit.call('POST', `/v1/orders/${id}/events`, { body, ...options });
const get = async (id: string) => (await kit.call('GET', `/v1/orders/${id}`)).body;
const step = () => kit.control('POST', 'clock', { advance_ms: 200 });

describe('refusals', () => {
  test('401 for an unknown token, and without one', async () => {
    expect((await simulate(UNKNOWN_ORDER, { status: 'processed' }, { merchant: '999' })).status).toBe(401);
    expect((await simulate(UNKNOWN_ORDER, { status: 'processed' }, { merchant: null })).status).toBe(401);
  });

  test('an order of another account, and an unknown one', async () => {
    const foreign = await simulate(await kit.order(), { status: 'processed' }, { merchant: BRAZIL });
    expect([foreign.status, codeOf(foreign)]).toEqual([403, 'forbidden']);
    const unknown = await simulate(UNKNOWN_ORDER, { status: 'processed' });
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'order_not_found']);
  });

  test.each([
    [undefined],
    ['{'],
    [[]],
    [{}],
    [{ status: 'at_terminal' }],
    [{ status: 'created' }],
    [{ status: 'processed', payment_method_id: 'diners' }],
    [{ status: 'processed', payment_method_type: 'cash' }],
    [{ status: 'processed', installments: 0 }],
    [{ status: 'processed', status_detail: 'high_risk' }],
    [{ status: 'failed', status_detail: 'accredited' }],
    [{ status: 'failed', status_detail: 'bad_luck' }],
    [{ status: 'canceled', status_detail: 'failed' }],
    [{ status: 'expired', payment_method_id: 'visa' }],
    [{ status: 'processed', extra: 1 }],
    [{ status: 'refunded' }],
  ])('body %j', async (body) => {
    const id = await kit.order();
    const reply = await simulate(id, body);
    expect([reply.status, codeOf(reply)]).toEqual([400, 'bad_request']);
    expect((await get(id)).status).toBe('created');
  });

  test('a malformed id, and a transition that is over', async () => {
    expect(codeOf(await simulate('ORD1', { status: 'processed' }))).toBe('bad_request');
    const id = await kit.order();
    await kit.atTerminal('pay');
    expect(codeOf(await simulate(id, { status: 'failed' }))).toBe('bad_request');
  });

  test('internal_error on demand', async () => {
    await kit.control('POST', 'faults', { path: '/v1/orders/*/events', kind: 'error' });
    expect((await simulate(await kit.order(), { status: 'processed' })).status).toBe(500);
  });
});

describe('states', () => {
  test.each([
    ['processed', 'accredited', 'accredited'],
    ['failed', 'bad_filled_card_data', 'bad_filled_card_data'],
    ['canceled', 'canceled', 'canceled_on_terminal'],
    ['expired', 'expired', 'expired'],
    ['action_required', 'check_on_terminal', 'check_on_terminal'],
  ])('%s passes through at_terminal', async (status, detail, transaction_detail) => {
    await kit.control('PUT', 'settings', { point_expiry: 'expired' });
    const id = await kit.order();
    const reply = await simulate(id, { status });
    expect([reply.status, reply.text]).toEqual([204, '']);
    expect((await get(id)).status).toBe('at_terminal');
    await step();
    const order = await get(id);
    expect([order.status, order.status_detail, order.transactions.payments[0].status_detail]).toEqual([
      status,
      detail,
      transaction_detail,
    ]);
    await kit.order();
  });

  test('the asked method, installments and detail', async () => {
    const paid = await kit.order();
    await simulate(paid, {
      status: 'processed',
      payment_method_type: 'credit_card',
      payment_method_id: 'visa',
      installments: 6,
    });
    await step();
    const [payment] = (await get(paid)).transactions.payments;
    expect(payment.payment_method).toEqual({ type: 'credit_card', id: 'visa', installments: 6 });
    const failed = await kit.order();
    await simulate(failed, { status: 'failed', status_detail: 'rejected_other_reason' });
    await step();
    expect((await get(failed)).status_detail).toBe('rejected_other_reason');
  });

  test('without a method the preference of the order counts', async () => {
    const { config } = (await kit.createOrder()).body;
    await kit.atTerminal('cancel');
    const id = await kit.order({ config: { ...config, payment_method: { default_type: 'debit_card' } } });
    await simulate(id, { status: 'processed' });
    await step();
    expect((await get(id)).transactions.payments[0].payment_method.type).toBe('debit_card');
  });

  test('refunded is direct and needs processed', async () => {
    const id = await kit.order();
    await kit.atTerminal('pay');
    expect((await simulate(id, { status: 'refunded' })).status).toBe(204);
    const order = await get(id);
    expect([order.status, order.transactions.payments[0].refunded_amount]).toEqual(['refunded', '150.00']);
  });

  test('in real time the final state comes by itself', async () => {
    await kit.control('PUT', 'settings', { simulated_step_ms: 5 });
    await kit.control('POST', 'clock', { mode: 'real' });
    const id = await kit.order();
    await simulate(id, { status: 'processed' });
    await expect.poll(async () => (await get(id)).status).toBe('processed');
    await kit.control('POST', 'clock', { mode: 'manual' });
  });
});
