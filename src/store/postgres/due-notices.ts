/** Notices that are due, each handed to one store only. */
import type { Store } from '../../proxy/store.ts';
import { NOTICE } from '../columns.ts';
import { type NoticeRow, noticeOf } from '../rows.ts';
import type { Value } from '../unit.ts';
import { claimOf, isFree } from './leases.ts';
import type { AwaitedRead, PostgresReader } from './reader.ts';

const WAITING = `state = 'pending'`;
/**
 * No other store is still telling an older one of the same topic and id, so that the newer one reaches its receiver last. Two
 * values: this store's name, as for each row that has to be free.
 */
const MAY_GO = `${isFree('notice', 'notices.id')} AND NOT EXISTS (SELECT 1 FROM notices AS older
  WHERE older.legacy_id = notices.legacy_id AND older.sequence < notices.sequence AND older.state = 'superseded'
  AND older.form = notices.form AND older.topic = notices.topic AND older.subject = notices.subject
  AND NOT ${isFree('notice', 'older.id')} OFFSET 0)`;
/** A place in the order of notices that is before all of them. */
const BEFORE_ALL = { next_attempt_at: Number.MIN_SAFE_INTEGER, created_at: 0, sequence: 0, id: '' };

type DueMethods = Pick<Store, 'dueNotices' | 'dueNoticesInTurn' | 'dueNoticesBehind'>;

export function dueNoticeMethods(reader: PostgresReader, holder: string): DueMethods {
  const reads = prepareReads(reader);
  return {
    dueNotices: async (now, limit) => (await reads.due.all(now, holder, holder, limit, holder)).map(noticeOf),
    async dueNoticesInTurn({ now, after_merchant, merchants, each, except_merchants }) {
      const asked = await reads.merchants.all(after_merchant, JSON.stringify(except_merchants), merchants);
      const ids = JSON.stringify(asked.map(({ id }) => id));
      return {
        notices: (await reads.first.all(ids, now, holder, holder, each, holder)).map(noticeOf),
        last_merchant: asked.length < merchants ? null : (asked.at(-1)?.id ?? null),
      };
    },
    async dueNoticesBehind({ now, merchant_id, after, limit }) {
      const { next_attempt_at, created_at, sequence, id } = after ?? BEFORE_ALL;
      const place = [next_attempt_at, created_at, sequence, id] as const;
      return (await reads.behind.all(merchant_id, now, ...place, holder, holder, limit, holder)).map(noticeOf);
    },
  };
}

function prepareReads(reader: PostgresReader) {
  return {
    due: claiming<[number, string, string, number, string]>(
      reader,
      `SELECT ${NOTICE} FROM notices WHERE ${WAITING} AND next_attempt_at <= ? AND ${MAY_GO}
       ORDER BY next_attempt_at, created_at, sequence LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`,
      'next_attempt_at, created_at, sequence',
    ),
    // From one merchant to the next through the index, never through its notices.
    merchants: reader.prepare<[string, string, number], { id: string }>(
      `WITH RECURSIVE merchant (id) AS (
         SELECT min(merchant_id) FROM notices WHERE ${WAITING} AND merchant_id > ?
         UNION ALL
         SELECT (SELECT min(merchant_id) FROM notices WHERE ${WAITING} AND merchant_id > merchant.id)
         FROM merchant WHERE id IS NOT NULL)
       SELECT id FROM merchant WHERE id IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?)) LIMIT ?`,
    ),
    first: claiming<[string, number, string, string, number, string]>(
      reader,
      `SELECT first.* FROM json_array_elements_text(?::json) AS merchant (id) CROSS JOIN LATERAL (
         SELECT ${NOTICE} FROM notices WHERE ${WAITING} AND merchant_id = merchant.id AND next_attempt_at <= ?
         AND ${MAY_GO}
         ORDER BY next_attempt_at, created_at, sequence LIMIT ? FOR NO KEY UPDATE SKIP LOCKED) AS first`,
      'merchant_id, next_attempt_at, created_at, sequence',
    ),
    behind: claiming<[string, number, number, number, number, string, string, string, number, string]>(
      reader,
      `SELECT ${NOTICE} FROM notices WHERE ${WAITING} AND merchant_id = ? AND next_attempt_at <= ?
       AND (next_attempt_at, created_at, sequence, id) > (?, ?, ?, ?) AND ${MAY_GO}
       ORDER BY next_attempt_at, created_at, sequence, id LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`,
      'next_attempt_at, created_at, sequence, chosen.id',
    ),
  };
}

function claiming<Values extends Value[]>(
  reader: PostgresReader,
  chosen: string,
  order: string,
): AwaitedRead<Values, NoticeRow> {
  return reader.prepare<Values, NoticeRow>(`${claimOf('notice', 'id', chosen)} ORDER BY ${order}`);
}
