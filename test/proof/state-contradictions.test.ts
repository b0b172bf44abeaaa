/** Payments and orders that belong to another sale, although their number matches. */
import { describe, expect, it } from 'vitest';
import type { Order } from '../../src/contract/orders.ts';
import { contradictionIn, paymentContradictionIn } from '../../src/proxy/sales/settle.ts';

const sale = {
  merchant_id: '700100200',
  family: 'point',
  unit: 'PAX_A910__SMARTPOS0000000001',
  reference_sent: 'PUENTE1',
  client_reference: 'Mesa 4',
  amount_minor: 1500,
} as const;

describe('a payment', () => {
  it.each([
    ['names another seller', { collector_id: 700100201 }, 'merchant'],
    ['names this seller', { collector_id: 700100200 }, null],
    ['names another reference', { external_reference: 'Mesa 5' }, 'reference'],
    ['names the one that went upstream', { external_reference: 'PUENTE1' }, null],
    ['names the till’s own', { external_reference: 'Mesa 4' }, null],
    ['names an empty reference', { external_reference: '' }, null],
    ['names a reference that is no text', { external_reference: 7 }, null],
    ['names nothing', {}, null],
  ])('that %s', (_what, payment, contradicts) => {
    expect(paymentContradictionIn(sale, payment)?.what ?? null).toBe(contradicts);
  });
});

describe('an order', () => {
  const order = { id: 'ORD1', status: 'processed', status_detail: 'accredited', total_amount: '15.00' };

  it.each([
    [
      'whose payment is larger than the sale',
      { transactions: { payments: [{ id: 'PAY1', amount: '20.00' }] } },
      'amount',
    ],
    [
      'of which less was paid, without a discount',
      { transactions: { payments: [{ id: 'PAY1', amount: '15.00', paid_amount: '10.00' }] } },
      'paid',
    ],
    ['whose payment is a part of it', { transactions: { payments: [{ id: 'PAY1', amount: '15.00' }] } }, null],
  ])('%s', (_what, change, contradicts) => {
    expect(contradictionIn(sale, { ...order, ...change } as unknown as Order, 2)?.what ?? null).toBe(contradicts);
  });
});
