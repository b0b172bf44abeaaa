/** States of legacy intents: actions at the terminal, cancels and expiry. Source: `docs/field-notes.md` Point §2. */

import { isObject } from '../../contract/json.ts';
import { finalIntentStates, type IntentState } from '../../contract/legacy-point.ts';
import { PuenteError } from '../../error.ts';
import type { TerminalAction, TerminalOptions } from '../actions.ts';
import { leftOf, methodOf, recordPayment, refundPayment } from '../payments.ts';
import type { Payment, PaymentIntent, RefundIntent, Step, Terminal, TerminalWork } from '../records.ts';
import { announceIntent } from '../webhooks.ts';
import type { World } from '../world.ts';

/** One action: the last state that allows it, the state that it reaches, and the final state that follows. */
interface Move {
  latest: IntentState;
  through: IntentState;
  end: IntentState | null;
}

/** The states of every intent before a final one. */
const path: readonly IntentState[] = ['OPEN', 'ON_TERMINAL', 'PROCESSING', 'PROCESSED'];

/** A declined card also ends in FINISHED, with a rejected payment (`docs/field-notes.md` Point finding 1). */
const intentMoves: Readonly<Record<TerminalAction, Move | null>> = {
  pick_up: { latest: 'OPEN', through: 'ON_TERMINAL', end: null },
  process: { latest: 'ON_TERMINAL', through: 'PROCESSING', end: null },
  pay: { latest: 'PROCESSING', through: 'PROCESSED', end: 'FINISHED' },
  decline: { latest: 'PROCESSING', through: 'PROCESSED', end: 'FINISHED' },
  cancel: { latest: 'ON_TERMINAL', through: 'ON_TERMINAL', end: 'CANCELED' },
  confirm_needed: { latest: 'PROCESSING', through: 'PROCESSING', end: 'CONFIRMATION_REQUIRED' },
  error: { latest: 'PROCESSING', through: 'ON_TERMINAL', end: 'ERROR' },
};

/** Refund intents have no PROCESSED and no CONFIRMATION_REQUIRED; no notice about them is documented. */
const refundMoves: Readonly<Record<TerminalAction, Move | null>> = {
  ...intentMoves,
  pay: { latest: 'PROCESSING', through: 'PROCESSING', end: 'FINISHED' },
  decline: { latest: 'PROCESSING', through: 'PROCESSING', end: 'ERROR' },
  confirm_needed: null,
};

function isRefund(work: TerminalWork): work is RefundIntent {
  return 'payment' in work;
}

/** An intent or a refund intent of any merchant, by its id. */
export function workOf(world: World, id: string): TerminalWork | undefined {
  return world.intents.get(id) ?? world.refund_intents.get(id);
}

/** Without a card, `lifetime_ms` ends in ABANDONED. @throws PuenteError conflict, when the terminal is occupied. */
export function queueWork(world: World, { id }: TerminalWork, terminal: Terminal, lifetime_ms: number): void {
  world.occupy(terminal, { kind: 'intent', id });
  world.clock.schedule(lifetime_ms, { kind: 'abandon_intent', id });
}

/** Does nothing once a card is in process: an abandoned sale must not be paid afterwards. */
export function abandonWork(world: World, work: TerminalWork): void {
  if (stateOf(work) === 'OPEN' || stateOf(work) === 'ON_TERMINAL') end(world, work, 'ABANDONED');
}

/** @returns false unless OPEN: later only the terminal can cancel (`docs/field-notes.md` Point §1.5). */
export function cancelOpen(world: World, work: TerminalWork): boolean {
  if (stateOf(work) !== 'OPEN') return false;
  end(world, work, 'CANCELED');
  return true;
}

/** The state now, as a call or a notice shows it. */
export function stateOf(work: TerminalWork): IntentState {
  return lastStep(work).state;
}

/** The newest; a history has at least the step of the create. */
export function lastStep({ history }: TerminalWork): Step {
  return history.at(-1) ?? history[0];
}

/** No action of a terminal follows (`docs/field-notes.md` Point §2). */
export function isFinal(state: IntentState): boolean {
  return finalIntentStates.includes(state);
}

/** @throws PuenteError refused, when the state excludes the action. */
export function operateWork(world: World, work: TerminalWork, action: TerminalAction, options: TerminalOptions): void {
  const { id, merchant_id, device_id } = work;
  if (world.terminal(merchant_id, device_id)?.operating_mode !== 'PDV') {
    throw new PuenteError('refused', `Terminal ${device_id} is not in PDV mode; it gets no intents.`);
  }
  const move = (isRefund(work) ? refundMoves : intentMoves)[action];
  const position = path.indexOf(stateOf(work));
  if (move === null || position === -1 || position > path.indexOf(move.latest)) {
    throw new PuenteError('refused', `Intent ${id} is ${stateOf(work)}; the action ${action} is not possible.`);
  }
  for (const state of path.slice(position + 1, path.indexOf(move.through) + 1)) reach(world, work, state);
  // Before the final state, so that a reader of that state finds the payment.
  if (!isRefund(work)) makePayment(world, work, action, options);
  else if (action === 'pay') refundWhole(world, work);
  if (move.end !== null) end(world, work, move.end);
}

function end(world: World, work: TerminalWork, state: IntentState): void {
  reach(world, work, state);
  world.release(work.merchant_id, work.device_id, work.id);
  if (isRefund(work)) return;
  if (work.create_key !== null) world.keyed_intents.delete(work.create_key.name);
  announceIntent(world, work, state);
}

function reach(world: World, work: TerminalWork, state: IntentState): void {
  work.history.push({ state, at_ms: world.clock.now() });
}

function makePayment(world: World, intent: PaymentIntent, action: TerminalAction, options: TerminalOptions): void {
  if (action === 'pay') record(world, intent, options, 'approved', 'accredited');
  if (action === 'decline') {
    const detail = options.status_detail ?? world.settings.failed_status_detail;
    record(world, intent, options, 'rejected', `cc_rejected_${detail}`);
  }
  // Only the number is shown: the outcome must be read on the terminal (`docs/field-notes.md` Point §2).
  if (action === 'confirm_needed') intent.payment_id = world.next('payment');
}

function record(
  world: World,
  intent: PaymentIntent,
  options: TerminalOptions,
  status: Payment['status'],
  status_detail: string,
): void {
  const { id, merchant_id, device_id, amount_minor, description = null, preference, additional_info } = intent;
  const { type = 'credit_card', voucher_type, installments } = preference ?? {};
  const reference = isObject(additional_info) ? additional_info.external_reference : undefined;
  const terminal = world.terminal(merchant_id, device_id);
  const payment = recordPayment(
    world,
    {
      merchant_id,
      status,
      status_detail,
      amount_minor,
      tip_minor: options.tip_minor ?? 0,
      external_reference: typeof reference === 'string' ? reference : null,
      description,
      origin: { kind: 'intent', id },
    },
    methodOf(options, { type, id: voucher_type, installments }),
    terminal && world.posOf(terminal),
  );
  intent.payment_id = payment.id;
}

function refundWhole(world: World, refund: RefundIntent): void {
  const payment = world.payments.get(refund.payment);
  if (payment !== undefined) refundPayment(world, payment, leftOf(payment));
}
