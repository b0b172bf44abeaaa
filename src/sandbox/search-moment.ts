/** Moments in searches: ISO 8601, or `NOW` with steps before or after it (`legacy-qr.md` §3, used filters). */

const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?(Z|[ +-]\d{2}:?\d{2})?$/;
const RELATIVE = /^NOW((?:[ +-]\d{1,6}(?:SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)S?)*)$/;

/**
 * Epoch milliseconds of `2026-01-05T10:00:00.000-04:00`, `NOW`, `NOW-30DAYS`, `NOW-1HOUR` and the like.
 * A plus sign that a client forgot to encode has become a space, and still counts as plus.
 * @returns null for anything else.
 */
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

/** Months and years are those of the calendar; the rest is time. */
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
