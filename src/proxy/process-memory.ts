/** In-memory state of one process beside its store: sales in flight, tokens, reads. Bounded; its loss does no harm. */
import { randomUUID } from 'node:crypto';
import { type AuditLine, chainStart } from './audit.ts';
import { createCache, createEntries, createKeyedMutex, createLru, createWakeup } from './concurrency.ts';
import { createSyntheticNumbers, uuidV7 } from './ids.ts';
import { ANY_POINT_OF_SALE } from './records/routing.ts';
import type { Link } from './sales/link.ts';
import type { Secret } from './vault.ts';

export type ProcessMemory = ReturnType<typeof createProcessMemory>;

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

/** More than the merchants of one process; the age of an evicted token is measured by the wall clock. */
const ACCEPTED_REMEMBERED = 20_000;

/** @param parts `now`: the wall clock, epoch ms; tests and the crash rig set the others. */
export function createProcessMemory(parts: { now: () => number; random?: () => number; failpoint?: Failpoint }) {
  return {
    mutex: createKeyedMutex(),
    retries: createRetryBudget(),
    cache: createCache(),
    ids: {
      /** Identifies this run of the process. */
      boot: String(randomUUID()),
      legacyId: (now: number): string => uuidV7(now),
      /** A rising synthetic number, for merchant orders and refunds (`proxy/ids.ts`). */
      number: createSyntheticNumbers(),
      /** For `X-Idempotency-Key`: one for each row. */
      idempotencyKey: (): string => randomUUID(),
      /** [0, 1). */
      random: parts.random ?? Math.random,
    },
    /** By legacy id, unless a comment says otherwise. */
    sales: {
      /** Creates that this process sent and whose outcome it has not committed. */
      unsettled: createEntries<true>(),
      in_flight: createEntries<Flight>(),
      /** Monotonic ms. Refund id and revision: since when upstream does not know it. Legacy id: when a create's events were recalled. */
      missing: createLru<number>(DOUBTS_REMEMBERED),
      /** Orders that this process's last read did not find, by order id; monotonic ms. */
      unfound: createLru<{ since_ms: number; last_ms: number }>(ORDERS_REMEMBERED),
      contradicted: createLru<{ what: string; since_ms: number; last_ms: number }>(ORDERS_REMEMBERED),
      /** What holds a terminal, until a sale succeeds there; by `terminalOf` (`proxy/point/held-terminal.ts`). */
      held_terminals: createLru<'late_order' | 'legacy_sale' | 'foreign'>(ORDERS_REMEMBERED),
      /** Since when this process watches released orders (`isReleased`): monotonic ms. */
      awaited: createLru<number>(ORDERS_REMEMBERED),
      /** The one event that is retried for a sale, what that showed before, and when it was last tried; by `placeOf` (`proxy/sales/events.ts`). */
      retried: createLru<{ sequence: number; before: { is_paid: boolean; refunds: string }; at: number }>(
        DOUBTS_REMEMBERED,
      ),
      /** Used references, by merchant and reference (`proxy/sales/new-link.ts`). */
      spent: createLru<true>(REFERENCES_REMEMBERED),
      /** When this process opened a sale: monotonic ms. */
      opened: createLru<number>(SALES_REMEMBERED),
      /** Sales that this process answered 2xx for the first time, lost answers left out, by `requestOf`: monotonic ms (`proxy/sales/create.ts`). */
      answered: createLru<{ legacy_id: string; at_ms: number }>(SALES_REMEMBERED),
      /** What this process knows of its answers with a sale (`proxy/sales/known-to-till.ts`). */
      acknowledged: createLru<Acknowledged>(SALES_REMEMBERED),
      /** Writes what became of answers and could not be stored yet; by `requestOf`, then by legacy id. */
      unsaved: createLru<Map<string, () => Promise<void>>>(DOUBTS_REMEMBERED),
      /** Sales that their tills know although the store could not record it (`proxy/sales/known-to-till.ts`). */
      known: createLru<true>(SALES_REMEMBERED),
      reads: createRecentReads(parts.now),
    },
    /** When this process requested a refund, by refund id: monotonic ms. */
    requested_at: createLru<number>(REFUNDS_REMEMBERED),
    tokens: {
      proofs: createProofs(),
      /** When this process stored an accepted token, by fingerprint: monotonic ms. */
      accepted: createLru<number>(ACCEPTED_REMEMBERED),
      /** Tokens of unknown owner of proxied creates in doubt, by fingerprint, so that they can be identified later. */
      unproven: createLru<Secret>(UNPROVEN_TOKENS_REMEMBERED),
    },
    /** Units held by a proxied create whose row could not be written. */
    unrecorded: createUnrecorded(),
    /** Repairs by operators that are under way, by `merchant`, which may be `all`: who started each, and when (epoch ms). */
    repairs: createEntries<{ merchant: string; who: string; at: number }>(),
    disagreements: createDisagreements(),
    /** Called after a commit of work for a loop of this process. */
    wakeups: { notices: createWakeup(), events: createWakeup(), bulk_moves: createWakeup() },
    failpoint: parts.failpoint ?? noFailpoint,
  };
}

