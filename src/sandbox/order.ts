/** An order of either type as the sandbox keeps it. Source: `docs/field-notes.md` Spec Order, `docs/field-notes.md` Orders §1.3, §3.2. */

import { PuenteError } from '../error.ts';
import type { TerminalOptions } from './cast.ts';
import type { Order, OrderStatus, Payment } from './records.ts';
import type { World } from './world.ts';

/** Minor units that the order asks for: the payment and, if there is one, the withdrawal. */
export function totalMinor(order: Order): number {
  return order.transaction.amount_minor + withdrawnMinor(order);
}

/** Minor units of cash that the order hands out. */
export function withdrawnMinor({ place }: Order): number {
  return place.type === 'qr' ? (place.withdrawal?.amount_minor ?? 0) : 0;
}

export function isCard(payment_method_type: string): boolean {
  return payment_method_type === 'credit_card' || payment_method_type === 'debit_card';
}

// The states of an order, and the only place where they change: each change frees the terminal or the till, stamps
// the order and announces it.

/** What the order stories work with. */
export interface Desk {
  world: World;
  /** Sends the webhook of a change, if that change has one. */
  announce(order: Order, action: string): void;
}

/** Transitions of `docs/field-notes.md` Orders §3.2; `action_required` moves on only if the setting says so. */
const transitions: Readonly<Record<'point' | 'qr', Partial<Record<OrderStatus, readonly OrderStatus[]>>>> = {
  point: {
    created: ['at_terminal', 'canceled', 'expired'],
    at_terminal: ['processed', 'failed', 'canceled', 'action_required', 'expired'],
    processed: ['refunded'],
  },
  qr: { created: ['processed', 'canceled', 'expired'], processed: ['refunded'] },
};

const afterActionRequired: readonly OrderStatus[] = ['processed', 'failed', 'canceled', 'expired'];

export function mayMove(world: World, order: Order, status: OrderStatus): boolean {
  if (order.status === 'action_required' && world.settings.action_required === 'moves_on') {
    return afterActionRequired.includes(status);
  }
  return (transitions[order.place.type][order.status] ?? []).includes(status);
}

/** Keeps a new order and starts its expiry. */
export function openOrder(desk: Desk, order: Order, lifetime_ms: number): void {
  desk.world.orders.set(order.id, order);
  order.timers.push(desk.world.clock.schedule(lifetime_ms, () => expire(desk, order)));
}

export function pickUp(desk: Desk, order: Order): void {
  move(desk, order, 'at_terminal', 'at_terminal', 'at_terminal');
}

/** How an order was paid. */
export interface Method {
  type: string;
  id: string;
  installments: number;
}

/** The card that is used when nobody names one; other types have one method of the same name. */
const usualMethods: Readonly<Record<string, string>> = { credit_card: 'master', debit_card: 'debmaster' };

/** @param usual_type the type when the options name none. */
export function methodOf(options: TerminalOptions, usual_type: string): Method {
  const type = options.payment_method_type ?? usual_type;
  return {
    type,
    id: options.payment_method_id ?? usualMethods[type] ?? type,
    installments: options.installments ?? 1,
  };
}

/** @param paid_minor what the buyer pays, tip included and cash withdrawal not. */
export function approve(desk: Desk, order: Order, method: Method, paid_minor: number, tip_minor: number): void {
  const { transaction } = order;
  transaction.tip_minor = tip_minor;
  transaction.paid_minor = paid_minor;
  order.paid_at_ms = desk.world.clock.now();
  recordPayment(desk.world, order, method, 'approved', 'accredited');
  move(desk, order, 'processed', desk.world.settings.paid_status_detail, 'accredited');
}

/** @param method of the rejected payment. */
export function fail(desk: Desk, order: Order, method: Method, status_detail: string | undefined): void {
  const { settings } = desk.world;
  const detail = status_detail ?? settings.failed_status_detail;
  if (settings.failed_payment === 'rejected')
    recordPayment(desk.world, order, method, 'rejected', `cc_rejected_${detail}`);
  move(desk, order, 'failed', detail, detail);
}

/** @param detail how the transaction shows who canceled: `canceled_by_api` or `canceled_on_terminal`. */
export function cancel(desk: Desk, order: Order, detail: 'canceled_by_api' | 'canceled_on_terminal'): void {
  move(desk, order, 'canceled', 'canceled', detail);
}

export function requireAction(desk: Desk, order: Order): void {
  move(desk, order, 'action_required', 'check_on_terminal', 'check_on_terminal');
}

/** A QR order that a buyer is paying waits until the buyer is done. */
export function expire(desk: Desk, order: Order): void {
  const { place } = order;
  if (place.type === 'qr' && place.is_locked) place.is_expiry_due = true;
  else {
    const status = place.type === 'point' ? desk.world.settings.point_expiry : 'expired';
    if (mayMove(desk.world, order, status)) move(desk, order, status, status, status);
  }
}

