/** Dates as the two APIs write them. */

/** RFC 3339 in UTC with 0 to 9 fraction digits; digits beyond the millisecond are zeros. */
export function isoDate(time_ms: number, fraction_digits: number): string {
  const text = new Date(time_ms).toISOString();
  if (fraction_digits === 3) return text;
  if (fraction_digits === 0) return `${text.slice(0, 19)}Z`;
  return `${text.slice(0, 20)}${text.slice(20, 23).padEnd(9, '0').slice(0, fraction_digits)}Z`;
}

const UNIT_MS = { H: 3_600_000, M: 60_000, S: 1000 } as const;

/** @returns milliseconds of an ISO 8601 duration in hours, minutes and seconds, or null when it is none. */
export function parseDuration(text: string): number | null {
  const match = /^PT(?=\d)(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})S)?$/.exec(text);
  if (match === null) return null;
  return Number(match[1] ?? 0) * UNIT_MS.H + Number(match[2] ?? 0) * UNIT_MS.M + Number(match[3] ?? 0) * UNIT_MS.S;
}
