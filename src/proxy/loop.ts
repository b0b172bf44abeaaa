/** A loop over due work: polls the store and works on a bounded number of items, each at most once at a time. */
import type { Clock } from './clock.ts';
import { createEntries } from './concurrency.ts';
import type { Log, LogFields } from './log.ts';
import type { Ports } from './ports.ts';
import type { Store } from './store.ts';

/** A running loop. */
export interface Loop {
  /** Polls at once instead of after `poll_ms`; during a poll, right after it. Does nothing once stopped. */
  wake(): void;
  /** Starts no more items; resolves when the running ones have ended. Never rejects. */
  stop(): Promise<void>;
}

/** What a loop works on, and how. */
export interface LoopPlan<Item> {
  /** Names the loop in its log lines. */
  name: string;
  /** Pause between two polls. */
  poll_ms: number;
  /** Items that run at the same time, at most. */
  concurrency: number;
  /** Due items, oldest first. */
  take(limit: number): Promise<Item[]>;
  /** Items with the same key never run at the same time. */
  key(item: Item): string;
  /** Does the work of one item. A rejection is logged, and the item is taken again when it is due. */
  handle(item: Item): Promise<void>;
  /** True while the loop must take no items; checked before each poll. */
  rests?(): boolean;
  /** False while an item must wait; it is taken again later. */
  mayStart?(item: Item): boolean;
  /** The fields of the log line of a failed item. */
  about?(item: Item): LogFields;
  log: Log;
}

/** Starts polling at once. A failed item is logged and left to its next due time; the loop goes on. */
export function startLoop<Item>(plan: LoopPlan<Item>): Loop {
  const running = createEntries<Promise<void>>();
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let polling: Promise<void> | null = null;
  let again = false;
  /** More was due than could start: the end of an item polls at once. */
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
    const free = plan.concurrency - running.size;
    if (free <= 0 || plan.rests?.() === true) return;
    // Running items may be due still, so they are taken too and left out below.
    const limit = free + running.size;
    const items = await plan.take(limit);
    let left = 0;
    for (const item of items) {
      if (stopped || running.has(plan.key(item))) continue;
      if (running.size < plan.concurrency && plan.mayStart?.(item) !== false) run(item);
      else left++;
    }
    backlog = left > 0 || items.length >= limit;
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

// The clock watch: notices a wall clock that was set back, and keeps the time of deletions from jumping ahead.

const LOOK_MS = 5_000;
/** Small corrections of the clock are normal and delay nothing. */
const TOLERANCE_MS = 10_000;
/** Rounds are an hour apart: deletion catches up after a pause, and a wrong clock makes it at most twice as fast. */
const MOST_STEP_MS = 2 * 3_600_000;

/**
 * Watches the wall clock by the monotonic one, if there is one (`test/faults/README.md` F47). A clock set forward makes
 * everything due once, and needs no repair. One set back while Puente was down shows by the newest stored moment.
 */
export function watchClock({ store, clock, log }: Pick<Ports, 'store' | 'clock' | 'log'>): Loop[] {
  const { monotonic } = clock;
  if (monotonic === undefined) return [];
  const offset = (): number => clock.now() - monotonic();
  let known = offset();
  let is_start = true;
  const loop = startLoop<number>({
    name: 'clock watch',
    poll_ms: LOOK_MS,
    concurrency: 1,
    async take() {
      if (is_start) known = Math.max(known, (await store.upkeep.newestMoment()) - monotonic());
      is_start = false;
      // A clock that was set forward and back between two looks has put off what was written in between.
      known = Math.max(known, clock.furthest?.() ?? known);
      const back_ms = Math.round(known - offset());
      if (back_ms < 0) known = offset();
      return back_ms > TOLERANCE_MS ? [back_ms] : [];
    },
    key: () => 'clock',
    async handle(back_ms) {
      await store.upkeep.pullForward(clock.now());
      known -= back_ms;
      log.warn('the wall clock was set back; work scheduled by it was pulled forward', { duration_ms: back_ms });
    },
    log,
  });
  return [loop];
}

/**
 * The time (epoch ms) by which retention deletes: it begins at the newest stored moment and moves at most one step a
 * call, so that a clock that is wrong by years deletes nothing before it is noticed (`test/faults/README.md` F47).
 */
export function steadyTime(parts: { store: Pick<Store, 'upkeep'>; clock: Pick<Clock, 'now'> }): () => Promise<number> {
  const { store, clock } = parts;
  const opened_at = clock.now();
  // Read before anything is written by this clock; later where the store can't be read then.
  let newest: Promise<number> | null = store.upkeep.newestMoment();
  newest.catch(() => undefined); // the returned function throws it
  let reached: number | null = null;
  return async () => {
    if (reached === null) {
      const reading = newest ?? store.upkeep.newestMoment();
      newest = null;
      reached = (await reading) || opened_at;
    }
    reached = Math.min(clock.now(), reached + MOST_STEP_MS);
    return reached;
  };
}
