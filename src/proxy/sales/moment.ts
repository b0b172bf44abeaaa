/** Instants as the two APIs write them. */

const RFC3339 = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:?\d{2})$/i;
/** One in UTC that no calendar changes, so that it need not be read as a date. */
const PLAIN = /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d)(?:\.(\d{1,9}))?Z$/;

/**
 * An RFC 3339 instant with 0–9 fraction digits as comparable text in UTC with nine (`orders-api.md` §1.3);
 * null when it can't be read: then the rank alone decides (`reliability.md` §3.12).
 */
export function comparableInstant(text: string | undefined): string | null {
  if (text === undefined) return null;
  const plain = PLAIN.exec(text);
  if (plain !== null) return `${plain[1]}.${(plain[2] ?? '').padEnd(9, '0')}Z`;
  const match = RFC3339.exec(text);
  if (match === null) return null;
  const [, date, time, fraction = '', zone = 'Z'] = match;
  const whole_ms = Date.parse(`${date}T${time}${zone.toUpperCase()}`);
  if (Number.isNaN(whole_ms)) return null;
  return `${new Date(whole_ms).toISOString().slice(0, 19)}.${fraction.padEnd(9, '0')}Z`;
}

/** Epoch ms of a comparable instant. */
export function instantMs(comparable: string): number {
  return Date.parse(`${comparable.slice(0, 23)}Z`);
}
