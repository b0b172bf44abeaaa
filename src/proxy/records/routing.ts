/** Stored legacy sales, proposals that wait for a second person, and bulk moves. */
import type { LinkFamily } from '../../mapping/tables.ts';
import type { Stage } from '../routing/merchant.ts';

/**
 * SENDING: written, the request is being proxied. IN_DOUBT: no answer, so it may exist. OPEN: legacy accepted it.
 * ENDED: terminal, or replaced by a later sale. REFUSED: by legacy. The first three hold their unit until `ends_at`.
 */
export const legacySaleStates = ['SENDING', 'IN_DOUBT', 'OPEN', 'ENDED', 'REFUSED'] as const;
type LegacySaleState = (typeof legacySaleStates)[number];

/** Slot of a sale whose point of sale is known only by its number: it may be any of the merchant's. */
export const ANY_POINT_OF_SALE = 'qr:*';

/** A request without an answer takes effect within this time or never, because no proxy or server holds one longer. */
export const LATE_EFFECT_MS = 60_000;

/** Work on legacy: its unit stays there until it is terminal, and reports include it. */
export interface LegacySale {
  /** UUID v7; of the refund of a payment a fingerprint of its key or of legacy's number, where it has one. */
  id: string;
  merchant_id: string;
  /** `payments`: a refund of a payment, written after its answer; without an id of legacy's it has its own. */
  family: LinkFamily | 'payments';
  /** A refund on the terminal occupies it as a sale does (`docs/field-notes.md` Point §1.8). */
  work: 'sale' | 'refund';
  /** With the slot `ANY_POINT_OF_SALE`: the number of the point of sale. Of the refund of a payment: the payment. */
  unit: string;
  /** Null where it holds no unit: a dynamic QR, a number without a point of sale of orders, the refund of a payment. */
  slot: string | null;
  /** Legacy's own: intent id, `in_store_order_id`, id of a refund; null while unknown, or without one. */
  legacy_id: string | null;
  client_reference: string | null;
  /** Decimal, as the till wrote it, of Point with two decimals (`minorOf`); null where its request names none that can be read. */
  amount: string | null;
  /** The final state in legacy's words, where a proxied answer or a read showed it (`noteProxiedEnd`, `hasEnded`). */
  end_state: string | null;
  state: LegacySaleState;
  /** Fingerprint of its token until that is proven to be the merchant's; null: proven. */
  unproven_token: string | null;
  /** Epoch ms until which it holds its unit. */
  ends_at: number;
  created_at: number;
  /** Epoch ms of the last change of state. */
  updated_at: number;
}

/** A missing field stays as it is. */
export interface LegacySaleChange
  extends Partial<Pick<LegacySale, 'state' | 'legacy_id' | 'unit' | 'slot' | 'ends_at' | 'end_state' | 'amount'>> {
  unproven_token?: null;
  /** Nothing is changed in another state, and the change is refused as for a sale that is not there. */
  only_while?: LegacySaleState;
  /** The same once a proven token asked for it. */
  only_unproven?: true;
  /** Epoch ms when the state changed; now by default. */
  at?: number;
}

/** A move that waits for a second person. */
export interface Proposal {
  id: string;
  merchant_id: string;
  /** The body of the move, judged again when it is approved. */
  move: Record<string, unknown>;
  reason: string;
  proposed_by: string;
  proposed_at: number;
  expires_at: number;
  state: 'waiting' | 'approved' | 'declined' | 'expired' | 'withdrawn';
  decided_by: string | null;
  decided_at: number | null;
}

/** One merchant of a bulk move or ramp. */
export interface BulkItem {
  merchant_id: string;
  /** `proposed`: waits for a second person. `skipped`: it was there already, or was not reached. */
  state: 'waiting' | 'moved' | 'proposed' | 'refused' | 'skipped';
  /** The move, or the reason against it. */
  detail: string;
  at: number | null;
  /** Overrides the move of all. */
  own?: Record<string, unknown>;
  /**
   * Sequence of the newest audit line before it began to wait, in a ramp before its step began: what happened since is
   * decided by the order of lines, because a clock may be set back. Items of older versions have none.
   */
  line?: number;
  /** In a ramp: the place in its steps, -1 before the first, and epoch ms at which that began. */
  ramp?: {
    step: number;
    /** Where the ramp took it up: -1, or the last step that is not above its canary; the merchant stays at `from` there. */
    start: number;
    since: number;
    /** Where the merchant was before the first step; share in percent. A move to orders empties `units_in`. */
    from: { stage: Stage; share: number; units_in: readonly string[] };
    /** Of legacy's creates, ms, when they were last enough; a last step has none on legacy. */
    legacy_p95_ms: number | null;
  };
}

/** The steps of a ramp, and the conditions of each. */
export interface RampPlan {
  /** Percent of the units, ascending; 100 is stage `orders`. */
  steps: number[];
  soak_ms: number;
  /** Paid sales on orders that each step needs. */
  min_sales: number;
  approved_by: string | null;
}

/**
 * Many moves, one after the other, with a daily budget; the first safety stop among its merchants stops it. Or a ramp: its
 * merchants go up in steps.
 */
export interface BulkMove {
  id: string;
  /** Target of every item: the body of a move without reason and revision. */
  move: Record<string, unknown>;
  reason: string;
  who: string;
  /** Moves per UTC day. */
  per_day: number;
  items: readonly Readonly<BulkItem>[];
  /** Null: one move for each merchant. */
  ramp: RampPlan | null;
  /** Only a ramp is `proposed` (waits for a second person) or `paused`. */
  state: 'proposed' | 'running' | 'paused' | 'stopped' | 'done' | 'aborted';
  /** Why it is stopped, or what it waits for. */
  detail: string;
  created_at: number;
  updated_at: number;
  revision: number;
}

/** A bulk move or ramp, as it was read and as it is then: what is the same object in both is not written again. */
export interface BulkChange {
  before: BulkMove;
  after: BulkMove;
}

/** What a move of a merchant is a step of; the proposal as it is after the move. */
export interface PartOf {
  bulk?: BulkChange | undefined;
  proposal?: Proposal;
}

export interface OpenCount {
  merchant_id: string;
  /** Open sales of each lane. */
  orders: number;
  legacy: number;
  /** Creates of both lanes with an unknown outcome. */
  in_doubt: number;
  notices_pending: number;
}
