/** The sandbox's virtual clock with its timers: real time plus an offset, or time that moves only on request. */

export type ClockMode = 'real' | 'manual';

/** @template Job the task of a timer, as data that a snapshot can hold. */
export interface Clock<Job> {
  /** Virtual time, epoch milliseconds. */
  now(): number;
  /** Real time, epoch milliseconds, for values that other programs compare with their own clocks. */
  realNow(): number;
  mode(): ClockMode;
  /** Runs the job once, after `delay_ms` of virtual time. */
  schedule(delay_ms: number, job: Job): void;
  /** Epoch milliseconds; null without a timer. */
  nextDueAt(): number | null;
  /** Moves time forward and fires every due timer in order, each at its own due time. */
  advance(delta_ms: number): void;
  /** `manual` stops the clock; `real` lets it run on from there. */
  setMode(mode: ClockMode): void;
  /** In the order in which they fall due. */
  timers(): readonly Timer<Job>[];
  /** Sets mode and time, and replaces all timers. */
  restore(mode: ClockMode, now_ms: number, timers: readonly Timer<Job>[]): void;
  /** Removes all timers and the offset; keeps the mode. */
  reset(): void;
  /** Stops the real timer for good: later timers never fire. */
  close(): void;
}

/** setTimeout takes at most 2^31-1 ms; a longer wait is split. */
const MAX_SLEEP_MS = 2 ** 31 - 1;

/** @param realNow real time in epoch milliseconds; handed in, so that tests decide the time. */
export function createClock<Job>(realNow: () => number, run: (job: Job) => void): Clock<Job> {
  const queue = createTimerQueue<Job>();
  let offset_ms = 0;
  let frozen_at_ms: number | null = null;
  let is_closed = false;
  let sleeping: NodeJS.Timeout | undefined;

  const now = (): number => frozen_at_ms ?? realNow() + offset_ms;
  const moveTo = (time_ms: number): void => {
    if (frozen_at_ms === null) offset_ms = time_ms - realNow();
    else frozen_at_ms = time_ms;
  };
  const fireUntil = (limit_ms: number): void => {
    for (let next = queue.first(); next !== null && next.due_at_ms <= limit_ms; next = queue.first()) {
      queue.takeFirst();
      if (next.due_at_ms > now()) moveTo(next.due_at_ms);
      run(next.job);
    }
  };
  /** Sets the one real timer, which fires the due virtual timers. */
  const sleep = (): void => {
    clearTimeout(sleeping);
    const next = queue.first();
    if (is_closed || frozen_at_ms !== null || next === null) return;
    const wait_ms = Math.min(Math.max(next.due_at_ms - now(), 0), MAX_SLEEP_MS);
    sleeping = setTimeout(() => {
      fireUntil(now());
      sleep();
    }, wait_ms);
  };

  return {
    now,
    realNow,
    mode: () => (frozen_at_ms === null ? 'real' : 'manual'),
    schedule(delay_ms, job) {
      if (is_closed) return;
      const timer = queue.add(now() + delay_ms, job);
      if (queue.first() === timer) sleep();
    },
    nextDueAt: () => queue.first()?.due_at_ms ?? null,
    advance(delta_ms) {
      const target_ms = now() + delta_ms;
      fireUntil(target_ms);
      if (target_ms > now()) moveTo(target_ms);
      sleep();
    },
    setMode(mode) {
      if (mode === 'manual') frozen_at_ms ??= now();
      else if (frozen_at_ms !== null) {
        offset_ms = frozen_at_ms - realNow();
        frozen_at_ms = null;
      }
      sleep();
    },
    timers: queue.list,
    restore(mode, now_ms, timers) {
      queue.clear();
      for (const { due_at_ms, job } of timers) queue.add(due_at_ms, job);
      frozen_at_ms = mode === 'manual' ? now_ms : null;
      offset_ms = now_ms - realNow();
      sleep();
    },
    reset() {
      queue.clear();
      offset_ms = 0;
      if (frozen_at_ms !== null) frozen_at_ms = realNow();
      sleep();
    },
    close() {
      is_closed = true;
      queue.clear();
      sleep();
    },
  };
}

export interface Timer<Job> {
  /** Virtual time, epoch milliseconds. */
  due_at_ms: number;
  job: Job;
}

export interface TimerQueue<Job> {
  add(due_at_ms: number, job: Job): Timer<Job>;
  first(): Timer<Job> | null;
  takeFirst(): void;
  remove(timer: Timer<Job>): void;
  list(): readonly Timer<Job>[];
  clear(): void;
}

/** By due time, then by arrival. A sorted array: nearly all timers are expiries of one length, added at its end. */
export function createTimerQueue<Job>(): TimerQueue<Job> {
  const timers: Timer<Job>[] = [];
  return {
    add(due_at_ms, job) {
      const timer = { due_at_ms, job };
      let [low, high] = [0, timers.length];
      if ((timers.at(-1)?.due_at_ms ?? 0) <= due_at_ms) low = high;
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((timers[middle]?.due_at_ms ?? 0) <= due_at_ms) low = middle + 1;
        else high = middle;
      }
      timers.splice(low, 0, timer);
      return timer;
    },
    first: () => timers[0] ?? null,
    takeFirst: () => void timers.shift(),
    remove(timer) {
      const index = timers.indexOf(timer);
      if (index !== -1) timers.splice(index, 1);
    },
    list: () => [...timers],
    clear() {
      timers.length = 0;
    },
  };
}
