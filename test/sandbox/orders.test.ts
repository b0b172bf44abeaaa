/** Get and cancel of the sandbox, the states of an order, and the payments and users beside it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, codeOf, type Kit, openKit, UNKNOWN_ORDER, VIRTUAL_TERMINAL } from './kit.ts';

const DAY_MS = 24 * 3_600_000;
const ALLOW = { 'x-allow-cancelable-status': 'at_terminal' };

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const get = async (id: string) => (await kit.call('GET', `/v1/orders/${id}`)).body;
const cancel = (id: string, headers: Record<string, string> = {}, key = 'c1') =>
  kit.call('POST', `/v1/orders/${id}/cancel`, { key, headers });
const advance = (advance_ms: number) => kit.control('POST', 'clock', { advance_ms });

/** Status, detail, transaction status and detail. */
async function statesOf(id: string): Promise<unknown[]> {
  const order = await get(id);
  const [payment] = order.transactions.payments;
  return [order.status, order.status_detail, payment.status, payment.status_detail];
}

describe('get', () => {
  test('no authorization is unauthorized, or by setting stopped by the gateway', async () => {
    expect((await kit.call('GET', `/v1/orders/${UNKNOWN_ORDER}`, { merchant: null })).status).toBe(401);
    await kit.control('PUT', 'settings', { missing_token: 'gateway' });
    expect((await kit.call('GET', `/v1/orders/${UNKNOWN_ORDER}`, { merchant: null })).status).toBe(403);
  });

  test('an unknown token is unauthorized', async () => {
    const headers = { authorization: 'Bearer TEST-unknown' };
    const reply = await kit.call('GET', `/v1/orders/${UNKNOWN_ORDER}`, { merchant: null, headers });
    expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
  });

  test.each([
    ['documented', 'bad_request'],
    ['live', 'invalid_path_param'],
  ])('a malformed id, %s spelling', async (error_codes, code) => {
    await kit.control('PUT', 'settings', { error_codes });
    for (const id of [
      'ORD123',
      'x',
      UNKNOWN_ORDER.toLowerCase(),
      `${UNKNOWN_ORDER}0`,
      `${UNKNOWN_ORDER.slice(0, -1)}-`,
    ]) {
      const reply = await kit.call('GET', `/v1/orders/${id}`);
      expect([reply.status, codeOf(reply)]).toEqual([400, code]);
    }
  });

  test('an unknown order, and one of another merchant', async () => {
    const unknown = await kit.call('GET', `/v1/orders/${UNKNOWN_ORDER}`);
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'order_not_found']);
    const foreign = await kit.call('GET', `/v1/orders/${await kit.order()}`, { merchant: BRAZIL });
    expect([foreign.status, codeOf(foreign)]).toEqual([404, 'order_not_found']);
  });

  test('an order older than three months is read as any other, or by setting not found', async () => {
    const id = await kit.order();
    await advance(92 * DAY_MS + 1);
    expect((await kit.call('GET', `/v1/orders/${id}`)).status).toBe(200);
    await kit.control('PUT', 'settings', { old_orders: 'not_found' });
    expect((await kit.call('GET', `/v1/orders/${id}`)).status).toBe(404);
  });

  test('a body on GET does no harm', async () => {
    const id = await kit.order();
    expect((await kit.call('GET', `/v1/orders/${id}`, { body: {} })).status).toBe(200);
    expect((await kit.call('GET', `/v1/orders/${id}`)).status).toBe(200);
  });

  test('internal_error on demand', async () => {
    await kit.control('POST', 'faults', { method: 'GET', path: '/v1/orders/*', kind: 'error' });
    const reply = await kit.call('GET', `/v1/orders/${UNKNOWN_ORDER}`);
    expect([reply.status, codeOf(reply)]).toEqual([500, 'internal_error']);
  });
});

