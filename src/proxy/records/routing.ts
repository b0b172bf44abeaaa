/** What the store keeps for moving merchants: sales born on legacy, proposals that wait for a second person, bulk moves. */
import type { LinkFamily } from '../../mapping/tables.ts';
import type { AuditEntry, AuditLine } from '../audit.ts';
import type { Merchant, RoutedKind, Trip } from '../routing/merchant.ts';
import type { Link } from '../sales/link.ts';
import type { InboxEvent } from './notices.ts';

/**
 * SENDING: written, the bytes are being carried. IN_DOUBT: no answer came; it may exist. OPEN: legacy took it.
 * ENDED: it is over, or a later one took its place. REFUSED: legacy refused it. The first three hold their unit until `ends_at`.
 */
export const legacySaleStates = ['SENDING', 'IN_DOUBT', 'OPEN', 'ENDED', 'REFUSED'] as const;
export type LegacySaleState = (typeof legacySaleStates)[number];

/** Slot of a sale whose point of sale is known by its number alone: any of the merchant's may be meant. */
export const ANY_POINT_OF_SALE = 'qr:*';

/** A request without an answer takes effect within so long, or never: no carrier and no service keeps one longer. */
export const LATE_EFFECT_MS = 60_000;

/** Work whose lane of birth is legacy, so that its unit stays there until it is over, and reports know of it. */
export interface LegacySale {
  /** UUID v7, Puente's own. */
  id: string;
  merchant_id: string;
  family: LinkFamily;
  /** A refund that the terminal carries out occupies it as a sale does (`legacy-point.md` §1.8). */
  work: 'sale' | 'refund';
  /** With the slot `ANY_POINT_OF_SALE`: the number of the point of sale. */
  unit: string;
  /** Null for what holds nothing: a dynamic QR, a number that no point of sale of orders has. */
  slot: string | null;
  /** As legacy answered: intent id, `in_store_order_id`; null while unknown, or where legacy answers none. */
  legacy_id: string | null;
  client_reference: string | null;
  state: LegacySaleState;
  /** Fingerprint of the token it came with, while nobody has proved that token to be the merchant's; null: proven. */
  unproven_token: string | null;
  /** Epoch ms after which it holds its unit no more. */
  ends_at: number;
  created_at: number;
  /** Epoch ms of its last change of state. */
  updated_at: number;
}

export interface LegacySaleChange
  extends Partial<Pick<LegacySale, 'state' | 'legacy_id' | 'unit' | 'slot' | 'ends_at'>> {
  /** It is proven now. */
  unproven_token?: null;
  /** Epoch ms when the state changed; now, unless it is said. */
  at?: number;
}

/** A move that waits for a second person. */
export interface Proposal {
  id: string;
  merchant_id: string;
  /** The body of the move, as it will be judged again when it is approved. */
  move: Record<string, unknown>;
  reason: string;
  proposed_by: string;
  proposed_at: number;
  expires_at: number;
  state: 'waiting' | 'approved' | 'declined' | 'expired' | 'withdrawn';
  decided_by: string | null;
  decided_at: number | null;
}

export interface BulkItem {
  merchant_id: string;
  /** `proposed`: waits for a second person. `skipped`: was there already, or its turn never came. */
  state: 'waiting' | 'moved' | 'proposed' | 'refused' | 'skipped';
  /** What was said of it: the move, or why not. */
  detail: string;
  at: number | null;
  /** Where this one goes, if elsewhere than the rest; laid over the move of all. */
  own?: Record<string, unknown>;
}

/** Many moves with a daily budget, one after the other; stops at the first safety stop among its merchants. */
export interface BulkMove {
  id: string;
  /** Target of every item: the body of a move without reason and revision. */
  move: Record<string, unknown>;
  reason: string;
  who: string;
  /** Moves a UTC day. */
  per_day: number;
  items: BulkItem[];
  state: 'running' | 'stopped' | 'done' | 'aborted';
  /** Why it stands still, or what it waits for. */
  detail: string;
  created_at: number;
  updated_at: number;
  revision: number;
}

/** What is open for one merchant, counted. */
export interface OpenCount {
  merchant_id: string;
  /** Sales that are open on orders, and on legacy. */
  orders: number;
  legacy: number;
  /** Of both, creates whose outcome nobody knows yet. */
  in_doubt: number;
  /** Notices that wait to be told. */
  notices_pending: number;
}

