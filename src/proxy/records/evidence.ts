/** Stored evidence: exchanges, their sums and findings. Every sum is written in the transaction of its exchanges. */

import type { Exchange, OperationKind, Outcome, ShadowVerdict, UnknownHit } from '../evidence/exchange.ts';

/** A source field on one call. `equal`: it reached the other side, or the sides agreed; `different`: neither. */
export interface CoverageCell {
  operation: string;
  /** Source path as the table writes it, e.g. `body.payment.installments`. */
  field: string;
  outcome: 'equal' | 'different';
  /** The till may have chosen the name; the number of such names per merchant is bounded (`store/names.ts`). */
  unknown?: true;
}

/** Money first, then who and what it was for, then the rest. */
export const lossWeights = ['money', 'identity', 'other'] as const;

/** A field that did not reach the order, or would not in a shadow. */
export interface LossSeen {
  operation: string;
  table: string;
  path: string;
  why: string;
  weight: (typeof lossWeights)[number];
  /** True for a shadow. */
  would_be: boolean;
  /** As for a cell. */
  unknown?: true;
}

/** One difference between the sides, on one call. */
export interface DifferenceSeen {
  /** The same for the same finding with any values; 16 hex digits. */
  signature: string;
  operation: string;
  /** `verdict`: only one side refuses; `error`: refused differently; `value`: a field of a double read. */
  what: 'verdict' | 'error' | 'value';
  /** Path in the legacy answer; '' for the whole. */
  path: string;
  /** Each side's value, redacted, at most 500 characters each. */
  legacy: string;
  orders: string;
  /** How to know it among the differences of older builds, whose signatures were made of sentences. */
  older?: OlderForm;
  /** This build's signature of a difference that is stored under an older one's; null: only older builds have seen it. */
  current_signature?: string | null;
}

/** What `orders` of a difference has in any wording of its reason. */
export interface OlderForm {
  start: string;
  /** The row in brackets at its end; null: none. */
  row: string | null;
}

/** Recorded with its findings in one transaction. */
export interface RecordedExchange extends Omit<Exchange, 'limitations'> {
  /** Null where they could not be evaluated. */
  limitations: string[] | null;
  cells: CoverageCell[];
  lost: LossSeen[];
  differences: DifferenceSeen[];
  compared: boolean;
}

/** An exchange as it is read back, with what was evaluated when it was recorded. */
export interface StoredExchange extends Omit<Exchange, 'limitations'> {
  /** Null where they were not evaluated, as by older builds. */
  limitations: string[] | null;
  /** Increases with every recorded exchange; the cursor of pages. */
  sequence: number;
  signatures: string[];
  lost: LossSeen[];
}

/** A missing field does not filter. */
export interface ExchangeFilter {
  merchant_id?: string;
  /** Epoch ms of `at`, [since, until). */
  since?: number;
  until?: number;
  legacy_id?: string;
  operation?: string;
  lane?: Exchange['lane'];
  outcome?: Outcome;
  /** Only those with messages. */
  captured?: boolean;
}

/** The few fields of an exchange by which operators list calls. */
export interface CallSeen
  extends Pick<Exchange, 'at' | 'merchant_id' | 'operation' | 'legacy_id' | 'lane' | 'outcome' | 'duration_ms'> {
  sequence: number;
}

/** Calls of one day, summed. */
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

/** A unit that calls have named. Times are epoch ms. */
export interface SeenUnit {
  merchant_id: string;
  slot: string;
  first_at: number;
  last_at: number;
  /** Calls that named it, all time. */
  calls: number;
  last_lane: Exchange['lane'];
  /** Epoch ms of its last call on legacy; null: none. Without an operation, that call was then or earlier. */
  legacy_at: number | null;
  legacy_operation: string | null;
}

/** One field that was lost, summed over calls; `first_at` and `last_at` are epoch ms. */
export interface LedgerRow extends Omit<LossSeen, 'would_be' | 'unknown'> {
  merchant_id: string;
  /** Calls that lost it, on the orders lane and in shadows. */
  count: number;
  would_be_count: number;
  first_at: number;
  last_at: number;
  /** An exchange that shows it. */
  sample: string;
  tables_revision: string;
}

/** How often a field came out equal or different; `last_at` is epoch ms. */
export interface CoverageRow {
  merchant_id: string;
  operation: string;
  field: string;
  equal: number;
  different: number;
  last_at: number;
}

/** `accepted` until a date, `fixed` until it is seen again; then `new`. */
export const differenceStates = ['new', 'explained', 'accepted', 'fixed'] as const;
export type DifferenceState = (typeof differenceStates)[number];

/** Differences of one signature, and the judgement of an operator. */
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

/** A name that no table has, counted; times are epoch ms. */
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
  verdict: ShadowVerdict;
  code: string | null;
  error: string | null;
  detail: string | null;
  count: number;
  /** Calls of `count` that legacy refused, too. */
  refused_on_legacy: number;
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

/** How many merchants had a verdict on a day (since 1970-01-01 UTC). */
export interface ReadinessDay {
  day: number;
  verdict: Verdict;
  merchants: number;
}