describe('cancel', () => {
  test('refusals before the order is looked at', async () => {
    const id = await kit.order();
    expect((await kit.call('POST', `/v1/orders/${id}/cancel`, { merchant: null, key: 'c' })).status).toBe(401);
    expect(codeOf(await kit.call('POST', `/v1/orders/${id}/cancel`))).toBe('empty_required_header');
    expect(codeOf(await cancel('ORD1'))).toBe('bad_request');
    const unknown = await cancel(UNKNOWN_ORDER);
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'order_not_found']);
  });

  test.each([
    [403, 'forbidden_checking_terminal_owner'],
    [409, 'instore_order_locked_error'],
    [500, 'idempotency_validation_failed'],
  ])('%i %s on demand', async (status, code) => {
    const id = await kit.order();
    await kit.control('POST', 'faults', { path: '/v1/orders/*/cancel', kind: 'error', status, code });
    const reply = await cancel(id);
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });

  test('a created order is canceled at once, with the full order', async () => {
    const id = await kit.order();
    const reply = await cancel(id);
    expect([reply.status, reply.body.status, reply.body.config.point.terminal_id]).toEqual([
      200,
      'canceled',
      VIRTUAL_TERMINAL,
    ]);
    expect(await statesOf(id)).toEqual(['canceled', 'canceled', 'canceled', 'canceled_by_api']);
    await kit.order();
  });

  test('a second cancel is refused', async () => {
    const id = await kit.order();
    await cancel(id);
    const reply = await cancel(id, {}, 'c2');
    expect([reply.status, codeOf(reply)]).toEqual([409, 'order_already_canceled']);
  });

  test.each([[{}], [{ 'x-allow-cancelable-status': 'at_terminal,created' }]])(
    'at the terminal with headers %j',
    async (headers) => {
      const id = await kit.order();
      await kit.atTerminal('pick_up');
      const reply = await cancel(id, headers);
      expect([reply.status, codeOf(reply)]).toEqual([409, 'cannot_cancel_order']);
      expect(await statesOf(id)).toEqual(['at_terminal', 'at_terminal', 'at_terminal', 'at_terminal']);
    },
  );

  test('at a terminal with old software the header is as if absent', async () => {
    await kit.control('PUT', `terminals/${ARGENTINA}/${VIRTUAL_TERMINAL}`, { software: 'old' });
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    expect(codeOf(await cancel(id, ALLOW))).toBe('cannot_cancel_order');
  });

  test.each([
    ['pay', 'processed'],
    ['decline', 'failed'],
    ['confirm_needed', 'action_required'],
  ])('after %s it is too late', async (action, status) => {
    const id = await kit.order();
    await kit.atTerminal(action);
    expect((await get(id)).status).toBe(status);
    expect(codeOf(await cancel(id, ALLOW))).toBe('cannot_cancel_order');
  });

  test('at the terminal with the header, by setting: 202, and canceled once the terminal confirms', async () => {
    await kit.control('PUT', 'settings', { cancel_confirmation: 'automatic' });
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    const reply = await cancel(id, ALLOW);
    const [payment] = reply.body.transactions.payments;
    expect([reply.status, reply.body.status, reply.body.status_detail]).toEqual([202, 'at_terminal', 'at_terminal']);
    expect([payment.status, payment.status_detail]).toEqual(['at_terminal', 'cancellation_requested']);
    await advance(200);
    expect(await statesOf(id)).toEqual(['canceled', 'canceled', 'canceled', 'canceled_by_api']);
  });

  test('by setting the payment may still win', async () => {
    await kit.control('PUT', 'settings', { cancel_confirmation: 'automatic' });
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    await cancel(id, ALLOW);
    await kit.atTerminal('pay');
    await advance(1000);
    expect(await statesOf(id)).toEqual(['processed', 'accredited', 'processed', 'accredited']);
  });

  test('confirmation may wait for the person', async () => {
    await kit.control('PUT', 'settings', { cancel_confirmation: 'by_hand' });
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    expect((await cancel(id, ALLOW)).status).toBe(202);
    await advance(60_000);
    expect((await get(id)).status).toBe('at_terminal');
    await kit.atTerminal('cancel');
    expect(await statesOf(id)).toEqual(['canceled', 'canceled', 'canceled', 'canceled_by_api']);
  });

  test('the same key again is a conflict, or by setting gives the saved answer; the key of the create always conflicts', async () => {
    const { body } = await kit.createOrder({}, { key: 'create-key' });
    expect(codeOf(await cancel(body.id, {}, 'create-key'))).toBe('idempotency_key_already_used');
    const first = await cancel(body.id);
    const again = await cancel(body.id);
    expect([again.status, codeOf(again)]).toEqual([409, 'idempotency_key_already_used']);
    await kit.control('PUT', 'settings', { replay_cancels: 'saved' });
    expect((await cancel(body.id)).text).toBe(first.text);
    expect(codeOf(await cancel(body.id, {}, 'create-key'))).toBe('idempotency_key_already_used');
  });
});

