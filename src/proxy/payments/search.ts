/** Payment search: results of legacy and Puente in one list, in till terms (`docs/field-notes.md` QR finding 18). */

import { isExactNumber } from '../../contract/json.ts';
import { paymentSearch } from '../../contract/payments.ts';
import { searchMoment } from '../../contract/search-moment.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { type Answered, answered, type LegacyAnswer, type LegacyCall, merchantContext } from '../http/answer.ts';
import type { Ports } from '../ports.ts';
import { noteFound } from '../sales/known-to-till.ts';
import type { Link } from '../sales/link.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { asUpstreamSays, fromTheFirst, refreshLive, searchLegacy, warnOfLegacy } from './legacy-search.ts';
import { linkOfPayment } from './owner.ts';
import { getPayment, ownView, paymentFromOrder, readPayment } from './read.ts';
import { refundedIn } from './refund-view.ts';

/** Own sales of one reference in a search, newest first (LIM-45). */
const OURS_AT_MOST = 50;
/** Live sales among them that are read again, newest first; events and recovery refresh the others. */
const READ_AT_MOST = 5;
/** Older payments change less often: a reference that all sales share must not cost a read of each at every poll. */
const FRESH_PART_OF_AGE = 10;
/** Default page; not published. */
const DEFAULT_LIMIT = 30;
const MOMENTS = ['begin_date', 'end_date'];

/**
 * Legacy's results, Puente's own payments among them in the till's terms, and payments that legacy can't find because
 * upstream has another reference. When legacy fails, only Puente's own are listed.
 */
export async function searchPayments(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const search = readPaymentSearch(call.query, ports.clock.now());
  const links = search.reference === null ? [] : await ourLinks(ports, call, search.reference);
  const widened = links.length > 0 && search.offset > 0;
  const query = widened ? fromTheFirst(call.query, search.offset, search.limit ?? DEFAULT_LIMIT) : call.query;
  const path = '/v1/payments/search';
  const { at, outcome } = await searchLegacy(ports, call, { name: 'payment_search', path, query, moments: MOMENTS });
  const found = foundBy(outcome);
  if (found === null && isRefusal(outcome)) return asUpstreamSays(ports, call, outcome);
  if (found === null) warnOfLegacy(ports, call, outcome);
  const theirs = await Promise.all((found?.results ?? []).map((result) => inOurWords(ports, call, result, at)));
  const missing = links.filter((link) => !theirs.some((one) => String(one.id) === link.payment_id));
  const ours = await showMissing(ports, call, search, missing, { found, at });
  const noted = (body: Record<string, unknown> & { results: ShownPayment[] }): Answered => {
    const shown = links.flatMap((link) => {
      const result = body.results.find(({ id }) => String(id) === link.payment_id);
      return result === undefined ? [] : [{ link, refunded_minor: refundedIn(ports, call, result) }];
    });
    return noteFound(ports, shown, answered(200, body));
  };
  if (found === null) return ours.length === 0 ? failure(ports, call, outcome) : noted(alone(search, ours));
  if (ours.length === 0 && !widened) return noted({ ...found.body, results: theirs });
  const limit = widened ? (search.limit ?? DEFAULT_LIMIT) : found.paging.limit;
  const { offset } = search;
  const results = [...theirs, ...ours].sort(search.compare).slice(offset, offset + limit);
  const paging = { ...found.paging, total: found.paging.total + ours.length, limit, offset };
  return noted({ ...found.body, paging, results });
}

/** Paid sales of Puente with the reference, newest first. */
async function ourLinks(ports: Ports, call: LegacyCall, reference: string): Promise<Link[]> {
  const found = await ports.store.history.linksByClientReference(call.merchant.id, reference, OURS_AT_MOST + 1);
  if (found.length > OURS_AT_MOST) markLimitation(ports.exchange, 'LIM-45');
  const links = await refreshLive(ports, call, found.slice(0, OURS_AT_MOST), READ_AT_MOST);
  return links.filter((link) => link.payment_id !== null);
}

interface Found {
  body: Record<string, unknown>;
  paging: { total: number; limit: number; offset: number };
  results: ShownPayment[];
}

/** Null when legacy gave no search answer. */
function foundBy(outcome: UpstreamOutcome): Found | null {
  if (outcome.kind !== 'answered' || outcome.status !== 200) return null;
  const parsed = paymentSearch.safeParse(outcome.body);
  if (!parsed.success) return null;
  // The unparsed body is passed on, so that keys keep their order and numbers their text.
  const body = outcome.body as { paging: Found['paging']; results: ShownPayment[] };
  return { body, paging: body.paging, results: body.results };
}

/** Legacy refuses the query or the caller; Puente's own sales do not matter then. */
function isRefusal(outcome: UpstreamOutcome): boolean {
  return outcome.kind === 'answered' && outcome.status >= 400 && outcome.status < 500 && outcome.status !== 429;
}

