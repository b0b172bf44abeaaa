/** One thing at a time per key: work on one link never overlaps with other work on it (`docs/protocol.md` §3.3 c). */
import { createPassing } from './lru.ts';

export interface Serial {
  /** Runs `work` after everything that was queued for `key` before; a failure doesn't stop what comes after. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** True while work for the key is queued or running. */
  busy(key: string): boolean;
}

export function createSerial(): Serial {
  const tails = createPassing<Promise<unknown>>();
  return {
    run(key, work) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      tails.set(key, mine);
      const clean = (): void => {
        if (tails.get(key) === mine) tails.delete(key);
      };
      mine.then(clean, clean);
      return mine;
    },
    busy: (key) => tails.has(key),
  };
}

// Who waits, in the order of coming; anybody may leave before it is their turn.

export interface Place<Value> {
  readonly value: Value;
  before: Place<Value> | null;
  after: Place<Value> | null;
  is_left: boolean;
}

/** A Set keeps this order too, and holds on to what has left it (`proxy/passing.ts`). */
export interface Queue<Value> {
  /** At the end. @returns the place, for `leave`. */
  join(value: Value): Place<Value>;
  /** Without effect on one that has left. */
  leave(place: Place<Value>): void;
  /** Who has waited longest; null when nobody does. */
  first(): Value | null;
}

export function createQueue<Value>(): Queue<Value> {
  let first: Place<Value> | null = null;
  let last: Place<Value> | null = null;
  return {
    join(value) {
      const place: Place<Value> = { value, before: last, after: null, is_left: false };
      if (last === null) first = place;
      else last.after = place;
      last = place;
      return place;
    },
    leave(place) {
      if (place.is_left) return;
      place.is_left = true;
      if (place.before === null) first = place.after;
      else place.before.after = place.after;
      if (place.after === null) last = place.before;
      else place.after.before = place.before;
      // One that is gone must not lead to those that came after it.
      place.before = null;
      place.after = null;
    },
    first: () => first?.value ?? null,
  };
}

// What was handed over before a moment and is not done, how much is under way, and whose turn it is.

/** Tells when everything that was handed over before a moment is done, while more keeps coming. */
export interface Rounds {
  /** Something was handed over. @returns its ticket, for `done`. */
  begin(): number;
  done(ticket: number): void;
  /** Resolves when all that has begun so far is done. */
  settled(): Promise<void>;
  /** Begun and not done. */
  open(): number;
}

/** Tickets are numbers of rounds: asking ends a round, and what begins afterwards is of the next one. */
export function createRounds(): Rounds {
  const open = new Map<number, number>();
  let round = 0;
  let waiting: { round: number; resolve: () => void }[] = [];
  const isOver = (asked: number): boolean => [...open.keys()].every((one) => one > asked);
  return {
    begin() {
      open.set(round, (open.get(round) ?? 0) + 1);
      return round;
    },
    done(ticket) {
      const left = (open.get(ticket) ?? 0) - 1;
      if (left > 0) return void open.set(ticket, left);
      open.delete(ticket);
      const over = waiting.filter((one) => isOver(one.round));
      waiting = waiting.filter((one) => !over.includes(one));
      for (const { resolve } of over) resolve();
    },
    settled() {
      const asked = round++;
      return isOver(asked) ? Promise.resolve() : new Promise((resolve) => waiting.push({ round: asked, resolve }));
    },
    open: () => [...open.values()].reduce((sum, count) => sum + count, 0),
  };
}

export interface Gauge {
  run<Made>(work: () => Promise<Made>): Promise<Made>;
  /** How many run now. */
  running(): number;
  /** Resolves when fewer than so many run; for one that waits at a time. */
  below(limit: number): Promise<void>;
}

/** Counts work that is under way. */
export function createGauge(): Gauge {
  let running = 0;
  let ended = (): void => undefined;
  return {
    async run(work) {
      running++;
      try {
        return await work();
      } finally {
        running--;
        ended();
      }
    },
    running: () => running,
    async below(limit) {
      while (running >= limit)
        await new Promise<void>((resolve) => {
          ended = resolve;
        });
    },
  };
}

/** Lets everything else of the process have its turn first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
