/** Lists of sales for operators, of either lane, newest first: pages by keyset, each reading a bounded part of a table. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { SaleFilter, SalePage, SalePlace } from '../ops/ports.ts';
import { comparePlaces, endStatesOf, type SaleState, statusesOf } from '../ops/sale-state.ts';
import type { LegacySale } from '../proxy/records/routing.ts';
import type { Link } from '../proxy/sales/link.ts';
import { HOLDING, LINK, LISTED, LIVE, merchantsIn, oneOfThese, SALE, unindexed } from './conditions.ts';
import { type Condition, filteredReads, listOf, type Reader, type StoreMethods } from './engine.ts';
import { type LinkRow, linkOf } from './rows.ts';

/** Rows looked at in one event-loop tick: some milliseconds, so that no till waits longer for a list. */
const STRIDE = 2_000;
/** Merchants looked up in one event-loop tick, for a reference of any of them. */
const SELLERS_AT_ONCE = 100;
/** Rows that one page looks at for some merchants, a rare state or amount; the next page continues behind them. */
const MOST_LOOKED_AT = 500_000;

/**
 * `next` is null on the last page. A page may be short, or empty, before the last one: a rare state or amount is looked
 * for in a bounded number of rows.
 */
export function saleListMethods(reader: Reader): Pick<StoreMethods, 'listLinks' | 'listLegacySales'> {
  const links = pagesOf<LinkRow>(reader, linksTable);
  const sales = pagesOf<LegacySale>(reader, legacySalesTable);
  return {
    async listLinks(filter, before, limit) {
      const { rows, next } = await links(filter, before, limit);
      return { rows: rows.map(linkOf), next } satisfies SalePage<Link>;
    },
    listLegacySales: (filter, before, limit) => sales(filter, before, limit),
  };
}

interface Table {
  name: string;
  id: string;
  columns: string;
  /** The rows that are sales, and those of them that are a merchant's: an unproven token may be invented, and its sale. */
  sales: string;
  proven: string;
  /** Conditions, in which `?` is now; null: no row of the table has this state. */
  states: Readonly<Record<SaleState, string | null>>;
  /** The index of a state's rows: by its own estimates SQLite walks the whole table, to save the sort of a few rows. */
  indexes: Partial<Readonly<Record<SaleState, string>>>;
  /** The index of a merchant's references. */
  by_reference: string;
  /** Of its amounts, which have the unit that `SaleFilter` names. */
  amount: string;
  /** True for rows that are listed in the order of their ids, which begin with the time of creation (UUID v7). */
  isById(filter: SaleFilter): boolean;
}

/** Written by triggers with every change of the order, and found by its key. */
const STATUS = `(SELECT order_status FROM link_states WHERE link_states.legacy_id = links.legacy_id
  ORDER BY link_states.revision DESC LIMIT 1)`;
const withStatus = (statuses: readonly string[]): string =>
  `state = 'DONE' AND ${STATUS} IN (${statuses.map((status) => `'${status}'`).join(', ')})`;

export const linksTable: Table = {
  name: 'links',
  id: 'legacy_id',
  columns: LINK,
  sales: 'true',
  proven: 'true',
  amount: 'amount_minor',
  states: {
    open: `${LIVE} AND state = 'LIVE'`,
    in_doubt: `${LIVE} AND state <> 'LIVE'`,
    paid: withStatus(statusesOf.paid),
    canceled: withStatus(statusesOf.canceled),
    declined: withStatus(statusesOf.declined),
    expired: withStatus(statusesOf.expired),
    refused: oneOfThese('state', ['REJECTED', 'NOT_SENT']),
    lost: `state = 'LOST'`,
    not_known: `state = 'DONE' AND coalesce(${STATUS}, '') NOT IN (${Object.values(statusesOf)
      .flat()
      .map((status) => `'${status}'`)
      .join(', ')})`,
  },
  by_reference: 'links_by_client_reference',
  indexes: { open: 'links_live', in_doubt: 'links_live', lost: 'links_lost' },
  // No index has the times of all merchants' links; the primary key has their ids.
  isById: ({ merchant_id }) => merchant_id === undefined,
};

