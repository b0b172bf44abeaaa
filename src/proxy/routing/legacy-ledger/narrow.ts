/** Finds out which point of sale a sale is about that was carried by a number nobody had looked up. */

import { isNoPosOfOrders, lookUpPos, POS_LOOKUP_MS } from '../../qr/pos-lookup.ts';
import type { LegacySale } from '../../records/routing.ts';
import type { Runtime } from '../../runtime.ts';
import { slotOf } from '../../sales/link.ts';
import type { Secret } from '../../secret.ts';

/**
 * Looks up the point of sale of a sale that stands for any of them, so that it holds that one alone, or none when orders
 * can't know it.
 * @param token accepted as the merchant's, by orders or by legacy. @returns false while nobody can tell.
 */
export async function narrow(runtime: Runtime, sale: LegacySale, token: Secret): Promise<boolean> {
  const lookup = await lookUpPos(runtime, sale.merchant_id, token, sale.unit, POS_LOOKUP_MS);
  if (lookup.kind === 'known') {
    const { external_pos_id } = lookup;
    await runtime.store.saveLegacySale(sale.id, { unit: external_pos_id, slot: slotOf('qr', external_pos_id) });
    return true;
  }
  if (!isNoPosOfOrders(lookup)) return false;
  await runtime.store.saveLegacySale(sale.id, { slot: null });
  return true;
}
