/** `GET /merchant_orders/{id}` and the three spellings of the search. Source: `legacy-qr.md` §2. */
import { parseMoment } from '../../search-moment.ts';
import { type QrCall, type QrHandler, refuse } from './call.ts';
import { lastUpdatedMs, MARKETPLACE, merchantOrderState, PAYER_ID, renderMerchantOrder } from './merchant-order.ts';
import { preferenceId, type QrOrder } from './state.ts';

export const getMerchantOrder: QrHandler = (call) => {
  const id = call.path('merchant_order');
  if (!/^\d{1,15}$/.test(id)) throw refuse('merchant_orders', 'invalid_property', 'id');
  const order = call.state.merchant_orders.get(Number(id));
  if (order === undefined) throw refuse('merchant_orders', 'not_found');
  if (order.merchant.user_id !== call.merchant.user_id) throw refuse('merchant_orders', 'forbidden');
  return { status: 200, body: renderMerchantOrder(call.state, order) };
};

/** `elements` is null, not empty, when nothing is found; parameters that are no filter are ignored. */
export const searchMerchantOrders: QrHandler = (call) => {
  const { state, merchant, query } = call;
  const own = [...state.merchant_orders.values()].filter((order) => order.merchant.user_id === merchant.user_id);
  const tests = Object.entries(filters).flatMap(([name, prepare]) => {
    const value = query.get(name);
    return value === null || value === '' ? [] : prepare(value, call);
  });
  const found = own.filter((order) => tests.every((test) => test(order)));
  if (state.world.settings.merchant_order_sort === 'newest_first') found.reverse();
  const offset = count(query, 'offset', 0);
  const page = found.slice(offset, offset + count(query, 'limit', DEFAULT_LIMIT));
  if (page.length === 0) return { status: 200, body: { elements: null, next_offset: 0, total: 0 } };
  const elements = page.map((order) => renderMerchantOrder(state, order));
  return { status: 200, body: { elements, next_offset: offset + page.length, total: found.length } };
};

/** Published nowhere; other searches of the service have it. */
const DEFAULT_LIMIT = 50;

type Test = (order: QrOrder) => boolean;

/** Each filter checks its value once and gives the test of an order. */
const filters: Readonly<Record<string, (value: string, call: QrCall) => Test>> = {
  status:
    (value, { state }) =>
    (order) =>
      merchantOrderState(state, order).status === value,
  order_status:
    (value, { state }) =>
    (order) =>
      merchantOrderState(state, order).order_status === value,
  external_reference: (value) => (order) => order.external_reference === value,
  preference_id: (value) => (order) => preferenceId(order) === value,
  marketplace: (value) => () => value === MARKETPLACE,
  date_created_from: (value, call) => from(momentOf(value, call), (order) => order.created_at_ms),
  date_created_to: (value, call) => to(momentOf(value, call), (order) => order.created_at_ms),
  last_updated_from: (value, call) => from(momentOf(value, call), (order) => lastUpdatedMs(call.state, order)),
  last_updated_to: (value, call) => to(momentOf(value, call), (order) => lastUpdatedMs(call.state, order)),
  sponsor_id: (value) => (order) => String(order.sponsor_id) === value,
  site_id: (value) => (order) => order.merchant.site.site_id === value,
  payer_id: (value) => (order) => order.payment_ids.length > 0 && String(PAYER_ID) === value,
  items: (value) => (order) => order.items.some(({ id }) => id === value),
  application_id: (value) => (order) => order.merchant.application_id === value,
};

function from(start_ms: number, timeOf: (order: QrOrder) => number): Test {
  return (order) => timeOf(order) >= start_ms;
}

function to(end_ms: number, timeOf: (order: QrOrder) => number): Test {
  return (order) => timeOf(order) <= end_ms;
}

/** @throws PuenteError refused. */
function momentOf(value: string, { state }: QrCall): number {
  const time_ms = parseMoment(value, state.world.clock.now());
  if (time_ms === null) throw refuse('merchant_orders', 'bad_request');
  return time_ms;
}

function count(query: URLSearchParams, name: string, otherwise: number): number {
  const value = query.get(name) ?? '';
  if (value === '') return otherwise;
  if (!/^\d{1,9}$/.test(value)) throw refuse('merchant_orders', 'bad_request');
  return Number(value);
}
