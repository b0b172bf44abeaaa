/** Refunds with an outcome that is unknown at first, through the door; each step: `test/proof/money-refund.test.ts`. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/proxy/clock.ts';
import { eventually } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openPayments, payment, type RefundShown, refund, type Sale, sellByQr } from './payment-sale.ts';

let ahead_ms = 0;
const clock: Clock = {
  now: () => Date.now() + ahead_ms,
  sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
};
const shop = openForAll(() => openPayments({ PUENTE_READS_FRESH_MS: '0' }, { clock }));
afterEach(async () => {
  await shop.clearFaults();
  await shop.upstreamSettings({ replay_refunds: 'saved', partial_refund_action: 'order.refunded' });
});

const REFUND = { method: 'POST', path: '/v1/orders/*/refund' };
/** Executed, with the answer lost. */
const LOST = { ...REFUND, kind: 'reset', when: 'after' };

/** The order can't be read before and after the refund. */
async function hideOrder(sale: Sale): Promise<void> {
  const path = `/v1/orders/${sale.order_id}`;
  await shop.fault({ method: 'GET', path, kind: 'error', status: 503, code: 'away', times: 'always' });
}

async function refunded(sale: Sale): Promise<number> {
  return (await payment(shop, sale.payment)).transaction_amount_refunded;
}

describe('a refund whose answer is lost', () => {
  it.each(['saved', 'conflict'])(
    'is one when the till asks again, and upstream answers repeats as %s',
    async (form) => {
      const sale = await sellByQr(shop);
      await shop.upstreamSettings({ replay_refunds: form });
      await shop.fault(LOST);
      await hideOrder(sale);
      expect((await refund(shop, sale.payment, { amount: 10 })).body).toMatchObject({
        status: 504,
        cause: [{ code: 504 }],
      });
      await shop.clearFaults();
      const again = await refund(shop, sale.payment, { amount: 10 });
      expect(again.status, again.text).toBe(201);
      expect(await refunded(sale)).toBe(10);
      const third = await refund(shop, sale.payment, { amount: 10 });
      expect((third.body as RefundShown).id).not.toBe((again.body as RefundShown).id);
    },
  );
});

it('a refund stays in doubt while pages of a gateway stand in place of its order and its payment [F138]', async () => {
  const sale = await sellByQr(shop);
  await shop.fault(LOST);
  for (const path of [`/v1/orders/${sale.order_id}`, `/v1/payments/${sale.payment}`])
    await shop.fault({ method: 'GET', path, kind: 'html', status: 404, times: 'always' });
  const key = { 'x-idempotency-key': 'one' };
  expect((await refund(shop, sale.payment, { amount: 10 }, key)).status).toBe(504);
  for (let look = 0; look < 3; look++) {
    ahead_ms += 10 * 60_000;
    expect((await refund(shop, sale.payment, { amount: 10 })).status).toBe(409);
  }
  await shop.clearFaults();
  expect((await refund(shop, sale.payment, { amount: 10 }, key)).body).toMatchObject({ amount: 10 });
  expect(await refunded(sale)).toBe(10);
});

it('a refund in doubt that has failed meanwhile is answered as rejected, and then made again', async () => {
  await shop.upstreamSettings({ processing_refund_ends: 'failed' });
  const sale = await sellByQr(shop);
  await shop.fault(LOST);
  await hideOrder(sale);
  expect((await refund(shop, sale.payment)).status).toBe(504);
  await shop.clearFaults();
  await shop.control('/clock', { body: { advance_ms: 1_000 } });
  // Upstream answers the repeat as it answered at first: the refund is being processed.
  expect((await refund(shop, sale.payment)).body).toMatchObject({ status: 'rejected' });
  await shop.upstreamSettings({ processing_refund_ends: 'processed' });
  expect((await refund(shop, sale.payment)).body).toMatchObject({ status: 'approved' });
  expect(await refunded(sale)).toBe(301);
});

describe('a refund that was made', () => {
  it('shows on its merchant order by itself, where neither a read nor an event told of it', async () => {
    await shop.upstreamSettings({ partial_refund_action: 'none' });
    const sale = await sellByQr(shop);
    const order = (await payment(shop, sale.payment)).order?.id;
    const shown = async () => (await shop.till(`/merchant_orders/${order}`)).body;
    await hideOrder(sale);
    expect((await refund(shop, sale.payment, { amount: 10 })).status).toBe(201);
    await shop.clearFaults();
    expect(await shown()).toMatchObject({ order_status: 'paid', refunded_amount: 0 });
    ahead_ms += 60_000;
    const seen = await eventually(shown, (one) => (one as { order_status: string }).order_status !== 'paid');
    expect(seen).toMatchObject({ order_status: 'partially_reverted', refunded_amount: 10 });
  });
});
