/** Amounts as decimal text and as whole minor units; two decimals, as at all three sites of the cast. */

/** At most 12 digits before the point, so that minor units stay a safe integer. */
const AMOUNT = /^(\d{1,12})(?:\.(\d{1,2}))?$/;

/** @returns minor units, or null when the text is no amount (`orders-api.md` §11: up to two decimals, or none). */
export function parseAmount(text: string): number | null {
  const match = AMOUNT.exec(text);
  if (match === null) return null;
  return Number(match[1]) * 100 + Number((match[2] ?? '').padEnd(2, '0'));
}

/** `150.00` */
export function amountText(minor: number): string {
  const cents = minor % 100;
  return `${(minor - cents) / 100}.${String(cents).padStart(2, '0')}`;
}

/** `150`, `150.5`, `150.05`: without needless decimals. */
export function plainAmountText(minor: number): string {
  return amountText(minor).replace(/\.?0+$/, '');
}
