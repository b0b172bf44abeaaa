/** The words of a readiness verdict: what is in the way of a merchant's next move, what is not proven, and what would prove it. */
import type { Said, Spoken } from '../../error.ts';
import type { Outcome } from '../../proxy/evidence/exchange.ts';
import type { Verdict } from '../../proxy/records/evidence.ts';
import type { RoutedKind } from '../../proxy/routing/merchant.ts';

/** What can be found, in words for scripts; of a verdict, and of a move. */
export const findingCodes = [
  'predicted_refusal',
  'open_difference',
  'safety_stop',
  'no_credential',
  'unknown_refused',
  'faults',
  'no_creates',
  'never_seen',
  'not_judged',
  'too_few_calls',
  'not_on_orders',
  'legacy_only',
  'old_evidence',
  'tables_changed',
  'in_doubt',
  'not_known',
  'shed',
  'unknown_noted',
  'no_notice_url',
  'error_difference',
  'unknown_carried',
  'mismatch_missing',
  'mismatch_stale',
  'mismatch_orphan',
  'mismatch_amount',
  'mismatch_contradiction',
  'mismatch_state',
  'not_used',
  'self_service',
  'loss_money',
  'loss_identity',
  'loss_other',
  'role',
  'outside_window',
  'skipped_stage',
  'not_ready',
] as const;
export type FindingCode = (typeof findingCodes)[number];

/** One thing that was found, with the command that shows it or mends it. */
export interface Finding {
  code: FindingCode;
  /** One sentence: what, and how often. */
  what: string;
  /** The sentence by its code, to be said in another language. */
  said: Said;
  /** As `puente differences show …`; null where nothing can be done about it. */
  command: string | null;
  operation: string | null;
  /** An exchange that shows it. */
  sample: string | null;
}

export interface OperationReadiness {
  operation: string;
  kind: RoutedKind | 'payments';
  calls: number;
  outcomes: Record<Outcome, number>;
  verdict: Verdict;
}

export interface Readiness {
  merchant_id: string;
  verdict: Verdict;
  /** Hard: while one stands, no move forward. */
  blockers: Finding[];
  /** What no traffic has shown, and what would. */
  unproven: Finding[];
  /** Worth knowing, in nobody's way: losses, unknown fields, limitations that applied. */
  remarks: Finding[];
  operations: OperationReadiness[];
  judged_at: number;
  tables_revision: string;
}

/** A finding about no call in particular, unless `of` says which. */
export function finding(
  code: FindingCode,
  { text, said }: Spoken,
  command: string | null,
  of: Partial<Pick<Finding, 'operation' | 'sample'>> = {},
): Finding {
  return { code, what: text, said, command, operation: null, sample: null, ...of };
}
