/** Converters of the QR tables: JSON numbers to decimal strings and back, limits of items, lifetimes. */

import { callableUrl, isWithinCharacters } from '../../contract/identifiers.ts';
import { plainNumber } from '../../contract/json.ts';
import { decimalOf, jsonNumber, quantityOf, withoutNoise } from '../../contract/legacy-amount.ts';
import type { MappingContext } from '../tables.ts';
import {
  type Converted,
  type Converter,
  cutText,
  decimalOfMinor,
  decimalText,
  exponentOf,
  type Given,
  minorUnits,
  NOTHING,
  wholeNumber,
} from '../values.ts';
import { type RequestedSale, sponsorOf } from './payments.ts';

// The limits of items in a QR order, and the folding of more than ten items (`docs/field-notes.md` Orders §1.2).

/** Longest title and longest description (`docs/field-notes.md` Spec Order). */
const MAX_TITLE = 150;
/** Longest measure (`docs/field-notes.md` Spec Order). */
const MAX_MEASURE = 10;
/** Longest code (`docs/field-notes.md` Orders §1.2). */
const MAX_CODE = 30;
/** Most items of an order (`docs/field-notes.md` Orders §1.2). */
const MAX_ITEMS = 10;

interface OrderItem {
  title: string;
  unit_price: string;
  quantity: number;
}

/** Never refuses a sale for its length, and keeps its sum: of more than ten items, those after the ninth become one. */
function foldItems(value: unknown, exponent: number): Converted {
  const items = value as OrderItem[]; // rows of the same table have just made them
  if (items.length === 0) return NOTHING;
  if (items.length <= MAX_ITEMS) return { value: items };
  const kept = items.slice(0, MAX_ITEMS - 1);
  const rest = items.slice(MAX_ITEMS - 1);
  const minor = rest.reduce((sum, item) => sum + (minorUnits(item.unit_price, exponent) ?? 0) * item.quantity, 0);
  const { value: title } = cutText(rest[0]?.title, MAX_TITLE - SUFFIX_ROOM);
  const folded = {
    title: `${title} +${rest.length - 1}`,
    unit_price: decimalText(minor, exponent),
    quantity: 1,
    unit_measure: 'unit',
  };
  const loss = `orders take ${MAX_ITEMS} items; the last ${rest.length} of ${items.length} became one`;
  return { value: [...kept, folded], loss };
}

/** ` +` and a number of items that a body of 64 KiB can't exceed. */
const SUFFIX_ROOM = 8;

// Lifetimes of QR orders: the header of v1, the date of v2, limits of orders (`docs/field-notes.md` QR §10).

/** Shortest and longest life of a QR order, seconds (`docs/field-notes.md` Spec Limits: 30 s and 3600 h). */
const MIN_LIFE_S = 30;
const MAX_LIFE_S = 3600 * 3600;
/** Lifetime of v1 without a header, seconds (`docs/field-notes.md` QR §1.1). */
const V1_LIFE_S = 600;

/** ISO 8601; tills send milliseconds, and offsets with and without a colon (`docs/field-notes.md` QR §1.2). */
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/;

function lifeOfHeader(value: unknown): Converted {
  const seconds = /^[1-9]\d{0,8}$/.test(String(value)) ? Number(value) : null;
  if (seconds !== null) return clamped(seconds);
  const loss = `the lifetime is not a number of seconds; taken as ${V1_LIFE_S}`;
  return { value: `PT${V1_LIFE_S}S`, loss };
}

/** The date wins over the header, because it is documented. @param fallback the header's duration, if any. */
function lifeUntil(fallback: unknown, date: unknown, context: MappingContext): Converted {
  if (typeof date !== 'string') return fallback === undefined ? NOTHING : { value: fallback };
  const until = MOMENT.test(date) && isOnCalendar(date) ? Date.parse(date) : Number.NaN;
  const left_ms = until - Number(context.received_at);
  if (!(left_ms > 0)) return { refusal: { error: 'invalid_property', detail: 'expiration_date' } };
  return clamped(Math.floor(left_ms / 1000));
}

/** `Date.parse` takes the 31st of a shorter month for a day of the next one. */
function isOnCalendar(date: string): boolean {
  const day = date.slice(0, 10);
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === day;
}

function clamped(seconds: number): Converted {
  const life = Math.min(Math.max(seconds, MIN_LIFE_S), MAX_LIFE_S);
  const value = `PT${life}S`;
  if (life === seconds) return { value };
  return { value, loss: `an order can be paid for ${MIN_LIFE_S} to ${MAX_LIFE_S} seconds; taken as ${life}` };
}

