/** What the store keeps as evidence: exchanges, and the sums and findings made of them. Every sum is written with its exchanges. */

import type { Exchange, OperationKind, Outcome, UnknownHit } from '../evidence/exchange.ts';

/** One source field of an operation, on one call. `equal`: it reached the other side, or the sides agreed; `different`: it did not. */
export interface CoverageCell {
  operation: string;
  /** Source path as the table writes it, e.g. `body.payment.installments`. */
  field: string;
  outcome: 'equal' | 'different';
  /** The till may have named the field: of such names a merchant has a bounded number (`store/names.ts`). */
  unknown?: true;
}

/** A field that did not reach the order, really or (in shadow) would not have. */
export interface LossSeen {
  operation: string;
  table: string;
  path: string;
  why: string;
  /** Money first, then who and what it was for, then the rest. */
  weight: 'money' | 'identity' | 'other';
  /** True when it was found on paper only. */
  would_be: boolean;
  /** No table knows the field; as for a cell. */
  unknown?: true;
}

/** One difference between the sides, on one call. */
export interface DifferenceSeen {
  /** The same for the same finding, whatever the values; 16 hex digits. */
  signature: string;
  operation: string;
  /** `verdict`: one side takes what the other refuses; `error`: refused differently; `value`: a field of a double read. */
  what: 'verdict' | 'error' | 'value';
  /** Path in the legacy answer; '' for the whole. */
  path: string;
  /** What each side said, redacted, at most 500 characters each. */
  legacy: string;
  orders: string;
}

/** An exchange with everything that was found in it; recorded in one transaction. */
export interface RecordedExchange extends Omit<Exchange, 'limitations'> {
  /** Those it met; null where that could not be told. */
  limitations: string[] | null;
  cells: CoverageCell[];
  lost: LossSeen[];
  differences: DifferenceSeen[];
  /** Table rows of a double read that agreed; signatures that were looked for and not found are not listed. */
  compared: boolean;
}

export interface StoredExchange extends Omit<Exchange, 'limitations'> {
  /** Those it met; null where nobody counted: of builds before the counting, or not told. */
  limitations: string[] | null;
  /** Rises with every recorded exchange; the cursor of pages. */
  sequence: number;
  /** Signatures of the differences it showed. */
  signatures: string[];
  lost: LossSeen[];
}

export interface ExchangeFilter {
  merchant_id?: string;
  /** Epoch ms of `at`, [since, until). */
  since?: number;
  until?: number;
  legacy_id?: string;
  operation?: string;
  lane?: Exchange['lane'];
  /** Only those with messages. */
  captured?: boolean;
}

/** What counting needs of an exchange: a few numbers instead of all that was kept of it. */
export interface CallSeen extends Pick<Exchange, 'at' | 'merchant_id' | 'lane' | 'outcome' | 'duration_ms'> {
  sequence: number;
}

/** Calls of one merchant, UTC day, operation, lane and outcome. */
export interface Traffic {
  merchant_id: string;
  /** Days since 1970-01-01 UTC. */
  day: number;
  operation: string;
  kind: OperationKind;
  lane: Exchange['lane'];
  outcome: Outcome;
  calls: number;
}

export interface SeenUnit {
  merchant_id: string;
  slot: string;
  first_at: number;
  last_at: number;
  /** Calls that named it, all time. */
  calls: number;
  last_lane: Exchange['lane'];
}

/** A row of the loss ledger. */
export interface LedgerRow extends Omit<LossSeen, 'would_be' | 'unknown'> {
  merchant_id: string;
  /** Calls that lost it, really and on paper. */
  count: number;
  would_be_count: number;
  first_at: number;
  last_at: number;
  /** An exchange that shows it. */
  sample: string;
  tables_revision: string;
}

export interface CoverageRow {
  merchant_id: string;
  operation: string;
  field: string;
  equal: number;
  different: number;
  last_at: number;
}

/** `accepted` until a date; `fixed` until it is seen again. Both become `new` by themselves. */
export const differenceStates = ['new', 'explained', 'accepted', 'fixed'] as const;
export type DifferenceState = (typeof differenceStates)[number];

/** One group of the inbox. */
export interface DifferenceGroup extends DifferenceSeen {
  merchant_id: string;
  state: DifferenceState;
  /** Epoch ms, for `accepted`. */
  accepted_until: number | null;
  note: string;
  who: string | null;
  count: number;
  first_at: number;
  last_at: number;
  sample: string;
  /** Of the tables when it was last seen. */
  tables_revision: string;
  revision: number;
}

export interface UnknownRow extends UnknownHit {
  merchant_id: string;
  count: number;
  first_at: number;
  last_at: number;
}

/** Latest shadow verdicts of a merchant, summed. */
export interface VerdictRow {
  merchant_id: string;
  operation: string;
  verdict: 'accepted' | 'refused_here' | 'refused_there';
  code: string | null;
  error: string | null;
  detail: string | null;
  count: number;
  last_at: number;
  sample: string;
}

/** `inconclusive` is a result: too little was seen, so nothing is green by default. */
export const verdicts = ['ready', 'blocked', 'inconclusive'] as const;
export type Verdict = (typeof verdicts)[number];

/** The verdict on a merchant's next move, of a day. */
export interface MerchantDay {
  merchant_id: string;
  /** Days since 1970-01-01 UTC. */
  day: number;
  verdict: Verdict;
}

/** How many merchants had a verdict on a day. */
export interface ReadinessDay {
  day: number;
  verdict: Verdict;
  merchants: number;
}
