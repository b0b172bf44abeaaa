/** Payments of sales on orders, read through the doors (`docs/field-notes.md` QR §3). */
import { describe, expect, it } from 'vitest';
import { ARGENTINA, BRAZIL, call, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openPayments, type PaymentShown, payment, sellAtTerminal, sellByQr } from './payment-sale.ts';
import { legacyErrorOf } from './till.ts';

const shop = openForAll(() => openPayments({ PUENTE_READS_FRESH_MS: '0', PUENTE_READS_SEARCH_FRESH_MS: '0' }));

describe('GET /v1/payments/{id}', () => {
  it("is the real payment, with the till's own reference and the merchant order of a QR sale", async () => {
    const sale = await sellByQr(shop);
    const told = await payment(shop, sale.payment);
    expect(told).toMatchObject({ status: 'approved', external_reference: sale.reference, transaction_amount: 301 });
    expect(told.fee_details).not.toEqual([]);
    expect(told.order?.type).toBe('mercadopago');
    const order = await shop.till(`/merchant_orders/${told.order?.id}`);
    expect(order.body).toMatchObject({ id: Number(told.order?.id), payments: [{ id: sale.payment }] });
  });

  it('keeps every other field, in the order in which the service wrote them', async () => {
    const sale = await sellByQr(shop);
    const direct = await shop.till(`/v1/payments/${sale.payment}`);
    const real = await call(`${shop.sandbox.url}/v1/payments/${sale.payment}`, { token: tokenOf(ARGENTINA) });
    const expected = real.body as PaymentShown;
    expect(JSON.stringify(direct.body)).toBe(
      JSON.stringify({ ...expected, external_reference: sale.reference, order: (direct.body as PaymentShown).order }),
    );
    expect(expected.external_reference).toMatch(/^pnt/);
  });

  it('leaves the order of a Point payment as the service says it, and gives it a number where the service is silent', async () => {
    const sale = await sellAtTerminal(shop);
    const told = await payment(shop, sale.payment);
    const order = { type: 'mercadopago', id: expect.stringMatching(/^[23]\d{18}$/) };
    expect(told).toMatchObject({ external_reference: sale.reference, order });
    await shop.upstreamSettings({ order_payments: 'hidden' });
    try {
      const other = await sellAtTerminal(shop);
      const [first, again] = [await payment(shop, other.payment), await payment(shop, other.payment)];
      expect(first.order?.id).toBe(String(900_000_000_000_000_000n + BigInt(other.payment)));
      expect(again.order).toEqual(first.order);
    } finally {
      await shop.upstreamSettings({ order_payments: 'readable' });
    }
  });

  it('takes a slash at the end', async () => {
    const sale = await sellByQr(shop);
    expect((await shop.till(`/v1/payments/${sale.payment}/`)).body).toMatchObject({ id: sale.payment });
  });

  it('is told from its order where the service hides it, and its refunds too', async () => {
    const sale = await sellByQr(shop);
    await shop.upstreamSettings({ order_payments: 'hidden' });
    try {
      await shop.till(`/v1/payments/${sale.payment}/refunds`, { method: 'POST', body: { amount: 100.5 } });
      const told = await payment(shop, sale.payment);
      expect(told).toMatchObject({
        id: sale.payment,
        status: 'approved',
        status_detail: 'partially_refunded',
        external_reference: sale.reference,
        transaction_amount: 301,
        transaction_amount_refunded: 100.5,
        order: { type: 'mercadopago' },
        refunds: [{ payment_id: sale.payment, amount: 100.5, status: 'approved' }],
      });
      const listed = await shop.till(`/v1/payments/${sale.payment}/refunds`);
      expect(listed.body).toEqual(told.refunds);
    } finally {
      await shop.upstreamSettings({ order_payments: 'readable' });
    }
  });

  it('tells an error of the service as it came', async () => {
    const sale = await sellByQr(shop);
    const path = `/v1/payments/${sale.payment}`;
    await shop.fault({ method: 'GET', path, kind: 'error', status: 503, code: 'away', message: 'Not now', times: 1 });
    const answer = await shop.till(path);
    await shop.clearFaults();
    expect(answer.status).toBe(503);
    expect(answer.text).toContain('Not now');
  });

  it('says so when the service breaks off', async () => {
    const sale = await sellByQr(shop);
    const path = `/v1/payments/${sale.payment}`;
    await shop.fault({ method: 'GET', path, kind: 'reset' });
    const answer = await shop.till(path);
    await shop.clearFaults();
    expect(legacyErrorOf(answer)).toMatchObject({ status: 503 });
    expect(answer.body).toMatchObject({ cause: [{ code: 503 }] });
  });

  it("proxies what is not ours, and what is another merchant's", async () => {
    const sale = await sellByQr(shop);
    const foreign = await shop.till(`/v1/payments/${sale.payment}`, { merchant: BRAZIL });
    expect(foreign.status).toBe(404);
    const unknown = await shop.till('/v1/payments/131313131313', { merchant: ARGENTINA });
    expect(unknown.body).toMatchObject({ status: 404, cause: [{ code: 2000 }] });
  });
});
