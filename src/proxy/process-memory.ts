/** What one process remembers beside its store: sales under way, tokens, reads; bounded, and lost without harm when the process ends. */
import { randomUUID } from 'node:crypto';
import type { LinkFamily } from '../mapping/tables.ts';
import { type Failpoint, noFailpoint } from './failpoint.ts';
import { createMint, RANDOM_BYTES, takeRandom, uuidV7 } from './ids.ts';
import { createSerial, type Serial } from './keyed-mutex.ts';
import { type Cache, createCache, createPassing, createRecent, type Passing, type Recent } from './lru.ts';
import { ANY_POINT_OF_SALE } from './records/routing.ts';
import type { Link } from './sales/link.ts';
import type { Secret } from './vault.ts';

export interface ProcessMemory {
  /** One thing at a time per key. */
  mutex: Serial;
  retries: RetryBudget;
  /** Answers that are kept for a short time. */
  cache: Cache;
  ids: Ids;
  sales: SaleMemory;
  /** When refunds were asked for of this process, by their id: monotonic ms. */
  asked: Recent<number>;
  tokens: TokenMemory;
  /** Units that a proxied create holds on legacy although its row could not be written. */
  unrecorded: Unrecorded;
  failpoint: Failpoint;
}

/** By legacy id unless it says otherwise. */
export interface SaleMemory {
  /** Legacy ids whose create was sent by this process and not committed since. */
  unsettled: Passing<true>;
  /** Creates that a till of this process waits for now, by legacy id. */
  flights: Passing<Flight>;
  /**
   * Since when upstream says of a refund in doubt that it has none, by its id; and when the events of a create in doubt
   * were called for, by legacy id: monotonic ms.
   */
  missing: Recent<number>;
  /** Orders that the last read of this process did not find, by their id: since which read, and the last one; monotonic ms. */
  unfound: Recent<{ since_ms: number; last_ms: number }>;
  /** Sales whose order is not what was asked for, by the last answer about it; by legacy id: since which answer, and the last one. */
  contradicted: Recent<{ what: string; since_ms: number; last_ms: number }>;
  /** What holds a terminal on which no sale went well since, by merchant and terminal (`proxy/point/held-terminal.ts`). */
  held_terminals: Recent<'late_order' | 'legacy_sale' | 'foreign'>;
  /** Since when this process looks at orders that are shown as over and may yet be paid, by legacy id: monotonic ms. */
  awaited: Recent<number>;
  /** The unsigned event, by its sequence, that is tried again for a link in doubt while its order is not there; by legacy id. */
  absent: Recent<number>;
  /** References that are used upstream, by merchant and reference (`proxy/sales/new-link.ts`). */
  spent: Recent<true>;
  /** When this process opened sales without a key, by legacy id: monotonic ms. */
  opened: Recent<number>;
  /** Sales that their tills know, although this could not be written, by legacy id (`proxy/sales/heard.ts`). */
  known: Recent<true>;
  /** When each order was last read. */
  reads: RecentReads;
}

export interface TokenMemory {
  /** Tokens that legacy has accepted lately. */
  proofs: Proofs;
  /** Tokens of proxied creates in doubt that nobody could judge. */
  unproven: UnprovenTokens;
}

export interface Ids {
  /** Identifies this run of the process. */
  boot: string;
  /** A lower-case UUID, unused. @param now epoch ms. */
  legacyId(now: number): string;
  /** For merchant orders and refunds: rises, and never meets a real number (`sales/synthetic-ids.ts`). */
  number(now: number): number;
  /** For `X-Idempotency-Key`: one per row, never made again. */
  idempotencyKey(): string;
  /** [0, 1). */
  random(): number;
}

/**
 * Orders whose time goes by this process's own clock. Half as many are sure to be remembered: a whole shop chain's, when its
 * upstream answers 404 to all. The time of one that is forgotten begins anew.
 */
const ORDERS_REMEMBERED = 100_000;

/** Creates and refunds in doubt, and events whose order is not there; one beyond it waits longer. */
const DOUBTS_REMEMBERED = 10_000;

