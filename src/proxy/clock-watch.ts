/** Sees when the machine's wall clock was set back, and pulls forward what waits: else it would wait for the old time to come again. */

import { type Loop, startLoop } from './loop.ts';
import type { Runtime } from './runtime.ts';

const LOOK_MS = 5_000;
/** Clocks are corrected by a little all the time, and nothing is late for that. */
const TOLERANCE_MS = 10_000;

/**
 * Watches by the clock that nobody can set; none where there is none (`reliability.md` F47). A clock that was set forward
 * makes everything due at once, each thing once, and needs no help. One that was set back while Puente did not run is seen
 * by what was written before, as far as that goes.
 */
export function watchClock({ store, clock, log }: Pick<Runtime, 'store' | 'clock' | 'log'>): Loop[] {
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
