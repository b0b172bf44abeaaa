/** Merchant orders, which the orders API does not have: reading one, and searching (`docs/field-notes.md` QR §2). */
import type { z } from 'zod';
import { decimalOf } from '../../contract/legacy-amount.ts';
import { type merchantOrder, type merchantOrderFilters, merchantOrderSearch } from '../../contract/merchant-orders.ts';
import { searchMoment } from '../../contract/search-moment.ts';
import { minorUnits } from '../../mapping/values.ts';
import { markLimitation } from '../evidence/exchange.ts';
import type { LegacyCall } from '../http/answer.ts';
import { type Answered, answered, type LegacyAnswer, refused } from '../http/answer.ts';
import { asUpstreamSays, fromTheFirst, refreshLive, searchLegacy, warnOfLegacy } from '../payments/legacy-search.ts';
import type { Ports } from '../ports.ts';
import { nicknameOf } from '../routing/merchant-identity.ts';
import { noteFound, noteRead } from '../sales/known-to-till.ts';
import type { Link } from '../sales/link.ts';
import { readLink } from '../sales/refresh.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { saleContext } from './create.ts';

export type MerchantOrder = z.infer<typeof merchantOrder>;

/** Shows a live sale as its order is now (`docs/field-notes.md` QR §2). */
export async function getMerchantOrder(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const { link: named } = call;
  if (named === null) return { kind: 'proxy' };
  const [link, nickname] = await Promise.all([
    named.state === 'LIVE' ? readLink(ports, named, call.token) : named,
    nicknameOf(ports, call),
  ]);
  if (link.order === null) return refused(call.operation.family, 'not_found');
  const order = renderMerchantOrder(ports, call, link, nickname);
  markShown(ports, order);
  return noteRead(ports, { link, refunded_minor: refundedIn(ports, call, order) }, answered(200, order));
}

/** Legacy made none before payment or scan (LIM-37); Puente's has no buyer (LIM-38), and one time for changes (LIM-39). */
function markShown(ports: Ports, { payments }: MerchantOrder): void {
  const draft = ports.exchange;
  markLimitation(draft, 'LIM-37');
  if (payments.length > 0) markLimitation(draft, 'LIM-38');
  if (payments.some(({ amount_refunded }) => /[1-9]/.test(decimalOf(amount_refunded) ?? '')))
    markLimitation(draft, 'LIM-39');
}

/** Minor units. */
function refundedIn(ports: Ports, call: LegacyCall, { refunded_amount }: MerchantOrder): number {
  return minorUnits(decimalOf(refunded_amount), ports.tables.site(call.merchant.site).exponent) ?? 0;
}

