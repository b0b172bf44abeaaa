/** Fills a database: copies rows of every used table more than a thousand times, with unique names. */
import { ARGENTINA } from '../../kit.ts';
import type { Server } from './server.ts';

/** Rows of each table to copy, and copies of each. */
const ROWS = 4;
const COPIES = 1_500;
/** Most copies belong to other merchants, but each queried merchant has enough of its own. */
const MERCHANT = `CASE n % 4 WHEN 0 THEN kept.merchant_id ELSE CAST(800000000 + n % 500 AS TEXT) END`;
const MILLION = 1_000_000;

/** Columns that differ between the copies of a row, or become terminal. */
const TABLES: Record<string, Record<string, string>> = {
  tokens: { rowid: 'n', fingerprint: named('fingerprint'), merchant_id: MERCHANT },
  links: {
    legacy_id: named('legacy_id'),
    merchant_id: MERCHANT,
    unit: named('unit'),
    slot: named('slot'),
    fingerprint: named('fingerprint'),
    reference_sent: named('reference_sent'),
    client_reference: named('client_reference'),
    merchant_order_id: numbered('merchant_order_id'),
    idempotency_key: named('idempotency_key'),
    order_id: named('order_id'),
    payment_id: named('payment_id'),
    // One of a hundred is still due.
    state: `CASE n % 100 WHEN 0 THEN 'LIVE' ELSE 'DONE' END`,
    legacy_state: `CASE n % 100 WHEN 0 THEN 'OPEN' ELSE 'FINISHED' END`,
    next_check_at: `CASE n % 100 WHEN 0 THEN kept.created_at + 3600000 + n END`,
    created_at: earlier('created_at'),
    updated_at: earlier('updated_at'),
  },
  link_states: { legacy_id: named('legacy_id') },
  notices: {
    rowid: 'n',
    id: named('id'),
    legacy_id: named('legacy_id'),
    merchant_id: MERCHANT,
    state: `'delivered'`,
    created_at: earlier('created_at'),
  },
  notice_attempts: { rowid: numbered('rowid'), notice_id: named('notice_id') },
  events: {
    sequence: numbered('sequence'),
    // Like during an outage, many events are pending, none due soon; some name no order.
    order_id: `CASE n % 10 WHEN 1 THEN NULL ELSE ${named('order_id')} END`,
    reference: named('reference'),
    state: `CASE WHEN n % 100 = 0 THEN 'parked' WHEN n % 10 = 1 THEN 'pending' ELSE 'done' END`,
    next_attempt_at: `next_attempt_at + CASE n % 10 WHEN 1 THEN 86400000 ELSE 0 END`,
    received_at: earlier('received_at'),
  },
  refunds: {
    id: named('id'),
    number: numbered('number'),
    legacy_id: named('legacy_id'),
    merchant_id: MERCHANT,
    payment_id: named('payment_id'),
    idempotency_key: named('idempotency_key'),
    upstream_id: named('upstream_id'),
    state: `'DONE'`,
  },
  legacy_sales: {
    sequence: numbered('sequence'),
    id: named('id'),
    // Half of the merchant that stays on legacy, each of its other units has one; half of one with new sales on orders.
    merchant_id: `CASE n % 8 WHEN 1 THEN '${ARGENTINA}' ELSE kept.merchant_id END`,
    unit: named('unit'),
    slot: named('slot'),
    legacy_id: named('legacy_id'),
    client_reference: named('client_reference'),
    state: `'ENDED'`,
  },
  exchanges: {
    sequence: numbered('sequence'),
    id: named('id'),
    merchant_id: MERCHANT,
    legacy_id: named('legacy_id'),
    unit: named('unit'),
    at: earlier('at'),
  },
  seen_units: { slot: named('slot') },
  traffic: { day: 'kept.day - n' },
};

/** An hour's leases of a store that has finished that work; a closed store leaves none to copy. */
const LEASES = `INSERT INTO leases (what, id, holder, until)
  SELECT (ARRAY['link', 'notice', 'event'])[1 + n % 3], 'done-' || n, 'another', clock_timestamp() - interval '1 minute'
  FROM generate_series(1, ${COPIES * ROWS}) AS n`;

/** More subjects than statistics name, each with many lines: reading backwards to a line about one of them looks cheap. */
const AUDIT = `INSERT INTO audit (sequence, at, who, action, subject, reason, detail, hash)
  SELECT (SELECT max(sequence) FROM audit) + n, 0, 'puente', 'filled', 'subject ' || n % 400, '', '{}', 'hash ' || n
  FROM generate_series(1, ${5 * COPIES * ROWS}) AS n`;

