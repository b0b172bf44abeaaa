/** When a notice is sent again: the schedule of the legacy contract as a pure function. */
import type { Attempt, Notice } from '../records/notices.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Pauses after attempt 1, 2, …: three of 15 min, growing; the last repeats (`docs/architecture.md` Decision 8). */
const PAUSES_MS: readonly number[] = [
  15 * MINUTE_MS,
  15 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  1 * HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
  8 * HOUR_MS,
  12 * HOUR_MS,
];
const LAST_PAUSE_MS = 24 * HOUR_MS;
/** A notice that Puente holds. One held by settings waits a tenth of its age: those of a merchant without a receiver stay for ever. */
const OWN_PAUSE_MS = 15 * MINUTE_MS;
const PART_OF_AGE = 10;
/** Largest part added to a pause, never subtracted: spreads notices that became due together, e.g. after an outage. */
const JITTER = 0.1;
/** Limits a receiver's `Retry-After`, in multiples of the pause. */
const RETRY_AFTER_FACTOR = 2;

export interface AfterAttempt {
  outcome: Attempt['outcome'];
  /** `ours`, and so until an operator changes a setting; false of a fault of this machine. */
  is_by_settings: boolean;
  /** Attempts that count, this one included. */
  attempts: number;
  /** Epoch ms. */
  created_at: number;
  /** Epoch ms, when the attempt ended. */
  now: number;
  retry_after_ms: number | null;
  /** Age in ms from which a refused notice is given up; null: never. */
  horizon_ms: number | null;
  /** From 0 up to, not including, 1. */
  random: number;
}

/**
 * A notice that Puente holds (`ours`) is never given up; a change of its merchant's URL, secret or dialect makes it due
 * at once. One that the receiver refused follows the schedule, and is `dead` only once it is older than the horizon.
 * Source: `docs/architecture.md` Decision 8, `docs/protocol.md` §3.13.
 */
export function afterNoticeAttempt(after: AfterAttempt): { state: Notice['state']; next_attempt_at: number } {
  if (after.outcome === 'delivered') return { state: 'delivered', next_attempt_at: after.now };
  if (after.outcome === 'ours') {
    const part_ms = after.is_by_settings ? (after.now - after.created_at) / PART_OF_AGE : 0;
    const pause_ms = Math.min(Math.max(OWN_PAUSE_MS, part_ms), LAST_PAUSE_MS);
    return { state: 'pending', next_attempt_at: after.now + jittered(pause_ms, after.random) };
  }
  if (after.horizon_ms !== null && after.now - after.created_at >= after.horizon_ms) {
    return { state: 'dead', next_attempt_at: after.now };
  }
  const pause_ms = noticePause_ms(after.attempts);
  const requested_ms = Math.min(after.retry_after_ms ?? 0, RETRY_AFTER_FACTOR * pause_ms);
  return { state: 'pending', next_attempt_at: after.now + Math.max(jittered(pause_ms, after.random), requested_ms) };
}

/** Ms after the n-th attempt, counted from 1, without jitter. */
export function noticePause_ms(attempts: number): number {
  return PAUSES_MS[Math.max(1, attempts) - 1] ?? LAST_PAUSE_MS;
}

/** Longest waits after attempt 1, 2, 3 … in ms, `Retry-After` included; the last one repeats. */
export function longestNoticeWaits_ms(): number[] {
  return [...PAUSES_MS, LAST_PAUSE_MS].map((pause_ms) => RETRY_AFTER_FACTOR * pause_ms);
}

function jittered(pause_ms: number, random: number): number {
  return Math.round(pause_ms * (1 + JITTER * random));
}
