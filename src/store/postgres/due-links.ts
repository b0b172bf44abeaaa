/** Links that are due for a look, each handed to one store only. */
import type { Link } from '../../proxy/sales/link.ts';
import type { Store } from '../../proxy/store.ts';
import { LINK } from '../columns.ts';
import { type LinkRow, linkOf } from '../rows.ts';
import { claimOf, isFree } from './leases.ts';
import type { PostgresReader } from './reader.ts';

const IN_DOUBT = `state IN ('SENDING', 'IN_DOUBT')`;

export function dueLinkMethods(reader: PostgresReader, holder: string): Pick<Store, 'dueLinks'> {
  const reads = { inDoubt: dueWhere(reader, IN_DOUBT), others: dueWhere(reader, `NOT (${IN_DOUBT})`) };
  return {
    // Creates in doubt hold their terminals and go first; half of what is taken is left to the others, so that none starve.
    async dueLinks(at, limit, except_merchants = []) {
      const except = JSON.stringify(except_merchants);
      const find = async (which: keyof typeof reads, most: number): Promise<Link[]> =>
        most <= 0 ? [] : (await reads[which].all(at, except, holder, most, holder)).map(linkOf);
      const half = Math.ceil(limit / 2);
      const doubtful = await find('inDoubt', half);
      const others = await find('others', limit - doubtful.length);
      const room = limit - doubtful.length - others.length;
      const more = doubtful.length < half || room === 0 ? doubtful : await find('inDoubt', half + room);
      return [...more.slice(0, limit - others.length), ...others];
    },
  };
}

function dueWhere(reader: PostgresReader, which: string) {
  const chosen = `SELECT ${LINK} FROM links WHERE ${which} AND next_check_at IS NOT NULL AND next_check_at <= ?
    AND merchant_id NOT IN (SELECT value FROM json_each(?)) AND ${isFree('link', 'legacy_id')}
    ORDER BY next_check_at LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`;
  return reader.prepare<[number, string, string, number, string], LinkRow>(
    `${claimOf('link', 'legacy_id', chosen)} ORDER BY next_check_at`,
  );
}
