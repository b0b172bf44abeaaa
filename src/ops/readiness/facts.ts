/** The facts that a readiness verdict rests on, and its form. */
import { z } from 'zod';
import type { Fact, Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import type { Operation, Tables } from '../../mapping/tables.ts';
import { outcomes } from '../../proxy/evidence/exchange.ts';
import { FOUND, isSearch } from '../../proxy/evidence/findings.ts';
import {
  type CoverageRow,
  type DifferenceGroup,
  type LedgerRow,
  type Traffic,
  type UnknownRow,
  type VerdictRow,
  verdicts,
} from '../../proxy/records/evidence.ts';
import {
  type RoutedKind,
  routedKinds,
  type Stage,
  type Trip,
  type UnknownPolicy,
} from '../../proxy/routing/merchant.ts';
import type { MismatchKind } from '../../proxy/sales/orphans.ts';
import { said, time } from '../fields.ts';
import type { EvidenceReader } from '../ports.ts';
import { type AcceptedDisagreement, acceptedView } from '../reconcile/mismatches.ts';
import { merchant_name } from '../seen.ts';
import type { LegacyUse } from './legacy-use.ts';

/** Facts beside the evidence; null where they are not known, as in the assessment of a file. */
export interface ReadinessFacts {
  merchant_id: string;
  merchant_name: string | null;
  /** Epoch ms. */
  now: number;
  /** Of the tables that would translate the calls. */
  tables_revision: string;
  operations: readonly Operation[];
  isProxied: Tables['isProxied'];
  stage: Stage | null;
  /** Kinds on canary or on orders: their next move needs evidence from the orders lane. */
  on_orders: readonly RoutedKind[];
  /** Policies in force for names that are in no table. */
  unknown: { endpoint: UnknownPolicy; field: UnknownPolicy; header: UnknownPolicy; write: 'refuse' | 'allow' } | null;
  /** Whether its notices have a URL, its own or the default. */
  notice_url: boolean | null;
  /** Of work on orders: how many notices there are, where a receiver has acknowledged none of the newest; else null. */
  unacknowledged: number | null;
  /** Whether there is a configured credential, or a kept token of its calls. */
  credential: boolean | null;
  /** Safety stops in force. */
  trips: Partial<Record<RoutedKind, Trip>> | null;
  /** Creates with an unknown outcome, on either lane. */
  in_doubt: number | null;
  /** Evidence that was shed in the last `OLD_AFTER_DAYS`, of all merchants. */
  shed: { shadow: number; evidence: number } | null;
  /** Percent of faults at which the safety stop trips. */
  fault_share: number | null;
  /** Epoch ms of the last reset of a safety stop: an operator has looked at the faults before it. */
  reset_at: Partial<Record<RoutedKind, number>>;
  /** Open mismatches: no later comparison has shown that both agree. */
  mismatches: readonly { kind: MismatchKind; subject: string; unit: string | null }[];
  /** Sales with a mismatch that stands, and that a person has accepted. */
  accepted: readonly AcceptedDisagreement[];
  /** What still uses legacy, of a merchant that is wholly on orders: then the verdict is about completion. Else null. */
  legacy_use: LegacyUse | null;
}

export interface ReadinessRules {
  /** Calls below which evidence is inconclusive (`moves.min_sample`). */
  min_sample: number;
}

/** Tills are updated and tables change: older evidence says little of the next day. */
export const OLD_AFTER_DAYS = 14;
/** Older faults were repaired, or still appear. */
export const RECENT_DAYS = 7;

export interface Seen {
  traffic: Traffic[];
  verdicts: VerdictRow[];
  differences: DifferenceGroup[];
  unknowns: UnknownRow[];
  ledger: LedgerRow[];
  coverage: CoverageRow[];
  /** Calls of one kind on orders that failed as an earlier call for the same sale did: no faults of their own. */
  retried_faults: Partial<Record<RoutedKind, number>>;
  /** Of the tables that judged the newest call; null when that exchange was deleted, or there is none. */
  judged_by: string | null;
}

/**
 * `retried_faults` is empty: the caller fills it where it knows. `judged_by` is the tables' revision of the newest call
 * that was judged; null when it is gone.
 */
export async function readSeen(
  { evidence: reader, exchanges }: EvidenceReader,
  merchant_id: string,
  now: number,
): Promise<Seen> {
  const [traffic, verdicts, differences, unknowns, ledger, coverage] = await Promise.all([
    reader.traffic({ merchant_id }),
    reader.verdicts(merchant_id),
    reader.differences({ merchant_id }, now),
    reader.unknowns(merchant_id),
    reader.ledger(merchant_id),
    reader.coverage(merchant_id),
  ]);
  const last_at = [...verdicts, ...coverage].reduce((last, row) => Math.max(last, row.last_at), 0);
  const [newest] = last_at === 0 ? [] : await exchanges.exchanges({ merchant_id, since: last_at }, 0, 1);
  const judged_by = newest?.tables_revision ?? null;
  return { traffic, verdicts, differences, unknowns, ledger, coverage, retried_faults: {}, judged_by };
}

// What a merchant's tills must have done before it is proven: by area of work, not by every path that exists.

/** A key of `area.` in `src/locales`. */
type AreaWord =
  | 'create_point'
  | 'create_qr'
  | 'create_qr_v1'
  | 'read_intents'
  | 'read_qr'
  | 'cancel_intents'
  | 'cancel_qr'
  | 'devices'
  | 'refund';

/** Calls of one area prove one another: the same work on other paths. */
export interface Area {
  id: 'create' | 'read' | 'cancel' | 'refund' | 'devices';
  kind: RoutedKind | 'payments';
  word: AreaWord;
  operations: readonly Operation[];
}

/** The kinds with a successful sale; a kind whose creates were all refused, or that was never used, needs no proof. */
export function usedKinds(operations: readonly Operation[], seen: Seen): RoutedKind[] {
  const creates = operations.filter(({ upstream }) => upstream === 'create');
  return routedKinds.filter((kind) => creates.some((one) => one.kind === kind && provenCalls([one], seen) > 0));
}

/** Empty for a merchant that uses no kind: there is nothing to prove. */
export function areasOf(operations: readonly Operation[], seen: Seen): Area[] {
  const kinds = usedKinds(operations, seen);
  const areas = kinds.flatMap((kind) => [...createAreas(operations, kind, seen), ...otherAreas(operations, kind)]);
  if (kinds.length === 0) return [];
  const refunds = operations.filter(({ upstream }) => upstream === 'refund');
  return [...areas, { id: 'refund', kind: 'payments', word: 'refund', operations: refunds }];
}

/** Creates of one kind that share a request table are one area: a sale of another table proves none of its rows. */
function createAreas(operations: readonly Operation[], kind: RoutedKind, seen: Seen): Area[] {
  const creates = operations.filter((one) => one.kind === kind && one.upstream === 'create');
  const tables = [...new Set(creates.map(({ request }) => request))];
  return tables
    .map((table) => creates.filter(({ request }) => request === table))
    .filter((same) => provenCalls(same, seen) > 0)
    .map((same) => ({ id: 'create', kind, word: createWord(same), operations: same }));
}

/** Only these families create sales. */
function createWord([first]: readonly Operation[]): AreaWord {
  if (first?.family === 'qr') return 'create_qr';
  return first?.family === 'qr_v1' ? 'create_qr_v1' : 'create_point';
}

/** QR tills learn of a payment by their merchant order or by a search of payments, so both count as their reads. */
const QR_READS: readonly string[] = ['merchant_orders', 'payments'];

function otherAreas(operations: readonly Operation[], kind: RoutedKind): Area[] {
  const reads = operations.filter(
    (one) => one.method === 'GET' && (one.kind === kind || (kind === 'qr' && QR_READS.includes(one.family))),
  );
  const cancels = operations.filter((one) => one.kind === kind && one.upstream === 'cancel');
  const lists = operations.filter((one) => one.kind === 'devices' && one.method === 'GET');
  return [
    { id: 'read', kind, word: kind === 'qr' ? 'read_qr' : 'read_intents', operations: reads },
    { id: 'cancel', kind, word: kind === 'qr' ? 'cancel_qr' : 'cancel_intents', operations: cancels },
    ...(kind === 'intents' ? [{ id: 'devices', kind: 'devices', word: 'devices', operations: lists } as const] : []),
  ];
}

type Called = Pick<Seen, 'traffic' | 'coverage'>;

/** Successful calls. A refusal proves nothing, and an empty search proves no read. */
export function provenCalls(operations: readonly Operation[], seen: Called, lane?: 'legacy' | 'orders'): number {
  const names = operations.filter((one) => !isSearch(one)).map(({ name }) => name);
  const well = seen.traffic.filter((row) => names.includes(row.operation) && row.outcome === 'ok');
  const calls = sumOf(well.filter((row) => lane === undefined || row.lane === lane));
  if (lane === 'legacy') return calls;
  const searches = operations.filter(isSearch).map(({ name }) => name);
  const found = seen.coverage.filter((cell) => cell.field === FOUND && searches.includes(cell.operation));
  return found.reduce((sum, { equal }) => sum + equal, calls);
}

/** Calls, however they ended; a refused token may be another merchant's. */
export function comingCalls(operations: readonly Operation[], seen: Seen): number {
  const names = operations.map(({ name }) => name);
  return sumOf(seen.traffic.filter(({ operation, outcome }) => names.includes(operation) && outcome !== 'auth'));
}

/** Successful creates that the tables have judged, on orders or in shadow; of other areas, all successful calls. */
export function judgedCalls({ id, operations }: Area, seen: Seen): number {
  if (id !== 'create') return provenCalls(operations, seen);
  return shadowedCreates(operations, seen) + provenCalls(operations, seen, 'orders');
}

/** Creates that shadow translated and legacy accepted: refused ones have a verdict too, but prove no sale. */
export function shadowedCreates(creates: readonly Operation[], seen: Pick<Seen, 'verdicts'> & Called): number {
  const verdicts = seen.verdicts.filter((row) => creates.some(({ name }) => name === row.operation));
  const on_paper = verdicts.reduce((sum, { count }) => sum + count, 0);
  return Math.min(on_paper, provenCalls(creates, seen, 'legacy'));
}

/** Calls in which an operation was compared field by field: the count of its most compared field. */
export function comparedCalls(cells: readonly CoverageRow[]): number {
  return cells.reduce((most, { equal, different }) => Math.max(most, equal + different), 0);
}

/** Calls of all rows. */
export function sumOf(rows: readonly Pick<Traffic, 'calls'>[]): number {
  return rows.reduce((sum, { calls }) => sum + calls, 0);
}

/** Codes of findings, for scripts: of a verdict, and of a move. */
export const findingCodes = [
  'predicted_refusal',
  'open_difference',
  'safety_stop',
  'no_credential',
  'unknown_refused',
  'faults',
  'not_seen',
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
  'unknown_allowed',
  'notices_unacknowledged',
  'legacy_open',
  'legacy_calls',
  'watched_short',
  'legacy_unrecorded',
  'mismatch_missing',
  'mismatch_stale',
  'mismatch_orphan',
  'mismatch_amount',
  'mismatch_contradiction',
  'mismatch_state',
  'mismatch_approvals',
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

export const findingView = z.object({
  code: z.enum(findingCodes),
  what: z.string().describe('one sentence: what, and how often'),
  said,
  command: z.string().nullable().describe('shows, repairs or proves it'),
  operation: z.string().nullable(),
  sample: z.string().nullable().describe('an exchange that shows it'),
});
export type Finding = z.infer<typeof findingView>;

export const readinessView = z.object({
  merchant_id: z.string(),
  merchant_name,
  about: z.enum(['next_move', 'completion']).describe('completion: it is on orders; ready: it needs legacy no more'),
  verdict: z.enum(verdicts),
  move: z.string().describe('the move that it judges'),
  move_said: said,
  blockers: z.array(findingView).describe('while there is one, no move forward'),
  unproven: z.array(findingView).describe('what no traffic has shown, and what would'),
  acknowledged: z
    .array(acceptedView)
    .describe('sales that do not agree with upstream, which a person has accepted: they block nothing'),
  remarks: z.array(findingView).describe('worth knowing, no obstacle'),
  operations: z.array(
    z.object({
      operation: z.string(),
      kind: z.enum([...routedKinds, 'payments']),
      calls: z.int(),
      outcomes: z.record(z.enum(outcomes), z.int()),
      verdict: z.enum(verdicts),
    }),
  ),
  judged_at: time,
  tables_revision: z.string(),
});
export type Readiness = z.infer<typeof readinessView>;

/** @param message the facts of this code's message, or another message. @param of the call that it is about. */
export function finding(
  code: FindingCode,
  message: Readonly<Record<string, Fact>> | Spoken,
  command: string | null,
  of: Partial<Pick<Finding, 'operation' | 'sample'>> = {},
): Finding {
  const { text: what, said } = isSpoken(message) ? message : say(code, message);
  return { code, what, said, command, operation: null, sample: null, ...of };
}

function isSpoken(message: Readonly<Record<string, Fact>> | Spoken): message is Spoken {
  return 'said' in message;
}
