/** The legacy state machine: what a person at the terminal, a cancel and the clock do to an intent. Source: `docs/field-notes.md` Point §2. */

import { randomUUID } from 'node:crypto';
import {
  createRefundIntentBody,
  finalIntentStates,
  type IntentState,
  type LegacyError,
  pointErrors,
} from '../../contract/legacy-point.ts';
import { PuenteError } from '../../error.ts';
import type { TerminalAction, TerminalOptions } from '../cast.ts';
import type { Payment } from '../records.ts';
import type { World } from '../world.ts';
import { deviceOf, type Handler, isObject, jsonObject, type LegacyCall, refusal } from './call.ts';
import { announce } from './notices.ts';
import type { LegacyState, PaymentIntent, RefundIntent, Step, TerminalWork } from './state.ts';

/** One action: the last state in which it can be taken, the states it passes through, and the final state it ends in. */
export interface Move {
  latest: IntentState;
  through: IntentState;
  end: IntentState | null;
}

/** How one kind of work behaves; `null` where the kind does not know an action. */
export interface WorkKind {
  moves: Readonly<Record<TerminalAction, Move | null>>;
  /** Runs before the final state is written, so that whoever sees that state finds its payment. */
  effect(action: TerminalAction, options: TerminalOptions): void;
  /** Runs once, after the final state is written and the terminal is free. */
  ended(state: IntentState): void;
}

/** The way of every intent, until it leaves for a final state. */
const path: readonly IntentState[] = ['OPEN', 'ON_TERMINAL', 'PROCESSING', 'PROCESSED'];

/**
 * Queues the work on its terminal in state OPEN and starts its lifetime.
 * @param lifetime_ms virtual time after which it is ABANDONED, unless a payment is being processed by then.
 * @throws PuenteError conflict, when something is queued on the terminal.
 */
export function queueWork(world: World, work: TerminalWork, kind: WorkKind, lifetime_ms: number): void {
  world.occupy(work.terminal, {
    kind: 'intent',
    id: work.id,
    operate: (action, options) => operate(world, work, kind, action, options),
  });
  work.expiry = world.clock.schedule(lifetime_ms, () => {
    // Once a card is being processed its outcome comes; an abandoned sale must not be paid afterwards.
    if (stateOf(work) === 'OPEN' || stateOf(work) === 'ON_TERMINAL') end(world, work, kind, 'ABANDONED');
  });
}

/** @returns false, and does nothing, unless the work is OPEN: later it can only be canceled on the terminal (`docs/field-notes.md` Point §1.5). */
export function cancelOpen(world: World, work: TerminalWork, kind: WorkKind): boolean {
  if (stateOf(work) !== 'OPEN') return false;
  end(world, work, kind, 'CANCELED');
  return true;
}

export function stateOf(work: TerminalWork): IntentState {
  return lastStep(work).state;
}

/** The current state with the time it was reached. */
export function lastStep(work: TerminalWork): Step {
  return work.history.at(-1) ?? work.history[0];
}

export function isFinal(state: IntentState): boolean {
  return finalIntentStates.includes(state);
}

function operate(
  world: World,
  work: TerminalWork,
  kind: WorkKind,
  action: TerminalAction,
  options: TerminalOptions,
): void {
  if (work.terminal.operating_mode !== 'PDV') {
    throw new PuenteError('refused', `Terminal ${work.terminal.id} is not in PDV mode; it sees no intents.`);
  }
  const move = kind.moves[action];
  const position = path.indexOf(stateOf(work));
  if (move === null || position === -1 || position > path.indexOf(move.latest)) {
    throw new PuenteError('refused', `Intent ${work.id} is ${stateOf(work)}; the action ${action} is not possible.`);
  }
  for (const state of path.slice(position + 1, path.indexOf(move.through) + 1)) reach(world, work, state);
  kind.effect(action, options);
  if (move.end !== null) end(world, work, kind, move.end);
}

function end(world: World, work: TerminalWork, kind: WorkKind, state: IntentState): void {
  reach(world, work, state);
  work.expiry?.cancel();
  work.expiry = null;
  world.release(work.terminal, work.id);
  kind.ended(state);
}

function reach(world: World, work: TerminalWork, state: IntentState): void {
  work.history.push({ state, at_ms: world.clock.now() });
}

