/** `/v1/orders`: create, get and cancel, with every documented refusal. Source: `docs/field-notes.md` Spec Endpoints and Errors, `docs/field-notes.md` Orders §1–3. */

import { type Request, type Response, Router } from 'express';
import { type Answer, json, readBody, refusal, send } from './answer.ts';
import { authenticate } from './auth.ts';
import type { Merchant } from './cast.ts';
import {
  badOrderId,
  createOrder,
  findOrder,
  fingerprint,
  idempotencyKey,
  missingKey,
  orderNotFound,
  pathId,
  replayAction,
} from './create-order.ts';
import { cancel, confirmCancel, type Desk, isOrderId, mayMove, touch } from './order.ts';
import { renderOrder } from './order-view.ts';
import type { AtTerminal, Order } from './records.ts';
import { refundOrder } from './refunds.ts';
import { simulateEvent } from './simulator.ts';
import type { World } from './world.ts';

export function ordersRouter(desk: Desk): Router {
  const router = Router();
  const { world } = desk;
  const answered =
    (story: (merchant: Merchant, request: Request) => Answer) =>
    (request: Request, response: Response): void => {
      const caller = authenticate(world, request);
      send(response, caller.refused ?? story(caller.merchant, request));
    };
  router.post(
    '/v1/orders',
    readBody,
    answered((merchant, request) => createOrder(desk, merchant, request)),
  );
  router.get(
    '/v1/orders/:id',
    answered((merchant, request) => getOrder(world, merchant, pathId(request))),
  );
  router.post(
    '/v1/orders/:id/cancel',
    readBody,
    answered((merchant, request) => cancelOrder(desk, merchant, request)),
  );
  router.post(
    '/v1/orders/:id/refund',
    readBody,
    answered((merchant, request) => refundOrder(desk, merchant, request)),
  );
  router.post(
    '/v1/orders/:id/events',
    readBody,
    answered((merchant, request) => simulateEvent(desk, merchant, request)),
  );
  return router;
}

/** `docs/field-notes.md` Orders §3.2: only orders younger than 3 months (setting `old_orders`). */
const READABLE_MS = 92 * 24 * 60 * 60 * 1000;

function getOrder(world: World, merchant: Merchant, id: string): Answer {
  if (!isOrderId(id, world.settings)) return refusal(badOrderId(world, merchant));
  const order = findOrder(world, merchant, id);
  if (order === undefined || isTooOld(world, order)) return refusal(orderNotFound);
  return json(200, renderOrder(order, world.settings));
}

function isTooOld({ clock, settings }: World, order: Order): boolean {
  return settings.old_orders === 'not_found' && clock.now() - order.created_at_ms > READABLE_MS;
}

function cancelOrder(desk: Desk, merchant: Merchant, request: Request): Answer {
  const { world } = desk;
  const key = idempotencyKey(request);
  if (key === null) return refusal(missingKey);
  const id = pathId(request);
  if (!isOrderId(id, world.settings)) return refusal(badOrderId(world, merchant));
  const mark = fingerprint(request);
  const known = world.keys.find(merchant.user_id, key);
  if (known !== undefined) return replayAction(known, mark, world.settings.replay_cancels);
  const order = findOrder(world, merchant, id);
  if (order === undefined) return refusal(orderNotFound);
  if (order.status === 'canceled') {
    return refusal({ status: 409, code: 'order_already_canceled', message: 'The order is already canceled' });
  }
  const { place } = order;
  if (place.type === 'qr' && place.is_locked) {
    return refusal({ status: 409, code: 'instore_order_locked_error', message: 'A payment is in progress' });
  }
  const isAsked =
    place.type === 'point' && order.status === 'at_terminal' && isAllowedThere(world, order, place, request);
  if (order.status !== 'created' && !isAsked) {
    return refusal({
      status: 409,
      code: 'cannot_cancel_order',
      message: `The order can't be canceled in status ${order.status}`,
    });
  }
  const isLater = isAsked && world.settings.cancel_confirmation !== 'at_once';
  if (isLater) requestCancel(desk, order);
  else cancel(desk, order, 'canceled_by_api');
  const answer = json(isLater ? 202 : 200, renderOrder(order, world.settings));
  world.keys.store(merchant.user_id, key, { fingerprint: mark, answer, order_id: order.id });
  return answer;
}

/** The header must have exactly this value, and old terminals don't know it (`docs/field-notes.md` Orders §3.1). */
function isAllowedThere(world: World, order: Order, place: AtTerminal, request: Request): boolean {
  const terminal = world.terminal(order.merchant.user_id, place.terminal_id);
  return request.get('x-allow-cancelable-status') === 'at_terminal' && terminal?.software === 'current';
}

/** The 202 of `docs/field-notes.md` Orders §3.1: the terminal confirms later, unless the payment wins. */
function requestCancel(desk: Desk, order: Order): void {
  const { clock, settings } = desk.world;
  if (order.transaction.status_detail === 'cancellation_requested') return;
  order.transaction.status_detail = 'cancellation_requested';
  touch(desk.world, order);
  if (settings.cancel_confirmation === 'by_hand') return;
  const confirm = (): void => {
    if (mayMove(desk.world, order, 'canceled')) confirmCancel(desk, order);
  };
  order.timers.push(clock.schedule(settings.cancel_step_ms, confirm));
}
