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
