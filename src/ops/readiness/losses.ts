/** The loss ledger: what does not reach the order, money and identity first, each with the sentence for the till's maker. */
import { z } from 'zod';
import type { Said, Spoken } from '../../error.ts';
import { quoted, say } from '../../locales/sentences.ts';
import type { Tables } from '../../mapping/tables.ts';
import { fieldOfLoss } from '../../proxy/evidence/findings.ts';
import type { LedgerRow } from '../../proxy/records/evidence.ts';
import { merchantId } from './differences.ts';
import type { EvidenceSource } from './source.ts';

export const lossWeights = ['money', 'identity', 'other'] as const satisfies readonly LedgerRow['weight'][];

/** The query of `GET /api/losses`. */
export const lossQuery = z.strictObject({
  merchant: merchantId.exactOptional(),
  weight: z.enum(lossWeights).exactOptional(),
  operation: z.string().min(1).max(100).exactOptional(),
});
export type LossQuery = z.infer<typeof lossQuery>;

export interface LossView {
  merchant_id: string;
  operation: string;
  /** As coverage names it: `body.items[].picture_url`, `headers.x-corporation-id`. */
  field: string;
  table: string;
  why: string;
  weight: LedgerRow['weight'];
  /** Calls that lost it: on the orders lane, and on paper. */
  count: number;
  real_count: number;
  would_be_count: number;
  first_at: string;
  last_at: string;
  /** An exchange that shows it. */
  sample: string;
  tables_revision: string;
  /** To send to the till's maker as it is. */
  advice: string;
  advice_said: Said;
}

/** Money first, then who and what a sale was for, then the rest; the most frequent first in each. */
export async function viewLosses(runtime: EvidenceSource, query: LossQuery): Promise<LossView[]> {
  const rows = await runtime.store.ledger(query.merchant);
  return rows
    .filter((row) => query.weight === undefined || row.weight === query.weight)
    .filter((row) => query.operation === undefined || row.operation === query.operation)
    .toSorted(
      (one, other) => lossWeights.indexOf(one.weight) - lossWeights.indexOf(other.weight) || other.count - one.count,
    )
    .map((row) => viewOf(runtime, row));
}

function viewOf({ tables }: EvidenceSource, row: LedgerRow): LossView {
  const operation = tables.operations.find(({ name }) => name === row.operation);
  const advice = adviceOn(tables, row);
  return {
    merchant_id: row.merchant_id,
    operation: row.operation,
    field: fieldOfLoss(tables, operation, row.table, row.path),
    table: row.table,
    why: row.why,
    weight: row.weight,
    count: row.count,
    real_count: row.count - row.would_be_count,
    would_be_count: row.would_be_count,
    first_at: new Date(row.first_at).toISOString(),
    last_at: new Date(row.last_at).toISOString(),
    sample: row.sample,
    tables_revision: row.tables_revision,
    advice: advice.text,
    advice_said: advice.said,
  };
}

/** One sentence that stands alone in a mail: which call, which field, how often, why, and what to do. */
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
