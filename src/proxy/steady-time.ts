/** The time that deletions go by: it never jumps far ahead, whatever the wall clock says. */
import type { Clock } from './runtime.ts';
import type { Store } from './store.ts';

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
