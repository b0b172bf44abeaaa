/** Verdicts by day: what was judged, and how many merchants had which. */
import type { ReadinessDay } from '../proxy/records/evidence.ts';
import type { Store } from '../proxy/store.ts';
import type { Reader, Writer } from './engine.ts';
import { filteredReads, whereOf } from './filtered.ts';
import { merchantLock } from './locks.ts';

/** Days are half open: [since, until). */
export function readinessDayMethods(
  reader: Reader,
  writer: Writer,
): Pick<Store, 'keepReadiness' | 'readinessDays' | 'readinessSince' | 'judgedOn'> {
  const run = filteredReads(reader);
  const first = reader.prepare<[], { day: number | null }>('SELECT min(day) AS day FROM readiness_days');
  const judged = reader.prepare<[number], { merchant_id: string }>(
    'SELECT merchant_id FROM readiness_days WHERE day = ? ORDER BY merchant_id',
  );
  return {
    async keepReadiness(rows) {
      const values = JSON.stringify(rows.map(({ merchant_id, day, verdict }) => [merchant_id, day, verdict]));
      const shared = rows.map(({ merchant_id }) => merchantLock(merchant_id));
      await writer.commit({ steps: [{ write: 'keep_readiness', values: [values] }], locks: { shared } });
    },
    async readinessDays({ merchant_id, since_day, until_day }) {
      const { where, values } = whereOf([
        ['merchant_id = ?', merchant_id],
        ['day >= ?', since_day],
        ['day < ?', until_day],
      ]);
      return run<ReadinessDay>(
        `SELECT day, verdict, count(*) AS merchants FROM readiness_days WHERE ${where} GROUP BY day, verdict ORDER BY day, verdict`,
        values,
      );
    },
    readinessSince: async () => (await first.get())?.day ?? null,
    judgedOn: async (day) => (await judged.all(day)).map(({ merchant_id }) => merchant_id),
  };
}
