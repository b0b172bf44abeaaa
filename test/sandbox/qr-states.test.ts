/** What becomes of a QR order: the buyer at the till or at a code, cancel, expiry, and the payment behind it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, CHILE, codeOf, UNKNOWN_ORDER, URUGUAY } from './kit.ts';
import { amount, mode, OTHER_TILL, openQrKit, type QrKit, qrItem, TILL } from './qr-kit.ts';

let kit: QrKit;
beforeAll(async () => {
  kit = await openQrKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const cancel = (id: string, key = 'c1', merchant = ARGENTINA) =>
  kit.call('POST', `/v1/orders/${id}/cancel`, { key, merchant });
const control = (path: string, body?: unknown) => kit.call('POST', `/_sandbox/${path}`, { merchant: null, body });
const fresh = ['created', 'created', 'created', 'ready_to_process'];
const discounts = (...types: string[]) => ({
  discounts: { payment_methods: types.map((type) => ({ type, new_total_amount: '120.00' })) },
});

describe('refusals of the buyer door', () => {
  test.each([
    [`pos/1/${TILL}/pay`, 404, 'Merchant 1'],
    [`pos/${ARGENTINA}/NOBODY/pay`, 404, 'no till NOBODY'],
    [`pos/${ARGENTINA}/${TILL}/pay`, 409, 'shows nothing to pay'],
    ['payables/X/pay', 404, 'Nothing with id X'],
  ])('%s', async (path, status, word) => {
    const reply = await control(path);
    expect([reply.status, reply.body.message]).toEqual([status, expect.stringContaining(word)]);
  });

  test('an unknown action, and options that are none', async () => {
    await kit.qrOrder();
    const unknown = await control(`pos/${ARGENTINA}/${TILL}/refund`);
    expect([unknown.status, unknown.body.message]).toEqual([404, 'A buyer can pay, decline, abandon, lock, unlock.']);
    const options = await control(`pos/${ARGENTINA}/${TILL}/pay`, { tip_minor: 5 });
    expect([options.status, options.body.message]).toEqual([400, expect.stringContaining('tip_minor')]);
  });

  test('a till shows no dynamic order, and nothing of another till', async () => {
    await kit.qrOrder(mode('dynamic'));
    await kit.qrOrder(mode('static', OTHER_TILL));
    expect((await control(`pos/${ARGENTINA}/${TILL}/pay`)).status).toBe(409);
  });

  test('an order that is over', async () => {
    const id = await kit.qrOrder();
    await kit.atTill('pay');
    expect((await control(`payables/${id}/pay`)).status).toBe(404);
  });
});

describe('paying', () => {
  test('at the till, with the money in the account', async () => {
    const id = await kit.qrOrder();
    expect(await kit.statesOf(id)).toEqual(fresh);
    expect((await kit.atTill('pay')).body).toEqual({ kind: 'order', id, open: false });
    expect(await kit.statesOf(id)).toEqual(['processed', 'accredited', 'processed', 'accredited']);
    const order = await kit.get(id);
    expect([order.total_paid_amount, order.transactions.payments[0]]).toEqual([
      '150.00',
      {
        id: expect.any(String),
        amount: '150.00',
        paid_amount: '150.00',
        status: 'processed',
        status_detail: 'accredited',
        reference_id: expect.stringMatching(/^\d{12}$/),
        payment_method: { type: 'account_money', id: 'account_money', installments: 1 },
      },
    ]);
  });

  test('by the internal number of the till', async () => {
    const id = await kit.qrOrder();
    expect((await kit.atTill('pay', {}, '1000001')).body.id).toBe(id);
  });

  test.each([['dynamic'], ['hybrid']])('at the own code of a %s order', async (wanted) => {
    const id = await kit.qrOrder(mode(wanted));
    await kit.atCode(id, 'pay');
    expect((await kit.get(id)).status).toBe('processed');
  });

  test('by card, in installments, with the digits of the card', async () => {
    const id = await kit.qrOrder();
    await kit.atTill('pay', { payment_method_type: 'credit_card', payment_method_id: 'visa', installments: 6 });
    const [payment] = (await kit.get(id)).transactions.payments;
    expect([payment.payment_method, payment.card]).toEqual([
      { type: 'credit_card', id: 'visa', installments: 6 },
      { first_digits: expect.stringMatching(/^\d{6}$/), last_digits: expect.stringMatching(/^\d{4}$/) },
    ]);
  });

  test('the installments of the order are what a buyer takes who says nothing', async () => {
    await kit.control('PUT', 'settings', { qr_installments: 'accepted' });
    const config = { qr: { external_pos_id: TILL }, payment_method: { default_installments: 3 } };
    const id = await kit.qrOrder({ config });
    await kit.atTill('pay', { payment_method_type: 'credit_card' });
    const [payment] = (await kit.get(id)).transactions.payments;
    expect(payment.payment_method).toEqual({ type: 'credit_card', id: 'master', installments: 3 });
  });

  test('in Chile without decimals', async () => {
    const id = await kit.qrOrder({ ...amount('2500'), items: [qrItem({ unit_price: '2500' })] }, { merchant: CHILE });
    await kit.atTill('pay', {}, TILL, CHILE);
    const order = await kit.get(id, CHILE);
    expect([order.total_paid_amount, order.transactions.payments[0].paid_amount]).toEqual(['2500', '2500']);
    expect([...kit.sandbox.world.payments.values()].map((payment) => payment.amount_minor)).toEqual([2500]);
  });

  test('status_detail of a paid order may be processed', async () => {
    await kit.control('PUT', 'settings', { paid_status_detail: 'processed' });
    const id = await kit.qrOrder();
    await kit.atTill('pay');
    expect((await kit.get(id)).status_detail).toBe('processed');
  });

  test('the payment knows its till and its order', async () => {
    const id = await kit.qrOrder({ external_reference: 'sale-9', description: 'Table 4' });
    await kit.atTill('pay', { payment_method_type: 'debit_card' });
    const payment = [...kit.sandbox.world.payments.values()].at(-1);
    expect(payment).toMatchObject({
      merchant_id: ARGENTINA,
      status: 'approved',
      amount_minor: 15000,
      external_reference: 'sale-9',
      description: 'Table 4',
      payment_method_id: 'debmaster',
      pos: { id: 1000001, external_id: TILL },
      origin: { kind: 'order', id },
      merchant_order_id: null,
    });
  });
});

describe('discounts', () => {
  test('paying by a discounted method lowers what is paid, and names the method', async () => {
    const id = await kit.qrOrder(discounts('debit_card', 'prepaid_card'));
    await kit.atTill('pay', { payment_method_type: 'prepaid_card' });
    const order = await kit.get(id);
    expect([order.total_amount, order.total_paid_amount]).toEqual(['150.00', '120.00']);
    expect(order.transactions.payments[0]).toMatchObject({
      amount: '150.00',
      paid_amount: '120.00',
      discounts: { type: 'prepaid_card' },
    });
    expect([...kit.sandbox.world.payments.values()].at(-1)?.amount_minor).toBe(12000);
  });

  test('another method pays in full and shows no discount', async () => {
    const id = await kit.qrOrder(discounts('debit_card'));
    await kit.atTill('pay', { payment_method_type: 'credit_card' });
    const [payment] = (await kit.get(id)).transactions.payments;
    expect([payment.paid_amount, payment.discounts]).toEqual(['150.00', undefined]);
  });

  test('a category of an item may lower what is paid', async () => {
    const id = await kit.qrOrder({ items: [qrItem({ external_categories: [{ id: 'coffee' }] })] });
    await kit.atTill('pay', { payment_method_type: 'debit_card', category_discount_minor: 1500 });
    expect((await kit.get(id)).transactions.payments[0]).toMatchObject({
      paid_amount: '135.00',
      discounts: { type: 'debit_card' },
    });
  });

  test('without categories there is no such discount, and none is more than the price', async () => {
    await kit.qrOrder();
    const path = `pos/${ARGENTINA}/${TILL}/pay`;
    expect((await control(path, { category_discount_minor: 1 })).status).toBe(409);
    const id = await kit.qrOrder({ items: [qrItem({ external_categories: [{ id: 'coffee' }] })] });
    expect((await control(path, { category_discount_minor: 15001 })).status).toBe(409);
    expect(await kit.statesOf(id)).toEqual(fresh);
  });
});

describe('cash withdrawal', () => {
  const cash = { transactions: { payments: [{ amount: '150.00' }], cash_outs: [{ amount: '50.00' }] } };
  beforeEach(() => kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true }));

  test('the buyer pays both; one payment stands behind them', async () => {
    const id = await kit.qrOrder(cash);
    await kit.atTill('pay');
    const order = await kit.get(id);
    const [payment] = order.transactions.payments;
    expect([order.total_paid_amount, payment.paid_amount]).toEqual(['200.00', '150.00']);
    expect(order.transactions.cash_outs).toEqual([
      {
        id: expect.any(String),
        amount: '50.00',
        status: 'processed',
        status_detail: 'accredited',
        reference_id: payment.reference_id,
      },
    ]);
    expect(kit.sandbox.world.payments.get(Number(payment.reference_id))?.amount_minor).toBe(20000);
  });

  test('a discount leaves the cash alone', async () => {
    const id = await kit.qrOrder({
      ...cash,
      discounts: { payment_methods: [{ type: 'account_money', new_total_amount: '170.00' }] },
    });
    await kit.atTill('pay');
    const order = await kit.get(id);
    expect([order.total_paid_amount, order.transactions.payments[0].paid_amount]).toEqual(['170.00', '120.00']);
  });

  test('without a sale', async () => {
    const id = await kit.qrOrder({ transactions: { cash_outs: cash.transactions.cash_outs }, items: undefined });
    await kit.atTill('pay');
    const order = await kit.get(id);
    expect([order.status, order.total_paid_amount, order.transactions.payments]).toEqual([
      'processed',
      '50.00',
      undefined,
    ]);
    expect(order.transactions.cash_outs[0]).toMatchObject({ status: 'processed', reference_id: expect.any(String) });
  });
});

describe('rejected attempts and buyers who walk away', () => {
  test.each([['decline'], ['abandon'], ['unlock']])('%s leaves no trace in the order', async (action) => {
    const id = await kit.qrOrder();
    const before = await kit.get(id);
    await kit.atTill('lock');
    expect((await kit.atTill(action)).body).toEqual({ kind: 'order', id, open: true });
    expect(await kit.get(id)).toEqual(before);
    expect(kit.sandbox.world.payments.size).toBe(0);
    await kit.atTill('pay');
    expect((await kit.get(id)).status).toBe('processed');
  });

  test('a payment in review shows in the detail until it is decided', async () => {
    const id = await kit.qrOrder();
    await kit.atTill('lock', { in_review: true });
    expect(await kit.statesOf(id)).toEqual(['created', 'created', 'created', 'in_review']);
    await kit.atTill('decline');
    expect(await kit.statesOf(id)).toEqual(fresh);
    await kit.atTill('lock', { in_review: true });
    await kit.atTill('pay');
    expect(await kit.statesOf(id)).toEqual(['processed', 'accredited', 'processed', 'accredited']);
  });
});

describe('cancel', () => {
  test('a created order is canceled at once, with the full order', async () => {
    const id = await kit.qrOrder();
    const reply = await cancel(id);
    expect([reply.status, reply.body.status, reply.body.config.qr.external_pos_id]).toEqual([200, 'canceled', TILL]);
    expect(await kit.statesOf(id)).toEqual(['canceled', 'canceled', 'canceled', 'canceled_by_api']);
    expect((await control(`payables/${id}/pay`)).status).toBe(404);
  });

  test('instore_order_locked_error while a payment is in progress', async () => {
    const id = await kit.qrOrder();
    await kit.atTill('lock');
    const reply = await cancel(id);
    expect([reply.status, codeOf(reply)]).toEqual([409, 'instore_order_locked_error']);
    expect(await kit.statesOf(id)).toEqual(fresh);
  });

  test.each([['unlock'], ['abandon'], ['decline']])('possible again after %s', async (action) => {
    const id = await kit.qrOrder();
    await kit.atTill('lock');
    await kit.atTill(action);
    expect((await cancel(id)).status).toBe(200);
  });

  test('order_already_canceled the second time, and a conflict for the same key', async () => {
    const id = await kit.qrOrder();
    const first = await cancel(id);
    const again = await cancel(id, 'c2');
    expect([again.status, codeOf(again)]).toEqual([409, 'order_already_canceled']);
    const same = await cancel(id);
    expect([first.status, same.status, codeOf(same)]).toEqual([200, 409, 'idempotency_key_already_used']);
  });

  test('cannot_cancel_order once paid, and once expired', async () => {
    const paid = await kit.qrOrder();
    await kit.atTill('pay');
    expect([(await cancel(paid)).status, codeOf(await cancel(paid))]).toEqual([409, 'cannot_cancel_order']);
    const expired = await kit.qrOrder({ expiration_time: 'PT30S' });
    await kit.advance(30_000);
    expect(codeOf(await cancel(expired))).toBe('cannot_cancel_order');
  });

  test('refusals before the order is looked at', async () => {
    expect(codeOf(await kit.call('POST', `/v1/orders/${UNKNOWN_ORDER}/cancel`))).toBe('empty_required_header');
    expect(codeOf(await cancel(UNKNOWN_ORDER))).toBe('order_not_found');
    expect(codeOf(await cancel(await kit.qrOrder(), 'c1', BRAZIL))).toBe('order_not_found');
  });

  test('invalid_path_param for a malformed id, where a merchant has QR orders alone', async () => {
    const reply = await kit.call('GET', '/v1/orders/ORD1', { merchant: URUGUAY });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'invalid_path_param']);
    const canceled = await cancel('ORD1', 'c1', URUGUAY);
    expect([canceled.status, codeOf(canceled)]).toEqual([400, 'invalid_path_param']);
  });
});

describe('expiry', () => {
  test.each([
    [{}, 900_000],
    [{ expiration_time: 'PT30S' }, 30_000],
    [{ expiration_time: 'PT3600H' }, 3600 * 3_600_000],
  ])('%j ends after %i ms', async (changes, lifetime_ms) => {
    const id = await kit.qrOrder(changes);
    await kit.advance(lifetime_ms - 1);
    expect(kit.sandbox.world.orders.get(id)?.status).toBe('created');
    await kit.advance(1);
    const order = kit.sandbox.world.orders.get(id);
    expect([order?.status, order?.status_detail]).toEqual(['expired', 'expired']);
    expect([order?.transaction.status, order?.transaction.status_detail]).toEqual(['expired', 'expired']);
    expect(kit.sandbox.world.payables.size).toBe(0);
  });

  test('waits for a buyer who is paying, and a payment wins', async () => {
    const id = await kit.qrOrder();
    await kit.atTill('lock');
    await kit.advance(3_600_000);
    expect(await kit.statesOf(id)).toEqual(fresh);
    await kit.atTill('pay');
    expect((await kit.get(id)).status).toBe('processed');
  });

  test('comes at once when that buyer walks away', async () => {
    const id = await kit.qrOrder();
    await kit.atTill('lock');
    await kit.advance(3_600_000);
    expect((await kit.atTill('abandon')).body.open).toBe(false);
    expect((await kit.get(id)).status).toBe('expired');
  });
});

describe('around it', () => {
  test('a QR order has no simulator', async () => {
    const id = await kit.qrOrder();
    const reply = await kit.call('POST', `/v1/orders/${id}/events`, { body: { status: 'processed' } });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'bad_request']);
    expect(await kit.statesOf(id)).toEqual(fresh);
  });

  test('a QR order does not occupy the terminal of its till', async () => {
    await kit.qrOrder(mode('static', OTHER_TILL));
    expect((await kit.createOrder()).status).toBe(201);
  });

  test('an order of another merchant, and by setting one older than three months', async () => {
    const id = await kit.qrOrder();
    expect((await kit.call('GET', `/v1/orders/${id}`, { merchant: BRAZIL })).status).toBe(404);
    await kit.advance(92 * 24 * 3_600_000 + 1);
    expect((await kit.call('GET', `/v1/orders/${id}`)).status).toBe(200);
    await kit.control('PUT', 'settings', { old_orders: 'not_found' });
    expect((await kit.call('GET', `/v1/orders/${id}`)).status).toBe(404);
  });

  test('the state lists what can be paid, and what a merchant may do', async () => {
    const [shown, own] = [await kit.qrOrder(), await kit.qrOrder(mode('dynamic'))];
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const { body } = await kit.control('GET', 'state');
    const till = { kind: 'order', merchant_id: ARGENTINA, pos_id: 1000001, external_pos_id: TILL };
    expect(body.payables).toEqual([
      { ...till, id: shown, on_pos: true },
      { ...till, id: own, on_pos: false },
    ]);
    expect(body.merchants[0]).toMatchObject({ oauth: false, has_marketplace: true, may_hand_out_cash: true });
  });

  test('reset forgets them', async () => {
    await kit.qrOrder();
    await kit.control('POST', 'reset');
    expect((await kit.control('GET', 'state')).body.payables).toEqual([]);
    expect((await kit.control('GET', 'state')).body.merchants[0].may_hand_out_cash).toBe(false);
  });

  test.each([
    ['PUT', `merchants/${ARGENTINA}/token`, {}, 400],
    ['PUT', `merchants/${ARGENTINA}`, { colour: 'red' }, 400],
    ['PUT', 'merchants/1', {}, 404],
  ])('%s %s %j is refused', async (method, path, body, status) => {
    expect((await kit.call(method, `/_sandbox/${path}`, { merchant: null, body })).status).toBe(status);
  });
});
