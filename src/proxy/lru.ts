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

// A cache of answers, kept for a short time in this process, so that tills that poll don't become upstream calls.

/** Entries kept at most over all kinds; a forgotten one only costs a call. */
const CAPACITY = 20_000;
/** Most answers are fresh for seconds (`reads.fresh_ms` and `reads.search_fresh_ms` are a minute at most): what is older only takes memory. */
const BRIEF_MS = 60_000;

export interface Cache {
  /** The kept answer of a key, or one that is being asked; undefined when there is none. Asks nobody. */
  peek<Answer>(key: string, now: number, fresh_ms: number): Promise<Answer> | undefined;
  /**
   * The kept answer of a key, or what `ask` gives now; callers that come while it is asked share one call.
   * @param fresh_ms how old an answer may be. @param now epoch ms.
   * @param keep false for an answer that must not be kept, such as a failure; a number for one that is kept for so many
   * ms at most.
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
  /** Kept for so long at most, whoever asks. */
  kept_ms: number;
  answer: Promise<unknown>;
}

export function createCache(): Cache {
  const brief = createRecent<Entry>(CAPACITY);
  const long = createRecent<Entry>(CAPACITY);
  let turned_at = 0;
  const turnIfDue = (now: number): void => {
    if (Math.abs(now - turned_at) < BRIEF_MS) return;
    brief.turn();
    turned_at = now;
  };
  /** The same key may be asked for with a long and a brief freshness: what was asked last is the one that counts. */
  const put = (key: string, entry: Entry, fresh_ms: number): Recent<Entry> => {
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