export interface RoutingStore {
  /**
   * Writes the row of a create that is about to be carried, unless a link of ours holds the slot, or any slot of QR that
   * `ANY_POINT_OF_SALE` stands for: then nothing is written, and that link is returned.
   */
  openLegacySale(sale: LegacySale): Promise<Link | null>;
  /**
   * One that is OPEN and has its slot ends every earlier one there: a unit takes one at a time, and a QR is replaced. Those
   * without an answer whose row is younger than `LATE_EFFECT_MS` stay: their request may still be on its way.
   */
  saveLegacySale(id: string, change: LegacySaleChange): Promise<void>;
  /** By the id that legacy gave. */
  legacySale(legacy_id: string): Promise<LegacySale | null>;
  /**
   * The newest that holds the slot at `now`, by itself or as any point of sale; null when none does.
   * @param which `proven`: of a token that was accepted as the merchant's, or taken by legacy.
   */
  heldByLegacy(merchant_id: string, slot: string, now: number, which?: 'any' | 'proven'): Promise<LegacySale | null>;
  /** Those that hold a unit at `now`, oldest first. */
  openLegacySales(merchant_id: string, now: number, limit: number): Promise<LegacySale[]>;
  legacySalesByReference(merchant_id: string, client_reference: string, limit: number): Promise<LegacySale[]>;
  /** Of all merchants together, those that nobody has proved to be one too; newest first. */
  legacySalesByAnyReference(client_reference: string, limit: number): Promise<LegacySale[]>;
  /** Deletes those written before, oldest first, that hold nothing at `now`. @returns how many. */
  tidyLegacySales(before: number, now: number, limit: number): Promise<number>;

  /** What is open now, by merchant; those with nothing open are left out. */
  openCounts(now: number): Promise<OpenCount[]>;
  /** Live links of a merchant, oldest first; of all when null. */
  liveLinks(merchant_id: string | null, limit: number): Promise<Link[]>;
  /** Links made or changed since, by `updated_at`; after the cursor (`updated_at`, `legacy_id`), ascending. */
  linksChangedSince(
    since: number,
    after: { updated_at: number; legacy_id: string } | null,
    limit: number,
  ): Promise<Link[]>;
  /** Every change of state of a link, oldest first; the store notes them by itself. */
  linkHistory(
    legacy_id: string,
  ): Promise<{ at: number; state: Link['state']; legacy_state: string; order_status: string | null }[]>;

  /** Sets or clears (null) safety stops, with the audit line; the merchant's revision rises. @throws PuenteError conflict. */
  saveTrips(
    merchant_id: string,
    trips: Partial<Record<RoutedKind, Trip | null>>,
    revision: number,
    audit: AuditEntry,
  ): Promise<Merchant>;

  saveProposal(proposal: Proposal, audit: AuditEntry | null): Promise<void>;
  proposal(id: string): Promise<Proposal | null>;
  /** Newest first. */
  proposals(filter: { merchant_id?: string; state?: Proposal['state'] }, limit: number): Promise<Proposal[]>;

  /** `expected_revision` 0 writes a new one. @throws PuenteError conflict. */
  saveBulkMove(bulk: BulkMove, expected_revision: number, audit: AuditEntry | null): Promise<BulkMove>;
  bulkMove(id: string): Promise<BulkMove | null>;
  bulkMoves(states: readonly BulkMove['state'][], limit: number): Promise<BulkMove[]>;

  /** One line that goes with no other change. */
  appendAudit(audit: AuditEntry): Promise<void>;
  /** Audit lines ascending by sequence, after the cursor. */
  auditsAfter(sequence: number, limit: number): Promise<AuditLine[]>;
  /** Lines of a subject and/or action, newest first, at in [since, until). */
  auditsOf(
    filter: { subject?: string; action?: string; since?: number; until?: number },
    limit: number,
  ): Promise<AuditLine[]>;

  /** Events of an order or a reference, oldest first. */
  eventsOf(order_id: string | null, reference: string | null, limit: number): Promise<InboxEvent[]>;
  /** Events that found no link, newest first. */
  unmatchedEvents(limit: number): Promise<InboxEvent[]>;
}