/** The currency of an unknown site in `sites.yaml`; in ISO 4217 it is no currency. */
const NO_CURRENCY = 'XXX';

export const qrConverters: Readonly<Record<string, Converter>> = {
  items_total: {
    says: 'the sum of `unit_price × quantity` as a decimal string, exact; a sum of zero is refused',
    convert: (value, { context }) => itemsTotal(value, context),
  },
  agreed_total: {
    says: 'a number to a decimal string; refused unless it is the sum of the items and the cash, and without items and cash',
    convert: agreedTotal,
  },
  sale_part: {
    says: 'the total without the cash as a decimal string; nothing when all of it is cash',
    convert: (value, { reads, context }) => {
      const sale = (minorOf(value, context) ?? 0n) - (minorOf(reads[0], context) ?? 0n);
      return sale > 0n ? { value: decimalOfMinor(sale, exponentOf(context)) } : NOTHING;
    },
  },
  price_text: {
    says: 'a number to a decimal string; more decimals than the currency has are refused, unless they are zeros',
    convert: (value, { context }) => amountText(value, context, 'items.unit_price'),
  },
  fee_text: {
    says: 'the same for a fee; nothing when it is zero',
    convert: (value, { context }) => (isZero(value) ? NOTHING : amountText(value, context, 'marketplace_fee')),
  },
  cash_text: {
    says: 'the same for an amount of cash; nothing when it is zero',
    convert: (value, { context }) => (isZero(value) ? NOTHING : amountText(value, context, 'cash_out.amount')),
  },
  notice_url: {
    says: 'refused when no URL that can be called can be made of it; in dynamic mode also unless it begins with http:// or https://, as the dynamic POST alone required',
    convert: (value, { context }) => {
      const text = String(value);
      const is_none = context.mode === 'dynamic' && !/^(?:https?:\/\/.|$)/.test(text);
      return is_none || callableUrl(text, 'https') === null ? refused('notification_url') : NOTHING;
    },
  },
  line_total: {
    says: 'refused unless it is the price times the quantity',
    convert: (value, { reads, context }) => {
      const price = minorOf(reads[0], context);
      const whole = price === null ? null : price * BigInt(quantityOf(reads[1]) ?? 0);
      return minorOf(value, context) === whole ? NOTHING : refused('items.total_amount');
    },
  },
  own_currency: {
    says: "refused unless it is the currency of the merchant's site; nothing is checked where the site is not known",
    convert: (value, { context }) =>
      context.currency === NO_CURRENCY || context.currency === value ? NOTHING : refused('items.currency_id'),
  },
  quantity_number: { says: 'a whole number; `2.0` is 2', convert: (value) => ({ value: quantityOf(value) }) },
  short_title: {
    says: `cut to ${MAX_TITLE} characters; a cut is a loss`,
    loses: true,
    convert: (value) => cutText(value, MAX_TITLE),
  },
  short_measure: {
    says: `cut to ${MAX_MEASURE} characters; a cut is a loss`,
    loses: true,
    convert: (value) => cutText(value, MAX_MEASURE),
  },
  short_code: {
    says: `as text; left out when it is empty, and with a loss when it is longer than ${MAX_CODE} characters`,
    loses: true,
    convert: (value) => {
      const code = String(value);
      if (!isWithinCharacters(code, MAX_CODE))
        return { loss: `orders take ${MAX_CODE} characters of a code; it is left out` };
      return code === '' ? NOTHING : { value: code };
    },
  },
  ten_items: {
    says: 'the first ten items; of more, nine and one over the sum of the rest, which is a loss; no list when it is empty',
    loses: true,
    convert: (value, { context }) => foldItems(value, exponentOf(context)),
  },
  sponsor_text: {
    says: 'digits as text; nothing when it is empty or zero',
    convert: (value) => (value === '' || value === 0 || value === '0' ? NOTHING : { value: String(value) }),
  },
  dev_id: {
    says: 'kept when it begins with `dev_`, as orders of type qr require; otherwise a loss, unless it is empty',
    loses: true,
    convert: (value) => {
      if (value === '') return NOTHING;
      return String(value).startsWith('dev_') && value !== 'dev_'
        ? { value }
        : { loss: 'orders take integrator ids that begin with dev_; it is left out' };
    },
  },
  qr_lifetime: {
    says: `seconds to an ISO duration, between ${MIN_LIFE_S} s and ${MAX_LIFE_S} s; a clamp is a loss, and so is a value that is no number, which counts as ${V1_LIFE_S} s`,
    loses: true,
    convert: lifeOfHeader,
  },
  life_until: {
    says: 'the time from the call to the moment, within the same limits; else the lifetime of the header; a moment that is not readable or has passed is refused',
    loses: true,
    convert: (value, { reads, context }) => lifeUntil(value, reads[0], context),
  },
  application_or_seller: {
    says: "the application's number from the order, the seller's where there is none",
    convert: (value, { reads }) => {
      const { application_id } = (reads[0] ?? {}) as { application_id?: unknown }; // the order's integration_data
      return { value: wholeNumber(application_id).value ?? value };
    },
  },
  sponsor_number: {
    says: 'the `sponsor_id` of v1, or `sponsor.id` of v2, as a number; null when there is none',
    convert: (value) => ({ value: sponsorOf(value as RequestedSale) || null }), // the body of a QR create
  },
  sent_items: {
    says: "each item as v1 answers it: as it was sent, the words of v2 in those of v1, the site's currency or an empty text where it had none, other keys left out",
    convert: (value, { context }) => ({
      value: ((value as { items?: WrittenItem[] | null }).items ?? []).map((item) => sentItem(item, context)), // as above
    }),
  },
  minor_number: {
    says: "minor units to a JSON number with no more than the currency's decimals",
    convert: (value, { context }) => {
      const decimal = decimalText(value, exponentOf(context));
      return decimal === undefined ? NOTHING : { value: jsonNumber(decimal) };
    },
  },
  fee_number: {
    says: 'an amount as it was sent to a JSON number; zero when there is none',
    convert: (value) => ({ value: jsonNumber(decimalOf(value) ?? '0') }),
  },
  or_empty: { says: 'an empty text when there is none', convert: (value) => ({ value: value ?? '' }) },
};

