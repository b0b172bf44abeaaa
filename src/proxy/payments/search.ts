/** The story of searching payments: what legacy finds, with ours as the till knows them, as one list (`docs/field-notes.md` QR finding 18). */

import { isExactNumber } from '../../contract/json.ts';
import { paymentSearch } from '../../contract/payments.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { answered, type LegacyAnswer } from '../http/answer.ts';
import { type LegacyCall, merchantContext } from '../http/call.ts';
import type { Ports } from '../ports.ts';
import { noteFound } from '../sales/acknowledgement.ts';
import type { Link } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { linkOfPayment } from './owner.ts';
import { asUpstreamSays, getPayment, ownView, readPayment, tellFromOrder } from './read.ts';

/** Of our own sales with one reference a search shows so many at most, newest first (LIM-45). */
const OURS_AT_MOST = 50;
/** Of those still live so many are read again, newest first; events and the reconciler keep the others. */
const READ_AT_MOST = 5;
/** An older payment changes more seldom, so that a reference used for every sale doesn't cost a read of each at every poll. */
const FRESH_PART_OF_AGE = 10;
/** The page of a search that asks for none; not published. */
const DEFAULT_LIMIT = 30;

/**
 * `GET /v1/payments/search`: what legacy finds, each payment of ours in the till's words, and those that legacy can't
 * find because upstream has another reference. Ours stand alone when legacy fails.
 */
export async function searchPayments(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const search = readPaymentSearch(call.query, ports.clock.now());
  const links = search.reference === null ? [] : await ourLinks(ports, call, search.reference);
  const widened = links.length > 0 && search.offset > 0;
  const asked = await askLegacy(ports, call, widened ? fromTheFirst(call.query, search) : call.query);
  const found = foundBy(asked.outcome);
  if (found === null && isRefusal(asked.outcome)) return asUpstreamSays(ports, call, asked.outcome);
  if (found === null) {
    const cause = asked.outcome.kind === 'answered' ? `status ${asked.outcome.status}` : asked.outcome.cause;
    ports.log.warn('search: legacy could not be asked', { merchant: call.merchant.id, cause });
  }
  const theirs = await Promise.all((found?.results ?? []).map((result) => inOurWords(ports, call, result, asked.at)));
  await Promise.all(links.map((link) => noteFound(ports, link)));
  const missing = links.filter((link) => !theirs.some((one) => String(one.id) === link.payment_id));
  const ours = await showMissing(ports, call, search, missing, { found, at: asked.at });
  if (found === null) return ours.length === 0 ? failure(ports, call, asked.outcome) : alone(search, ours);
  if (ours.length === 0 && !widened) return answered(200, { ...found.body, results: theirs });
  const limit = widened ? (search.limit ?? DEFAULT_LIMIT) : found.paging.limit;
  const { offset } = search;
  const results = [...theirs, ...ours].sort(search.compare).slice(offset, offset + limit);
  const paging = { ...found.paging, total: found.paging.total + ours.length, limit, offset };
  return answered(200, { ...found.body, paging, results });
}

/** Our paid sales with the reference, newest first; the newest live ones are read again, for a poll once in a while. */
async function ourLinks(ports: Ports, call: LegacyCall, reference: string): Promise<Link[]> {
  const found = await ports.store.history.linksByClientReference(call.merchant.id, reference, OURS_AT_MOST + 1);
  if (found.length > OURS_AT_MOST) markLimitation(ports.exchange, 'LIM-45');
  const links = found.slice(0, OURS_AT_MOST);
  const fresh_since = ports.clock.now() - ports.settings.reads.search_fresh_ms;
  const stale = links
    .filter((link) => link.state === 'LIVE' && ports.memory.sales.reads.last(link.order_id ?? '') <= fresh_since)
    .slice(0, READ_AT_MOST);
  const read = new Map<string, Link>();
  await Promise.all(stale.map(async (link) => read.set(link.legacy_id, await refreshLink(ports, link, call.token))));
  return links.map((link) => read.get(link.legacy_id) ?? link).filter((link) => link.payment_id !== null);
}

