/** How long a legacy QR order lives: the header of v1, the date of v2. Source: `legacy-qr.md` §1.1, §1.2. */
import { z } from 'zod';
import { type QrCall, refuse } from './call.ts';

const TTL_SECONDS = /^[1-9]\d{0,8}$/;

/** `X-Ttl-Store-Preference` in milliseconds; null when it is missing or no number of seconds. Real tills send it on v2 paths too. */
export function lifetimeHeader(call: QrCall): number | null {
  const seconds = call.header('x-ttl-store-preference') ?? '';
  return TTL_SECONDS.test(seconds) ? Number(seconds) * 1000 : null;
}

const moment = z.iso.datetime({ offset: true });

/** @returns milliseconds until `expiration_date`; null for none. @throws PuenteError refused, unless it is a future moment. */
export function lifetimeUntil(call: QrCall, expiration_date: string | null): number | null {
  if (expiration_date === null) return null;
  const left_ms = Date.parse(expiration_date) - call.state.world.clock.now();
  if (!moment.safeParse(expiration_date).success || !(left_ms > 0)) {
    throw refuse(call.family, 'invalid_property', 'expiration_date');
  }
  return left_ms;
}
