/** The life of a legacy QR order: shown, replaced, taken away, over. Source: `legacy-qr.md` §1.2, §2, §10. */
import { randomUUID } from 'node:crypto';
import type { PointOfSale } from '../../cast.ts';
import { actAsBuyer } from './buyer.ts';
import { type QrCall, refuse } from './call.ts';
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
