/** Is a create a new sale, a retry of one, or in the way of one? Pure (`reliability.md` §3.9, `legacy-point.md` finding 11). */
import type { Link } from './link.ts';
import type { Opening } from './store.ts';

/**
 * Judges a new create against the live link of its unit; there is at most one.
 * A link whose order is final holds no unit and is never joined: two identical coffees in a row are two sales.
 * @param join_window_ms how long an acknowledged create without a client key may still be a lost answer's retry.
 * @param age_ms how long ago the holder was created.
 */
export function judgeOpening(holder: Link | null, candidate: Link, join_window_ms: number, age_ms: number): Opening {
  if (holder === null) return { kind: 'open' };
  return { kind: isRetry(holder, candidate, age_ms < join_window_ms) ? 'join' : 'busy' };
}

function isRetry(holder: Link, candidate: Link, is_recent: boolean): boolean {
  if (holder.fingerprint !== candidate.fingerprint) return false;
  const keyed = holder.client_key !== null && candidate.client_key !== null;
  // Nothing is in the way of a dynamic code: two keys are two sales, and a lost code that nobody shows is never paid.
  if (candidate.slot === null && keyed && holder.client_key !== candidate.client_key) return false;
  const acknowledged = holder.state === 'LIVE' && holder.client_answer === 'maybe';
  if (!acknowledged) return true;
  // A key the client sends with every call is not one per sale; with the same body on a live unit it is a retry.
  if (holder.client_key !== null || candidate.client_key !== null) return holder.client_key === candidate.client_key;
  return is_recent;
}
