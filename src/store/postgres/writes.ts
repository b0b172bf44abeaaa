/** Every write statement by name for PostgreSQL: the shared ones, with its own where they differ. */

import { LATE_EFFECT_MS } from '../../proxy/records/routing.ts';
import { PARKED_EVENTS_LIMIT } from '../../proxy/store.ts';
import { EXCHANGE, HOLDING, LISTED, namesIn, UNVERIFIED_KEPT, unindexed } from '../conditions.ts';
import { type Words, writesIn } from '../worded-writes.ts';
import { type WriteName, writes } from '../writes.ts';

/** Sorted rows: all writers of the same sums write them in one order. */
const rows: Words['rows'] = (columns, { constants = {}, condition = 'true', order = '1, 2, 3' } = {}) => {
  const cells = namesIn(columns).map((column, index) => {
    const type = /:(\w+)$/.exec(column)?.[1];
    return type === undefined ? `value ->> ${index}` : `(value ->> ${index})::${type}`;
  });
  const names = [columns.replace(/:\w+/g, ''), ...Object.keys(constants)];
  return `(${names.join(', ')}) SELECT ${[...cells, ...Object.values(constants)].join(', ')}
    FROM json_array_elements(?::json) WITH ORDINALITY AS batch (value, place) WHERE ${condition} ORDER BY ${order}`;
};

const words: Words = {
  clock: 'CAST(? AS BIGINT)',
  least: 'least',
  greatest: 'greatest',
  nthOf: (waits_ms, nth) => `(ARRAY[${waits_ms.join(', ')}]::BIGINT[])[${nth}]`,
  keyOf: (column) => `md5(${column})`,
  rows,
};

const EXCHANGE_CELLS = EXCHANGE.replace(/\b(at|status)\b/g, '$1:bigint').replace('duration_ms', 'duration_ms:float8');
/** Parked events beyond the limit; the tally avoids a count each time. */
const TOO_MANY = `greatest(0, (SELECT sum(rows) FROM tallies WHERE what = 'parked') - ${PARKED_EVENTS_LIMIT})`;

const own: Partial<Record<WriteName, string>> = {
  insert_exchanges: `INSERT INTO exchanges ${rows(EXCHANGE_CELLS, { order: 'place' })}`,
  /** Not while an equal event is pending that no store has taken. */
  receive_event: `INSERT INTO events (received_at, order_id, reference, user_id, verified, action, state, attempts,
    next_attempt_at) SELECT incoming.*, 'pending', 0, incoming.received_at
    FROM (SELECT CAST(? AS BIGINT) AS received_at, CAST(? AS byte_text) AS order_id, CAST(cover(?) AS byte_text) AS reference,
      CAST(? AS byte_text) AS user_id, CAST(? AS INTEGER) AS verified, CAST(? AS byte_text) AS action) AS incoming
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE state = 'pending' AND coalesce(order_id, '') = coalesce(incoming.order_id, '')
    AND left(coalesce(reference, ''), 200) = left(coalesce(incoming.reference, ''), 200)
    AND order_id IS NOT DISTINCT FROM incoming.order_id AND reference IS NOT DISTINCT FROM incoming.reference
    AND user_id IS NOT DISTINCT FROM incoming.user_id AND verified = incoming.verified AND action = incoming.action
    AND NOT EXISTS (SELECT 1 FROM leases WHERE what = 'event' AND leases.id = CAST(events.sequence AS TEXT)))`,
  drop_parked: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked' AND verified = 0
    ORDER BY sequence LIMIT ${TOO_MANY})`,
  evict_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
    ORDER BY verified, sequence LIMIT ${TOO_MANY})`,
  /** By the index of references; reads nothing for an event that names an order, as nearly all do. */
  thin_references: `DELETE FROM events WHERE sequence IN (SELECT events.sequence FROM events AS finished
    JOIN events ON left(events.reference, 200) = left(finished.reference, 200) AND events.reference = finished.reference
    WHERE finished.sequence = ? AND finished.verified = 0 AND finished.order_id IS NULL
    AND events.order_id IS NULL AND events.verified = 0 AND events.state IN ('done', 'expired')
    ORDER BY events.sequence DESC OFFSET ${UNVERIFIED_KEPT})`,
  /** By the indexes of all events of an order and of a reference. */
  unpark: `UPDATE events SET state = 'pending', next_attempt_at = ? WHERE sequence IN (
    SELECT sequence FROM events WHERE ${unindexed('state')} = 'parked' AND order_id = (SELECT ?) UNION ALL
    SELECT sequence FROM events WHERE ${unindexed('state')} = 'parked' AND reference = (SELECT cover(?)))`,
  /** Another process may still be proxying the create, for at most LATE_EFFECT_MS. */
  doubt_legacy_sales: `WITH clock (now) AS (SELECT CAST(? AS BIGINT))
    UPDATE legacy_sales SET state = 'IN_DOUBT', updated_at = now FROM clock
    WHERE slot IS NOT NULL AND ${HOLDING} AND state = 'SENDING' AND updated_at <= now - ${LATE_EFFECT_MS}`,
  delete_events_of_links: `DELETE FROM events WHERE sequence IN (
    SELECT events.sequence FROM links JOIN events ON events.order_id = links.order_id WHERE links.legacy_id ${LISTED} UNION
    SELECT events.sequence FROM links JOIN events ON left(events.reference, 200) = left(links.reference_sent, 200)
      AND events.reference = links.reference_sent
    WHERE links.legacy_id ${LISTED} AND events.state IN ('done', 'expired') AND events.user_id = links.merchant_id
    AND (events.order_id IS NULL OR events.order_id = links.order_id))`,
  erase_bulk_items: `UPDATE bulk_items SET merchant_id = 'erased',
    item = (item::jsonb - 'own' - 'ramp' || '{"merchant_id":"erased","detail":""}')::text WHERE bulk = ? AND merchant_id = ?`,
};

const shared = Object.fromEntries(Object.entries(writes).map(([name, { sql }]) => [name, sql]));

export const postgresWrites = { ...shared, ...writesIn(words), ...own } as Readonly<Record<WriteName, string>>; // all of `writes`
