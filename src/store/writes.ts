/** Every write statement by name, in SQLite's SQL, with the cached rows it invalidates; PostgreSQL overrides some. */

import { AUDIT_GENESIS, type AuditEntry, chainHash } from '../proxy/audit.ts';
import { ANY_POINT_OF_SALE } from '../proxy/records/routing.ts';
import { PARKED_EVENTS_LIMIT } from '../proxy/store.ts';
import {
  ALL,
  AWAITS_IN_BULK,
  BULK,
  BULK_CHANGE,
  EXCHANGE,
  HOLDING,
  HOUSEKEEPING_ROWS,
  holding,
  INCIDENT_NOTED,
  LINES_PASSED,
  LINK,
  LINK_WRITES,
  LISTED,
  LIVE,
  MOST_ALERTS,
  NEWEST_RETRIABLE,
  namesIn,
  OVER,
  PROPOSAL,
  parametersFor,
  REFUND,
  REFUND_CHANGE,
  SALE,
  STILL_THERE,
  settingEach,
  UNUSED,
  UNVERIFIED_KEPT,
  unindexed,
  type Value,
} from './conditions.ts';
import { writesIn } from './worded-writes.ts';

/** An incident is announced again when it counts so many times what it did: a new alert for each of a hundred would be none. */
const GROWTH = 10;
/** Values: kind, merchant and subject. */
const OPEN_INCIDENT = 'kind = ? AND merchant_id = ? AND subject = ? AND closed_at IS NULL';
/**
 * Values: receiver, twice; twice the time; what the incident is known by; receiver, twice. Compared is the last
 * alert that was delivered to this receiver; the number in the id is that of the incident's alerts before it. Names have no colon.
 */
function insertGrowth(where: string): string {
  return `INSERT INTO alerts (id, incident_id, receiver, event, state, attempts, created_at, next_attempt_at)
    SELECT id || '-' || ? || ':grown:' || (SELECT count(*) FROM alerts AS other WHERE other.incident_id = incidents.id),
      id, ?, 'grown', 'pending', 0, ?, ? FROM incidents WHERE ${where}
    AND count >= ${GROWTH} * coalesce((SELECT delivered.count FROM alerts AS delivered WHERE delivered.incident_id = incidents.id
      AND delivered.receiver = ? AND delivered.state = 'delivered' ORDER BY delivered.sequence DESC LIMIT 1), 1)
    AND NOT EXISTS (SELECT 1 FROM alerts AS waiting WHERE waiting.incident_id = incidents.id
      AND waiting.receiver = ? AND waiting.state = 'pending')`;
}

/** Values: the columns; for each of two large columns 0 or 1 (changed) and its value; the link and its revision. */
function updateLink(columns: string): string {
  return `UPDATE links SET ${settingEach(columns)}, revision = revision + 1,
    sealed_body = CASE WHEN ? = 1 THEN ? ELSE sealed_body END,
    order_json = CASE WHEN ? = 1 THEN cover_order(?) ELSE order_json END WHERE legacy_id = ? AND revision = ?`;
}

/** Empty without one. */
const NEWEST_RAMP = `coalesce((SELECT id FROM bulk_runs WHERE ramp IS NOT NULL ORDER BY sequence DESC LIMIT 1), '')`;

const { pull_links, ...worded } = writesIn({
  clock: '?',
  least: 'min',
  greatest: 'max',
  nthOf: (waits_ms, nth) => `json_extract('${JSON.stringify(waits_ms)}', '$[' || (${nth} - 1) || ']')`,
  keyOf: (column) => column,
  // The condition keeps the parser from reading `ON CONFLICT` as a join's condition.
  rows(columns, { constants = {}, condition = '1' } = {}) {
    const names = namesIn(columns.replace(/:\w+/g, ''));
    const cells = names.map((_, index) => `value ->> ${index}`);
    return `(${[...names, ...Object.keys(constants)].join(', ')})
    SELECT ${[...cells, ...Object.values(constants)].join(', ')} FROM json_each(?) WHERE ${condition}`;
  },
});

// Which cached rows a write changes (`sqlite/reader.ts`), declared for each.

export type CachedKind = 'merchant' | 'token' | 'link';

