/** Virtual time for a whole world in one thread: hours pass in milliseconds, and all events have one order. */
import { setImmediate as realImmediate } from 'node:timers';
import { createTimerQueue, type TimerQueue } from '../../src/sandbox/clock.ts';

/** 2026-11-21 12:00 UTC: a Saturday noon, no daylight saving near. */
export const START_MS = Date.UTC(2026, 10, 21, 12);

/** Thrown where the product's process is killed in its own code: later code has no effect. */
export class Killed extends Error {}

/** More events than any run has between two calls; beyond this, the world loops without time passing. */
const MOST_MOMENTS = 20_000;

/** Due times outside of the clock's own timers. */
export interface Outside {
  /** When the product's stored work is due, true epoch ms; null without work. Earlier polls find nothing. */
  workDue(): number | null;
  /** When the upstream's next timer is due, epoch ms; null without timers. */
  upstreamDue(): number | null;
  upstreamPasses(): void;
}

export interface SimulatedClock {
  /** Epoch ms. */
  startedAt(): number;
  /** True time, epoch ms; the product's own clock may be wrong. */
  now(): number;
  /** A timer outside of the product's process. */
  after(delay_ms: number, run: () => void): void;
  /** Advances time to `until` (epoch ms); returns early when no event is left before it. */
  run(until: number, outside: Outside): Promise<void>;
  forgetProcess(): void;
  reset(): void;
  /** Replaces Node's timers for the product's loops; returns a function that restores them. */
  install(): () => void;
}

export function createSimulatedClock(): SimulatedClock {
  const world = createTimerQueue<() => void>();
  const polls = createTimerQueue<() => void>();
  let soon: (() => void)[] = [];
  let now_ms = START_MS;

  /** Fires events due at `now_ms`: at most one of the world, because others may depend on it; else the polls. */
  function fire(outside: Outside): void {
    outside.upstreamPasses();
    if (fireFirst(world, now_ms)) return;
    while (fireFirst(polls, now_ms));
  }

  function nextMoment(outside: Outside): number | null {
    const poll = polls.first()?.due_at_ms;
    const work = outside.workDue();
    // A poll before work is due finds nothing; it is skipped, as if the process were slow.
    const polled = poll === undefined || work === null ? null : Math.max(poll, work);
    const moments = [world.first()?.due_at_ms, outside.upstreamDue(), polled].filter((at) => typeof at === 'number');
    return moments.length === 0 ? null : Math.min(...moments);
  }

  return {
    startedAt: () => START_MS,
    now: () => now_ms,
    after: (delay_ms, run) => void world.add(now_ms + delay_ms, run),
    async run(until, outside) {
      for (let moments = 0; ; moments++) {
        if (moments > MOST_MOMENTS) throw new Error(`time stands still at ${now_ms - START_MS} ms after the start`);
        await turn();
        if (soon.length > 0) {
          const batch = soon;
          soon = [];
          for (const run of batch) mortally(run);
          continue;
        }
        const next = nextMoment(outside);
        if (next === null || next > until) break;
        now_ms = Math.max(now_ms, next);
        fire(outside);
      }
      now_ms = Math.max(now_ms, until);
      outside.upstreamPasses();
      await turn();
    },
    forgetProcess() {
      polls.clear();
      soon = [];
    },
    reset() {
      world.clear();
      polls.clear();
      soon = [];
      now_ms = START_MS;
    },
    install: () =>
      install(
        polls,
        () => now_ms,
        (run) => void soon.push(run),
      ),
  };
}

function fireFirst(queue: TimerQueue<() => void>, now_ms: number): boolean {
  const first = queue.first();
  if (first === null || first.due_at_ms > now_ms) return false;
  queue.takeFirst();
  mortally(first.job);
  return true;
}

/** A kill of the process must not end the simulation. */
function mortally(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
}

/** Resolves after all pending promises. */
function turn(): Promise<void> {
  return new Promise((resolve) => void realImmediate(resolve));
}

/** Replaces the timer functions that the product's loops and queues use, and the clock of durations. */
function install(polls: TimerQueue<() => void>, now: () => number, soon: (run: () => void) => void): () => void {
  const real = { setTimeout, clearTimeout, setImmediate };
  const real_now = performance.now;
  const later = (run: (...given: unknown[]) => void, delay_ms = 0, ...given: unknown[]): object => {
    const timer = polls.add(now() + Math.max(1, delay_ms), () => run(...given));
    const handle = { cancel: () => polls.remove(timer), ref: () => handle, unref: () => handle };
    return handle;
  };
  performance.now = () => now() - START_MS;
  Object.assign(globalThis, {
    setTimeout: later,
    clearTimeout: (handle: { cancel?: () => void } | undefined) => handle?.cancel?.(),
    setImmediate: (run: (...given: unknown[]) => void, ...given: unknown[]) => {
      soon(() => run(...given));
      return {};
    },
  });
  return () => {
    Object.assign(globalThis, real);
    performance.now = real_now;
  };
}
