/** The amount of a refund as a till writes it, and the refusals of what is none (`legacy-qr.md` §3, errors 4040 and 4041). */
import { isExactNumber } from '../contract/json.ts';
import { decimalOf, withoutNoise } from '../contract/legacy-amount.ts';
import type { LegacyErrorName } from '../contract/legacy-errors.ts';
import { PuenteError } from '../error.ts';
import { minorUnits } from './amount.ts';

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Minor units, from the source text of the number; null when no amount is given, which asks for all that is left.
 * @throws PuenteError refused: no number (4041), zero or less (4040), or more decimals than the currency has.
 */
export function askedAmount(amount: unknown, exponent: number): number | null {
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
