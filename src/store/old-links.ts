/** Links that are old and over, from the oldest on: those that something still hangs on are passed once a round. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Reader } from './engine.ts';
import { OVER } from './writes-upkeep.ts';

/** Looked at in one go; nothing waits longer for it. */
const PAGE_ROWS = 200;

/** `coalesce` keeps the index of states away: it would read everything that is pending, for each link. */
export const OLD_LINKS = `SELECT legacy_id, updated_at,
  CASE WHEN EXISTS (SELECT 1 FROM notices WHERE notices.legacy_id = links.legacy_id AND coalesce(notices.state, '') = 'pending')
  OR EXISTS (SELECT 1 FROM refunds WHERE refunds.legacy_id = links.legacy_id AND refunds.state IN ('SENDING', 'IN_DOUBT'))
  THEN 1 ELSE 0 END AS is_held FROM links INDEXED BY links_by_change
  WHERE updated_at < (SELECT ?) AND (updated_at, legacy_id) > ((SELECT ?), (SELECT ?)) AND ${OVER} AND next_check_at IS NULL
  ORDER BY updated_at, legacy_id LIMIT ?`;

interface OldLink {
  legacy_id: string;
  updated_at: number;
  /** A notice waits, or a refund is open. */
  is_held: number;
}

const BEFORE_ALL = { updated_at: Number.MIN_SAFE_INTEGER, legacy_id: '' };

/**
 * Each call goes on where the one before has ended, and from the oldest once there were no more. A merchant without an address
 * for its notices holds all its sales: a round that began with them at every step would not end.
 * @returns finds at most `limit` that may go, fewer only at the end.
 */
export function oldLinks(reader: Reader): (before: number, limit: number) => Promise<string[]> {
  const page = reader.prepare<[number, number, string, number], OldLink>(OLD_LINKS);
  let place = BEFORE_ALL;
  return async (before, limit) => {
    const free: string[] = [];
    while (free.length < limit) {
      const wanted = Math.min(PAGE_ROWS, limit - free.length);
      const found = await page.all(before, place.updated_at, place.legacy_id, wanted);
      free.push(...found.filter(({ is_held }) => is_held === 0).map(({ legacy_id }) => legacy_id));
      const last = found.at(-1);
      place = last === undefined || found.length < wanted ? BEFORE_ALL : last;
      if (place === BEFORE_ALL) break;
      await nextTurn();
    }
    return free;
  };
}
