/** Moments in searches: ISO 8601, or `NOW` with steps before or after it (`docs/field-notes.md` QR §3, used filters). */

/** The plus of an offset arrives as a space when a client does not encode it. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?(?:(Z)|([ +-])(\d{2}):?(\d{2}))?$/;
const NOW = /^NOW((?:[ +-]\d{1,6}(?:SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)S?)*)$/;
const STEP = /([ +-])(\d+)(SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)/g;
const STEP_MS: Readonly<Record<string, number>> = { SECOND: 1000, MINUTE: 60_000, HOUR: 3_600_000, DAY: 86_400_000 };

/** Epoch ms of ISO 8601 (UTC without an offset), `NOW`, `NOW-30DAYS`; else null. */
export function searchMoment(text: string, now: number): number | null {
  const relative = NOW.exec(text);
  const at = relative === null ? isoMoment(text) : stepped(now, relative[1] ?? '');
  return Number.isNaN(at) ? null : at;
}

function isoMoment(text: string): number {
  const [, day, time = '00:00', , sign, hours, minutes] = ISO.exec(text) ?? [];
  const zone = sign === undefined ? 'Z' : `${sign === '-' ? '-' : '+'}${hours}:${minutes}`;
  return Date.parse(`${day}T${time}${zone}`);
}

/** Months and years follow the calendar, in UTC; other units have a fixed length. */
function stepped(now: number, steps: string): number {
  const date = new Date(now);
  for (const [, sign, digits, unit = ''] of steps.matchAll(STEP)) {
    const count = sign === '-' ? -Number(digits) : Number(digits);
    if (unit === 'YEAR') date.setUTCFullYear(date.getUTCFullYear() + count);
    else if (unit === 'MONTH') date.setUTCMonth(date.getUTCMonth() + count);
    else date.setTime(date.getTime() + count * (STEP_MS[unit] ?? 0));
  }
  return date.getTime();
}
