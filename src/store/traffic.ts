/** What was called: calls by day, the units that were named, and what could not be kept. */
import type { SeenUnit, Traffic } from '../proxy/records/evidence.ts';
import type { Store } from '../proxy/store.ts';
import type { Reader, Writer } from './engine.ts';
import { filteredReads, whereOf } from './filtered.ts';

const DAY_MS = 24 * 60 * 60_000;

/** From one merchant to the next by the key, so that it costs as much as there are merchants, not as there is traffic. */
const CALLED = `WITH RECURSIVE called (id) AS (
    SELECT min(merchant_id) FROM traffic
    UNION ALL SELECT (SELECT min(merchant_id) FROM traffic WHERE merchant_id > called.id) FROM called WHERE id IS NOT NULL
  ) SELECT id FROM called WHERE id IS NOT NULL`;

/** Days are half open: [since, until). */
export function trafficMethods(
  reader: Reader,
  writer: Writer,
): Pick<Store, 'traffic' | 'calledMerchants' | 'units' | 'noteShed' | 'shed'> {
  const run = filteredReads(reader);
  const called = reader.prepare<[], { id: string }>(CALLED);
  const units = reader.prepare<[string], SeenUnit>('SELECT * FROM seen_units WHERE merchant_id = ? ORDER BY slot');
  const shed = reader.prepare<[number, number], { shadow: number; evidence: number }>(
    `SELECT coalesce(sum(count) FILTER (WHERE reason = 'shadow'), 0) AS shadow,
       coalesce(sum(count) FILTER (WHERE reason = 'evidence'), 0) AS evidence FROM shed WHERE day >= ? AND day < ?`,
  );
  return {
    async traffic(filter) {
      const { where, values } = whereOf([
        ['merchant_id = ?', filter.merchant_id],
        ['day >= ?', filter.since_day],
        ['day < ?', filter.until_day],
      ]);
      return run<Traffic>(
        `SELECT * FROM traffic WHERE ${where} ORDER BY merchant_id, day, operation, lane, outcome`,
        values,
      );
    },
    calledMerchants: async () => (await called.all()).map(({ id }) => id),
    units: async (merchant_id) => units.all(merchant_id),
    async noteShed(reason, count, at) {
      await writer.commit({ steps: [{ write: 'add_shed', values: [Math.floor(at / DAY_MS), reason, count] }] });
    },
    shed: async (since_day, until_day) => (await shed.get(since_day, until_day)) ?? { shadow: 0, evidence: 0 },
  };
}
