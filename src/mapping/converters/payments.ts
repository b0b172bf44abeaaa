/** Converters of payments and merchant orders, from orders to the answers of the legacy APIs. */

import { plainNumber } from '../../contract/json.ts';
import { decimalOf, jsonNumber, quantityOf } from '../../contract/legacy-amount.ts';
import type { Order } from '../../contract/orders.ts';
import type { MappingContext } from '../tables.ts';
import {
  type Converter,
  decimalText,
  exponentOf,
  type Given,
  minorUnits,
  NOTHING,
  offsetTime,
  text,
  wholeNumber,
} from '../values.ts';

/** From statuses of a payment inside an order to those of the payments API; any other status is under way. */
const PAYMENT_STATUS: Readonly<Record<string, string>> = {
  created: 'pending',
  processed: 'approved',
  refunded: 'refunded',
  canceled: 'cancelled',
  expired: 'cancelled',
  failed: 'rejected',
};

const REFUND_STATUS: Readonly<Record<string, string>> = {
  processed: 'approved',
  processing: 'approved',
  failed: 'rejected',
};

const feeOf = (type: string): Converter => ({
  says: `the amount of the \`${type}\` among the fees, 0 when there is none`,
  convert: (value) => {
    if (!Array.isArray(value)) return NOTHING;
    const fee = value.find((one) => (one as { type?: unknown } | null)?.type === type); // any JSON
    return { value: (fee as { amount?: unknown } | undefined)?.amount ?? 0 };
  },
});

export const paymentConverters: Readonly<Record<string, Converter>> = {
  sale_number: {
    says: "the order's amount as a JSON number; the amount of the create when the order's can't be read",
    convert: (value, { reads, context }) => {
      const exponent = exponentOf(context);
      const decimal = decimalText(minorUnits(reads[0], exponent) ?? value, exponent);
      return decimal === undefined ? NOTHING : { value: jsonNumber(decimal) };
    },
  },
  payment_status: {
    says: "the status of a payment, or its order's where the order lists none, in the words of the payments API; an unknown one is in_process, never approved",
    convert: (value, { reads }) => {
      const [detail, status = value] = reads;
      // The detail of a payment under review, and of a declined one (`docs/field-notes.md` Spec Order, Orders §3.2).
      if (detail === 'in_review' && status !== 'failed') return { value: 'in_process' };
      return { value: PAYMENT_STATUS[String(status)] ?? 'in_process' };
    },
  },
  payment_status_detail: {
    says: "`partially_refunded` where the order says so, else that of the payment, `canceled_by_api` as `by_collector`; without one the order's, `processed` as `accredited`",
    convert: (value, { reads }) => {
      if (value === 'partially_refunded') return { value };
      const [detail = value === 'processed' ? 'accredited' : value] = reads;
      return { value: detail === 'canceled_by_api' ? 'by_collector' : String(detail) };
    },
  },
  refund_number: {
    says: 'the number that upstream gave the refund, else the synthetic one',
    convert: (value, { reads }) => ({ value: wholeNumber(reads[0]).value ?? value }),
  },
  refund_status: {
    says: '`processed` and `processing` are approved, `failed` is rejected, any other is in_process',
    convert: (value) => ({ value: REFUND_STATUS[String(value)] ?? 'in_process' }),
  },
  only_refunded: {
    says: 'refused unless it is `refunded`',
    convert: (value) => (value === 'refunded' ? { value } : { refusal: { error: 'state_refuses', detail: '' } }),
  },
  exact_number: {
    says: 'digits to a number, where a double holds it; else as they are',
    convert: (value) => ({ value: wholeNumber(value).value ?? value }),
  },
  coupon_fee: feeOf('coupon_fee'),
  finance_fee: feeOf('finance_fee'),
  discount_fee: feeOf('discount_fee'),
  application_fee: feeOf('application_fee'),
  number_text: { says: 'a number as text', convert: (value) => ({ value: String(value) }) },
  or_null: { says: 'null when there is none', convert: (value) => ({ value: value ?? null }) },
  offset_time: {
    says: 'the instant that it reads, or else its own, as `2026-01-05T10:00:03.000-04:00`: the offset that the old APIs answer in',
    convert: (value, { reads }) => ({ value: offsetTime(reads[0]) ?? offsetTime(value) }),
  },
  approved_time: {
    says: 'the instant in the same form once the order is paid, else null',
    convert: (value, { reads }) => ({ value: isPaid(reads[0]) ? offsetTime(value) : null }),
  },
  is_paid: {
    says: 'true once the order is paid, refunded later or not',
    convert: (value) => ({ value: isPaid(value) }),
  },
};

