/** Amounts as the older families write them: JSON numbers, with the decimals that the site's currency has. */
import { decimalOf, withoutNoise } from '../contract/legacy-amount.ts';
import type { Site } from './cast.ts';

/** Minor units as a number: 15250 is 152.5 in pesos of Argentina, and 15250 in pesos of Chile (`orders-api.md` §10). */
export function amountNumber(minor: number, site: Site): number {
  return minor / 10 ** site.exponent; // one division of whole numbers, so the nearest double, which prints as written
}

/**
 * @param value a JSON number, or one in quotes.
 * @returns minor units, or null when it is no amount or has more decimals than the currency.
 */
export function minorOf(value: unknown, site: Site): number | null {
  const decimal = decimalOf(value);
  if (decimal === null) return null;
  const [whole = '', fraction = ''] = withoutNoise(decimal, site.exponent).split('.');
  const digits = fraction.replace(/0+$/, '');
  return digits.length > site.exponent ? null : Number(whole + digits.padEnd(site.exponent, '0'));
}
