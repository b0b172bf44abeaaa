/**
 * The clock port, and a clock that remembers how far ahead it was read, so that work it put off is pulled forward.
 * Pauses use the global timer, never `node:timers`: a simulation replaces it (`test/simulation/clock.ts`).
 */

/** The time, as one port, so that tests and the simulation can set it. */
export interface Clock {
  /** Wall clock, epoch ms. */
  now(): number;
  /** Resolves after `duration_ms`; can't be aborted (`pause` can). */
  sleep(duration_ms: number): Promise<void>;
  /** Ms of a clock that can't be set; without it a wall clock that is set back goes unnoticed. */
  monotonic?(): number;
  /** The most, ms, that `now` was ahead of `monotonic` since the last call of this; -Infinity without a reading. */
  furthest?(): number;
}

/** Adds `furthest`; a clock without `monotonic` is returned unchanged. */
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

/** Ms of the monotonic clock, else of the wall clock. For durations, never for dates. */
export function tickOf({ monotonic, now }: Clock): number {
  return monotonic === undefined ? now() : monotonic();
}

/** The clock of the machine. */
export const systemClock: Clock = {
  now: Date.now,
  sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
  monotonic: () => performance.now(),
};

/** Resolves after the time, or when aborted. */
export function pause(duration_ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, duration_ms);
    signal.addEventListener('abort', end);
  });
}