// What the actions at the terminal mean for a payment intent: the payment that is made, and the notice that is told.

/** A declined card ends in FINISHED too, with a rejected payment (`docs/field-notes.md` Point finding 1). */
const moves: Readonly<Record<TerminalAction, Move>> = {
  pick_up: { latest: 'OPEN', through: 'ON_TERMINAL', end: null },
  process: { latest: 'ON_TERMINAL', through: 'PROCESSING', end: null },
  pay: { latest: 'PROCESSING', through: 'PROCESSED', end: 'FINISHED' },
  decline: { latest: 'PROCESSING', through: 'PROCESSED', end: 'FINISHED' },
  cancel: { latest: 'ON_TERMINAL', through: 'ON_TERMINAL', end: 'CANCELED' },
  confirm_needed: { latest: 'PROCESSING', through: 'PROCESSING', end: 'CONFIRMATION_REQUIRED' },
  error: { latest: 'PROCESSING', through: 'ON_TERMINAL', end: 'ERROR' },
};

export function paymentKind(world: World, state: LegacyState, intent: PaymentIntent): WorkKind {
  return {
    moves,
    effect(action, options) {
      if (action === 'pay') record(world, intent, options, 'approved', 'accredited');
      if (action === 'decline') {
        const detail = options.status_detail ?? world.settings.failed_status_detail;
        record(world, intent, options, 'rejected', `cc_rejected_${detail}`);
      }
      // The number is all that is told of it: its outcome must be read on the terminal (`docs/field-notes.md` Point §2).
      if (action === 'confirm_needed') intent.payment_id = world.nextPaymentId();
    },
    ended(final) {
      if (intent.create_key !== null) state.keyed_creates.delete(intent.create_key);
      announce(world, state, intent, final);
    },
  };
}

function record(
  world: World,
  intent: PaymentIntent,
  options: TerminalOptions,
  status: Payment['status'],
  status_detail: string,
): void {
  const type = options.payment_method_type ?? intent.preference?.type ?? 'credit_card';
  const reference = isObject(intent.additional_info) ? intent.additional_info.external_reference : undefined;
  const now_ms = world.clock.now();
  const payment: Payment = {
    id: world.nextPaymentId(),
    merchant_id: intent.merchant.user_id,
    status,
    status_detail,
    amount_minor: intent.amount_minor,
    tip_minor: options.tip_minor ?? 0,
    refunded_minor: 0,
    external_reference: typeof reference === 'string' ? reference : null,
    description: intent.description ?? null,
    payment_type_id: type,
    payment_method_id: options.payment_method_id ?? usualMethods[type] ?? intent.preference?.voucher_type ?? type,
    installments: options.installments ?? intent.preference?.installments ?? 1,
    created_at_ms: now_ms,
    updated_at_ms: now_ms,
    refunds: [],
    pos: intent.terminal.pos,
    origin: { kind: 'intent', id: intent.id },
    merchant_order_id: null,
  };
  world.payments.set(payment.id, payment);
  world.paymentChanged(payment);
  intent.payment_id = payment.id;
  intent.paid = payment;
}

/** The card that is used when the person at the terminal names none. */
const usualMethods: Readonly<Record<string, string>> = { credit_card: 'master', debit_card: 'debmaster' };

// Refund intents, which run on the terminal that took the payment. Source: `docs/field-notes.md` Point §1.8.

/** Documented nowhere; said as for a payment intent. */
const refundNotFound: LegacyError = { status: 404, error: '404', message: "Refund intent doesn't exist" };

/** `POST …/devices/{device}/refund`. */
export const createRefund: Handler = (call) => {
  const request = readRefund(call.body);
  const terminal = deviceOf(call, pointErrors.device_not_found);
  const payment = call.world.payments.get(Number(request.payment_id));
  if (payment === undefined || !refundableOn(call, payment, terminal.id)) throw refusal(pointErrors.payment_not_found);
  if (terminal.occupation !== null) throw refusal(pointErrors.queued_intent);
  const refund: RefundIntent = {
    id: randomUUID(),
    merchant: call.merchant,
    terminal,
    history: [{ state: 'OPEN', at_ms: call.world.clock.now() }],
    expiry: null,
    payment,
    payment_id: request.payment_id,
    additional_info: request.additional_info,
  };
  call.state.refunds.set(refund.id, refund);
  queueWork(call.world, refund, refundKind(call.world, refund), call.world.settings.legacy_expiry_ms);
  const { id, payment_id, additional_info } = refund;
  return { status: 200, body: { id, device_id: terminal.id, payment_id, additional_info } };
};

