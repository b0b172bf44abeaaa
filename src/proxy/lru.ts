/** What a process keeps by key: a bounded LRU, a table of in-flight entries, and a short-lived cache of answers. */

/** Bounded, however many keys a client makes up (`test/faults/README.md` F102). */
export interface Lru<Value> {
  /** Counts as a use. */
  get(key: string): Value | undefined;
  set(key: string, value: Value): void;
  delete(key: string): void;
  /** Drops entries that were not used since the last turn, as if the young half were full. */
  turn(): void;
}

/**
 * Two generations: a full young one becomes the old one, and unused entries of the old one are dropped with it. One map whose
 * oldest key is deleted for each new one costs fifty times as much, because V8 walks past deleted keys.
 * @param capacity keys kept at most; the half used last is always kept.
 */
export function createLru<Value>(capacity: number): Lru<Value> {
  let young = createEntries<Value>();
  let old = createEntries<Value>();
  const turn = (): void => {
    old = young;
    young = createEntries();
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

/**
 * In-flight entries by key. Not a Map or Set: V8 keeps deleted entries alive in the tables it has outgrown, so whole calls
 * survived young collections, and the garbage collector took 30 µs for each event instead of 5.
 */
export interface Entries<Value> {
  get(key: string): Value | undefined;
  has(key: string): boolean;
  set(key: string, value: Value): void;
  delete(key: string): void;
  readonly size: number;
  keys(): string[];
  values(): Value[];
}

export function createEntries<Value>(): Entries<Value> {
  // Without a prototype V8 makes it a hash table from the start.
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

/** Entries of all kinds together; an evicted one costs one upstream call. */
const CAPACITY = 20_000;
/** Most answers are fresh for seconds (`reads.fresh_ms` and `reads.search_fresh_ms` are a minute at most); older ones only take memory. */
const BRIEF_MS = 60_000;

/** Answers kept for a short time, so that tills that poll do not become upstream calls. */
export interface Cache {
  /** The kept answer of a key, or one being requested; undefined without one. Requests nothing. */
  peek<Answer>(key: string, now: number, fresh_ms: number): Promise<Answer> | undefined;
  /**
   * The kept answer of a key, or the result of `ask`; concurrent callers share one call (single flight).
   * @param now epoch ms. @param fresh_ms greatest age of an answer.
   * @param keep false for an answer that must not be kept, such as a failure; a number: keep it for at most so many ms.
   */
  get<Answer>(
    key: string,
    now: number,
    fresh_ms: number,
    ask: () => Promise<Answer>,
    keep?: (answer: Answer) => boolean | number,
  ): Promise<Answer>;
}

interface Entry {
  at: number;
  /** Greatest age, whatever `fresh_ms` a caller passes. */
  kept_ms: number;
  answer: Promise<unknown>;
}

export function createCache(): Cache {
  const brief = createLru<Entry>(CAPACITY);
  const long = createLru<Entry>(CAPACITY);
  let turned_at = 0;
  const turnIfDue = (now: number): void => {
    if (Math.abs(now - turned_at) < BRIEF_MS) return;
    brief.turn();
    turned_at = now;
  };
  /** A key may be requested with a long and with a brief freshness; the last request counts. */
  const put = (key: string, entry: Entry, fresh_ms: number): Lru<Entry> => {
    const [its, other] = fresh_ms > BRIEF_MS ? [long, brief] : [brief, long];
    other.delete(key);
    its.set(key, entry);
    return its;
  };
  const peek = <Answer>(key: string, now: number, fresh_ms: number): Promise<Answer> | undefined => {
    turnIfDue(now);
    const known = brief.get(key) ?? long.get(key);
    if (known === undefined || now < known.at || now - known.at >= Math.min(fresh_ms, known.kept_ms)) return undefined;
    return known.answer as Promise<Answer>; // stored under its own key
  };
  return {
    peek,
    async get<Answer>(
      key: string,
      now: number,
      fresh_ms: number,
      ask: () => Promise<Answer>,
      keep: (answer: Answer) => boolean | number = () => true,
    ): Promise<Answer> {
      const known = peek<Answer>(key, now, fresh_ms);
      if (known !== undefined) return known;
      const entry: Entry = { at: now, kept_ms: Number.POSITIVE_INFINITY, answer: ask() };
      const entries = put(key, entry, fresh_ms);
      const forget = (): void => {
        if (entries.get(key) === entry) entries.delete(key);
      };
      try {
        const answer = (await entry.answer) as Answer; // as above
        const kept = keep(answer);
        if (kept === false) forget();
        else if (kept !== true) entry.kept_ms = kept;
        return answer;
      } catch (error) {
        forget();
        throw error;
      }
    },
  };
}
