/** Which notices have a place at their receiver's host, remembered for a moment, so that a thousand of one crowded host are not looked up each time. */
import type { Notice } from '../records/notices.ts';
import type { Held } from './backlog.ts';

/** One look at what is due. */
export interface Look extends Held {
  /** Known to have no place, without looking up where it goes. */
  isHeld(notice: Notice): boolean;
  /** There is a place for a notice that goes to this host. */
  hasPlace(notice: Notice, host: string): boolean;
}

export interface Places {
  /** @param isFull says that a host has no place. @param now epoch ms. */
  look(isFull: (host: string) => boolean, now: number): Look;
}

/**
 * Point notices of a merchant all go to one place, so one that waits keeps the others; those of QR sales may each go
 * elsewhere, and keep nobody.
 * @param kept_ms after so long all is forgotten: a merchant may have changed its URL.
 */
export function createPlaces(kept_ms: number): Places {
  const of_merchants = new Map<string, Set<string>>();
  const of_sales = new Map<string, Set<string>>();
  let since = Number.NEGATIVE_INFINITY;
  return {
    look(isFull, now) {
      if (Math.abs(now - since) >= kept_ms) {
        of_merchants.clear();
        of_sales.clear();
        since = now;
      }
      const merchants = idsAt(of_merchants, isFull);
      const sales = idsAt(of_sales, isFull);
      const some_of = new Set<string>();
      /** Where QR notices had to wait: a place that gets free meanwhile is for the oldest, in the next look. */
      const crowded = new Set<string>();
      return {
        merchants,
        some_of,
        isHeld({ form, merchant_id, legacy_id }) {
          const is_held = form === 'point' ? merchants.has(merchant_id) : sales.has(legacy_id);
          if (is_held) some_of.add(merchant_id);
          return is_held;
        },
        hasPlace({ form, merchant_id, legacy_id }, host) {
          const is_point = form === 'point';
          if (is_point) learn(of_merchants, host, merchant_id);
          else learn(of_sales, host, legacy_id);
          if (!isFull(host) && (is_point || !crowded.has(host))) return true;
          some_of.add(merchant_id);
          if (is_point) merchants.add(merchant_id);
          else {
            sales.add(legacy_id);
            crowded.add(host);
          }
          return false;
        },
      };
    },
  };
}

function learn(ids: Map<string, Set<string>>, host: string, id: string): void {
  const there = ids.get(host);
  if (there === undefined) ids.set(host, new Set([id]));
  else there.add(id);
}

function idsAt(ids: Map<string, Set<string>>, isFull: (host: string) => boolean): Set<string> {
  const hosts = [...ids].filter(([host]) => isFull(host));
  return new Set(hosts.flatMap(([, there]) => [...there]));
}
