/** An order of either type: its states and its id. Source: `docs/field-notes.md` Spec Order, Orders §1.3, §3.2. */

import { PuenteError } from '../error.ts';
import { withdrawnMinor } from './money.ts';
import { recordPayment } from './payments.ts';
import type { Method, Order, OrderStatus, Payment } from './records.ts';
import { announceOrder } from './webhooks.ts';
import type { World } from './world.ts';

// The states of an order change only here. `move` also frees the terminal or the till, stamps the order and notifies.

/** `docs/field-notes.md` Orders §3.2; `action_required` moves on only if the setting says so. */
const transitions: Readonly<Record<'point' | 'qr', Partial<Record<OrderStatus, readonly OrderStatus[]>>>> = {
  point: {
    created: ['at_terminal', 'canceled', 'expired'],
    at_terminal: ['processed', 'failed', 'canceled', 'action_required', 'expired'],
    processed: ['refunded'],
  },
  qr: { created: ['processed', 'canceled', 'expired'], processed: ['refunded'] },
};

const afterActionRequired: readonly OrderStatus[] = ['processed', 'failed', 'canceled', 'expired'];

/** Whether the status may follow the present one. Source: `transitions` and the setting `action_required`. */
export function mayMove(world: World, order: Order, status: OrderStatus): boolean {
  if (order.status === 'action_required' && world.settings.action_required === 'moves_on') {
    return afterActionRequired.includes(status);
  }
  return (transitions[order.place.type][order.status] ?? []).includes(status);
}

/** Starts the expiry; occupies nothing. The order is now the newest of its reference. */
export function openOrder(world: World, order: Order, lifetime_ms: number): void {
  world.orders.set(order.id, order);
  world.references.set(`${order.merchant_id}/${order.external_reference}`, order);
  world.clock.schedule(lifetime_ms, { kind: 'expire_order', id: order.id });
}

/**
 * The terminal shows the order; upstream sends no event of it. @throws PuenteError refused, when the state excludes it.
 */
export function pickUp(world: World, order: Order): void {
  move(world, order, 'at_terminal', 'at_terminal', 'at_terminal');
}

/** @param paid_minor what the buyer pays, with the tip and without the cash withdrawal. */
export function approve(world: World, order: Order, method: Method, paid_minor: number, tip_minor: number): void {
  const { transaction } = order;
  transaction.tip_minor = tip_minor;
  transaction.paid_minor = paid_minor;
  order.paid_at_ms = world.clock.now();
  pay(world, order, method, 'approved', 'accredited');
  move(world, order, 'processed', world.settings.paid_status_detail, 'accredited');
}

/**
 * Also records a rejected payment when `failed_payment` is `rejected`. @param status_detail undefined: that of the
 * setting. @throws PuenteError refused, when the state excludes it.
 */
export function fail(world: World, order: Order, method: Method, status_detail: string | undefined): void {
  const { settings } = world;
  const detail = status_detail ?? settings.failed_status_detail;
  if (settings.failed_payment === 'rejected') pay(world, order, method, 'rejected', `cc_rejected_${detail}`);
  move(world, order, 'failed', detail, detail);
}

/** @param detail who canceled, for the transaction. @throws PuenteError refused, when the state excludes it. */
export function cancel(world: World, order: Order, detail: 'canceled_by_api' | 'canceled_on_terminal'): void {
  move(world, order, 'canceled', 'canceled', detail);
}

/**
 * The outcome must be read on the terminal (`docs/field-notes.md` Spec States). @throws PuenteError refused, when the
 * state excludes it.
 */
export function requireAction(world: World, order: Order): void {
  move(world, order, 'action_required', 'check_on_terminal', 'check_on_terminal');
}

/** The expiry of a QR order waits while a buyer is paying. */
export function expire(world: World, order: Order): void {
  const { place } = order;
  if (place.type === 'qr' && place.is_locked) place.is_expiry_due = true;
  else {
    const status = place.type === 'point' ? world.settings.point_expiry : 'expired';
    if (mayMove(world, order, status)) move(world, order, status, status, status);
  }
}

