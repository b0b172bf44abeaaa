/** A clock that remembers how far ahead it was read: what was put off by such a reading has to be pulled forward. */

import { type Loop, startLoop } from './loop.ts';
import type { Ports } from './ports.ts';
import type { Store } from './store.ts';

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

// Sees when the machine's wall clock was set back, and pulls forward what waits: else it would wait for the old time
// to come again.

const LOOK_MS = 5_000;
/** Clocks are corrected by a little all the time, and nothing is late for that. */
const TOLERANCE_MS = 10_000;

/**
 * Watches by the clock that nobody can set; none where there is none (`reliability.md` F47). A clock that was set forward
 * makes everything due at once, each thing once, and needs no help. One that was set back while Puente did not run is seen
 * by what was written before, as far as that goes.
 */
export function watchClock({ store, clock, log }: Pick<Ports, 'store' | 'clock' | 'log'>): Loop[] {
  const { monotonic } = clock;
  if (monotonic === undefined) return [];
  const offset = (): number => clock.now() - monotonic();
  let known = offset();
  let is_start = true;
  const loop = startLoop<number>({
    name: 'clock watch',
    poll_ms: LOOK_MS,
    concurrency: 1,
    async take() {
      if (is_start) known = Math.max(known, (await store.newestMoment()) - monotonic());
      is_start = false;
      // Set forward and back between two looks, it has put off what was written meanwhile.
      known = Math.max(known, clock.furthest?.() ?? known);
      const back_ms = Math.round(known - offset());
      if (back_ms < 0) known = offset();
      return back_ms > TOLERANCE_MS ? [back_ms] : [];
    },
    key: () => 'clock',
    async handle(back_ms) {
      await store.pullForward(clock.now());
      known -= back_ms;
      log.warn('the wall clock was set back; what waits by it was pulled forward', { duration_ms: back_ms });
    },
    log,
  });
  return [loop];
}

// The time that deletions go by: it never jumps far ahead, whatever the wall clock says.

/** Rounds are an hour apart, so that what rested for long is caught up with, and no wrong clock deletes more than twice as fast. */
const MOST_STEP_MS = 2 * 3_600_000;

/**
 * The time that retention goes by, asked for once a round. It begins with what was written last and never moves further than
 * a step, so that a clock which is wrong by years deletes nothing before somebody has noticed (`reliability.md` F47).
 * @returns epoch ms.
 */
export function steadyTime(parts: {
  store: Pick<Store, 'newestMoment'>;
  clock: Pick<Clock, 'now'>;
}): () => Promise<number> {
  const { store, clock } = parts;
  const opened_at = clock.now();
  // Before anything is written under this clock.
  const newest = store.newestMoment();
  newest.catch(() => undefined); // whoever asks for the time hears of it
  let reached: number | null = null;
  return async () => {
    reached ??= (await newest) || opened_at;
    reached = Math.min(clock.now(), reached + MOST_STEP_MS);
    return reached;
  };
}
