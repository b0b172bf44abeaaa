/** What the merchant is told of legacy QR orders and of payments. Source: `docs/field-notes.md` Spec Events, `docs/field-notes.md` QR §2, §5. */

import type { Payment } from '../../records.ts';
import { announceFeed, type FeedChange } from '../../webhooks.ts';
import { merchantOrderState } from './merchant-orders.ts';
import type { QrOrder, QrState } from './state.ts';

/** Tells of creation, closure and expiry; nothing while there is no merchant order. */
export function announceMerchantOrder(state: QrState, order: QrOrder, change: FeedChange): void {
  if (order.merchant_order_id === null) return;
  announceFeed(state.feed, {
    topic: 'merchant_order',
    id: order.merchant_order_id,
    merchant: order.merchant,
    notification_url: order.notification_url,
    change,
    status: merchantOrderState(state, order).status,
  });
}

/** Gives the order its merchant order. @returns false when it has one. */
export function bearMerchantOrder(state: QrState, order: QrOrder): boolean {
  if (order.merchant_order_id !== null) return false;
  order.merchant_order_id = state.world.nextMerchantOrderId();
  state.merchant_orders.set(order.merchant_order_id, order);
  return true;
}

/**
 * Tells of every payment that is made, refunded or charged back: to its QR order's URL, and the account's otherwise.
 * Payments of orders are left out: the old topics are not compatible with orders (`docs/field-notes.md` Spec Orders webhook).
 */
export function announcePayments(state: QrState): void {
  const told = new Set<number>();
  state.world.onReset(() => told.clear());
  state.world.onPaymentChange((payment) => {
    const merchant = state.world.merchants.get(payment.merchant_id);
    if (merchant === undefined || payment.origin.kind === 'order') return;
    const change = told.has(payment.id) ? 'updated' : 'created';
    told.add(payment.id);
    announceFeed(state.feed, {
      topic: 'payment',
      id: payment.id,
      merchant,
      notification_url: notificationUrlOf(state, payment),
      change,
      status: payment.status,
    });
  });
}

/** The URL of the QR order that was paid; null when it has none, or when the payment is not one of a QR order. */
export function notificationUrlOf(state: QrState, payment: Payment): string | null {
  return state.orders.get(payment.origin.id)?.notification_url ?? null;
}
