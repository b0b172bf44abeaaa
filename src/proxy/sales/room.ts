/** Whether there is room for new work: a disk that is nearly full is kept for what is under way (`reliability.md` F44, F45). */
import { PuenteError } from '../../error.ts';
import type { Runtime } from '../runtime.ts';

/**
 * Called before the row of new work is written; nothing was sent by then.
 * @throws PuenteError refused, told as `unavailable` in the family's words, while the disk is low or full.
 */
export function needRoom(runtime: Pick<Runtime, 'store' | 'count'>): void {
  if (!hasRoom(runtime)) throw noRoom(runtime);
}

export function hasRoom({ store }: Pick<Runtime, 'store'>): boolean {
  return store.room().level === 'enough';
}

/** Counted, and told as `unavailable` in the family's words. */
export function noRoom({ count }: Pick<Runtime, 'count'>): PuenteError {
  count('creates', 'no_room');
  return new PuenteError('refused', 'The disk is nearly full: nothing new is begun until there is room again.', {
    facts: { error: 'unavailable' },
  });
}