function isPaid(status: unknown): boolean {
  return status === 'processed' || status === 'refunded';
}

// Converters of merchant orders, which the orders API lacks: from an order and the till's own body.

/** `status` by `order_status`; every other one is opened (`docs/field-notes.md` QR §2). */
const STATUS: Readonly<Record<string, 'closed' | 'expired'>> = {
  paid: 'closed',
  partially_reverted: 'closed',
  reverted: 'closed',
  expired: 'expired',
};

/** The rows of sums read, in this order: status, status_detail, total_amount, transactions.payments. */
export const merchantOrderConverters: Readonly<Record<string, Converter>> = {
  merchant_order_status: {
    says: '`closed` once it was paid, refunded later or not, `expired` when it ended without, else `opened`',
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
  paid_sum: {
    says: 'what the buyer paid, tips, discounts and withdrawn cash included, once the order is paid, else 0',
    convert: (_value, given) => ({ value: amountNumber(sumsOf(given)?.paid_minor ?? 0, given.context) }),
  },
  refunded_sum: {
    says: 'the refunded amount of it, else 0',
    convert: (_value, given) => ({ value: amountNumber(sumsOf(given)?.refunded_minor ?? 0, given.context) }),
  },
  is_canceled: {
    says: 'true for an order that was canceled',
    convert: (value) => ({ value: value === 'canceled' }),
  },
  asked_items: {
    says: "the items as the till sent them, v1 or v2, with the site's currency where an item names none",
    convert: (value, { context }) => ({ value: itemsOf(value as RequestedSale, text(context.currency) ?? '') }), // the body of a QR create
  },
  asked_notice_url: {
    says: "the till's own `notification_url`, null when it gave none",
    convert: (value) => ({ value: text((value as RequestedSale).notification_url) || null }), // as above
  },
  asked_sponsor: {
    says: "the till's own `sponsor_id` of v1, or `sponsor.id` of v2, as text; null when it gave none",
    convert: (value) => {
      const sponsor = sponsorOf(value as RequestedSale); // as above
      return { value: sponsor === null ? null : String(sponsor) };
    },
  },
};

interface Sums {
  sale_minor: number;
  /** Paid by the buyer, discounts and withdrawn cash included. */
  paid_minor: number;
  refunded_minor: number;
  status: 'approved' | 'refunded';
  status_detail: string;
}

function sumsOf({ reads, context }: Given): Sums | undefined {
  const [status, status_detail, total, payments] = reads;
  if (status !== 'processed' && status !== 'refunded') return undefined;
  const exponent = exponentOf(context);
  const payment = (payments as OrderPayments)?.[0]; // the contract declares this list
  const requested_minor = minorUnits(payment?.amount, exponent);
  const sale_minor = minorUnits(total, exponent) ?? requested_minor ?? Number(context.amount_minor);
  const own_paid_minor = minorUnits(payment?.paid_amount, exponent) ?? requested_minor ?? 0;
  const paid_minor = sale_minor - (requested_minor ?? 0) + own_paid_minor;
  if (status === 'refunded')
    return { sale_minor, paid_minor, refunded_minor: paid_minor, status: 'refunded', status_detail: 'refunded' };
  const refunded_minor = minorUnits(payment?.refunded_amount, exponent) ?? 0;
  const detail = status_detail === 'partially_refunded' ? status_detail : 'accredited';
  return { sale_minor, paid_minor, refunded_minor, status: 'approved', status_detail: detail };
}

type OrderPayments = NonNullable<Order['transactions']>['payments'];

/** The order has no time of its payment, only its own last change (LIM-39). */
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

function amountNumber(minor: number, context: MappingContext): unknown {
  return jsonNumber(decimalText(minor, exponentOf(context)) ?? '0');
}

/** The part of a till's body that its merchant order shows; checked when the sale was made. */
export interface RequestedSale {
  notification_url?: unknown;
  sponsor_id?: unknown;
  sponsor?: { id?: unknown } | null;
  total_amount?: unknown;
  items?: RequestedItem[] | null;
}

interface RequestedItem {
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

/** Only v2 has a total (`docs/field-notes.md` QR §1.1). */
function itemsOf(requested: RequestedSale, currency: string): unknown[] {
  const is_v2 = requested.total_amount !== undefined;
  return (requested.items ?? []).map((item) => ({
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

/** The number of the integrator's account, v1 or v2; null without one. */
export function sponsorOf({ sponsor_id, sponsor }: RequestedSale): unknown {
  return wholeNumber(sponsor_id ?? sponsor?.id).value ?? null;
}
