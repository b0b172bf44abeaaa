/** Columns and conditions that the statements of the store share, in SQL of both engines. */

/** A parameter of a statement, or the value of a column. */
export type Value = string | number | null | Uint8Array;

export const LINK = `legacy_id, merchant_id, lane, family, unit, slot, client_key, fingerprint, reference_sent,
  client_reference, held, amount_minor, merchant_order_id, sealed_notice_url, idempotency_key, sealed_body,
  tables_revision, state, attempts, first_sent_at, boot_id, client_answer, order_id, order_json, order_version,
  payment_id, legacy_state, legacy_state_at, cancel, acknowledged_at, known_by, expires_at, next_check_at, created_at,
  updated_at, revision`;
const LINK_MARKS = 'acknowledged_at, known_by';
const LINK_CHANGE = `${LINK_MARKS}, state, attempts, first_sent_at, client_answer, order_version, legacy_state,
  legacy_state_at, cancel, expires_at, next_check_at, updated_at` as const;
/**
 * The columns that each write of a link sets: SQLite writes the indexes of all named columns, also where the value stays.
 * `mark_link`: what became of a sale's answers, which leaves the sale as it was, its `updated_at` too. The others write
 * `sealed_body` and `order_json` too, when they changed.
 */
export const LINK_WRITES = {
  mark_link: LINK_MARKS,
  update_link: LINK_CHANGE,
  place_link: `${LINK_CHANGE}, order_id, payment_id`,
} as const;
export const NEWEST_FIRST = 'ORDER BY created_at DESC, legacy_id DESC LIMIT (SELECT ?)';
/** Links of a merchant, a till's reference, and at most so many. */
export const OF_CLIENT_REFERENCE = `merchant_id = (SELECT ?) AND client_reference = (SELECT cover(?)) ${NEWEST_FIRST}`;
/** The columns of a LegacySale; `sequence` is internal to the store. */
export const SALE = `id, merchant_id, family, work, unit, slot, legacy_id, client_reference, amount, end_state, state,
  unproven_token, ends_at, created_at, updated_at`;
export const REFUND = `id, number, legacy_id, merchant_id, payment_id, client_key, fingerprint, amount_minor,
  refunded_before_minor, idempotency_key, state, upstream_id, reference_id, refunded_minor, upstream_status, answered_at,
  known_at, created_at, updated_at, revision`;
export const REFUND_CHANGE =
  'state, upstream_id, reference_id, refunded_minor, upstream_status, answered_at, known_at, updated_at';
export const PROPOSAL =
  'id, merchant_id, move, reason, proposed_by, proposed_at, expires_at, state, decided_by, decided_at';
/** A bulk move without its merchants. */
export const BULK = 'id, move, reason, who, per_day, ramp, state, detail, created_at, updated_at, revision';
export const BULK_CHANGE = 'per_day, ramp, state, detail, updated_at';
export const INCIDENT_NOTED = 'id, kind, merchant_id, subject, opened_at, last_at, count, sample, reason, line';
export const INCIDENT = `${INCIDENT_NOTED}, closed_at, closed_by`;
export const ALERT = 'sequence, id, incident_id, receiver, event, state, attempts, created_at, next_attempt_at, detail';
/** Audit lines looked at for incidents, by sequence. Builds before this fact had only what their incidents count. */
export const LINES_PASSED = `SELECT coalesce((SELECT CAST(value AS BIGINT) FROM meta WHERE name = 'incident_line'),
  (SELECT max(line) FROM incidents), 0) AS line`;
/** Alerts that wait for one receiver at most; older ones are given up. */
export const MOST_ALERTS = 500;
export const EXCHANGE = `id, at, merchant_id, operation, kind, lane, stage, unit, legacy_id, status, error, outcome,
  duration_ms, tables_revision, upstream, fired, losses, lost, unknown, shadow, signatures, messages, limitations`;
export const NOTICE = `id, legacy_id, merchant_id, sequence, topic, form, subject, body, state, attempts, created_at,
  next_attempt_at`;

/** Columns, in any table, with text of a till, which is encrypted when it shows a card number or a token. */
const COVERED: Readonly<Record<string, string>> = {
  client_reference: 'cover(?)',
  reference_sent: 'cover(?)',
  held: 'cover(?)',
  order_json: 'cover_order(?)',
  body: 'cover(?)',
  reference: 'cover(?)',
};
/** Their names, for queries that must cover the value they look for. */
export const COVERED_COLUMNS: readonly string[] = Object.keys(COVERED);

/** The column names of a list such as `LINK`, in its order. */
export function namesIn(columns: string): string[] {
  return columns.split(/,\s*/);
}

/** A parameter for each column, in the order of the list; covered columns get `cover(?)`. */
export function parametersFor(columns: string): string {
  return namesIn(columns)
    .map((column) => COVERED[column] ?? '?')
    .join(', ');
}

/** The SET of an UPDATE, with a parameter for each column as in `parametersFor`. */
export function settingEach(columns: string): string {
  return namesIn(columns)
    .map((column) => `${column} = ${COVERED[column] ?? '?'}`)
    .join(', ');
}

