/** Transitions of the specification that other facts contradict or that are not shown: the form of the table is a setting. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, codeOf } from './kit.ts';
import { openQrKit, type QrKit } from './qr-kit.ts';

let kit: QrKit;
beforeAll(async () => {
  kit = await openQrKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const configure = (settings: object) => kit.control('PUT', 'settings', settings);

describe('cancel at the terminal, setting cancel_confirmation at_once', () => {
  const headers = { 'x-allow-cancelable-status': 'at_terminal' };
  const cancel = (id: string, allowed: object = headers) =>
    kit.call('POST', `/v1/orders/${id}/cancel`, { key: 'c1', headers: { ...allowed } });
  beforeEach(() => configure({ cancel_confirmation: 'at_once' }));

  test('200 with the full order, canceled, and the terminal is free', async () => {
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    const reply = await cancel(id);
    expect([reply.status, reply.body]).toEqual([200, await kit.get(id)]);
    expect(await kit.statesOf(id)).toEqual(['canceled', 'canceled', 'canceled', 'canceled_by_api']);
    expect((await kit.createOrder()).status).toBe(201);
  });

  test('without the header it is refused as ever', async () => {
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    const reply = await cancel(id, {});
    expect([reply.status, codeOf(reply), (await kit.get(id)).status]).toEqual([
      409,
      'cannot_cancel_order',
      'at_terminal',
    ]);
  });
});

describe('expiry, setting point_expiry canceled', () => {
  beforeEach(() => configure({ point_expiry: 'canceled' }));

  test.each([[[]], [['pick_up']]])('a Point order after %j is canceled when its time is over', async (actions) => {
    const id = await kit.order({ expiration_time: 'PT30S' });
    for (const action of actions) await kit.atTerminal(action);
    await kit.advance(29_999);
    expect((await kit.get(id)).status).toBe(actions.length === 0 ? 'created' : 'at_terminal');
    await kit.advance(1);
    expect(await kit.statesOf(id)).toEqual(['canceled', 'canceled', 'canceled', 'canceled']);
    expect((await kit.createOrder()).status).toBe(201);
  });

  test('a QR order expires as ever', async () => {
    const id = await kit.qrOrder({ expiration_time: 'PT30S' });
    await kit.advance(30_000);
    expect((await kit.get(id)).status).toBe('expired');
  });
});

describe('failed orders', () => {
  test('without a cause at the terminal: bad_filled_card_data', async () => {
    const id = await kit.order();
    await kit.atTerminal('decline');
    const order = await kit.get(id);
    expect([order.status, order.status_detail]).toEqual(['failed', 'bad_filled_card_data']);
  });
});

describe('a refund that fails, setting processing_refund_ends failed', () => {
  beforeEach(() => configure({ processing_refund_ends: 'failed' }));

  const refund = (id: string, key: string) => kit.call('POST', `/v1/orders/${id}/refund`, { key });

  test('Point: processing, then failed, and order and payment are as before', async () => {
    const id = await kit.order();
    await kit.atTerminal('pay');
    const before = await kit.get(id);
    const { body } = await refund(id, 'r1');
    expect([body.status, body.transactions.refunds[0].status]).toEqual(['refunded', 'processing']);
    await kit.advance(200);
    const after = await kit.get(id);
    expect(after.transactions.refunds).toEqual([{ ...body.transactions.refunds[0], status: 'failed' }]);
    expect([after.status, after.status_detail]).toEqual([before.status, before.status_detail]);
    expect(after.transactions.payments).toEqual(before.transactions.payments);
    const { reference_id } = after.transactions.payments[0];
    const payment = (await kit.call('GET', `/v1/payments/${reference_id}`)).body;
    expect([payment.status, payment.status_detail, payment.transaction_amount_refunded]).toEqual([
      'approved',
      'accredited',
      0,
    ]);
    await configure({ processing_refund_ends: 'processed' });
    expect((await refund(id, 'r2')).status).toBe(201);
    await kit.advance(200);
    expect((await kit.get(id)).transactions.refunds.map((node: { status: string }) => node.status)).toEqual([
      'failed',
      'processed',
    ]);
  });

  test('what was refunded in parts before stays refunded', async () => {
    const id = await kit.qrOrder();
    await kit.atTill('pay', { payment_method_type: 'debit_card' });
    const [payment] = (await kit.get(id)).transactions.payments;
    const body = { transactions: [{ id: payment.id, amount: '50.00' }] };
    await kit.call('POST', `/v1/orders/${id}/refund`, { key: 'r1', body });
    await refund(id, 'r2');
    await kit.advance(200);
    const order = await kit.get(id);
    expect([order.status_detail, order.transactions.payments[0].refunded_amount]).toEqual([
      'partially_refunded',
      '50.00',
    ]);
  });

  test('a withdrawal without a sale', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const id = await kit.qrOrder({ transactions: { cash_outs: [{ amount: '50.00' }] } });
    await kit.atTill('pay');
    await refund(id, 'r1');
    await kit.advance(200);
    const order = await kit.get(id);
    expect([order.status, order.transactions.cash_outs[0].refunded_amount]).toEqual(['processed', undefined]);
  });
});
