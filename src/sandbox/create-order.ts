/** `POST /v1/orders`: the checks in their order, then one queued order on the terminal. Source: `interface.md` Errors, `orders-api.md` §1. */
import type { Request } from 'express';
import { type Answer, json, type Problem, refusal } from './answer.ts';
import { bodyJson } from './body.ts';
import type { Merchant } from './cast.ts';
import { parseDuration } from './dates.ts';
import { newUlid } from './ids.ts';
import type { KeyEntry } from './keys.ts';
import { parseAmount } from './money.ts';
import { type Order, renderOrder } from './order.ts';
import { fingerprint, idempotencyKey, keyAlreadyUsed, missingKey } from './order-call.ts';
import { checkPointOrder, DEFAULT_EXPIRATION, type PointOrderRequest, problemOf } from './order-request.ts';
import { type Desk, queueOrder } from './order-states.ts';
import type { World } from './world.ts';

export function createOrder(desk: Desk, merchant: Merchant, request: Request): Answer {
  const { world } = desk;
  const key = idempotencyKey(request);
  if (key === null) return refusal(missingKey);
  const body = bodyJson(request);
  if (body === undefined || 'broken' in body) {
    return refusal({ status: 400, code: 'json_syntax_error', message: 'The body is not valid JSON' });
  }
  const checked = checkPointOrder(body.value, merchant);
  if ('problem' in checked) return refusal(checked.problem);
  const wanted = checked.request;
  const terminal = world.terminal(merchant.user_id, wanted.config.point.terminal_id);
  if (terminal === undefined) return refusal(notTerminalOwner(world));
  const isBusy = terminal.occupation !== null;
  if (isBusy && world.settings.key_check === 'after_queue') return refusal(alreadyQueued(world));

  const mark = fingerprint(request);
  const known = world.keys.find(merchant.user_id, key);
  if (known !== undefined) return replayCreate(world, known, mark);

  const refused = isReferenceTaken(world, merchant, wanted.external_reference)
    ? problemOf('property_value', ['external_reference'], 'The external_reference is already in use')
    : isBusy
      ? alreadyQueued(world)
      : null;
  if (refused !== null) {
    const answer = refusal(refused);
    if (world.settings.remember_refusals)
      world.keys.store(merchant.user_id, key, { fingerprint: mark, answer, order_id: null });
    return answer;
  }
  const order = newOrder(world, merchant, wanted);
  queueOrder(desk, order, parseDuration(order.expiration_time) ?? 0); // checked by the request tree
  world.references.set(`${merchant.user_id}/${order.external_reference}`, order.id);
  const answer = json(201, renderOrder(order, world.settings));
  world.keys.store(merchant.user_id, key, { fingerprint: mark, answer, order_id: order.id });
  return answer;
}

/** Variants V1–V4 of `reliability.md` §3.1; V5 is in the key memory, V4's saving in the faults. */
function replayCreate(world: World, known: KeyEntry, mark: string): Answer {
  const { replay, replay_status } = world.settings;
  if (known.fingerprint !== null && known.fingerprint !== mark) return refusal(keyAlreadyUsed);
  if (replay === 'conflict') return refusal(keyAlreadyUsed);
  const order = known.order_id === null ? undefined : world.orders.get(known.order_id);
  if (replay === 'current' && order !== undefined) return json(replay_status, renderOrder(order, world.settings));
  return known.answer.status === 201 ? { ...known.answer, status: replay_status } : known.answer;
}

function isReferenceTaken(world: World, merchant: Merchant, reference: string): boolean {
  const holder = world.orders.get(world.references.get(`${merchant.user_id}/${reference}`) ?? '');
  if (holder === undefined || world.settings.reference_unique === 'not_checked') return false;
  return world.settings.reference_unique === 'among_all' || !isOver(holder);
}

function isOver(order: Order): boolean {
  return !['created', 'at_terminal', 'action_required'].includes(order.status);
}

function newOrder(world: World, merchant: Merchant, wanted: PointOrderRequest): Order {
  const now_ms = world.clock.now();
  const { point, payment_method } = wanted.config;
  return {
    id: world.settings.order_ids + newUlid(world),
    merchant,
    external_reference: wanted.external_reference,
    description: wanted.description,
    expiration_time: wanted.expiration_time ?? DEFAULT_EXPIRATION,
    terminal_id: point.terminal_id,
    print_on_terminal: point.print_on_terminal ?? 'seller_ticket',
    ticket_number: point.ticket_number,
    payment_method,
    integration_data: wanted.integration_data,
    status: 'created',
    status_detail: 'created',
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    paid_at_ms: null,
    version: 1,
    transaction: {
      id: `PAY${newUlid(world)}`,
      amount_minor: parseAmount(wanted.transactions.payments[0].amount) ?? 0, // checked by the request tree
      status: 'created',
      status_detail: null,
      reference_id: null,
      paid_minor: null,
      tip_minor: 0,
      refunded_minor: 0,
      payment_method: null,
    },
    refunds: [],
    timers: [],
  };
}

function notTerminalOwner(world: World): Problem {
  const isDocumented = world.settings.error_codes === 'documented';
  const code = isDocumented ? 'forbidden_checking_terminal_owner' : 'forbidden_checking_device_owner';
  return {
    status: 403,
    code,
    message: 'Forbidden Error checking terminal owner',
    details: ['config.point.terminal_id'],
  };
}

function alreadyQueued(world: World): Problem {
  const isDocumented = world.settings.error_codes === 'documented';
  const code = isDocumented ? 'already_queued_order_for_terminal' : 'already_queued_order_on_terminal';
  return { status: 409, code, message: 'There is already a queued order for the terminal' };
}
