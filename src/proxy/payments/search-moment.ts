/** Moments as clients write them in searches of the old APIs (`docs/field-notes.md` QR §3, used filters). */

/** Clients forget to encode the plus of an offset, and it arrives as a space. */
const ISO = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?))?(?:(Z)|([ +-])(\d{2}):?(\d{2}))?$/;
const NOW = /^NOW((?:[ +-]\d{1,6}(?:SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)S?)*)$/;
const STEP = /([ +-])(\d+)(SECOND|MINUTE|HOUR|DAY|MONTH|YEAR)/g;

/**
 * Epoch milliseconds of an ISO 8601 date or instant, without an offset in UTC, and of `NOW`, `NOW-30DAYS`, `NOW-1HOUR`.
 * @param now epoch ms.
 * @returns null for anything else.
 */
export function searchMoment(text: string, now: number): number | null {
  const relative = NOW.exec(text);
  if (relative !== null) return stepped(now, relative[1] ?? '');
  const match = ISO.exec(text);
  if (match === null) return null;
  const [, day, time = '00:00', , sign, hours, minutes] = match;
  const zone = sign === undefined ? 'Z' : `${sign === '-' ? '-' : '+'}${hours}:${minutes}`;
  const at = Date.parse(`${day}T${time}${zone}`);
  return Number.isNaN(at) ? null : at;
}

/**
 * The key under which what legacy finds is cached. A till that polls up to this moment writes another instant each time,
 * so the instants of the named parameters count in steps; what is sent stays the till's own.
 * @param step_ms how old a cached answer may be; 0 counts every instant.
 */
export function searchKey(
  query: Readonly<Record<string, string>>,
  moments: readonly string[],
  step_ms: number,
): string {
  const coarse = Object.entries(query).map(([name, text]): [string, string] => {
    const at = step_ms > 0 && moments.includes(name) && ISO.test(text) ? searchMoment(text, 0) : null;
    return [name, at === null ? text : String(Math.floor(at / step_ms))];
  });
  return new URLSearchParams(coarse.sort(([one], [other]) => (one < other ? -1 : 1))).toString();
}

/** Months and years are those of the calendar, in UTC. */
function stepped(now: number, steps: string): number | null {
  const date = new Date(now);
  for (const [, sign, digits, unit] of steps.matchAll(STEP)) {
    const count = sign === '-' ? -Number(digits) : Number(digits);
    if (unit === 'YEAR') date.setUTCFullYear(date.getUTCFullYear() + count);
    else if (unit === 'MONTH') date.setUTCMonth(date.getUTCMonth() + count);
    else if (unit === 'DAY') date.setUTCDate(date.getUTCDate() + count);
    else if (unit === 'HOUR') date.setUTCHours(date.getUTCHours() + count);
    else if (unit === 'MINUTE') date.setUTCMinutes(date.getUTCMinutes() + count);
    else date.setUTCSeconds(date.getUTCSeconds() + count);
  }
  const at = date.getTime();
  return Number.isNaN(at) ? null : at;
}
