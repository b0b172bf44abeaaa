/** Amounts as decimal text and as whole minor units of the site's currency; the Chilean peso has no decimals. */

import { decimalOf, withoutNoise } from '../contract/legacy-amount.ts';
import type { Exponent, Site } from '../contract/sites.ts';
import type { Settings } from './assumptions.ts';
import type { Order } from './records.ts';

/** At most 12 digits before the point, so that minor units stay a safe integer. */
const DECIMAL = /^(\d{1,12})(?:\.(\d{1,2}))?$/;

/** @returns minor units; null when the text is no amount, or has decimals that the currency does not have. */
export function minorUnits(text: string, exponent: Exponent): number | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, whole, fraction = ''] = match;
  if (exponent === 0) return Number(fraction) === 0 ? Number(whole) : null;
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}

/** Checks decimals (setting `amounts`); as seen live, Point takes one too (`docs/field-notes.md` Orders §11). */
export function parseAmount(
  text: string,
  exponent: Exponent,
  type: 'point' | 'qr',
  amounts: Settings['amounts'],
): number | null {
  const hasOne = /\.\d$/.test(text);
  const isAsSeen = exponent === 0 ? !text.includes('.') : type === 'point' || !hasOne;
  return (amounts === 'two_or_none' ? !hasOne : isAsSeen) ? minorUnits(text, exponent) : null;
}

/** `150.00`, and `150` where the currency has no decimals. */
export function amountText(minor: number, exponent: Exponent): string {
  if (exponent === 0) return String(minor);
  const cents = minor % 100;
  return `${(minor - cents) / 100}.${String(cents).padStart(2, '0')}`;
}

/** `150`, `150.50`, `150.05`: two decimals or none. */
export function plainAmountText(minor: number, exponent: Exponent): string {
  const text = amountText(minor, exponent);
  return exponent === 0 ? text : text.replace(/\.00$/, '');
}

// Amounts of the legacy API: JSON numbers with the decimals of the site's currency.

/** 15250 is 152.5 in Argentine pesos and 15250 in Chilean pesos (`docs/field-notes.md` Orders §10). */
export function amountNumber(minor: number, site: Site): number {
  return minor / 10 ** site.exponent; // one division of whole numbers gives the nearest double, which prints as written
}

/** Takes a JSON number, or one in quotes. @returns minor units; null for no amount or too many decimals. */
export function minorOf(value: unknown, site: Site): number | null {
  const decimal = decimalOf(value);
  if (decimal === null) return null;
  const [whole = '', fraction = ''] = withoutNoise(decimal, site.exponent).split('.');
  const digits = fraction.replace(/0+$/, '');
  return digits.length > site.exponent ? null : Number(whole + digits.padEnd(site.exponent, '0'));
}

/** Minor units of the payment and the withdrawal. */
export function totalMinor(order: Order): number {
  return order.transaction.amount_minor + withdrawnMinor(order);
}

/** Cash that the buyer withdraws, in minor units; 0 at a terminal, which hands out none. */
export function withdrawnMinor({ place }: Order): number {
  return place.type === 'qr' ? (place.withdrawal?.amount_minor ?? 0) : 0;
}