const OPEN = `slot IS NOT NULL AND ${HOLDING} AND state = 'OPEN' AND ends_at > (SELECT ?)`;
const isEnd = (ends: readonly string[]): string => `state = 'ENDED' AND ${oneOfThese('end_state', ends)}`;

export const legacySalesTable: Table = {
  name: 'legacy_sales',
  id: 'id',
  columns: SALE,
  sales: `work = 'sale'`,
  proven: 'unproven_token IS NULL',
  amount: 'CAST(amount AS DOUBLE PRECISION)',
  states: {
    open: OPEN,
    in_doubt: oneOfThese('state', ['SENDING', 'IN_DOUBT']),
    paid: isEnd(endStatesOf.paid),
    canceled: isEnd(endStatesOf.canceled),
    declined: isEnd(endStatesOf.declined),
    expired: isEnd(endStatesOf.expired),
    refused: `state = 'REFUSED'`,
    lost: null,
    not_known: `(state = 'OPEN' AND NOT (${OPEN}) OR state = 'ENDED'
      AND NOT ${oneOfThese("coalesce(end_state, '')", Object.values(endStatesOf).flat())})`,
  },
  by_reference: 'legacy_sales_by_reference',
  indexes: { open: 'legacy_sales_holding' },
  isById: () => false,
};

function pagesOf<Row extends { created_at: number }>(reader: Reader, table: Table) {
  const run = filteredReads(reader);
  const placeOf = (row: Row): SalePlace => ({ at: row.created_at, id: String(Reflect.get(row, table.id)) });
  const sellers = reader.prepare<[string, number], { id: string }>(
    `${merchantsIn(`${table.name} INDEXED BY ${table.by_reference}`, 'client_reference IS NOT NULL')} LIMIT (SELECT ?)`,
  );
  /** The index of references begins with the merchant: each is looked up, and the newest of all are kept. */
  const ofAnyMerchant: typeof page = async (filter, before, limit) => {
    let rows: Row[] = [];
    /** Behind it not every merchant was looked at. */
    const ends: SalePlace[] = [];
    for (let last: string | undefined = ''; last !== undefined; ) {
      const ids: string[] = (await sellers.all(last, SELLERS_AT_ONCE)).map(({ id }) => id);
      for (const merchant_id of ids) {
        const found = await page({ ...filter, merchant_id }, before, limit);
        rows.push(...found.rows);
        if (found.next !== null) ends.push(found.next);
      }
      rows.sort((one, other) => comparePlaces(placeOf(other), placeOf(one)));
      const end_of_page = rows[limit - 1];
      if (rows.length > limit && end_of_page !== undefined) ends.push(placeOf(end_of_page));
      rows = rows.slice(0, limit);
      last = ids.at(-1);
      await yieldToEventLoop();
    }
    const next = ends.toSorted(comparePlaces).at(-1) ?? null;
    return { rows: next === null ? rows : rows.filter((row) => comparePlaces(placeOf(row), next) >= 0), next };
  };
  const page = async (filter: SaleFilter, before: SalePlace | null, limit: number): Promise<SalePage<Row>> => {
    if (filter.reference !== undefined && filter.merchant_id === undefined) return ofAnyMerchant(filter, before, limit);
    const listing = listingOf(table, filter, before);
    if (listing === null) return { rows: [], next: null };
    const { select, stride, conditions, of_index, bottom, rangeOf } = listing;
    const rows: Row[] = [];
    let top = listing.top;
    for (let looked_at = 0; ; looked_at += STRIDE) {
      const [last] = stride === null ? [] : await run<Row>(of_index, stride, ...rangeOf(top, bottom));
      const floor = last === undefined ? bottom : placeOf(last);
      rows.push(...(await run<Row>(conditions, select, ...rangeOf(top, floor), limit - rows.length)));
      const end_of_page = rows[limit - 1];
      if (end_of_page !== undefined) return { rows, next: placeOf(end_of_page) };
      if (last === undefined) return { rows, next: null };
      if (looked_at >= MOST_LOOKED_AT) return { rows, next: floor };
      top = floor;
      await yieldToEventLoop();
    }
  };
  return page;
}

