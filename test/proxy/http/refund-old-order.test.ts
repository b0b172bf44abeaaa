/** Refunds of orders older than three months: upstream makes them, and shows the orders no longer. */
import { describe, expect, it } from 'vitest';
import { usualKeeping } from '../../engines/keeping.ts';
import { clockOf, eventually, type Receiver, startReceiver, topicOf } from '../../kit.ts';
import { openPayments, payment, refund, type Sale, sellByQr } from './payment-sale.ts';
import type { QrShop } from './qr-till.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

interface OldSale extends Sale {
  shop: QrShop;
  receiver: Receiver;
  /** The clocks of Puente and of upstream go on. */
  later(duration_ms: number): Promise<void>;
  merchantOrder(): Promise<unknown>;
}

/** A sale of 301 that was paid a hundred days ago. */
async function afterHundredDays(run: (sale: OldSale) => Promise<void>): Promise<void> {
  let ahead_ms = 0;
  const clock = clockOf(() => Date.now() + ahead_ms);
  const receiver = await startReceiver();
  const shop = await openPayments({ PUENTE_READS_FRESH_MS: '0', PUENTE_READS_SEARCH_FRESH_MS: '0' }, { clock });
  const later = async (duration_ms: number): Promise<void> => {
    expect((await shop.control('/clock', { body: { advance_ms: duration_ms } })).status).toBe(200);
    ahead_ms += duration_ms;
  };
  try {
    await shop.upstreamSettings({ old_orders: 'not_found' });
    const sale = await sellByQr(shop, { change: { notification_url: `${receiver.url}?tenant=7` } });
    const order = (await payment(shop, sale.payment)).order?.id;
    await receiver.waitFor(1, 'payment');
    await later(100 * DAY_MS);
    await run({
      ...{ ...sale, shop, receiver, later },
      merchantOrder: async () => (await shop.till(`/merchant_orders/${order}`)).body,
    });
  } finally {
    await shop.close();
    await receiver.close();
  }
}

describe('a refund after a hundred days', () => {
  it('is shown, notified and counted, and its sale is looked at no more', () =>
    afterHundredDays(async ({ shop, receiver, later, merchantOrder, ...sale }) => {
      const notices = () => receiver.received.filter((one) => topicOf(one) === 'payment').length;
      expect((await refund(shop, sale.payment, { amount: 40 })).status).toBe(201);
      expect(await merchantOrder()).toMatchObject({ order_status: 'partially_reverted', refunded_amount: 40 });
      await receiver.waitFor(2, 'payment');

      const more = await refund(shop, sale.payment, { amount: 301 });
      expect(more.body, more.text).toMatchObject({ status: 400, cause: [{ code: 4017 }] });
      expect((await refund(shop, sale.payment, { amount: 261 })).body).toMatchObject({ amount: 261 });
      expect(await merchantOrder()).toMatchObject({ order_status: 'reverted', refunded_amount: 301 });
      await receiver.waitFor(3, 'payment');

      // The whole one is `processing` at first, and is looked at for a day.
      await later(DAY_MS + MINUTE_MS);
      const sql = `SELECT next_check_at FROM links WHERE order_id = '${sale.order_id}'`;
      const next_looks = () => usualKeeping().read<{ next_check_at: number | null }>(shop.data_dir, sql);
      expect(await eventually(next_looks, ([link]) => link?.next_check_at === null)).toHaveLength(1);
      expect(notices()).toBe(3);
    }));

  it('whose answer is lost was made when the payment shows it', () =>
    afterHundredDays(async ({ shop, merchantOrder, ...sale }) => {
      await shop.fault({ method: 'POST', path: '/v1/orders/*/refund', kind: 'reset', when: 'after' });
      expect((await refund(shop, sale.payment, { amount: 40 })).body).toMatchObject({ amount: 40 });
      expect(await merchantOrder()).toMatchObject({ order_status: 'partially_reverted', refunded_amount: 40 });
    }));

  it('that was lost on its way holds the payment no longer than another (LIM-46)', () =>
    afterHundredDays(async ({ shop, later, merchantOrder, ...sale }) => {
      await shop.fault({ method: 'POST', path: '/v1/orders/*/refund', kind: 'reset', when: 'before' });
      const key = { 'x-idempotency-key': 'first' };
      expect((await refund(shop, sale.payment, { amount: 40 }, key)).status).toBe(504);
      expect((await refund(shop, sale.payment, { amount: 50 })).status).toBe(409);
      await later(15 * MINUTE_MS);
      expect((await refund(shop, sale.payment, { amount: 50 })).body).toMatchObject({ amount: 50 });
      expect(await merchantOrder()).toMatchObject({ refunded_amount: 50 });
    }));
});
