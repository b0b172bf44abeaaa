/** What the store keeps for moving merchants: sales born on legacy, proposals that wait for a second person, bulk moves. */
import type { LinkFamily } from '../../mapping/tables.ts';

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
  /** A refund that the terminal carries out occupies it as a sale does (`docs/field-notes.md` Point §1.8). */
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
