/** Converters of payments and merchant orders: order words and decimal strings to what the old APIs answer. */
import { jsonNumber } from '../../contract/legacy-amount.ts';
import { decimalText, minorUnits } from '../amount.ts';
import { offsetTime } from '../moment.ts';
import { type Converter, exponentOf, NOTHING, wholeNumber } from './converter.ts';

/** Statuses of a payment inside an order, as the payments API names them; anything else is under way. */
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

/** A fee of a payment by its type: its amount, 0 where the payment has other fees or none. */
const feeOf = (type: string): Converter => ({
  says: `the amount of the \`${type}\` among the fees, 0 when there is none`,
  convert: (value) => {
    if (!Array.isArray(value)) return NOTHING;
    const fee = value.find((one) => (one as { type?: unknown } | null)?.type === type); // any JSON
    return { value: (fee as { amount?: unknown } | undefined)?.amount ?? 0 };
  },
});

export const paymentConverters: Readonly<Record<string, Converter>> = {
  amount_number: {
    says: "a decimal string to a JSON number with no more than the currency's decimals",
    convert: (value, { context }) => {
      const exponent = exponentOf(context);
      const decimal = decimalText(minorUnits(value, exponent), exponent);
      return decimal === undefined ? NOTHING : { value: jsonNumber(decimal) };
    },
  },
  sale_number: {
    says: "the order's amount as a JSON number; the amount of the create when the order's can't be read",
    convert: (value, { reads, context }) => {
      const exponent = exponentOf(context);
      const decimal = decimalText(minorUnits(reads[0], exponent) ?? value, exponent);
      return decimal === undefined ? NOTHING : { value: jsonNumber(decimal) };
    },
  },
  payment_status: {
    says: 'the status of a payment in the words of the payments API; one nobody knows is in_process, never approved',
    convert: (value, { reads }) => {
      if (reads[0] === 'in_review') return { value: 'in_process' };
      return { value: PAYMENT_STATUS[String(value)] ?? 'in_process' };
    },
  },
  payment_status_detail: {
    says: '`partially_refunded` where the order says so, `canceled_by_api` is `by_collector`, the rest as it is',
    convert: (value, { reads }) => {
      if (reads[0] === 'partially_refunded') return { value: reads[0] };
      return { value: value === 'canceled_by_api' ? 'by_collector' : String(value) };
    },
  },
  refund_number: {
    says: 'the number that the service gave the refund, else the minted one',
    convert: (value, { reads }) => ({ value: wholeNumber(reads[0]).value ?? value }),
  },
  refund_status: {
    says: '`processed` and `processing` are approved, `failed` is rejected, what nobody knows is in_process',
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
