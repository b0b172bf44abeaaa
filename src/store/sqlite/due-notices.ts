/** Notices in SQLite that are due. */
import type { Store } from '../../proxy/store.ts';
import { type NoticeRow, noticeOf } from '../rows.ts';
import type { Reader } from './reader.ts';

export function dueNoticeMethods(reader: Reader): Pick<Store, 'dueNotices' | 'dueNoticesInTurn' | 'dueNoticesBehind'> {
  const reads = prepareReads(reader);
  return {
    dueNotices: async (now, limit) => reads.due.all(now, limit).map(noticeOf),
    async dueNoticesInTurn({ now, after_merchant, merchants, each, except_merchants }) {
      const asked = reads.merchants.all(after_merchant, JSON.stringify(except_merchants), merchants);
      return {
        notices: asked.flatMap(({ id }) => reads.first.all(id, now, each)).map(noticeOf),
        last_merchant: asked.length < merchants ? null : (asked.at(-1)?.id ?? null),
      };
    },
    async dueNoticesBehind({ now, merchant_id, after, limit }) {
      const { next_attempt_at, created_at, sequence, id } = after ?? BEFORE_ALL;
      const place = [next_attempt_at, created_at, sequence, id] as const;
      return reads.behind.all(merchant_id, now, ...place, limit).map(noticeOf);
    },
  };
}

/** A place in the order of notices that is before all of them. */
const BEFORE_ALL = { next_attempt_at: Number.MIN_SAFE_INTEGER, created_at: 0, sequence: 0, id: '' };

/** Each names its index: by its own estimates SQLite reads the whole backlog and sorts it, for every look. */
function prepareReads(reader: Reader) {
  const waiting = `state = 'pending'`;
  const by_merchant = 'notices INDEXED BY notices_due_by_merchant';
  return {
    due: reader.prepare<[number, number], NoticeRow>(
      `SELECT * FROM notices INDEXED BY notices_due WHERE ${waiting} AND next_attempt_at <= (SELECT ?)
       ORDER BY next_attempt_at, created_at, sequence LIMIT (SELECT ?)`,
    ),
    // From one merchant to the next through the index, never through its notices.
    merchants: reader.prepare<[string, string, number], { id: string }>(
      `WITH RECURSIVE merchant (id) AS (
         SELECT min(merchant_id) FROM ${by_merchant} WHERE ${waiting} AND merchant_id > (SELECT ?)
         UNION ALL
         SELECT (SELECT min(merchant_id) FROM ${by_merchant} WHERE ${waiting} AND merchant_id > merchant.id)
         FROM merchant WHERE id IS NOT NULL)
       SELECT id FROM merchant WHERE id IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?)) LIMIT (SELECT ?)`,
    ),
    first: reader.prepare<[string, number, number], NoticeRow>(
      `SELECT * FROM ${by_merchant} WHERE ${waiting} AND merchant_id = (SELECT ?) AND next_attempt_at <= (SELECT ?)
       ORDER BY next_attempt_at, created_at, sequence LIMIT (SELECT ?)`,
    ),
    behind: reader.prepare<[string, number, number, number, number, string, number], NoticeRow>(
      `SELECT * FROM ${by_merchant} WHERE ${waiting} AND merchant_id = (SELECT ?) AND next_attempt_at <= (SELECT ?)
       AND (next_attempt_at, created_at, sequence, id) > ((SELECT ?), (SELECT ?), (SELECT ?), (SELECT ?))
       ORDER BY next_attempt_at, created_at, sequence, id LIMIT (SELECT ?)`,
    ),
  };
}
