/** Whether there is room for new work: a disk that is nearly full is kept for what is under way (`reliability.md` F44, F45). */
import { PuenteError } from '../../error.ts';
import type { Ports } from '../ports.ts';

/**
 * Called before the row of new work is written; nothing was sent by then.
 * @throws PuenteError refused, told as `unavailable` in the family's words, while the disk is low or full.
 */
export function needRoom(ports: Pick<Ports, 'store' | 'count'>): void {
  if (!hasRoom(ports)) throw noRoom(ports);
}

export function hasRoom({ store }: Pick<Ports, 'store'>): boolean {
  return store.upkeep.room().level === 'enough';
}

/** Counted, and told as `unavailable` in the family's words. */
export function noRoom({ count }: Pick<Ports, 'count'>): PuenteError {
  count('creates', 'no_room');
  return new PuenteError('refused', 'The disk is nearly full: nothing new is begun until there is room again.', {
    facts: { error: 'unavailable' },
  });
}
