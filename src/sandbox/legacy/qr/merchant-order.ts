/** A merchant order as it is now: its two states, its sums and its full shape. Source: `legacy-qr.md` §2. */
import { jsonNumber } from '../../../contract/legacy-amount.ts';
import type { MerchantOrderState, merchantOrderStatuses } from '../../../contract/merchant-orders.ts';
import { offsetDate } from '../../dates.ts';
import { amountNumber } from '../../json-amount.ts';
import type { Payment } from '../../world.ts';
import { preferenceId, type QrOrder, type QrState } from './state.ts';

/** One invented buyer pays everything. */
export const PAYER_ID = 700_900_001;
/** Nobody sells through a marketplace here. */
export const MARKETPLACE = 'NONE';

/** Every field that a client may count or add up is there; `payments`, `shipments`, `payouts`, `items` are always arrays. */
export function renderMerchantOrder(state: QrState, order: QrOrder): object {
  const { merchant } = order;
  const { status, order_status, payments, paid_minor, refunded_minor } = merchantOrderState(state, order);
  const amount = (minor: number): number => amountNumber(minor, merchant.site);
  return {
    id: order.merchant_order_id,
    status,
    external_reference: order.external_reference,
    preference_id: preferenceId(order),
    payments: payments.map((payment) => renderPayment(payment, order)),
    shipments: [],
    payouts: [],
    collector: { id: Number(merchant.user_id), email: '', nickname: merchant.nickname },
    marketplace: MARKETPLACE,
    notification_url: order.notification_url,
    date_created: offsetDate(order.created_at_ms),
    last_updated: offsetDate(lastUpdatedMs(state, order)),
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

/** Refunds are read from the payments, so that the states follow whoever refunds. */
export function merchantOrderState(state: QrState, order: QrOrder): Summary {
  const payments = order.payment_ids.flatMap((id) => state.world.payments.get(id) ?? []);
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

/** Virtual time, epoch milliseconds; a refund counts. */
export function lastUpdatedMs(state: QrState, order: QrOrder): number {
  const times = order.payment_ids.map((id) => state.world.payments.get(id)?.updated_at_ms ?? 0);
  return Math.max(order.updated_at_ms, ...times);
}

function renderPayment(payment: Payment, order: QrOrder): object {
  const approved = payment.status !== 'rejected';
  const { site } = order.merchant;
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
