/** The sandbox's virtual clock with its timers: real time plus an offset, or time that moves only on request. */

type ClockMode = 'real' | 'manual';

/** @template Job the task of a timer, as data that a snapshot can hold. */
export type Clock<Job> = ReturnType<typeof createClock<Job>>;

/** setTimeout takes at most 2^31-1 ms; a longer wait is split. */
const MAX_SLEEP_MS = 2 ** 31 - 1;

/** @param realNow real time in epoch milliseconds; handed in, so that tests decide the time. */
export function createClock<Job>(realNow: () => number, run: (job: Job) => void) {
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
    /** Virtual time, epoch milliseconds. */
    now,
    /** Real time, epoch milliseconds, for values that other programs compare with their own clocks. */
    realNow,
    mode: (): ClockMode => (frozen_at_ms === null ? 'real' : 'manual'),
    /** Runs the job once, after `delay_ms` of virtual time. */
    schedule(delay_ms: number, job: Job): void {
      if (is_closed) return;
      const timer = queue.add(now() + delay_ms, job);
      if (queue.first() === timer) sleep();
    },
    /** Epoch milliseconds; null without a timer. */
    nextDueAt: (): number | null => queue.first()?.due_at_ms ?? null,
    /** Moves time forward and fires every due timer in order, each at its own due time. */
    advance(delta_ms: number): void {
      const target_ms = now() + delta_ms;
      fireUntil(target_ms);
      if (target_ms > now()) moveTo(target_ms);
      sleep();
    },
    /** `manual` stops the clock; `real` lets it run on from there. */
    setMode(mode: ClockMode): void {
      if (mode === 'manual') frozen_at_ms ??= now();
      else if (frozen_at_ms !== null) {
        offset_ms = frozen_at_ms - realNow();
        frozen_at_ms = null;
      }
      sleep();
    },
    /** In the order in which they fall due. */
    timers: queue.list,
    /** Sets mode and time, and replaces all timers. */
    restore(mode: ClockMode, now_ms: number, timers: readonly Timer<Job>[]): void {
      queue.clear();
      for (const { due_at_ms, job } of timers) queue.add(due_at_ms, job);
      frozen_at_ms = mode === 'manual' ? now_ms : null;
      offset_ms = now_ms - realNow();
      sleep();
    },
    /** Removes all timers and the offset; keeps the mode. */
    reset(): void {
      queue.clear();
      offset_ms = 0;
      if (frozen_at_ms !== null) frozen_at_ms = realNow();
      sleep();
    },
    /** Stops the real timer for good: later timers never fire. */
    close(): void {
      is_closed = true;
      queue.clear();
      sleep();
    },
  };
}

interface Timer<Job> {
  /** Virtual time, epoch milliseconds. */
  due_at_ms: number;
  job: Job;
}

export type TimerQueue<Job> = ReturnType<typeof createTimerQueue<Job>>;

/** By due time, then by arrival. A sorted array: nearly all timers are expiries of one length, added at its end. */
export function createTimerQueue<Job>() {
  const timers: Timer<Job>[] = [];
  return {
    add(due_at_ms: number, job: Job): Timer<Job> {
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
    first: (): Timer<Job> | null => timers[0] ?? null,
    takeFirst: () => void timers.shift(),
    remove(timer: Timer<Job>): void {
      const index = timers.indexOf(timer);
      if (index !== -1) timers.splice(index, 1);
    },
    list: (): readonly Timer<Job>[] => [...timers],
    clear(): void {
      timers.length = 0;
    },
  };
}
