/** Refunds of orders older than three months: upstream makes them, and shows the orders no longer. */
import { describe, expect, it } from 'vitest';
import { usualKeeping } from '../../engines/keeping.ts';
import { clockOf, eventually, startReceiver, topicOf } from '../../kit.ts';
import { openPayments, payment, refund, sellByQr } from './payment-sale.ts';

const DAY_MS = 24 * 60 * 60_000;

describe('a refund after a hundred days', () => {
  it('is shown, notified and counted, and its sale is looked at no more', async () => {
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
      // 301, as every sale of these tests.
      const sale = await sellByQr(shop, { change: { notification_url: `${receiver.url}?tenant=7` } });
      const order = (await payment(shop, sale.payment)).order?.id;
      const shown = async () => (await shop.till(`/merchant_orders/${order}`)).body;
      const of_payment = () => receiver.received.filter((one) => topicOf(one) === 'payment').length;
      await eventually(
        async () => of_payment(),
        (count) => count === 1,
      );
      await later(100 * DAY_MS);

      expect((await refund(shop, sale.payment, { amount: 40 })).status).toBe(201);
      expect(await shown()).toMatchObject({ order_status: 'partially_reverted', refunded_amount: 40 });
      await eventually(
        async () => of_payment(),
        (count) => count === 2,
      );

      const more = await refund(shop, sale.payment, { amount: 301 });
      expect(more.body, more.text).toMatchObject({ status: 400, cause: [{ code: 4017 }] });
      expect((await refund(shop, sale.payment, { amount: 261 })).body).toMatchObject({ amount: 261 });
      expect(await shown()).toMatchObject({ order_status: 'reverted', refunded_amount: 301 });
      await eventually(
        async () => of_payment(),
        (count) => count === 3,
      );

      // The whole one is `processing` at first, and is looked at for a day.
      await later(DAY_MS + 60_000);
      const next_looks = () =>
        usualKeeping().read<{ next_check_at: number | null }>(
          shop.data_dir,
          `SELECT next_check_at FROM links WHERE order_id = '${sale.order_id}'`,
        );
      expect(await eventually(next_looks, ([link]) => link?.next_check_at === null)).toHaveLength(1);
    } finally {
      await shop.close();
      await receiver.close();
    }
  });
});
