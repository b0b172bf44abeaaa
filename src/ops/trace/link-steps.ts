/** Steps of a sale on orders beside its calls: states, events, notices with their attempts, decisions. */

import { heard, say } from '../../locales/sentences.ts';
import type { Attempt, LoggedNotice } from '../../proxy/records/notices.ts';
import type { AuditLine, InboxEvent } from '../../proxy/store.ts';
import { BY_ITSELF } from '../api/person.ts';
import { type Step, told } from './order.ts';

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
  const rank = state === 'SENDING' ? 'written' : 'moved';
  return { at, rank, kind: 'state', ...told(say('step.state', { state, order_status, legacy_state })), id: null };
}

export function stepOfEvent({ sequence, received_at, action, verified, state }: InboxEvent): Step {
  return {
    at: received_at,
    rank: 'told',
    kind: 'event',
    ...told(say('step.event', { action, verified, state })),
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
    ...told(say('step.notice', { topic, form: form === topic ? null : form, state })),
    id,
  };
  const tried = attempts.map(
    ({ at, outcome, detail }): Step => ({
      at,
      rank: 'delivered',
      kind: 'notice',
      ...told(say(attemptCodes[outcome], { why: heard(detail) })),
      id,
    }),
  );
  return [made, ...tried];
}
/** The store gives a commit up after less. */
const LONGEST_COMMIT_MS = 10_000;

const attemptCodes = {
  delivered: 'step.delivered',
  theirs: 'step.not_delivered_theirs',
  ours: 'step.not_delivered_ours',
} as const;

export function stepOfDecision({ at, who, action, reason, sequence }: AuditLine): Step {
  const why = who === BY_ITSELF ? heard(reason) : reason;
  return {
    at,
    rank: 'decided',
    kind: 'decision',
    ...told(say('step.decided', { who, action, why })),
    id: String(sequence),
  };
}
