/** Refunds through the payments API, whole or in parts. Source: `docs/field-notes.md` QR §3. */
import { DAY_MS } from '../../contract/duration.ts';
import { isExactNumber, type Json } from '../../contract/json.ts';
import { decimalOf } from '../../contract/legacy-amount.ts';
import { type LegacyErrorEntry, type LegacyErrorName, paymentErrors } from '../../contract/legacy-errors.ts';
import { type Answer, json, refuse as refuseIn } from '../answer.ts';
import { bodyObject, fingerprint, idempotencyKey, type PaymentsCall, type PaymentsHandler } from '../call.ts';
import { offsetDate } from '../dates.ts';
import { amountNumber, minorOf } from '../money.ts';
import { leftOf, refundPayment } from '../payments.ts';
import type { Merchant, Payment, PaymentRefund } from '../records.ts';
import { refund } from '../refunds.ts';
import type { World } from '../world.ts';
import { renderPayment, renderRefund } from './view.ts';

/** A refusal from the payments catalogue; `detail` fills `{}`. */
export function refuse(name: LegacyErrorName | LegacyErrorEntry, detail = '') {
  return refuseIn('payments', name, detail);
}

/** The reference lists 4292 for a missing key header (`docs/field-notes.md` QR §3). */
const keyMissing: LegacyErrorEntry = {
  status: 400,
  error: 'bad_request',
  message: "Header X-Idempotency-Key can't be null",
  cause: 4292,
};

/** `POST /v1/payments/{id}/refunds`: no body and `{}` refund all that is left, `{"amount"}` a part. */
export const createRefund: PaymentsHandler = (call) => {
  const { world, merchant } = call;
  const key = idempotencyKey(call);
  if (key === null && world.settings.refund_key_required) throw refuse(keyMissing);
  const saved = key === null ? null : savedAnswer(call, key);
  if (saved !== null) return saved;
  const payment = paymentOf(call);
  const part_minor = readAmount(bodyObject(call).amount, merchant);
  checkRefund(world, payment, part_minor);
  const made = refundAny(world, payment, part_minor);
  const answer = json(201, renderRefund(payment, made, merchant));
  if (key !== null) world.storeKey(merchant.user_id, key, { fingerprint: fingerprint(call), answer, order_id: null });
  return answer;
};

/** `GET …/refunds`, also with a trailing slash. */
export const listRefunds: PaymentsHandler = (call) => {
  const payment = paymentOf(call);
  return json(
    200,
    payment.refunds.map((made) => renderRefund(payment, made, call.merchant)),
  );
};

/** `GET …/refunds/{refund}`. */
export const getRefund: PaymentsHandler = (call) => {
  const payment = paymentOf(call);
  const made = payment.refunds.find(({ id }) => String(id) === call.path('refund'));
  if (made === undefined) throw refuse('refund_not_found');
  return json(200, renderRefund(payment, made, call.merchant));
};

/** `PUT /collections/{id}`, the refund of the oldest clients: always all that is left, answered with the payment. */
export const refundCollection: PaymentsHandler = (call) => {
  const payment = paymentOf(call);
  const { status } = bodyObject(call);
  if (status === undefined) throw refuse('missing_property', 'status');
  if (status === 'cancelled') throw refuse('state_refuses'); // only a pending payment can be canceled
  if (status !== 'refunded') throw refuse('invalid_property', 'status');
  checkRefund(call.world, payment, null);
  refundAny(call.world, payment, null);
  return json(200, renderPayment(call.world, payment));
};

function savedAnswer(call: PaymentsCall, key: string): Answer | null {
  const known = call.world.findKey(call.merchant.user_id, key);
  if (known === undefined) return null;
  if (known.fingerprint !== null && known.fingerprint !== fingerprint(call)) throw refuse('key_reused');
  return known.answer;
}

/** @returns minor units, or null for all that is left; a number in quotes counts as a number. */
function readAmount(value: Json | undefined, { site }: Merchant): number | null {
  if (value === undefined) return null;
  const text = typeof value === 'number' || typeof value === 'string' || isExactNumber(value) ? String(value) : '';
  if (!/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) throw refuse('amount_not_numeric');
  if (text.startsWith('-') || /^[0.]+$/.test(decimalOf(value) ?? '')) throw refuse('amount_not_positive');
  const minor = minorOf(value, site);
  if (minor === null) throw refuse('invalid_property', 'amount');
  return minor;
}

