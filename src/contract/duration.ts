/** ISO 8601 durations in all forms: designators, weeks, fraction of the last component, alternative form. */

const NUMBER = String.raw`(\d{1,9}(?:[.,]\d{1,9})?)`;
const part = (designator: string): string => `(?:${NUMBER}${designator})?`;
const DESIGNATORS = new RegExp(
  `^P(?=\\d|T\\d)${['Y', 'M', 'W', 'D'].map(part).join('')}(?:T(?=\\d)${['H', 'M', 'S'].map(part).join('')})?$`,
);
/** `P0000-00-00T00:15:00` and `P00000000T001500`. */
const ALTERNATIVES = [
  /^P(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})$/,
  /^P(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})$/,
];
/** Limits of each component in the alternative form: a component stays below its carry. */
const CARRY: readonly number[] = [Number.POSITIVE_INFINITY, 12, 31, 24, 60, 60];

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
const FIXED_MS = { weeks: 7 * DAY_MS, days: DAY_MS, hours: HOUR_MS, minutes: 60_000, seconds: 1000 } as const;

/** Null for no ISO 8601 duration. @param from_ms epoch ms: years and months follow the UTC calendar from there. */
export function durationMs(text: string | undefined, from_ms: number): number | null {
  const parts = text === undefined ? null : partsOf(text);
  if (parts === null) return null;
  const [years = 0, months = 0, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts;
  const fixed_ms =
    weeks * FIXED_MS.weeks +
    days * FIXED_MS.days +
    hours * FIXED_MS.hours +
    minutes * FIXED_MS.minutes +
    seconds * FIXED_MS.seconds;
  const total_ms = monthsMs(years * 12 + months, from_ms) + fixed_ms;
  return Number.isFinite(total_ms) ? Math.round(total_ms) : null; // beyond what a date can hold
}

/** Years, months, weeks, days, hours, minutes, seconds. */
function partsOf(text: string): number[] | null {
  const [, ...designated] = DESIGNATORS.exec(text) ?? [];
  if (designated.length > 0) {
    const given = designated.filter((number) => number !== undefined);
    // Only the last component may have a fraction.
    if (given.slice(0, -1).some((number) => /[.,]/.test(number))) return null;
    return designated.map((number) => Number((number ?? '0').replace(',', '.')));
  }
  const match = ALTERNATIVES.map((form) => form.exec(text)).find((found) => found !== null);
  const numbers = match?.slice(1).map(Number) ?? [];
  if (match === undefined || numbers.some((number, index) => number > (CARRY[index] ?? 0))) return null;
  return [...numbers.slice(0, 2), 0, ...numbers.slice(2)]; // this form has no weeks
}

/** A fraction of a month is that fraction of the month that it falls into. */
function monthsMs(months: number, from_ms: number): number {
  if (months === 0) return 0;
  const whole = Math.floor(months);
  const after = (count: number): number => {
    const date = new Date(from_ms);
    return date.setUTCMonth(date.getUTCMonth() + count);
  };
  const end_ms = after(whole);
  return end_ms + (months - whole) * (after(whole + 1) - end_ms) - from_ms;
}