interface Invalidation {
  kind: CachedKind;
  /** Place of the one row's key among the values of the write; without it all rows of the kind. */
  at?: number;
}

export interface Write {
  sql: string;
  invalidates: readonly Invalidation[];
  /** A SELECT; when it finds no row, the write is skipped. */
  needs?: string;
}

function changing<Name extends string>(
  invalidates: readonly Invalidation[],
  statements: Record<Name, string>,
): Record<Name, Write> {
  const declared = Object.entries<string>(statements).map(([name, sql]) => [name, { sql, invalidates }]);
  return Object.fromEntries(declared) as Record<Name, Write>; // the keys are those of `statements`
}

const NOTHING_CACHED: readonly Invalidation[] = [];
const MERCHANTS_AND_TOKENS: readonly Invalidation[] = [{ kind: 'merchant' }, { kind: 'token' }];
const ALL_LINKS: readonly Invalidation[] = [{ kind: 'link' }];

export const SUM_TABLES = [
  'traffic',
  'seen_units',
  'ledger',
  'coverage',
  'differences',
  'unknowns',
  'verdicts',
  'readiness_days',
] as const;
const erasedSums = Object.fromEntries(
  SUM_TABLES.map((table) => [`erase_${table}`, `DELETE FROM ${table} WHERE merchant_id = ?`]),
) as Record<`erase_${(typeof SUM_TABLES)[number]}`, string>; // a name for each table

