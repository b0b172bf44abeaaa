/** The five test merchants of the sandbox, as shops with tills. */
import type { QrTill } from './qr-till.ts';

/** `numbers`: base of the numbers of their points of sale. */
export const SHOPS = [
  { merchant: '700100200', site: 'MLA', currency: 'ARS', exponent: 2, terminals: 3, numbers: 1_000_000 },
  { merchant: '700100300', site: 'MLB', currency: 'BRL', exponent: 2, terminals: 3, numbers: 2_000_000 },
  { merchant: '700100400', site: 'MLM', currency: 'MXN', exponent: 2, terminals: 2, numbers: 3_000_000 },
  { merchant: '700100500', site: 'MLC', currency: 'CLP', exponent: 0, terminals: 0, numbers: 4_000_000 },
  { merchant: '700100600', site: 'MLU', currency: 'UYU', exponent: 2, terminals: 0, numbers: 5_000_000 },
] as const;

export const COUNTERS = ['SUC001POS001', 'SUC001POS002'] as const;

/** A terminal of the setting `extra_terminals`, counted from 0. */
export function terminal(nth: number): string {
  return `NEWLAND_N950__LOAD${String(nth + 1).padStart(7, '0')}`;
}

/** The tills of a shop that have a code; the sandbox numbers a merchant's points of sale from 1. */
export function codesOf({ numbers, currency, exponent }: (typeof SHOPS)[number]): QrTill[] {
  return COUNTERS.map((external_id, nth) => ({ external_id, number: numbers + nth + 1, currency, exponent }));
}
