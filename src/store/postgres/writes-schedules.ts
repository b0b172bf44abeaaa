/** The writes of `../writes-schedules.ts` in PostgreSQL's words. */
import { type ScheduleWrite, scheduleWritesIn } from '../writes-schedules.ts';

export const postgresScheduleWrites: Record<ScheduleWrite, string> = scheduleWritesIn({
  clock: 'CAST(? AS BIGINT)',
  least: 'least',
  greatest: 'greatest',
  nthOf: (waits_ms, nth) => `(ARRAY[${waits_ms.join(', ')}]::BIGINT[])[${nth}]`,
});
