/** `GET /merchant_orders/{id}` and the three spellings of the search. Source: `docs/field-notes.md` QR §2. */

import { jsonNumber } from '../../../contract/legacy-amount.ts';
import type { MerchantOrderState, merchantOrderStatuses } from '../../../contract/merchant-orders.ts';
import { searchMoment } from '../../../contract/search-moment.ts';
import type { Site } from '../../../contract/sites.ts';
import { json, refuse } from '../../answer.ts';
import type { Call, Handler, Rows } from '../../call.ts';
import { offsetDate } from '../../dates.ts';
import { amountNumber } from '../../money.ts';
import type { Payment, QrOrder } from '../../records.ts';
import type { World } from '../../world.ts';
import { MARKETPLACE, preferenceId } from './fields.ts';

const getMerchantOrder: Handler<'merchant_orders'> = (call) => {
  const id = call.path('merchant_order');
  if (!/^\d{1,15}$/.test(id)) throw refuse('merchant_orders', 'invalid_property', 'id');
  const order = call.world.merchant_orders.get(Number(id));
  if (order === undefined) throw refuse('merchant_orders', 'not_found');
  if (order.merchant_id !== call.merchant.user_id) throw refuse('merchant_orders', 'forbidden');
  return json(200, renderMerchantOrder(call.world, order));
};

/** `elements` is null when nothing is found; unknown parameters are ignored. */
const searchMerchantOrders: Handler<'merchant_orders'> = (call) => {
  const { world, merchant, query } = call;
  const own = [...world.merchant_orders.values()].filter((order) => order.merchant_id === merchant.user_id);
  const tests = Object.entries(filters).flatMap(([name, prepare]) => {
    const value = query.get(name);
    return value === null || value === '' ? [] : prepare(value, call);
  });
  const found = own.filter((order) => tests.every((test) => test(order)));
  if (world.settings.merchant_order_sort === 'newest_first') found.reverse();
  const offset = count(query, 'offset', 0);
  const page = found.slice(offset, offset + count(query, 'limit', DEFAULT_LIMIT));
  if (page.length === 0) return json(200, { elements: null, next_offset: 0, total: 0 });
  const elements = page.map((order) => renderMerchantOrder(world, order));
  return json(200, { elements, next_offset: offset + page.length, total: found.length });
};

/** Not published; the vendor's other searches have it. */
const DEFAULT_LIMIT = 50;

type Test = (order: QrOrder) => boolean;

/** Each filter parses its value once and returns the test of an order. */
const filters: Readonly<Record<string, (value: string, call: Call) => Test>> = {
  status:
    (value, { world }) =>
    (order) =>
      merchantOrderState(world, order).status === value,
  order_status:
    (value, { world }) =>
    (order) =>
      merchantOrderState(world, order).order_status === value,
  external_reference: (value) => (order) => order.external_reference === value,
  preference_id: (value) => (order) => preferenceId(order) === value,
  marketplace: (value) => () => value === MARKETPLACE,
  date_created_from: (value, call) => from(momentOf(value, call), (order) => order.created_at_ms),
  date_created_to: (value, call) => to(momentOf(value, call), (order) => order.created_at_ms),
  last_updated_from: (value, call) => from(momentOf(value, call), (order) => lastUpdatedMs(call.world, order)),
  last_updated_to: (value, call) => to(momentOf(value, call), (order) => lastUpdatedMs(call.world, order)),
  sponsor_id: (value) => (order) => String(order.sponsor_id) === value,
  site_id:
    (value, { merchant }) =>
    () =>
      merchant.site.site_id === value,
  payer_id: (value) => (order) => order.payment_ids.length > 0 && String(PAYER_ID) === value,
  items: (value) => (order) => order.items.some(({ id }) => id === value),
  application_id:
    (value, { merchant }) =>
    () =>
      merchant.application_id === value,
};

function from(start_ms: number, timeOf: (order: QrOrder) => number): Test {
  return (order) => timeOf(order) >= start_ms;
}

function to(end_ms: number, timeOf: (order: QrOrder) => number): Test {
  return (order) => timeOf(order) <= end_ms;
}

function momentOf(value: string, { world }: Call): number {
  const time_ms = searchMoment(value, world.clock.now());
  if (time_ms === null) throw refuse('merchant_orders', 'bad_request');
  return time_ms;
}

function count(query: URLSearchParams, name: string, otherwise: number): number {
  const value = query.get(name) ?? '';
  if (value === '') return otherwise;
  if (!/^\d{1,9}$/.test(value)) throw refuse('merchant_orders', 'bad_request');
  return Number(value);
}

