/** `POST /v1/orders`: the checks, then the order. Source: `docs/field-notes.md` Spec Errors, Orders §1. */

import { durationMs } from '../contract/duration.ts';
import { isObject, type Json } from '../contract/json.ts';
import { type Answer, json, type Problem, problem, refusal, refused } from './answer.ts';
import { bodyJson, type Call, fingerprint, type Handler, idempotencyKey } from './call.ts';
import { minorUnits } from './money.ts';
import { newUlid } from './order.ts';
import { qrData, queueOrder, showOrder } from './order-at-unit.ts';
import {
  amountsOf,
  checkOrder,
  DEFAULT_EXPIRATION,
  type PointOrderRequest,
  problemOf,
  type QrOrderRequest,
} from './order-rules.ts';
import { renderOrder } from './order-view.ts';
import type { AtTerminal, AtTill, KeyEntry, Merchant, Order, PointOfSale } from './records.ts';
import { unsupportedSite } from './terminals.ts';
import { hashOf, newUuid, type World } from './world.ts';

/**
 * `POST /v1/orders`. The checks stand in upstream's order, as far as it is known: key header, body, terminal or till,
 * busy unit when `key_check` is `after_queue`, known key, reference, busy unit. Source: `docs/field-notes.md` Orders
 * §1, `docs/protocol.md` §3.1.
 */
export const createOrder: Handler = (call) => {
  const { world, merchant } = call;
  const key = idempotencyKey(call);
  if (key === null) return refusal(missingKey);
  const body = bodyJson(call.body);
  if (body === undefined || 'broken' in body) return refusal(brokenJson);
  const plan = planOrder(call, body.value);
  if (plan.isBusy && world.settings.key_check === 'after_queue') return refusal(alreadyQueued(world));

  const mark = fingerprint(call);
  const known = world.findKey(merchant.user_id, key);
  if (known !== undefined) return repeatCreate(world, known, mark);

  const refused = isReferenceTaken(world, merchant, plan.external_reference)
    ? problemOf('property_value', ['external_reference'], 'The external_reference is already in use')
    : plan.isBusy
      ? alreadyQueued(world)
      : null;
  if (refused !== null) {
    const answer = refusal(refused);
    if (world.settings.remember_refusals)
      world.storeKey(merchant.user_id, key, { fingerprint: mark, answer, order_id: null });
    return answer;
  }
  const order = plan.open();
  const answer = json(201, renderOrder(world, order));
  world.storeKey(merchant.user_id, key, { fingerprint: mark, answer, order_id: order.id });
  return answer;
};

/** A create with a valid body. Its key, its reference or a busy unit may still refuse it. */
interface Plan {
  external_reference: string;
  isBusy: boolean;
  open(): Order;
}

/** @throws PuenteError refused, for the first fault of: site, properties, seller, terminal or till. */
function planOrder(call: Call, body: Json): Plan {
  const { world, merchant } = call;
  if (!isObject(body)) throw refuse(problem(400, 'bad_request', 'The body must be a JSON object'));
  const { type } = body;
  if (typeof type === 'string' && type !== 'point' && type !== 'qr')
    throw refuse(problemOf('property_value', ['type']));
  const isQr = type === 'qr' || (type === undefined && isObject(body.config) && body.config.qr !== undefined);
  if (!isSiteSupported(world, merchant, isQr)) throw refuse(unsupportedSite);
  const { settings, clock } = world;
  const is_oauth = world.tokens.get(hashOf(call.token))?.oauth === true;
  const checked = checkOrder(body, { type: isQr ? 'qr' : 'point', merchant, is_oauth, settings, now_ms: clock.now() });
  if ('status' in checked) throw refuse(checked);
  return checked.request.type === 'qr'
    ? planAtTill(world, merchant, checked.request)
    : planAtTerminal(world, merchant, checked.request);
}

function refuse(problem: Problem) {
  return refused(refusal(problem));
}

function planAtTerminal(world: World, merchant: Merchant, wanted: PointOrderRequest): Plan {
  const terminal = world.terminal(merchant.user_id, wanted.config.point.terminal_id);
  if (terminal === undefined) throw refuse(notTerminalOwner(world));
  return {
    external_reference: wanted.external_reference,
    isBusy: terminal.occupation !== null,
    open() {
      const { order, place } = newPointOrder(world, merchant, wanted);
      queueOrder(world, order, place, lifetimeOf(order));
      return order;
    },
  };
}

function planAtTill(world: World, merchant: Merchant, wanted: QrOrderRequest): Plan {
  const { external_pos_id, mode = 'static' } = wanted.config.qr;
  const pos = world.tillNamed(merchant.user_id, external_pos_id);
  if (pos === undefined) throw refuse(posNotFound);
  return {
    external_reference: wanted.external_reference,
    isBusy: mode !== 'dynamic' && world.settings.second_static_order === 'refused' && isShowing(world, pos),
    open() {
      const { order, place } = newQrOrder(world, merchant, wanted, pos);
      showOrder(world, order, place, lifetimeOf(order));
      return order;
    },
  };
}