/**
 * Written as in the partial indexes, to which SQLite does not match an `IN`. They avoid `IN` because SQLite fills a
 * table in memory for each list of three and more, for every row written.
 */
export function oneOfThese(column: string, values: readonly string[]): string {
  return `(${values.map((value) => `${column} = '${value}'`).join(' OR ')})`;
}

/** Ids of merchants after the value, by skipping through an index: the cost grows with merchants, not with rows. */
export function merchantsIn(rows: string, condition = 'true'): string {
  const next = (after: string) => `SELECT min(merchant_id) FROM ${rows} WHERE ${condition} AND merchant_id > ${after}`;
  return `WITH RECURSIVE merchant (id) AS (${next('(SELECT ?)')}
    UNION ALL SELECT (${next('merchant.id')}) FROM merchant WHERE id IS NOT NULL)
    SELECT id FROM merchant WHERE id IS NOT NULL`;
}

/**
 * The column as no index has it, those of `store/postgres/dialect.ts` included, so that the row is found by its key: with
 * statistics of a quiet time PostgreSQL takes an index of open rows for empty and reads a backlog whole; SQLite takes the
 * index of states for the best one.
 */
export function unindexed(column: string): string {
  return `(${column} || '' || '')`;
}

/** A link that holds its slot. */
export const LIVE = oneOfThese('state', ['SENDING', 'IN_DOUBT', 'LIVE']);
/**
 * A sale that an equal create may be a retry of; the first condition is that of the index `links_retriable`. After an
 * acknowledged notice a till may still repeat a create by its key, if the answer was lost (`proxy/sales/create.ts`).
 */
export const RETRIABLE = `(known_by IS NULL OR (known_by = 'notice' AND client_key IS NOT NULL)) AND ${oneOfThese('state', ['SENDING', 'IN_DOUBT', 'LIVE', 'DONE'])}`;
/** A link that is terminal for its till. */
export const FINAL = oneOfThese('legacy_state', [
  'FINISHED',
  'CONFIRMATION_REQUIRED',
  'CANCELED',
  'ERROR',
  'ABANDONED',
]);
/** Links that need no more work. */
export const OVER = `state IN ('DONE', 'REJECTED', 'NOT_SENT', 'LOST')`;
/** A sale created on legacy that holds its slot until `ends_at`; each use compares that time. */
export const HOLDING = holding('state');

/** The same condition, on a column of another name. */
export function holding(column: string): string {
  return oneOfThese(column, ['SENDING', 'IN_DOUBT', 'OPEN']);
}

/** A bulk move or ramp that has not ended, and not reached the merchant's end yet. */
export const AWAITS_IN_BULK = (merchant: string): string => `state IN ('proposed', 'running', 'paused')
    AND id IN (SELECT bulk FROM bulk_items WHERE merchant_id = ${merchant} AND bulk_items.state = 'waiting')`;
/** Value: the merchant. */
export const NAMED_IN_BULK = 'id IN (SELECT bulk FROM bulk_items WHERE merchant_id = ?)';
export const LISTED = 'IN (SELECT value FROM json_each(?))';
/** More rows at once would delay the payments that queue behind the housekeeping. */
export const HOUSEKEEPING_ROWS = 5_000;
/** Unverified events kept of one order once they are done: enough to see what arrived, too few to fill a disk. */
export const UNVERIFIED_KEPT = 20;
export const ALL = '9223372036854775807';

/** Values: the merchant's revision that the lane was chosen by, or -1 for any; and the merchant. */
export const STILL_THERE = `(SELECT ?) IN (-1, coalesce((SELECT revision FROM merchants WHERE id = (SELECT ?)), 0))`;
/** Values: the merchant and the reference. */
export const UNUSED = `NOT EXISTS (SELECT 1 FROM links WHERE merchant_id = (SELECT ?) AND reference_sent = (SELECT cover(?)))`;
/**
 * The newest sale that an equal create may be a retry of: one with its client key, or else one whose till got an error
 * or no answer. Values: merchant, fingerprint, client key, merchant, fingerprint, client key. Each half reads one row
 * of its own index, however many equal sales there are.
 */
export const NEWEST_RETRIABLE = `SELECT legacy_id FROM (SELECT * FROM (SELECT legacy_id, client_key, created_at FROM links
      WHERE merchant_id = (SELECT ?) AND fingerprint = (SELECT ?) AND coalesce(client_key, '') = coalesce((SELECT ?), '')
      AND ${RETRIABLE} ORDER BY created_at DESC, legacy_id DESC LIMIT 1) AS same_key
    UNION ALL SELECT * FROM (SELECT legacy_id, client_key, created_at FROM links
      WHERE merchant_id = (SELECT ?) AND fingerprint = (SELECT ?) AND acknowledged_at IS NULL
      AND ${RETRIABLE} ORDER BY created_at DESC, legacy_id DESC LIMIT 1) AS undelivered) AS retriable
    ORDER BY client_key IS NOT DISTINCT FROM (SELECT ?) DESC, created_at DESC, legacy_id DESC LIMIT 1`;
