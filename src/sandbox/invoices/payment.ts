/** The payment behind an invoice: listeners are told of it and the payments API reads it (`interface.md` Events, topic `payment`). */
import type { Payment } from '../payment.ts';
import type { World } from '../world.ts';
import type { Invoice } from './invoice.ts';

/** Keeps the payment of this attempt, if there is one, as the payments API knows it, and tells of it. */
export function recordAttempt(world: World, invoice: Invoice): void {
  if (invoice.payment === null) return;
  const { id, status, status_detail } = invoice.payment;
  const now_ms = world.clock.now();
  const payment: Payment = {
    id,
    merchant_id: invoice.merchant_id,
    // The payments API spells it with two l (`legacy-qr.md` §3).
    status: status === 'canceled' ? 'cancelled' : status,
    status_detail,
    amount_minor: invoice.amount_minor,
    tip_minor: 0,
    refunded_minor: status === 'refunded' ? invoice.amount_minor : 0,
    external_reference: invoice.external_reference,
    description: invoice.reason,
    payment_type_id: 'credit_card',
    payment_method_id: 'master',
    installments: 1,
    created_at_ms: world.payments.get(id)?.created_at_ms ?? now_ms,
    updated_at_ms: now_ms,
    refunds: [],
    pos: null,
    origin: { kind: 'invoice', id: String(invoice.id) },
    merchant_order_id: null,
  };
  world.payments.set(id, payment);
  world.paymentChanged(payment);
}
