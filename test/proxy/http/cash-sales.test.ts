/** Sales with a cash withdrawal, whose order has the goods as its payment: what their payments and merchant orders show. */
import { beforeAll, expect, it } from 'vitest';
import { ARGENTINA, eventually } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openPayments, payment, refund, search } from './payment-sale.ts';
import { orderPath, storeOrder } from './qr-till.ts';

const shop = openForAll(() => openPayments());
beforeAll(async () => {
  await shop.control(`/merchants/${ARGENTINA}`, { method: 'PUT', body: { may_hand_out_cash: true } });
});

const GOODS_AND_CASH = { cash_out: { amount: 100 }, total_amount: 401 };
const CASH_ALONE = { cash_out: { amount: 100 }, items: [], total_amount: 100 };

it.each([
  ['goods and cash, whose payment can be read', 'readable', GOODS_AND_CASH],
  ['goods and cash, whose payment can not be read', 'hidden', GOODS_AND_CASH],
  ['cash alone, of which the order has no payment', 'readable', CASH_ALONE],
])('a sale of %s shows the same paid and refunded sums by each call', async (_what, order_payments, change) => {
  await shop.upstreamSettings({ order_payments });
  const till = shop.freshTill().external_id;
  const reference = `Cash ${till}`;
  const body = storeOrder({ external_reference: reference, notification_url: undefined, ...change });
  expect((await shop.till(orderPath(till), { method: 'PUT', body })).status).toBe(204);
  await shop.buyer(till, 'pay');
  // As a till polls.
  const query = { external_reference: reference, status: 'approved' };
  const { results } = await eventually(
    () => search(shop, query),
    ({ results }) => results.length > 0,
  );
  const id = results[0]?.id ?? 0;
  const total = change.total_amount;
  const paid = { status: 'approved', status_detail: 'accredited', transaction_amount: total };
  expect(results[0]).toMatchObject({ ...paid, transaction_amount_refunded: 0 });
  const shown = await payment(shop, id);
  expect(shown).toMatchObject({ ...paid, transaction_details: { total_paid_amount: total } });
  const merchantOrder = async () => (await shop.till(`/merchant_orders/${shown.order?.id}`)).body;
  expect(await merchantOrder()).toMatchObject({
    order_status: 'paid',
    payments: [{ ...paid, total_paid_amount: total }],
  });
  const made = await refund(shop, id);
  expect(made.body, made.text).toMatchObject({ amount: total });
  const refunded = { status: 'refunded', status_detail: 'refunded', transaction_amount: total };
  expect(await payment(shop, id)).toMatchObject({ ...refunded, transaction_amount_refunded: total });
  expect(await merchantOrder()).toMatchObject({
    refunded_amount: total,
    payments: [{ ...refunded, amount_refunded: total }],
  });
});
