/** Pulls forward what waits in SQLite by a clock that ran ahead. */
import { LONGEST_EVENT_WAIT_MS, type Store } from '../../core/store.ts';
import { storeFailed } from './failure.ts';
import type { WriteQueue } from './queue.ts';
import type { Reader } from './reader.ts';
import type { ScheduleWrite } from './writes-schedules.ts';

const EVERYTHING: readonly ScheduleWrite[] = ['pull_links', 'pull_events', 'pull_notices'];

export function scheduleMethods(reader: Reader, queue: WriteQueue): Pick<Store, 'pullForward' | 'newestMoment'> {
  const newest = reader.prepare<[], { at: number | null }>(
    `SELECT max(coalesce((SELECT max(updated_at) FROM links), 0), coalesce((SELECT max(created_at) FROM notices), 0),
       coalesce((SELECT max(received_at) FROM events WHERE state = 'pending'), 0),
       coalesce((SELECT max(next_attempt_at) FROM events WHERE state = 'pending'), 0) - ${LONGEST_EVENT_WAIT_MS},
       coalesce((SELECT at + duration_ms FROM notice_attempts ORDER BY rowid DESC LIMIT 1), 0),
       coalesce((SELECT at FROM exchanges ORDER BY sequence DESC LIMIT 1), 0)) AS at`,
  );
  return {
    newestMoment: async () => newest.get()?.at ?? 0,
    async pullForward(now) {
      const result = await queue.commit({ steps: EVERYTHING.map((write) => ({ write, values: [now] })) });
      if (result.kind !== 'done') throw storeFailed('failed', 'what waits could not be moved');
    },
  };
}
