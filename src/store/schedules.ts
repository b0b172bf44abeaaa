/** Pulls forward what waits by a clock that ran ahead. */
import { LONGEST_EVENT_WAIT_MS, type Store } from '../proxy/store.ts';
import type { Reader, Writer } from './engine.ts';
import { storeFailed } from './failure.ts';
import type { ScheduleWrite } from './writes-schedules.ts';

const EVERYTHING: readonly ScheduleWrite[] = ['pull_links', 'pull_events', 'pull_notices'];

export function scheduleMethods(reader: Reader, writer: Writer): Pick<Store, 'pullForward' | 'newestMoment'> {
  const newest = reader.prepare<[], { at: number | null }>(
    `SELECT max(moment.at) AS at FROM (SELECT max(updated_at) AS at FROM links
       UNION ALL SELECT max(created_at) FROM notices
       UNION ALL SELECT max(received_at) FROM events WHERE state = 'pending'
       UNION ALL SELECT max(next_attempt_at) - ${LONGEST_EVENT_WAIT_MS} FROM events WHERE state = 'pending'
       UNION ALL SELECT at + duration_ms FROM notice_attempts WHERE rowid = (SELECT max(rowid) FROM notice_attempts)
       UNION ALL SELECT at FROM exchanges WHERE sequence = (SELECT max(sequence) FROM exchanges)) AS moment`,
  );
  return {
    newestMoment: async () => Math.max((await newest.get())?.at ?? 0, 0),
    async pullForward(now) {
      const result = await writer.commit({ steps: EVERYTHING.map((write) => ({ write, values: [now] })) });
      if (result.kind !== 'done') throw storeFailed('failed', 'what waits could not be moved');
    },
  };
}
