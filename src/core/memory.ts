/** Answers kept for a short time in this process, so that tills that poll don't become upstream calls. */

/** Entries kept at most over all kinds; a forgotten one only costs a call. */
const CAPACITY = 20_000;

export interface Memory {
  /**
   * The kept answer of a key, or what `ask` gives now; callers that come while it is asked share one call.
   * @param fresh_ms how old an answer may be. @param now epoch ms.
   * @param keep false for an answer that must not be kept, such as a failure.
   */
  recall<Answer>(
    key: string,
    now: number,
    fresh_ms: number,
    ask: () => Promise<Answer>,
    keep?: (answer: Answer) => boolean,
  ): Promise<Answer>;
}

interface Entry {
  at: number;
  answer: Promise<unknown>;
}

export function createMemory(): Memory {
  const entries = new Map<string, Entry>();
  return {
    async recall<Answer>(
      key: string,
      now: number,
      fresh_ms: number,
      ask: () => Promise<Answer>,
      keep: (answer: Answer) => boolean = () => true,
    ): Promise<Answer> {
      const known = entries.get(key);
      if (known !== undefined && now - known.at < fresh_ms && now >= known.at) return known.answer as Promise<Answer>; // stored under its own key
      const entry: Entry = { at: now, answer: ask() };
      entries.delete(key);
      entries.set(key, entry);
      if (entries.size > CAPACITY) entries.delete(entries.keys().next().value ?? '');
      const forget = (): void => {
        if (entries.get(key) === entry) entries.delete(key);
      };
      try {
        const answer = (await entry.answer) as Answer; // as above
        if (!keep(answer)) forget();
        return answer;
      } catch (error) {
        forget();
        throw error;
      }
    },
  };
}