/** Milliseconds from the creation; the checks have proved a valid duration. */
function lifetimeOf({ expiration_time, created_at_ms }: Order): number {
  return durationMs(expiration_time, created_at_ms) ?? 0;
}

/** Whether the till's code shows an order of this API; legacy orders do not count. */
function isShowing(world: World, pos: PointOfSale): boolean {
  return [...world.payables.values()].some(
    (payable) => payable.kind === 'order' && payable.on_pos && payable.pos_id === pos.id,
  );
}

/** Variants V1–V4 of `docs/protocol.md` §3.1. V5 is in `createKeys`; `rememberFailure` stores the 500 of V4. */
function repeatCreate(world: World, known: KeyEntry, mark: string): Answer {
  const { replay, replay_status } = world.settings;
  if (known.fingerprint !== null && known.fingerprint !== mark) return refusal(keyAlreadyUsed);
  if (replay === 'conflict') return refusal(keyAlreadyUsed);
  const order = known.order_id === null ? undefined : world.orders.get(known.order_id);
  if (replay === 'current' && order !== undefined) return json(replay_status, renderOrder(world, order));
  return known.answer.status === 201 ? { ...known.answer, status: replay_status } : known.answer;
}

function isReferenceTaken(world: World, merchant: Merchant, reference: string): boolean {
  const holder = world.references.get(`${merchant.user_id}/${reference}`);
  if (holder === undefined || world.settings.reference_unique === 'not_checked') return false;
  return world.settings.reference_unique === 'among_all' || !isTerminal(holder);
}

function isTerminal(order: Order): boolean {
  return !['created', 'at_terminal', 'action_required'].includes(order.status);
}

/** Mexico takes QR orders only by setting. */
function isSiteSupported(world: World, { site }: Merchant, isQr: boolean): boolean {
  if (!isQr) return site.has_terminals;
  return site.has_qr || world.settings.qr_in_mexico === 'accepted';
}

const posNotFound = problem(404, 'pos_not_found', 'Point of sale not found', ['config.qr.external_pos_id']);

function notTerminalOwner(world: World): Problem {
  const isDocumented = world.settings.error_codes === 'documented';
  const code = isDocumented ? 'forbidden_checking_terminal_owner' : 'forbidden_checking_device_owner';
  return problem(403, code, 'Forbidden Error checking terminal owner', ['config.point.terminal_id']);
}

function alreadyQueued(world: World): Problem {
  const isDocumented = world.settings.error_codes === 'documented';
  const code = isDocumented ? 'already_queued_order_for_terminal' : 'already_queued_order_on_terminal';
  return problem(409, code, 'There is already a queued order for the terminal');
}

// A checked request made into an order. Source: `docs/field-notes.md` Orders §1.3, §1.4.

function newPointOrder(
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
  const amount_minor = minorUnits(wanted.transactions.payments[0].amount, merchant.site.exponent) ?? 0; // valid by checkOrder
  return { order: newOrder(world, merchant, wanted, place, amount_minor), place };
}

function newQrOrder(
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
    pos_id: pos.id,
    external_pos_id,
    mode,
    qr_data: mode === 'static' ? undefined : qrData(merchant.site, newUuid(world), total, merchant.nickname),
    items,
    discounts: discounts && { payment_methods: methodDiscounts(discounts, merchant), sent: discounts },
    // The prefix of a withdrawal's id is not published.
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
    new_total_minor: minorUnits(new_total_amount, site.exponent) ?? 0, // checked by checkOrder
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
    merchant_id: merchant.user_id,
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
  };
}

// Shared by all calls on an order: key, repeats, orders of other merchants, path id.

/** Same key and body on cancel or refund: the stored answer or 409. A key of another request is always a conflict. */
export function repeatAction(known: KeyEntry, mark: string, repeated: 'saved' | 'conflict'): Answer {
  const isSame = known.fingerprint === null || known.fingerprint === mark;
  return isSame && repeated === 'saved' ? known.answer : refusal(keyAlreadyUsed);
}

/** An order of another merchant is unknown. */
export function findOrder(world: World, merchant: Merchant, id: string): Order | undefined {
  const order = world.orders.get(id);
  return order?.merchant_id === merchant.user_id ? order : undefined;
}

export const missingKey = problem(400, 'empty_required_header', 'A required header is empty', ['X-Idempotency-Key']);
const keyAlreadyUsed = problem(409, 'idempotency_key_already_used', 'The idempotency key was already used');
export const brokenJson = problem(400, 'json_syntax_error', 'The body is not valid JSON');
export const orderNotFound = problem(404, 'order_not_found', 'Order not found.');

/**
 * One code per order type is documented (setting `error_codes`, `docs/field-notes.md` Orders §1.6). A bad id has no
 * type: merchants without terminals get the QR code.
 */
export function badOrderId(world: World, merchant: Merchant): Problem {
  const isPoint = world.settings.error_codes === 'documented' && merchant.site.has_terminals;
  const code = isPoint ? 'bad_request' : 'invalid_path_param';
  return problem(400, code, 'path param order id is invalid');
}
