/** How long a sale born on legacy holds its unit there when nobody says that it is over. */
import type { LegacySale } from '../../records/routing.ts';
import type { Runtime } from '../../runtime.ts';
import type { CarriedCreate } from './carry.ts';
import { hasEnd } from './over.ts';

/** `X-Ttl-Store-Preference` (`legacy-qr.md` §1.1). */
const TTL_SECONDS = /^[1-9]\d{0,8}$/;
/** What v1 sales live for when their till says nothing (`legacy-qr.md` §1.1). */
const V1_LIFETIME_MS = 600_000;
/** The longest lifetime that is believed of a token nobody has proved: longer than a shop is open. */
const UNPROVEN_LIFETIME_MS = 24 * 3_600_000;
/**
 * A sale whose end legacy tells is asked about until legacy says so, and in a month at the latest: nobody pays it any
 * more, and a legacy that is switched off must not keep units for ever.
 */
const ASKED_ABOUT_FOR_MS = 30 * 86_400_000;

type Told = Pick<CarriedCreate, 'body' | 'headers' | 'operation'>;

/** For the set time, and as long as the till wants it to live. @returns epoch ms. */
export function holdsUntil(runtime: Runtime, call: Told, is_proven: boolean): number {
  const now = runtime.clock.now();
  const lives_until = livesUntil(call, now);
  const believed = is_proven ? lives_until : Math.min(lives_until, now + UNPROVEN_LIFETIME_MS);
  return Math.max(now + runtime.settings.routing.legacy_hold_ms, believed);
}

/** The same for one that legacy has taken: where legacy tells of its end, its read ends it. */
export function holdsWhileOpen(runtime: Runtime, call: Told, sale: LegacySale): number {
  const held_until = holdsUntil(runtime, call, true);
  return hasEnd(sale) ? Math.max(held_until, runtime.clock.now() + ASKED_ABOUT_FOR_MS) : held_until;
}

/** By the header or the body; 0 where neither says anything. @returns epoch ms. */
function livesUntil({ body, headers, operation }: Told, now: number): number {
  const { expiration_date } = (body ?? {}) as { expiration_date?: unknown }; // any JSON value but null
  const date = Date.parse(String(expiration_date)); // NaN where the till says none
  const ttl_s = headers['x-ttl-store-preference'] ?? '';
  const ttl_ms = TTL_SECONDS.test(ttl_s) ? Number(ttl_s) * 1_000 : null;
  const usual_ms = operation.family === 'qr_v1' ? V1_LIFETIME_MS : 0;
  return Math.max(Number.isNaN(date) ? 0 : date, now + (ttl_ms ?? usual_ms));
}