/** @throws Error when a table stays small because it had no row to copy. */
export async function fill(server: Server, url: string): Promise<void> {
  const copies = Object.entries(TABLES).map(
    ([table, changes]) => `INSERT INTO ${table} OVERRIDING SYSTEM VALUE
      SELECT (jsonb_populate_record(kept, jsonb_build_object(
        ${Object.entries(changes).map(([column, value]) => `'${column}', ${value}`)}))).*
      FROM (SELECT ctid, row_number() OVER () AS place FROM ${table} LIMIT ${ROWS}) AS chosen
      JOIN ${table} AS kept ON kept.ctid = chosen.ctid, generate_series(chosen.place, ${COPIES * ROWS}, ${ROWS}) AS n`,
  );
  const sequences = `SELECT setval(pg_get_serial_sequence(table_name, column_name), ${2 * MILLION})
    FROM information_schema.columns WHERE table_schema = 'public' AND is_identity = 'YES'`;
  // Without triggers: the rows were checked when they were first written.
  await server.run(url, ['SET session_replication_role = replica', ...copies, LEASES, AUDIT, sequences].join(';\n'));
  await server.run(url, 'ANALYZE');
  for (const table of [...Object.keys(TABLES), 'leases']) {
    const [found] = await server.run(url, `SELECT count(*) AS rows FROM ${table}`);
    if (Number(found?.rows) < COPIES) throw new Error(`${table} has only ${found?.rows} rows`);
  }
}

/**
 * Afterwards: a backlog after a quiet time, of whose rows the statistics know nothing. No receiver has answered for a day, no
 * till knows of its paid sale, legacy has told the end of no sale, and events came that nobody has read.
 */
export async function leaveBacklog(server: Server, url: string): Promise<void> {
  const unread = `state = CASE sequence % 4 WHEN 0 THEN 'pending' WHEN 1 THEN 'parked' ELSE state END`;
  // The quiet time: no event waits, and no sale on legacy is open.
  const quiet = [
    ...['links', 'notices', 'events', 'legacy_sales', 'refunds'].map(
      (table) => `ALTER TABLE ${table} SET (autovacuum_enabled = false)`,
    ),
    'SET session_replication_role = replica',
    `UPDATE events SET state = 'done'`,
    `UPDATE legacy_sales SET state = 'ENDED'`,
  ];
  await server.run(url, quiet.join(';\n'));
  await server.run(url, 'VACUUM ANALYZE events, legacy_sales');
  const changes = [
    'SET session_replication_role = replica',
    `UPDATE links SET state = 'DONE', legacy_state = 'FINISHED', next_check_at = NULL, known_by = NULL,
      acknowledged_at = created_at, legacy_state_at = created_at`,
    `UPDATE notices SET state = 'pending', next_attempt_at = next_attempt_at + 86400000`,
    `UPDATE events SET ${unread}, next_attempt_at = next_attempt_at + 86400000, received_at = received_at + 86400000`,
    `UPDATE legacy_sales SET state = 'OPEN', ends_at = ends_at + 86400000`,
    `UPDATE refunds SET state = 'IN_DOUBT' WHERE number >= ${MILLION}`,
  ];
  await server.run(url, changes.join(';\n'));
}

/** Afterwards: no sale on legacy has ended, and the statistics know of none. */
export async function reopenOnLegacy(server: Server, url: string): Promise<void> {
  const changes = ['SET auto_explain.log_min_duration = -1', 'SET session_replication_role = replica'];
  await server.run(url, [...changes, `UPDATE legacy_sales SET state = 'OPEN'`].join(';\n'));
}

/**
 * Afterwards: all sales were paid within the day and no till knows it, and all notices wait, half of both of one merchant. Vacuumed, as
 * a server does by itself.
 */
export async function leaveUnknownToTills(server: Server, url: string, merchant_id: string): Promise<void> {
  const moment = (id: string) =>
    `(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT - ('x' || left(md5(${id}), 6))::BIT(24)::INTEGER`;
  const whose = `merchant_id = CASE WHEN random() < 0.5 THEN '${merchant_id}' ELSE merchant_id END`;
  const changes = [
    'SET session_replication_role = replica',
    `UPDATE links SET ${whose}, state = 'DONE', legacy_state = 'FINISHED', known_by = NULL, legacy_state_at = ${moment('legacy_id')}`,
    `UPDATE notices SET ${whose}, state = 'pending', created_at = ${moment('id')}`,
    `INSERT INTO link_states (legacy_id, revision, at, state, legacy_state, order_status)
      SELECT legacy_id, 99, 0, 'DONE', 'FINISHED', 'processed' FROM links`,
  ];
  await server.run(url, changes.join(';\n'));
  await server.run(url, 'VACUUM ANALYZE links, notices, link_states');
}

function named(column: string): string {
  return `kept.${column} || '-' || n`;
}

/** Null stays null. */
function numbered(column: string): string {
  return `kept.${column} * 0 + ${MILLION} + n`;
}

function earlier(column: string): string {
  return `kept.${column} - n * 60000`;
}
