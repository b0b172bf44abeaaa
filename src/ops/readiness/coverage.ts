/** The coverage matrix: every field of every operation that a merchant uses, and its state; and the loss ledger. */
import { z } from 'zod';
import type { Spoken } from '../../error.ts';
import { quoted, say } from '../../locales/message.ts';
import type { Operation, Tables } from '../../mapping/tables.ts';
import { fieldOfLoss } from '../../proxy/evidence/findings.ts';
import {
  type CoverageRow,
  type LedgerRow,
  lossWeights,
  type Traffic,
  type UnknownRow,
  type VerdictRow,
} from '../../proxy/records/evidence.ts';
import { type byMerchant, iso, type Shown, shown, whose } from '../fields.ts';
import { ofEach } from '../whose.ts';
import { comparedCalls, sumOf } from './facts.ts';
import type { EvidenceSource } from './readiness.ts';

/**
 * `equal`, `different`: in compared calls, where it did or did not get through. `seen`: in proxied calls that were not
 * compared. `unchecked`: in no compared call, but other calls were not compared. `never_seen`: in no call.
 */
export const coverageStates = ['different', 'equal', 'seen', 'unchecked', 'never_seen'] as const;
type CoverageState = (typeof coverageStates)[number];

export const coverageQuery = z.strictObject({
  state: z.enum(coverageStates).exactOptional().describe('only in this state'),
  operation: z.string().min(1).max(100).exactOptional().describe('of this operation, even if it was never called'),
});

export type CoverageView = Awaited<ReturnType<typeof viewCoverage>>;
export type CoverageCellView = ReturnType<typeof cellsOf>[number];

/**
 * Never-seen cells come from the tables' own fields at the merchant's site, so that gaps show. Operations without a
 * call are listed with 0 calls and without their fields.
 */
export async function viewCoverage(ports: EvidenceSource, merchant_id: string, query: z.infer<typeof coverageQuery>) {
  const { store } = ports;
  const tables = ports.tables.of(merchant_id);
  const [merchant, rows, traffic] = await Promise.all([
    store.merchants.merchant(merchant_id),
    store.evidence.coverage(merchant_id),
    store.evidence.traffic({ merchant_id }),
  ]);
  const operations = tables.operations.filter(({ name }) => query.operation === undefined || name === query.operation);
  const cells = operations.flatMap((operation) => {
    const seen = rows.filter((row) => row.operation === operation.name);
    const is_used = seen.length > 0 || callsOf(traffic, operation) > 0;
    const site = merchant?.site ?? null;
    const unseen = unseenState(traffic, operation, seen);
    return is_used || query.operation !== undefined ? cellsOf(tables, operation, site, seen, unseen) : [];
  });
  return {
    merchant_id,
    tables_revision: tables.revision,
    operations: operations.map((operation) => ({ operation: operation.name, calls: callsOf(traffic, operation) })),
    cells: cells.filter(({ state }) => query.state === undefined || state === query.state),
  };
}

function cellsOf(
  tables: Tables,
  operation: Operation,
  site: string | null,
  seen: readonly CoverageRow[],
  unseenState: (field: string) => CoverageState,
) {
  const fields = [...seen.map(({ field }) => field), ...tables.fields(operation, site).map(({ field }) => field)];
  return [...new Set(fields)].map((field) => {
    const { equal = 0, different = 0, last_at = null } = seen.find((row) => row.field === field) ?? {};
    const state: CoverageState = last_at === null ? unseenState(field) : different > 0 ? 'different' : 'equal';
    return { operation: operation.name, field, equal, different, state, last_at: iso(last_at) };
  });
}

/**
 * The state of a field without a cell. Of calls on legacy only the path is known, because the operation has matched it;
 * but in shadow each create and each double read is translated, and has a cell.
 */
function unseenState(
  traffic: readonly Traffic[],
  operation: Operation,
  seen: readonly CoverageRow[],
): (field: string) => CoverageState {
  const rows = traffic.filter((row) => row.operation === operation.name && row.outcome !== 'auth');
  const isUnchecked = rows.some(({ lane }) => lane === 'legacy');
  const looked_at = comparedCalls(seen);
  return (field) => {
    if (rows.length === 0) return 'never_seen';
    if (field.startsWith('path.')) return 'seen';
    return isUnchecked && looked_at < sumOf(rows) ? 'unchecked' : 'never_seen';
  };
}

