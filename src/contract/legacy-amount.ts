/** Amounts as legacy QR and payments write them: JSON numbers, taken from the source text, never through a double. */
import { LosslessNumber } from 'lossless-json';
import { z } from 'zod';

/**
 * Legacy amounts fit into 12 digits before the point (`identifiers.ts`, ORDER_AMOUNT). After it doubles have up to 17
 * digits after their zeros, and some writers add zeros.
 */
const PLAIN = /^(\d{1,12})(?:\.(\d{1,32}))?$/;
const SCIENTIFIC = /^(\d{1,32})(?:\.(\d{1,32}))?[eE]([+-]?\d{1,4})$/;

/** Plain decimal text: `120.5` for 120.5, `"120.5"` and 1.205e2. @returns null for no amount, or a negative one. */
export function decimalOf(value: unknown): string | null {
  const text = value instanceof LosslessNumber ? value.value : typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return null;
  const plain = plainDecimal(text);
  return plain !== null && PLAIN.test(plain) ? plain : null;
}

/** No amount needs its point moved further. */
const MAX_SHIFT = 64;

/** Writes out an exponent by moving the point. */
function plainDecimal(text: string): string | null {
  if (PLAIN.test(text)) return text;
  const match = SCIENTIFIC.exec(text);
  if (match === null) return null;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (Math.abs(point) > MAX_SHIFT) return null;
  if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
  const padded = digits.padEnd(point, '0');
  const moved = padded.slice(point) === '' ? padded : `${padded.slice(0, point)}.${padded.slice(point)}`;
  return moved.replace(/^0+(?=\d)/, '');
}

/**
 * The intended amount of a till that computes with floats: 99.89999999999999 with two decimals is 99.90. Less than a
 * hundredth of the smallest unit away from a whole number of units is noise; more is a real fraction, and stays.
 * @param decimal from `decimalOf`. @param exponent decimals of the currency.
 */
export function withoutNoise(decimal: string, exponent: number): string {
  const [whole = '', fraction = ''] = decimal.split('.');
  if (!(exponent >= 0) || fraction.length <= exponent) return decimal;
  const rest = fraction.slice(exponent).replace(/0+$/, '');
  const is_above = rest === '' || (rest.length > NOISE_DECIMALS && rest.startsWith('0'.repeat(NOISE_DECIMALS)));
  if (!is_above && !(rest.length > NOISE_DECIMALS && rest.startsWith('9'.repeat(NOISE_DECIMALS)))) return decimal;
  const minor = BigInt(whole + fraction.slice(0, exponent)) + (is_above ? 0n : 1n);
  if (minor === 0n) return decimal; // all of it is a fraction
  const digits = String(minor).padStart(exponent + 1, '0');
  return exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}
/** Decimals of a hundredth: noise begins after those of the smallest unit and these. */
const NOISE_DECIMALS = 2;

/** A JSON number of any length, or one in quotes, which real clients send (`docs/field-notes.md` QR §1.2). */
export const writtenAmount = z.custom<string | number | LosslessNumber>((value) => decimalOf(value) !== null);

/** A whole number above zero; `2.0` counts as 2. */
export const writtenQuantity = z.custom<string | number | LosslessNumber>((value) => quantityOf(value) !== null);

/** @returns null when the value is no whole number above zero and below a million. */
export function quantityOf(value: unknown): number | null {
  const match = /^(\d{1,6})(?:\.0+)?$/.exec(decimalOf(value) ?? '');
  const quantity = Number(match?.[1] ?? 0);
  return quantity > 0 ? quantity : null;
}

/** A decimal text as the JSON number that legacy clients expect: `241.00` is 241, `120.50` is 120.5. */
export function jsonNumber(decimal: string): number | LosslessNumber {
  // Quoted amounts may begin with zeros, which JSON numbers can't.
  const whole = decimal.replace(/^0+(?=\d)/, '');
  const short = whole.includes('.') ? whole.replace(/\.?0+$/, '') : whole;
  const number = Number(short);
  return String(number) === short ? number : new LosslessNumber(short);
}