/** The order has nothing left to refund. */
export function markRefunded(desk: Desk, order: Order): void {
  move(desk, order, 'refunded', 'refunded', 'refunded');
}

/** A refund of the whole has failed, so the order is as it was before. */
export function undoRefunded(desk: Desk, order: Order): void {
  const { transaction } = order;
  order.status = 'processed';
  order.status_detail = transaction.refunded_minor > 0 ? 'partially_refunded' : desk.world.settings.paid_status_detail;
  transaction.status = 'processed';
  transaction.status_detail = 'accredited';
  touch(desk.world, order);
}

/** Stamps a change that is no change of status. */
export function touch(world: World, order: Order): void {
  order.updated_at_ms = world.clock.now();
  order.version++;
}

/** An approved payment that a cancellation request did not stop still wins; a requested cancellation keeps its cause. */
export function confirmCancel(desk: Desk, order: Order): void {
  const requested = order.transaction.status_detail === 'cancellation_requested';
  cancel(desk, order, requested ? 'canceled_by_api' : 'canceled_on_terminal');
}

function move(desk: Desk, order: Order, status: OrderStatus, detail: string, transaction_detail: string): void {
  const { world } = desk;
  if (!mayMove(world, order, status)) {
    throw new PuenteError('refused', `Order ${order.id} is ${order.status} and can't become ${status}.`);
  }
  order.status = status;
  order.status_detail = detail;
  order.transaction.status = status;
  order.transaction.status_detail = transaction_detail;
  touch(world, order);
  const over = status !== 'at_terminal' && (status !== 'action_required' || world.settings.action_required === 'final');
  if (over) leavePlace(world, order);
  if (status !== 'at_terminal') desk.announce(order, `order.${status}`);
}

function leavePlace(world: World, order: Order): void {
  for (const timer of order.timers) timer.cancel();
  order.timers.length = 0;
  const { place, merchant } = order;
  if (place.type === 'qr') {
    place.is_locked = false;
    world.payables.delete(order.id);
    return;
  }
  const terminal = world.terminal(merchant.user_id, place.terminal_id);
  if (terminal !== undefined) world.release(terminal, order.id);
}

/** A QR payment carries the cash withdrawal too, and after a discount what is really paid. */
function recordPayment(
  world: World,
  order: Order,
  method: Method,
  status: Payment['status'],
  status_detail: string,
): void {
  const { transaction, place, merchant } = order;
  const now_ms = world.clock.now();
  const paid_minor = place.type === 'qr' ? transaction.paid_minor : null;
  const payment: Payment = {
    id: world.nextPaymentId(),
    merchant_id: merchant.user_id,
    status,
    status_detail,
    amount_minor: (paid_minor ?? transaction.amount_minor) + withdrawnMinor(order),
    tip_minor: transaction.tip_minor,
    refunded_minor: 0,
    external_reference: order.external_reference,
    description: order.description ?? null,
    payment_type_id: method.type,
    payment_method_id: method.id,
    installments: method.installments,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    refunds: [],
    pos: place.type === 'qr' ? place.pos : (world.terminal(merchant.user_id, place.terminal_id)?.pos ?? null),
    origin: { kind: 'order', id: order.id },
    merchant_order_id: null,
  };
  world.payments.set(payment.id, payment);
  transaction.reference_id = payment.id;
  transaction.payment_method = method;
  world.paymentChanged(payment);
}

export const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

export const TIME_LETTERS = 10;

export const RANDOM_LETTERS = 16;

/** A ULID: 10 letters of time, which ids made together share, and 16 random ones. */
export function newUlid(world: World): string {
  let time = world.clock.now();
  let text = '';
  for (let index = 0; index < TIME_LETTERS; index++) {
    text = CROCKFORD.charAt(time % 32) + text;
    time = Math.floor(time / 32);
  }
  for (let index = 0; index < RANDOM_LETTERS; index++) text += CROCKFORD.charAt(Math.floor(world.random() * 32));
  return text;
}

/** `ORD` and 26 characters; `ORDTST` for orders of test credentials, where the settings make such orders (`docs/field-notes.md` Orders §1.4). */
export function isOrderId(text: string, { order_ids, order_id_letters }: World['settings']): boolean {
  const [, suffix = ''] = (order_ids === 'ORD' ? /^ORD(.*)$/ : /^ORD(?:TST)?(.*)$/).exec(text) ?? [];
  return (order_id_letters === 'alphanumeric' ? /^[0-9A-Za-z]{26}$/ : /^[0-9A-HJKMNP-TV-Z]{26}$/).test(suffix);
}