/** `GET …/refund/{id}`. */
export const getRefund: Handler = (call) => {
  const refund = refundOf(call, refundNotFound);
  const { id, terminal, payment_id, additional_info } = refund;
  return { status: 200, body: { id, state: stateOf(refund), device_id: terminal.id, payment_id, additional_info } };
};

/** `DELETE …/devices/{device}/refund/{id}`: refused as a payment intent's cancel is, since no other list is documented. */
export const cancelRefund: Handler = (call) => {
  const refund = refundOf(call, pointErrors.intent_not_cancelable);
  const canceled = stateOf(refund) === 'CANCELED';
  if (canceled || refund.terminal.id !== call.path('device')) throw refusal(pointErrors.intent_not_cancelable);
  if (!cancelOpen(call.world, refund, refundKind(call.world, refund))) throw refusal(pointErrors.cancel_blocked);
  return { status: 200, body: { id: refund.id } };
};

function readRefund(bytes: Uint8Array): { payment_id: string | number; additional_info: unknown } {
  const body = jsonObject(bytes);
  if (body.payment_id === undefined) throw refusal(pointErrors.missing_property, 'payment_id');
  const parsed = createRefundIntentBody.safeParse(body);
  if (!parsed.success) throw refusal(pointErrors.invalid_property, parsed.error.issues[0]?.path.join('.') ?? 'body');
  const { payment_id } = parsed.data;
  if (!/^\d{1,15}$/.test(String(payment_id))) throw refusal(pointErrors.invalid_property, 'payment_id');
  return { payment_id, additional_info: body.additional_info };
}

function refundOf(call: LegacyCall, error: LegacyError): RefundIntent {
  const refund = call.state.refunds.get(call.path('refund').toLowerCase());
  if (refund === undefined || refund.merchant.user_id !== call.merchant.user_id) throw refusal(error);
  return refund;
}

/** An approved payment of this merchant that was taken on this device. */
function refundableOn(call: LegacyCall, payment: Payment, device_id: string): boolean {
  if (payment.merchant_id !== call.merchant.user_id || payment.status !== 'approved') return false;
  const { kind, id } = payment.origin;
  const place = kind === 'order' ? call.world.orders.get(id)?.place : undefined;
  const order_terminal = place?.type === 'point' ? place.terminal_id : undefined;
  const taken_on = kind === 'intent' ? call.state.intents.get(id)?.terminal.id : order_terminal;
  return taken_on === device_id;
}

/** Refund intents know no PROCESSED and no CONFIRMATION_REQUIRED, and nothing is documented to announce them. */
function refundKind(world: World, refund: RefundIntent): WorkKind {
  return {
    moves: {
      pick_up: { latest: 'OPEN', through: 'ON_TERMINAL', end: null },
      process: { latest: 'ON_TERMINAL', through: 'PROCESSING', end: null },
      pay: { latest: 'PROCESSING', through: 'PROCESSING', end: 'FINISHED' },
      decline: { latest: 'PROCESSING', through: 'PROCESSING', end: 'ERROR' },
      cancel: { latest: 'ON_TERMINAL', through: 'ON_TERMINAL', end: 'CANCELED' },
      confirm_needed: null,
      error: { latest: 'PROCESSING', through: 'ON_TERMINAL', end: 'ERROR' },
    },
    effect(action) {
      if (action !== 'pay') return;
      const { payment } = refund;
      const now_ms = world.clock.now();
      const amount_minor = payment.amount_minor + payment.tip_minor - payment.refunded_minor;
      payment.refunds.push({ id: world.nextRefundId(), amount_minor, status: 'approved', created_at_ms: now_ms });
      payment.status = 'refunded';
      payment.status_detail = 'refunded';
      payment.refunded_minor += amount_minor;
      payment.updated_at_ms = now_ms;
      world.paymentChanged(payment);
    },
    ended: () => {},
  };
}