function callsOf(traffic: readonly Traffic[], { name }: Operation): number {
  return sumOf(traffic.filter(({ operation }) => operation === name));
}

// The loss ledger: fields that do not reach the order, each with the sentence for the till's maker.

export const lossQuery = z.strictObject({
  merchant: whose.exactOptional(),
  weight: z.enum(lossWeights).exactOptional().describe('only of this weight'),
  operation: z.string().min(1).max(100).exactOptional().describe('of this operation'),
});

export type LossView = ReturnType<typeof viewOf>;

/** Money first, then identity, then by count; with the advice of the merchant's own tables. */
export async function viewLosses(
  ports: EvidenceSource,
  query: z.infer<typeof lossQuery>,
  signal: AbortSignal | null = null,
): Promise<LossView[]> {
  const rows = await ofEach(query.merchant, ports.store.evidence.ledger, signal);
  return rows
    .filter((row) => query.weight === undefined || row.weight === query.weight)
    .filter((row) => query.operation === undefined || row.operation === query.operation)
    .toSorted(
      (one, other) => lossWeights.indexOf(one.weight) - lossWeights.indexOf(other.weight) || other.count - one.count,
    )
    .map((row) => {
      const tables = ports.tables.of(row.merchant_id);
      return viewOf(tables, { ...row, why: whyLost(tables, row) });
    });
}

/**
 * The sentence of today's tables, which has its translations; the stored one is of the day on which it was lost. A
 * converter's sentence has values, and stays.
 */
export function whyLost(tables: Tables, { table, path, why }: Pick<LedgerRow, 'table' | 'path' | 'why'>): string {
  return tables.lossOf(table, path) ?? why;
}

function viewOf(tables: Tables, row: LedgerRow) {
  const { path, ...loss } = shown(row);
  const operation = tables.operations.find(({ name }) => name === row.operation);
  const { text: advice, said: advice_said } = adviceOn(tables, row);
  const field = fieldOfLoss(tables, operation, row.table, path);
  return { ...loss, field, real_count: row.count - row.would_be_count, advice, advice_said };
}

/** One sentence for a mail to the till's maker: which call, which field, how often, why, and what to do. */
export function adviceOn(
  tables: Tables,
  row: Pick<LedgerRow, 'operation' | 'table' | 'path' | 'why' | 'count'>,
): Spoken {
  const operation = tables.operations.find(({ name }) => name === row.operation);
  const field = fieldOfLoss(tables, operation, row.table, row.path);
  const { advice } = tables.facts(row.table, row.path, row.why);
  const call = operation === undefined ? row.operation : `${operation.method} ${operation.path}`;
  const why = quoted(row.why.replace(/\.$/, ''));
  const todo = quoted(advice ?? 'Please leave it out, or tell us what it is needed for.');
  return say('loss_advice', { field, call, count: row.count, why, todo });
}

type ByMerchant = z.infer<typeof byMerchant>;

export type UnknownView = Shown<UnknownRow>;
export type VerdictView = Shown<VerdictRow>;

/** Most seen first. */
export async function viewUnknowns(
  { store }: EvidenceSource,
  { merchant }: ByMerchant,
  signal: AbortSignal | null = null,
): Promise<UnknownView[]> {
  const rows = await ofEach(merchant, store.evidence.unknowns, signal);
  return rows.toSorted((one, other) => other.count - one.count).map(shown);
}

/** Refusals before what would be accepted, then by count. */
export async function viewVerdicts(
  { store }: EvidenceSource,
  { merchant }: ByMerchant,
  signal: AbortSignal | null = null,
): Promise<VerdictView[]> {
  const rows = await ofEach(merchant, store.evidence.verdicts, signal);
  const rank = ({ verdict }: VerdictRow): number => (verdict === 'accepted' ? 1 : 0);
  return rows.toSorted((one, other) => rank(one) - rank(other) || other.count - one.count).map(shown);
}
