/** Notices in SQLite: which are due, and what came of an attempt. */

import type { Store } from '../../core/store.ts';
import { PuenteError } from '../../error.ts';
import type { WriteQueue } from './queue.ts';
import type { Reader } from './reader.ts';
import { type NoticeRow, noticeOf } from './rows.ts';
import type { Step } from './unit.ts';

export function noticeMethods(
  reader: Reader,
  queue: WriteQueue,
): Pick<Store, 'dueNotices' | 'hastenNotices' | 'recordAttempt'> {
  const due = reader.prepare<[number, string, number], NoticeRow>(
    `SELECT * FROM notices WHERE state = 'pending' AND is_next = 1 AND next_attempt_at <= ?
       AND merchant_id NOT IN (SELECT value FROM json_each(?))
     ORDER BY next_attempt_at, created_at, sequence LIMIT ?`,
  );
  return {
    dueNotices: async (now, limit, except_merchants = []) =>
      due.all(now, JSON.stringify(except_merchants), limit).map(noticeOf),
    async hastenNotices(merchant_id, now) {
      await queue.commit({ steps: [{ write: 'hasten_notices', values: [now, merchant_id, now] }] });
    },
    async recordAttempt(notice, attempt, next) {
      const { at, duration_ms, outcome, status, detail, url } = attempt;
      // Our own faults must not lengthen the waiting for a receiver that was never asked.
      const counted = outcome === 'ours' ? 0 : 1;
      const steps: Step[] = [
        {
          write: 'update_notice',
          values: [next.state, counted, next.next_attempt_at, next.state, notice.id, notice.attempts],
          changes: 1,
        },
        { write: 'record_attempt', values: [notice.id, at, duration_ms, outcome, status, detail, url], changes: 1 },
      ];
      if (next.state !== 'pending') {
        steps.push({ write: 'advance_notices', values: [notice.legacy_id, notice.legacy_id, notice.form] });
      }
      const result = await queue.commit({ steps });
      if (result.kind === 'done') return;
      throw new PuenteError('conflict', `The notice ${notice.id} was changed by another attempt: read it again.`);
    },
  };
}
