/** Amounts as decimal text and as whole minor units of the site's currency; the Chilean peso has no decimals. */
import type { Settings } from './assumptions.ts';

/** Decimals of a currency. */
export type Exponent = 0 | 2;

/** At most 12 digits before the point, so that minor units stay a safe integer. */
const DECIMAL = /^(\d{1,12})(?:\.(\d{1,2}))?$/;

/** @returns minor units, or null when the text is no amount, or one that the currency has no money for. */
export function minorUnits(text: string, exponent: Exponent): number | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, whole, fraction = ''] = match;
  if (exponent === 0) return Number(fraction) === 0 ? Number(whole) : null;
  return Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
}

/**
 * As `minorUnits`, but with the decimals that the setting `amounts` allows.
 * @param type of the order: where pages differ, Point takes one decimal too (`orders-api.md` §11).
 */
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

/** `150`, `150.50`, `150.05`: two decimals or none, as amounts are everywhere. */
export function plainAmountText(minor: number, exponent: Exponent): string {
  const text = amountText(minor, exponent);
  return exponent === 0 ? text : text.replace(/\.00$/, '');
}
