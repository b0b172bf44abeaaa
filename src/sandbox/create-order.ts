/** `POST /v1/orders`: the checks in their order, then one order at a terminal or a till. Source: `docs/field-notes.md` Spec Errors, `docs/field-notes.md` Orders §1. */

import { hash, randomUUID } from 'node:crypto';
import type { Request } from 'express';
import { durationMs } from '../contract/duration.ts';
import type { Json } from '../contract/json.ts';
import { type Answer, bodyBytes, bodyJson, json, type Problem, refusal } from './answer.ts';
import { bearerToken } from './auth.ts';
import type { Merchant, PointOfSale } from './cast.ts';
import { minorUnits } from './money.ts';
import { type Desk, newUlid } from './order.ts';
import { qrData, queueOrder, showOrder } from './order-at-unit.ts';
import {
  checkPointOrder,
  DEFAULT_EXPIRATION,
  type Fields,
  isObject,
  type PointOrderRequest,
  problemOf,
} from './order-rules.ts';
import { renderOrder } from './order-view.ts';
import type { KeyEntry } from './people.ts';
import { amountsOf, checkQrOrder, type QrOrderRequest } from './qr-order-rules.ts';
import type { AtTerminal, AtTill, Order } from './records.ts';
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

/** Variants V1–V4 of `docs/protocol.md` §3.1; V5 is in the key memory, V4's saving in the faults. */
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

/** Point where there are terminals; QR in the countries of the currency enum, and Mexico only by setting (`docs/field-notes.md` Spec Order). */
function isSiteSupported(world: World, { site }: Merchant, isQr: boolean): boolean {
  if (!isQr) return site.has_terminals;
  return site.site_id !== 'MLM' || world.settings.qr_in_mexico === 'accepted';
}

/** Only tokens of OAuth, and only those of an application that is a marketplace (`docs/field-notes.md` Spec Errors, Authentication 4). */
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

// A checked request made into an order that nobody has seen yet. Source: `docs/field-notes.md` Orders §1.3, §1.4.

export function newPointOrder(
  world: World,
  merchant: Merchant,
  wanted: PointOrderRequest,
): { order: Order; place: AtTerminal } {
  const { point } = wanted.config;
  const place: AtTerminal = {
    type: 'point',
    terminal_id: point.terminal_id,
    print_on_terminal: point.print_on_terminal ?? 'seller_ticket',
    ticket_number: point.ticket_number,
  };
  const amount_minor = minorUnits(wanted.transactions.payments[0].amount, merchant.site.exponent) ?? 0; // checked by the request tree
  return { order: newOrder(world, merchant, wanted, place, amount_minor), place };
}

export function newQrOrder(
  world: World,
  merchant: Merchant,
  wanted: QrOrderRequest,
  pos: PointOfSale,
): { order: Order; place: AtTill } {
  const { external_pos_id, mode = 'static' } = wanted.config.qr;
  const { paid, withdrawn, total } = amountsOf(wanted, merchant.site);
  const { items, discounts, transactions } = wanted;
  const place: AtTill = {
    type: 'qr',
    pos,
    external_pos_id,
    mode,
    qr_data: mode === 'static' ? undefined : qrData(merchant.site, randomUUID(), total, merchant.nickname),
    items,
    discounts: discounts && { payment_methods: methodDiscounts(discounts, merchant), sent: discounts },
    // Nobody has published the prefix of a withdrawal's id.
    withdrawal:
      transactions.cash_outs === undefined
        ? null
        : { id: `CSH${newUlid(world)}`, amount_minor: withdrawn, refunded_minor: 0 },
    has_payment: transactions.payments !== undefined,
    is_locked: false,
    is_expiry_due: false,
    discount_type: undefined,
  };
  const order = newOrder(world, merchant, wanted, place, paid);
  order.transaction.status_detail = 'ready_to_process';
  return { order, place };
}

function methodDiscounts(
  discounts: NonNullable<QrOrderRequest['discounts']>,
  { site }: Merchant,
): { type: string; new_total_minor: number }[] {
  return (discounts.payment_methods ?? []).map(({ type, new_total_amount }) => ({
    type,
    new_total_minor: minorUnits(new_total_amount, site.exponent) ?? 0, // checked by the request tree
  }));
}

function newOrder(
  world: World,
  merchant: Merchant,
  wanted: PointOrderRequest | QrOrderRequest,
  place: AtTerminal | AtTill,
  amount_minor: number,
): Order {
  const now_ms = world.clock.now();
  return {
    id: world.settings.order_ids + newUlid(world),
    merchant,
    external_reference: wanted.external_reference,
    description: wanted.description,
    expiration_time: wanted.expiration_time ?? DEFAULT_EXPIRATION,
    place,
    total_amount: wanted.type === 'qr' ? wanted.total_amount : undefined,
    marketplace_fee: wanted.marketplace_fee,
    payment_method: wanted.config.payment_method,
    integration_data: wanted.integration_data,
    status: 'created',
    status_detail: 'created',
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    paid_at_ms: null,
    version: 1,
    transaction: {
      id: `PAY${newUlid(world)}`,
      amount_minor,
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

// What every call on an order reads and refuses in the same way: path id, key, replays, other merchants' orders.

/** Same key again on cancel or refund: the saved answer, or 409; a key of anything else is always a conflict. */
export function replayAction(known: KeyEntry, mark: string, repeated: 'saved' | 'conflict'): Answer {
  const isSame = known.fingerprint === null || known.fingerprint === mark;
  return isSame && repeated === 'saved' ? known.answer : refusal(keyAlreadyUsed);
}

/** @returns null for a missing or empty `X-Idempotency-Key`. */
export function idempotencyKey(request: Request): string | null {
  return request.get('x-idempotency-key') || null;
}

/** Same operation and same bytes, same mark. */
export function fingerprint(request: Request): string {
  return `${request.path} ${hash('sha256', bodyBytes(request))}`;
}

export function pathId(request: Request): string {
  const { id } = request.params;
  return typeof id === 'string' ? id : '';
}

/** Orders of other merchants are unknown. */
export function findOrder(world: World, merchant: Merchant, id: string): Order | undefined {
  const order = world.orders.get(id);
  return order?.merchant === merchant ? order : undefined;
}

export const missingKey: Problem = {
  status: 400,
  code: 'empty_required_header',
  message: 'A required header is empty',
  details: ['X-Idempotency-Key'],
};
export const keyAlreadyUsed: Problem = {
  status: 409,
  code: 'idempotency_key_already_used',
  message: 'The idempotency key was already used',
};
export const orderNotFound: Problem = { status: 404, code: 'order_not_found', message: 'Order not found.' };

/**
 * The spelling depends on the setting `error_codes` (`docs/field-notes.md` Orders §1.6). Documented are two, one for each type of
 * order; a bad id has no type, so a merchant who can only have QR orders gets theirs.
 */
export function badOrderId(world: World, merchant: Merchant): Problem {
  const isPoint = world.settings.error_codes === 'documented' && merchant.site.has_terminals;
  const code = isPoint ? 'bad_request' : 'invalid_path_param';
  return { status: 400, code, message: 'path param order id is invalid' };
}
