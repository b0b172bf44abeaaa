/** The legacy state machine: what a person at the terminal, a cancel and the clock do to an intent. Source: `legacy-point.md` §2. */
import { finalIntentStates, type IntentState } from '../../contract/legacy-point.ts';
import { PuenteError } from '../../error.ts';
import type { Merchant, Terminal, TerminalAction, TerminalOptions } from '../cast.ts';
import type { Timer } from '../clock.ts';
import type { World } from '../world.ts';

export interface Step {
  state: IntentState;
  /** Virtual time, epoch milliseconds. */
  at_ms: number;
}

/** What is queued on a terminal: a payment intent or a refund intent. */
export interface TerminalWork {
  /** Lower-case UUID. */
  id: string;
  merchant: Merchant;
  terminal: Terminal;
  /** From OPEN to the current state, oldest first; never empty. */
  history: [Step, ...Step[]];
  expiry: Timer | null;
}

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

/** @returns false, and does nothing, unless the work is OPEN: later it can only be canceled on the terminal (`legacy-point.md` §1.5). */
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
