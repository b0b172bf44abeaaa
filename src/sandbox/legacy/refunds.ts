/** Refund intents, which run on the terminal that took the payment. Source: `legacy-point.md` §1.8. */
import { randomUUID } from 'node:crypto';
import { createRefundIntentBody, type LegacyError, pointErrors } from '../../contract/legacy-point.ts';
import type { Payment, World } from '../world.ts';
import { deviceOf, type Handler, jsonObject, type LegacyCall, refusal } from './call.ts';
import { cancelOpen, queueWork, stateOf, type WorkKind } from './lifecycle.ts';
import type { RefundIntent } from './state.ts';

/** Documented nowhere; said as for a payment intent. */
const refundNotFound: LegacyError = { status: 404, error: '404', message: "Refund intent doesn't exist" };

/** `POST …/devices/{device}/refund`. */
export const createRefund: Handler = (call) => {
  const request = readRefund(call.body);
  const terminal = deviceOf(call, pointErrors.device_not_found);
  const payment = call.world.payments.get(Number(request.payment_id));
  if (payment === undefined || !refundableOn(call, payment, terminal.id)) throw refusal(pointErrors.payment_not_found);
  if (terminal.occupation !== null) throw refusal(pointErrors.queued_intent);
  const refund: RefundIntent = {
    id: randomUUID(),
    merchant: call.merchant,
    terminal,
    history: [{ state: 'OPEN', at_ms: call.world.clock.now() }],
    expiry: null,
    payment,
    payment_id: request.payment_id,
    additional_info: request.additional_info,
  };
  call.state.refunds.set(refund.id, refund);
  queueWork(call.world, refund, refundKind(call.world, refund), call.world.settings.legacy_expiry_ms);
  const { id, payment_id, additional_info } = refund;
  return { status: 200, body: { id, device_id: terminal.id, payment_id, additional_info } };
};

/** `GET …/refund/{id}`. */
export const getRefund: Handler = (call) => {
  const refund = refundOf(call, refundNotFound);
  const { id, terminal, payment_id, additional_info } = refund;
  return { status: 200, body: { id, state: stateOf(refund), device_id: terminal.id, payment_id, additional_info } };
};

/** `DELETE …/devices/{device}/refund/{id}`: refused as a payment intent's cancel is, since no other list is documented. */
export const cancelRefund: Handler = (call) => {
  const refund = refundOf(call, pointErrors.intent_not_cancelable);
  const canceled = stateOf(refund) === 'CANCELED';
  if (canceled || refund.terminal.id !== call.path('device')) throw refusal(pointErrors.intent_not_cancelable);
  if (!cancelOpen(call.world, refund, refundKind(call.world, refund))) throw refusal(pointErrors.cancel_blocked);
  return { status: 200, body: { id: refund.id } };
};

function readRefund(bytes: Uint8Array): { payment_id: string | number; additional_info: unknown } {
  const body = jsonObject(bytes);
  if (body.payment_id === undefined) throw refusal(pointErrors.missing_property, 'payment_id');
  const parsed = createRefundIntentBody.safeParse(body);
  if (!parsed.success) throw refusal(pointErrors.invalid_property, parsed.error.issues[0]?.path.join('.') ?? 'body');
  const { payment_id } = parsed.data;
  if (!/^\d{1,15}$/.test(String(payment_id))) throw refusal(pointErrors.invalid_property, 'payment_id');
  return { payment_id, additional_info: body.additional_info };
}

function refundOf(call: LegacyCall, error: LegacyError): RefundIntent {
  const refund = call.state.refunds.get(call.path('refund').toLowerCase());
  if (refund === undefined || refund.merchant.user_id !== call.merchant.user_id) throw refusal(error);
  return refund;
}

/** An approved payment of this merchant that was taken on this device. */
function refundableOn(call: LegacyCall, payment: Payment, device_id: string): boolean {
  if (payment.merchant_id !== call.merchant.user_id || payment.status !== 'approved') return false;
  const { kind, id } = payment.origin;
  const place = kind === 'order' ? call.world.orders.get(id)?.place : undefined;
  const order_terminal = place?.type === 'point' ? place.terminal_id : undefined;
  const taken_on = kind === 'intent' ? call.state.intents.get(id)?.terminal.id : order_terminal;
  return taken_on === device_id;
}

/** Refund intents know no PROCESSED and no CONFIRMATION_REQUIRED, and nothing is documented to announce them. */
function refundKind(world: World, refund: RefundIntent): WorkKind {
  return {
    moves: {
      pick_up: { latest: 'OPEN', through: 'ON_TERMINAL', end: null },
      process: { latest: 'ON_TERMINAL', through: 'PROCESSING', end: null },
      pay: { latest: 'PROCESSING', through: 'PROCESSING', end: 'FINISHED' },
      decline: { latest: 'PROCESSING', through: 'PROCESSING', end: 'ERROR' },
      cancel: { latest: 'ON_TERMINAL', through: 'ON_TERMINAL', end: 'CANCELED' },
      confirm_needed: null,
      error: { latest: 'PROCESSING', through: 'ON_TERMINAL', end: 'ERROR' },
    },
    effect(action) {
      if (action !== 'pay') return;
      const { payment } = refund;
      const now_ms = world.clock.now();
      const amount_minor = payment.amount_minor + payment.tip_minor - payment.refunded_minor;
      payment.refunds.push({ id: world.nextRefundId(), amount_minor, status: 'approved', created_at_ms: now_ms });
      payment.status = 'refunded';
      payment.status_detail = 'refunded';
      payment.refunded_minor += amount_minor;
      payment.updated_at_ms = now_ms;
      world.paymentChanged(payment);
    },
    ended: () => {},
  };
}
