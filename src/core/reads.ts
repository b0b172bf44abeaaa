/** When each order was last read, so that polling tills and floods of events don't become upstream calls. */

import { createRecent } from './recent.ts';

/** Orders remembered; at most one entry per live order matters, and a forgotten one only costs a read. */
const CAPACITY = 20_000;

export interface RecentReads {
  /** Epoch ms of the last completed read's start; 0 when none is remembered, or the clock was set back since (F47). */
  last(order_id: string): number;
  mark(order_id: string, at: number): void;
}

/** @param now the wall clock, epoch ms. */
export function createRecentReads(now: () => number): RecentReads {
  const times = createRecent<number>(CAPACITY);
  return {
    last(order_id) {
      const at = times.get(order_id) ?? 0;
      // A read of the future would count as fresh until the clock has caught up, and its order would not be read till then.
      return at > now() ? 0 : at;
    },
    mark: (order_id, at) => times.set(order_id, at),
  };
}
