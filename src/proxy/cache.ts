/** A cache of answers, kept for a short time in this process, so that tills that poll don't become upstream calls. */

import { createRecent, type Recent } from './lru.ts';

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
