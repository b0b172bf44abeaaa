/** The words of a readiness verdict: what is in the way of a merchant's next move, what is not proven, and what would prove it. */
import type { Outcome } from '../exchange.ts';
import type { RoutedKind } from '../merchant.ts';

/** `inconclusive` is a result: too little was seen, so nothing is green by default (`peers.md` §3 group 3). */
export const verdicts = ['ready', 'blocked', 'inconclusive'] as const;
export type Verdict = (typeof verdicts)[number];

/** One thing that was found, with the command that shows it or mends it. */
export interface Finding {
  /** A closed list of words for scripts, such as `predicted_refusal`, `open_difference`, `never_seen`, `no_notice_url`. */
  code: string;
  /** One sentence: what, and how often. */
  what: string;
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
