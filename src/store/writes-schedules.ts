/** Pulling forward what was put off by a clock that ran ahead; each engine has the rules in its own words. */
import { longestNoticeWaits_ms } from '../proxy/notices/retry-schedule.ts';
import { LONGEST_UNSEEN_MS } from '../proxy/sales/unseen.ts';

/** What the engines name differently. */
export interface ScheduleWords {
  /** The one parameter: epoch ms of now. */
  clock: string;
  least: string;
  greatest: string;
  /** The nth of these, in milliseconds; `nth` counts from 1. */
  nthOf(waits_ms: readonly number[], nth: string): string;
}

export type ScheduleWrite = 'pull_links' | 'pull_events' | 'pull_notices';

/**
 * Writes that each take epoch ms of now. A row that was written later than now keeps its wait from now on; what was written
 * by a right clock stays, and so does what was moved. Sales that legacy may hold are left out: one that holds its unit too
 * long costs a detour, one that lets go early a second charge.
 */
export function scheduleWritesIn({ clock, least, greatest, nthOf }: ScheduleWords): Record<ScheduleWrite, string> {
  // By attempts, the last for all more; the schedule counts from one.
  const waits_ms = longestNoticeWaits_ms();
  const longest_wait = nthOf(waits_ms, `${least}(${greatest}(attempts, 1), ${waits_ms.length})`);
  return {
    // What is in doubt holds its unit until it is over by this clock; when any other is over, its order says. How long
    // ago it was first sent nobody can tell, so it is not sent again. One that ended unseen by that clock was given its time
    // anew by it (`proxy/sales/complete.ts`), and keeps at most that. Whoever changes a link at that moment decides again on its
    // new revision.
    pull_links: `WITH clock (now) AS (SELECT ${clock})
     UPDATE links SET revision = revision + 1, updated_at = ${least}(updated_at, now),
       next_check_at = CASE WHEN updated_at > now THEN now + ${greatest}(0, next_check_at - updated_at) ELSE next_check_at END,
       expires_at = CASE WHEN state IN ('SENDING', 'IN_DOUBT') AND first_sent_at > now
         THEN expires_at - (${greatest}(updated_at, first_sent_at) - now)
         WHEN state IN ('SENDING', 'IN_DOUBT') AND expires_at > now + ${LONGEST_UNSEEN_MS}
           AND expires_at <= updated_at + ${LONGEST_UNSEEN_MS} THEN now + ${LONGEST_UNSEEN_MS}
         ELSE expires_at END,
       first_sent_at = CASE WHEN first_sent_at > now THEN NULL ELSE first_sent_at END
     FROM clock WHERE next_check_at IS NOT NULL AND (updated_at > now OR first_sent_at > now)`,
    pull_events: `WITH clock (now) AS (SELECT ${clock})
     UPDATE events SET next_attempt_at = now FROM clock WHERE state = 'pending' AND next_attempt_at > now`,
    // An attempt is written when it ends. What was moved or made due since by a clock that still ran ahead doesn't say when:
    // it waits no longer than any notice of as many attempts does, and so a right clock's waits stay.
    pull_notices: `WITH clock (now) AS (SELECT ${clock})
     UPDATE notices SET next_attempt_at = CASE WHEN written.at > now AND next_attempt_at >= written.at
       THEN now + next_attempt_at - written.at ELSE ${least}(next_attempt_at, now + ${longest_wait}) END
     FROM clock, (SELECT id AS notice_id, coalesce((SELECT at + duration_ms FROM notice_attempts WHERE notice_id = notices.id
         ORDER BY rowid DESC LIMIT 1), created_at) AS at
       FROM notices WHERE state = 'pending') AS written
     WHERE notices.id = written.notice_id AND next_attempt_at > now`,
  };
}

export const scheduleWrites = scheduleWritesIn({
  clock: '?',
  least: 'min',
  greatest: 'max',
  nthOf: (waits_ms, nth) => `json_extract('${JSON.stringify(waits_ms)}', '$[' || (${nth} - 1) || ']')`,
});
