/** In-memory state of one process beside its store: sales in flight, tokens, reads. Bounded; its loss does no harm. */
import { randomUUID } from 'node:crypto';
import type { LinkFamily } from '../mapping/tables.ts';
import {
  type Cache,
  createCache,
  createEntries,
  createKeyedMutex,
  createLru,
  createWakeup,
  type Entries,
  type KeyedMutex,
  type Lru,
  type Wakeup,
} from './concurrency.ts';
import { createMint, RANDOM_BYTES, takeRandom, uuidV7 } from './ids.ts';
import { ANY_POINT_OF_SALE } from './records/routing.ts';
import type { Link } from './sales/link.ts';
import type { Secret } from './vault.ts';

export interface ProcessMemory {
  mutex: KeyedMutex;
  retries: RetryBudget;
  cache: Cache;
  ids: Ids;
  sales: SaleMemory;
  /** When this process requested a refund, by refund id: monotonic ms. */
  asked: Lru<number>;
  tokens: TokenMemory;
  /** Units held by a proxied create whose row could not be written. */
  unrecorded: Unrecorded;
  /** Called after a commit of work for a loop of this process. */
  wakeups: { notices: Wakeup; events: Wakeup; bulk_moves: Wakeup };
  failpoint: Failpoint;
}

/** By legacy id, unless a comment says otherwise. */
export interface SaleMemory {
  /** Creates that this process sent and whose outcome it has not committed. */
  unsettled: Entries<true>;
  flights: Entries<Flight>;
  /** Monotonic ms. Refund id: since when upstream does not know it. Legacy id: when a create's events were recalled. */
  missing: Lru<number>;
  /** Orders that this process's last read did not find, by order id; monotonic ms. */
  unfound: Lru<{ since_ms: number; last_ms: number }>;
  contradicted: Lru<{ what: string; since_ms: number; last_ms: number }>;
  /** What holds a terminal, until a sale succeeds there; by `terminalOf` (`proxy/point/held-terminal.ts`). */
  held_terminals: Lru<'late_order' | 'legacy_sale' | 'foreign'>;
  /** Since when this process watches released orders (`isReleased`): monotonic ms. */
  awaited: Lru<number>;
  /** Sequence of the one unsigned event that is retried for a link in doubt. */
  absent: Lru<number>;
  /** Used references, by merchant and reference (`proxy/sales/new-link.ts`). */
  spent: Lru<true>;
  /** When this process opened a sale: monotonic ms. */
  opened: Lru<number>;
  /** Sales that their tills know although the store could not record it (`proxy/sales/acknowledgement.ts`). */
  known: Lru<true>;
  reads: RecentReads;
}

export interface TokenMemory {
  proofs: Proofs;
  /** Tokens of unknown owner of proxied creates in doubt, by fingerprint, so that they can be identified later. */
  unproven: Lru<Secret>;
}

export interface Ids {
  /** Identifies this run of the process. */
  boot: string;
  legacyId(now: number): string;
  /** A rising synthetic number, for merchant orders and refunds (`proxy/ids.ts`). */
  number(now: number): number;
  /** For `X-Idempotency-Key`: one for each row. */
  idempotencyKey(): string;
  /** [0, 1). */
  random(): number;
}

/** Half are always kept, enough for a chain whose orders all get 404. The time of an evicted order begins again. */
const ORDERS_REMEMBERED = 100_000;

/** Creates and refunds in doubt, and events without an order; an evicted one waits longer. */
const DOUBTS_REMEMBERED = 10_000;

/** An evicted refund is timed by the wall clock. */
const REFUNDS_REMEMBERED = 10_000;

/** 250 tills that number 200 sales from one each day; an evicted reference costs a refused insert. */
const REFERENCES_REMEMBERED = 50_000;

/** A retry comes within a minute: enough for 160 sales a second. */
const SALES_REMEMBERED = 20_000;

/** @param parts `now`: the wall clock, epoch ms; tests and the crash rig set the others. */
export function createProcessMemory(parts: {
  now: () => number;
  random?: () => number;
  failpoint?: Failpoint;
}): ProcessMemory {
  return {
    mutex: createKeyedMutex(),
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
      unsettled: createEntries(),
      flights: createEntries(),
      missing: createLru(DOUBTS_REMEMBERED),
      unfound: createLru(ORDERS_REMEMBERED),
      contradicted: createLru(ORDERS_REMEMBERED),
      held_terminals: createLru(ORDERS_REMEMBERED),
      awaited: createLru(ORDERS_REMEMBERED),
      absent: createLru(DOUBTS_REMEMBERED),
      spent: createLru(REFERENCES_REMEMBERED),
      opened: createLru(SALES_REMEMBERED),
      known: createLru(SALES_REMEMBERED),
      reads: createRecentReads(parts.now),
    },
    asked: createLru(REFUNDS_REMEMBERED),
    tokens: { proofs: createProofs(), unproven: createLru(UNPROVEN_TOKENS_REMEMBERED) },
    unrecorded: createUnrecorded(),
    wakeups: { notices: createWakeup(), events: createWakeup(), bulk_moves: createWakeup() },
    failpoint: parts.failpoint ?? noFailpoint,
  };
}

