/** Values by key, of which those in use lately are remembered, however many keys somebody makes up (`test/faults/README.md` F102). */

export interface Recent<Value> {
  /** Counts as a use. */
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** Forgets what was not used since the last turn, as if the young half were full. */
  turn(): void;
}

/**
 * In two halves: a full young half becomes the old one, and what nobody used in the old half goes with it. One map whose
 * oldest key is deleted for each new one costs fifty times as much, because the engine looks past all deleted keys.
 * @param capacity keys remembered at most; the half that was used last is always among them.
 */
export function createRecent<Value>(capacity: number): Recent<Value> {
  let young = createPassing<Value>();
  let old = createPassing<Value>();
  const turn = (): void => {
    old = young;
    young = createPassing();
  };
  const set = (key: string, value: Value): void => {
    if (young.size >= capacity / 2 && !young.has(key)) turn();
    young.set(key, value);
    old.delete(key);
  };
  return {
    get(key) {
      const known = young.get(key);
      if (known !== undefined) return known;
      const value = old.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
    turn,
  };
}

// What comes and goes with calls, by key, kept so that it is gone when it is taken out.

/**
 * Not a Map or Set: a table that V8 leaves behind when it makes room in one still holds what was in it, and points to its
 * successor. From the first of them on that has grown old, whatever passes through outlives young collections with all that
 * hangs on it, whole calls too: the collector's threads took 30 µs for an event, where they take 5.
 */
export interface Passing<Value> {
  get(key: string): Value | undefined;
  has(key: string): boolean;
  set(key: string, value: Value): void;
  delete(key: string): void;
  readonly size: number;
  keys(): string[];
  values(): Value[];
}

export function createPassing<Value>(): Passing<Value> {
  // Without a prototype V8 makes it a table from the start, whatever comes and goes.
  const entries: Record<string, Value> = Object.create(null);
  let size = 0;
  return {
    get: (key) => entries[key],
    has: (key) => key in entries,
    set(key, value) {
      if (!(key in entries)) size++;
      entries[key] = value;
    },
    delete(key) {
      if (!(key in entries)) return;
      size--;
      delete entries[key];
    },
    get size() {
      return size;
    },
    keys: () => Object.keys(entries),
    values: () => Object.values(entries),
  };
}
