/** The story of searching payments: what legacy finds, with ours as the till knows them, as one list (`legacy-qr.md` §0 row 18). */
import { paymentSearch } from '../../contract/payments.ts';
import { markLimitation } from '../evidence/limitation-mark.ts';
import type { LegacyCall } from '../http/call.ts';
import { answered, type LegacyAnswer } from '../http/legacy-answer.ts';
import type { Runtime } from '../runtime.ts';
import { noteFound } from '../sales/heard.ts';
import type { Link } from '../sales/link.ts';
import { refreshLink } from '../sales/refresh.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';
import { linkOfPayment } from './owner.ts';
import { type PaymentSearch, readPaymentSearch, type ShownPayment } from './search-filters.ts';
import { searchKey } from './search-moment.ts';
import { asUpstreamSays, ownView, readPayment, tellFromOrder } from './show.ts';

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
export async function searchPayments(runtime: Runtime, call: LegacyCall): Promise<LegacyAnswer> {
  const search = readPaymentSearch(call.query, runtime.clock.now());
  const links = search.reference === null ? [] : await ourLinks(runtime, call, search.reference);
  const widened = links.length > 0 && search.offset > 0;
  const asked = await askLegacy(runtime, call, widened ? fromTheFirst(call.query, search) : call.query);
  const found = foundBy(asked.outcome);
  if (found === null && isRefusal(asked.outcome)) return asUpstreamSays(runtime, call, asked.outcome);
  if (found === null) {
    const cause = asked.outcome.kind === 'answered' ? `status ${asked.outcome.status}` : asked.outcome.cause;
    runtime.log.warn('search: legacy could not be asked', { merchant: call.merchant.id, cause });
  }
  const theirs = await Promise.all((found?.results ?? []).map((result) => inOurWords(runtime, call, result, asked.at)));
  await Promise.all(links.map((link) => noteFound(runtime, link)));
  const missing = links.filter((link) => !theirs.some((one) => String(one.id) === link.payment_id));
  const ours = await showMissing(runtime, call, search, missing, { found, at: asked.at });
  if (found === null) return ours.length === 0 ? failure(runtime, call, asked.outcome) : alone(search, ours);
  if (ours.length === 0 && !widened) return answered(200, { ...found.body, results: theirs });
  const limit = widened ? (search.limit ?? DEFAULT_LIMIT) : found.paging.limit;
  const { offset } = search;
  const results = [...theirs, ...ours].sort(search.compare).slice(offset, offset + limit);
  const paging = { ...found.paging, total: found.paging.total + ours.length, limit, offset };
  return answered(200, { ...found.body, paging, results });
}

/** Our paid sales with the reference, newest first; the newest live ones are read again, for a poll once in a while. */
async function ourLinks(runtime: Runtime, call: LegacyCall, reference: string): Promise<Link[]> {
  const found = await runtime.store.linksByClientReference(call.merchant.id, reference, OURS_AT_MOST + 1);
  if (found.length > OURS_AT_MOST) markLimitation(runtime.exchange(), 'LIM-45');
  const links = found.slice(0, OURS_AT_MOST);
  const fresh_since = runtime.clock.now() - runtime.settings.reads.search_fresh_ms;
  const stale = links
    .filter((link) => link.state === 'LIVE' && runtime.reads.last(link.order_id ?? '') <= fresh_since)
    .slice(0, READ_AT_MOST);
  const read = new Map<string, Link>();
  await Promise.all(stale.map(async (link) => read.set(link.legacy_id, await refreshLink(runtime, link, call.token))));
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
  runtime: Runtime,
  call: LegacyCall,
  query: Record<string, string>,
): Promise<{ at: number; outcome: UpstreamOutcome }> {
  const { reads } = runtime.settings;
  const at = runtime.clock.now();
  return runtime.cache.get(
    `payments ${call.merchant.id} ${searchKey(query, MOMENTS, reads.search_fresh_ms)}`,
    at,
    reads.search_fresh_ms,
    async () => ({
      at,
      outcome: await runtime.legacy_upstream.send({
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
  runtime: Runtime,
  call: LegacyCall,
  result: ShownPayment,
  asked_at: number,
): Promise<ShownPayment> {
  const link = await linkOfPayment(runtime, call.token, call.merchant.id, result, asked_at);
  if (link === null) return result;
  if (link.payment_id !== String(result.id) || link.updated_at < asked_at) return ownView(runtime, call, link, result);
  const read = await readPayment(runtime, call, link, freshFor(runtime, link));
  return ownView(runtime, call, link, read.kind === 'real' ? read.payment : result);
}

/** The payments of ours that the search means and legacy does not list. */
async function showMissing(
  runtime: Runtime,
  call: LegacyCall,
  search: PaymentSearch,
  links: readonly Link[],
  { found, at }: { found: Found | null; at: number },
): Promise<ShownPayment[]> {
  const isWhole = found === null || found.paging.total <= found.results.length;
  const shown = await Promise.all(
    links.map(async (link): Promise<ShownPayment[]> => {
      const read = await readPayment(runtime, call, link, freshFor(runtime, link));
      const isReal = read.kind === 'real';
      const elsewhere = isReal && link.reference_sent === search.reference && link.updated_at < at;
      // Legacy knows it by the same reference, so it stands on another page.
      if (elsewhere && !isWhole) return [];
      const payment = await (isReal ? ownView(runtime, call, link, read.payment) : tellFromOrder(runtime, call, link));
      return search.finds(payment as ShownPayment) ? [payment as ShownPayment] : []; // both are objects
    }),
  );
  return shown.flat();
}

function freshFor(runtime: Runtime, link: Link): number {
  const age_ms = runtime.clock.now() - link.created_at;
  return Math.max(runtime.settings.reads.search_fresh_ms, age_ms / FRESH_PART_OF_AGE);
}

/** Legacy is away or fails: what we know is more than nothing. */
function alone(search: PaymentSearch, ours: ShownPayment[]): LegacyAnswer {
  const { offset, limit } = search;
  const page = limit ?? DEFAULT_LIMIT;
  const results = ours.sort(search.compare).slice(offset, offset + page);
  return answered(200, { paging: { total: ours.length, limit: page, offset }, results });
}

/** Nothing of ours: legacy's failure reaches the till; what could not be taken in here, such as a huge page, is carried. */
function failure(runtime: Runtime, call: LegacyCall, outcome: UpstreamOutcome): Promise<LegacyAnswer> | LegacyAnswer {
  const isError = outcome.kind === 'answered' && outcome.status >= 400;
  return isError ? asUpstreamSays(runtime, call, outcome) : { kind: 'carry' };
}
