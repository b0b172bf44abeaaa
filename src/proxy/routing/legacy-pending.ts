/** Work on legacy that no row can hold: creates of dynamic codes in doubt, and units whose row could not be written. */

import type { LinkFamily } from '../../mapping/tables.ts';
import { ANY_POINT_OF_SALE, type LegacySale } from '../records/routing.ts';
import type { Runtime } from '../runtime.ts';

/** More tries of one dynamic sale than any till makes before somebody looks. */
const TRIES_AT_MOST = 20;

/** Dynamic codes asked for on legacy, of this unit and reference, whose outcome is not known yet. */
export async function legacyDoubts(
  runtime: Runtime,
  merchant_id: string,
  unit: string,
  client_reference: string | null,
): Promise<LegacySale[]> {
  if (client_reference === null) return [];
  const sales = await runtime.store.legacySalesByReference(merchant_id, client_reference, TRIES_AT_MOST);
  const now = runtime.clock.now();
  return sales.filter((sale) => {
    const doubtful = sale.state === 'SENDING' || sale.state === 'IN_DOUBT';
    return doubtful && sale.slot === null && sale.unit === unit && sale.ends_at > now;
  });
}

// Units whose carried create could not be written down: remembered in this process, so that they stay on legacy all
// the same.

/** Units remembered at most; the store is away for minutes, and one that is away for long stops every create on orders. */
const CAPACITY = 10_000;

export interface Unrecorded {
  /** @param until epoch ms. */
  hold(merchant_id: string, slot: string, until: number): void;
  /** True while legacy may have something on the slot that the store does not know. */
  holds(merchant_id: string, slot: string, now: number): boolean;
  /** The same of any slot of the merchant and family. */
  holdsAny(merchant_id: string, family: LinkFamily, now: number): boolean;
}

export function createUnrecorded(): Unrecorded {
  const until = new Map<string, number>();
  const holdsKey = (key: string, now: number): boolean => {
    const end = until.get(key);
    if (end !== undefined && end <= now) until.delete(key);
    return end !== undefined && end > now;
  };
  return {
    hold(merchant_id, slot, end) {
      const key = keyOf(merchant_id, slot);
      const longest = Math.max(end, until.get(key) ?? 0);
      until.delete(key); // so that the map stays in the order of the last hold
      until.set(key, longest);
      if (until.size > CAPACITY) until.delete(until.keys().next().value ?? '');
    },
    holds(merchant_id, slot, now) {
      if (until.size === 0) return false;
      const any = slot.startsWith('qr:') && holdsKey(keyOf(merchant_id, ANY_POINT_OF_SALE), now);
      return any || holdsKey(keyOf(merchant_id, slot), now);
    },
    holdsAny(merchant_id, family, now) {
      const start = keyOf(merchant_id, `${family}:`);
      return [...until.keys()].some((key) => key.startsWith(start) && holdsKey(key, now));
    },
  };
}

function keyOf(merchant_id: string, slot: string): string {
  return `${merchant_id}/${slot}`;
}
