/** Merchant orders, which the orders API does not have: reading one, and searching (`docs/field-notes.md` QR §2). */
import type { z } from 'zod';
import { decimalOf } from '../../contract/legacy-amount.ts';
import { type merchantOrder, type merchantOrderFilters, merchantOrderSearch } from '../../contract/merchant-orders.ts';
import { markLimitation } from '../evidence/exchange.ts';
import { type Answered, answered, type LegacyAnswer, refused } from '../http/answer.ts';
import type { LegacyCall } from '../http/call.ts';
import { searchKey, searchMoment } from '../payments/search.ts';
import type { Ports } from '../ports.ts';
import { distrust, nicknameOf } from '../routing/merchant-identity.ts';
import { noteFound, noteRead } from '../sales/acknowledgement.ts';
import type { Link } from '../sales/link.ts';
import { readLink, refreshLink } from '../sales/refresh.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { saleContext } from './create.ts';

export type MerchantOrder = z.infer<typeof merchantOrder>;

/** `GET /merchant_orders/{id}`: the full shape, of a live sale as its order is now (`docs/field-notes.md` QR §2). */
export async function getMerchantOrder(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { link: named } = call;
  if (named === null) return { kind: 'carry' };
  const [link, nickname] = await Promise.all([
    named.state === 'LIVE' ? readLink(ports, named, call.token) : named,
    nicknameOf(ports, call),
  ]);
  if (link.order === null) return refused(call.operation.family, 'not_found');
  await noteRead(ports, link);
  const order = renderMerchantOrder(ports, call, link, nickname);
  markShown(ports, order);
  return answered(200, order);
}

/** None was made before it was paid or scanned (LIM-37); it tells no buyer (LIM-38), and one time for all changes (LIM-39). */
export function markShown(ports: Ports, { payments }: MerchantOrder): void {
  const draft = ports.exchange;
  markLimitation(draft, 'LIM-37');
  if (payments.length > 0) markLimitation(draft, 'LIM-38');
  if (payments.some(({ amount_refunded }) => /[1-9]/.test(decimalOf(amount_refunded) ?? '')))
    markLimitation(draft, 'LIM-39');
}

/** @param link of a QR sale whose order is known; without one there is no merchant order. */
export function renderMerchantOrder(ports: Ports, call: LegacyCall, link: Link, nickname: string): MerchantOrder {
  const { value } = ports.tables.answer(call.operation, link.order, {
    ...saleContext(ports, call, link),
    site: call.merchant.site ?? '',
    client_reference: link.client_reference ?? '',
    merchant_order_id: link.merchant_order_id,
    state: link.legacy_state,
    created_at: link.created_at,
    nickname,
    ...(link.payment_id === null ? {} : { payment_id: Number(link.payment_id) }),
  });
  return value.body as MerchantOrder; // the table has just checked it
}

// The story of searching merchant orders: what legacy finds and what ours are, as one list (`docs/field-notes.md` QR §2).

/** Of our own sales a search looks at so many at most, newest first: a day of a busy shop, rendered in milliseconds (LIM-41). */
const OURS_AT_MOST = 1_000;
/** Of those still live so many are read again, newest first; events and the reconciler keep the others. */
const READ_AT_MOST = 10;
/** An order may be made so long after its row was written, by a replay; and clocks differ by as much as the other. */
const MADE_WITHIN_MS = 24 * 60 * 60_000;
const CLOCKS_WITHIN_MS = 60_000;

/**
 * `GET /merchant_orders/search?…`, `/merchant_orders?…` and `/merchant_orders/?…`. While legacy can't be asked ours
 * stand alone when there are any; otherwise its error is told.
 */
export async function searchMerchantOrders(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { family } = call.operation;
  const search = readSearch(call.query, ports.clock.now());
  if (search === null) return refused(family, 'bad_request');
  const ours = await findOurs(ports, call, search);
  const outcome = await askLegacy(ports, call, ours.length === 0 ? call.query : fromTheFirst(call.query, search));
  if (ours.length === 0) return asLegacySays(ports, call, outcome);
  const theirs = foundBy(outcome);
  if (theirs === null) {
    ports.log.warn('search: legacy could not be asked; our own merchant orders stand alone', {
      operation: call.operation.name,
      merchant: call.merchant.id,
      cause: outcome.kind === 'answered' ? `status ${outcome.status}` : outcome.cause,
    });
  }
  const merged = merge(ours, theirs?.elements ?? []);
  const page = merged.slice(search.offset, search.offset + search.limit);
  if (page.length === 0) return answered(200, NOTHING_FOUND);
  for (const order of ours) if (page.includes(order)) markShown(ports, order);
  const total = ours.length + (theirs?.total ?? 0);
  return answered(200, { elements: page, next_offset: search.offset + page.length, total });
}

/** Not an empty list (`docs/field-notes.md` QR §2). */
const NOTHING_FOUND = { elements: null, next_offset: 0, total: 0 };

