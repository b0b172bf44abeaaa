/** Repairs by operators that are under way in any process: one fact of the store, in which each has an end that its process puts off. */
import { randomUUID } from 'node:crypto';
import { type Repair, repairSameMerchant } from '../../proxy/records/upkeep.ts';
import type { Reader, StoreMethods } from '../engine.ts';

/** After so long a repair whose process died keeps no other from beginning; of a server that fails over, none does. */
const KEPT_MS = 60_000;
const RENEWED_MS = KEPT_MS / 3;

/** Of the server's clock, whose processes may differ. */
const NOW = 'CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)';
const EACH = 'jsonb_array_elements(CAST(meta.value AS jsonb)) AS other';
/** A later end is of before that clock was set back. */
const STANDS = `CAST(other ->> 'until' AS BIGINT) BETWEEN ${NOW} AND ${NOW} + ${KEPT_MS}`;

export function repairsOf(reader: Reader): StoreMethods['beginRepair'] {
  // Writes the row alone, so that of two at once the second sees the first; a repeated read finds its own.
  const take = reader.prepare<[string], { begun: number }>(
    `WITH mine (one) AS (SELECT CAST(?::json AS jsonb) || jsonb_build_object('until', ${NOW} + ${KEPT_MS}))
     INSERT INTO meta (name, value) SELECT 'repairs', CAST(jsonb_build_array(one) AS TEXT) FROM mine
     ON CONFLICT (name) DO UPDATE SET value = (SELECT CAST(coalesce(jsonb_agg(other), '[]') || (SELECT one FROM mine) AS TEXT)
       FROM ${EACH} WHERE ${STANDS} AND other ->> 'id' <> (SELECT one ->> 'id' FROM mine))
     WHERE NOT EXISTS (SELECT 1 FROM mine, ${EACH} WHERE ${STANDS} AND other ->> 'id' <> one ->> 'id'
       AND (other ->> 'merchant' IN ('all', one ->> 'merchant') OR one ->> 'merchant' = 'all'))
     RETURNING 1 AS begun`,
  );
  const standing = reader.prepare<[], Repair>(
    `SELECT other ->> 'merchant' AS merchant, other ->> 'who' AS who, CAST(other ->> 'at' AS BIGINT) AS at
     FROM meta, ${EACH} WHERE name = 'repairs' AND ${STANDS}`,
  );
  const leave = reader.prepare<[string], never>(
    `UPDATE meta SET value = (SELECT CAST(coalesce(jsonb_agg(other), '[]') AS TEXT) FROM ${EACH} WHERE other ->> 'id' <> ?)
     WHERE name = 'repairs'`,
  );
  return async (repair) => {
    const id = randomUUID();
    const mine = JSON.stringify({ ...repair, id });
    while ((await take.get(mine)) === undefined) {
      const other = (await standing.all()).find((one) => repairSameMerchant(one, repair));
      if (other !== undefined) return { other };
    }
    let renewed: Promise<unknown> = Promise.resolve();
    const renewing = setInterval(() => {
      renewed = Promise.resolve(take.get(mine)).catch(() => undefined);
    }, RENEWED_MS).unref();
    return {
      async end() {
        clearInterval(renewing);
        await renewed;
        // While the server is away it ends by itself.
        await Promise.resolve(leave.all(id)).catch(() => undefined);
      },
    };
  };
}
