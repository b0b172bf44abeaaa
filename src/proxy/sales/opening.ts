/** Is a create a new sale, a retry of one, or in the way of one? Pure (`reliability.md` §3.9, `legacy-point.md` finding 11). */

import type { Met } from '../store.ts';
import { type Link, wasCanceledByUs } from './link.ts';

/** What the judgement needs of time. */
export interface RetryWindows {
  /** How long an acknowledged create may be repeated without a client key, ms. */
  join_window_ms: number;
  /** How long after its order's own end an unacknowledged create may be repeated, ms. */
  replay_window_ms: number;
  /** How long ago a link was created, ms. */
  age_ms(link: Link): number;
  /** How long the order of a link could be paid, ms: no difference of two clocks. */
  lifetime_ms(link: Link): number;
  /** How long ago its till was first answered a 2xx, ms. */
  acknowledged_ms(link: Link): number;
}

/**
 * The sale that a create repeats, in whatever state it is, paid included; null for a new sale. What decides is whether its till has
 * shown that it knows the sale: two identical coffees in a row are two sales, because the first one was read, or a notice about its
 * end was acknowledged.
 */
export function retriedSale({ unheard }: Met, candidate: Link, windows: RetryWindows): Link | null {
  if (unheard === null || wasCanceledByUs(unheard)) return null;
  return isRetry(unheard, candidate, windows) ? unheard : null;
}

/**
 * The receiver of notices and the till are two programs: while a client library waits for an answer that was lost, and repeats the
 * create by itself with its key, the receiver may acknowledge the payment. The official one repeats after 1 s, three times
 * (`legacy-point.md`, published clients). Later, or without a key, nobody can tell a repetition from the next equal sale.
 */
export const CLIENT_PATIENCE_MS = 15_000;

function isRetry(sale: Link, candidate: Link, windows: RetryWindows): boolean {
  const has_same_key = sale.client_key === candidate.client_key;
  const is_keyed = sale.client_key !== null && candidate.client_key !== null;
  if (sale.heard_by === 'notice') return is_keyed && has_same_key && windows.acknowledged_ms(sale) < CLIENT_PATIENCE_MS;
  const is_live = sale.state !== 'DONE';
  const may_be_repeated = is_live || windows.age_ms(sale) < windows.lifetime_ms(sale) + windows.replay_window_ms;
  if (sale.acknowledged_at === null) {
    // Nobody has seen the code of a dynamic QR, so that it is never paid, and nothing is in the way of another one.
    if (candidate.slot === null && is_keyed && !has_same_key) return false;
    // The till was answered an error that says that the same sale again is safe, whatever key it comes with.
    return may_be_repeated;
  }
  if (!has_same_key) return false;
  return is_keyed ? may_be_repeated : windows.acknowledged_ms(sale) < windows.join_window_ms;
}
