/** Virtual time for a whole world in one thread: hours pass in milliseconds, and everything happens in one order. */
import { setImmediate as realImmediate } from 'node:timers';
import { createTimerQueue, type TimerQueue } from '../../src/sandbox/clock.ts';

/** 2026-11-21 12:00 UTC: a Saturday noon, no daylight saving near. */
export const START_MS = Date.UTC(2026, 10, 21, 12);

/** Thrown where the product's process is killed inside its own code: nothing that follows has any effect any more. */
export class Killed extends Error {}

/** More happenings than any run has between two looks: then something goes round without time passing. */
const MOST_MOMENTS = 20_000;

/** What the clock must know of the world beside the timers that it keeps itself. */
export interface Outside {
  /** When the product's stored work falls due, true epoch ms; null when it has none. Polls before it would find nothing. */
  workDue(): number | null;
  /** When the upstream's own next timer falls due, epoch ms; null when none. */
  upstreamDue(): number | null;
  /** Fires the upstream's timers that are due. */
  upstreamPasses(): void;
}

export interface SimulatedClock {
  /** When the world began, epoch ms. */
  startedAt(): number;
  /** True time, epoch ms; the product's own clock may be set wrong. */
  now(): number;
  /** Something in the world outside of the product's process. */
  after(delay_ms: number, run: () => void): void;
  /** Lets time pass until `until` (epoch ms), or until nothing is left that could happen before it. */
  run(until: number, outside: Outside): Promise<void>;
  /** The product's process is gone, and its timers with it. */
  forgetProcess(): void;
  /** Back to the start, without any timer. */
  reset(): void;
  /** Puts virtual timers in the place of Node's, for the product's loops; returns what puts Node's back. */
  install(): () => void;
}

export function createSimulatedClock(): SimulatedClock {
  const world = createTimerQueue<() => void>();
  const polls = createTimerQueue<() => void>();
  let soon: (() => void)[] = [];
  let now_ms = START_MS;

  /** Fires what is due at `now_ms`: at most one thing of the world, because others may depend on it; else the polls. */
  function fire(outside: Outside): void {
    outside.upstreamPasses();
    if (fireFirst(world, now_ms)) return;
    while (fireFirst(polls, now_ms));
  }

  function nextMoment(outside: Outside): number | null {
    const poll = polls.first()?.due_at_ms;
    const work = outside.workDue();
    // A poll before anything is due finds nothing; it is passed over, as if the process had been slow.
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

/** A process that dies in its own code takes nobody with it. */
function mortally(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
  }
}

/** Until every promise that can go on has gone on. */
function turn(): Promise<void> {
  return new Promise((resolve) => void realImmediate(resolve));
}

/** The timer functions that the product's loops and queues call, and the clock of durations; no other is used under simulation. */
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
