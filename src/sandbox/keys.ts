/** The idempotency memory: 24 hours per merchant and key, in the five variants of `reliability.md` §3.1. */
import type { Settings } from './assumptions.ts';
import type { Clock } from './clock.ts';

/** `interface.md` Limits: key memory of 24 hours. */
const MEMORY_MS = 24 * 60 * 60 * 1000;
const MINUTE_MS = 60_000;

export interface SavedAnswer {
  status: number;
  body: string;
}

export interface KeyEntry {
  /** Hash of method, path and body; null when the body was never read, which matches any. */
  fingerprint: string | null;
  stored_at_ms: number;
  answer: SavedAnswer;
  /** The order that came of it. */
  order_id: string | null;
}

export interface KeyMemory {
  find(merchant_id: string, key: string): KeyEntry | undefined;
  store(merchant_id: string, key: string, entry: Omit<KeyEntry, 'stored_at_ms'>): void;
  clear(): void;
}

export function createKeyMemory(clock: Clock, settings: Settings): KeyMemory {
  const entries = new Map<string, KeyEntry>();
  return {
    find(merchant_id, key) {
      const entry = entries.get(`${merchant_id}/${key}`);
      if (entry === undefined) return undefined;
      const age_ms = clock.now() - entry.stored_at_ms;
      const memory_ms = settings.replay === 'forgets' ? settings.replay_forget_after_minutes * MINUTE_MS : MEMORY_MS;
      return age_ms < memory_ms ? entry : undefined;
    },
    store(merchant_id, key, entry) {
      forgetOld();
      const name = `${merchant_id}/${key}`;
      entries.delete(name); // so that the map stays in order of age
      entries.set(name, { ...entry, stored_at_ms: clock.now() });
    },
    clear: () => entries.clear(),
  };

  /** Entries are in order of age, so the walk stops at the first young one. */
  function forgetOld(): void {
    const oldest_ms = clock.now() - MEMORY_MS;
    for (const [name, entry] of entries) {
      if (entry.stored_at_ms > oldest_ms) return;
      entries.delete(name);
    }
  }
}
