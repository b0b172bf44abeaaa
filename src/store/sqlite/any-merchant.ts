/** Sales by a reference alone, whoever's they are: one look into the index for each merchant, and no index of their own. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Store } from '../../proxy/store.ts';
import { SALE } from '../legacy-sales.ts';
import { type LinkRow, linkOf } from '../rows.ts';
import type { Reader } from './reader.ts';

/** Merchants looked at in one go: a few ms, so that nothing waits longer for it. */
const SELLERS_A_TURN = 200;

type AnyMerchantMethods = Pick<Store, 'linksByAnyReference' | 'legacySalesByAnyReference'>;

export function anyMerchantMethods(reader: Reader): AnyMerchantMethods {
  const linkPlaces = placesIn(reader, {
    sellers: 'links',
    places: `SELECT rowid AS place, created_at AS at FROM links WHERE merchant_id = (SELECT ?)
      AND client_reference = (SELECT cover(?)) ORDER BY created_at DESC LIMIT ?`,
  });
  const link = reader.prepare<[number], LinkRow>('SELECT * FROM links WHERE rowid = ?');
  const salePlaces = placesIn(reader, {
    sellers: 'legacy_sales INDEXED BY legacy_sales_by_reference',
    condition: 'client_reference IS NOT NULL',
    // Rows are written in the order in which sales begin.
    places: `SELECT sequence AS place, sequence AS at FROM legacy_sales WHERE merchant_id = (SELECT ?)
      AND client_reference = (SELECT cover(?)) ORDER BY sequence DESC LIMIT ?`,
  });
  const sale = reader.prepare<[number], LegacySale>(`SELECT ${SALE} FROM legacy_sales WHERE sequence = ?`);
  return {
    linksByAnyReference: async (reference, limit) =>
      (await linkPlaces(reference, limit)).flatMap((place) => link.all(place)).map(linkOf),
    legacySalesByAnyReference: async (reference, limit) =>
      (await salePlaces(reference, limit)).flatMap((place) => sale.all(place)),
  };
}

interface Place {
  place: number;
  /** Rises with time. */
  at: number;
}

interface Search {
  sellers: string;
  condition?: string;
  /** The newest of one merchant, from the index alone. */
  places: string;
}

/** Where the newest rows are. Each merchant is found by one step along an index; a DISTINCT would read every row. */
function placesIn(reader: Reader, { sellers, condition = '1', places }: Search) {
  const next = reader.prepare<[string], { seller: string | null }>(
    `SELECT min(merchant_id) AS seller FROM ${sellers} WHERE merchant_id > ? AND ${condition}`,
  );
  const newest = reader.prepare<[string, string, number], Place>(places);
  return async (reference: string, limit: number): Promise<number[]> => {
    const found: Place[] = [];
    let seller = next.get('')?.seller ?? null;
    for (let looked = 1; seller !== null; looked++) {
      found.push(...newest.all(seller, reference, limit));
      seller = next.get(seller)?.seller ?? null;
      if (looked % SELLERS_A_TURN === 0) await nextTurn();
    }
    return found
      .toSorted((first, second) => second.at - first.at)
      .slice(0, limit)
      .map(({ place }) => place);
  };
}
