/** The reads that tills repeat, done in the file only when what they tell is not known. */

import type { Link } from '../../proxy/sales/link.ts';
import type { Store } from '../../proxy/store.ts';
import { type KnownRows, referenceKey } from './known-rows.ts';

/** A search shows fifty; who gives all sales one reference must not fill the memory, nor drive the links of others out of it. */
const KEPT_LINKS = 51;

type KnownReads = Pick<
  Store,
  'merchant' | 'token' | 'link' | 'linkByMerchantOrder' | 'linksByClientReference' | 'heldByLegacy'
>;

/**
 * The same methods, which read from the file only what is not known.
 * @param heldUntil until when legacy may hold a unit of a merchant, in epoch ms.
 */
export function withKnownRows<Methods extends KnownReads>(
  methods: Methods,
  heldUntil: (merchant_id: string) => Promise<number>,
  known: () => KnownRows,
): Methods {
  const link: Store['link'] = (legacy_id) => known().get('link', legacy_id, () => methods.link(legacy_id));
  const merchant: Store['merchant'] = (id) => known().get('merchant', id, () => methods.merchant(id));
  const token: Store['token'] = (fingerprint) => known().get('token', fingerprint, () => methods.token(fingerprint));
  const merchantWithToken: Store['merchantWithToken'] = async (merchant_id, fingerprint) => {
    // The token first: the merchant that is read after it has the site that it was accepted with.
    const accepted = await token(fingerprint);
    const its = await merchant(merchant_id);
    if (its === null) return null;
    const accepted_until = accepted?.merchant_id === merchant_id ? accepted.accepted_until : null;
    // A look of its own is no slower here, and most of those who name a unit need none.
    return { merchant: its, accepted_until, is_free: false };
  };
  return {
    ...methods,
    merchant,
    token,
    merchantWithToken,
    link,
    linkByMerchantOrder: async (id) => {
      const read: { link?: Link | null } = {};
      const legacy_id = await known().get('merchant_order', String(id), async () => {
        read.link = await methods.linkByMerchantOrder(id);
        return read.link === null ? null : read.link.legacy_id;
      });
      return read.link !== undefined || legacy_id === null ? (read.link ?? null) : link(legacy_id);
    },
    linksByClientReference: async (merchant_id, reference, limit) => {
      const read: { links?: Link[] } = {};
      const look = async (): Promise<Referenced | null> => {
        read.links = await methods.linksByClientReference(merchant_id, reference, limit);
        if (read.links.length > KEPT_LINKS) return null;
        return { ids: read.links.map(({ legacy_id }) => legacy_id), is_all: read.links.length < limit };
      };
      const found = await known().get('reference', referenceKey(merchant_id, reference), look);
      if (read.links !== undefined || found === null) return read.links ?? [];
      if (!found.is_all && found.ids.length < limit)
        return methods.linksByClientReference(merchant_id, reference, limit);
      return (await Promise.all(found.ids.slice(0, limit).map(link))).filter((one) => one !== null);
    },
    heldByLegacy: async (merchant_id, slot, now, which) => {
      // Known of the merchant, not of its units: most merchants have nothing there, and one has thousands of units.
      const known_until = await known().get('held_until', merchant_id, async () => ({
        at: await heldUntil(merchant_id),
      }));
      const is_free = known_until !== null && now >= known_until.at;
      return is_free ? null : methods.heldByLegacy(merchant_id, slot, now, which);
    },
  };
}

/** Links that a reference names, newest first. */
interface Referenced {
  ids: readonly string[];
  /** Nobody who asks for more would be told more. */
  is_all: boolean;
}