/** The statements of a list; null when no row can pass. `stride` finds the last of the next `STRIDE` rows. */
export function listingOf(table: Table, filter: SaleFilter, before: SalePlace | null) {
  const { name, id, columns, amount } = table;
  const { state, reference, merchant_id, merchant_ids, unit, family, since, until, amount_from, amount_to, now } =
    filter;
  const state_is = state === undefined ? 'true' : table.states[state];
  if (state_is === null) return null;
  const by_id = table.isById(filter);
  const range = by_id
    ? `${id} < (SELECT ?) AND ${id} >= (SELECT ?) ORDER BY ${id} DESC`
    : `(created_at, ${id}) < ((SELECT ?), (SELECT ?)) AND (created_at, ${id}) >= ((SELECT ?), (SELECT ?))
       ORDER BY created_at DESC, ${id} DESC`;
  const newest = until === undefined ? TOP : { at: until, id: by_id ? firstIdOf(until) : '' };
  const is_earlier = before !== null && (by_id ? before.id < newest.id : before.at < newest.at);
  const of_index: Condition[] = [
    ['merchant_id = (SELECT ?)', merchant_id],
    ['client_reference = (SELECT cover(?))', reference],
  ];
  const conditions: Condition[] = [
    ...of_index,
    // By their index both engines would read and sort all sales of these merchants for each stride.
    [`${unindexed('merchant_id')} ${LISTED}`, listOf(merchant_ids)],
    ['unit = (SELECT ?)', unit],
    ['family = (SELECT ?)', family],
    [`${amount} >= (SELECT ?)`, amount_from],
    [`${amount} <= (SELECT ?)`, amount_to],
    [state_is, state_is.includes('?') ? now : undefined],
  ];
  const of_state = state === undefined ? undefined : table.indexes[state];
  const index = reference === undefined ? of_state : table.by_reference;
  const from = index === undefined ? name : `${name} INDEXED BY ${index}`;
  const sales = filter.with_unproven === true ? table.sales : `${table.sales} AND ${table.proven}`;
  const only = state_is.includes('?') ? sales : `${sales} AND ${state_is}`;
  // Conditions that no index answers: the rows are looked at in strides.
  const is_rare = [merchant_ids, state, unit, family, amount_from, amount_to].some((one) => one !== undefined);
  const is_walked = is_rare && (index === undefined || reference !== undefined);
  return {
    conditions,
    of_index,
    select: (where: string) =>
      `SELECT ${columns} FROM ${from} WHERE ${where} AND ${only} AND ${range} LIMIT (SELECT ?)`,
    stride: is_walked
      ? (where: string) =>
          `SELECT created_at, ${id} FROM ${from} WHERE ${where} AND ${range} LIMIT 1 OFFSET ${STRIDE - 1}`
      : null,
    top: is_earlier ? before : newest,
    bottom: since === undefined ? BOTTOM : { at: since, id: by_id ? firstIdOf(since) : '' },
    rangeOf: (above: SalePlace, below: SalePlace) =>
      by_id ? [above.id, below.id] : [above.at, above.id, below.at, below.id],
  };
}

const BOTTOM: SalePlace = { at: 0, id: '' };
/** Behind all times and ids. */
const TOP: SalePlace = { at: Number.MAX_SAFE_INTEGER, id: '~' };

/** What the ids of a millisecond begin with: a UUID v7 begins with the time. @param at epoch ms. */
function firstIdOf(at: number): string {
  const hex = Math.max(0, at).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}`;
}
