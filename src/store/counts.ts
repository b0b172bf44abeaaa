/** How many rows there are of what is watched. */
import type { OpenCount } from '../proxy/records/routing.ts';
import type { Store } from '../proxy/store.ts';
import { LIVE } from './columns.ts';
import type { Reader } from './engine.ts';
import { HOLDING } from './writes-routing.ts';

/** Each part reads an index of open rows alone, of which there are few. */
export const OPEN_COUNTS = `SELECT merchant_id, count(*) FILTER (WHERE what = 'orders') AS orders,
    count(*) FILTER (WHERE what = 'legacy') AS legacy, count(*) FILTER (WHERE state = 'IN_DOUBT') AS in_doubt,
    count(*) FILTER (WHERE what = 'notice') AS notices_pending
  FROM (SELECT merchant_id, 'orders' AS what, state FROM links WHERE ${LIVE}
    UNION ALL SELECT merchant_id, 'legacy', state FROM legacy_sales
      WHERE slot IS NOT NULL AND ${HOLDING} AND ends_at > (SELECT ?)
    UNION ALL SELECT merchant_id, 'notice', state FROM notices WHERE state = 'pending') AS open
  GROUP BY merchant_id ORDER BY merchant_id`;

export function countMethods(reader: Reader): Pick<Store, 'counts' | 'openCounts'> {
  const links = reader.prepare<[], { state: string; links: number }>(
    'SELECT state, sum(links) AS links FROM link_counts GROUP BY state',
  );
  const backlog = reader.prepare<[], { notices_pending: number; events_waiting: number }>(
    `SELECT (SELECT count(*) FROM notices WHERE state = 'pending') AS notices_pending,
       (SELECT count(*) FROM events WHERE state = 'pending') + (SELECT count(*) FROM events WHERE state = 'parked')
       AS events_waiting`,
  );
  const open = reader.prepare<[number], OpenCount>(OPEN_COUNTS);
  return {
    counts: async () => ({
      links: Object.fromEntries((await links.all()).map((row) => [row.state, row.links])),
      ...((await backlog.get()) ?? { notices_pending: 0, events_waiting: 0 }),
    }),
    openCounts: async (now) => await open.all(now),
  };
}