/** Refunds whose age is known by this process's own clock; of one beyond it, by the wall clock. */
const REFUNDS_REMEMBERED = 10_000;

/** Of tills that count from one again each day, 250 with 200 sales each; one that is not remembered costs its sale a refused row. */
const REFERENCES_REMEMBERED = 50_000;

/** The same of sales: a retry comes within a minute, so that 160 a second are sure to be remembered for as long. */
const SALES_REMEMBERED = 20_000;

/** @param parts what tests and crash rigs hand in. `now`: the wall clock, epoch ms. */
export function createProcessMemory(parts: {
  now: () => number;
  random?: () => number;
  failpoint?: Failpoint;
}): ProcessMemory {
  return {
    mutex: createSerial(),
    retries: createRetryBudget(),
    cache: createCache(),
    ids: {
      boot: randomUUID(),
      legacyId: (now) => uuidV7(now, takeRandom(RANDOM_BYTES)),
      number: createMint(),
      idempotencyKey: randomUUID,
      random: parts.random ?? Math.random,
    },
    sales: {
      unsettled: createPassing(),
      flights: createPassing(),
      missing: createRecent(DOUBTS_REMEMBERED),
      unfound: createRecent(ORDERS_REMEMBERED),
      contradicted: createRecent(ORDERS_REMEMBERED),
      held_terminals: createRecent(ORDERS_REMEMBERED),
      awaited: createRecent(ORDERS_REMEMBERED),
      absent: createRecent(DOUBTS_REMEMBERED),
      spent: createRecent(REFERENCES_REMEMBERED),
      opened: createRecent(SALES_REMEMBERED),
      known: createRecent(SALES_REMEMBERED),
      reads: createRecentReads(parts.now),
    },
    asked: createRecent(REFUNDS_REMEMBERED),
    tokens: { proofs: createProofs(), unproven: createUnprovenTokens() },
    unrecorded: createUnrecorded(),
    failpoint: parts.failpoint ?? noFailpoint,
  };
}

// Sales under way in this process.

export type Sent =
  | { kind: 'created'; link: Link }
  /** Upstream refused: for sure (REJECTED), or unexecuted by a rate limit (NOT_SENT). */
  | { kind: 'refused'; link: Link; status: number; body: unknown; retry_after_ms: number | null }
  | { kind: 'not_sent'; link: Link }
  | { kind: 'in_doubt'; link: Link; busy: boolean }
  /** The row had ended before; there was nothing to send. */
  | { kind: 'over'; link: Link };

/** A create under way, and the retries that wait for it. */
export interface Flight {
  token: Secret;
  sent: Promise<Sent>;
}

/** Retries may be a tenth of first attempts … */
const RETRY_RATIO = 0.1;
/** … plus a small stock, so that a quiet shop's single failure is still retried. */
const STOCK = 20;

/** A process-wide cap on retries, so that Puente never makes an outage worse (`docs/protocol.md` P12). */
export interface RetryBudget {
  /** A first attempt was made: earns a tenth of a retry. */
  earn(): void;
  /** True when a retry may be made now; takes it. */
  spend(): boolean;
}

