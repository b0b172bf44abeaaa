/** The life of a legacy QR order: shown, replaced, taken away, over. Source: `docs/field-notes.md` QR §1.2, §2, §10. */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { errorBody, legacyError } from '../../../contract/legacy-errors.ts';
import { PuenteError } from '../../../error.ts';
import type { BuyerAction, BuyerOptions, PointOfSale } from '../../cast.ts';
import type { Payment } from '../../records.ts';
import { objectBody, type QrCall, type QrHandler, type QrReply, refuse } from './call.ts';
import { announceMerchantOrder, bearMerchantOrder } from './notices.ts';
import type { QrContent, QrMode, QrOrder, QrState } from './state.ts';

/**
 * Makes the order and, unless it is dynamic, puts it on the till in place of what the till shows, which is over then.
 * @throws PuenteError refused, when somebody is paying what the till shows (setting `legacy_qr_locked`).
 */
export function openOrder(call: QrCall, content: QrContent, pos: PointOfSale, mode: QrMode): QrOrder {
  const { state, merchant } = call;
  const { world } = state;
  if (mode !== 'dynamic') takeAway(call, pos, 'expired');
  const now_ms = world.clock.now();
  const lifetime_ms = content.lifetime_ms ?? world.settings.legacy_qr_expiry_ms;
  const order: QrOrder = {
    ...content,
    id: randomUUID(),
    mode,
    merchant,
    pos,
    state: 'open',
    locked: false,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    expires_at_ms: now_ms + lifetime_ms,
    expiry: null,
    payment_ids: [],
    merchant_order_id: null,
    confirmation: null,
  };
  state.orders.set(order.id, order);
  if (mode !== 'dynamic') state.shown.set(pos.id, order);
  order.expiry = world.clock.schedule(lifetime_ms, () => expire(state, order));
  world.payables.set(order.id, {
    kind: 'legacy_qr',
    id: order.id,
    merchant_id: merchant.user_id,
    pos,
    on_pos: mode !== 'dynamic',
    act(action, options) {
      actAsBuyer(state, order, action, options);
      if (order.state !== 'open') leave(state, order);
      else if (!order.locked) expire(state, order); // if its time ran out while somebody was paying
    },
  });
  if (world.settings.merchant_order_birth === 'creation') {
    bearMerchantOrder(state, order);
    announceMerchantOrder(state, order, 'created');
  }
  return order;
}

/**
 * Ends what the till shows.
 * @returns false when it shows nothing.
 * @throws PuenteError refused, when somebody is paying it (setting `legacy_qr_locked`).
 */
export function takeAway(call: QrCall, pos: PointOfSale, outcome: 'expired' | 'canceled'): boolean {
  const { state, family } = call;
  const order = state.shown.get(pos.id);
  if (order === undefined) return false;
  if (order.locked && state.world.settings.legacy_qr_locked === 'refused') throw refuse(family, 'order_locked');
  end(state, order, outcome);
  return true;
}

/** Nothing expires while a buyer is paying; it does as soon as the buyer has gone back. */
function expire(state: QrState, order: QrOrder): void {
  if (order.locked || order.expires_at_ms > state.world.clock.now()) return;
  end(state, order, 'expired');
}

function end(state: QrState, order: QrOrder, outcome: 'expired' | 'canceled'): void {
  order.state = outcome;
  order.updated_at_ms = state.world.clock.now();
  leave(state, order);
  announceMerchantOrder(state, order, 'updated');
}

/** Takes what is over from the till and from the buyers. */
function leave(state: QrState, order: QrOrder): void {
  order.locked = false;
  order.expiry?.cancel();
  order.expiry = null;
  if (state.shown.get(order.pos.id) === order) state.shown.delete(order.pos.id);
  state.world.payables.delete(order.id);
}

// How long a legacy QR order lives: the header of v1, the date of v2. Source: `docs/field-notes.md` QR §1.1, §1.2.

const TTL_SECONDS = /^[1-9]\d{0,8}$/;

/** `X-Ttl-Store-Preference` in milliseconds; null when it is missing or no number of seconds. Real tills send it on v2 paths too. */
export function lifetimeHeader(call: QrCall): number | null {
  const seconds = call.header('x-ttl-store-preference') ?? '';
  return TTL_SECONDS.test(seconds) ? Number(seconds) * 1000 : null;
}

