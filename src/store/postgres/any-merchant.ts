/** Sales by a reference alone, whoever's they are: one look into the index for each merchant, all in one round trip. */
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Store } from '../../proxy/store.ts';
import { LINK } from '../columns.ts';
import { SALE } from '../legacy-sales.ts';
import { type LinkRow, linkOf } from '../rows.ts';
import type { PostgresReader } from './reader.ts';

type AnyMerchantMethods = Pick<Store, 'linksByAnyReference' | 'legacySalesByAnyReference'>;

export function anyMerchantMethods(reader: PostgresReader): AnyMerchantMethods {
  const links = reader.prepare<[string, number, number], LinkRow>(
    newestOfAll('links', LINK, 'created_at DESC, legacy_id DESC'),
  );
  const sales = reader.prepare<[string, number, number], LegacySale & { sequence: number }>(
    newestOfAll('legacy_sales', `${SALE}, sequence`, 'sequence DESC'),
  );
  return {
    linksByAnyReference: async (reference, limit) => (await links.all(reference, limit, limit)).map(linkOf),
    legacySalesByAnyReference: async (reference, limit) =>
      (await sales.all(reference, limit, limit)).map(({ sequence, ...sale }) => sale),
  };
}

/** From one merchant to the next through the index; a DISTINCT would read every row. */
function newestOfAll(table: string, columns: string, order: string): string {
  const next = (after: string) =>
    `SELECT min(merchant_id) FROM ${table} WHERE client_reference IS NOT NULL AND merchant_id > ${after}`;
  return `WITH RECURSIVE seller (id) AS (${next("''")} UNION ALL SELECT (${next('seller.id')}) FROM seller WHERE id IS NOT NULL)
    SELECT found.* FROM seller CROSS JOIN LATERAL (SELECT ${columns} FROM ${table}
      WHERE merchant_id = seller.id AND client_reference = cover(?) ORDER BY ${order} LIMIT ?) AS found
    ORDER BY ${order} LIMIT ?`;
}
