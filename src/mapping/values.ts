/** Values of tables: exact money (`docs/architecture.md` Decision 4: BigInt and text, no double), times, converters. */

import { firstCharacters, isWithinCharacters } from '../contract/identifiers.ts';
import { isExactNumber, plainNumber } from '../contract/json.ts';
import { decimalOf, withoutNoise } from '../contract/legacy-amount.ts';
import type { LegacyErrorName } from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';
import type { MarkedLimitation } from './limitations.ts';
import type { MappingContext } from './tables.ts';

/** Amounts of the orders API: digits, and a fraction of any length. */
const DECIMAL = /^(\d{1,15})(?:\.(\d{1,15}))?$/;

/** 1500 minor units with exponent 2 are `15.00`; undefined for no safe integer of zero or more, or no exponent. */
export function decimalText(minor: unknown, exponent: number): string | undefined {
  if (typeof minor !== 'number' || !Number.isSafeInteger(minor) || minor < 0 || !(exponent >= 0)) return undefined;
  return decimalOfMinor(BigInt(minor), exponent);
}

/** The same for zero or more minor units, with a known exponent. */
export function decimalOfMinor(minor: bigint, exponent: number): string {
  const digits = String(minor).padStart(exponent + 1, '0');
  return exponent === 0 ? digits : `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/** `24.5` with exponent 2 is 2450 minor units. @returns undefined when the result is not exact. */
export function minorUnits(decimal: unknown, exponent: number): number | undefined {
  const match = typeof decimal === 'string' ? DECIMAL.exec(decimal) : null;
  if (!match || !(exponent >= 0)) return undefined;
  const [, whole = '', fraction = ''] = match;
  if (/[^0]/.test(fraction.slice(exponent))) return undefined;
  const minor = BigInt(whole + fraction.slice(0, exponent).padEnd(exponent, '0'));
  return minor <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(minor) : undefined;
}

// The amount of a refund as a till writes it (`docs/field-notes.md` QR §3, errors 4040 and 4041).

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Minor units, from the source text of the number; null without an amount, for a refund of the whole rest.
 * @throws PuenteError refused: no number (4041), zero or less (4040), or more decimals than the currency has.
 */
export function requestedAmount(amount: unknown, exponent: number): number | null {
  if (amount === undefined) return null;
  const text = typeof amount === 'number' || typeof amount === 'string' || isExactNumber(amount) ? String(amount) : '';
  if (!NUMBER.test(text)) throw refusal('amount_not_numeric');
  const [digits = ''] = text.split(/[eE]/);
  if (text.startsWith('-') || /^[0.]+$/.test(digits)) throw refusal('amount_not_positive');
  const minor = minorUnits(withoutNoise(decimalOf(amount) ?? '', exponent), exponent);
  if (minor === undefined || minor === 0) throw refusal('invalid_property');
  return minor;
}

function refusal(error: LegacyErrorName): PuenteError {
  return new PuenteError('refused', `The refund was refused: ${error}`, { facts: { error, detail: 'amount' } });
}

// Times as the legacy Point API writes them.

/** Epoch milliseconds to `2023-09-13T18:22:30Z` (`docs/field-notes.md` Point §1.6); undefined when it is no time. */
export function instant(at: unknown): string | undefined {
  return typeof at === 'number' && Number.isFinite(at) ? `${new Date(at).toISOString().slice(0, 19)}Z` : undefined;
}

/** Epoch ms to `2026-01-31 17:10:37`, UTC (`docs/field-notes.md` Point §3.1); undefined when it is no time. */
export function dateTime(at: unknown): string | undefined {
  return instant(at)?.slice(0, 19).replace('T', ' ');
}

/** The legacy APIs answer in UTC−4 for every site (`docs/field-notes.md` QR §2). */
const OFFSET_MS = 4 * 3_600_000;

/** An RFC 3339 instant, or epoch milliseconds, as `2026-01-05T10:00:03.000-04:00`; undefined when it is none. */
export function offsetTime(value: unknown): string | undefined {
  const milliseconds = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(milliseconds)) return undefined;
  return new Date(milliseconds - OFFSET_MS).toISOString().replace('Z', '-04:00');
}

// Converters: pure functions that a row names in `with`, from a source value to a target value, a loss or a refusal.

/** No `value`: nothing is written. */
export interface Converted {
  value?: unknown;
  /** A sentence about the lost value. */
  loss?: string;
  /** `limitation`: the one that the refusal is a case of. */
  refusal?: { error: LegacyErrorName; detail: string; limitation?: MarkedLimitation };
}

export interface Given {
  /** Values of the row's `reads`, in their order. */
  reads: readonly unknown[];
  context: MappingContext;
}

export interface Converter {
  /** What it does, for the generated page. */
  says: string;
  /** Its source may be lost in part or as a whole, which is recorded. */
  loses?: true;
  /**
   * Not called without a value, except for a context row with a value in its `reads`. Of an `each` it gets the whole
   * translated list.
   */
  convert: (value: unknown, given: Given) => Converted;
}

export const NOTHING: Converted = {};

/** Decimals of the site's currency; NaN without an exponent in the context, which makes every amount invalid. */
export function exponentOf(context: MappingContext): number {
  const exponent = context.exponent;
  return typeof exponent === 'number' ? exponent : Number.NaN;
}

/** Its first characters (Unicode code points), with a loss when it has more. */
export function cutText(value: unknown, most: number): Converted {
  const whole = String(value);
  if (isWithinCharacters(whole, most)) return { value: whole };
  return { value: firstCharacters(whole, most), loss: `orders take ${most} characters here; the rest is cut` };
}

/** Digits to a number; nothing when it is none, a loss when it is too large to be exact. */
export function wholeNumber(written: unknown): Converted {
  const value = plainNumber(written);
  if (typeof value === 'number') return Number.isSafeInteger(value) ? { value } : NOTHING;
  if (!isNumberText(value)) return NOTHING;
  const number = Number(value);
  return Number.isSafeInteger(number) ? { value: number } : { loss: 'the number is too large to be written exactly' };
}

/** A number, or a text of digits only: no sign, point or exponent. */
export function isNumberText(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
}

/** The value when it is a text, undefined otherwise. */
export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
