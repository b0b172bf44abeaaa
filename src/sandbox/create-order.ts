/** `POST /v1/orders`: the checks in their order, then one order at a terminal or a till. Source: `interface.md` Errors, `orders-api.md` §1. */
import type { Request } from 'express';
import { durationMs } from '../contract/duration.ts';
import type { Json } from '../contract/json.ts';
import { type Answer, json, type Problem, refusal } from './answer.ts';
import { bearerToken } from './auth.ts';
import { bodyJson } from './body.ts';
import type { Merchant, PointOfSale } from './cast.ts';
import type { KeyEntry } from './keys.ts';
import { newPointOrder, newQrOrder } from './new-order.ts';
import type { Order } from './order.ts';
import { queueOrder } from './order-at-terminal.ts';
import { showOrder } from './order-at-till.ts';
import { fingerprint, idempotencyKey, keyAlreadyUsed, missingKey } from './order-call.ts';
import { checkPointOrder, type PointOrderRequest } from './order-request.ts';
import type { Desk } from './order-states.ts';
import { renderOrder } from './order-view.ts';
import { type Fields, isObject, problemOf } from './property-tree.ts';
import { checkQrOrder, type QrOrderRequest } from './qr-order-request.ts';
import { unsupportedSite } from './terminals.ts';
import type { World } from './world.ts';

export function createOrder(desk: Desk, merchant: Merchant, request: Request): Answer {
  const { world } = desk;
  const key = idempotencyKey(request);
  if (key === null) return refusal(missingKey);
  const body = bodyJson(request);
  if (body === undefined || 'broken' in body) {
    return refusal({ status: 400, code: 'json_syntax_error', message: 'The body is not valid JSON' });
  }
  const wanted = planOrder(world, merchant, body.value, bearerToken(request) ?? '');
  if ('code' in wanted) return refusal(wanted);
  if (wanted.isBusy && world.settings.key_check === 'after_queue') return refusal(alreadyQueued(world));

  const mark = fingerprint(request);
  const known = world.keys.find(merchant.user_id, key);
  if (known !== undefined) return replayCreate(world, known, mark);

  const refused = isReferenceTaken(world, merchant, wanted.external_reference)
    ? problemOf('property_value', ['external_reference'], 'The external_reference is already in use')
    : wanted.isBusy
      ? alreadyQueued(world)
      : null;
  if (refused !== null) {
    const answer = refusal(refused);
    if (world.settings.remember_refusals)
      world.keys.store(merchant.user_id, key, { fingerprint: mark, answer, order_id: null });
    return answer;
  }
  const order = wanted.open(desk);
  world.references.set(`${merchant.user_id}/${order.external_reference}`, order.id);
  const answer = json(201, renderOrder(order, world.settings));
  world.keys.store(merchant.user_id, key, { fingerprint: mark, answer, order_id: order.id });
  return answer;
}

/** A create that may go ahead unless its key is known, its reference is taken, or its place is busy. */
interface Plan {
  external_reference: string;
  isBusy: boolean;
  open(desk: Desk): Order;
}

/** @returns the plan, or the refusal of the first fault: site, properties, marketplace, then terminal or till. */
function planOrder(world: World, merchant: Merchant, body: Json, token: string): Plan | Refused {
  if (!isObject(body)) return { status: 400, code: 'bad_request', message: 'The body must be a JSON object' };
  const { type } = body;
  if (typeof type === 'string' && type !== 'point' && type !== 'qr')
    return refused(problemOf('property_value', ['type']));
  const isQr = type === 'qr' || (type === undefined && isObject(body.config) && body.config.qr !== undefined);
  if (!isSiteSupported(world, merchant, isQr)) return refused(unsupportedSite);
  const circumstances = { site: merchant.site, settings: world.settings, now_ms: world.clock.now() };
  const checked = isQr ? checkQrOrder(body, merchant, circumstances) : checkPointOrder(body, circumstances);
  if ('status' in checked) return refused(checked);
  const problem = checkMarketplace(world, merchant, body, token);
  if (problem !== null) return refused(problem);
  return checked.request.type === 'qr'
    ? planAtTill(world, merchant, checked.request)
    : planAtTerminal(world, merchant, checked.request);
}

/** A problem with a code, so that it can be told from a plan. */
type Refused = Problem & { code: string };

function refused(problem: Problem): Refused {
  return { ...problem, code: problem.code ?? 'bad_request' };
}

function planAtTerminal(world: World, merchant: Merchant, wanted: PointOrderRequest): Plan | Refused {
  const terminal = world.terminal(merchant.user_id, wanted.config.point.terminal_id);
  if (terminal === undefined) return notTerminalOwner(world);
  return {
    external_reference: wanted.external_reference,
    isBusy: terminal.occupation !== null,
    open(desk) {
      const { order, place } = newPointOrder(world, merchant, wanted);
      queueOrder(desk, order, place, lifetimeOf(order));
      return order;
    },
  };
}

function planAtTill(world: World, merchant: Merchant, wanted: QrOrderRequest): Plan | Refused {
  const { external_pos_id, mode = 'static' } = wanted.config.qr;
  const pos = [...world.points_of_sale.values()].find(
    (point) => point.merchant_id === merchant.user_id && point.external_id === external_pos_id,
  );
  if (pos === undefined) return posNotFound;
  return {
    external_reference: wanted.external_reference,
    isBusy: mode !== 'dynamic' && world.settings.second_static_order === 'refused' && isShowing(world, pos),
    open(desk) {
      const { order, place } = newQrOrder(world, merchant, wanted, pos);
      showOrder(desk, order, place, lifetimeOf(order));
      return order;
    },
  };
}

/** Milliseconds from its creation on; the request tree has checked that it is a duration. */
function lifetimeOf({ expiration_time, created_at_ms }: Order): number {
  return durationMs(expiration_time, created_at_ms) ?? 0;
}

/** Whether the code of the till shows an order; what the legacy API shows there does not count. */
function isShowing(world: World, pos: PointOfSale): boolean {
  return [...world.payables.values()].some(
    (payable) => payable.kind === 'order' && payable.on_pos && payable.pos.id === pos.id,
  );
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

/** Point where there are terminals; QR in the countries of the currency enum, and Mexico only by setting (`interface.md` Order). */
function isSiteSupported(world: World, { site }: Merchant, isQr: boolean): boolean {
  if (!isQr) return site.has_terminals;
  return site.site_id !== 'MLM' || world.settings.qr_in_mexico === 'accepted';
}

/** Only tokens of OAuth, and only those of an application that is a marketplace (`interface.md` Errors, Authentication 4). */
function checkMarketplace(world: World, merchant: Merchant, body: Fields, token: string): Problem | null {
  const details = ['marketplace_fee'];
  if (body.marketplace_fee === undefined) return null;
  if (!world.oauth_tokens.has(token)) {
    return { status: 400, code: 'marketplace_not_valid', message: 'The marketplace is not valid', details };
  }
  if (merchant.has_marketplace) return null;
  return { status: 404, code: 'marketplace_fee_not_allowed', message: 'The marketplace was not found', details };
}

const posNotFound: Refused = {
  status: 404,
  code: 'pos_not_found',
  message: 'Point of sale not found',
  details: ['config.qr.external_pos_id'],
};

function notTerminalOwner(world: World): Refused {
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