const declared = {
  ...changing(MERCHANTS_AND_TOKENS, {
    insert_merchant: `INSERT INTO merchants (id, site, settings, sealed_notice_url, sealed_notice_secret,
      sealed_credential, revision, updated_at) VALUES (?, ?, ?, ?, ?, ?, 1, ?)`,
    update_merchant: `UPDATE merchants SET site = ?, settings = ?, sealed_notice_url = ?, sealed_notice_secret = ?,
      sealed_credential = ?, revision = revision + 1, updated_at = ? WHERE id = ? AND revision = ?`,
    meet_merchant: `INSERT INTO merchants (id, site, settings, revision, updated_at) VALUES (?, ?, ?, 1, ?)
      ON CONFLICT (id) DO UPDATE SET site = excluded.site, revision = merchants.revision + 1, updated_at = excluded.updated_at
      WHERE merchants.site IS NULL AND excluded.site IS NOT NULL`,
    update_trips: `UPDATE merchants SET trips = ?, revision = revision + 1, updated_at = ? WHERE id = ? AND revision = ?`,
    accept_token: `INSERT INTO tokens (fingerprint, merchant_id, sealed_token, accepted_until, seen_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (fingerprint) DO UPDATE SET merchant_id = excluded.merchant_id, sealed_token = excluded.sealed_token,
      accepted_until = excluded.accepted_until, seen_at = excluded.seen_at`,
    forget_token: `DELETE FROM tokens WHERE fingerprint = ?`,
    blank_tokens: `UPDATE tokens SET sealed_token = ? WHERE fingerprint ${LISTED} AND seen_at < ?`,
    erase_tokens: `DELETE FROM tokens WHERE merchant_id = ?`,
    /** Only when no row of the merchant is left: otherwise new work has begun. */
    erase_merchant: `DELETE FROM merchants WHERE id = ?
      AND NOT EXISTS (SELECT 1 FROM links WHERE merchant_id = merchants.id)
      AND NOT EXISTS (SELECT 1 FROM legacy_sales WHERE merchant_id = merchants.id)
      AND NOT EXISTS (SELECT 1 FROM proposals WHERE merchant_id = merchants.id)
      AND NOT EXISTS (SELECT 1 FROM bulk_runs WHERE ${AWAITS_IN_BULK('merchants.id')})`,
  }),

  ...changing(NOTHING_CACHED, {
    /**
     * The last values: merchant, slot, the slot that also covers it, and the row's creation: no row while a sale
     * created on legacy holds the slot (nothing holds a null slot). Then those of `NEWEST_RETRIABLE` and the id found
     * there, or null: no row when this create may repeat another sale. Then those of `STILL_THERE` and `UNUSED`.
     */
    insert_link: `INSERT INTO links (${LINK}) SELECT ${parametersFor(LINK)}
      WHERE NOT EXISTS (SELECT 1 FROM legacy_sales WHERE merchant_id = (SELECT ?) AND slot IN ((SELECT ?), (SELECT ?))
        AND ${HOLDING} AND ends_at > (SELECT ?))
      AND (${NEWEST_RETRIABLE}) IS NOT DISTINCT FROM ?
      AND ${STILL_THERE} AND ${UNUSED}`,
  }),
  ...changing([{ kind: 'link', at: -2 }], {
    mark_link: `UPDATE links SET ${settingEach(LINK_WRITES.mark_link)}, revision = revision + 1 WHERE legacy_id = ? AND revision = ?`,
    update_link: updateLink(LINK_WRITES.update_link),
    place_link: updateLink(LINK_WRITES.place_link),
  }),
  ...changing([{ kind: 'link', at: 0 }], {
    /** A till that got an error or no answer does not have the id in the notice: an acknowledgement proves nothing. */
    /** `coalesce`, because every index of sales that no till knows begins elsewhere (`unindexed`). */
    mark_known_by_notice: `UPDATE links SET known_by = 'notice', revision = revision + 1
      WHERE legacy_id = ? AND coalesce(known_by, '') = '' AND acknowledged_at IS NOT NULL AND state = 'DONE'`,
  }),
  ...changing(ALL_LINKS, {
    delete_links: `DELETE FROM links WHERE legacy_id ${LISTED} AND ${OVER} AND next_check_at IS NULL`,
    /** The same, also with a check scheduled. */
    erase_links: `DELETE FROM links WHERE legacy_id ${LISTED} AND ${OVER}`,
    pull_links,
  }),

  ...changing(NOTHING_CACHED, {
    /** The last three values are merchant, first and last slot: no row while a link between them is live. */
    insert_legacy_sale: `INSERT INTO legacy_sales (${SALE}) SELECT ${parametersFor(SALE)}
      WHERE NOT EXISTS (SELECT 1 FROM links WHERE merchant_id = (SELECT ?) AND slot BETWEEN (SELECT ?) AND (SELECT ?)
      AND ${LIVE})`,
    update_legacy_sale: `UPDATE legacy_sales SET state = coalesce(?, state), legacy_id = CASE WHEN ? = 1 THEN ? ELSE legacy_id END,
      unit = coalesce(?, unit), slot = CASE WHEN ? = 1 THEN ? ELSE slot END,
      unproven_token = CASE WHEN ? = 1 THEN NULL ELSE unproven_token END,
      ends_at = coalesce(?, ends_at), end_state = coalesce(?, end_state), amount = coalesce(?, amount), updated_at = coalesce(?, updated_at)
      WHERE id = ? AND state = coalesce(?, state) AND (unproven_token IS NOT NULL OR ? = 0)`,
    /**
     * Of earlier sales without an answer only those end that can't take effect any more. Rows of `ANY_POINT_OF_SALE`
     * concern the same point of sale only when they have the same unit.
     */
    end_earlier_legacy_sales: `UPDATE legacy_sales AS earlier SET state = 'ENDED', updated_at = ? FROM legacy_sales AS sale
      WHERE sale.id = ? AND ${unindexed('sale.state')} = 'OPEN' AND earlier.merchant_id = sale.merchant_id AND earlier.slot = sale.slot
      AND earlier.sequence < sale.sequence AND earlier.slot IS NOT NULL AND ${holding('earlier.state')}
      AND (earlier.slot <> '${ANY_POINT_OF_SALE}' OR earlier.unit = sale.unit)
      AND (earlier.state = 'OPEN' OR earlier.updated_at <= ?)`,
    /** At startup: creates that were being proxied when the process ended may exist, or may still arrive. */
    doubt_legacy_sales: `UPDATE legacy_sales SET state = 'IN_DOUBT', updated_at = ?
      WHERE slot IS NOT NULL AND ${HOLDING} AND state = 'SENDING'`,
    delete_legacy_sales: `DELETE FROM legacy_sales WHERE sequence IN (SELECT value FROM json_each(?))`,
    erase_legacy_sales: `DELETE FROM legacy_sales WHERE sequence ${LISTED} AND NOT (${HOLDING} AND ends_at > ?)`,

    remember: `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    /** 64 KiB, written and deleted in one transaction: proves that the disk has room again. */
    probe_fill: `INSERT INTO meta (name, value) VALUES ('probe', hex(zeroblob(32768)))`,
    probe_clear: `DELETE FROM meta WHERE name = 'probe'`,
    insert_audit: `INSERT INTO audit (sequence, at, who, action, subject, reason, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,

    /** Known to the till by a read or an acknowledged notice. The last values: time of the notice; 1 for a read; the sum it shows. */
    mark_refunds_known: `UPDATE refunds SET known_at = ?, revision = revision + 1 WHERE legacy_id = ? AND known_at IS NULL
      AND state = 'DONE' AND created_at <= ? AND (answered_at IS NOT NULL OR 1 = (SELECT ?))
      AND refunded_before_minor + coalesce(refunded_minor, amount_minor, 1) <= ?`,
    /** A receiver may acknowledge before its till's answer is stored as sent. Values: epoch ms, the refund, since when. */
    mark_answered_refund_known: `UPDATE refunds SET known_at = ? WHERE id = ? AND known_at IS NULL
      AND EXISTS (SELECT 1 FROM notices JOIN notice_attempts ON notice_attempts.notice_id = notices.id
        WHERE notices.legacy_id = refunds.legacy_id AND notices.created_at > refunds.created_at
        AND notice_attempts.outcome = 'delivered' AND notice_attempts.at + notice_attempts.duration_ms >= ?)`,
    /** The last values are the link and its number of refunds read: one opened since may be the same request. */
    insert_refund: `INSERT INTO refunds (${REFUND}) SELECT ${parametersFor(REFUND)}
      WHERE (SELECT count(*) FROM refunds WHERE legacy_id = (SELECT ?)) = (SELECT ?)`,
    update_refund: `UPDATE refunds SET ${settingEach(REFUND_CHANGE)}, revision = revision + 1 WHERE id = ? AND revision = ?`,

    insert_notice: `INSERT INTO notices (id, legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at,
      state, attempts, sequence)
      SELECT ?, ?, ?, ?, ?, ?, cover(?), ?, ?, 'pending', 0, coalesce(max(sequence), 0) + 1 FROM notices WHERE legacy_id = ?`,
    /** Before a newer one of the same topic and id is inserted (`docs/protocol.md` §3.13). */
    supersede_notices: `UPDATE notices SET state = 'superseded' WHERE legacy_id = ? AND form = ? AND topic = ? AND subject = ?
      AND ${unindexed('state')} = 'pending'`,
    record_attempt: `INSERT INTO notice_attempts (notice_id, at, duration_ms, outcome, status, detail, url)
      VALUES (?, ?, ?, ?, ?, ?, ?)`,
    /** The second value is 1 for a delivery: a notice superseded during its attempt is still marked as delivered. */
    update_notice: `UPDATE notices SET attempts = attempts + ?, state = CASE WHEN state = 'pending' OR ? = 1 THEN ? ELSE state END,
      next_attempt_at = ? WHERE id = ? AND ${unindexed('state')} IN ('pending', 'superseded') AND attempts = ?`,
    hasten_redelivered: `UPDATE notices SET next_attempt_at = ? WHERE state = 'pending' AND next_attempt_at > ?
      AND id IN (SELECT value FROM json_each(?))`,
    redeliver_notices: `UPDATE notices SET state = 'pending', replayed = 1, next_attempt_at = ?
      WHERE state <> 'pending' AND id IN (SELECT value FROM json_each(?))`,
    hasten_notices: `UPDATE notices INDEXED BY notices_due_by_merchant SET next_attempt_at = ? WHERE merchant_id = ? AND state = 'pending' AND next_attempt_at > ?`,

    /** The last value is the newest sequence handed out: no event is merged into one whose order may have been read. */
    receive_event: `INSERT INTO events (received_at, order_id, reference, user_id, verified, action, state, attempts,
      next_attempt_at) SELECT ?, ?, cover(?), ?, ?, ?, 'pending', 0, ?
      WHERE NOT EXISTS (SELECT 1 FROM events WHERE state = 'pending' AND order_id IS ? AND reference IS (SELECT cover(?)) AND user_id IS ?
      AND verified = ? AND action = ? AND sequence > ?)`,
    update_event: `UPDATE events SET state = coalesce(?, state), attempts = coalesce(?, attempts),
      next_attempt_at = coalesce(?, next_attempt_at) WHERE sequence = ?`,
    /** The oldest unverified events beyond the limit go first, so that a flood of forged ones can't fill the disk. */
    drop_parked: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked' AND verified = 0
      ORDER BY sequence LIMIT max(0, (SELECT count(*) FROM events WHERE state = 'parked') - ${PARKED_EVENTS_LIMIT}))`,
    /** Verified events expire only when no unverified one is left. */
    evict_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
      ORDER BY verified, sequence
      LIMIT max(0, (SELECT count(*) FROM events WHERE state = 'parked') - ${PARKED_EVENTS_LIMIT}))`,
    expire_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
      AND received_at < ? LIMIT ${HOUSEKEEPING_ROWS})`,
    /** The first value is an event that is done: of its order only the newest unverified events stay. */
    thin_events: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events
      WHERE order_id = (SELECT order_id FROM events WHERE sequence = ? AND verified = 0)
      AND verified = 0 AND state IN ('done', 'expired') ORDER BY sequence DESC LIMIT ${ALL} OFFSET ${UNVERIFIED_KEPT})`,
    /** The same for an event that has only a reference. */
    thin_references: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events
      WHERE reference = (SELECT reference FROM events WHERE sequence = ? AND verified = 0 AND order_id IS NULL)
      AND order_id IS NULL AND verified = 0 AND state IN ('done', 'expired')
      ORDER BY sequence DESC LIMIT ${ALL} OFFSET ${UNVERIFIED_KEPT})`,

    save_proposal: `INSERT INTO proposals (${PROPOSAL}) VALUES (${parametersFor(PROPOSAL)})
      ON CONFLICT (id) DO UPDATE SET state = excluded.state, decided_by = excluded.decided_by,
      decided_at = excluded.decided_at, expires_at = excluded.expires_at WHERE proposals.state = 'waiting'`,
    /** The last value is the id of the newest ramp that was seen: no row when there is a newer one; null: whatever there is. */
    insert_bulk_move: `INSERT INTO bulk_runs (${BULK}) SELECT ${parametersFor(BULK)}
      WHERE coalesce((SELECT ?), ${NEWEST_RAMP}) = ${NEWEST_RAMP}`,
    update_bulk_move: `UPDATE bulk_runs SET ${settingEach(BULK_CHANGE)}, revision = revision + 1
      WHERE id = ? AND revision = ?`,

    /** The last values are its line, twice: lines are noted in order, so a line below the newest one counts already. */
    note_incident: `INSERT INTO incidents (${INCIDENT_NOTED})
      SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE (SELECT ?) = 0 OR (SELECT ?) > (${LINES_PASSED})
      ON CONFLICT (kind, merchant_id, subject) WHERE closed_at IS NULL DO UPDATE SET last_at = excluded.last_at,
      count = excluded.count + CASE WHEN excluded.line = 0 THEN 0 ELSE incidents.count END, sample = excluded.sample,
      reason = excluded.reason, line = excluded.line`,
    pass_lines: `INSERT INTO meta (name, value) VALUES ('incident_line', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value
      WHERE CAST(meta.value AS BIGINT) < CAST(excluded.value AS BIGINT)`,
    close_incident: `UPDATE incidents SET closed_at = ?, closed_by = ?, reason = coalesce(?, reason),
      sample = coalesce(?, sample), count = coalesce(?, count)
      WHERE id = ? AND closed_at IS NULL`,
    /** Values: id, receiver, twice the time, and the incident, which is there when it was opened and not added to another. */
    insert_alert: `INSERT INTO alerts (id, incident_id, receiver, event, state, attempts, created_at, next_attempt_at)
      SELECT ?, incidents.id, ?, 'opened', 'pending', 0, ?, ? FROM incidents WHERE incidents.id = ?`,
    insert_growth: insertGrowth(OPEN_INCIDENT),
    insert_late_growth: insertGrowth('id = ? AND closed_at IS NULL'),
    /** Values: the count, what the open incident is known by, the count: a condition that fell grows from there. */
    lower_alerts: `UPDATE alerts SET count = ? WHERE incident_id IN (SELECT id FROM incidents WHERE ${OPEN_INCIDENT}) AND count > ?`,
    /** Values: the event, twice; twice the time; the incident. */
    insert_closings: `INSERT INTO alerts (id, incident_id, receiver, event, state, attempts, created_at, next_attempt_at)
      SELECT incident_id || '-' || receiver || ':' || ?, incident_id, receiver, ?, 'pending', 0, ?, ? FROM alerts
      WHERE incident_id = ? GROUP BY incident_id, receiver ORDER BY min(sequence)`,
    drop_alerts: `UPDATE alerts SET state = 'failed' WHERE sequence IN (SELECT sequence FROM alerts
      WHERE receiver = ? AND state = 'pending' ORDER BY sequence DESC LIMIT ${ALL} OFFSET ${MOST_ALERTS})`,
    take_alert: `UPDATE alerts SET attempts = attempts + 1, next_attempt_at = ?, count = ?
      WHERE sequence = ? AND attempts = ? AND state = 'pending'`,
    end_alert: `UPDATE alerts SET state = ?, detail = ? WHERE sequence = ? AND attempts = ? AND state = 'pending'`,
    delete_alerts: `DELETE FROM alerts WHERE incident_id ${LISTED}`,
    delete_incidents: `DELETE FROM incidents WHERE id ${LISTED} AND closed_at IS NOT NULL`,
    erase_alerts: `DELETE FROM alerts WHERE incident_id IN (SELECT id FROM incidents WHERE merchant_id = ?)`,
    erase_incidents: `DELETE FROM incidents WHERE merchant_id = ?`,

    /** One row per step: a JSON batch costs twice as much. PostgreSQL gets one batch per step. */
    insert_exchanges: `INSERT INTO exchanges (${EXCHANGE}) VALUES (${parametersFor(EXCHANGE)})`,
    /** The value is how many rows this unit inserted: there is one writer, so their sequences are consecutive. */
    place_exchanges: `INSERT INTO exchange_hours (hour, first_sequence, last_sequence)
      SELECT at / 3600000, min(sequence), max(sequence) FROM exchanges NOT INDEXED
      WHERE sequence > last_insert_rowid() - ? GROUP BY 1
      ON CONFLICT (hour) DO UPDATE SET last_sequence = excluded.last_sequence`,
    save_difference: `UPDATE differences SET state = ?, accepted_until = ?, note = ?, who = ?, revision = revision + 1
      WHERE merchant_id = ? AND signature = ? AND revision = ?`,
    ...worded,

    // Retention and erasure, most by a JSON list of keys; no statement deletes a live row.
    /**
     * Events, attempts, notices, refunds and history are deleted before their links. Another merchant or a later sale
     * may have the same reference: of events by reference only those that are done and of this sale are deleted.
     */
    delete_events_of_links: `DELETE FROM events WHERE sequence IN (
      SELECT events.sequence FROM json_each(?) AS named CROSS JOIN links ON links.legacy_id = named.value
      CROSS JOIN events INDEXED BY events_by_order ON events.order_id = links.order_id UNION
      SELECT events.sequence FROM json_each(?) AS named CROSS JOIN links ON links.legacy_id = named.value
      CROSS JOIN events INDEXED BY events_by_reference ON events.reference = links.reference_sent
      WHERE events.state IN ('done', 'expired') AND events.user_id = links.merchant_id
      AND (events.order_id IS NULL OR events.order_id = links.order_id))`,
    delete_attempts_of_links: `DELETE FROM notice_attempts
      WHERE notice_id IN (SELECT id FROM notices WHERE legacy_id ${LISTED})`,
    delete_notices_of_links: `DELETE FROM notices WHERE legacy_id ${LISTED}`,
    delete_refunds_of_links: `DELETE FROM refunds WHERE legacy_id ${LISTED} AND state NOT IN ('SENDING', 'IN_DOUBT')`,
    delete_history_of_links: `DELETE FROM link_states WHERE legacy_id ${LISTED}`,
    delete_attempts_of_notices: `DELETE FROM notice_attempts WHERE notice_id ${LISTED}`,
    delete_notices: `DELETE FROM notices WHERE id ${LISTED} AND state <> 'pending'`,
    delete_events: `DELETE FROM events WHERE sequence ${LISTED} AND state IN ('done', 'expired')`,
    delete_traffic: `DELETE FROM traffic WHERE (merchant_id, day, operation, lane, outcome) IN (
      SELECT merchant_id, day, operation, lane, outcome FROM traffic WHERE day < (SELECT ?) LIMIT ?)`,
    delete_readiness: `DELETE FROM readiness_days WHERE (merchant_id, day) IN (
      SELECT merchant_id, day FROM readiness_days WHERE day < (SELECT ?) LIMIT ?)`,
    delete_shed: `DELETE FROM shed WHERE day < ?`,
    delete_hours: `DELETE FROM exchange_hours WHERE hour < ?
      AND last_sequence < (SELECT coalesce(min(sequence), 9223372036854775807) FROM exchanges)`,
    erase_events: `DELETE FROM events WHERE sequence ${LISTED}`,
    /** An expired proposal may be deleted too, although its state is still `waiting`. */
    erase_proposals: `DELETE FROM proposals WHERE merchant_id = ? AND (state <> 'waiting' OR expires_at <= ?)`,
    /** Merchants are counted, so its place stays, without its units. */
    erase_bulk_items: `UPDATE bulk_items SET merchant_id = 'erased',
      item = json_remove(json_set(item, '$.merchant_id', 'erased', '$.detail', ''), '$.own', '$.ramp') WHERE bulk = ? AND merchant_id = ?`,
    /** By the new revision a step reads again. Values: merchant, row, merchant. */
    erase_from_bulk_move: `UPDATE bulk_runs SET revision = revision + 1,
      detail = CASE WHEN instr(detail, ?) > 0 THEN 'It named a merchant that was erased.' ELSE detail END
      WHERE id = ? AND NOT (${AWAITS_IN_BULK('(SELECT ?)')})`,
    delete_exchanges: `DELETE FROM exchanges WHERE sequence IN (SELECT value FROM json_each(?))`,
    erase_messages: `UPDATE exchanges SET messages = NULL WHERE sequence IN (SELECT value FROM json_each(?))`,
    ...erasedSums,
  }),

  /**
   * SQLite opens all nine indexes of the inbox before it searches: 3.8 µs per sale; the read in `needs` takes 0.25
   * (50,000 runs on 10,000 events, none parked).
   */
  unpark: {
    sql: `UPDATE events SET state = 'pending', next_attempt_at = ? WHERE sequence IN (
      SELECT sequence FROM events INDEXED BY events_parked_order WHERE state = 'parked' AND order_id = (SELECT ?) UNION ALL
      SELECT sequence FROM events INDEXED BY events_parked_reference WHERE state = 'parked' AND reference = (SELECT cover(?)))`,
    invalidates: NOTHING_CACHED,
    needs: `SELECT 1 FROM events WHERE state = 'parked' LIMIT 1`,
  },
};

export type WriteName = keyof typeof declared;

export const writes: Readonly<Record<WriteName, Write>> = declared;

export const LAST_AUDIT = 'SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1';

/** Sequence of the newest line about a subject. */
export const LAST_OF_SUBJECT = 'SELECT sequence FROM audit WHERE subject = ? ORDER BY sequence DESC LIMIT 1';

/** The values of `insert_audit` for the line that follows `last`, chained to it. */
export function valuesOfAudit(last: { sequence: number; hash: string } | undefined, entry: AuditEntry): Value[] {
  const detail = JSON.stringify(entry.detail);
  // Hashed as it will be read back: neither a value that JSON can't hold may be in the hash, nor half of a surrogate pair.
  const [who = '', subject = '', reason = ''] = [entry.who, entry.subject, entry.reason].map((text) =>
    text.toWellFormed(),
  );
  const line = { ...entry, who, subject, reason, detail: JSON.parse(detail), sequence: (last?.sequence ?? 0) + 1 };
  const { sequence, at, action } = line;
  return [sequence, at, who, action, subject, reason, detail, chainHash(last?.hash ?? AUDIT_GENESIS, line)];
}

/** The same of several lines, each chained to the one before it. */
export function valuesOfAudits(last: Parameters<typeof valuesOfAudit>[0], entries: readonly AuditEntry[]): Value[][] {
  let before = last;
  return entries.map((entry) => {
    const values = valuesOfAudit(before, entry);
    before = { sequence: Number(values[0]), hash: String(values.at(-1)) };
    return values;
  });
}
