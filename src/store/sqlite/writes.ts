/** Every statement that writes, by name: the writer prepares them once, and a message carries the name and the values. */
import { PARKED_EVENTS_LIMIT } from '../../core/store.ts';

/** More at once would hold up the payments that wait behind the housekeeping. */
const HOUSEKEEPING_ROWS = 5_000;

export const writes = {
  remember: `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  /** 64 KiB that are taken and given back in one transaction: proves that there is room again. */
  probe_fill: `INSERT INTO meta (name, value) VALUES ('probe', hex(zeroblob(32768)))`,
  probe_clear: `DELETE FROM meta WHERE name = 'probe'`,

  insert_merchant: `INSERT INTO merchants (id, site, settings, sealed_notice_secret, sealed_credential, revision, updated_at)
    VALUES (?, ?, ?, ?, ?, 1, ?)`,
  update_merchant: `UPDATE merchants SET site = ?, settings = ?, sealed_notice_secret = ?, sealed_credential = ?,
    revision = revision + 1, updated_at = ? WHERE id = ? AND revision = ?`,
  meet_merchant: `INSERT INTO merchants (id, site, settings, revision, updated_at) VALUES (?, ?, ?, 1, ?)
    ON CONFLICT (id) DO UPDATE SET site = excluded.site, revision = revision + 1, updated_at = excluded.updated_at
    WHERE merchants.site IS NULL AND excluded.site IS NOT NULL`,
  accept_token: `INSERT INTO tokens (fingerprint, merchant_id, sealed_token, accepted_until, seen_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (fingerprint) DO UPDATE SET merchant_id = excluded.merchant_id, sealed_token = excluded.sealed_token,
    accepted_until = excluded.accepted_until, seen_at = excluded.seen_at`,
  forget_token: `DELETE FROM tokens WHERE fingerprint = ?`,

  insert_link: `INSERT INTO links (legacy_id, merchant_id, lane, unit, client_key, fingerprint, reference_sent, held,
    amount_minor, idempotency_key, sealed_body, tables_revision, state, attempts, first_sent_at, boot_id, client_answer,
    order_id, order_json, order_version, payment_id, intent_state, intent_state_at, cancel, expires_at, next_check_at,
    created_at, updated_at, revision)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  update_link: `UPDATE links SET state = ?, attempts = ?, first_sent_at = ?, client_answer = ?, order_id = ?,
    order_version = ?, payment_id = ?, intent_state = ?, intent_state_at = ?, cancel = ?, expires_at = ?, next_check_at = ?,
    updated_at = ?, revision = revision + 1,
    sealed_body = CASE ? WHEN 1 THEN ? ELSE sealed_body END, order_json = CASE ? WHEN 1 THEN ? ELSE order_json END
    WHERE legacy_id = ? AND revision = ?`,

  insert_notice: `INSERT INTO notices (id, legacy_id, merchant_id, body, created_at, next_attempt_at, state, attempts,
    sequence, is_next)
    SELECT ?, ?, ?, ?, ?, ?, 'pending', 0, coalesce(max(sequence), 0) + 1, count(*) FILTER (WHERE state = 'pending') = 0
    FROM notices WHERE legacy_id = ?`,
  record_attempt: `INSERT INTO notice_attempts (notice_id, at, duration_ms, outcome, status, detail) VALUES (?, ?, ?, ?, ?, ?)`,
  update_notice: `UPDATE notices SET state = ?, attempts = attempts + ?, next_attempt_at = ?,
    is_next = (? = 'pending') WHERE id = ? AND state = 'pending' AND is_next = 1 AND attempts = ?`,
  advance_notices: `UPDATE notices SET is_next = 1 WHERE legacy_id = ? AND sequence =
    (SELECT min(sequence) FROM notices AS waiting WHERE waiting.legacy_id = ? AND waiting.state = 'pending')`,
  hasten_notices: `UPDATE notices SET next_attempt_at = ? WHERE merchant_id = ? AND state = 'pending' AND next_attempt_at > ?`,

  /** The last value is the newest sequence already handed out: a hint that somebody may be reading takes no other in. */
  receive_event: `INSERT INTO events (received_at, order_id, reference, user_id, verified, action, state, attempts,
    next_attempt_at) SELECT ?, ?, ?, ?, ?, ?, 'pending', 0, ?
    WHERE NOT EXISTS (SELECT 1 FROM events WHERE state = 'pending' AND order_id IS ? AND reference IS ? AND user_id IS ?
    AND verified = ? AND action = ? AND sequence > ?)`,
  update_event: `UPDATE events SET state = coalesce(?, state), attempts = coalesce(?, attempts),
    next_attempt_at = coalesce(?, next_attempt_at) WHERE sequence = ?`,
  /** Over the limit the oldest unverified go first, and verified ones only when nothing else is left. */
  evict_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
    ORDER BY verified, sequence
    LIMIT max(0, (SELECT count(*) FROM events WHERE state = 'parked') - ${PARKED_EVENTS_LIMIT}))`,
  unpark_by_order: `UPDATE events SET state = 'pending', next_attempt_at = ? WHERE state = 'parked' AND order_id = ?`,
  unpark_by_reference: `UPDATE events SET state = 'pending', next_attempt_at = ? WHERE state = 'parked' AND reference = ?`,
  expire_parked: `UPDATE events SET state = 'expired' WHERE sequence IN (SELECT sequence FROM events WHERE state = 'parked'
    AND received_at < ? LIMIT ${HOUSEKEEPING_ROWS})`,
  delete_old_events: `DELETE FROM events WHERE sequence IN (SELECT sequence FROM events
    WHERE state IN ('done', 'expired') AND received_at < ? LIMIT ${HOUSEKEEPING_ROWS})`,

  insert_audit: `INSERT INTO audit (sequence, at, who, action, subject, reason, detail, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
} as const;

export type WriteName = keyof typeof writes;