// A merchant order: its states, its sums and its shape. Source: `docs/field-notes.md` QR §2.

/** One invented buyer makes every payment. */
const PAYER_ID = 700_900_001;

/** Has every field that clients count or add up; `payments`, `shipments`, `payouts`, `items` are always arrays. */
function renderMerchantOrder(world: World, order: QrOrder): object {
  const merchant = world.merchant(order.merchant_id);
  const { status, order_status, payments, paid_minor, refunded_minor } = merchantOrderState(world, order);
  const amount = (minor: number): number => amountNumber(minor, merchant.site);
  return {
    id: order.merchant_order_id,
    status,
    external_reference: order.external_reference,
    preference_id: preferenceId(order),
    payments: payments.map((payment) => renderPayment(payment, merchant.site)),
    shipments: [],
    payouts: [],
    collector: { id: Number(merchant.user_id), email: '', nickname: merchant.nickname },
    marketplace: MARKETPLACE,
    notification_url: order.notification_url,
    date_created: offsetDate(order.created_at_ms),
    last_updated: offsetDate(lastUpdatedMs(world, order)),
    sponsor_id: order.sponsor_id === null ? null : String(order.sponsor_id),
    shipping_cost: 0,
    total_amount: amount(order.total_minor),
    site_id: merchant.site.site_id,
    paid_amount: amount(paid_minor),
    refunded_amount: amount(refunded_minor),
    payer: payments.length === 0 ? null : { id: PAYER_ID, email: '' },
    items: order.items.map(({ unit_price, ...item }) => ({ ...item, unit_price: jsonNumber(unit_price) })),
    cancelled: order.state === 'canceled',
    additional_info: '',
    application_id: merchant.application_id,
    is_test: false,
    order_status,
  };
}

interface Summary {
  status: (typeof merchantOrderStatuses)[number];
  order_status: MerchantOrderState;
  /** Oldest first, rejected ones included. */
  payments: Payment[];
  paid_minor: number;
  refunded_minor: number;
}

/** Reads refunds from the payments, so that a refund by any call changes the states. */
export function merchantOrderState(world: World, order: QrOrder): Summary {
  const payments = order.payment_ids.flatMap((id) => world.payments.get(id) ?? []);
  const taken = payments.filter(({ status }) => status !== 'rejected');
  const paid_minor = taken.reduce((sum, payment) => sum + payment.amount_minor, 0);
  const refunded_minor = taken.reduce((sum, payment) => sum + payment.refunded_minor, 0);
  return { ...stateOf(order, paid_minor, refunded_minor), payments, paid_minor, refunded_minor };
}

function stateOf(order: QrOrder, paid_minor: number, refunded_minor: number): Pick<Summary, 'status' | 'order_status'> {
  if (order.state === 'paid') {
    if (refunded_minor === 0) return { status: 'closed', order_status: 'paid' };
    return { status: 'closed', order_status: refunded_minor < paid_minor ? 'partially_reverted' : 'reverted' };
  }
  if (order.state !== 'open') return { status: 'expired', order_status: 'expired' };
  return { status: 'opened', order_status: order.locked ? 'payment_in_process' : 'payment_required' };
}

/** Virtual time, epoch milliseconds; a refund is an update. */
function lastUpdatedMs(world: World, order: QrOrder): number {
  const times = order.payment_ids.map((id) => world.payments.get(id)?.updated_at_ms ?? 0);
  return Math.max(order.updated_at_ms, ...times);
}

function renderPayment(payment: Payment, site: Site): object {
  const approved = payment.status !== 'rejected';
  const amount = (minor: number): number => amountNumber(minor, site);
  return {
    id: payment.id,
    transaction_amount: amount(payment.amount_minor),
    total_paid_amount: amount(approved ? payment.amount_minor + payment.tip_minor : 0),
    shipping_cost: 0,
    currency_id: site.currency,
    status: payment.status,
    status_detail: payment.status_detail,
    operation_type: 'regular_payment',
    date_approved: approved ? offsetDate(payment.created_at_ms) : null,
    date_created: offsetDate(payment.created_at_ms),
    last_modified: offsetDate(payment.updated_at_ms),
    amount_refunded: amount(payment.refunded_minor),
  };
}

export const merchantOrderRows: Rows<'merchant_orders'> = [
  ['get', '/merchant_orders', searchMerchantOrders],
  ['get', '/merchant_orders/search', searchMerchantOrders],
  ['get', '/merchant_orders/:merchant_order', getMerchantOrder],
];
