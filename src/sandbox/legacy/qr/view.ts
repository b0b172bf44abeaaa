/** The `legacy_qr` part of `GET /_sandbox/state`: people read it, tests assert on it. */
import type { QrState } from './state.ts';

/** After a load test there are too many to print; the newest are shown, and the counts are whole. */
const SHOWN = 1000;

export function legacyQrView(state: QrState): object {
  return {
    counts: { orders: state.orders.size, merchant_orders: state.merchant_orders.size },
    orders: [...state.orders.values()].slice(-SHOWN).map((order) => ({
      id: order.id,
      mode: order.mode,
      merchant_id: order.merchant.user_id,
      pos_id: order.pos.id,
      external_pos_id: order.pos.external_id,
      state: order.state,
      locked: order.locked,
      external_reference: order.external_reference,
      total_minor: order.total_minor,
      cash_out_minor: order.cash_out_minor,
      confirmation: order.confirmation,
      notification_url: order.notification_url,
      merchant_order_id: order.merchant_order_id,
      payment_ids: order.payment_ids,
      created_at: new Date(order.created_at_ms).toISOString(),
      expires_at: new Date(order.expires_at_ms).toISOString(),
    })),
  };
}