const moment = z.iso.datetime({ offset: true });

/** @returns milliseconds until `expiration_date`; null for none. @throws PuenteError refused, unless it is a future moment. */
export function lifetimeUntil(call: QrCall, expiration_date: string | null): number | null {
  if (expiration_date === null) return null;
  const left_ms = Date.parse(expiration_date) - call.state.world.clock.now();
  if (!moment.safeParse(expiration_date).success || !(left_ms > 0)) {
    throw refuse(call.family, 'invalid_property', 'expiration_date');
  }
  return left_ms;
}

// What a buyer does with a legacy QR order: pay, be declined, begin, go back. Source: `docs/field-notes.md` QR §2, finding 12.

/** @throws PuenteError refused, when the order is over, or `unlock` finds nobody paying. */
export function actAsBuyer(state: QrState, order: QrOrder, action: BuyerAction, options: BuyerOptions): void {
  const impossible =
    order.state !== 'open' || (action === 'lock' && order.locked) || (action === 'unlock' && !order.locked);
  if (impossible) {
    const now = order.state === 'open' && order.locked ? 'being paid' : order.state;
    throw new PuenteError('refused', `QR order ${order.id} is ${now}; the action ${action} is not possible.`);
  }
  order.locked = action === 'lock';
  if (action === 'pay') pay(state, order, options);
  if (action === 'decline') decline(state, order, options);
}

function pay(state: QrState, order: QrOrder, options: BuyerOptions): void {
  const isNew = bearMerchantOrder(state, order);
  order.state = 'paid';
  recordPayment(state, order, options, 'approved', 'accredited');
  announceMerchantOrder(state, order, isNew ? 'created' : 'updated');
}

/** The order stays open for another attempt; the rejected payment is seen in the opened merchant order. */
function decline(state: QrState, order: QrOrder, options: BuyerOptions): void {
  const isNew = bearMerchantOrder(state, order);
  recordPayment(state, order, options, 'rejected', `cc_rejected_${state.world.settings.failed_status_detail}`);
  if (isNew) announceMerchantOrder(state, order, 'created');
}

function recordPayment(
  { world }: QrState,
  order: QrOrder,
  options: BuyerOptions,
  status: Payment['status'],
  status_detail: string,
): void {
  const now_ms = world.clock.now();
  const payment_type_id = options.payment_method_type ?? 'account_money';
  const payment: Payment = {
    id: world.nextPaymentId(),
    merchant_id: order.merchant.user_id,
    status,
    status_detail,
    amount_minor: order.total_minor,
    tip_minor: 0,
    refunded_minor: 0,
    external_reference: order.external_reference,
    description: order.description,
    payment_type_id,
    payment_method_id: options.payment_method_id ?? usualMethods[payment_type_id] ?? payment_type_id,
    installments: options.installments ?? 1,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    refunds: [],
    pos: order.pos,
    origin: { kind: 'legacy_qr', id: order.id },
    merchant_order_id: order.merchant_order_id,
  };
  order.payment_ids.push(payment.id);
  order.updated_at_ms = now_ms;
  world.payments.set(payment.id, payment);
  world.paymentChanged(payment);
}

/** What is used when the buyer names a kind of payment alone. */
const usualMethods: Readonly<Record<string, string>> = { credit_card: 'master', debit_card: 'debmaster' };

// `POST /instore/orders/{merchant_order_id}/confirmation`: whether the buyer got the cash. Source: `docs/field-notes.md`
// QR §1.4.

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

// DELETE of what a till shows, the same for both attended families. Source: `docs/field-notes.md` QR §1.1, §1.2.

/** 204, also on an empty till unless the setting `legacy_qr_delete_empty` says otherwise. @throws PuenteError refused, while it is being paid. */
export function takeOff(call: QrCall, till: PointOfSale): QrReply {
  if (takeAway(call, till, 'canceled')) return { status: 204 };
  const status = call.state.world.settings.legacy_qr_delete_empty;
  const nothing = legacyError(call.family, 'order_not_found');
  if (status === 204 || nothing === null) return { status: 204 };
  return { status, body: errorBody(call.family, { ...nothing, status }, '') };
}
