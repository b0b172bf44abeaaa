/** Links as operators look at them: what is live, what has changed since, and how one came to its state. */
import type { Link } from '../proxy/sales/link.ts';
import type { Store } from '../proxy/store.ts';
import { LINK, LIVE } from './columns.ts';
import type { Reader } from './engine.ts';
import { type LinkRow, linkOf } from './rows.ts';

type Past = Awaited<ReturnType<Store['linkHistory']>>[number];

export function linkHistoryMethods(reader: Reader): Pick<Store, 'liveLinks' | 'linksChangedSince' | 'linkHistory'> {
  const OLDEST_FIRST = 'ORDER BY created_at, legacy_id LIMIT ?';
  const live = reader.prepare<[number], LinkRow>(`SELECT ${LINK} FROM links WHERE ${LIVE} ${OLDEST_FIRST}`);
  const liveOf = reader.prepare<[string, number], LinkRow>(
    `SELECT ${LINK} FROM links WHERE merchant_id = ? AND ${LIVE} ${OLDEST_FIRST}`,
  );
  const changed = reader.prepare<[number, number, string, number], LinkRow>(
    `SELECT ${LINK} FROM links WHERE updated_at >= (SELECT ?) AND (updated_at, legacy_id) > ((SELECT ?), (SELECT ?))
       ORDER BY updated_at, legacy_id LIMIT (SELECT ?)`,
  );
  const past = reader.prepare<[string], Past>(
    'SELECT at, state, legacy_state, order_status FROM link_states WHERE legacy_id = ? ORDER BY revision',
  );
  // A link of before the history began has its present state only.
  const present = reader.prepare<[string], LinkRow>(`SELECT ${LINK} FROM links WHERE legacy_id = ?`);
  return {
    liveLinks: async (merchant_id, limit): Promise<Link[]> =>
      (await (merchant_id === null ? live.all(limit) : liveOf.all(merchant_id, limit))).map(linkOf),
    linksChangedSince: async (since, after, limit) =>
      (await changed.all(since, after?.updated_at ?? since, after?.legacy_id ?? '', limit)).map(linkOf),
    async linkHistory(legacy_id) {
      const known = await past.all(legacy_id);
      return known.length > 0 ? known : (await present.all(legacy_id)).map(presentOf);
    },
  };
}

function presentOf(row: LinkRow): Past {
  const { updated_at: at, state, legacy_state, order } = linkOf(row);
  return { at, state, legacy_state, order_status: order?.status ?? null };
}
