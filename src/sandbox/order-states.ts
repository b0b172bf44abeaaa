/** The states of an order, and the only place where they change: each change frees the terminal, stamps the order and announces it. */
import { PuenteError } from '../error.ts';
import type { Occupation, TerminalAction, TerminalOptions } from './cast.ts';
import type { Order, OrderStatus } from './order.ts';
import type { Payment, World } from './world.ts';

/** What the order stories work with. */
export interface Desk {
  world: World;
  /** Sends the webhook of a change, if that change has one. */
  announce(order: Order, action: string): void;
}

/** Transitions of `orders-api.md` §3.2; `action_required` moves on only if the setting says so. */
const transitions: Readonly<Record<OrderStatus, readonly OrderStatus[]>> = {
  created: ['at_terminal', 'canceled', 'expired'],
  at_terminal: ['processed', 'failed', 'canceled', 'action_required', 'expired'],
  action_required: [],
  processed: ['refunded'],
  failed: [],
  canceled: [],
  expired: [],
  refunded: [],
};

const afterActionRequired: readonly OrderStatus[] = ['processed', 'failed', 'canceled', 'expired'];

export function mayMove(world: World, order: Order, status: OrderStatus): boolean {
  if (order.status === 'action_required' && world.settings.action_required === 'moves_on') {
    return afterActionRequired.includes(status);
  }
  return transitions[order.status].includes(status);
}

/** A new order takes its terminal and starts its expiry. The caller has checked that the terminal is free. */
export function queueOrder(desk: Desk, order: Order, lifetime_ms: number): void {
  const { world } = desk;
  const terminal = world.terminal(order.merchant.user_id, order.terminal_id);
  if (terminal === undefined) throw new PuenteError('not_found', `Terminal ${order.terminal_id} is unknown.`);
  world.occupy(terminal, occupationOf(desk, order));
  world.orders.set(order.id, order);
  order.timers.push(world.clock.schedule(lifetime_ms, () => expire(desk, order)));
}

export function pickUp(desk: Desk, order: Order): void {
  move(desk, order, 'at_terminal', 'at_terminal', 'at_terminal');
}

export function approve(desk: Desk, order: Order, options: TerminalOptions): void {
  const { transaction } = order;
  transaction.tip_minor = options.tip_minor ?? 0;
  transaction.paid_minor = transaction.amount_minor + transaction.tip_minor;
  order.paid_at_ms = desk.world.clock.now();
  recordPayment(desk.world, order, options, 'approved', 'accredited');
  move(desk, order, 'processed', desk.world.settings.paid_status_detail, 'accredited');
}

export function fail(desk: Desk, order: Order, options: TerminalOptions): void {
  const { settings } = desk.world;
  const detail = options.status_detail ?? settings.failed_status_detail;
  if (settings.failed_payment === 'rejected')
    recordPayment(desk.world, order, options, 'rejected', `cc_rejected_${detail}`);
  move(desk, order, 'failed', detail, detail);
}

/** @param detail how the transaction shows who canceled: `canceled_by_api` or `canceled_on_terminal`. */
export function cancel(desk: Desk, order: Order, detail: 'canceled_by_api' | 'canceled_on_terminal'): void {
  move(desk, order, 'canceled', 'canceled', detail);
}

export function requireAction(desk: Desk, order: Order): void {
  move(desk, order, 'action_required', 'check_on_terminal', 'check_on_terminal');
}

export function expire(desk: Desk, order: Order): void {
  if (mayMove(desk.world, order, 'expired')) move(desk, order, 'expired', 'expired', 'expired');
}

/** The order has nothing left to refund. */
export function markRefunded(desk: Desk, order: Order): void {
  move(desk, order, 'refunded', 'refunded', 'refunded');
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
  if (over) leaveTerminal(world, order);
  if (status !== 'at_terminal') desk.announce(order, `order.${status}`);
}

function leaveTerminal(world: World, order: Order): void {
  for (const timer of order.timers) timer.cancel();
  order.timers.length = 0;
  const terminal = world.terminal(order.merchant.user_id, order.terminal_id);
  if (terminal !== undefined) world.release(terminal, order.id);
}

/** The person at the terminal, acting on an order. */
function occupationOf(desk: Desk, order: Order): Occupation {
  return {
    kind: 'order',
    id: order.id,
    operate(action, options) {
      const mode = desk.world.terminal(order.merchant.user_id, order.terminal_id)?.operating_mode;
      if (mode !== 'PDV')
        throw new PuenteError('refused', `Terminal ${order.terminal_id} is not in PDV mode; it sees no orders.`);
      if (order.status === 'created') pickUp(desk, order);
      else if (action === 'pick_up')
        throw new PuenteError('refused', `Order ${order.id} is ${order.status}, so it can't be picked up.`);
      outcomes[action](desk, order, options);
    },
  };
}

const outcomes: Readonly<Record<TerminalAction, (desk: Desk, order: Order, options: TerminalOptions) => void>> = {
  pick_up: () => {}, // done by then
  process: () => {}, // the orders API shows nothing between at_terminal and the outcome
  pay: approve,
  decline: fail,
  cancel: confirmCancel,
  confirm_needed: requireAction,
  error: (desk, order, options) => fail(desk, order, { status_detail: 'processing_error', ...options }),
};

function recordPayment(
  world: World,
  order: Order,
  options: TerminalOptions,
  status: Payment['status'],
  status_detail: string,
): void {
  const type = options.payment_method_type ?? preferredType(order);
  const method = {
    type,
    id: options.payment_method_id ?? (type === 'debit_card' ? 'debmaster' : type === 'credit_card' ? 'master' : type),
    installments: options.installments ?? 1,
  };
  const now_ms = world.clock.now();
  const payment: Payment = {
    id: world.nextPaymentId(),
    merchant_id: order.merchant.user_id,
    status,
    status_detail,
    amount_minor: order.transaction.amount_minor,
    tip_minor: order.transaction.tip_minor,
    refunded_minor: 0,
    external_reference: order.external_reference,
    description: order.description ?? null,
    payment_type_id: method.type,
    payment_method_id: method.id,
    installments: method.installments,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    origin: { kind: 'order', id: order.id },
  };
  world.payments.set(payment.id, payment);
  order.transaction.reference_id = payment.id;
  order.transaction.payment_method = method;
}

function preferredType(order: Order): string {
  const wanted = order.payment_method?.default_type;
  return typeof wanted === 'string' ? wanted : 'credit_card';
}