export function createRetryBudget(): RetryBudget {
  let tokens = STOCK;
  return {
    earn() {
      tokens = Math.min(STOCK, tokens + RETRY_RATIO);
    },
    spend() {
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}

/** Orders remembered; at most one entry per live order matters, and a forgotten one only costs a read. */
const READS_REMEMBERED = 20_000;

export interface RecentReads {
  /** Epoch ms of the last completed read's start; 0 when none is remembered, or the clock was set back since (F47). */
  last(order_id: string): number;
  /** Reads begun so far: which of two things came first is told by it, since a clock may stand still (F48). */
  begun(): number;
  /** Counts a read that begins now; its number is for `mark`. */
  begin(): number;
  /** Number of the last completed read; 0 when none is remembered. */
  number(order_id: string): number;
  /** A read that began at `at` as number `number` is complete. */
  mark(order_id: string, at: number, number: number): void;
}

/** @param now the wall clock, epoch ms. */
export function createRecentReads(now: () => number): RecentReads {
  const reads = createRecent<{ at: number; number: number }>(READS_REMEMBERED);
  let begun = 0;
  return {
    last(order_id) {
      const at = reads.get(order_id)?.at ?? 0;
      // A read of the future would count as fresh until the clock has caught up, and its order would not be read till then.
      return at > now() ? 0 : at;
    },
    begun: () => begun,
    begin: () => ++begun,
    number: (order_id) => reads.get(order_id)?.number ?? 0,
    mark: (order_id, at, number) => reads.set(order_id, { at, number }),
  };
}

// Tokens.

/** Tokens remembered at most; a forgotten one is proven again by its next call that works. */
const TOKENS_REMEMBERED = 20_000;

/** Tokens that legacy has taken. In memory alone, and never a credential: the upstream was not asked about them. */
export interface Proofs {
  /** @param until epoch ms. */
  note(fingerprint: string, merchant_id: string, until: number): void;
  /** @returns null for a token that legacy has not taken lately. */
  of(fingerprint: string, now: number): string | null;
}

export function createProofs(): Proofs {
  const taken = createRecent<{ merchant_id: string; until: number }>(TOKENS_REMEMBERED);
  return {
    note: (fingerprint, merchant_id, until) => taken.set(fingerprint, { merchant_id, until }),
    of(fingerprint, now) {
      const known = taken.get(fingerprint);
      if (known === undefined) return null;
      if (known.until > now) return known.merchant_id;
      taken.delete(fingerprint);
      return null;
    },
  };
}

/** Tokens remembered at most, in memory alone; one that is forgotten leaves its sale to the hold. */
const UNPROVEN_TOKENS_REMEMBERED = 1_000;

/** Tokens that nobody could judge, by fingerprint, so that they can be asked about again. */
export interface UnprovenTokens {
  keep(fingerprint: string, token: Secret): void;
  get(fingerprint: string): Secret | undefined;
}

export function createUnprovenTokens(): UnprovenTokens {
  const tokens = createRecent<Secret>(UNPROVEN_TOKENS_REMEMBERED);
  return {
    keep: (fingerprint, token) => tokens.set(fingerprint, token),
    get: (fingerprint) => tokens.get(fingerprint),
  };
}

// Units on legacy.

/** Units remembered at most; the store is away for minutes, and one that is away for long stops every create on orders. */
const UNITS_REMEMBERED = 10_000;

export interface Unrecorded {
  /** @param until epoch ms. */
  hold(merchant_id: string, slot: string, until: number): void;
  /** True while legacy may have something on the slot that the store does not know. */
  holds(merchant_id: string, slot: string, now: number): boolean;
  /** The same of any slot of the merchant and family. */
  holdsAny(merchant_id: string, family: LinkFamily, now: number): boolean;
}

export function createUnrecorded(): Unrecorded {
  const until = new Map<string, number>();
  const holdsKey = (key: string, now: number): boolean => {
    const end = until.get(key);
    if (end !== undefined && end <= now) until.delete(key);
    return end !== undefined && end > now;
  };
  return {
    hold(merchant_id, slot, end) {
      const key = keyOf(merchant_id, slot);
      const longest = Math.max(end, until.get(key) ?? 0);
      until.delete(key); // so that the map stays in the order of the last hold
      until.set(key, longest);
      if (until.size > UNITS_REMEMBERED) until.delete(until.keys().next().value ?? '');
    },
    holds(merchant_id, slot, now) {
      if (until.size === 0) return false;
      const any = slot.startsWith('qr:') && holdsKey(keyOf(merchant_id, ANY_POINT_OF_SALE), now);
      return any || holdsKey(keyOf(merchant_id, slot), now);
    },
    holdsAny(merchant_id, family, now) {
      const start = keyOf(merchant_id, `${family}:`);
      return [...until.keys()].some((key) => key.startsWith(start) && holdsKey(key, now));
    },
  };
}

function keyOf(merchant_id: string, slot: string): string {
  return `${merchant_id}/${slot}`;
}
