/** Which payments a caller of the payments API can see. */
import { type OlderCall, refuse } from '../older-call.ts';
import type { Payment } from '../payment.ts';

/**
 * The payment that the path names.
 * @throws PuenteError refused: no number, or 2000 for an unknown, foreign or hidden payment.
 */
export function paymentOf(call: OlderCall): Payment {
  const id = call.path('id');
  if (!/^\d{1,15}$/.test(id)) throw refuse('invalid_property', 'payment_id');
  const payment = call.world.payments.get(Number(id));
  if (payment === undefined || !isVisible(call, payment)) throw refuse('payment_not_found');
  return payment;
}

/** The QR guide says that payments of orders are not for this API; whether they can be read is the setting `order_payments`. */
export function isVisible({ world, merchant }: OlderCall, payment: Payment): boolean {
  if (payment.merchant_id !== merchant.user_id) return false;
  return payment.origin.kind !== 'order' || world.settings.order_payments === 'readable';
}