export type Sent =
  | { kind: 'created'; link: Link }
  /** Upstream refused it (REJECTED) or did not execute it (NOT_SENT). */
  | { kind: 'refused'; link: Link; status: number; body: unknown; retry_after_ms: number | null }
  | { kind: 'not_sent'; link: Link }
  | { kind: 'in_doubt'; link: Link; busy: boolean }
  /** The row was terminal already; nothing was sent. */
  | { kind: 'over'; link: Link };

/** A create in flight, and the retries that wait for it. */
export interface Flight {
  token: Secret;
  sent: Promise<Sent>;
}

/** Retries per first attempt. */
const RETRY_RATIO = 0.1;
/** Retries in stock, so that a single failure of a quiet shop is retried. */
const STOCK = 20;

/** Limits the retries of the process, so that Puente never makes an outage worse (`docs/protocol.md` P12). */
export interface RetryBudget {
  earn(): void;
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

/** Only live orders matter; an evicted one costs a read. */
const READS_REMEMBERED = 20_000;

export interface RecentReads {
  /** Epoch ms when the last completed read began; 0 when unknown, or when the clock was set back since (F47). */
  last(order_id: string): number;
  /** Reads begun so far: gives an order in time even if the clock stands still (F48). */
  begun(): number;
  begin(): number;
  /** Of the last completed read; 0 when unknown. */
  number(order_id: string): number;
  /** A read is complete. @param at epoch ms when it began. */
  mark(order_id: string, at: number, number: number): void;
}

/** @param now the wall clock, epoch ms. */
export function createRecentReads(now: () => number): RecentReads {
  const reads = createLru<{ at: number; number: number }>(READS_REMEMBERED);
  let begun = 0;
  return {
    last(order_id) {
      const at = reads.get(order_id)?.at ?? 0;
      // A read dated in the future would stay fresh until the clock has caught up.
      return at > now() ? 0 : at;
    },
    begun: () => begun,
    begin: () => ++begun,
    number: (order_id) => reads.get(order_id)?.number ?? 0,
    mark: (order_id, at, number) => reads.set(order_id, { at, number }),
  };
}

/** An evicted token is proven again by its next successful call. */
const TOKENS_REMEMBERED = 20_000;

/** Tokens that legacy accepted lately. Never used as credentials, because upstream has not accepted them. */
export interface Proofs {
  /** @param until epoch ms. */
  note(fingerprint: string, merchant_id: string, until: number): void;
  of(fingerprint: string, now: number): string | null;
}

export function createProofs(): Proofs {
  const taken = createLru<{ merchant_id: string; until: number }>(TOKENS_REMEMBERED);
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

/** The sale of an evicted token holds its unit for its whole time. */
const UNPROVEN_TOKENS_REMEMBERED = 1_000;

/** Enough for minutes without a store; a longer outage stops every create on orders. */
const UNITS_REMEMBERED = 10_000;

export interface Unrecorded {
  /** @param until epoch ms. */
  hold(merchant_id: string, slot: string, until: number): void;
  /** True while legacy may have a sale on the slot that is not stored. */
  holds(merchant_id: string, slot: string, now: number): boolean;
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
      until.delete(key); // keeps the map in the order of the last hold
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

// The named points at which a crash test may stop the process (`docs/protocol.md` §5.4); otherwise they do nothing.

export const failpoints = [
  'create.before_row',
  'create.row_written',
  'create.before_send',
  'create.answer_read',
  'create.settled',
  'answer.sent',
  'carried.row_written',
  'order.applied',
  'cancel.marked',
  'cancel.sent',
  'refund.row_written',
  'refund.answer_read',
  'refund.settled',
  'event.before_inbox',
  'event.received',
  'notices.committed',
  'notice.sent',
  'notice.recorded',
  'stage.before_save',
  'stage.saved',
  'store.group_posted',
  'migration.begun',
  'migration.applied',
  'migration.committed',
  'copy.written',
  'copy.in_place',
  'backup.begun',
  'backup.copied',
  'backup.in_place',
  'restore.proved',
  'restore.aside',
  'restore.in_place',
  'transfer.copied',
  'transfer.proved',
  'transfer.noted',
] as const;

export type Failpoint = (name: (typeof failpoints)[number]) => void;
export const noFailpoint: Failpoint = () => undefined;
