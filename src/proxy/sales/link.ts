/** The link of a legacy id and an order: the stored row of one sale (`docs/protocol.md` §3.2). */
import { finalIntentStates, type IntentState } from '../../contract/legacy-point.ts';
import { finalMerchantOrderStates, type MerchantOrderState } from '../../contract/merchant-orders.ts';
import type { Order } from '../../contract/orders.ts';
import type { LinkFamily } from '../../mapping/tables.ts';

/**
 * SENDING: row written, outcome of the POST not known yet. IN_DOUBT: the deadline passed without an outcome. LIVE: the
 * order is known and not final. These three hold their unit. DONE: the order is final. REJECTED: refused. NOT_SENT:
 * proved never sent, or refused unexecuted. LOST: expired and never seen; reported, never deleted.
 */
export const linkStates = ['SENDING', 'IN_DOUBT', 'LIVE', 'DONE', 'REJECTED', 'NOT_SENT', 'LOST'] as const;
export type LinkState = (typeof linkStates)[number];

/** What the till may have been answered, committed before the answer is sent (`docs/protocol.md` §3.3 e). */
type ClientAnswer = 'none' | 'maybe' | 'error';

/** What tills see: the state of an intent, or of a merchant order. */
export type LegacyState = IntentState | MerchantOrderState;

/** Fields of the till's request that an order can't hold; returned with every read and notice. */
export interface HeldFields {
  /** As received, unknown keys included. */
  additional_info?: unknown;
  payment?: unknown;
  description?: string;
  /** QR: the whole body as received, sealed (`proxy/qr/held-body.ts`). */
  body?: string;
}

/** The stored row of a sale on orders. Times are epoch ms, amounts minor units. */
export interface Link {
  /** UUID v7: a legacy intent id in form, time-ordered for a dense index. QR: the `in_store_order_id`. */
  legacy_id: string;
  merchant_id: string;
  lane: 'orders';
  family: LinkFamily;
  /** Terminal id, or external id of the point of sale (`docs/glossary.md` Unit). */
  unit: string;
  /** Held by one live link at a time: `point:<terminal>`, `qr:<point of sale>`; null for a dynamic QR. */
  slot: string | null;
  /** HMAC of the till's idempotency key, for retries; never forwarded (`docs/field-notes.md` Point finding 11). */
  client_key: string | null;
  /** Hash of method, path and canonical body of the legacy request. */
  fingerprint: string;
  reference_sent: string;
  /** The till's own reference; null when it gave none. */
  client_reference: string | null;
  held: HeldFields;
  amount_minor: number;
  /** QR: a synthetic number above every real one (`docs/field-notes.md` QR finding 5). */
  merchant_order_id: number | null;
  /** QR: where this sale's notices go, sealed, because such URLs may contain secrets; null: to the merchant's URL. */
  sealed_notice_url: Uint8Array | null;
  idempotency_key: string;
  /** The exact bytes of the upstream body, sealed; erased when the link is settled. */
  sealed_body: Uint8Array | null;
  /** Revision of the tables that made the body. */
  tables_revision: string;
  state: LinkState;
  attempts: number;
  /** Wall clock of the first attempt, epoch ms; the repeat window counts from here. */
  first_sent_at: number | null;
  /** The run of the process that wrote the row; in any other run the row counts as sent before. */
  boot_id: string;
  client_answer: ClientAnswer;
  order_id: string | null;
  /** The order as last read; every answer is made from it. */
  order: Order | null;
  /** `last_updated_date` as RFC 3339 UTC with nine fraction digits, comparable as text; null when unknown. */
  order_version: string | null;
  /** Number of the processed payment (`reference_id`), digits. */
  payment_id: string | null;
  /** What tills see; never goes back in time. */
  legacy_state: LegacyState;
  legacy_state_at: number;
  /** `sent`: Puente's cancel may have reached upstream; `acknowledged`: the answer that it succeeded was delivered. */
  cancel: 'sent' | 'acknowledged' | null;
  /** Epoch ms of the delivered answer: when the first 2xx that was not lost was about to leave, or had left; else null. */
  acknowledged_at: number | null;
  /**
   * How the till came to know the sale (`docs/protocol.md` §3.9). `till`: it read, canceled or refunded it. `notice`:
   * its receiver acknowledged the notice of the end, or read its resource. Null: an equal create is a retry.
   */
  known_by: 'till' | 'notice' | null;
  /** Epoch ms when the order expires. */
  expires_at: number;
  /** Epoch ms when recovery or reconciliation looks at it next; null when nothing is left to do. */
  next_check_at: number | null;
  created_at: number;
  updated_at: number;
  /** Rises with every change; the precondition of the next one. Starts at 1. */
  revision: number;
}

