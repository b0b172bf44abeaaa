/** Converters of merchant orders: an order and the till's own body to what the orders API doesn't have any more. */
import { plainNumber } from '../../contract/json.ts';
import { decimalOf, jsonNumber, quantityOf } from '../../contract/legacy-amount.ts';
import type { Order } from '../../contract/orders.ts';
import { decimalText, minorUnits } from '../amount.ts';
import { offsetTime } from '../moment.ts';
import type { MappingContext } from '../tables.ts';
import { type Converter, exponentOf, type Given, text, wholeNumber } from './converter.ts';

/** What `order_status` says of the two states that `status` has beside opened (`legacy-qr.md` §2). */
const STATUS: Readonly<Record<string, 'closed' | 'expired'>> = {
  paid: 'closed',
  partially_reverted: 'closed',
  reverted: 'closed',
  expired: 'expired',
};

/** The rows of sums read, in this order: status, status_detail, total_amount, transactions.payments. */
export const merchantOrderConverters: Readonly<Record<string, Converter>> = {
  merchant_order_status: {
    says: '`closed` once it was paid, refunded later or not, `expired` when it is over without, else `opened`',
    convert: (value) => ({ value: STATUS[String(value)] ?? 'opened' }),
  },
  merchant_order_payments: {
    says: "the payment of a paid order as a list of one, an empty list before; its times are those of the order's last change",
    convert: merchantOrderPayments,
  },
  approved_sum: {
    says: 'the whole amount once the order is paid, refunded later or not, else 0',
    convert: (_value, given) => ({ value: amountNumber(sumsOf(given)?.sale_minor ?? 0, given.context) }),
  },
  refunded_sum: {
    says: 'what went back of it, else 0',
    convert: (_value, given) => ({ value: amountNumber(sumsOf(given)?.refunded_minor ?? 0, given.context) }),
  },
  is_canceled: {
    says: 'true for an order that was canceled',
    convert: (value) => ({ value: value === 'canceled' }),
  },
  asked_items: {
    says: "the items as the till sent them, v1 or v2, with the site's currency where an item names none",
    convert: (value, { context }) => ({ value: itemsOf(value as Asked, text(context.currency) ?? '') }), // the body of a QR create
  },
  asked_notice_url: {
    says: "the till's own `notification_url`, null when it gave none",
    convert: (value) => ({ value: text((value as Asked).notification_url) || null }), // as above
  },
  asked_sponsor: {
    says: "the till's own `sponsor_id` of v1, or `sponsor.id` of v2, as text; null when it gave none",
    convert: (value) => {
      const sponsor = sponsorOf(value as Asked); // as above
      return { value: sponsor === null ? null : String(sponsor) };
    },
  },
};

interface Sums {
  sale_minor: number;
  /** What the buyer paid, discounts and withdrawn cash included. */
  paid_minor: number;
  refunded_minor: number;
  status: 'approved' | 'refunded';
  status_detail: string;
}

/** Undefined until the order is paid. */
function sumsOf({ reads, context }: Given): Sums | undefined {
  const [status, status_detail, total, payments] = reads;
  if (status !== 'processed' && status !== 'refunded') return undefined;
  const exponent = exponentOf(context);
  const payment = (payments as OrderPayments)?.[0]; // the contract declares this list
  const asked_minor = minorUnits(payment?.amount, exponent);
  const sale_minor = minorUnits(total, exponent) ?? asked_minor ?? Number(context.amount_minor);
  const own_paid_minor = minorUnits(payment?.paid_amount, exponent) ?? asked_minor ?? 0;
  const paid_minor = sale_minor - (asked_minor ?? 0) + own_paid_minor;
  if (status === 'refunded')
    return { sale_minor, paid_minor, refunded_minor: paid_minor, status: 'refunded', status_detail: 'refunded' };
  const refunded_minor = minorUnits(payment?.refunded_amount, exponent) ?? 0;
  const detail = status_detail === 'partially_refunded' ? status_detail : 'accredited';
  return { sale_minor, paid_minor, refunded_minor, status: 'approved', status_detail: detail };
}

type OrderPayments = NonNullable<Order['transactions']>['payments'];

/** The order has no times of its payment, but for its own last change (LIM-39). */
function merchantOrderPayments(value: unknown, given: Given): { value: unknown } {
  const { context, reads } = given;
  const sums = sumsOf(given);
  const id = wholeNumber(value).value;
  if (sums === undefined || id === undefined) return { value: [] };
  const changed = offsetTime(reads[4]) ?? offsetTime(context.created_at);
  const payment = {
    id,
    transaction_amount: amountNumber(sums.sale_minor, context),
    total_paid_amount: amountNumber(sums.paid_minor, context),
    shipping_cost: 0,
    currency_id: context.currency,
    status: sums.status,
    status_detail: sums.status_detail,
    operation_type: 'regular_payment',
    date_approved: changed,
    date_created: changed,
    last_modified: changed,
    amount_refunded: amountNumber(sums.refunded_minor, context),
  };
  return { value: [payment] };
}

/** Minor units as a JSON number; 0 for what is no amount. */
function amountNumber(minor: number, context: MappingContext): unknown {
  return jsonNumber(decimalText(minor, exponentOf(context)) ?? '0');
}

/** What of a till's body shows in its merchant order; checked when the sale was made. */
export interface Asked {
  notification_url?: unknown;
  sponsor_id?: unknown;
  sponsor?: { id?: unknown } | null;
  total_amount?: unknown;
  items?: AskedItem[] | null;
}

interface AskedItem {
  id?: unknown;
  sku_number?: unknown;
  category?: unknown;
  title?: unknown;
  description?: unknown;
  picture_url?: unknown;
  currency_id?: unknown;
  unit_price?: unknown;
  quantity?: unknown;
}

/** v1 has no total of its own, which tells the two bodies apart (`legacy-qr.md` §1.1). */
function itemsOf(asked: Asked, currency: string): unknown[] {
  const is_v2 = asked.total_amount !== undefined;
  return (asked.items ?? []).map((item) => ({
    id: numberOrText(is_v2 ? item.sku_number : item.id),
    title: text(item.title) ?? '',
    description: text(item.description) ?? '',
    category_id: is_v2 ? (text(item.category) ?? '') : '',
    picture_url: text(item.picture_url) ?? null,
    currency_id: text(item.currency_id) ?? currency,
    quantity: quantityOf(item.quantity),
    unit_price: jsonNumber(decimalOf(item.unit_price) ?? '0'),
  }));
}

function numberOrText(written: unknown): string {
  const value = plainNumber(written);
  return typeof value === 'number' ? String(value) : (text(value) ?? '');
}

/** The number of the integrator's account, v1 or v2; null when the till named none. */
export function sponsorOf({ sponsor_id, sponsor }: Asked): unknown {
  return wholeNumber(sponsor_id ?? sponsor?.id).value ?? null;
}
