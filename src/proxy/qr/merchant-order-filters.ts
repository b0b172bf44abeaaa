/** What a search for merchant orders asks for, and which of ours it means (`legacy-qr.md` §2, search parameters). */
import type { merchantOrderFilters } from '../../contract/merchant-orders.ts';
import { searchMoment } from '../payments/search-moment.ts';
import type { MerchantOrder } from './merchant-order.ts';

/** Published nowhere; other searches of the service have it. */
const DEFAULT_LIMIT = 50;

export interface MerchantOrderSearch {
  /** The client's own reference; null when the search names none. */
  reference: string | null;
  /** Epoch ms, both included. */
  created_from: number;
  created_to: number;
  offset: number;
  limit: number;
  finds(order: MerchantOrder): boolean;
}

/**
 * Reads a search. An empty filter is none, and parameters that are no filter are ignored.
 * @param now epoch ms, what `NOW` in a date means.
 * @returns null when a date or a number can't be read.
 */
export function readSearch(query: Readonly<Record<string, string>>, now: number): MerchantOrderSearch | null {
  const tests: Test[] = [];
  for (const [name, prepare] of Object.entries(filters)) {
    const value = query[name] ?? '';
    if (value === '') continue;
    const test = prepare(value, now);
    if (test === null) return null;
    tests.push(test);
  }
  const offset = count(query.offset, 0);
  const limit = count(query.limit, DEFAULT_LIMIT);
  if (offset === null || limit === null) return null;
  const moment = (value: string | undefined): number | null => (value ? searchMoment(value, now) : null);
  return {
    reference: query.external_reference || null,
    created_from: moment(query.date_created_from) ?? 0,
    created_to: moment(query.date_created_to) ?? Number.MAX_SAFE_INTEGER,
    offset,
    limit,
    finds: (order) => tests.every((test) => test(order)),
  };
}

type Test = (order: MerchantOrder) => boolean;
type FilterName = Exclude<(typeof merchantOrderFilters)[number], 'limit' | 'offset'>;

/** Each gives the test of a value, or null for a value that can't be read. What ours don't know excludes them. */
const filters: Readonly<Record<FilterName, (value: string, now: number) => Test | null>> = {
  status: (value) => (order) => order.status === value,
  order_status: (value) => (order) => order.order_status === value,
  external_reference: (value) => (order) => order.external_reference === value,
  preference_id: (value) => (order) => order.preference_id === value,
  marketplace: (value) => (order) => order.marketplace === value,
  site_id: (value) => (order) => order.site_id === value,
  sponsor_id: (value) => (order) => String(order.sponsor_id) === value,
  application_id: (value) => (order) => String(order.application_id) === value,
  payer_id: (value) => (order) => String(order.payer?.id) === value,
  items: (value) => (order) => order.items.some(({ id }) => id === value),
  date_created_from: (value, now) => from(searchMoment(value, now), (order) => order.date_created),
  date_created_to: (value, now) => to(searchMoment(value, now), (order) => order.date_created),
  last_updated_from: (value, now) => from(searchMoment(value, now), (order) => order.last_updated),
  last_updated_to: (value, now) => to(searchMoment(value, now), (order) => order.last_updated),
};

function from(start: number | null, dateOf: (order: MerchantOrder) => string): Test | null {
  return start === null ? null : (order) => Date.parse(dateOf(order)) >= start;
}

function to(end: number | null, dateOf: (order: MerchantOrder) => string): Test | null {
  return end === null ? null : (order) => Date.parse(dateOf(order)) <= end;
}

/** A whole number, or what stands for none; null for anything else. */
function count(value: string | undefined, otherwise: number): number | null {
  if (value === undefined || value === '') return otherwise;
  return /^\d{1,9}$/.test(value) ? Number(value) : null;
}
