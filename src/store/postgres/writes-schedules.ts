/** Pulling forward what a clock that ran ahead has put off, in PostgreSQL's words: the rules stand in `../writes-schedules.ts`. */
import { LONGEST_UNSEEN_MS } from '../../core/link.ts';
import { longestNoticeWaits_ms } from '../../core/retry.ts';
import type { ScheduleWrite } from '../writes-schedules.ts';

/** By attempts, the last for all more; the schedule counts from one. */
const WAITS = longestNoticeWaits_ms().map((wait_ms) => `${wait_ms}::BIGINT`);
const LONGEST_WAIT = `(ARRAY[${WAITS.join(', ')}])[least(greatest(attempts, 1), ${WAITS.length})]`;
const CLOCK = 'WITH clock (now) AS (SELECT CAST(? AS BIGINT))';

export const postgresScheduleWrites: Record<ScheduleWrite, string> = {
  pull_links: `${CLOCK}
    UPDATE links SET revision = revision + 1, updated_at = least(updated_at, now),
      next_check_at = CASE WHEN updated_at > now THEN now + greatest(0, next_check_at - updated_at) ELSE next_check_at END,
      expires_at = CASE WHEN state IN ('SENDING', 'IN_DOUBT') AND first_sent_at > now
        THEN expires_at - (greatest(updated_at, first_sent_at) - now)
        WHEN state IN ('SENDING', 'IN_DOUBT') AND expires_at > now + ${LONGEST_UNSEEN_MS}
          AND expires_at <= updated_at + ${LONGEST_UNSEEN_MS} THEN now + ${LONGEST_UNSEEN_MS}
        ELSE expires_at END,
      first_sent_at = CASE WHEN first_sent_at > now THEN NULL ELSE first_sent_at END
    FROM clock WHERE next_check_at IS NOT NULL AND (updated_at > now OR first_sent_at > now)`,
  pull_events: `${CLOCK}
    UPDATE events SET next_attempt_at = now FROM clock WHERE state = 'pending' AND next_attempt_at > now`,
  pull_notices: `${CLOCK}
    UPDATE notices SET next_attempt_at = CASE WHEN written.at > now AND next_attempt_at >= written.at
      THEN now + next_attempt_at - written.at ELSE least(next_attempt_at, now + ${LONGEST_WAIT}) END
    FROM clock, (SELECT id AS notice_id, coalesce((SELECT at + duration_ms FROM notice_attempts
        WHERE notice_id = notices.id ORDER BY rowid DESC LIMIT 1), created_at) AS at
      FROM notices WHERE state = 'pending') AS written
    WHERE notices.id = written.notice_id AND next_attempt_at > now`,
};