/** A page of the merged list needs everything before it too. */
function fromTheFirst(query: Record<string, string>, { offset, limit }: PaymentSearch): Record<string, string> {
  const { offset: _offset, ...others } = query;
  return { ...others, limit: String(offset + (limit ?? DEFAULT_LIMIT)) };
}

const MOMENTS = ['begin_date', 'end_date'];

/** What legacy says, and when it was asked, epoch ms: kept for each merchant and query, because tills ask every second. */
function askLegacy(
  ports: Ports,
  call: LegacyCall,
  query: Record<string, string>,
): Promise<{ at: number; outcome: UpstreamOutcome }> {
  const { reads } = ports.settings;
  const at = ports.clock.now();
  return ports.memory.cache.get(
    `payments ${call.merchant.id} ${searchKey(query, MOMENTS, reads.search_fresh_ms)}`,
    at,
    reads.search_fresh_ms,
    async () => ({
      at,
      outcome: await ports.upstreams.legacy.send({
        name: 'payment_search',
        method: 'GET',
        path: '/v1/payments/search',
        query,
        token: call.token,
        timeout_ms: reads.timeout_ms,
      }),
    }),
    ({ outcome }) => outcome.kind === 'answered' && outcome.status === 200,
  );
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
  // The body itself is told on, so that its keys keep their order and its numbers their text.
  const body = outcome.body as { paging: Found['paging']; results: ShownPayment[] };
  return { body, paging: body.paging, results: body.results };
}

/** The query or the caller is refused: what we know ourselves changes nothing of that. */
function isRefusal(outcome: UpstreamOutcome): boolean {
  return outcome.kind === 'answered' && outcome.status >= 400 && outcome.status < 500 && outcome.status !== 429;
}

/** A result of legacy; one of ours as the till knows it, and as it is now when its order has changed since. */
async function inOurWords(
  ports: Ports,
  call: LegacyCall,
  result: ShownPayment,
  asked_at: number,
): Promise<ShownPayment> {
  const link = await linkOfPayment(ports, call.token, call.merchant.id, result, asked_at);
  if (link === null) return result;
  if (link.payment_id !== String(result.id) || link.updated_at < asked_at) return ownView(ports, call, link, result);
  const read = await readPayment(ports, call, link, freshFor(ports, link));
  return ownView(ports, call, link, read.kind === 'real' ? read.payment : result);
}

/** The payments of ours that the search means and legacy does not list. */
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
      // Legacy knows it by the same reference, so it stands on another page.
      if (elsewhere && !isWhole) return [];
      const payment = await (isReal ? ownView(ports, call, link, read.payment) : tellFromOrder(ports, call, link));
      return search.finds(payment as ShownPayment) ? [payment as ShownPayment] : []; // both are objects
    }),
  );
  return shown.flat();
}

function freshFor(ports: Ports, link: Link): number {
  const age_ms = ports.clock.now() - link.created_at;
  return Math.max(ports.settings.reads.search_fresh_ms, age_ms / FRESH_PART_OF_AGE);
}

/** Legacy is away or fails: what we know is more than nothing. */
function alone(search: PaymentSearch, ours: ShownPayment[]): LegacyAnswer {
  const { offset, limit } = search;
  const page = limit ?? DEFAULT_LIMIT;
  const results = ours.sort(search.compare).slice(offset, offset + page);
  return answered(200, { paging: { total: ours.length, limit: page, offset }, results });
}

/** Nothing of ours: legacy's failure reaches the till; what could not be taken in here, such as a huge page, is carried. */
function failure(ports: Ports, call: LegacyCall, outcome: UpstreamOutcome): Promise<LegacyAnswer> | LegacyAnswer {
  const isError = outcome.kind === 'answered' && outcome.status >= 400;
  return isError ? asUpstreamSays(ports, call, outcome) : { kind: 'carry' };
}

// What a search of payments asks for, and whether a payment of ours is meant: pure (`docs/field-notes.md` QR §3, used filters).

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

