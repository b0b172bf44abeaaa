/** A loop over due work: polls the store, works on a bounded number of items at once, never twice on one at a time. */

import type { Log, LogFields } from './log.ts';
import { createEntries } from './lru.ts';

export interface Loop {
  /** There may be work now: don't wait for the next poll. */
  wake(): void;
  /** Takes nothing new and resolves when what runs has ended. */
  stop(): Promise<void>;
}

export interface LoopPlan<Item> {
  name: string;
  poll_ms: number;
  concurrency: number;
  /** Due items, oldest first. */
  take(limit: number): Promise<Item[]>;
  /** Items with the same key never run at the same time. */
  key(item: Item): string;
  handle(item: Item): Promise<void>;
  /** True while nothing may be taken at all. */
  rests?(): boolean;
  /** False while an item has to wait for others of its kind; it is taken again later. */
  mayStart?(item: Item): boolean;
  /** What a log line about the item names. */
  about?(item: Item): LogFields;
  log: Log;
}

/** Starts polling at once. A failing item is logged and left to its next due time; the loop itself never ends on it. */
export function startLoop<Item>(plan: LoopPlan<Item>): Loop {
  const running = createEntries<Promise<void>>();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | null = null;
  let again = false;
  /** More was due than could start: the end of one item calls for the next at once. */
  let backlog = false;

  const run = (item: Item): void => {
    const key = plan.key(item);
    const work = plan
      .handle(item)
      .catch((error: unknown) =>
        plan.log.error(`${plan.name} failed`, { ...plan.about?.(item), cause: describe(error) }),
      )
      .finally(() => {
        running.delete(key);
        if (backlog) tick();
      });
    running.set(key, work);
  };

  const poll = async (): Promise<void> => {
    const room = plan.concurrency - running.size;
    if (room <= 0 || plan.rests?.() === true) return;
    const asked = room + running.size;
    const items = await plan.take(asked);
    let left = 0;
    for (const item of items) {
      if (stopped || running.has(plan.key(item))) continue;
      if (running.size < plan.concurrency && plan.mayStart?.(item) !== false) run(item);
      else left++;
    }
    backlog = left > 0 || items.length >= asked;
  };

  const tick = (): void => {
    if (stopped) return;
    clearTimeout(timer);
    if (polling !== null) {
      again = true;
      return;
    }
    polling = poll()
      .catch((error: unknown) => plan.log.error(`${plan.name}: due work could not be read`, { cause: describe(error) }))
      .finally(() => {
        polling = null;
        if (stopped) return;
        const wait_ms = again ? 0 : plan.poll_ms;
        again = false;
        timer = setTimeout(tick, wait_ms);
      });
  };

  tick();
  return {
    wake: tick,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await polling;
      await Promise.all(running.values());
    },
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}

// Work that no till waits for, done for a draft of its own: its log lines and its upstream calls are known by the
// sale.
