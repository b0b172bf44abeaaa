/** The coverage matrix: every field of every operation that a merchant uses: equal, different, seen, carried, never seen. */
import { z } from 'zod';
import type { Operation } from '../../mapping/tables.ts';
import type { CoverageRow, Traffic } from '../../proxy/records/evidence.ts';
import type { EvidenceSource } from './source.ts';
import { sumOf } from './words.ts';

/**
 * `equal`, `different`: it was there, and it did or did not get through. `seen`: it was there in calls that were carried,
 * and nothing was compared. `carried`: it was in no call that was looked at, and others were carried without that. `never_seen`: it never came.
 */
export const coverageStates = ['different', 'equal', 'seen', 'carried', 'never_seen'] as const;
export type CoverageState = (typeof coverageStates)[number];

/** The query of `GET /api/merchants/:id/coverage`. */
export const coverageQuery = z.strictObject({
  state: z.enum(coverageStates).exactOptional(),
  operation: z.string().min(1).max(100).exactOptional(),
});
export type CoverageQuery = z.infer<typeof coverageQuery>;

export interface CoverageCellView {
  operation: string;
  /** As the table writes it; fields of an answer that was read on both sides begin with `answer.`. */
  field: string;
  /** Calls in which it reached the other side, and calls in which it did not. */
  equal: number;
  different: number;
  state: CoverageState;
  last_at: string | null;
}

export interface CoverageView {
  merchant_id: string;
  tables_revision: string;
  /** Every operation there is, with the calls of this merchant; 0 is never seen. */
  operations: { operation: string; calls: number }[];
  cells: CoverageCellView[];
}

/**
 * Never-seen cells come from the tables' own fields at the merchant's site, so that emptiness shows. Operations that were
 * never called are listed with 0 calls and without their fields.
 */
export async function viewCoverage(
  runtime: EvidenceSource,
  merchant_id: string,
  query: CoverageQuery,
): Promise<CoverageView> {
  const { store, tables } = runtime;
  const [merchant, rows, traffic] = await Promise.all([
    store.merchant(merchant_id),
    store.coverage(merchant_id),
    store.traffic({ merchant_id }),
  ]);
  const asked = tables.operations.filter(({ name }) => query.operation === undefined || name === query.operation);
  const cells = asked.flatMap((operation) => {
    const seen = rows.filter((row) => row.operation === operation.name);
    const is_used = seen.length > 0 || callsOf(traffic, operation) > 0;
    const site = merchant?.site ?? null;
    const unseen = unseenState(traffic, operation, seen);
    return is_used || query.operation !== undefined ? cellsOf(runtime, operation, site, seen, unseen) : [];
  });
  return {
    merchant_id,
    tables_revision: tables.revision,
    operations: asked.map((operation) => ({ operation: operation.name, calls: callsOf(traffic, operation) })),
    cells: cells.filter(({ state }) => query.state === undefined || state === query.state),
  };
}

function cellsOf(
  { tables }: EvidenceSource,
  operation: Operation,
  site: string | null,
  seen: readonly CoverageRow[],
  unseenState: (field: string) => CoverageState,
): CoverageCellView[] {
  const known = tables.fields(operation, site).map(({ field }) => field);
  const unseen = [...new Set(known)].filter((field) => !seen.some((row) => row.field === field));
  return [
    ...seen.map((row) => ({
      operation: operation.name,
      field: row.field,
      equal: row.equal,
      different: row.different,
      state: row.different > 0 ? ('different' as const) : ('equal' as const),
      last_at: new Date(row.last_at).toISOString(),
    })),
    ...unseen.map((field) => ({
      operation: operation.name,
      field,
      equal: 0,
      different: 0,
      state: unseenState(field),
      last_at: null,
    })),
  ];
}

/**
 * The state of a field that no cell is kept of. Of calls on legacy only the path is known, because the operation has matched
 * it; but creates and double reads are translated on paper in shadow, call by call, and each of those has a cell.
 */
function unseenState(
  traffic: readonly Traffic[],
  operation: Operation,
  seen: readonly CoverageRow[],
): (field: string) => CoverageState {
  const rows = traffic.filter((row) => row.operation === operation.name && row.outcome !== 'auth');
  const isCarried = rows.some(({ lane }) => lane === 'legacy');
  const looked_at = Math.max(0, ...seen.map(({ equal, different }) => equal + different));
  return (field) => {
    if (rows.length === 0) return 'never_seen';
    if (field.startsWith('path.')) return 'seen';
    return isCarried && looked_at < sumOf(rows) ? 'carried' : 'never_seen';
  };
}

function callsOf(traffic: readonly Traffic[], { name }: Operation): number {
  return sumOf(traffic.filter(({ operation }) => operation === name));
}
