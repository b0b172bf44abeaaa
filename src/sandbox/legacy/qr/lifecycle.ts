/** States of a legacy QR order: open, paid, expired, canceled. Source: `docs/field-notes.md` QR §1.2, §2, §10. */
import { z } from 'zod';
import { errorBody, legacyError } from '../../../contract/legacy-errors.ts';
import { PuenteError } from '../../../error.ts';
import type { BuyerAction, BuyerOptions } from '../../actions.ts';
import { type Answer, json, noContent, refuse } from '../../answer.ts';
import { bodyObject } from '../../call.ts';
import { leftOf, methodOf, recordPayment, refundPayment } from '../../payments.ts';
import type { Payment, PointOfSale, QrContent, QrOrder } from '../../records.ts';
import { announceFeed, type FeedNotice } from '../../webhooks.ts';
import { newUuid, type World } from '../../world.ts';
import type { QrCall, QrHandler } from './fields.ts';
import { merchantOrderState } from './merchant-orders.ts';

/** Unless dynamic, expires the till's present order. @throws PuenteError refused, while that order is being paid. */
export function openOrder(call: QrCall, content: QrContent, pos: PointOfSale, mode: QrOrder['mode']): QrOrder {
  const { world, merchant } = call;
  if (mode !== 'dynamic') takeAway(call, pos, 'expired');
  const now_ms = world.clock.now();
  const lifetime_ms = content.lifetime_ms ?? world.settings.legacy_qr_expiry_ms;
  const id = newUuid(world);
  const order: QrOrder = {
    ...content,
    id,
    mode,
    merchant_id: merchant.user_id,
    pos_id: pos.id,
    state: 'open',
    locked: false,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    expires_at_ms: now_ms + lifetime_ms,
    payment_ids: [],
    merchant_order_id: null,
    confirmation: null,
  };
  world.qr_orders.set(id, order);
  if (mode !== 'dynamic') world.shown.set(pos.id, order);
  world.clock.schedule(lifetime_ms, { kind: 'expire_qr_order', id });
  const { merchant_id, pos_id } = order;
  world.payables.set(id, { kind: 'legacy_qr', id, merchant_id, pos_id, on_pos: mode !== 'dynamic' });
  if (world.settings.merchant_order_birth === 'creation') {
    makeMerchantOrder(world, order);
    announceMerchantOrder(world, order, 'created');
  }
  return order;
}

/** @returns false on an empty till. @throws PuenteError refused, while it is being paid (`legacy_qr_locked`). */
function takeAway(call: QrCall, pos: PointOfSale, outcome: 'expired' | 'canceled'): boolean {
  const { world, family } = call;
  const order = world.shown.get(pos.id);
  if (order === undefined) return false;
  if (order.locked && world.settings.legacy_qr_locked === 'refused') throw refuse(family, 'order_locked');
  end(world, order, outcome);
  return true;
}

/** While a buyer is paying the order does not expire; it does when the buyer goes back. */
export function expireQrOrder(world: World, order: QrOrder): void {
  if (order.state === 'open' && !order.locked && order.expires_at_ms <= world.clock.now()) end(world, order, 'expired');
}

function end(world: World, order: QrOrder, outcome: 'expired' | 'canceled'): void {
  order.state = outcome;
  order.updated_at_ms = world.clock.now();
  leave(world, order);
  announceMerchantOrder(world, order, 'updated');
}

/** Removes the order from the till and from what buyers can pay. */
function leave(world: World, order: QrOrder): void {
  order.locked = false;
  if (world.shown.get(order.pos_id) === order) world.shown.delete(order.pos_id);
  world.payables.delete(order.id);
}

/** Announces creation, closure and expiry; does nothing without a merchant order. */
function announceMerchantOrder(world: World, order: QrOrder, change: FeedNotice['change']): void {
  const { merchant_order_id: id, merchant_id, notification_url } = order;
  if (id === null) return;
  const { status } = merchantOrderState(world, order);
  announceFeed(world, { topic: 'merchant_order', id, merchant_id, notification_url, change, status });
}

/** @returns false when the order already has a merchant order. */
function makeMerchantOrder(world: World, order: QrOrder): boolean {
  if (order.merchant_order_id !== null) return false;
  order.merchant_order_id = world.next('merchant_order');
  world.merchant_orders.set(order.merchant_order_id, order);
  return true;
}

// The lifetime of a legacy QR order: a header in v1, a date in v2. Source: `docs/field-notes.md` QR §1.1, §1.2.

const TTL_SECONDS = /^[1-9]\d{0,8}$/;

/** `X-Ttl-Store-Preference` in milliseconds; null without a valid number. Real tills send it on v2 paths too. */
export function lifetimeHeader(call: QrCall): number | null {
  const seconds = call.header('x-ttl-store-preference') ?? '';
  return TTL_SECONDS.test(seconds) ? Number(seconds) * 1000 : null;
}

const moment = z.iso.datetime({ offset: true });