/** Puente's own payments are in the till's terms, and read again when their order has changed since. */
async function inOurWords(
  ports: Ports,
  call: LegacyCall,
  result: ShownPayment,
  requested_at: number,
): Promise<ShownPayment> {
  const link = await linkOfPayment(ports, call.token, call.merchant.id, result, requested_at);
  if (link === null) return result;
  if (link.payment_id !== String(result.id) || link.updated_at < requested_at)
    return ownView(ports, call, link, result);
  const read = await readPayment(ports, call, link, freshFor(ports, link));
  return ownView(ports, call, link, read.kind === 'real' ? read.payment : result);
}

/** Puente's own payments that the search matches and legacy does not list. */
async function showMissing(
  ports: Ports,
  call: LegacyCall,
  search: PaymentSearch,
  links: readonly Link[],
  { found, at }: { found: Found | null; at: number },
): Promise<ShownPayment[]> {
  const isWhole = found === null || found.paging.total <= found.results.length;
  const shown = await Promise.all(
    links.map(async (link): Promise<ShownPayment[]> => {
      const read = await readPayment(ports, call, link, freshFor(ports, link));
      const isReal = read.kind === 'real';
      const elsewhere = isReal && link.reference_sent === search.reference && link.updated_at < at;
      // Legacy has the same reference, so the payment is on another page.
      if (elsewhere && !isWhole) return [];
      const payment = await (isReal ? ownView(ports, call, link, read.payment) : paymentFromOrder(ports, call, link));
      return search.finds(payment as ShownPayment) ? [payment as ShownPayment] : []; // both are objects
    }),
  );
  return shown.flat();
}

function freshFor(ports: Ports, link: Link): number {
  const age_ms = ports.clock.now() - link.created_at;
  return Math.max(ports.settings.reads.search_fresh_ms, age_ms / FRESH_PART_OF_AGE);
}

/** Only Puente's own payments, because legacy failed. */
function alone(search: PaymentSearch, ours: ShownPayment[]): { paging: Found['paging']; results: ShownPayment[] } {
  const { offset, limit } = search;
  const page = limit ?? DEFAULT_LIMIT;
  const results = ours.sort(search.compare).slice(offset, offset + page);
  return { paging: { total: ours.length, limit: page, offset }, results };
}

/** The till gets legacy's error; an answer that Puente can't read, such as a huge page, is proxied. */
function failure(ports: Ports, call: LegacyCall, outcome: UpstreamOutcome): Promise<LegacyAnswer> | LegacyAnswer {
  const isError = outcome.kind === 'answered' && outcome.status >= 400;
  return isError ? asUpstreamSays(ports, call, outcome) : { kind: 'proxy' };
}

type ShownPayment = Record<string, unknown>;

/** The query of a search (`docs/field-notes.md` QR §3, used filters). */
interface PaymentSearch {
  /** The till's own; null when the search has none. */
  reference: string | null;
  offset: number;
  /** Null for upstream's default. */
  limit: number | null;
  /** False only for a payment with a value that contradicts the search. */
  finds(payment: ShownPayment): boolean;
  compare(one: ShownPayment, other: ShownPayment): number;
}

/** Parameters that are no filters. The reference has already found the payment. */
const NO_FILTERS = new Set('external_reference range begin_date end_date sort criteria limit offset'.split(' '));

/** Ignores unreadable parameters: legacy judges the query and refuses it. @param now epoch ms. */
function readPaymentSearch(query: Readonly<Record<string, string>>, now: number): PaymentSearch {
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

/** A payment without the field matches: one made from its order has no store. */
function agrees(payment: ShownPayment, name: string, wanted: string): boolean {
  const value = valueAt(payment, name);
  return (
    value === undefined ||
    value === null ||
    (typeof value === 'object' && !isExactNumber(value)) ||
    String(value) === wanted
  );
}

/** Both ends are included; a payment without that date is in no range. */
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

/** @param name of a property, nested as in `payer.id`. */
function valueAt(payment: ShownPayment, name: string): unknown {
  let value: unknown = payment;
  for (const key of name.split('.')) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key]; // its own key
  }
  return value;
}

/** Numbers by size, dates by time, others by text; a missing value is lowest. */
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

/** Calls of the oldest SDKs, with the errors of `GET /v1/payments/{id}` (`docs/field-notes.md` QR §3). */
export async function getCollection(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const answer = await getPayment(ports, call);
  if (answer.kind !== 'answer' || answer.status !== 200) return answer;
  return { ...answer, body: asCollection(ports, call, answer.body) };
}

/** Requests the payment search from legacy by its newer path, which has the same paging. */
export async function searchCollections(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const answer = await searchPayments(ports, call);
  if (answer.kind !== 'answer' || answer.status !== 200) return answer;
  const body = answer.body as { results: unknown[] }; // made by `searchPayments`
  return { ...answer, body: { ...body, results: body.results.map((one) => asCollection(ports, call, one)) } };
}

/** Every field of the payment, and the fields that a collection names differently. */
function asCollection(ports: Ports, call: LegacyCall, payment: unknown): { collection: object } {
  const { value } = ports.tables.collection(payment, merchantContext(ports, call.merchant));
  return { collection: { ...(payment as object), ...(value.body as object) } }; // the table has just checked them
}
