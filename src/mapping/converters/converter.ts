/** What a converter is: a pure function that a row names in `with`, from a source value to a target value, a loss or a refusal. */
import { firstCharacters, isWithinCharacters } from '../../contract/identifiers.ts';
import { plainNumber } from '../../contract/json.ts';
import type { LegacyErrorName } from '../../contract/legacy-errors.ts';
import type { MarkedLimitation } from '../limitations.ts';
import type { MappingContext } from '../tables.ts';

/** No `value` means that nothing is written. */
export interface Converted {
  value?: unknown;
  /** What did not reach the other side, as a sentence. */
  loss?: string;
  /** `limitation`: the one that the till meets by being refused. */
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
  /** What it takes may be lost in part or as a whole, which is recorded. */
  loses?: true;
  convert: (value: unknown, given: Given) => Converted;
}

export const NOTHING: Converted = {};

/** Decimals of the site's currency; NaN where the context names none, which no amount survives. */
export function exponentOf(context: MappingContext): number {
  const exponent = context.exponent;
  return typeof exponent === 'number' ? exponent : Number.NaN;
}

/** Its first characters (Unicode code points), with a loss where there are more. */
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

export function isNumberText(value: unknown): value is string | number {
  return typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value));
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