function itemsTotal(value: unknown, context: MappingContext): Converted {
  let sum = 0n;
  for (const item of value as WrittenItem[]) {
    // the source schema has just proved this list
    const price = minorOf(item.unit_price, context);
    if (price === null) return refused('items.unit_price');
    sum += price * BigInt(quantityOf(item.quantity) ?? 0);
  }
  return sum === 0n ? refused('items.amount') : { value: decimalOfMinor(sum, exponentOf(context)) };
}

interface WrittenItem {
  id?: string | number | null;
  sku_number?: string | number | null;
  title: string;
  currency_id?: string | null;
  unit_price: unknown;
  quantity: unknown;
  description?: string | null;
  picture_url?: string | null;
  total_amount?: unknown;
}

function agreedTotal(value: unknown, { reads, context }: Given): Converted {
  const items = (reads[0] ?? []) as WrittenItem[]; // the source schema has just proved this list
  const cash = reads[1] === undefined || reads[1] === null ? 0n : minorOf(reads[1], context);
  if (cash === null) return refused('cash_out.amount');
  if (items.length === 0 && cash === 0n) return { refusal: { error: 'cash_out_required', detail: '' } };
  const total = minorOf(value, context);
  if (total === null || total === 0n) return refused('total_amount');
  let sum = cash;
  for (const item of items) {
    const whole = minorOf(item.total_amount, context);
    if (whole === null) return refused('items.total_amount');
    sum += whole;
  }
  return sum === total ? { value: decimalOfMinor(total, exponentOf(context)) } : refused('total_amount');
}

function amountText(value: unknown, context: MappingContext, property: string): Converted {
  const minor = minorOf(value, context);
  return minor === null ? refused(property) : { value: decimalOfMinor(minor, exponentOf(context)) };
}

/** Minor units, exact; null when the number has more decimals than the currency. */
function minorOf(value: unknown, context: MappingContext): bigint | null {
  const decimal = decimalOf(value);
  const exponent = exponentOf(context);
  const minor = decimal === null ? undefined : minorUnits(withoutNoise(decimal, exponent), exponent);
  return minor === undefined ? null : BigInt(minor);
}

function isZero(value: unknown): boolean {
  return /^0+(?:\.0+)?$/.test(decimalOf(value) ?? '');
}

function refused(detail: string): Converted {
  return { refusal: { error: 'invalid_property', detail } };
}

function sentItem(item: WrittenItem, { currency }: MappingContext): Record<string, unknown> {
  return {
    id: String(plainNumber(item.id ?? item.sku_number ?? '')),
    title: item.title,
    currency_id: item.currency_id ?? currency,
    unit_price: jsonNumber(decimalOf(item.unit_price) ?? '0'),
    quantity: quantityOf(item.quantity),
    description: item.description ?? '',
    picture_url: item.picture_url ?? '',
  };
}
