/** Where one call goes: new work follows the merchant's stage, an existing id its lane of birth (DESIGN, Words: Lane). */

import type { Answered } from './answer.ts';
import { claimedMerchant, identify, rememberedMerchant } from './identity.ts';
import type { Link } from './link.ts';
import type { Merchant } from './merchant.ts';
import type { Runtime } from './runtime.ts';
import type { Secret } from './secret.ts';

export type Lane =
  | { lane: 'legacy' }
  | { lane: 'orders'; merchant: Merchant; link: Link | null }
  | { lane: 'refused'; answer: Answered };

/** What an operation names: an intent by its id, or the unit a new one is for. */
export interface Named {
  legacy_id: string | null;
  unit: string | null;
}

/**
 * Chooses the lane. A merchant on legacy is carried without asking the upstream about its token; whatever reads or
 * changes the map needs an accepted token first, and an id of another merchant is treated as unknown. A unit with
 * live work on orders is not handed to legacy before that is over, whatever the stage is now: the retry of a create
 * in doubt must not become a second charge there (`reliability.md` §3.10, DESIGN decision 6).
 */
export async function chooseLane(runtime: Runtime, token: Secret, { legacy_id, unit }: Named): Promise<Lane> {
  const link = legacy_id === null ? null : await runtime.store.link(legacy_id.toLowerCase());
  if (legacy_id !== null && link === null) return { lane: 'legacy' };
  const claimed = claimedMerchant(token) ?? (await rememberedMerchant(runtime, token));
  if (link === null && claimed !== null && (await isLegacy(runtime, claimed, unit))) return { lane: 'legacy' };
  const identity = await identify(runtime, token);
  if (identity.kind === 'refused') return { lane: 'refused', answer: identity.answer };
  const { merchant } = identity;
  if (link !== null) {
    return link.merchant_id === merchant.id ? { lane: 'orders', merchant, link } : { lane: 'legacy' };
  }
  return (await isLegacy(runtime, merchant.id, unit)) ? { lane: 'legacy' } : { lane: 'orders', merchant, link: null };
}

/** The merchant's new work goes to legacy, and nothing of this unit is open on orders. */
async function isLegacy(runtime: Runtime, merchant_id: string, unit: string | null): Promise<boolean> {
  const merchant = await runtime.store.merchant(merchant_id);
  if (stageOf(runtime, merchant) === 'orders') return false;
  return unit === null || (await runtime.store.liveLink(merchant_id, unit)) === null;
}

/** The stage in force. */
export function stageOf(runtime: Runtime, merchant: Merchant | null): 'legacy' | 'orders' {
  return merchant?.settings.stage ?? runtime.settings.merchants.stage;
}