/** @param part_minor null for all that is left. */
function checkRefund(world: World, payment: Payment, part_minor: number | null): void {
  const { settings } = world;
  if (payment.status === 'refunded') throw refuse('already_refunded');
  const isOfOrder = payment.origin.kind === 'order' && settings.order_payment_refunds === 'refused';
  if (payment.status !== 'approved' || isOfOrder) throw refuse('state_refuses');
  if (world.clock.now() - payment.created_at_ms > settings.payment_refund_days * DAY_MS) {
    throw refuse({ ...paymentErrors.refund_too_old, cause: settings.refund_too_old_code });
  }
  if (part_minor === null || part_minor === leftOf(payment)) return;
  if (payment.tip_minor > 0 || !partialTypes.includes(payment.payment_type_id)) throw refuse('partial_unsupported');
  if (part_minor > leftOf(payment)) throw refuse('amount_maximum');
}

/** Cards and wallets, as on orders (`docs/field-notes.md` Orders §2); vouchers and payments with a tip only whole. */
const partialTypes: readonly string[] = [
  'credit_card',
  'debit_card',
  'prepaid_card',
  'account_money',
  'digital_wallet',
  'bank_transfer',
  'qr',
];

/** An order refunds its own payment, so that both agree. The caller has checked `part_minor`; null is all. */
function refundAny(world: World, payment: Payment, part_minor: number | null): PaymentRefund {
  const order = payment.origin.kind === 'order' ? world.orders.get(payment.origin.id) : undefined;
  if (order !== undefined) {
    const before = payment.refunds.length;
    refund(world, order, part_minor);
    const made = payment.refunds[before];
    if (made === undefined) throw new Error(`Order ${order.id} was refunded without its payment.`);
    return made;
  }
  const status = world.settings.payment_refund_status;
  const made = refundPayment(world, payment, part_minor ?? leftOf(payment), status);
  if (status === 'in_process') {
    const job = { kind: 'end_payment_refund', payment_id: payment.id, refund_id: made.id } as const;
    world.clock.schedule(world.settings.simulated_step_ms, job);
  }
  return made;
}

// `GET /v1/chargebacks/{id}`: the dispute of a `chargebacks` notice. No shape is published; the fields are those of the
// official SDK's type.

/** A dispute of another merchant is unknown, 404. */
export const getChargeback: PaymentsHandler = ({ world, merchant, path }) => {
  const chargeback = world.chargebacks.get(Number(path('id')));
  if (chargeback?.merchant_id !== merchant.user_id) {
    throw refuse({ status: 404, error: 'not_found', message: 'Chargeback not found' });
  }
  const { id, payment_id, amount_minor, status, created_at_ms, updated_at_ms } = chargeback;
  return json(200, {
    id: String(id),
    ...(world.settings.chargeback_payment === 'payment_id' ? { payment_id } : { payments: [payment_id] }),
    status,
    amount: amountNumber(amount_minor, merchant.site),
    currency_id: merchant.site.currency,
    reason_id: null,
    reason: null,
    date_created: offsetDate(created_at_ms),
    last_modified: offsetDate(updated_at_ms),
  });
};

// Payments that a caller of the payments API can see.

/** @throws PuenteError refused: no number, or 2000 for an unknown, foreign or hidden payment. */
export function paymentOf(call: PaymentsCall): Payment {
  const id = call.path('id');
  if (!/^\d{1,15}$/.test(id)) throw refuse('invalid_property', 'payment_id');
  const payment = call.world.payments.get(Number(id));
  if (payment === undefined || !isVisible(call, payment)) throw refuse('payment_not_found');
  return payment;
}

/** The QR guide excludes payments of orders from this API; the setting `order_payments` decides on reads. */
export function isVisible({ world, merchant }: PaymentsCall, payment: Payment): boolean {
  if (payment.merchant_id !== merchant.user_id) return false;
  return payment.origin.kind !== 'order' || world.settings.order_payments === 'readable';
}
