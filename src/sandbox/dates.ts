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

// Moments in searches: ISO 8601, or `NOW` with steps before or after it (`docs/field-notes.md` QR §3, used filters).

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?(Z|[ +-]\d{2}:?\d{2})?$/;
const RELATIVE = /^NOW((?:[ +-]\d{1,6}(?:SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)S?)*)$/;

/** Epoch milliseconds of an ISO date, `NOW` or `NOW-30DAYS`; else null. A space counts as a plus, not encoded. */
export function parseMoment(text: string, now_ms: number): number | null {
  const relative = RELATIVE.exec(text);
  if (relative !== null) return shift(now_ms, relative[1] ?? '');
  const iso = ISO.exec(text);
  if (iso === null) return null;
  const [, day, time = '00:00', zone = 'Z'] = iso;
  const offset = zone.replace(' ', '+').replace(/^([+-]\d{2})(\d{2})$/, '$1:$2');
  const time_ms = Date.parse(`${day}T${time}${offset}`);
  return Number.isNaN(time_ms) ? null : time_ms;
}

/** Months and years follow the calendar; other units have a fixed length. */
function shift(now_ms: number, steps: string): number {
  const date = new Date(now_ms);
  for (const [, sign, count, unit] of steps.matchAll(/([ +-])(\d+)(SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)/g)) {
    const amount = sign === '-' ? -Number(count) : Number(count);
    if (unit === 'MONTH') date.setUTCMonth(date.getUTCMonth() + amount);
    else if (unit === 'YEAR') date.setUTCFullYear(date.getUTCFullYear() + amount);
    else date.setTime(date.getTime() + amount * (UNIT_MS[unit ?? ''] ?? 0));
  }
  return date.getTime();
}

const UNIT_MS: Readonly<Record<string, number>> = {
  SECOND: 1000,
  MINUTE: 60_000,
  HOUR: 3_600_000,
  DAY: 86_400_000,
};
