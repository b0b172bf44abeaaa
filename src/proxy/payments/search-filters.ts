/** What a search of payments asks for, and whether a payment of ours is meant: pure (`legacy-qr.md` §3, used filters). */
import { isExactNumber } from '../../contract/json.ts';
import { searchMoment } from './search-moment.ts';

export type ShownPayment = Record<string, unknown>;

export interface PaymentSearch {
  /** The till's own reference; null when the search doesn't ask for one. */
  reference: string | null;
  offset: number;
  /** Null when the search leaves it to the service. */
  limit: number | null;
  /** False only for a payment that says something else than the search asks for. */
  finds(payment: ShownPayment): boolean;
  /** Negative when the first stands before the second. */
  compare(one: ShownPayment, other: ShownPayment): number;
}

/** What shapes the list instead of choosing from it. The reference is not compared either: a payment's owner is known by it. */
const NO_FILTERS = new Set('external_reference range begin_date end_date sort criteria limit offset'.split(' '));

/** What can't be read leaves nothing out: legacy judges the query, and its refusal is told. @param now epoch ms. */
export function readPaymentSearch(query: Readonly<Record<string, string>>, now: number): PaymentSearch {
  const filters = Object.entries(query).filter(([name, wanted]) => !NO_FILTERS.has(name) && wanted !== '');
  const inRange = rangeOf(query, now);
  const field = query.sort || 'date_created';
  const sign = query.criteria?.toLowerCase() === 'asc' ? 1 : -1;
  return {
    reference: query.external_reference || null,
    offset: countOf(query.offset) ?? 0,
    limit: countOf(query.limit),
    finds: (payment) => filters.every(([name, wanted]) => agrees(payment, name, wanted)) && inRange(payment),
    compare: (one, other) => sign * (order(valueAt(one, field), valueAt(other, field)) || order(one.id, other.id)),
  };
}

/** A payment that doesn't say it, as one told from its order doesn't say its store, may be the one that is meant. */
function agrees(payment: ShownPayment, name: string, wanted: string): boolean {
  const value = valueAt(payment, name);
  return (
    value === undefined ||
    value === null ||
    (typeof value === 'object' && !isExactNumber(value)) ||
    String(value) === wanted
  );
}

/** Both ends count in; a payment without that date is in no range. */
function rangeOf(query: Readonly<Record<string, string>>, now: number): (payment: ShownPayment) => boolean {
  const end = (text: string | undefined): number | null => (text ? searchMoment(text, now) : null);
  const begin_at = end(query.begin_date);
  const end_at = end(query.end_date);
  if (begin_at === null && end_at === null) return () => true;
  return (payment) => {
    const at = Date.parse(String(valueAt(payment, query.range || 'date_created')));
    return at >= (begin_at ?? Number.NEGATIVE_INFINITY) && at <= (end_at ?? Number.POSITIVE_INFINITY);
  };
}

function countOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** @param name of a property, or of one inside others, as in `payer.id`. */
function valueAt(payment: ShownPayment, name: string): unknown {
  let value: unknown = payment;
  for (const key of name.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key]; // its own key
  }
  return value;
}

/** Numbers by size, dates by time, everything else by its text; what is missing stands lowest. */
function order(one: unknown, other: unknown): number {
  const [first, second] = [rankOf(one), rankOf(other)];
  if (typeof first === 'string' && typeof second === 'string') return first < second ? -1 : first > second ? 1 : 0;
  return (typeof first === 'string' ? 0 : first) - (typeof second === 'string' ? 0 : second) || 0;
}

function rankOf(value: unknown): number | string {
  if (value === undefined || value === null) return 0;
  if (typeof value === 'number') return value;
  if (isExactNumber(value)) return Number(value.value);
  const text = String(value);
  const at = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? text : at;
}
