/** Statements that write evidence: an exchange by itself, and the sums of a whole batch as one JSON array of rows each. */

/** The first `count` elements of each row, in order. */
const elements = (count: number) => Array.from({ length: count }, (_, index) => `value ->> ${index}`).join(', ');
/** `WHERE 1` keeps the parser from reading `ON CONFLICT` as a join's condition. */
const rows = (count: number) => `SELECT ${elements(count)} FROM json_each(?) WHERE 1`;
const FIRST_AND_LAST = 'first_at = min(first_at, excluded.first_at), last_at = max(last_at, excluded.last_at)';

export const evidenceWrites = {
  /** One a step: to take a batch apart as JSON would cost twice the work. A server is sent a batch a step. */
  insert_exchanges: `INSERT INTO exchanges (id, at, merchant_id, operation, kind, lane, stage, unit, legacy_id, status, error,
    outcome, duration_ms, tables_revision, upstream, fired, losses, lost, unknown, shadow, signatures, messages,
    limitations) VALUES (${Array(23).fill('?').join(', ')})`,
  /** Of so many that this unit has just inserted: nobody else writes, so their sequences follow each other. */
  place_exchanges: `INSERT INTO exchange_hours (hour, first_sequence, last_sequence)
    SELECT at / 3600000, min(sequence), max(sequence) FROM exchanges NOT INDEXED
    WHERE sequence > last_insert_rowid() - ? GROUP BY 1
    ON CONFLICT (hour) DO UPDATE SET last_sequence = excluded.last_sequence`,
  add_traffic: `INSERT INTO traffic (merchant_id, day, operation, kind, lane, outcome, calls) ${rows(7)}
    ON CONFLICT (merchant_id, day, operation, lane, outcome) DO UPDATE SET calls = calls + excluded.calls`,
  add_units: `INSERT INTO seen_units (merchant_id, slot, first_at, last_at, calls, last_lane) ${rows(6)}
    ON CONFLICT (merchant_id, slot) DO UPDATE SET calls = calls + excluded.calls, ${FIRST_AND_LAST},
    last_lane = CASE WHEN excluded.last_at >= last_at THEN excluded.last_lane ELSE last_lane END`,
  add_losses: `INSERT INTO ledger (merchant_id, operation, "table", path, why, weight, count, would_be_count, first_at, last_at,
    sample, tables_revision) ${rows(12)}
    ON CONFLICT (merchant_id, operation, "table", path) DO UPDATE SET why = excluded.why, weight = excluded.weight,
    count = count + excluded.count, would_be_count = would_be_count + excluded.would_be_count, ${FIRST_AND_LAST},
    sample = excluded.sample, tables_revision = excluded.tables_revision`,
  add_coverage: `INSERT INTO coverage (merchant_id, operation, field, equal, different, last_at) ${rows(6)}
    ON CONFLICT (merchant_id, operation, field) DO UPDATE SET equal = equal + excluded.equal,
    different = different + excluded.different, last_at = max(last_at, excluded.last_at)`,
  /** One that was fixed and is seen again is new, and whoever looks at it must look again. */
  add_differences: `INSERT INTO differences (merchant_id, signature, operation, what, path, legacy, orders, count, first_at,
    last_at, sample, tables_revision, state, note, revision) SELECT ${elements(12)}, 'new', '', 1 FROM json_each(?) WHERE 1
    ON CONFLICT (merchant_id, signature) DO UPDATE SET legacy = excluded.legacy, orders = excluded.orders,
    count = count + excluded.count, ${FIRST_AND_LAST}, sample = excluded.sample,
    tables_revision = excluded.tables_revision, state = CASE state WHEN 'fixed' THEN 'new' ELSE state END,
    revision = revision + (state = 'fixed')`,
  save_difference: `UPDATE differences SET state = ?, accepted_until = ?, note = ?, who = ?, revision = revision + 1
    WHERE merchant_id = ? AND signature = ? AND revision = ?`,
  add_unknowns: `INSERT INTO unknowns (merchant_id, what, name, count, first_at, last_at) ${rows(6)}
    ON CONFLICT (merchant_id, what, name) DO UPDATE SET count = count + excluded.count, ${FIRST_AND_LAST}`,
  add_verdicts: `INSERT INTO verdicts (merchant_id, operation, verdict, code, error, detail, count, last_at, sample) ${rows(9)}
    ON CONFLICT (merchant_id, operation, verdict, code, error, detail) DO UPDATE SET count = count + excluded.count,
    last_at = max(last_at, excluded.last_at), sample = excluded.sample`,
  /** Of a merchant that was erased while it was judged nothing is kept. */
  keep_readiness: `INSERT INTO readiness_days (merchant_id, day, verdict) ${rows(3)}
    AND (EXISTS (SELECT 1 FROM merchants WHERE id = value ->> 0)
      OR EXISTS (SELECT 1 FROM traffic WHERE merchant_id = value ->> 0))
    ON CONFLICT (merchant_id, day) DO UPDATE SET verdict = excluded.verdict`,
  add_shed: `INSERT INTO shed (day, reason, count) VALUES (?, ?, ?)
    ON CONFLICT (day, reason) DO UPDATE SET count = count + excluded.count`,

  delete_exchanges: `DELETE FROM exchanges WHERE sequence IN (SELECT value FROM json_each(?))`,
  erase_messages: `UPDATE exchanges SET messages = NULL WHERE sequence IN (SELECT value FROM json_each(?))`,
} as const;