/** Changes the states only; the caller moves the money. @throws PuenteError refused, when the state excludes it. */
export function markRefunded(world: World, order: Order): void {
  move(world, order, 'refunded', 'refunded', 'refunded');
}

/** A total refund has failed: the order is as before. */
export function undoRefunded(world: World, order: Order): void {
  const { transaction } = order;
  order.status = 'processed';
  order.status_detail = transaction.refunded_minor > 0 ? 'partially_refunded' : world.settings.paid_status_detail;
  transaction.status = 'processed';
  transaction.status_detail = 'accredited';
  touch(world, order);
}

/** Raises the version by which a reader finds the newer of two copies. */
export function touch(world: World, order: Order): void {
  order.updated_at_ms = world.clock.now();
  order.version++;
}

/** A cancel that the API requested keeps that cause. A payment that was approved before it still wins. */
export function confirmCancel(world: World, order: Order): void {
  const requested = order.transaction.status_detail === 'cancellation_requested';
  cancel(world, order, requested ? 'canceled_by_api' : 'canceled_on_terminal');
}

function move(world: World, order: Order, status: OrderStatus, detail: string, transaction_detail: string): void {
  if (!mayMove(world, order, status)) {
    throw new PuenteError('refused', `Order ${order.id} is ${order.status} and can't become ${status}.`);
  }
  order.status = status;
  order.status_detail = detail;
  order.transaction.status = status;
  order.transaction.status_detail = transaction_detail;
  touch(world, order);
  const is_terminal =
    status !== 'at_terminal' && (status !== 'action_required' || world.settings.action_required === 'final');
  if (is_terminal) leavePlace(world, order);
  if (status !== 'at_terminal') announceOrder(world, order, `order.${status}`);
}

function leavePlace(world: World, order: Order): void {
  const { place, merchant_id, id } = order;
  if (place.type === 'point') world.release(merchant_id, place.terminal_id, id);
  else {
    place.is_locked = false;
    world.payables.delete(id);
  }
}

/** A QR payment includes the withdrawn cash, and has the amount after a discount. */
function pay(world: World, order: Order, method: Method, status: Payment['status'], status_detail: string): void {
  const { transaction, place, merchant_id, external_reference, description = null } = order;
  const terminal = place.type === 'point' ? world.terminal(merchant_id, place.terminal_id) : undefined;
  const paid_minor = place.type === 'qr' ? transaction.paid_minor : null;
  const payment = recordPayment(
    world,
    {
      merchant_id,
      status,
      status_detail,
      amount_minor: (paid_minor ?? transaction.amount_minor) + withdrawnMinor(order),
      tip_minor: transaction.tip_minor,
      external_reference,
      description,
      origin: { kind: 'order', id: order.id },
    },
    method,
    place.type === 'qr' ? world.points_of_sale.get(place.pos_id) : terminal && world.posOf(terminal),
  );
  transaction.reference_id = payment.id;
  transaction.payment_method = method;
}

const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const TIME_LETTERS = 10;
const RANDOM_LETTERS = 16;

/** A ULID: 10 letters of time, equal for ids made together, and 16 random ones. */
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

/** `ORD` and 26 characters; `ORDTST` for test credentials (setting `order_ids`, `docs/field-notes.md` Orders §1.4). */
export function isOrderId(text: string, { order_ids, order_id_letters }: World['settings']): boolean {
  const [, suffix = ''] = (order_ids === 'ORD' ? /^ORD(.*)$/ : /^ORD(?:TST)?(.*)$/).exec(text) ?? [];
  return (order_id_letters === 'alphanumeric' ? /^[0-9A-Za-z]{26}$/ : /^[0-9A-HJKMNP-TV-Z]{26}$/).test(suffix);
}
