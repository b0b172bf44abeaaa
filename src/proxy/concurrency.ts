/** Tools for concurrent work in one process: mutex by key, FIFO queue, drain, in-flight count, batches, LRU, cache. */

/** Work on one link never overlaps with other work on it (`docs/protocol.md` §3.3 c). */
export function createKeyedMutex() {
  const tails = createEntries<Promise<unknown>>();
  return {
    /** Runs `work` after all earlier work for `key`; a failure does not stop later work. */
    run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      tails.set(key, mine);
      const clean = (): void => {
        if (tails.get(key) === mine) tails.delete(key);
      };
      mine.then(clean, clean);
      return mine;
    },
    /** True while work for the key is queued or running. */
    busy: (key: string): boolean => tails.has(key),
  };
}

/** An entry of a queue, by which it leaves. */
export interface Place<Value> {
  readonly value: Value;
  before: Place<Value> | null;
  after: Place<Value> | null;
  is_left: boolean;
}

export type Queue<Value> = ReturnType<typeof createQueue<Value>>;

/** First in, first out; an entry may leave early. Not a Set, which keeps deleted entries alive (`createEntries`). */
export function createQueue<Value>() {
  let first: Place<Value> | null = null;
  let last: Place<Value> | null = null;
  return {
    join(value: Value): Place<Value> {
      const place: Place<Value> = { value, before: last, after: null, is_left: false };
      if (last === null) first = place;
      else last.after = place;
      last = place;
      return place;
    },
    /** No effect on a place that was left before. */
    leave(place: Place<Value>): void {
      if (place.is_left) return;
      place.is_left = true;
      if (place.before === null) first = place.after;
      else place.before.after = place.after;
      if (place.after === null) last = place.before;
      else place.after.before = place.before;
      // A place that left must not keep later places alive.
      place.before = null;
      place.after = null;
    },
    /** The oldest entry; null when the queue is empty. */
    first: (): Value | null => first?.value ?? null,
  };
}

/**
 * Waits for all work begun before a moment, while later work goes on. A ticket is the number of a round: `settled`
 * closes the round, and later work belongs to the next one.
 */
export function createDrain() {
  const open = new Map<number, number>();
  let round = 0;
  let waiting: { round: number; resolve: () => void }[] = [];
  const isDrained = (closed: number): boolean => [...open.keys()].every((one) => one > closed);
  return {
    /** Work begins; returns its ticket, for `done`. */
    begin(): number {
      open.set(round, (open.get(round) ?? 0) + 1);
      return round;
    },
    done(ticket: number): void {
      const left = (open.get(ticket) ?? 0) - 1;
      if (left > 0) return void open.set(ticket, left);
      open.delete(ticket);
      const drained = waiting.filter((one) => isDrained(one.round));
      waiting = waiting.filter((one) => !drained.includes(one));
      for (const { resolve } of drained) resolve();
    },
    settled(): Promise<void> {
      const closed = round++;
      return isDrained(closed) ? Promise.resolve() : new Promise((resolve) => waiting.push({ round: closed, resolve }));
    },
    open: () => [...open.values()].reduce((sum, count) => sum + count, 0),
  };
}

/** Counts calls under way, so that a loop can wait until fewer are. */
export function createInFlightCount() {
  let running = 0;
  let onEnd = (): void => undefined;
  return {
    async run<Made>(work: () => Promise<Made>): Promise<Made> {
      running++;
      try {
        return await work();
      } finally {
        running--;
        onEnd();
      }
    },
    running: () => running,
    /** Resolves when fewer than `limit` run. One caller may wait at a time. */
    async below(limit: number): Promise<void> {
      while (running >= limit)
        await new Promise<void>((resolve) => {
          onEnd = resolve;
        });
    },
  };
}

/** Resolves in the next event-loop tick, after everything that is due now. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Larger batches were not faster; calls that answer at once end before later ones count as in flight. */
const BATCH = 32;

/**
 * Begins all calls of one event-loop tick together. Alone, each call runs hundreds of functions, more than processor
 * caches hold; together, all but the first find every step cached: 0.76 × the processor time of a create, 0.59 × of a
 * read of a terminal intent (64 in flight, one core). A call begins within its tick.
 * @param begin must not throw: later calls of the batch would be lost.
 */
export function batchPerTick<Call>(begin: (call: Call) => void): (call: Call) => void {
  let gathering: Call[] = [];
  return (call) => {
    if (gathering.length === 0 || gathering.length === BATCH) {
      const calls: Call[] = [];
      gathering = calls;
      setImmediate(() => {
        if (gathering === calls) gathering = [];
        for (const one of calls) begin(one);
      });
    }
    gathering.push(call);
  };
}

