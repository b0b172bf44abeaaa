/** Every statement that writes, by name, in SQLite's words: a unit carries the name and the values, and another engine has its own words where these are not its. */
import { PARKED_EVENTS_LIMIT } from '../proxy/store.ts';
import { LINK, RETRIABLE } from './columns.ts';
import { evidenceWrites } from './writes-evidence.ts';
import { HOLDING, routingWrites } from './writes-routing.ts';
import { scheduleWrites } from './writes-schedules.ts';
import { upkeepWrites } from './writes-upkeep.ts';

/** More at once would hold up the payments that wait behind the housekeeping. */
export const HOUSEKEEPING_ROWS = 5_000;
/** Unverified events kept of one order when they are over: enough to see what came, too few to fill a disk with. */
export const UNVERIFIED_KEPT = 20;
/** A limit that is none. */
const ALL = '9223372036854775807';

/** What a till wrote is covered where it shows what nobody may keep. */
const COVERED: Readonly<Record<string, string>> = {
  reference_sent: 'cover(?)',
  client_reference: 'cover(?)',
  held: 'cover(?)',
  order_json: 'cover_order(?)',
};
const LINK_VALUES = LINK.split(/,\s*/).map((column) => COVERED[column] ?? '?');
/** Values: the merchant's revision that the lane was chosen by, -1 for whichever; and the merchant. */
const STILL_THERE = `(SELECT ?) IN (-1, coalesce((SELECT revision FROM merchants WHERE id = (SELECT ?)), 0))`;
/** Values: the merchant and the reference. */
const UNUSED = `NOT EXISTS (SELECT 1 FROM links WHERE merchant_id = (SELECT ?) AND reference_sent = (SELECT cover(?)))`;
/**
 * The newest sale that an equal create may be a retry of: with its client key, or else one whose till was answered an error or
 * nothing. Values: merchant, fingerprint, client key, merchant, fingerprint, client key. Each half reads one row of an index of its
 * own, however many equal sales there were.
 */
export const NEWEST_RETRIABLE = `SELECT legacy_id FROM (SELECT * FROM (SELECT legacy_id, client_key, created_at FROM links
      WHERE merchant_id = (SELECT ?) AND fingerprint = (SELECT ?) AND coalesce(client_key, '') = coalesce((SELECT ?), '')
      AND ${RETRIABLE} ORDER BY created_at DESC, legacy_id DESC LIMIT 1) AS same_key
    UNION ALL SELECT * FROM (SELECT legacy_id, client_key, created_at FROM links
      WHERE merchant_id = (SELECT ?) AND fingerprint = (SELECT ?) AND acknowledged_at IS NULL
      AND ${RETRIABLE} ORDER BY created_at DESC, legacy_id DESC LIMIT 1) AS unacknowledged) AS retriable
    ORDER BY client_key IS NOT DISTINCT FROM (SELECT ?) DESC, created_at DESC, legacy_id DESC LIMIT 1`;
const INSERT_LINK = `INSERT INTO links (${LINK}) SELECT ${LINK_VALUES.join(', ')}`;

