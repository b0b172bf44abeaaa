/** The link between a legacy id and an order: what is stored, and when (`reliability.md` §3.2). */
import type { IntentState } from '../contract/legacy-point.ts';
import type { Order } from '../contract/orders.ts';

/**
 * SENDING: row written, outcome of the POST not known yet. IN_DOUBT: the deadline passed without an outcome.
 * LIVE: the order is known and not final. DONE: the order is final. REJECTED: definitely refused.
 * NOT_SENT: proved never sent, or refused unexecuted. LOST: expired and never seen; reported, never deleted.
 * The first two and LIVE hold their unit: one live link per unit.
 */
export const linkStates = ['SENDING', 'IN_DOUBT', 'LIVE', 'DONE', 'REJECTED', 'NOT_SENT', 'LOST'] as const;
export type LinkState = (typeof linkStates)[number];

/** What the client may have been told, committed before it is told (`reliability.md` §3.3 e). */
export type ClientAnswer = 'none' | 'maybe' | 'error';

/** What the client said and the order can't carry; given back on every read and notice. */
export interface HeldFields {
  /** `additional_info` as it came, unknown keys included. */
  additional_info?: unknown;
  /** `payment` as it came. */
  payment?: unknown;
  description?: string;
}

export interface Link {
  /** UUID v7: looks like a legacy intent id and is time-ordered (`performance.md`). */
  legacy_id: string;
  merchant_id: string;
  lane: 'orders';
  /** Terminal id. */
  unit: string;
  /** HMAC of the client's own idempotency key; only recognises a retry, never forwarded (finding 11). */
  client_key: string | null;
  /** Hash of method, path and canonical body of the legacy request. */
  fingerprint: string;
  reference_sent: string;
  held: HeldFields;
  /** Minor units. */
  amount_minor: number;
  idempotency_key: string;
  /** The exact bytes of the upstream body, sealed; erased when the link is settled. */
  sealed_body: Uint8Array | null;
  /** Revision of the tables that made the body. */
  tables_revision: string;
  state: LinkState;
  attempts: number;
  /** Wall clock of the first attempt, epoch ms; the replay window counts from here. */
  first_sent_at: number | null;
  /** Process that sent first; another boot makes the clock suspect. */
  boot_id: string;
  client_answer: ClientAnswer;
  order_id: string | null;
  /** Last known order; the source of every answer. */
  order: Order | null;
  /** `last_updated_date` as RFC 3339 UTC with nine fraction digits, comparable as text; null when unknown. */
  order_version: string | null;
  /** Number of the processed payment (`reference_id`), digits. */
  payment_id: string | null;
  /** What legacy clients see; never goes back in time. */
  intent_state: IntentState;
  intent_state_at: number;
  /** `sent`: a cancel of ours may have reached upstream; `acknowledged`: the client was told that it worked. */
  cancel: 'sent' | 'acknowledged' | null;
  /** Epoch ms when the order's lifetime is over, from its expiration time. */
  expires_at: number;
  /** Epoch ms of the next look by completer or reconciler; null when nothing is left to do. */
  next_check_at: number | null;
  created_at: number;
  updated_at: number;
  /** Rises with every change; the precondition of the next one. Starts at 1. */
  revision: number;
}

/** The fields that only the store writes (`revision`), or nobody after the row was written: the store refuses changes of those. */
type Fixed =
  | 'idempotency_key'
  | 'reference_sent'
  | 'legacy_id'
  | 'merchant_id'
  | 'lane'
  | 'unit'
  | 'client_key'
  | 'fingerprint'
  | 'created_at'
  | 'revision'
  | 'boot_id'
  | 'tables_revision'
  | 'amount_minor'
  | 'held';
export type LinkChange = Partial<Omit<Link, Fixed>>;
