/** Dates as the two APIs write them. */

/** RFC 3339 in UTC with 0 to 9 fraction digits; digits beyond the millisecond are zeros. */
export function isoDate(time_ms: number, fraction_digits: number): string {
  const text = new Date(time_ms).toISOString();
  if (fraction_digits === 3) return text;
  if (fraction_digits === 0) return `${text.slice(0, 19)}Z`;
  return `${text.slice(0, 20)}${text.slice(20, 23).padEnd(9, '0').slice(0, fraction_digits)}Z`;
}

/** The legacy API writes UTC-4 for every site (`docs/field-notes.md` QR §2). */
const OLDER_OFFSET_MS = -4 * 3_600_000;

/** `2026-01-05T10:00:03.000-04:00` */
export function offsetDate(time_ms: number): string {
  return `${isoDate(time_ms + OLDER_OFFSET_MS, 3).slice(0, -1)}-04:00`;
}