/** @param link of a QR sale with a known order; without one there is no merchant order. */
function renderMerchantOrder(ports: Ports, call: LegacyCall, link: Link, nickname: string): MerchantOrder {
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

/** Own sales in a search, newest first: a day of a busy shop, rendered in milliseconds (LIM-41). */
const OURS_AT_MOST = 1_000;
/** Live sales among them that are read again, newest first; events and recovery refresh the others. */
const READ_AT_MOST = 10;
/** A repeat may make an order this long after its row was written; clocks may differ by the second value. */
const MADE_WITHIN_MS = 24 * 60 * 60_000;
const CLOCKS_WITHIN_MS = 60_000;
const MOMENTS = ['date_created_from', 'date_created_to', 'last_updated_from', 'last_updated_to'];

/** Legacy's and Puente's results as one list; when legacy fails, Puente's alone (`docs/field-notes.md` QR §2). */
export async function searchMerchantOrders(ports: Ports, call: LegacyCall): Promise<LegacyAnswer> {
  const search = readSearch(call.query, ports.clock.now());
  if (search === null) return refused(call.operation.family, 'bad_request');
  const ours = await findOurs(ports, call, search);
  const { offset, limit } = search;
  const query = ours.length === 0 || offset === 0 ? call.query : fromTheFirst(call.query, offset, limit);
  const legacy = { name: 'merchant_order_search', path: '/merchant_orders/search', query, moments: MOMENTS } as const;
  const { outcome } = await searchLegacy(ports, call, legacy);
  if (ours.length === 0) return asLegacySays(ports, call, outcome);
  const theirs = foundBy(outcome);
  if (theirs === null) warnOfLegacy(ports, call, outcome);
  const merged = merge(
    ours.map(({ order }) => order),
    theirs?.elements ?? [],
  );
  const page = merged.slice(offset, offset + limit);
  if (page.length === 0) return answered(200, NOTHING_FOUND);
  const shown = ours.filter(({ order }) => page.includes(order));
  for (const { order } of shown) markShown(ports, order);
  const total = ours.length + (theirs?.total ?? 0);
  const answer = answered(200, { elements: page, next_offset: offset + page.length, total });
  if (search.reference === null) return answer;
  // A till that finds a sale by its own reference knows it, even if its create was never answered.
  const known = shown.map(({ link, order }) => ({ link, refunded_minor: refundedIn(ports, call, order) }));
  return noteFound(ports, known, answer);
}

/** `elements` is null, not an empty list (`docs/field-notes.md` QR §2). */
const NOTHING_FOUND = { elements: null, next_offset: 0, total: 0 };

/** Puente's own sales that the search matches, newest first. */
async function findOurs(
  ports: Ports,
  call: LegacyCall,
  search: MerchantOrderSearch,
): Promise<{ link: Link; order: MerchantOrder }[]> {
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
  // A sale whose create was refused or is in doubt has no merchant order.
  const sales = links.filter((link) => link.family === 'qr' && link.order !== null);
  if (sales.length === 0) return [];
  const [current, nickname] = await Promise.all([
    refreshLive(ports, call, sales, READ_AT_MOST),
    nicknameOf(ports, call),
  ]);
  return current
    .map((link) => ({ link, order: renderMerchantOrder(ports, call, link, nickname) }))
    .filter(({ order }) => search.finds(order));
}

/** Legacy's answer or error, unchanged. */
async function asLegacySays(ports: Ports, call: LegacyCall, outcome: UpstreamOutcome): Promise<Answered> {
  if (outcome.kind === 'broken') return refused(call.operation.family, 'outcome_unknown');
  if (outcome.kind === 'answered' && outcome.status < 400) return answered(outcome.status, outcome.body);
  return asUpstreamSays(ports, call, outcome);
}

type LegacyElement = NonNullable<z.infer<typeof merchantOrderSearch>['elements']>[number];

/** Null when legacy gave no search answer. */
function foundBy(outcome: UpstreamOutcome): { elements: LegacyElement[]; total: number } | null {
  if (outcome.kind !== 'answered' || outcome.status !== 200) return null;
  const parsed = merchantOrderSearch.safeParse(outcome.body);
  return parsed.success ? { elements: parsed.data.elements ?? [], total: parsed.data.total } : null;
}

/** Newest first, like both lists; each keeps its own order. */
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

/** Epoch ms; without a date NaN, which is never later. */
function createdAt(element: LegacyElement | undefined): number {
  return Date.parse(String(element?.date_created));
}

/** Not published; other searches of upstream have it. */
const DEFAULT_LIMIT = 50;

/** The query of a search (`docs/field-notes.md` QR §2, search parameters). */
interface MerchantOrderSearch {
  /** The client's own; null when the search has none. */
  reference: string | null;
  /** Epoch ms, both included. */
  created_from: number;
  created_to: number;
  offset: number;
  limit: number;
  finds(order: MerchantOrder): boolean;
}

/** Ignores empty filters and other parameters. @param now epoch ms of `NOW`. @returns null for an unreadable value. */
function readSearch(query: Readonly<Record<string, string>>, now: number): MerchantOrderSearch | null {
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

/** Each makes the test of a value; null for an unreadable one. A merchant order without the field does not match. */
const filters: Readonly<Record<FilterName, (value: string, now: number) => Test | null>> = {
  status: isEqual((order) => order.status),
  order_status: isEqual((order) => order.order_status),
  external_reference: isEqual((order) => order.external_reference),
  preference_id: isEqual((order) => order.preference_id),
  marketplace: isEqual((order) => order.marketplace),
  site_id: isEqual((order) => order.site_id),
  sponsor_id: isEqual((order) => order.sponsor_id),
  application_id: isEqual((order) => order.application_id),
  payer_id: isEqual((order) => order.payer?.id),
  items: (value) => (order) => order.items.some(({ id }) => id === value),
  date_created_from: isInRange((order) => order.date_created, 'from'),
  date_created_to: isInRange((order) => order.date_created, 'to'),
  last_updated_from: isInRange((order) => order.last_updated, 'from'),
  last_updated_to: isInRange((order) => order.last_updated, 'to'),
};

function isEqual(fieldOf: (order: MerchantOrder) => unknown): (value: string) => Test {
  return (value) => (order) => String(fieldOf(order) ?? '') === value;
}

function isInRange(dateOf: (order: MerchantOrder) => string, end: 'from' | 'to') {
  return (value: string, now: number): Test | null => {
    const limit = searchMoment(value, now);
    if (limit === null) return null;
    return (order) => (end === 'from' ? Date.parse(dateOf(order)) >= limit : Date.parse(dateOf(order)) <= limit);
  };
}

/** A whole number; `otherwise` without one; null for anything else. */
function count(value: string | undefined, otherwise: number): number | null {
  if (value === undefined || value === '') return otherwise;
  return /^\d{1,9}$/.test(value) ? Number(value) : null;
}