describe('states', () => {
  test.each([
    ['PT30S', 30_000],
    ['PT15M', 900_000],
    ['PT3H', 10_800_000],
  ])(
    'an order of %s is canceled after it, or by setting expired, and frees the terminal',
    async (expiration_time, lifetime_ms) => {
      const canceled = await kit.order({ expiration_time });
      await advance(lifetime_ms);
      expect(await statesOf(canceled)).toEqual(['canceled', 'canceled', 'canceled', 'canceled']);
      await kit.control('PUT', 'settings', { point_expiry: 'expired' });
      const id = await kit.order({ expiration_time });
      await advance(lifetime_ms - 1);
      expect((await get(id)).status).toBe('created');
      await advance(1);
      expect(await statesOf(id)).toEqual(['expired', 'expired', 'expired', 'expired']);
      await kit.order();
    },
  );

  test('an order that was picked up is canceled too; a paid one is not', async () => {
    const unpaid = await kit.order({ expiration_time: 'PT1M' });
    await kit.atTerminal('pick_up');
    await advance(60_000);
    expect((await get(unpaid)).status).toBe('canceled');
    const paid = await kit.order({ expiration_time: 'PT1M' });
    await kit.atTerminal('pay');
    await advance(60_000);
    expect((await get(paid)).status).toBe('processed');
  });

  test('paid: method, card, tip and the payment behind it', async () => {
    const id = await kit.order();
    await kit.atTerminal('pay', { payment_method_type: 'debit_card', payment_method_id: 'debvisa', tip_minor: 250 });
    const [payment] = (await get(id)).transactions.payments;
    expect(payment).toMatchObject({
      amount: '150.00',
      paid_amount: '152.50',
      tip_amount: '2.50',
      reference_id: expect.stringMatching(/^\d{12}$/),
      payment_method: { type: 'debit_card', id: 'debvisa', installments: 1 },
      card: { first_digits: '503175', last_digits: '0604' },
    });
  });

  test('declined: the detail, and a rejected payment unless the setting says none', async () => {
    const id = await kit.order();
    await kit.atTerminal('decline', { status_detail: 'insufficient_amount' });
    expect(await statesOf(id)).toEqual(['failed', 'insufficient_amount', 'failed', 'insufficient_amount']);
    const { reference_id } = (await get(id)).transactions.payments[0];
    const payment = await kit.call('GET', `/v1/payments/${reference_id}`);
    expect([payment.status, payment.body.status]).toEqual([200, 'rejected']);
    await kit.control('PUT', 'settings', { failed_payment: 'none', failed_status_detail: 'high_risk' });
    const other = await kit.order();
    await kit.atTerminal('decline');
    expect(await statesOf(other)).toEqual(['failed', 'high_risk', 'failed', 'high_risk']);
    expect((await get(other)).transactions.payments[0].reference_id).toBeUndefined();
  });

  test('canceled by the person, and an error of the terminal', async () => {
    const canceled = await kit.order();
    await kit.atTerminal('cancel');
    expect(await statesOf(canceled)).toEqual(['canceled', 'canceled', 'canceled', 'canceled_on_terminal']);
    const failed = await kit.order();
    await kit.atTerminal('error');
    expect(await statesOf(failed)).toEqual(['failed', 'processing_error', 'failed', 'processing_error']);
  });

  test('action_required is the end, and frees the terminal', async () => {
    const id = await kit.order();
    await kit.atTerminal('confirm_needed');
    await advance(DAY_MS);
    expect(await statesOf(id)).toEqual([
      'action_required',
      'check_on_terminal',
      'action_required',
      'check_on_terminal',
    ]);
    await kit.order();
  });

  test('by setting action_required moves on, and holds the terminal until then', async () => {
    await kit.control('PUT', 'settings', { action_required: 'moves_on' });
    const id = await kit.order();
    await kit.atTerminal('confirm_needed');
    expect(codeOf(await kit.createOrder())).toBe('already_queued_order_for_terminal');
    await kit.atTerminal('pay');
    expect((await get(id)).status).toBe('processed');
  });

  test('actions out of turn are refused and change nothing', async () => {
    await expect(kit.atTerminal('pay')).rejects.toThrow('Nothing is queued');
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    await expect(kit.atTerminal('pick_up')).rejects.toThrow("can't be picked up");
    await expect(kit.atTerminal('dance')).rejects.toThrow('404');
    await kit.atTerminal('process');
    expect((await get(id)).status).toBe('at_terminal');
  });
});

describe('payments and users', () => {
  test.each([
    ['/v1/payments/131000000001', 404],
    ['/v1/payments/abc', 400],
  ])('%s answers %i', async (path, status) => {
    const reply = await kit.call('GET', path);
    expect([reply.status, reply.body.status]).toEqual([status, status]);
  });

  test.each([['/v1/payments/1'], ['/users/me']])('%s without a known token is 401', async (path) => {
    expect((await kit.call('GET', path, { merchant: null })).status).toBe(401);
    expect((await kit.call('GET', path, { merchant: '999' })).status).toBe(401);
  });

  test('a payment belongs to its merchant', async () => {
    const id = await kit.order();
    await kit.atTerminal('pay', { installments: 3 });
    const { reference_id } = (await get(id)).transactions.payments[0];
    const payment = (await kit.call('GET', `/v1/payments/${reference_id}`)).body;
    expect(payment).toMatchObject({
      id: Number(reference_id),
      status: 'approved',
      status_detail: 'accredited',
      transaction_amount: 150,
      transaction_amount_refunded: 0,
      currency_id: 'ARS',
      collector_id: 700100200,
      external_reference: expect.stringContaining('sale-'),
      payment_type_id: 'credit_card',
      installments: 3,
      // The number of the merchant order, as text: `docs/field-notes.md` QR §3.
      order: { type: 'mercadopago', id: expect.stringMatching(/^\d+$/) },
    });
    expect((await kit.call('GET', `/v1/payments/${reference_id}`, { merchant: BRAZIL })).status).toBe(404);
  });

  test.each([
    [ARGENTINA, 'MLA', 'AR'],
    [BRAZIL, 'MLB', 'BR'],
    ['700100400', 'MLM', 'MX'],
  ])('user %s', async (merchant, site_id, country_id) => {
    const { body } = await kit.call('GET', '/users/me', { merchant });
    expect(body).toMatchObject({
      id: Number(merchant),
      nickname: expect.stringMatching(/^TESTSELLER\d$/),
      site_id,
      country_id,
    });
  });
});
