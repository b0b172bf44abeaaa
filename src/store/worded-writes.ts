/** Statements that are built for each engine: sums of evidence, corrections after a clock that ran ahead, and batches. */

import { longestNoticeWaits_ms } from '../proxy/notices/retry-schedule.ts';
import { LONGEST_UNSEEN_MS } from '../proxy/sales/unseen.ts';

export interface Words {
  /** Epoch ms of now, from the one parameter. */
  clock: string;
  least: string;
  greatest: string;
  /** The nth of `waits_ms`, counted from 1. */
  nthOf(waits_ms: readonly number[], nth: string): string;
  /** A column of any length, in the form that its unique key has. */
  keyOf(column: string): string;
  /**
   * Columns, and a SELECT of them from a batch: one JSON array of rows, whose cells are `value ->> n`. `:type` after a
   * column casts its cell. `constants` are columns with the same SQL for each row.
   */
  rows(columns: string, more?: { constants?: Record<string, string>; condition?: string; order?: string }): string;
}

/** Each statement adds a whole batch to its sums. */
function evidenceWritesIn({ least, greatest, keyOf, rows }: Words) {
  const added = (table: string, column = 'count') => `${column} = ${table}.${column} + excluded.${column}`;
  const latest = (table: string) => `last_at = ${greatest}(${table}.last_at, excluded.last_at)`;
  const span = (table: string) => `first_at = ${least}(${table}.first_at, excluded.first_at), ${latest(table)}`;
  const onLegacy = (column: string) =>
    `${column} = CASE WHEN excluded.legacy_at >= coalesce(seen_units.legacy_at, 0) THEN excluded.${column} ELSE seen_units.${column} END`;
  return {
    add_traffic: `INSERT INTO traffic ${rows('merchant_id, day:bigint, operation, kind, lane, outcome, calls:bigint')}
      ON CONFLICT (merchant_id, day, operation, lane, outcome) DO UPDATE SET ${added('traffic', 'calls')}`,
    add_units: `INSERT INTO seen_units ${rows(
      `merchant_id, slot, first_at:bigint, last_at:bigint, calls:bigint, last_lane, legacy_at:bigint,
      legacy_operation`,
    )}
      ON CONFLICT (merchant_id, ${keyOf('slot')}) DO UPDATE SET ${added('seen_units', 'calls')}, ${span('seen_units')},
      last_lane = CASE WHEN excluded.last_at >= seen_units.last_at THEN excluded.last_lane ELSE seen_units.last_lane END,
      ${onLegacy('legacy_operation')}, ${onLegacy('legacy_at')}`,
    add_losses: `INSERT INTO ledger ${rows(
      `merchant_id, operation, "table", path, why, weight, count:bigint, would_be_count:bigint, first_at:bigint,
      last_at:bigint, sample, tables_revision`,
    )}
      ON CONFLICT (merchant_id, operation, "table", path) DO UPDATE SET why = excluded.why, weight = excluded.weight,
      ${added('ledger')}, ${added('ledger', 'would_be_count')}, ${span('ledger')},
      sample = excluded.sample, tables_revision = excluded.tables_revision`,
    add_coverage: `INSERT INTO coverage ${rows('merchant_id, operation, field, equal:bigint, different:bigint, last_at:bigint')}
      ON CONFLICT (merchant_id, operation, field) DO UPDATE SET ${added('coverage', 'equal')},
      ${added('coverage', 'different')}, ${latest('coverage')}`,
    /** A fixed difference that is seen again becomes new; its revision rises, so that an operator judges it again. */
    add_differences: `INSERT INTO differences ${rows(
      `merchant_id, signature, operation, what, path, legacy, orders, current_signature, count:bigint, first_at:bigint,
      last_at:bigint, sample, tables_revision`,
      { constants: { state: "'new'", note: "''", revision: '1' } },
    )}
      ON CONFLICT (merchant_id, signature) DO UPDATE SET legacy = excluded.legacy, orders = excluded.orders,
      current_signature = excluded.current_signature, ${added('differences')}, ${span('differences')}, sample = excluded.sample,
      tables_revision = excluded.tables_revision,
      state = CASE differences.state WHEN 'fixed' THEN 'new' ELSE differences.state END,
      revision = differences.revision + CASE differences.state WHEN 'fixed' THEN 1 ELSE 0 END`,
    add_unknowns: `INSERT INTO unknowns ${rows('merchant_id, what, name, count:bigint, first_at:bigint, last_at:bigint')}
      ON CONFLICT (merchant_id, what, ${keyOf('name')}) DO UPDATE SET ${added('unknowns')}, ${span('unknowns')}`,
    add_verdicts: `INSERT INTO verdicts ${rows(
      `merchant_id, operation, verdict, code, error, detail, count:bigint, last_at:bigint, sample, refused_on_legacy:bigint`,
    )}
      ON CONFLICT (merchant_id, operation, verdict, ${['code', 'error', 'detail'].map(keyOf).join(', ')})
      DO UPDATE SET ${added('verdicts')}, ${added('verdicts', 'refused_on_legacy')}, ${latest('verdicts')}, sample = excluded.sample`,
    /** Keeps nothing of a merchant that was erased while it was judged. */
    keep_readiness: `INSERT INTO readiness_days ${rows('merchant_id, day:bigint, verdict', {
      order: '1, 2',
      condition: `(EXISTS (SELECT 1 FROM merchants WHERE id = value ->> 0)
        OR EXISTS (SELECT 1 FROM traffic WHERE merchant_id = value ->> 0))`,
    })}
      ON CONFLICT (merchant_id, day) DO UPDATE SET verdict = excluded.verdict`,
    add_shed: `INSERT INTO shed (day, reason, count) VALUES (?, ?, ?)
      ON CONFLICT (day, reason) DO UPDATE SET ${added('shed')}`,
  };
}