/** Of the audit trail up to a line: what stands, by its action and sale, and the newest acceptance by sale. */
export function createDisagreements() {
  return { read_to: chainStart(), standing: createEntries<Standing>(), accepted: new Map<string, AuditLine>() };
}

/** A disagreement that no line of the audit trail has repaired. */
export interface Standing {
  last: AuditLine;
  /** What was said since both last agreed, in the order of the newest line of each. */
  sentences: Set<string>;
  /** Sequence of the line since which nothing new was said. */
  began: number;
}

/** What became of a create that was sent. */
export type Sent =
  | { kind: 'created'; link: Link }
  /** Upstream refused it (REJECTED) or did not execute it (NOT_SENT). */
  | { kind: 'refused'; link: Link; status: number; body: unknown; retry_after_ms: number | null }
  | { kind: 'not_sent'; link: Link }
  | { kind: 'in_doubt'; link: Link; busy: boolean }
  /** The row was terminal already; nothing was sent. */
  | { kind: 'terminal'; link: Link };

/** A create in flight, and the retries that wait for it. */
export interface Flight {
  token: Secret;
  sent: Promise<Sent>;
}

/** `at`: the `acknowledged_at` that this process committed last, or tried to. `fate`: of its answers with the sale. */
export interface Acknowledged {
  at: number;
  fate: 'under way' | 'delivered' | 'taken back';
}

/** Retries per first attempt. */
const RETRY_RATIO = 0.1;
/** Retries in stock, so that a single failure of a quiet shop is retried. */
const STOCK = 20;

/** Limits the retries of the process, so that Puente never makes an outage worse (`docs/protocol.md` P12). */
export function createRetryBudget() {
  let tokens = STOCK;
  return {
    earn(): void {
      tokens = Math.min(STOCK, tokens + RETRY_RATIO);
    },
    spend(): boolean {
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}

/** Only live orders matter; an evicted one costs a read. */
const READS_REMEMBERED = 20_000;

/** @param now the wall clock, epoch ms. */
export function createRecentReads(now: () => number) {
  const reads = createLru<{ at: number; number: number }>(READS_REMEMBERED);
  let begun = 0;
  return {
    /** Epoch ms when the last completed read began; 0 when unknown, or when the clock was set back since (F47). */
    last(order_id: string): number {
      const at = reads.get(order_id)?.at ?? 0;
      // A read dated in the future would stay fresh until the clock has caught up.
      return at > now() ? 0 : at;
    },
    /** Reads begun so far: gives an order in time even if the clock stands still (F48). */
    begun: () => begun,
    begin: () => ++begun,
    /** Of the last completed read; 0 when unknown. */
    number: (order_id: string): number => reads.get(order_id)?.number ?? 0,
    /** A read is complete. @param at epoch ms when it began. */
    mark: (order_id: string, at: number, number: number): void => reads.set(order_id, { at, number }),
  };
}

/** An evicted token is proven again by its next successful call. */
const TOKENS_REMEMBERED = 20_000;

/** Tokens that legacy accepted lately. Never used as credentials, because upstream has not accepted them. */
export function createProofs() {
  const taken = createLru<{ merchant_id: string; until: number }>(TOKENS_REMEMBERED);
  return {
    /** @param until epoch ms. */
    note: (fingerprint: string, merchant_id: string, until: number): void =>
      taken.set(fingerprint, { merchant_id, until }),
    of(fingerprint: string, now: number): string | null {
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

/** Units whose sale on legacy could not be stored: held in memory instead, each until its end. */
export function createUnrecorded() {
  const until = new Map<string, number>();
  const holdsKey = (key: string, now: number): boolean => {
    const end = until.get(key);
    if (end !== undefined && end <= now) until.delete(key);
    return end !== undefined && end > now;
  };
  return {
    /** @param end epoch ms. */
    hold(merchant_id: string, slot: string, end: number): void {
      const key = keyOf(merchant_id, slot);
      const longest = Math.max(end, until.get(key) ?? 0);
      until.delete(key); // keeps the map in the order of the last hold
      until.set(key, longest);
      if (until.size > UNITS_REMEMBERED) until.delete(until.keys().next().value ?? '');
    },
    /** True while legacy may have a sale on the slot that is not stored. */
    holds(merchant_id: string, slot: string, now: number): boolean {
      if (until.size === 0) return false;
      const any = slot.startsWith('qr:') && holdsKey(keyOf(merchant_id, ANY_POINT_OF_SALE), now);
      return any || holdsKey(keyOf(merchant_id, slot), now);
    },
  };
}

function keyOf(merchant_id: string, slot: string): string {
  return `${merchant_id}/${slot}`;
}

// The named points at which a crash test may stop the process (`docs/protocol.md` §5.4); otherwise they do nothing.

/** Steps at which the crash rig ends a process (`test/crash`). */
export const failpoints = [
  'create.before_row',
  'create.row_written',
  'create.before_send',
  'create.answer_read',
  'create.settled',
  'answer.sent',
  'proxied.row_written',
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

/** Called at each named step; the crash rig ends the process in it (`test/crash`). */
export type Failpoint = (name: (typeof failpoints)[number]) => void;
/** Does nothing: for every process but those of the crash rig. */
export const noFailpoint: Failpoint = () => undefined;
