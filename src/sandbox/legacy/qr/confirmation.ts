/** `POST /instore/orders/{merchant_order_id}/confirmation`: whether the buyer got the cash. Source: `legacy-qr.md` §1.4. */
import { objectBody, type QrHandler, refuse } from './call.ts';
import type { QrOrder, QrState } from './state.ts';

/** 204. After `canceled` and `fail` the buyer has the whole payment back, since there was no cash. */
export const confirmCashOut: QrHandler = (call) => {
  const id = call.path('merchant_order');
  if (!/^\d{1,15}$/.test(id)) throw refuse('qr', 'invalid_property', 'id');
  const body = objectBody(call);
  if (body.status === undefined) throw refuse('qr', 'missing_property', 'status');
  const details = detailsOf[String(body.status)];
  if (details === undefined) throw refuse('qr', 'invalid_property', 'status');
  const isKnown = typeof body.status_detail === 'string' && details.includes(body.status_detail);
  if (body.status_detail !== undefined && !isKnown) throw refuse('qr', 'invalid_property', 'status_detail');
  const order = call.state.merchant_orders.get(Number(id));
  if (order?.merchant.user_id !== call.merchant.user_id) throw refuse('qr', 'order_not_found');
  // Without cash, before the payment and a second time there is nothing to confirm; what was answered then is unknown.
  if (order.cash_out_minor === 0 || order.state !== 'paid' || order.confirmation !== null) {
    throw refuse('qr', 'bad_request');
  }
  order.confirmation = String(body.status);
  if (order.confirmation !== 'confirm') giveBack(call.state, order);
  return { status: 204 };
};

const detailsOf: Readonly<Record<string, readonly string[]>> = {
  confirm: ['confirmed'],
  canceled: ['manually_cancelled', 'confirmation_not_received', 'other'],
  fail: ['internal_communication_error', 'other'],
};

function giveBack({ world }: QrState, order: QrOrder): void {
  const payment = world.payments.get(order.payment_ids.at(-1) ?? 0);
  const left_minor = payment === undefined ? 0 : payment.amount_minor - payment.refunded_minor;
  if (payment === undefined || left_minor === 0) return;
  const now_ms = world.clock.now();
  payment.refunds.push({
    id: world.nextRefundId(),
    amount_minor: left_minor,
    status: 'approved',
    created_at_ms: now_ms,
  });
  payment.refunded_minor = payment.amount_minor;
  payment.status = 'refunded';
  payment.status_detail = 'refunded';
  payment.updated_at_ms = now_ms;
  world.paymentChanged(payment);
}