/**
 * Each takes epoch ms of now. A row written later than now keeps its wait, counted from now; rows of a correct clock
 * and rows already corrected stay unchanged. Sales that legacy may hold are left out: holding a unit too long costs a
 * detour, freeing it early costs a second charge.
 */
function scheduleWritesIn({ clock, least, greatest, nthOf }: Words) {
  // By attempts, counted from one; the last is for all further attempts.
  const waits_ms = longestNoticeWaits_ms();
  const longest_wait = nthOf(waits_ms, `${least}(${greatest}(attempts, 1), ${waits_ms.length})`);
  const now = `WITH clock (now) AS (SELECT ${clock})`;
  return {
    // A create in doubt holds its unit until `expires_at` by this clock; other orders contain their expiry. Its first
    // sending has no known time, so it is not sent again. A sale that ended unseen got its time from the wrong clock
    // (`proxy/sales/recover.ts`) and keeps at most that. A concurrent change of a link is decided on the new revision.
    pull_links: `${now}
     UPDATE links SET revision = revision + 1, updated_at = ${least}(updated_at, now),
       next_check_at = CASE WHEN updated_at > now THEN now + ${greatest}(0, next_check_at - updated_at) ELSE next_check_at END,
       expires_at = CASE WHEN state IN ('SENDING', 'IN_DOUBT') AND first_sent_at > now
         THEN expires_at - (${greatest}(updated_at, first_sent_at) - now)
         WHEN state IN ('SENDING', 'IN_DOUBT') AND expires_at > now + ${LONGEST_UNSEEN_MS}
           AND expires_at <= updated_at + ${LONGEST_UNSEEN_MS} THEN now + ${LONGEST_UNSEEN_MS}
         ELSE expires_at END,
       first_sent_at = CASE WHEN first_sent_at > now THEN NULL ELSE first_sent_at END
     FROM clock WHERE next_check_at IS NOT NULL AND (updated_at > now OR first_sent_at > now)`,
    pull_events: `${now}
     UPDATE events SET next_attempt_at = now FROM clock WHERE state = 'pending' AND next_attempt_at > now`,
    // An attempt is written when it ends. A notice rescheduled since by a clock that ran ahead has no known time: it
    // waits no longer than any notice with as many attempts, and the waits of a correct clock stay.
    pull_notices: `${now}
     UPDATE notices SET next_attempt_at = CASE WHEN written.at > now AND next_attempt_at >= written.at
       THEN now + next_attempt_at - written.at ELSE ${least}(next_attempt_at, now + ${longest_wait}) END
     FROM clock, (SELECT id AS notice_id, coalesce((SELECT at + duration_ms FROM notice_attempts WHERE notice_id = notices.id
         ORDER BY rowid DESC LIMIT 1), created_at) AS at
       FROM notices WHERE state = 'pending') AS written
     WHERE notices.id = written.notice_id AND next_attempt_at > now`,
  };
}

/** The statements of one engine, by name. */
export function writesIn(words: Words) {
  return {
    ...evidenceWritesIn(words),
    ...scheduleWritesIn(words),
    /** A step writes one; a start or an abort all, as many as ten thousand (30 to 50 ms of the writer), once per bulk move. */
    save_bulk_items: `INSERT INTO bulk_items ${words.rows('bulk, place:bigint, merchant_id, state, item')}
      ON CONFLICT (bulk, place) DO UPDATE SET merchant_id = excluded.merchant_id, state = excluded.state, item = excluded.item`,
  };
}
