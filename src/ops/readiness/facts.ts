/** What a readiness verdict is judged on: what evidence says, and what else is known of the merchant. */

import type { Operation, Tables } from '../../mapping/tables.ts';
import type {
  CoverageRow,
  DifferenceGroup,
  EvidenceReader,
  LedgerRow,
  Traffic,
  UnknownRow,
  VerdictRow,
} from '../../proxy/records/evidence.ts';
import type { RoutedKind, Stage, Trip, UnknownPolicy } from '../../proxy/routing/merchant.ts';
import type { MismatchKind } from '../../proxy/sales/mismatch.ts';

/** What no evidence says; null for what nobody knows, as in an assessment of a file alone. */
export interface ReadinessFacts {
  merchant_id: string;
  /** Epoch ms. */
  now: number;
  /** Of the tables that would do the work. */
  tables_revision: string;
  operations: readonly Operation[];
  isCarried: Tables['isCarried'];
  /** The merchant's own stage. */
  stage: Stage | null;
  /** Kinds that are on a canary or on orders: their next move needs what only the orders lane shows. */
  on_orders: readonly RoutedKind[];
  /** Policies in force on what no table knows. */
  unknown: { endpoint: UnknownPolicy; field: UnknownPolicy; header: UnknownPolicy; write: 'refuse' | 'carry' } | null;
  /** Its notices have somewhere to go, by its own setting or the default. */
  notice_url: boolean | null;
  /** A configured credential, or a token of its calls that is kept. */
  credential: boolean | null;
  /** Safety stops that stand. */
  trips: Partial<Record<RoutedKind, Trip>> | null;
  /** Creates whose outcome nobody knows yet, on either side. */
  in_doubt: number | null;
  /** What could not be kept in the last `OLD_AFTER_DAYS`, of all merchants. */
  shed: { shadow: number; evidence: number } | null;
  /** Percent of faults at which the safety stop would trip. */
  fault_share: number | null;
  /** Epoch ms of the last reset of a safety stop: what was before was looked at by somebody. */
  reset_at: Partial<Record<RoutedKind, number>>;
  /** What reconciliation found lately and could not repair. */
  mismatches: readonly { kind: MismatchKind; subject: string }[];
}

export interface ReadinessRules {
  /** Calls below which evidence is inconclusive (`moves.min_sample`). */
  min_sample: number;
}

/** Tills are updated and tables change: what is older than two weeks says little of the next day. */
export const OLD_AFTER_DAYS = 14;
/** Faults and mismatches of before a week were mended or are still there to be seen. */
export const RECENT_DAYS = 7;
export const DAY_MS = 86_400_000;

/** Everything that the evidence of one merchant says. */
export interface Seen {
  traffic: Traffic[];
  verdicts: VerdictRow[];
  differences: DifferenceGroup[];
  unknowns: UnknownRow[];
  ledger: LedgerRow[];
  coverage: CoverageRow[];
  /** Of the tables that judged the newest call; null when that exchange is gone, or there is none. */
  judged_by: string | null;
}

export async function readSeen(reader: EvidenceReader, merchant_id: string, now: number): Promise<Seen> {
  const [traffic, verdicts, differences, unknowns, ledger, coverage] = await Promise.all([
    reader.traffic({ merchant_id }),
    reader.verdicts(merchant_id),
    reader.differences({ merchant_id }, now),
    reader.unknowns(merchant_id),
    reader.ledger(merchant_id),
    reader.coverage(merchant_id),
  ]);
  const last_at = [...verdicts, ...coverage].reduce((last, row) => Math.max(last, row.last_at), 0);
  const [newest] = last_at === 0 ? [] : await reader.exchanges({ merchant_id, since: last_at }, 0, 1);
  return { traffic, verdicts, differences, unknowns, ledger, coverage, judged_by: newest?.tables_revision ?? null };
}
