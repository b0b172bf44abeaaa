/** Every statement that writes, by name: the shared ones, but for those that only PostgreSQL's own words can say. */

import { ANY_POINT_OF_SALE, LATE_EFFECT_MS } from '../../proxy/records/routing.ts';
import { PARKED_EVENTS_LIMIT } from '../../proxy/store.ts';
import {
  HOLDING,
  holding,
  type ScheduleWrite,
  scheduleWritesIn,
  UNVERIFIED_KEPT,
  type WriteName,
  writes,
} from '../writes.ts';

// Statements that write evidence, in PostgreSQL's words: each takes a whole batch as one JSON array of rows.

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

// The writes of `../writes-schedules.ts` in PostgreSQL's words.

export const postgresScheduleWrites: Record<ScheduleWrite, string> = scheduleWritesIn({
  clock: 'CAST(? AS BIGINT)',
  least: 'least',
  greatest: 'greatest',
  nthOf: (waits_ms, nth) => `(ARRAY[${waits_ms.join(', ')}]::BIGINT[])[${nth}]`,
});

/** Parked events beyond the limit; the tally spares counting them each time. */
const TOO_MANY = `greatest(0, (SELECT sum(rows) FROM tallies WHERE what = 'parked') - ${PARKED_EVENTS_LIMIT})`;
const LISTED = 'IN (SELECT value FROM json_each(?))';

const own: Partial<Record<WriteName, string>> = {
  /** Identical and unread, and nobody has taken it yet: then this hint says nothing new. */
  receive_event: `INSERT INTO events (received_at, order_id, reference, user_id, verified, action, state, attempts,
    next_attempt_at) SELECT said.*, 'pending', 0, said.received_at
    FROM (SELECT CAST(? AS BIGINT) AS received_at, CAST(? AS byte_text) AS order_id, CAST(cover(?) AS byte_text) AS reference,
      CAST(? AS byte_text) AS user_id, CAST(? AS INTEGER) AS verified, CAST(? AS byte_text) AS action) AS said
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE state = 'pending' AND coalesce(order_id, '') = coalesce(said.order_id, '')
    AND left(coalesce(reference, ''), 200) = left(coalesce(said.reference, ''), 200)
    AND order_id IS NOT DISTINCT FROM said.order_id AND reference IS NOT DISTINCT FROM said.reference
    AND user_id IS NOT DISTINCT FROM said.user_id AND verified = said.verified AND action = said.action
    AND NOT EXISTS (SELECT 1 FROM leases WHERE what = 'event' AND leases.id = CAST(events.sequence AS TEXT)))`,
  drop_parked: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked' AND verified = 0
    ORDER BY sequence LIMIT ${TOO_MANY})`,
  evict_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
    ORDER BY verified, sequence LIMIT ${TOO_MANY})`,
  /** By the index of references; nothing is read for an event that names an order, as nearly all do. */
  thin_references: `DELETE FROM events WHERE sequence IN (SELECT events.sequence FROM events AS over
    JOIN events ON left(events.reference, 200) = left(over.reference, 200) AND events.reference = over.reference
    WHERE over.sequence = ? AND over.verified = 0 AND over.order_id IS NULL
    AND events.order_id IS NULL AND events.verified = 0 AND events.state IN ('done', 'expired')
    ORDER BY events.sequence DESC OFFSET ${UNVERIFIED_KEPT})`,
  end_earlier_legacy_sales: `UPDATE legacy_sales AS earlier SET state = 'ENDED', updated_at = ? FROM legacy_sales AS sale
    WHERE sale.id = ? AND sale.state = 'OPEN' AND earlier.merchant_id = sale.merchant_id AND earlier.slot = sale.slot
    AND earlier.sequence < sale.sequence AND earlier.slot IS NOT NULL AND ${holding('earlier.state')}
    AND (earlier.slot <> '${ANY_POINT_OF_SALE}' OR earlier.unit = sale.unit)
    AND (earlier.state = 'OPEN' OR earlier.updated_at <= ?)`,
  /** Another process may be carrying it, but for so long at most. */
  doubt_legacy_sales: `WITH clock (now) AS (SELECT CAST(? AS BIGINT))
    UPDATE legacy_sales SET state = 'IN_DOUBT', updated_at = now FROM clock
    WHERE slot IS NOT NULL AND ${HOLDING} AND state = 'SENDING' AND updated_at <= now - ${LATE_EFFECT_MS}`,
  delete_events_of_links: `DELETE FROM events WHERE sequence IN (
    SELECT events.sequence FROM links JOIN events ON events.order_id = links.order_id WHERE links.legacy_id ${LISTED} UNION
    SELECT events.sequence FROM links JOIN events ON left(events.reference, 200) = left(links.reference_sent, 200)
      AND events.reference = links.reference_sent
    WHERE links.legacy_id ${LISTED} AND events.state IN ('done', 'expired') AND events.user_id = links.merchant_id
    AND (events.order_id IS NULL OR events.order_id = links.order_id))`,
  delete_attempts_of_links: `DELETE FROM notice_attempts
    WHERE notice_id IN (SELECT id FROM notices WHERE legacy_id ${LISTED})`,
  blank_tokens: `UPDATE tokens SET sealed_token = '\\x' WHERE fingerprint ${LISTED} AND seen_at < ?`,
  erase_from_bulk_move: `WITH erased (merchant) AS (SELECT CAST(? AS TEXT))
    UPDATE bulk_moves SET revision = revision + 1,
    items = (SELECT json_agg(CASE WHEN item.value ->> 'merchant_id' = merchant
      THEN (item.value::jsonb || '{"merchant_id":"erased","detail":""}')::json ELSE item.value END ORDER BY item.place)
      FROM json_array_elements(bulk_moves.items::json) WITH ORDINALITY AS item (value, place)),
    detail = CASE WHEN strpos(detail, ?) > 0 THEN 'It told of a merchant that was erased.' ELSE detail END
    FROM erased WHERE id = ? AND NOT (state = 'running' AND EXISTS (SELECT 1 FROM json_each(bulk_moves.items) AS item
    WHERE item.value ->> 'merchant_id' = ? AND item.value ->> 'state' = 'waiting'))`,
};

export const postgresWrites: Readonly<Record<WriteName, string>> = {
  ...writes,
  ...own,
  ...postgresEvidenceWrites,
  ...postgresScheduleWrites,
};
