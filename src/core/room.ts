/** Whether there is room for new work: a disk that is nearly full is kept for what is under way (`reliability.md` F44, F45). */
import { PuenteError } from '../error.ts';
import type { Runtime } from './runtime.ts';

/**
 * Called before the row of new work is written; nothing was sent by then.
 * @throws PuenteError refused, told as `unavailable` in the family's words, while the disk is low or full.
 */
export function needRoom({ store, count }: Pick<Runtime, 'store' | 'count'>): void {
  if (store.room().level === 'enough') return;
  count('creates', 'no_room');
  throw new PuenteError('refused', 'The disk is nearly full: nothing new is begun until there is room again.', {
    facts: { error: 'unavailable' },
  });
}