/** Our own sales that the search means, newest first. */
async function findOurs(ports: Ports, call: LegacyCall, search: MerchantOrderSearch): Promise<MerchantOrder[]> {
  const { store } = ports;
  const { id } = call.merchant;
  const found =
    search.reference === null
      ? await store.history.linksOf(
          id,
          search.created_from - MADE_WITHIN_MS,
          Math.min(search.created_to + CLOCKS_WITHIN_MS, Number.MAX_SAFE_INTEGER),
          OURS_AT_MOST + 1,
        )
      : await store.history.linksByClientReference(id, search.reference, OURS_AT_MOST + 1);
  if (found.length > OURS_AT_MOST) markLimitation(ports.exchange, 'LIM-41');
  const links = found.slice(0, OURS_AT_MOST);
  // A sale whose create was refused, or is not known yet, has no merchant order.
  const sales = links.filter((link) => link.family === 'qr' && link.order !== null);
  if (sales.length === 0) return [];
  const [current, nickname] = await Promise.all([readAgain(ports, call, sales), nicknameOf(ports, call)]);
  // A till that asks by its own reference knows the sale, also where its create was answered without an id or not at all.
  if (search.reference !== null) await Promise.all(current.map((link) => noteFound(ports, link)));
  return current.map((link) => renderMerchantOrder(ports, call, link, nickname)).filter((order) => search.finds(order));
}

/** Tills poll a search every second: an order read within `reads.search_fresh_ms` is not read again. */
async function readAgain(ports: Ports, call: LegacyCall, links: Link[]): Promise<Link[]> {
  const fresh_since = ports.clock.now() - ports.settings.reads.search_fresh_ms;
  const stale = links
    .filter((link) => link.state === 'LIVE' && ports.memory.sales.reads.last(link.order_id ?? '') <= fresh_since)
    .slice(0, READ_AT_MOST);
  const read = new Map<string, Link>();
  await Promise.all(stale.map(async (link) => read.set(link.legacy_id, await refreshLink(ports, link, call.token))));
  return links.map((link) => read.get(link.legacy_id) ?? link);
}

/** The search as legacy gets it: a page of the merged list needs everything before it too. */
function fromTheFirst(query: Record<string, string>, { offset, limit }: MerchantOrderSearch): Record<string, string> {
  if (offset === 0) return query;
  const { offset: _offset, ...others } = query;
  return { ...others, limit: String(offset + limit) };
}

const MOMENTS = ['date_created_from', 'date_created_to', 'last_updated_from', 'last_updated_to'];

function askLegacy(ports: Ports, call: LegacyCall, query: Record<string, string>): Promise<UpstreamOutcome> {
  const { reads } = ports.settings;
  return ports.memory.cache.get(
    `merchant_orders ${call.merchant.id} ${searchKey(query, MOMENTS, reads.search_fresh_ms)}`,
    ports.clock.now(),
    reads.search_fresh_ms,
    () =>
      ports.upstreams.legacy.send({
        name: 'merchant_order_search',
        method: 'GET',
        path: '/merchant_orders/search',
        query,
        token: call.token,
        timeout_ms: reads.timeout_ms,
      }),
    (outcome) => outcome.kind === 'answered' && outcome.status === 200,
  );
}

/** Nothing of ours is found: legacy's answer as it is, its errors too. */
async function asLegacySays(ports: Ports, call: LegacyCall, outcome: UpstreamOutcome): Promise<Answered> {
  const { family } = call.operation;
  if (outcome.kind === 'not_sent') return refused(family, 'bad_gateway');
  if (outcome.kind === 'broken') return refused(family, 'outcome_unknown');
  if (outcome.status === 401) await distrust(ports, call.token);
  const { status, body, retry_after_ms } = outcome;
  if (retry_after_ms === null) return answered(status, body);
  return answered(status, body, { 'retry-after': String(Math.ceil(retry_after_ms / 1000)) });
}

type LegacyElement = NonNullable<z.infer<typeof merchantOrderSearch>['elements']>[number];

/** Null when legacy gave no search answer. */
function foundBy(outcome: UpstreamOutcome): { elements: LegacyElement[]; total: number } | null {
  if (outcome.kind !== 'answered' || outcome.status !== 200) return null;
  const parsed = merchantOrderSearch.safeParse(outcome.body);
  return parsed.success ? { elements: parsed.data.elements ?? [], total: parsed.data.total } : null;
}

/** Newest first as both lists are; each keeps its own order, whatever dates it tells. */
function merge(ours: MerchantOrder[], theirs: LegacyElement[]): (MerchantOrder | LegacyElement)[] {
  const merged: (MerchantOrder | LegacyElement)[] = [];
  let next = 0;
  for (const order of ours) {
    while (next < theirs.length && createdAt(theirs[next]) > Date.parse(order.date_created)) {
      merged.push(theirs[next++] as LegacyElement); // the index was just checked
    }
    merged.push(order);
  }
  return [...merged, ...theirs.slice(next)];
}

/** Epoch ms; NaN, which is never later, where legacy tells none. */
function createdAt(element: LegacyElement | undefined): number {
  return Date.parse(String(element?.date_created));
}

// What a search for merchant orders asks for, and which of ours it means (`docs/field-notes.md` QR §2, search parameters).

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
