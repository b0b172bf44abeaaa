/** Amounts as decimal text and as whole minor units of the site's currency; the Chilean peso has no decimals. */

/** Decimals of a currency. */
export type Exponent = 0 | 2;

/** At most 12 digits before the point, so that minor units stay a safe integer. */
const patterns: Readonly<Record<Exponent, RegExp>> = { 0: /^(\d{1,12})$/, 2: /^(\d{1,12})(?:\.(\d{1,2}))?$/ };

/** @returns minor units, or null when the text is no amount (`orders-api.md` §11: up to two decimals, or none). */
export function parseAmount(text: string, exponent: Exponent): number | null {
  const match = patterns[exponent].exec(text);
  if (match === null) return null;
  return Number(match[1]) * 10 ** exponent + Number((match[2] ?? '').padEnd(exponent, '0'));
}

/** As `parseAmount`, but one decimal is refused: QR takes two or none (`orders-api.md` §11). */
export function parseQrAmount(text: string, exponent: Exponent): number | null {
  return /\.\d$/.test(text) ? null : parseAmount(text, exponent);
}

/** `150.00`, and `150` where the currency has no decimals. */
export function amountText(minor: number, exponent: Exponent): string {
  if (exponent === 0) return String(minor);
  const cents = minor % 100;
  return `${(minor - cents) / 100}.${String(cents).padStart(2, '0')}`;
}

/** `150`, `150.5`, `150.05`: without needless decimals. */
export function plainAmountText(minor: number, exponent: Exponent): string {
  const text = amountText(minor, exponent);
  return exponent === 0 ? text : text.replace(/\.?0+$/, '');
}
