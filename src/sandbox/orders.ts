/** `/v1/orders`: get, cancel and the routes. Source: `docs/field-notes.md` Spec Endpoints and Errors, Orders §1–3. */

import { json, problem, refusal } from './answer.ts';
import { type Call, fingerprint, type Handler, idempotencyKey, type Rows } from './call.ts';
import { badOrderId, createOrder, findOrder, missingKey, orderNotFound, repeatAction } from './create-order.ts';
import { cancel, isOrderId, touch } from './order.ts';
import { renderOrder } from './order-view.ts';
import type { Order } from './records.ts';
import { refundOrder } from './refunds.ts';
import { simulateEvent } from './simulator.ts';
import type { World } from './world.ts';

/** Only orders younger than 3 months can be read (`docs/field-notes.md` Orders §3.2, setting `old_orders`). */
const READABLE_MS = 92 * 24 * 60 * 60 * 1000;

const getOrder: Handler = ({ world, merchant, path }) => {
  if (!isOrderId(path('id'), world.settings)) return refusal(badOrderId(world, merchant));
  const order = findOrder(world, merchant, path('id'));
  if (order === undefined || isTooOld(world, order)) return refusal(orderNotFound);
  return json(200, renderOrder(world, order));
};

function isTooOld({ clock, settings }: World, order: Order): boolean {
  return settings.old_orders === 'not_found' && clock.now() - order.created_at_ms > READABLE_MS;
}

const cancelOrder: Handler = (call) => {
  const { world, merchant } = call;
  const key = idempotencyKey(call);
  if (key === null) return refusal(missingKey);
  const id = call.path('id');
  if (!isOrderId(id, world.settings)) return refusal(badOrderId(world, merchant));
  const mark = fingerprint(call);
  const known = world.findKey(merchant.user_id, key);
  if (known !== undefined) return repeatAction(known, mark, world.settings.replay_cancels);
  const order = findOrder(world, merchant, id);
  if (order === undefined) return refusal(orderNotFound);
  if (order.status === 'canceled') {
    return refusal(problem(409, 'order_already_canceled', 'The order is already canceled'));
  }
  const { place } = order;
  if (place.type === 'qr' && place.is_locked) {
    return refusal(problem(409, 'instore_order_locked_error', 'A payment is in progress'));
  }
  const isAsked = order.status === 'at_terminal' && isAllowedThere(call, order);
  if (order.status !== 'created' && !isAsked) {
    return refusal(problem(409, 'cannot_cancel_order', `The order can't be canceled in status ${order.status}`));
  }
  const isLater = isAsked && world.settings.cancel_confirmation !== 'at_once';
  if (isLater) requestCancel(world, order);
  else cancel(world, order, 'canceled_by_api');
  const answer = json(isLater ? 202 : 200, renderOrder(world, order));
  world.storeKey(merchant.user_id, key, { fingerprint: mark, answer, order_id: order.id });
  return answer;
};

/** The header must have exactly this value; old terminals do not support it (`docs/field-notes.md` Orders §3.1). */
function isAllowedThere({ world, header }: Call, { place, merchant_id }: Order): boolean {
  const terminal = place.type === 'point' ? world.terminal(merchant_id, place.terminal_id) : undefined;
  return header('x-allow-cancelable-status') === 'at_terminal' && terminal?.software === 'current';
}

/** The 202 of `docs/field-notes.md` Orders §3.1: the terminal confirms later, unless a payment is approved first. */
function requestCancel(world: World, order: Order): void {
  const { clock, settings } = world;
  if (order.transaction.status_detail === 'cancellation_requested') return;
  order.transaction.status_detail = 'cancellation_requested';
  touch(world, order);
  if (settings.cancel_confirmation === 'automatic') {
    clock.schedule(settings.cancel_step_ms, { kind: 'confirm_cancel', id: order.id });
  }
}

export const orderRows: Rows<'orders'> = [
  ['post', '/v1/orders', createOrder],
  ['get', '/v1/orders/:id', getOrder],
  ['post', '/v1/orders/:id/cancel', cancelOrder],
  ['post', '/v1/orders/:id/refund', refundOrder],
  ['post', '/v1/orders/:id/events', simulateEvent],
];
