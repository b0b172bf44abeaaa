/** What a buyer does with a legacy QR order, and what it leaves behind: `docs/field-notes.md` QR §2, finding 12. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { codePath, openShop, preference, type Shop, storeOrder, TILL_NUMBER, v1Path, v2Path } from './qr-kit.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(() => shop.close());

const merchantOrder = async () => (await shop.call('GET', '/merchant_orders')).body.elements[0];

describe('a buyer', () => {
  it('pays: the payment carries the reference, the till and the merchant order, and the order is over', async () => {
    await shop.call('POST', v1Path(), { body: preference() });
    shop.buyer('pay', { payment_method_type: 'credit_card', installments: 3 });
    const [order] = await shop.orders();
    expect(order).toMatchObject({ state: 'paid', payment_ids: [131_000_000_001] });
    expect(shop.sandbox.world.payments.get(131_000_000_001)).toMatchObject({
      status: 'approved',
      status_detail: 'accredited',
      amount_minor: 24_100,
      external_reference: 'INV 0001',
      description: 'Coffee',
      payment_type_id: 'credit_card',
      payment_method_id: 'master',
      installments: 3,
      pos: { id: TILL_NUMBER },
      origin: { kind: 'legacy_qr', id: order.id },
      merchant_order_id: order.merchant_order_id,
    });
    expect(shop.sandbox.world.payables.size).toBe(0);
    shop.sandbox.world.clock.advance(24 * 3_600_000); // its expiry finds nothing to end
    expect(await merchantOrder()).toMatchObject({ status: 'closed', order_status: 'paid', paid_amount: 241 });
  });

  it('pays with the money of the account when nothing else is said, and what was paid can be read as a payment', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    shop.buyer('pay');
    const { body } = await shop.call('GET', '/v1/payments/131000000001');
    const [order] = await shop.orders();
    expect(body).toMatchObject({
      payment_type_id: 'account_money',
      external_reference: 'INV 0002',
      transaction_amount: 241,
      order: { id: String(order.merchant_order_id) },
    });
  });

  it('is declined: the rejected payment shows in the opened merchant order, and another attempt may follow', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    shop.buyer('decline');
    expect(await merchantOrder()).toMatchObject({
      status: 'opened',
      order_status: 'payment_required',
      paid_amount: 0,
      payments: [{ status: 'rejected', total_paid_amount: 0, date_approved: null }],
    });
    shop.buyer('pay');
    expect(await merchantOrder()).toMatchObject({
      status: 'closed',
      paid_amount: 241,
      payments: [{ status: 'rejected' }, { status: 'approved' }],
    });
  });

  it('begins and goes back: payment_in_process in between', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    shop.buyer('lock');
    expect(await merchantOrder()).toMatchObject({ status: 'opened', order_status: 'payment_in_process' });
    expect(() => shop.buyer('lock')).toThrow('being paid');
    shop.buyer('unlock');
    expect(await merchantOrder()).toMatchObject({ order_status: 'payment_required' });
    expect(() => shop.buyer('unlock')).toThrow('not possible');
  });

  it('abandons: the order waits for the next one', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    shop.buyer('lock');
    shop.buyer('abandon');
    expect(await shop.orders()).toMatchObject([{ state: 'open', locked: false }]);
    shop.buyer('pay');
    expect(await shop.orders()).toMatchObject([{ state: 'paid' }]);
  });

  it('can pay what was begun in time; when the buyer goes back after that the order is over', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    shop.buyer('lock');
    shop.sandbox.world.clock.advance(600_000);
    expect(await shop.orders()).toMatchObject([{ state: 'open' }]);
    shop.buyer('unlock');
    expect(await shop.orders()).toMatchObject([{ state: 'expired' }]);
    expect(shop.sandbox.world.payables.size).toBe(0);
  });

  it('pays the dynamic code and the code of the till apart, at the control door', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    const { body } = await shop.call('POST', codePath(), { body: storeOrder() });
    await shop.control('POST', `payables/${body.in_store_order_id}/pay`);
    expect((await shop.orders()).map(({ state }) => state)).toEqual(['open', 'paid']);
    await shop.control('POST', 'pos/700100200/SUC001POS001/pay');
    expect((await shop.orders()).map(({ state }) => state)).toEqual(['paid', 'paid']);
  });

  it('is forgotten at a reset', async () => {
    await shop.call('PUT', v2Path(), { body: storeOrder() });
    await shop.control('POST', 'reset');
    expect(await shop.orders()).toEqual([]);
    expect((await shop.call('GET', v2Path())).status).toBe(404);
  });
});
