/** Payments of both APIs: how the sandbox makes and refunds them. */
import type { TerminalOptions } from './actions.ts';
import type { Method, Payment, PaymentRefund, PointOfSale } from './records.ts';
import { announcePayment } from './webhooks.ts';
import type { World } from './world.ts';

/** Default card by type; every other type has one method of the same name. */
const usualMethods: Readonly<Record<string, string>> = { credit_card: 'master', debit_card: 'debmaster' };

/** @param usual defaults for what the options leave out. */
export function methodOf(
  options: TerminalOptions,
  usual: { type: string; id?: string | undefined; installments?: number | undefined },
): Method {
  const type = options.payment_method_type ?? usual.type;
  return {
    type,
    id: options.payment_method_id ?? usualMethods[type] ?? usual.id ?? type,
    installments: options.installments ?? usual.installments ?? 1,
  };
}

type NewPayment = Pick<
  Payment,
  'merchant_id' | 'status' | 'status_detail' | 'amount_minor' | 'external_reference' | 'description' | 'origin'
> &
  Partial<Pick<Payment, 'tip_minor' | 'merchant_order_id' | 'id' | 'refunded_minor'>>;

/** Stores and announces a new payment, or with the id of an existing one its next attempt. */
export function recordPayment(world: World, wanted: NewPayment, method: Method, pos: PointOfSale | undefined): Payment {
  const now_ms = world.clock.now();
  const before = world.payments.get(wanted.id ?? 0);
  const payment: Payment = {
    id: wanted.id ?? world.next('payment'),
    tip_minor: 0,
    refunded_minor: 0,
    merchant_order_id: null,
    ...wanted,
    payment_type_id: method.type,
    payment_method_id: method.id,
    installments: method.installments,
    created_at_ms: before?.created_at_ms ?? now_ms,
    updated_at_ms: now_ms,
    refunds: [],
    pos: pos === undefined ? null : { id: pos.id, external_id: pos.external_id, store_id: pos.store_id },
  };
  world.payments.set(payment.id, payment);
  announcePayment(world, payment, before === undefined ? 'created' : 'updated');
  return payment;
}

/** Minor units that can still be refunded, the tip included. */
export function leftOf(payment: Payment): number {
  return payment.amount_minor + payment.tip_minor - payment.refunded_minor;
}

/** The caller has checked that the payment can be refunded. A part leaves it approved (`docs/field-notes.md` QR §3). */
export function refundPayment(
  world: World,
  payment: Payment,
  amount_minor: number,
  status: PaymentRefund['status'] = 'approved',
): PaymentRefund {
  const made: PaymentRefund = { id: world.next('refund'), amount_minor, status, created_at_ms: world.clock.now() };
  payment.refunds.push(made);
  countRefund(world, payment, amount_minor);
  return made;
}

/** The refund has failed after all: the seller has the money again. */
export function rejectRefund(world: World, payment: Payment, refund_id: number): void {
  const made = payment.refunds.find(({ id }) => id === refund_id);
  if (made === undefined) return;
  made.status = 'rejected';
  countRefund(world, payment, -made.amount_minor);
}

/** @param more_minor minor units; negative when a refund has failed. */
function countRefund(world: World, payment: Payment, more_minor: number): void {
  payment.refunded_minor += more_minor;
  payment.updated_at_ms = world.clock.now();
  const isWhole = leftOf(payment) <= 0;
  if (isWhole) payment.status = 'refunded';
  else if (payment.status === 'refunded') payment.status = 'approved';
  if (isWhole) payment.status_detail = 'refunded';
  else payment.status_detail = payment.refunded_minor > 0 ? 'partially_refunded' : 'accredited';
  announcePayment(world, payment, 'updated');
}