export const writes = {
  remember: `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  /** 64 KiB that are taken and given back in one transaction: proves that there is room again. */
  probe_fill: `INSERT INTO meta (name, value) VALUES ('probe', hex(zeroblob(32768)))`,
  probe_clear: `DELETE FROM meta WHERE name = 'probe'`,

  insert_merchant: `INSERT INTO merchants (id, site, settings, sealed_notice_url, sealed_notice_secret,
    sealed_credential, revision, updated_at) VALUES (?, ?, ?, ?, ?, ?, 1, ?)`,
  update_merchant: `UPDATE merchants SET site = ?, settings = ?, sealed_notice_url = ?, sealed_notice_secret = ?,
    sealed_credential = ?, revision = revision + 1, updated_at = ? WHERE id = ? AND revision = ?`,
  meet_merchant: `INSERT INTO merchants (id, site, settings, revision, updated_at) VALUES (?, ?, ?, 1, ?)
    ON CONFLICT (id) DO UPDATE SET site = excluded.site, revision = merchants.revision + 1, updated_at = excluded.updated_at
    WHERE merchants.site IS NULL AND excluded.site IS NOT NULL`,
  accept_token: `INSERT INTO tokens (fingerprint, merchant_id, sealed_token, accepted_until, seen_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (fingerprint) DO UPDATE SET merchant_id = excluded.merchant_id, sealed_token = excluded.sealed_token,
    accepted_until = excluded.accepted_until, seen_at = excluded.seen_at`,
  forget_token: `DELETE FROM tokens WHERE fingerprint = ?`,

  /**
   * The last values: merchant, slot, the slot that stands for it too, and the row's own time: no row while a sale born on legacy
   * holds the slot (a null slot is held by nothing). Then those of `NEWEST_RETRIABLE` and the id that was seen there, or null: no
   * row when another sale could be the one that this create repeats. Then those of `STILL_THERE` and `UNUSED`.
   */
  insert_link: `${INSERT_LINK}
    WHERE NOT EXISTS (SELECT 1 FROM legacy_sales WHERE merchant_id = (SELECT ?) AND slot IN ((SELECT ?), (SELECT ?))
      AND ${HOLDING} AND ends_at > (SELECT ?))
    AND (${NEWEST_RETRIABLE}) IS NOT DISTINCT FROM ?
    AND ${STILL_THERE} AND ${UNUSED}`,
  update_link: `UPDATE links SET state = ?, attempts = ?, first_sent_at = ?, client_answer = ?, order_id = ?,
    order_version = ?, payment_id = ?, legacy_state = ?, legacy_state_at = ?, cancel = ?, acknowledged_at = ?,
    heard_by = ?, expires_at = ?, next_check_at = ?, updated_at = ?, revision = revision + 1,
    sealed_body = CASE WHEN ? = 1 THEN ? ELSE sealed_body END, order_json = CASE WHEN ? = 1 THEN cover_order(?) ELSE order_json END
    WHERE legacy_id = ? AND revision = ?`,
  /**
   * A receiver has acknowledged a notice about the outcome of a sale. It says nothing of a sale whose till was answered an error or
   * nothing: the till does not know the id that the notice names.
   */
  hear_notice: `UPDATE links SET heard_by = 'notice', revision = revision + 1
    WHERE legacy_id = ? AND heard_by IS NULL AND acknowledged_at IS NOT NULL AND state = 'DONE'`,
  /** The same of refunds: the last values are when the notice was written, and 1 for a read by the till itself. */
  hear_refunds: `UPDATE refunds SET heard_at = ?, revision = revision + 1 WHERE legacy_id = ? AND heard_at IS NULL
    AND state = 'DONE' AND created_at <= ? AND (told_at IS NOT NULL OR 1 = (SELECT ?))`,

  /** The last values are the link and how many refunds of it were looked at: another one since then may be the same request. */
  insert_refund: `INSERT INTO refunds (id, number, legacy_id, merchant_id, payment_id, client_key, fingerprint, amount_minor,
    refunded_before_minor, idempotency_key, state, upstream_id, reference_id, refunded_minor, upstream_status, told_at,
    heard_at, created_at, updated_at, revision) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
    WHERE (SELECT count(*) FROM refunds WHERE legacy_id = (SELECT ?)) = (SELECT ?)`,
  update_refund: `UPDATE refunds SET state = ?, upstream_id = ?, reference_id = ?, refunded_minor = ?, upstream_status = ?,
    told_at = ?, heard_at = ?, updated_at = ?, revision = revision + 1 WHERE id = ? AND revision = ?`,

  insert_notice: `INSERT INTO notices (id, legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at,
    state, attempts, sequence)
    SELECT ?, ?, ?, ?, ?, ?, cover(?), ?, ?, 'pending', 0, coalesce(max(sequence), 0) + 1 FROM notices WHERE legacy_id = ?`,
  /** Before a newer one of the same topic and id is inserted, which makes these superfluous (`reliability.md` §3.13). */
  supersede_notices: `UPDATE notices SET state = 'superseded' WHERE legacy_id = ? AND form = ? AND topic = ? AND subject = ?
    AND state = 'pending'`,
  record_attempt: `INSERT INTO notice_attempts (notice_id, at, duration_ms, outcome, status, detail, url)
    VALUES (?, ?, ?, ?, ?, ?, ?)`,
  /** The second value is 1 for a delivery: one that was superseded while its attempt was under way is delivered all the same. */
  update_notice: `UPDATE notices SET attempts = attempts + ?, state = CASE WHEN state = 'pending' OR ? = 1 THEN ? ELSE state END,
    next_attempt_at = ? WHERE id = ? AND state IN ('pending', 'superseded') AND attempts = ?`,
  /** Of those in the list: what is pending becomes due. */
  hasten_replayed: `UPDATE notices SET next_attempt_at = ? WHERE state = 'pending' AND next_attempt_at > ?
    AND id IN (SELECT value FROM json_each(?))`,
  replay_notices: `UPDATE notices SET state = 'pending', replayed = 1, next_attempt_at = ?
    WHERE state <> 'pending' AND id IN (SELECT value FROM json_each(?))`,
  hasten_notices: `UPDATE notices SET next_attempt_at = ? WHERE merchant_id = ? AND state = 'pending' AND next_attempt_at > ?`,

  /** The last value is the newest sequence already handed out: a hint that somebody may be reading takes no other in. */
  receive_event: `INSERT INTO events (received_at, order_id, reference, user_id, verified, action, state, attempts,
    next_attempt_at) SELECT ?, ?, cover(?), ?, ?, ?, 'pending', 0, ?
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE state = 'pending' AND order_id IS ? AND reference IS (SELECT cover(?)) AND user_id IS ?
    AND verified = ? AND action = ? AND sequence > ?)`,
  update_event: `UPDATE events SET state = coalesce(?, state), attempts = coalesce(?, attempts),
    next_attempt_at = coalesce(?, next_attempt_at) WHERE sequence = ?`,
  /** Over the limit the oldest unverified go first and leave no row, so that a flood of forged ones can't fill the disk. */
  drop_parked: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked' AND verified = 0
    ORDER BY sequence LIMIT max(0, (SELECT count(*) FROM events WHERE state = 'parked') - ${PARKED_EVENTS_LIMIT}))`,
  /** Verified ones only when nothing else is left. */
  evict_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
    ORDER BY verified, sequence
    LIMIT max(0, (SELECT count(*) FROM events WHERE state = 'parked') - ${PARKED_EVENTS_LIMIT}))`,
  unpark: `UPDATE events SET state = 'pending', next_attempt_at = ? WHERE sequence IN (
    SELECT sequence FROM events INDEXED BY events_parked_order WHERE state = 'parked' AND order_id = (SELECT ?) UNION ALL
    SELECT sequence FROM events INDEXED BY events_parked_reference WHERE state = 'parked' AND reference = (SELECT cover(?)))`,
  expire_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
    AND received_at < ? LIMIT ${HOUSEKEEPING_ROWS})`,

  /** The first value is an event that is over: of its order only the newest unverified ones stay. */
  thin_events: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events
    WHERE order_id = (SELECT order_id FROM events WHERE sequence = ? AND verified = 0)
    AND verified = 0 AND state IN ('done', 'expired') ORDER BY sequence DESC LIMIT ${ALL} OFFSET ${UNVERIFIED_KEPT})`,
  /** The same for one that names a reference alone. */
  thin_references: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events
    WHERE reference = (SELECT reference FROM events WHERE sequence = ? AND verified = 0 AND order_id IS NULL)
    AND order_id IS NULL AND verified = 0 AND state IN ('done', 'expired')
    ORDER BY sequence DESC LIMIT ${ALL} OFFSET ${UNVERIFIED_KEPT})`,

  insert_audit: `INSERT INTO audit (sequence, at, who, action, subject, reason, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,

  ...routingWrites,
  ...evidenceWrites,
  ...scheduleWrites,
  ...upkeepWrites,
} as const;

export type WriteName = keyof typeof writes;

/**
 * What has to be there for a write to change anything. SQLite opens all nine indexes of the inbox before it looks for a row,
 * which took each sale 3.8 µs where this takes 0.25 (50,000 runs on 10,000 events, none of them parked).
 */
export const neededRow: Partial<Record<WriteName, string>> = {
  unpark: `SELECT 1 FROM events WHERE state = 'parked' LIMIT 1`,
};
