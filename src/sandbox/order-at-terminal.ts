/** A Point order on its terminal: the queue of one, and the person who acts there. */
import { PuenteError } from '../error.ts';
import type { Occupation, TerminalAction, TerminalOptions } from './cast.ts';
import type { AtTerminal, Order } from './order.ts';
import { approve, confirmCancel, type Desk, fail, methodOf, openOrder, pickUp, requireAction } from './order-states.ts';

/** A new order takes its terminal and starts its expiry. The caller has checked that the terminal is free. */
export function queueOrder(desk: Desk, order: Order, place: AtTerminal, lifetime_ms: number): void {
  const { world } = desk;
  const terminal = world.terminal(order.merchant.user_id, place.terminal_id);
  if (terminal === undefined) throw new PuenteError('not_found', `Terminal ${place.terminal_id} is unknown.`);
  world.occupy(terminal, occupationOf(desk, order, place));
  openOrder(desk, order, lifetime_ms);
}

/** The terminal approves: the tip comes on top. */
export function approveAtTerminal(desk: Desk, order: Order, options: TerminalOptions): void {
  const tip_minor = options.tip_minor ?? 0;
  const paid_minor = order.transaction.amount_minor + tip_minor;
  approve(desk, order, methodOf(options, preferredType(order)), paid_minor, tip_minor);
}

export function failAtTerminal(desk: Desk, order: Order, options: TerminalOptions): void {
  fail(desk, order, methodOf(options, preferredType(order)), options.status_detail);
}

/** The person at the terminal, acting on an order. */
function occupationOf(desk: Desk, order: Order, place: AtTerminal): Occupation {
  return {
    kind: 'order',
    id: order.id,
    operate(action, options) {
      const mode = desk.world.terminal(order.merchant.user_id, place.terminal_id)?.operating_mode;
      if (mode !== 'PDV')
        throw new PuenteError('refused', `Terminal ${place.terminal_id} is not in PDV mode; it sees no orders.`);
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
  pay: approveAtTerminal,
  decline: failAtTerminal,
  cancel: confirmCancel,
  confirm_needed: requireAction,
  error: (desk, order, options) => failAtTerminal(desk, order, { status_detail: 'processing_error', ...options }),
};

function preferredType(order: Order): string {
  const wanted = order.payment_method?.default_type;
  return typeof wanted === 'string' ? wanted : 'credit_card';
}
