/** Steps of a sale on orders beside its calls: states, events, notices with their attempts, decisions. */
import type { Attempt, AuditLine, InboxEvent, LoggedNotice } from '../store.ts';
import type { Step } from './order.ts';

export interface NoticeWithAttempts {
  notice: LoggedNotice;
  attempts: Attempt[];
}

/** SENDING is written before a byte leaves; every other state is what came of something. */
export function stepOfState(seen: {
  at: number;
  state: string;
  legacy_state: string;
  order_status: string | null;
}): Step {
  const { at, state, legacy_state, order_status } = seen;
  const order = order_status === null ? '' : `, the order is ${order_status}`;
  const rank = state === 'SENDING' ? 'written' : 'moved';
  return { at, rank, kind: 'state', what: `${state}${order}; the till sees ${legacy_state}`, id: null };
}

export function stepOfEvent({ sequence, received_at, action, verified, state }: InboxEvent): Step {
  const signed = verified ? 'signed' : 'unsigned, taken as a hint';
  return {
    at: received_at,
    rank: 'told',
    kind: 'event',
    what: `The service told ${action} (${signed}); ${state}`,
    id: String(sequence),
  };
}

/**
 * A notice is made while its state is being decided, and committed with it.
 * @param state_times when the link's states were written, ascending.
 */
export function stepsOfNotice({ notice, attempts }: NoticeWithAttempts, state_times: readonly number[]): Step[] {
  const { id, topic, form, created_at, state } = notice;
  const first_attempt = attempts[0]?.at ?? Number.POSITIVE_INFINITY;
  const committed_at = state_times.find((at) => at >= created_at && at <= created_at + LONGEST_COMMIT_MS) ?? created_at;
  const made: Step = {
    at: Math.min(committed_at, first_attempt),
    rank: 'noticed',
    kind: 'notice',
    what: `A ${topic} notice${form === topic ? '' : ` (${form})`} was committed; it is ${state}`,
    id,
  };
  const tried = attempts.map(
    ({ at, outcome, detail }): Step => ({
      at,
      rank: 'delivered',
      kind: 'notice',
      what: `${attemptWords[outcome]}: ${detail}`,
      id,
    }),
  );
  return [made, ...tried];
}
/** The store gives a commit up after less. */
const LONGEST_COMMIT_MS = 10_000;

const attemptWords: Record<Attempt['outcome'], string> = {
  delivered: 'Delivered',
  theirs: 'Not delivered, the receiver failed',
  ours: 'Not delivered, by our own doing',
};

export function stepOfDecision({ at, who, action, reason, sequence }: AuditLine): Step {
  return { at, rank: 'decided', kind: 'decision', what: `${who}: ${action}, ${reason}`, id: String(sequence) };
}
