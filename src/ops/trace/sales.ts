/** The list of sales of both lanes: found by merchant, unit, state, amount, time and reference, in pages. */
import { z } from 'zod';
import { PuenteError } from '../../error.ts';
import { encoded, say } from '../../locales/message.ts';
import { minorUnits } from '../../mapping/values.ts';
import type { Refund } from '../../proxy/records/refunds.ts';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Link } from '../../proxy/sales/link.ts';
import { currency, defined, instant, iso, lane, listLimit, time, type Whose, whose } from '../fields.ts';
import { isSought, labelOf } from '../merchants.ts';
import type { Ports, SaleFilter, SalePage, SalePlace } from '../ports.ts';
import { refundsOfAll } from '../refunded.ts';
import { comparePlaces, type SaleState, saleStates, stateOfLegacySale, stateOfLink } from '../sale-state.ts';
import { knownMerchants } from '../seen.ts';
import { isOf, listedOf, onlyOf } from '../whose.ts';
import { saleView, viewOfSale } from './trace.ts';

const DEFAULT_LIMIT = 50;
const MOST_LISTED = 500;

const amount = z.string().regex(/^\d{1,12}(\.\d{1,2})?$/, encoded(say('input.amount', { example: '1500.50' })));

/** The query of `GET /api/sales`, for sales created in [since, until). */
export const salesQuery = z.strictObject({
  merchant: whose.exactOptional(),
  search: z.string().max(64).exactOptional().describe('only of merchants with this in id, name or tags'),
  tag: z.string().max(40).exactOptional().describe('only of merchants with this tag'),
  unit: z.string().min(1).max(200).exactOptional().describe('of this terminal or point of sale'),
  state: z.enum(saleStates).exactOptional().describe('only in this state'),
  lane: lane.exactOptional().describe('only of this lane'),
  family: z.enum(['point', 'qr']).exactOptional().describe('only of this family'),
  currency: currency.exactOptional().describe('only in this currency'),
  reference: z.string().min(1).max(256).exactOptional().describe("with exactly this reference of the till's"),
  amount_from: amount.exactOptional().describe('of this amount or more, such as 1500.50'),
  amount_to: amount.exactOptional().describe('of this amount or less'),
  since: instant.exactOptional().describe('created then or later, such as 2026-01-31T09:00:00Z'),
  until: instant.exactOptional().describe('created before then'),
  before: z
    .string()
    .regex(/^\d{1,16}_[0-9a-f-]{0,36}$/, encoded(say('input.place', {})))
    .exactOptional()
    .describe('the next page: what `next` of the page before names'),
  limit: listLimit(DEFAULT_LIMIT, MOST_LISTED).describe('at most so many'),
});

const saleLine = saleView
  .pick({
    merchant: true,
    merchant_name: true,
    lane: true,
    family: true,
    unit: true,
    legacy_id: true,
    order_id: true,
    payment_id: true,
    client_reference: true,
    amount: true,
    currency: true,
    refund: true,
    refunded: true,
    legacy_state: true,
    created_at: true,
  })
  .extend({ state: z.enum(saleStates).describe('`not_known`: no answer or event has shown how it ended') });
export type SaleLine = z.infer<typeof saleLine>;

export const salesView = z.object({
  sales: z.array(saleLine),
  next: z.string().nullable().describe('`before` of the next page; null at the end'),
  searched_to: time.nullable().describe('where a search of many sales paused; null: it found a whole page, or the end'),
});
export type SalesView = z.infer<typeof salesView>;

/**
 * Newest first. A search for few among many pauses, and its page has fewer sales than it may.
 * @throws PuenteError bad_request when no amount can match; as `refuseUnseenRead`.
 */
export async function viewSales(ports: Ports, query: z.infer<typeof salesQuery>): Promise<SalesView> {
  const steps = await stepsOf(ports, query);
  const sought = await soughtBy(ports, query);
  const filter = { ...filterOf(ports, query, steps), ...sought };
  const before = placeIn(query.before);
  const decimals = decimalBounds(query, steps);
  const [on_orders, on_legacy] = await Promise.all([
    query.lane === 'legacy' || sought === null ? NOTHING : ports.store.history.listLinks(filter, before, query.limit),
    query.lane === 'orders' || sought === null
      ? NOTHING
      : ports.store.legacy_sales.listLegacySales({ ...filter, ...decimals }, before, query.limit),
  ]);
  const { rows, next, is_paused } = merged(on_orders, on_legacy, query.limit);
  const listed = await listedOf(ports, query.merchant, rows);
  const refunds = await refundsOfAll(
    ports,
    listed.map(({ link }) => link).filter((link) => link !== null),
  );
  const lines = await Promise.all(
    listed.map((row) => lineOf(ports, row, refunds.get(row.link?.legacy_id ?? '') ?? [], filter.now)),
  );
  return {
    sales: lines.filter((line) => line !== null).filter((line) => isPriced(line, query)),
    next: next === null ? null : `${next.at}_${next.id}`,
    searched_to: is_paused && next !== null ? iso(next.at) : null,
  };
}

const NOTHING = { rows: [], next: null };

