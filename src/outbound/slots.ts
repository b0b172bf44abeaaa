/** Bounds how many calls run at once: writes go before reads, and those that wait leave the queue when their time is over. */

/** `write`: makes, cancels or refunds something. */
type SlotKind = 'write' | 'read';

export interface Slots {
  /** True with a slot taken; false when `signal` aborted first. */
  take(kind: SlotKind, signal: AbortSignal): Promise<boolean>;
  /** Gives a slot back, to the write that has waited longest, or else to such a read. */
  give(kind: SlotKind): void;
}

/** Reads leave a quarter of the slots to writes, so that no flood of them, and no slow ones, keeps a payment waiting. */
const READ_SHARE = 0.75;

/**
 * The queue stands before undici's pool, because a call that timed out in the pool's own queue stays there and still
 * costs a connection attempt: while the other side is unreachable, that queue only grows.
 */
export function createSlots(count: number): Slots {
  const most: Record<SlotKind, number> = { write: count, read: Math.max(1, Math.floor(count * READ_SHARE)) };
  const running: Record<SlotKind, number> = { write: 0, read: 0 };
  const waiting: Record<SlotKind, Set<() => void>> = { write: new Set(), read: new Set() };
  const hasRoom = (kind: SlotKind): boolean => running.write + running.read < count && running[kind] < most[kind];
  const serveNext = (): void => {
    for (const kind of ['write', 'read'] as const) {
      const next = waiting[kind].values().next().value;
      if (next === undefined || !hasRoom(kind)) continue;
      next();
      return;
    }
  };
  return {
    take(kind, signal) {
      if (signal.aborted) return Promise.resolve(false);
      if (hasRoom(kind)) {
        running[kind]++;
        return Promise.resolve(true);
      }
      return new Promise((resolve) => {
        const settle = (taken: boolean): void => {
          waiting[kind].delete(serve);
          signal.removeEventListener('abort', leave);
          if (taken) running[kind]++;
          resolve(taken);
        };
        const serve = (): void => settle(true);
        const leave = (): void => settle(false);
        waiting[kind].add(serve);
        signal.addEventListener('abort', leave);
      });
    },
    give(kind) {
      running[kind]--;
      serveNext();
    },
  };
}
