/** Links in SQLite that are due for a look. */
import type { Store } from '../../proxy/store.ts';
import { type LinkRow, linkOf } from '../rows.ts';
import type { Reader } from './reader.ts';

const IN_DOUBT = `state IN ('SENDING', 'IN_DOUBT')`;

export function dueLinkMethods(reader: Reader): Pick<Store, 'dueLinks'> {
  const reads = prepareReads(reader);
  return {
    dueLinks: async (at, limit, except_merchants = []) =>
      dueRows(reads, at, JSON.stringify(except_merchants), limit).map(linkOf),
  };
}

/** Creates in doubt hold their terminals and go first; half of what is taken is left to the others, so that none starve. */
function dueRows(reads: ReturnType<typeof prepareReads>, at: number, except: string, limit: number): LinkRow[] {
  const doubtful = reads.inDoubt.all(at, except, limit);
  const others = reads.due.all(at, except, limit - Math.min(doubtful.length, Math.ceil(limit / 2)));
  return [...doubtful.slice(0, limit - others.length), ...others];
}

function prepareReads(reader: Reader) {
  return {
    inDoubt: reader.prepare<[number, string, number], LinkRow>(
      `SELECT * FROM links INDEXED BY links_in_doubt WHERE ${IN_DOUBT} AND next_check_at <= (SELECT ?)
       AND merchant_id NOT IN (SELECT value FROM json_each(?)) ORDER BY next_check_at LIMIT (SELECT ?)`,
    ),
    due: reader.prepare<[number, string, number], LinkRow>(
      `SELECT * FROM links INDEXED BY links_due WHERE next_check_at <= (SELECT ?) AND NOT (${IN_DOUBT})
       AND merchant_id NOT IN (SELECT value FROM json_each(?)) ORDER BY next_check_at LIMIT (SELECT ?)`,
    ),
  };
}
