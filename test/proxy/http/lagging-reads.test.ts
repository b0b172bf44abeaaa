/** An event is read within milliseconds, and the machine of upstream that is read may not have the change yet (F27). */
import { expect, it } from 'vitest';
import { ARGENTINA, call, startReceiver, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openPayments, sellByQr } from './payment-sale.ts';
import { preference, preferencePath } from './qr-till.ts';

// Only events change a sale.
const shop = openForAll(() => openPayments({ PUENTE_RECONCILE_SWEEP_PER_SECOND: '0' }));
const receiver = openForAll(() => startReceiver());
const change = () => ({ notification_url: receiver.url });

/** The next read of an order shows it as it was before. */
const lags = (set: object) => shop.fault({ method: 'GET', path: '/v1/orders/*', kind: 'alter', set });

it('a sale whose order is read before it shows the payment is notified as paid all the same [F27]', async () => {
  const till = shop.freshTill().external_id;
  expect((await shop.till(preferencePath(till), { body: preference(change()) })).status).toBe(200);
  await receiver.waitFor(1, 'merchant_order');
  await lags({
    status: 'created',
    status_detail: 'created',
    'transactions.payments.0': { id: 'PAY', amount: '301.00' },
  });
  await shop.buyer(till, 'pay');
  await receiver.waitFor(2, 'merchant_order');
  await receiver.waitFor(1, 'payment');
});

it('a refund that was made in the panel is notified, if its first read does not show it [F27]', async () => {
  const sale = await sellByQr(shop, { change: change() });
  const payments = () => receiver.received.filter(({ query }) => query.get('id') === String(sale.payment)).length;
  await expect.poll(payments).toBe(1);
  await lags({
    ...{ status: 'processed', status_detail: 'accredited', 'transactions.refunds': null },
    ...{ 'transactions.payments.0.status': 'processed', 'transactions.payments.0.refunded_amount': null },
  });
  const refunded = await call(`${shop.sandbox.url}/v1/orders/${sale.order_id}/refund`, {
    method: 'POST',
    token: tokenOf(ARGENTINA),
    headers: { 'x-idempotency-key': 'of the panel' },
  });
  expect(refunded.status, refunded.text).toBe(201);
  await expect.poll(payments).toBe(2);
  const shown = await shop.till(`/v1/payments/${sale.payment}`);
  expect(shown.body).toMatchObject({ status: 'refunded' });
});
