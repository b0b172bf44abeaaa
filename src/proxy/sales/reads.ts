/** When each order was last read, so that polling tills and floods of events don't become upstream calls. */

import { createRecent } from '../recent.ts';

/** Orders remembered; at most one entry per live order matters, and a forgotten one only costs a read. */
const CAPACITY = 20_000;

export interface RecentReads {
  /** Epoch ms of the last completed read's start; 0 when none is remembered, or the clock was set back since (F47). */
  last(order_id: string): number;
  /** Reads begun so far: which of two things came first is told by it, since a clock may stand still (F48). */
  begun(): number;
  /** Counts a read that begins now; its number is for `mark`. */
  begin(): number;
  /** Number of the last completed read; 0 when none is remembered. */
  number(order_id: string): number;
  /** A read that began at `at` as number `number` is complete. */
  mark(order_id: string, at: number, number: number): void;
}

/** @param now the wall clock, epoch ms. */
export function createRecentReads(now: () => number): RecentReads {
  const reads = createRecent<{ at: number; number: number }>(CAPACITY);
  let begun = 0;
  return {
    last(order_id) {
      const at = reads.get(order_id)?.at ?? 0;
      // A read of the future would count as fresh until the clock has caught up, and its order would not be read till then.
      return at > now() ? 0 : at;
    },
    begun: () => begun,
    begin: () => ++begun,
    number: (order_id) => reads.get(order_id)?.number ?? 0,
    mark: (order_id, at, number) => reads.set(order_id, { at, number }),
  };
}
