/** The pace of calls that nobody waits for: the backlog of an outage must not crowd out payments (`reliability.md` F31, §3.11.4). */
import type { Clock } from '../runtime.ts';
import type { Upstream, UpstreamOutcome } from './upstream.ts';

const SECOND_MS = 1_000;
/** How long all background calls rest when the service asks for fewer without saying for how long. */
const REST_MS = 1_000;
/** A slot further away than this was given before the clock was set back, and is not waited for. */
const LONGEST_WAIT_MS = 60_000;

export interface PacedUpstream extends Upstream {
  /** True while the service's own limit (429) is respected: nothing more is worth starting. */
  rests(): boolean;
}

/**
 * The same upstream at no more than `per_second` calls, evenly spaced and without a burst, whoever makes them. What is
 * started while it rests is answered as not sent, so that its caller tries later and holds nothing up meanwhile.
 */
export function paceUpstream(upstream: Upstream, per_second: number, clock: Clock): PacedUpstream {
  let free_at = Number.NEGATIVE_INFINITY;
  let rest_until = Number.NEGATIVE_INFINITY;

  /** Takes the next slot; ms until it comes. */
  const nextSlot = (): number => {
    const now = clock.now();
    const slot = free_at - now > LONGEST_WAIT_MS ? now : Math.max(now, free_at);
    free_at = slot + SECOND_MS / per_second;
    return slot - now;
  };
  const rests = (): boolean => {
    const left_ms = rest_until - clock.now();
    return left_ms > 0 && left_ms <= LONGEST_WAIT_MS;
  };
  const heed = (outcome: UpstreamOutcome): void => {
    if (outcome.kind !== 'answered' || outcome.status !== 429) return;
    rest_until = clock.now() + Math.min(outcome.retry_after_ms ?? REST_MS, LONGEST_WAIT_MS);
  };

  return {
    rests,
    async send(call) {
      const wait_ms = nextSlot();
      if (wait_ms > 0) await clock.sleep(wait_ms);
      if (rests()) return { kind: 'not_sent', cause: 'background calls rest' };
      const outcome = await upstream.send(call);
      heed(outcome);
      return outcome;
    },
  };
}
