/** Watching the clock: a wall clock that was set back is noticed, and the time that deletions go by never jumps ahead. */

import type { Clock } from './clock.ts';
import { type Loop, startLoop } from './loop.ts';
import type { Ports } from './ports.ts';
import type { Store } from './store.ts';

const LOOK_MS = 5_000;

/** Clocks are corrected by a little all the time, and nothing is late for that. */
const TOLERANCE_MS = 10_000;

/** Rounds are an hour apart, so that what rested for long is caught up with, and no wrong clock deletes more than twice as fast. */
const MOST_STEP_MS = 2 * 3_600_000;

/**
 * Watches by the clock that nobody can set; none where there is none (`test/faults/README.md` F47). A clock that was set forward
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
      if (is_start) known = Math.max(known, (await store.upkeep.newestMoment()) - monotonic());
      is_start = false;
      // Set forward and back between two looks, it has put off what was written meanwhile.
      known = Math.max(known, clock.furthest?.() ?? known);
      const back_ms = Math.round(known - offset());
      if (back_ms < 0) known = offset();
      return back_ms > TOLERANCE_MS ? [back_ms] : [];
    },
    key: () => 'clock',
    async handle(back_ms) {
      await store.upkeep.pullForward(clock.now());
      known -= back_ms;
      log.warn('the wall clock was set back; what waits by it was pulled forward', { duration_ms: back_ms });
    },
    log,
  });
  return [loop];
}

/**
 * The time that retention goes by, asked for once a round. It begins with what was written last and never moves further than
 * a step, so that a clock which is wrong by years deletes nothing before somebody has noticed (`test/faults/README.md` F47).
 * @returns epoch ms.
 */
export function steadyTime(parts: { store: Pick<Store, 'upkeep'>; clock: Pick<Clock, 'now'> }): () => Promise<number> {
  const { store, clock } = parts;
  const opened_at = clock.now();
  // Before anything is written under this clock.
  const newest = store.upkeep.newestMoment();
  newest.catch(() => undefined); // whoever asks for the time hears of it
  let reached: number | null = null;
  return async () => {
    reached ??= (await newest) || opened_at;
    reached = Math.min(clock.now(), reached + MOST_STEP_MS);
    return reached;
  };
}