/** Fields that the store refuses to change after the insert, and `revision`, which only the store writes. */
type Fixed =
  | 'idempotency_key'
  | 'reference_sent'
  | 'legacy_id'
  | 'merchant_id'
  | 'lane'
  | 'family'
  | 'unit'
  | 'slot'
  | 'client_reference'
  | 'merchant_order_id'
  | 'sealed_notice_url'
  | 'client_key'
  | 'fingerprint'
  | 'created_at'
  | 'revision'
  | 'boot_id'
  | 'tables_revision'
  | 'amount_minor'
  | 'held';
/** The columns of a link that may change after its opening. */
export type LinkChange = Partial<Omit<Link, Fixed>>;

const terminalStates: readonly LegacyState[] = [...finalIntentStates, ...finalMerchantOrderStates];
const paidStates: readonly LegacyState[] = ['FINISHED', 'paid', 'partially_reverted', 'reverted'];

/** By what tills see, not by the order: CONFIRMATION_REQUIRED, and ABANDONED of a lost link, are terminal too. */
export function hasEnded(link: Link): boolean {
  return terminalStates.includes(link.legacy_state);
}

/** True when the till sees a payment. */
export function isPaid(link: Link): boolean {
  return paidStates.includes(link.legacy_state);
}

/** Key of what is remembered about a terminal. */
export function terminalOf({ merchant_id, unit }: Link): string {
  return `${merchant_id} ${unit}`;
}

/** @param slot `point:<terminal>` or `qr:<point of sale>`. */
export function unitOf(slot: string): string {
  return slot.slice(slot.indexOf(':') + 1);
}

/** The slot of a unit. @param unit a terminal's id, or the external id of a point of sale. */
export function slotOf(family: LinkFamily, unit: string): string {
  return `${family}:${unit}`;
}

/** Equal for equal requests of one merchant. */
export function requestOf({ merchant_id, fingerprint }: Pick<Link, 'merchant_id' | 'fingerprint'>): string {
  return `${merchant_id} ${fingerprint}`;
}

/** Canceled for its till or as unclaimed: a till answered with it would wait for a sale that can't be paid. */
export function wasCanceledByUs({ cancel, order }: Link): boolean {
  return cancel !== null && order?.status === 'canceled';
}

// Instants as the two APIs write them.

const RFC3339 = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:?\d{2})$/i;

/**
 * An RFC 3339 instant with 0–9 fraction digits as comparable text in UTC with nine (`docs/field-notes.md` Orders §1.3);
 * null when it can't be read: then the rank alone decides (`docs/protocol.md` §3.12).
 */
export function comparableInstant(text: string | undefined): string | null {
  if (text === undefined) return null;
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [, date, time, fraction = '', zone = 'Z'] = match;
  const whole_ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(whole_ms)) return null;
  return `${new Date(whole_ms).toISOString().slice(0, 19)}.${fraction.padEnd(9, '0')}Z`;
}

/** Epoch ms of a comparable instant. */
export function instantMs(comparable: string): number {
  return Date.parse(`${comparable.slice(0, 23)}Z`);
}