/** The merchants whose name, id or tags are searched for; null: there is none. */
async function soughtBy(
  ports: Ports,
  query: z.infer<typeof salesQuery>,
): Promise<Pick<SaleFilter, 'merchant_id' | 'merchant_ids'> | null> {
  const { merchant, search, tag } = query;
  if (search === undefined && tag === undefined) return merchant === undefined ? {} : filterBy(merchant);
  const isMeant = isOf(merchant);
  const found = (await knownMerchants(ports))
    .filter(({ id, settings }) => isMeant(id) && isSought(id, labelOf(settings), query))
    .map(({ id }) => id);
  return found.length === 0 ? null : filterBy(found);
}

function filterBy(ids: Whose): Pick<SaleFilter, 'merchant_id' | 'merchant_ids'> {
  return ids.length === 1 ? defined({ merchant_id: ids[0] }) : { merchant_ids: ids };
}

type Row = { place: SalePlace; link: Link | null; sale: LegacySale | null };

/** What both pages have seen whole, cut to one page. */
function merged(on_orders: SalePage<Link>, on_legacy: SalePage<LegacySale>, limit: number) {
  const all: Row[] = [
    ...on_orders.rows.map((link) => ({ place: { at: link.created_at, id: link.legacy_id }, link, sale: null })),
    ...on_legacy.rows.map((sale) => ({ place: { at: sale.created_at, id: sale.id }, link: null, sale })),
  ].toSorted((one, other) => -comparePlaces(one.place, other.place));
  const ends = [on_orders.next, on_legacy.next].filter((one) => one !== null).toSorted(comparePlaces);
  const reached = ends.at(-1) ?? null;
  const seen = reached === null ? all : all.filter(({ place }) => comparePlaces(place, reached) >= 0);
  const rows = seen.slice(0, limit);
  const last = rows.at(-1)?.place ?? null;
  const is_cut = seen.length > limit || (rows.length === limit && reached !== null);
  return { rows, next: is_cut ? last : reached, is_paused: !is_cut && reached !== null };
}

function placeIn(text: string | undefined): SalePlace | null {
  if (text === undefined) return null;
  const [at = '', id = ''] = text.split('_');
  return { at: Number(at), id };
}

async function lineOf(
  ports: Ports,
  { link, sale }: Row,
  refunds: readonly Refund[],
  now: number,
): Promise<SaleLine | null> {
  const view = await viewOfSale(ports, link, sale, refunds);
  if (view === null) return null;
  const state: SaleState =
    link !== null ? stateOfLink(link) : sale === null ? 'not_known' : stateOfLegacySale(sale, now);
  return saleLine.parse({ ...view, state });
}

// Amounts: people write them in the currency of a site, rows hold its minor units.

/** More decimals than any currency of a site has. */
const DECIMALS = 2;
const exactly = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : minorUnits(text, DECIMALS);

function filterOf(ports: Ports, query: z.infer<typeof salesQuery>, steps: readonly number[]): SaleFilter {
  const { unit, state, family, reference, since, until } = query;
  const [from, to] = [exactly(query.amount_from), exactly(query.amount_to)];
  if (from !== undefined && to !== undefined && from > to)
    throw new PuenteError('bad_request', say('refusal.empty_amounts', {}));
  return defined({
    unit,
    state,
    family,
    reference,
    since,
    until,
    // The widest bounds of several sites; `isPriced` compares again.
    amount_from: from === undefined ? undefined : Math.min(...steps.map((step) => Math.ceil(from / step))),
    amount_to: to === undefined ? undefined : Math.max(...steps.map((step) => Math.floor(to / step))),
    now: ports.clock.now(),
  });
}

/**
 * A little wider, because tills that compute with floats write 99.89999999999999; and from lower on where a currency has
 * no decimals, because its Point sales are stored with two (`minorOf`). `isPriced` compares again.
 */
function decimalBounds({ amount_from: from, amount_to: to }: z.infer<typeof salesQuery>, steps: readonly number[]) {
  return defined({
    amount_from: from === undefined ? undefined : Number(from) / Math.max(...steps) - 0.01,
    amount_to: to === undefined ? undefined : Number(to) + 0.01,
  });
}

/** What one minor unit is worth, in hundredths, for each site of the merchants in question; none without an amount. */
async function stepsOf({ store, tables }: Ports, query: z.infer<typeof salesQuery>): Promise<number[]> {
  const { merchant, amount_from, amount_to } = query;
  if (amount_from === undefined && amount_to === undefined) return [];
  const only = onlyOf(merchant);
  const known = only === undefined ? await store.merchants.merchants() : [await store.merchants.merchant(only)];
  return [null, ...known].map((one) => 10 ** (DECIMALS - tables.site(one?.site ?? null).exponent));
}

/** In the currency, and of the amount, that is asked for: those depend on the merchant's site. */
function isPriced(
  { amount: text, currency }: SaleLine,
  { amount_from, amount_to, currency: requested }: z.infer<typeof salesQuery>,
): boolean {
  if (requested !== undefined && currency !== requested) return false;
  if (amount_from === undefined && amount_to === undefined) return true;
  const hundredths = exactly(text ?? undefined) ?? Number.NaN;
  return hundredths >= (exactly(amount_from) ?? 0) && hundredths <= (exactly(amount_to) ?? Number.MAX_SAFE_INTEGER);
}
