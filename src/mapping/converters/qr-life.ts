/** How long a QR order lives: the header of v1 in seconds, the date of v2, and the limits of orders (`legacy-qr.md` §10). */
import type { MappingContext } from '../tables.ts';
import { type Converted, NOTHING } from './converter.ts';

/** Shortest and longest life of a QR order, seconds (`interface.md`, Limits: 30 s and 3600 h). */
export const MIN_LIFE_S = 30;
export const MAX_LIFE_S = 3600 * 3600;
/** What v1 lived without a header, seconds (`legacy-qr.md` §1.1). */
export const V1_LIFE_S = 600;

/** ISO 8601 with an offset; tills send milliseconds, and offsets with and without a colon (`legacy-qr.md` §1.2). */
const MOMENT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/;

/** Whole seconds in a header, as a duration. */
export function secondsOfHeader(value: unknown): Converted {
  const seconds = /^[1-9]\d{0,8}$/.test(String(value)) ? Number(value) : null;
  if (seconds !== null) return clamped(seconds);
  const loss = `the lifetime is not a number of seconds; taken as ${V1_LIFE_S}`;
  return { value: `PT${V1_LIFE_S}S`, loss };
}

/**
 * The date counts more than the header, because it is the documented one.
 * @param fallback the header's duration, when there was one.
 */
export function lifeUntil(fallback: unknown, date: unknown, context: MappingContext): Converted {
  if (typeof date !== 'string') return fallback === undefined ? NOTHING : { value: fallback };
  const until = MOMENT.test(date) && isOnCalendar(date) ? Date.parse(date) : Number.NaN;
  const left_ms = until - Number(context.received_at);
  if (!(left_ms > 0)) return { refusal: { error: 'invalid_property', detail: 'expiration_date' } };
  return clamped(Math.floor(left_ms / 1000));
}

/** `Date.parse` takes the 31st of a shorter month for a day of the next one. */
function isOnCalendar(date: string): boolean {
  const day = date.slice(0, 10);
  const at = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().slice(0, 10) === day;
}

function clamped(seconds: number): Converted {
  const life = Math.min(Math.max(seconds, MIN_LIFE_S), MAX_LIFE_S);
  const value = `PT${life}S`;
  if (life === seconds) return { value };
  return { value, loss: `an order lives ${MIN_LIFE_S} to ${MAX_LIFE_S} seconds; taken as ${life}` };
}
