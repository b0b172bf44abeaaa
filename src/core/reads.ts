/** When each order was last read, so that polling tills and floods of events don't become upstream calls. */

/** Orders remembered; at most one entry per live order matters, and a forgotten one only costs a read. */
const CAPACITY = 20_000;

export interface RecentReads {
  /** Epoch ms of the last completed read's start; 0 when none is remembered. */
  last(order_id: string): number;
  mark(order_id: string, at: number): void;
}

export function createRecentReads(): RecentReads {
  const times = new Map<string, number>();
  return {
    last: (order_id) => times.get(order_id) ?? 0,
    mark(order_id, at) {
      times.delete(order_id);
      times.set(order_id, at);
      if (times.size > CAPACITY) {
        const oldest = times.keys().next().value;
        if (oldest !== undefined) times.delete(oldest);
      }
    },
  };
}
