/** The sandbox's virtual clock: real time plus an offset, or time that only moves by hand, with timers that fire in order. */

export type ClockMode = 'real' | 'manual';

export interface Clock {
  /** Virtual time, epoch milliseconds. */
  now(): number;
  /** Time as the rest of the world has it, epoch milliseconds; for what others compare with their own clocks. */
  realNow(): number;
  mode(): ClockMode;
  /** Runs `run` once, `delay_ms` of virtual time from now. */
  schedule(delay_ms: number, run: () => void): Timer;
  /** When the next timer falls due, or null. */
  nextDueAt(): number | null;
  /** Moves time forward and fires every timer that falls due, each at its own due time, in order. */
  advance(delta_ms: number): void;
  /** `manual` stops time where it is; `real` lets it run on from there. */
  setMode(mode: ClockMode): void;
  /** Forgets every timer and the offset; the mode stays. */
  reset(): void;
  /** Stops the real timer behind the clock for good; later timers never fire. */
  close(): void;
}

/** setTimeout takes at most 2^31-1 ms; a longer wait is taken in parts. */
const MAX_SLEEP_MS = 2 ** 31 - 1;

/** @param realNow real time in epoch milliseconds; handed in, so that a test decides what time it is. */
export function createClock(realNow: () => number): Clock {
  const queue = createTimerQueue();
  let offset_ms = 0;
  let frozen_at_ms: number | null = null;
  let closed = false;

  const now = (): number => frozen_at_ms ?? realNow() + offset_ms;
  const fireUntil = (limit_ms: number): void => {
    for (let next = queue.first(); next !== null && next.due_at_ms <= limit_ms; next = queue.first()) {
      queue.takeFirst();
      if (next.due_at_ms > now()) moveTo(next.due_at_ms);
      next.run();
    }
  };
  const moveTo = (time_ms: number): void => {
    if (frozen_at_ms === null) offset_ms = time_ms - realNow();
    else frozen_at_ms = time_ms;
  };
  const sleeper = createSleeper(queue, now, fireUntil);
  const refresh = (): void => sleeper.sleep(frozen_at_ms === null);

  return {
    now,
    realNow,
    mode: () => (frozen_at_ms === null ? 'real' : 'manual'),
    schedule(delay_ms, run) {
      const timer = queue.add(now() + delay_ms, run);
      if (closed) timer.cancel();
      else if (queue.first() === timer) refresh();
      return timer;
    },
    nextDueAt: () => queue.first()?.due_at_ms ?? null,
    advance(delta_ms) {
      const target_ms = now() + delta_ms;
      fireUntil(target_ms);
      if (target_ms > now()) moveTo(target_ms);
      refresh();
    },
    setMode(mode) {
      if (mode === 'manual') frozen_at_ms ??= now();
      else if (frozen_at_ms !== null) {
        offset_ms = frozen_at_ms - realNow();
        frozen_at_ms = null;
      }
      refresh();
    },
    reset() {
      queue.clear();
      offset_ms = 0;
      if (frozen_at_ms !== null) frozen_at_ms = realNow();
      refresh();
    },
    close() {
      closed = true;
      queue.clear();
      refresh();
    },
  };
}

/** The one real timer: it sleeps until the first virtual timer is due, then fires whatever is. */
function createSleeper(queue: TimerQueue, now: () => number, fireUntil: (limit_ms: number) => void) {
  let sleeping: NodeJS.Timeout | null = null;
  const wakeUp = (): void => {
    sleeping = null;
    fireUntil(now());
    sleep(true);
  };
  function sleep(isTimeRunning: boolean): void {
    const next = queue.first();
    if (sleeping !== null) clearTimeout(sleeping);
    sleeping = null;
    if (!isTimeRunning || next === null) return;
    const wait_ms = Math.min(Math.max(next.due_at_ms - now(), 0), MAX_SLEEP_MS);
    sleeping = setTimeout(wakeUp, wait_ms);
  }
  return { sleep };
}

// Timers of the virtual clock in the order in which they fall due.

export interface Timer {
  /** The virtual time at which it fires, epoch milliseconds. */
  due_at_ms: number;
  cancel(): void;
}

export interface Due extends Timer {
  run: () => void;
}

export interface TimerQueue {
  add(due_at_ms: number, run: () => void): Due;
  /** The next timer that is not canceled. */
  first(): Due | null;
  takeFirst(): void;
  clear(): void;
}

interface Entry extends Due {
  /** Timers of the same time fire in the order in which they were added. */
  sequence: number;
  canceled: boolean;
}

export function createTimerQueue(): TimerQueue {
  const heap: Entry[] = [];
  let sequence = 0;
  return {
    add(due_at_ms, run) {
      const entry: Entry = {
        due_at_ms,
        run,
        sequence: sequence++,
        canceled: false,
        cancel() {
          entry.canceled = true;
          entry.run = () => {}; // what it would have touched may be forgotten
        },
      };
      insert(heap, entry);
      return entry;
    },
    first() {
      for (let next = heap[0]; next?.canceled; next = heap[0]) takeFirst(heap);
      return heap[0] ?? null;
    },
    takeFirst: () => takeFirst(heap),
    clear() {
      heap.length = 0;
    },
  };
}

/** Binary heap by due time, then by order of scheduling; an order's expiry timer costs O(log n) even under load. */
function insert(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || isBefore(above, entry)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

function takeFirst(heap: Entry[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = heap[2 * index + 1];
    const right = heap[2 * index + 2];
    if (left === undefined) break;
    const pickRight = right !== undefined && isBefore(right, left);
    const child = pickRight ? right : left;
    if (isBefore(last, child)) break;
    heap[index] = child;
    index = 2 * index + (pickRight ? 2 : 1);
  }
  heap[index] = last;
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.due_at_ms < other.due_at_ms || (one.due_at_ms === other.due_at_ms && one.sequence < other.sequence);
}
