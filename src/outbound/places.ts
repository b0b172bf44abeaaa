/** Remembers for a moment where merchants' notices go, so that a thousand of one crowded host are not looked up for each place. */

export interface Places {
  /** A merchant's Point notices go to this host now. */
  learn(merchant_id: string, host: string): void;
  /** Merchants whose notices go where `isFull` says that there is no place. `now`: epoch ms. */
  merchantsAt(isFull: (host: string) => boolean, now: number): Set<string>;
}

/** @param kept_ms after so long all is forgotten: a merchant may have changed its URL. */
export function createPlaces(kept_ms: number): Places {
  const merchants = new Map<string, Set<string>>();
  let since = Number.NEGATIVE_INFINITY;
  return {
    learn(merchant_id, host) {
      const there = merchants.get(host);
      if (there === undefined) merchants.set(host, new Set([merchant_id]));
      else there.add(merchant_id);
    },
    merchantsAt(isFull, now) {
      if (Math.abs(now - since) >= kept_ms) {
        merchants.clear();
        since = now;
      }
      const hosts = [...merchants].filter(([host]) => isFull(host));
      return new Set(hosts.flatMap(([, there]) => [...there]));
    },
  };
}
