/** How many rows there are of what is watched. */
import type { Store } from '../core/store.ts';
import type { Reader } from './engine.ts';

export function countMethods(reader: Reader): Pick<Store, 'counts'> {
  const links = reader.prepare<[], { state: string; links: number }>(
    'SELECT state, sum(links) AS links FROM link_counts GROUP BY state',
  );
  const backlog = reader.prepare<[], { notices_pending: number; events_waiting: number }>(
    `SELECT (SELECT count(*) FROM notices WHERE state = 'pending') AS notices_pending,
       (SELECT count(*) FROM events WHERE state = 'pending') + (SELECT count(*) FROM events WHERE state = 'parked')
       AS events_waiting`,
  );
  return {
    counts: async () => ({
      links: Object.fromEntries((await links.all()).map((row) => [row.state, row.links])),
      ...((await backlog.get()) ?? { notices_pending: 0, events_waiting: 0 }),
    }),
  };
}
