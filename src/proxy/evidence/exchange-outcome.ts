/** How a call came out (the words of `Outcome`): one pure rule for sums, verdicts and the safety stop. */
import type { Outcome, UpstreamNote } from './exchange.ts';

/** The till went away before it was told anything, which no HTTP answer says; the number that proxies log for it. */
export const TILL_LEFT = 499;

/** Calls that ask whose a token is: what they say of it is told to the till by the status it gets. */
const ASKING_WHOSE: readonly string[] = ['users_me'];

/**
 * The outcome of a call. @param status what the till was told. @param upstream the calls that were made for it, in order.
 * @param by_doubt the refusal comes from a create of ours that is in doubt, which is part of the fault that left it so.
 *
 * A carried answer that broke off is a fault, whatever it began with. A till that stopped waiting is a fault, because somebody was too slow for it. The service's rate limit (429) is neither
 * a mistake of the till nor a fault: it is told as what it is, goes by itself, and must never move a merchant, so it counts
 * as business. A refusal (4xx) that only stands in for an upstream call which failed counts as the failure.
 */
export function outcomeOf(status: number, upstream: readonly UpstreamNote[], by_doubt = false): Outcome {
  if (upstream.some((note) => note.name === 'legacy' && note.status === null)) return 'fault';
  if (status < 400) return 'ok';
  if (status === 401 || status === 403) return 'auth';
  if (status >= 500 || status === TILL_LEFT) return 'fault';
  if (status === 429) return 'business';
  if (by_doubt) return 'fault';
  const last = upstream.findLast((note) => !ASKING_WHOSE.includes(note.name));
  return last !== undefined && (last.status === null || last.status >= 500) ? 'fault' : 'business';
}
