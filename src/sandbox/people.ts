/** Who there is in the sandbox: sellers, integrators, their tokens, idempotency keys and ids. */

import { PuenteError } from '../error.ts';
import type { Settings } from './assumptions.ts';
import { createCast, type Merchant, type Occupation, type PointOfSale, type Store, type Terminal } from './cast.ts';
import type { Clock } from './clock.ts';

/** Merchants, tokens, stores, points of sale and terminals; `fill` puts the cast back. */
export function createPeople() {
  const merchants = new Map<string, Merchant>();
  const tokens = new Map<string, Merchant>();
  const oauth_tokens = new Set<string>();
  const stores = new Map<string, Store>();
  const points_of_sale = new Map<number, PointOfSale>();
  const terminals = new Map<string, Map<string, Terminal>>();
  const lists = new Map<string, Terminal[]>();
  const addTerminal = (terminal: Terminal): void => {
    terminals.get(terminal.merchant_id)?.set(terminal.id, terminal);
    lists.get(terminal.merchant_id)?.push(terminal);
  };
  return {
    merchants,
    tokens,
    oauth_tokens,
    stores,
    points_of_sale,
    addTerminal,
    terminal: (merchant_id: string, terminal_id: string) => terminals.get(merchant_id)?.get(terminal_id),
    terminals: (merchant_id: string) => lists.get(merchant_id) ?? [],
    occupy(terminal: Terminal, occupation: Occupation): void {
      if (terminal.occupation !== null) {
        const holder = terminal.occupation.id;
        throw new PuenteError('conflict', `Terminal ${terminal.id} already holds ${holder}; end that first.`);
      }
      terminal.occupation = occupation;
    },
    release(terminal: Terminal, id: string): void {
      if (terminal.occupation?.id === id) terminal.occupation = null;
    },
    fill(extra_terminals: number): void {
      const cast = createCast(extra_terminals);
      for (const map of [merchants, tokens, oauth_tokens, stores, points_of_sale, terminals, lists]) map.clear();
      for (const merchant of cast.merchants) {
        merchants.set(merchant.user_id, merchant);
        tokens.set(merchant.access_token, merchant);
        terminals.set(merchant.user_id, new Map());
        lists.set(merchant.user_id, []);
      }
      for (const store of cast.stores) stores.set(store.id, store);
      for (const point of cast.points_of_sale) points_of_sale.set(point.id, point);
      for (const terminal of cast.terminals) addTerminal(terminal);
    },
  };
}

// The part of the control door that changes what a merchant may do: its token, and the agreements behind it.

// Who is calling: bearer tokens, and the answers to a missing, malformed or unknown one (`docs/field-notes.md` Orders §1.5).

// The idempotency memory: 24 hours per merchant and key, in the five variants of `docs/protocol.md` §3.1.

/** `docs/field-notes.md` Spec Limits: key memory of 24 hours. */
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

// Ids of orders, payments and refunds: a prefix and a ULID (`docs/field-notes.md` Orders §1.4).
