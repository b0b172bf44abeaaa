/** A refund requested by a till, stored before a byte is sent (`docs/protocol.md` §3.9). */

/**
 * SENDING: written, outcome not known yet. IN_DOUBT: the call ended without an outcome. DONE: upstream made it.
 * REFUSED: upstream refused, or its order never showed it while it might have been repeated. NOT_SENT: proved never
 * sent. The first two block other refunds of the payment.
 */
type RefundState = 'SENDING' | 'IN_DOUBT' | 'DONE' | 'REFUSED' | 'NOT_SENT';

/** The stored row of a refund; written before the call, so that a repeat has the same key. */
export interface Refund {
  /** UUID v7. */
  id: string;
  /** Made by Puente; shown to the till where upstream has no number. */
  number: number;
  legacy_id: string;
  merchant_id: string;
  /** Digits. */
  payment_id: string;
  /** HMAC of the client's own key; equal partial refunds with different keys are two (`docs/field-notes.md` QR §3). */
  client_key: string | null;
  /** Hash of the payment and the requested amount in minor units. */
  fingerprint: string;
  /** The amount to send, minor units; null: all that is left, also where the till named exactly that. */
  amount_minor: number | null;
  /** The order's refunds at the request, failed ones too, minor units; decides an unknown outcome. */
  refunded_before_minor: number;
  idempotency_key: string;
  state: RefundState;
  /** `REF…`; null until it is known. */
  upstream_id: string | null;
  /** Upstream's number, digits. */
  reference_id: string | null;
  refunded_minor: number | null;
  /** `processing`, `processed` or `failed`. */
  upstream_status: string | null;
  /** Epoch ms when the whole answer was sent to the till, which does not prove that it arrived. */
  answered_at: number | null;
  /** Epoch ms when the till proved to know the refund, by a read or by an acknowledged later notice of its sale. */
  known_at: number | null;
  created_at: number;
  updated_at: number;
  /** Starts at 1. */
  revision: number;
}

export type RefundChange = Partial<
  Pick<
    Refund,
    | 'state'
    | 'upstream_id'
    | 'reference_id'
    | 'refunded_minor'
    | 'upstream_status'
    | 'answered_at'
    | 'known_at'
    | 'updated_at'
  >
>;