/** @returns milliseconds left; null without a date. @throws PuenteError refused, unless the date is in the future. */
export function lifetimeUntil(call: QrCall, expiration_date: string | null): number | null {
  if (expiration_date === null) return null;
  const left_ms = Date.parse(expiration_date) - call.world.clock.now();
  if (!moment.safeParse(expiration_date).success || !(left_ms > 0)) {
    throw refuse(call.family, 'invalid_property', 'expiration_date');
  }
  return left_ms;
}

// Actions of a buyer on a legacy QR order. Source: `docs/field-notes.md` QR §2, finding 12.

/** @throws PuenteError refused, when the state excludes the action. */
export function actOnQrOrder(world: World, order: QrOrder, action: BuyerAction, options: BuyerOptions): void {
  const impossible =
    order.state !== 'open' || (action === 'lock' && order.locked) || (action === 'unlock' && !order.locked);
  if (impossible) {
    const now = order.state === 'open' && order.locked ? 'being paid' : order.state;
    throw new PuenteError('refused', `QR order ${order.id} is ${now}; the action ${action} is not possible.`);
  }
  order.locked = action === 'lock';
  if (action === 'pay') pay(world, order, options);
  // The order stays open for another attempt; the opened merchant order shows the rejected payment.
  if (action === 'decline') {
    const isNew = makeMerchantOrder(world, order);
    record(world, order, options, 'rejected', `cc_rejected_${world.settings.failed_status_detail}`);
    if (isNew) announceMerchantOrder(world, order, 'created');
  }
  expireQrOrder(world, order); // when its time ran out during the payment
}

function pay(world: World, order: QrOrder, options: BuyerOptions): void {
  const isNew = makeMerchantOrder(world, order);
  order.state = 'paid';
  record(world, order, options, 'approved', 'accredited');
  announceMerchantOrder(world, order, isNew ? 'created' : 'updated');
  leave(world, order);
}

function record(
  world: World,
  order: QrOrder,
  options: BuyerOptions,
  status: Payment['status'],
  status_detail: string,
): void {
  const { merchant_id, total_minor: amount_minor, external_reference, description, id, merchant_order_id } = order;
  const payment = recordPayment(
    world,
    {
      merchant_id,
      status,
      status_detail,
      amount_minor,
      external_reference,
      description,
      origin: { kind: 'legacy_qr', id },
      merchant_order_id,
    },
    methodOf(options, { type: 'account_money' }),
    world.points_of_sale.get(order.pos_id),
  );
  order.payment_ids.push(payment.id);
  order.updated_at_ms = world.clock.now();
}

// `POST /instore/orders/{merchant_order_id}/confirmation` of the cash. Source: `docs/field-notes.md` QR §1.4.

/** After `canceled` and `fail` the whole payment is refunded, because the buyer got no cash. */
export const confirmCashOut: QrHandler = (call) => {
  const id = call.path('merchant_order');
  if (!/^\d{1,15}$/.test(id)) throw refuse('qr', 'invalid_property', 'id');
  const body = bodyObject(call);
  if (body.status === undefined) throw refuse('qr', 'missing_property', 'status');
  const details = detailsOf[String(body.status)];
  if (details === undefined) throw refuse('qr', 'invalid_property', 'status');
  const isKnown = typeof body.status_detail === 'string' && details.includes(body.status_detail);
  if (body.status_detail !== undefined && !isKnown) throw refuse('qr', 'invalid_property', 'status_detail');
  const order = call.world.merchant_orders.get(Number(id));
  if (order?.merchant_id !== call.merchant.user_id) throw refuse('qr', 'order_not_found');
  // No cash, no payment yet, or a second confirmation: the real answer is unknown.
  if (order.cash_out_minor === 0 || order.state !== 'paid' || order.confirmation !== null) {
    throw refuse('qr', 'bad_request');
  }
  order.confirmation = String(body.status);
  const payment = call.world.payments.get(order.payment_ids.at(-1) ?? 0);
  const isBack = order.confirmation !== 'confirm' && payment !== undefined && leftOf(payment) > 0;
  if (isBack) refundPayment(call.world, payment, leftOf(payment));
  return noContent;
};

const detailsOf: Readonly<Record<string, readonly string[]>> = {
  confirm: ['confirmed'],
  canceled: ['manually_cancelled', 'confirmation_not_received', 'other'],
  fail: ['internal_communication_error', 'other'],
};

// DELETE of a till's order, the same for both attended families. Source: `docs/field-notes.md` QR §1.1, §1.2.

/** 204, also on an empty till (setting `legacy_qr_delete_empty`). @throws PuenteError refused, while it is paid. */
export function takeOff(call: QrCall, till: PointOfSale): Answer {
  if (takeAway(call, till, 'canceled')) return noContent;
  const status = call.world.settings.legacy_qr_delete_empty;
  const nothing = legacyError(call.family, 'order_not_found');
  if (status === 204 || nothing === null) return noContent;
  return json(status, errorBody(call.family, { ...nothing, status }, ''));
}
