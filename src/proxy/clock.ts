/** A clock that remembers how far ahead it was read: what was put off by such a reading has to be pulled forward. */
import { setTimeout } from 'node:timers/promises';

export interface Clock {
  /** Wall clock, epoch ms. */
  now(): number;
  sleep(duration_ms: number): Promise<void>;
  /** Ms of a clock that nobody can set; without it nobody watches for the wall clock being set back. */
  monotonic?(): number;
  /** How far `now` was read ahead of `monotonic` at most, ms, since this was asked before; -Infinity without a reading. */
  furthest?(): number;
}

/** @returns the same clock; without a monotonic one nobody can tell, and it is left as it is. */
export function rememberingClock(clock: Clock): Clock {
  const { monotonic } = clock;
  if (monotonic === undefined) return clock;
  let furthest_ms = Number.NEGATIVE_INFINITY;
  return {
    ...clock,
    now() {
      const at = clock.now();
      furthest_ms = Math.max(furthest_ms, at - monotonic());
      return at;
    },
    furthest() {
      const seen_ms = furthest_ms;
      furthest_ms = Number.NEGATIVE_INFINITY;
      return seen_ms;
    },
  };
}

/** Ms by the clock that nobody can set; by the wall clock where there is none. For times that pass, never for dates. */
export function tickOf({ monotonic, now }: Clock): number {
  return monotonic === undefined ? now() : monotonic();
}

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: Date.now,
  sleep: (duration_ms) => setTimeout(duration_ms),
  monotonic: () => performance.now(),
};

/** Resolves after so many ms, or when it is aborted. */
export function pause(duration_ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(duration_ms, undefined, { signal }).catch(() => undefined);
}
