/** Is a create a new sale, a retry of one, or in the way of one? Pure (`reliability.md` §3.9, `legacy-point.md` finding 11). */
import { type Link, liveLinkStates } from './link.ts';
import type { Opening } from './store.ts';

/**
 * Judges a new create against the links that could be the same sale or hold its unit, newest first.
 * A link whose order is final is never joined: two identical coffees in a row are two sales.
 * @param join_window_ms how long an acknowledged create without a client key may still be a lost answer's retry.
 */
export function judgeOpening(rivals: Link[], candidate: Link, join_window_ms: number): Opening {
  for (const rival of rivals) {
    if (!liveLinkStates.includes(rival.state)) continue;
    const kind = isRetry(rival, candidate, join_window_ms) ? 'join' : 'busy';
    return { kind, legacy_id: rival.legacy_id };
  }
  return { kind: 'open' };
}

function isRetry(rival: Link, candidate: Link, join_window_ms: number): boolean {
  if (rival.fingerprint !== candidate.fingerprint) return false;
  const acknowledged = rival.state === 'LIVE' && rival.client_answer === 'maybe';
  if (!acknowledged) return true;
  // A key the client sends with every call is not one per sale; with the same body on a live unit it is a retry.
  if (rival.client_key !== null || candidate.client_key !== null) return rival.client_key === candidate.client_key;
  return candidate.created_at - rival.created_at < join_window_ms;
}