// The stories of the oldest SDKs' reads: a payment, and a search of payments, as collections (`docs/field-notes.md` QR §3).

/** `GET /collections/{id}` and `/collections/notifications/{id}`: the payment; errors as `/v1/payments/{id}` tells them. */
export async function getCollection(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const answer = await getPayment(ports, call);
  if (answer.kind !== 'answer' || answer.status !== 200) return answer;
  return { ...answer, body: asCollection(ports, call, answer.body) };
}

/** `GET /collections/search`: the search of payments, asked of legacy by its newer path, whose answer has the same page. */
export async function searchCollections(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const answer = await searchPayments(ports, call);
  if (answer.kind !== 'answer' || answer.status !== 200) return answer;
  const body = answer.body as { results: unknown[] }; // the story has put it together
  return { ...answer, body: { ...body, results: body.results.map((one) => asCollection(ports, call, one)) } };
}

/** Every field of the payment, and beside them what a collection calls otherwise. */
function asCollection(ports: Ports, call: LegacyCall, payment: unknown): { collection: object } {
  const { value } = ports.tables.collection(payment, merchantContext(ports, call.merchant));
  return { collection: { ...(payment as object), ...(value.body as object) } }; // the table has just read and written them
}

// Moments as clients write them in searches of the old APIs (`docs/field-notes.md` QR §3, used filters).

/** Clients forget to encode the plus of an offset, and it arrives as a space. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?(?:(Z)|([ +-])(\d{2}):?(\d{2}))?$/;
const NOW = /^NOW((?:[ +-]\d{1,6}(?:SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)S?)*)$/;
const STEP = /([ +-])(\d+)(SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)/g;

/**
 * Epoch milliseconds of an ISO 8601 date or instant, without an offset in UTC, and of `NOW`, `NOW-30DAYS`, `NOW-1HOUR`.
 * @param now epoch ms.
 * @returns null for anything else.
 */
export function searchMoment(text: string, now: number): number | null {
  const relative = NOW.exec(text);
  if (relative !== null) return stepped(now, relative[1] ?? '');
  const match = ISO.exec(text);
  if (match === null) return null;
  const [, day, time = '00:00', , sign, hours, minutes] = match;
  const zone = sign === undefined ? 'Z' : `${sign === '-' ? '-' : '+'}${hours}:${minutes}`;
  const at = Date.parse(`${day}T${time}${zone}`);
  return Number.isNaN(at) ? null : at;
}

/**
 * The key under which what legacy finds is cached. A till that polls up to this moment writes another instant each time,
 * so the instants of the named parameters count in steps; what is sent stays the till's own.
 * @param step_ms how old a cached answer may be; 0 counts every instant.
 */
export function searchKey(
  query: Readonly<Record<string, string>>,
  moments: readonly string[],
  step_ms: number,
): string {
  const coarse = Object.entries(query).map(([name, text]): [string, string] => {
    const at = step_ms > 0 && moments.includes(name) && ISO.test(text) ? searchMoment(text, 0) : null;
    return [name, at === null ? text : String(Math.floor(at / step_ms))];
  });
  return new URLSearchParams(coarse.sort(([one], [other]) => (one < other ? -1 : 1))).toString();
}

/** Months and years are those of the calendar, in UTC. */
function stepped(now: number, steps: string): number | null {
  const date = new Date(now);
  for (const [, sign, digits, unit] of steps.matchAll(STEP)) {
    const count = sign === '-' ? -Number(digits) : Number(digits);
    if (unit === 'YEAR') date.setUTCFullYear(date.getUTCFullYear() + count);
    else if (unit === 'MONTH') date.setUTCMonth(date.getUTCMonth() + count);
    else if (unit === 'DAY') date.setUTCDate(date.getUTCDate() + count);
    else if (unit === 'HOUR') date.setUTCHours(date.getUTCHours() + count);
    else if (unit === 'MINUTE') date.setUTCMinutes(date.getUTCMinutes() + count);
    else date.setUTCSeconds(date.getUTCSeconds() + count);
  }
  const at = date.getTime();
  return Number.isNaN(at) ? null : at;
}
