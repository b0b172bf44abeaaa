/** The story of searching merchant orders: what legacy finds and what ours are, as one list (`legacy-qr.md` §2). */
import type { z } from 'zod';
import { merchantOrderSearch } from '../../contract/merchant-orders.ts';
import { markLimitation } from '../evidence/limitation-mark.ts';
import type { LegacyCall } from '../http/call.ts';
import { type Answered, answered, type LegacyAnswer, refused } from '../http/legacy-answer.ts';
import { searchKey } from '../payments/search-moment.ts';
import { distrust, nicknameOf } from '../routing/merchant-identity.ts';
import type { Runtime } from '../runtime.ts';
import { noteFound } from '../sales/heard.ts';
import type { Link } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { type MerchantOrder, markShown, renderMerchantOrder } from './merchant-order.ts';
import { type MerchantOrderSearch, readSearch } from './merchant-order-filters.ts';

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
export async function searchMerchantOrders(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const { family } = call.operation;
  const search = readSearch(call.query, runtime.clock.now());
  if (search === null) return refused(family, 'bad_request');
  const ours = await findOurs(runtime, call, search);
  const outcome = await askLegacy(runtime, call, ours.length === 0 ? call.query : fromTheFirst(call.query, search));
  if (ours.length === 0) return asLegacySays(runtime, call, outcome);
  const theirs = foundBy(outcome);
  if (theirs === null) {
    runtime.log.warn('search: legacy could not be asked; our own merchant orders stand alone', {
      operation: call.operation.name,
      merchant: call.merchant.id,
      cause: outcome.kind === 'answered' ? `status ${outcome.status}` : outcome.cause,
    });
  }
  const merged = merge(ours, theirs?.elements ?? []);
  const page = merged.slice(search.offset, search.offset + search.limit);
  if (page.length === 0) return answered(200, NOTHING_FOUND);
  for (const order of ours) if (page.includes(order)) markShown(runtime, order);
  const total = ours.length + (theirs?.total ?? 0);
  return answered(200, { elements: page, next_offset: search.offset + page.length, total });
}

/** Not an empty list (`legacy-qr.md` §2). */
const NOTHING_FOUND = { elements: null, next_offset: 0, total: 0 };

/** Our own sales that the search means, newest first. */
async function findOurs(runtime: Runtime, call: LegacyCall, search: MerchantOrderSearch): Promise<MerchantOrder[]> {
  const { store } = runtime;
  const { id } = call.merchant;
  const found =
    search.reference === null
      ? await store.linksOf(
          id,
          search.created_from - MADE_WITHIN_MS,
          Math.min(search.created_to + CLOCKS_WITHIN_MS, Number.MAX_SAFE_INTEGER),
          OURS_AT_MOST + 1,
        )
      : await store.linksByClientReference(id, search.reference, OURS_AT_MOST + 1);
  if (found.length > OURS_AT_MOST) markLimitation(runtime.exchange(), 'LIM-41');
  const links = found.slice(0, OURS_AT_MOST);
  // A sale whose create was refused, or is not known yet, has no merchant order.
  const sales = links.filter((link) => link.family === 'qr' && link.order !== null);
  if (sales.length === 0) return [];
  const [current, nickname] = await Promise.all([readAgain(runtime, call, sales), nicknameOf(runtime, call)]);
  // A till that asks by its own reference knows the sale, also where its create was answered without an id or not at all.
  if (search.reference !== null) await Promise.all(current.map((link) => noteFound(runtime, link)));
  return current
    .map((link) => renderMerchantOrder(runtime, call, link, nickname))
    .filter((order) => search.finds(order));
}

/** Tills poll a search every second: an order read within `reads.search_fresh_ms` is not read again. */
async function readAgain(runtime: Runtime, call: LegacyCall, links: Link[]): Promise<Link[]> {
  const fresh_since = runtime.clock.now() - runtime.settings.reads.search_fresh_ms;
  const stale = links
    .filter((link) => link.state === 'LIVE' && runtime.reads.last(link.order_id ?? '') <= fresh_since)
    .slice(0, READ_AT_MOST);
  const read = new Map<string, Link>();
  await Promise.all(stale.map(async (link) => read.set(link.legacy_id, await refreshLink(runtime, link, call.token))));
  return links.map((link) => read.get(link.legacy_id) ?? link);
}

/** The search as legacy gets it: a page of the merged list needs everything before it too. */
function fromTheFirst(query: Record<string, string>, { offset, limit }: MerchantOrderSearch): Record<string, string> {
  if (offset === 0) return query;
  const { offset: _offset, ...others } = query;
  return { ...others, limit: String(offset + limit) };
}

const MOMENTS = ['date_created_from', 'date_created_to', 'last_updated_from', 'last_updated_to'];

function askLegacy(runtime: Runtime, call: LegacyCall, query: Record<string, string>): Promise<UpstreamOutcome> {
  const { reads } = runtime.settings;
  return runtime.cache.get(
    `merchant_orders ${call.merchant.id} ${searchKey(query, MOMENTS, reads.search_fresh_ms)}`,
    runtime.clock.now(),
    reads.search_fresh_ms,
    () =>
      runtime.legacy_upstream.send({
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
async function asLegacySays(runtime: Runtime, call: LegacyCall, outcome: UpstreamOutcome): Promise<Answered> {
  const { family } = call.operation;
  if (outcome.kind === 'not_sent') return refused(family, 'bad_gateway');
  if (outcome.kind === 'broken') return refused(family, 'outcome_unknown');
  if (outcome.status === 401) await distrust(runtime, call.token);
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