// Entries by key: a bounded LRU, a table of in-flight entries, and a short-lived cache of answers.

type Lru<Value> = ReturnType<typeof createLru<Value>>;

/**
 * Bounded, for any number of invented keys (`test/faults/README.md` F102). Two generations: a full young one replaces the old one, whose unused entries are dropped. One map whose oldest key is
 * deleted for each new key costs fifty times as much, because V8 walks past deleted keys.
 * @param capacity keys kept at most; the half used last is always kept.
 */
export function createLru<Value>(capacity: number) {
  // Maps here, because most keys come once: an object makes each key unique among all strings first, three times the work.
  let young = new Map<string, Value>();
  let old = new Map<string, Value>();
  const age = (): void => {
    old = young;
    young = new Map();
  };
  const set = (key: string, value: Value): void => {
    if (young.size >= capacity / 2 && !young.has(key)) age();
    young.set(key, value);
    old.delete(key);
  };
  return {
    get(key: string): Value | undefined {
      const known = young.get(key);
      if (known !== undefined) return known;
      const value = old.get(key);
      if (value !== undefined) set(key, value);
      return value;
    },
    set,
    delete(key: string): void {
      young.delete(key);
      old.delete(key);
    },
    /** Drops entries that were not used since the last call of this. */
    age,
  };
}

/** In-flight entries. Not a Map: V8 keeps deleted entries alive, and collection took 30 µs for each event, not 5. */
export function createEntries<Value>() {
  // Without a prototype V8 makes it a hash table from the start.
  const entries: Record<string, Value> = Object.create(null);
  let size = 0;
  return {
    get: (key: string): Value | undefined => entries[key],
    has: (key: string): boolean => key in entries,
    set(key: string, value: Value): void {
      if (!(key in entries)) size++;
      entries[key] = value;
    },
    delete(key: string): void {
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

/** Entries of all kinds; an evicted one costs one upstream call. */
const CAPACITY = 20_000;
/** Most answers are fresh for seconds, a minute at most (`reads.fresh_ms`, `reads.search_fresh_ms`). */
const BRIEF_MS = 60_000;

interface Entry {
  at: number;
  /** Greatest age; a caller's `fresh_ms` may be shorter. */
  kept_ms: number;
  answer: Promise<unknown>;
}

/** Answers kept for a short time, so that polls of tills do not become upstream calls. */
export function createCache() {
  const brief = createLru<Entry>(CAPACITY);
  const long = createLru<Entry>(CAPACITY);
  let aged_at = 0;
  const ageIfDue = (now: number): void => {
    if (Math.abs(now - aged_at) < BRIEF_MS) return;
    brief.age();
    aged_at = now;
  };
  /** A key may be requested with long and brief freshness; the last request counts. */
  const put = (key: string, entry: Entry, fresh_ms: number): Lru<Entry> => {
    const [its, other] = fresh_ms > BRIEF_MS ? [long, brief] : [brief, long];
    other.delete(key);
    its.set(key, entry);
    return its;
  };
  const peek = <Answer>(key: string, now: number, fresh_ms: number): Promise<Answer> | undefined => {
    ageIfDue(now);
    const known = brief.get(key) ?? long.get(key);
    if (known === undefined || now < known.at || now - known.at >= Math.min(fresh_ms, known.kept_ms)) return undefined;
    return known.answer as Promise<Answer>; // stored under its own key
  };
  return {
    /** The kept or requested answer of a key; undefined without one. Requests nothing. */
    peek,
    /**
     * The kept answer of a key, or the result of `request`, shared by concurrent callers. `now`: epoch ms.
     * @param keep false for an answer that must not be kept, such as a failure; a number: keep it for at most so many ms.
     */
    async get<Answer>(
      key: string,
      now: number,
      fresh_ms: number,
      request: () => Promise<Answer>,
      keep: (answer: Answer) => boolean | number = () => true,
    ): Promise<Answer> {
      const known = peek<Answer>(key, now, fresh_ms);
      if (known !== undefined) return known;
      const entry: Entry = { at: now, kept_ms: Number.POSITIVE_INFINITY, answer: request() };
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

/** Wakes a loop that may start later; earlier wakes are lost, because a loop reads the store when it starts. */
export function createWakeup() {
  let listener = (_merchant_id?: string): void => undefined;
  return {
    /** @param merchant_id whose work is new; without it, anybody's. */
    wake: (merchant_id?: string) => listener(merchant_id),
    to: (named: (merchant_id?: string) => void): void => {
      listener = named;
    },
  };
}
