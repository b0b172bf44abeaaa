/** Bounds how many calls run at once; those that wait leave the queue when their time is over. */

export interface Slots {
  /** True with a slot taken; false when `signal` aborted first. */
  take(signal: AbortSignal): Promise<boolean>;
  /** Gives a slot back, to the one that has waited longest. */
  give(): void;
}

/**
 * The queue stands before undici's pool, because a call that timed out in the pool's own queue stays there and still
 * costs a connection attempt: while the other side is unreachable, that queue only grows.
 */
export function createSlots(count: number): Slots {
  let free = count;
  const waiting = new Set<() => void>();
  return {
    take(signal) {
      if (signal.aborted) return Promise.resolve(false);
      if (free > 0) {
        free--;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        const settle = (taken: boolean): void => {
          waiting.delete(serve);
          signal.removeEventListener('abort', leave);
          resolve(taken);
        };
        const serve = (): void => settle(true);
        const leave = (): void => settle(false);
        waiting.add(serve);
        signal.addEventListener('abort', leave);
      });
    },
    give() {
      const next = waiting.values().next().value;
      if (next === undefined) free++;
      else next();
    },
  };
}
