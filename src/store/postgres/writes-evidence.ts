/** Statements that write evidence, in PostgreSQL's words: each takes a whole batch as one JSON array of rows. */
import type { WriteName } from '../writes.ts';

/**
 * The rows of a batch for some columns: `number` behind a name makes it one. They come sorted, so that whatever writes the same
 * sums does so in one order.
 */
function rows(columns: string, order = '1, 2, 3', condition = 'true'): string {
  const elements = columns.split(/,\s*/).map((column, index) => {
    const type = /:(\w+)$/.exec(column)?.[1];
    return type === undefined ? `row ->> ${index}` : `(row ->> ${index})::${type}`;
  });
  const names = columns.replace(/:\w+/g, '');
  return `(${names}) SELECT ${elements.join(', ')} FROM json_array_elements(?::json) WITH ORDINALITY AS batch (row, place)
    WHERE ${condition} ORDER BY ${order}`;
}

const firstAndLast = (table: string) => `first_at = least(${table}.first_at, excluded.first_at),
  last_at = greatest(${table}.last_at, excluded.last_at)`;
const added = (table: string, column: string) => `${column} = ${table}.${column} + excluded.${column}`;

export const postgresEvidenceWrites = {
  insert_exchanges: `INSERT INTO exchanges ${rows(
    `id, at:bigint, merchant_id, operation, kind, lane, stage, unit, legacy_id, status:bigint, error, outcome,
    duration_ms:float8, tables_revision, upstream, fired, losses, lost, unknown, shadow, signatures, messages, limitations`,
    'place',
  )}`,
  add_traffic: `INSERT INTO traffic ${rows('merchant_id, day:bigint, operation, kind, lane, outcome, calls:bigint')}
    ON CONFLICT (merchant_id, day, operation, lane, outcome) DO UPDATE SET ${added('traffic', 'calls')}`,
  add_units: `INSERT INTO seen_units ${rows('merchant_id, slot, first_at:bigint, last_at:bigint, calls:bigint, last_lane')}
    ON CONFLICT (merchant_id, md5(slot)) DO UPDATE SET ${added('seen_units', 'calls')}, ${firstAndLast('seen_units')},
    last_lane = CASE WHEN excluded.last_at >= seen_units.last_at THEN excluded.last_lane ELSE seen_units.last_lane END`,
  add_losses: `INSERT INTO ledger ${rows(
    `merchant_id, operation, "table", path, why, weight, count:bigint, would_be_count:bigint, first_at:bigint,
    last_at:bigint, sample, tables_revision`,
  )}
    ON CONFLICT (merchant_id, operation, "table", path) DO UPDATE SET why = excluded.why, weight = excluded.weight,
    ${added('ledger', 'count')}, ${added('ledger', 'would_be_count')}, ${firstAndLast('ledger')},
    sample = excluded.sample, tables_revision = excluded.tables_revision`,
  add_coverage: `INSERT INTO coverage ${rows(
    'merchant_id, operation, field, equal:bigint, different:bigint, last_at:bigint',
  )}
    ON CONFLICT (merchant_id, operation, field) DO UPDATE SET ${added('coverage', 'equal')},
    ${added('coverage', 'different')}, last_at = greatest(coverage.last_at, excluded.last_at)`,
  /** One that was fixed and is seen again is new, and whoever looks at it must look again. */
  add_differences: `INSERT INTO differences ${rows(
    `merchant_id, signature, operation, what, path, legacy, orders, count:bigint, first_at:bigint, last_at:bigint, sample,
    tables_revision`,
  )
    .replace(') SELECT', ', state, note, revision) SELECT')
    .replace(' FROM json', `, 'new', '', 1 FROM json`)}
    ON CONFLICT (merchant_id, signature) DO UPDATE SET legacy = excluded.legacy, orders = excluded.orders,
    ${added('differences', 'count')}, ${firstAndLast('differences')}, sample = excluded.sample,
    tables_revision = excluded.tables_revision,
    state = CASE differences.state WHEN 'fixed' THEN 'new' ELSE differences.state END,
    revision = differences.revision + CASE differences.state WHEN 'fixed' THEN 1 ELSE 0 END`,
  add_unknowns: `INSERT INTO unknowns ${rows('merchant_id, what, name, count:bigint, first_at:bigint, last_at:bigint')}
    ON CONFLICT (merchant_id, what, md5(name)) DO UPDATE SET ${added('unknowns', 'count')}, ${firstAndLast('unknowns')}`,
  add_verdicts: `INSERT INTO verdicts ${rows(
    'merchant_id, operation, verdict, code, error, detail, count:bigint, last_at:bigint, sample',
  )}
    ON CONFLICT (merchant_id, operation, verdict, md5(code), md5(error), md5(detail)) DO UPDATE
    SET ${added('verdicts', 'count')}, last_at = greatest(verdicts.last_at, excluded.last_at), sample = excluded.sample`,
  keep_readiness: `INSERT INTO readiness_days ${rows(
    'merchant_id, day:bigint, verdict',
    '1, 2',
    `(EXISTS (SELECT 1 FROM merchants WHERE id = row ->> 0)
      OR EXISTS (SELECT 1 FROM traffic WHERE traffic.merchant_id = row ->> 0))`,
  )}
    ON CONFLICT (merchant_id, day) DO UPDATE SET verdict = excluded.verdict`,
  add_shed: `INSERT INTO shed (day, reason, count) VALUES (?, ?, ?)
    ON CONFLICT (day, reason) DO UPDATE SET ${added('shed', 'count')}`,
} satisfies Partial<Record<WriteName, string>>;
