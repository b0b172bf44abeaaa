/** What comes and goes with calls, by key, kept so that it is gone when it is taken out. */

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
