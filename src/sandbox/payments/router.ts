/** The payments family: `/v1/payments`, search, refunds and chargebacks. Source: `docs/field-notes.md` QR §3. */
import { searchMoment } from '../../contract/search-moment.ts';
import { type Answer, json } from '../answer.ts';
import { type PaymentsCall, type PaymentsHandler, paged, pageOf, type Rows } from '../call.ts';
import type { Payment } from '../records.ts';
import type { World } from '../world.ts';
import {
  createRefund,
  getChargeback,
  getRefund,
  isVisible,
  listRefunds,
  paymentOf,
  refundCollection,
  refuse,
} from './refunds.ts';
import { approvedAt, renderCollection, renderPayment } from './view.ts';

const getPayment: PaymentsHandler = (call) => json(200, renderPayment(call.world, paymentOf(call)));
const getCollection: PaymentsHandler = (call) => json(200, renderCollection(call.world, paymentOf(call)));

// `GET /v1/payments/search`: filters, a range of time, sorting and paging. Source: `docs/field-notes.md` QR §3.

/** Default page; not published. */
const DEFAULT_LIMIT = 30;

/** Newest first unless `sort` and `criteria` say otherwise, because clients take `results[0]`. */
const searchPayments: PaymentsHandler = (call) => search(call, renderPayment);

/** `GET /collections/search` of the oldest SDKs: each payment as a collection. */
const searchCollections: PaymentsHandler = (call) => search(call, renderCollection);

function search(call: PaymentsCall, render: (world: World, payment: Payment) => object): Answer {
  const page = pageOf(call.query, DEFAULT_LIMIT, (name) => refuse('invalid_property', name));
  const inRange = rangeOf(call);
  const wanted = [...call.world.payments.values()]
    .filter((payment) => isVisible(call, payment) && matches(call.query, payment) && inRange(payment))
    .sort(orderOf(call.query));
  return paged(wanted, page, (payment) => render(call.world, payment));
}

/** An empty filter counts as missing. */
const filters: Readonly<Record<string, (payment: Payment) => string | null>> = {
  id: ({ id }) => String(id),
  external_reference: ({ external_reference }) => external_reference,
  status: ({ status }) => status,
  store_id: ({ pos }) => pos?.store_id ?? null,
  pos_id: ({ pos }) => (pos === null ? null : String(pos.id)),
};

function matches(query: URLSearchParams, payment: Payment): boolean {
  return Object.entries(filters).every(([name, read]) => {
    const wanted = query.get(name);
    return wanted === null || wanted === '' || read(payment) === wanted;
  });
}

/** Dates of `sort` and `range` (SDK, payment/search types), epoch milliseconds. */
const dates: Readonly<Record<string, (payment: Payment) => number | null>> = {
  date_created: ({ created_at_ms }) => created_at_ms,
  date_last_updated: ({ updated_at_ms }) => updated_at_ms,
  date_approved: approvedAt,
  money_release_date: approvedAt,
};

/** Both ends are inclusive; a payment without that date is in no range. */
function rangeOf({ query, world }: PaymentsCall): (payment: Payment) => boolean {
  const read = dates[query.get('range') || 'date_created'];
  if (read === undefined) throw refuse('invalid_property', 'range');
  const end = (name: string): number | null => {
    const text = query.get(name);
    if (text === null || text === '') return null;
    const time_ms = searchMoment(text, world.clock.now());
    if (time_ms === null) throw refuse('invalid_property', name);
    return time_ms;
  };
  const begin_ms = end('begin_date');
  const end_ms = end('end_date');
  if (begin_ms === null && end_ms === null) return () => true;
  return (payment) => {
    const time_ms = read(payment);
    return time_ms !== null && (begin_ms === null || time_ms >= begin_ms) && (end_ms === null || time_ms <= end_ms);
  };
}

/** Payments with equal dates are in order of their ids. */
function orderOf(query: URLSearchParams): (one: Payment, other: Payment) => number {
  const sort = query.get('sort') || 'date_created';
  const read = sort === 'id' ? ({ id }: Payment) => id : dates[sort];
  if (read === undefined) throw refuse('invalid_property', 'sort');
  const criteria = (query.get('criteria') || 'desc').toLowerCase();
  if (criteria !== 'asc' && criteria !== 'desc') throw refuse('invalid_property', 'criteria');
  const sign = criteria === 'asc' ? 1 : -1;
  return (one, other) => sign * ((read(one) ?? 0) - (read(other) ?? 0) || one.id - other.id);
}

/** The search comes first, because `:id` would match `search`. */
export const paymentRows: Rows<'payments'> = [
  ['get', '/v1/payments/search', searchPayments],
  ['get', '/v1/payments/:id', getPayment],
  ['post', '/v1/payments/:id/refunds', createRefund],
  ['get', '/v1/payments/:id/refunds', listRefunds],
  ['get', '/v1/payments/:id/refunds/:refund', getRefund],
  ...['', '/sandbox'].flatMap(
    (prefix): Rows<'payments'> => [
      ['get', `${prefix}/collections/search`, searchCollections],
      ['get', `${prefix}/collections/notifications/:id`, getCollection],
      ['get', `${prefix}/collections/:id`, getCollection],
    ],
  ),
  ['put', '/collections/:id', refundCollection],
  ['get', '/v1/chargebacks/:id', getChargeback],
];
