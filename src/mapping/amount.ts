/** Money between minor units and decimal strings, exact (DESIGN decision 4): BigInt and text, never a double. */

/** Amounts of the orders API: digits, and a fraction that is as long as the service likes. */
const DECIMAL = /^(\d{1,15})(?:\.(\d{1,15}))?$/;

/**
 * Minor units as a decimal string: 1500 with exponent 2 is `15.00`, with exponent 0 `1500`.
 * @returns undefined when the value is not a positive safe integer or the exponent is not known.
 */
export function decimalText(minor: unknown, exponent: number): string | undefined {
  if (typeof minor !== 'number' || !Number.isSafeInteger(minor) || minor < 0 || !(exponent >= 0)) return undefined;
  if (exponent === 0) return BigInt(minor).toString();
  const digits = BigInt(minor)
    .toString()
    .padStart(exponent + 1, '0');
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

/**
 * A decimal string as minor units: `24.5` with exponent 2 is 2450. Digits beyond the exponent must be zero.
 * @returns undefined when that is not exact.
 */
export function minorUnits(decimal: unknown, exponent: number): number | undefined {
  const match = typeof decimal === 'string' ? DECIMAL.exec(decimal) : null;
  if (!match || !(exponent >= 0)) return undefined;
  const [, whole = '', fraction = ''] = match;
  if (/[^0]/.test(fraction.slice(exponent))) return undefined;
  const minor = BigInt(whole + fraction.slice(0, exponent).padEnd(exponent, '0'));
  return minor <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(minor) : undefined;
}
