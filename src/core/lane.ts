/** Where one call goes: new work follows the merchant's stage, an existing id its lane of birth (DESIGN, Words: Lane). */

import type { LegacyAnswer } from './answer.ts';
import { claimedMerchant, identify, rememberedMerchant } from './identity.ts';
import type { Link } from './link.ts';
import type { Merchant } from './merchant.ts';
import type { Runtime } from './runtime.ts';
import type { Secret } from './secret.ts';

export type Lane =
  | { lane: 'legacy' }
  | { lane: 'orders'; merchant: Merchant; link: Link | null }
  | { lane: 'refused'; answer: LegacyAnswer };

/**
 * Chooses the lane. A merchant on legacy is carried without asking the upstream about its token; whatever reads or
 * changes the map needs an accepted token first, and an id of another merchant is treated as unknown.
 * @param legacy_id the intent id in the path, if the operation names one.
 */
export async function chooseLane(runtime: Runtime, token: Secret, legacy_id: string | null): Promise<Lane> {
  const link = legacy_id === null ? null : await runtime.store.link(legacy_id.toLowerCase());
  if (legacy_id !== null && link === null) return { lane: 'legacy' };
  const claimed = claimedMerchant(token) ?? (await rememberedMerchant(runtime, token));
  if (link === null && claimed !== null && (await claimedStage(runtime, claimed)) === 'legacy')
    return { lane: 'legacy' };
  const identity = await identify(runtime, token);
  if (identity.kind === 'refused') return { lane: 'refused', answer: identity.answer };
  const { merchant } = identity;
  if (link !== null) {
    return link.merchant_id === merchant.id ? { lane: 'orders', merchant, link } : { lane: 'legacy' };
  }
  return stageOf(runtime, merchant) === 'orders' ? { lane: 'orders', merchant, link: null } : { lane: 'legacy' };
}

async function claimedStage(runtime: Runtime, merchant_id: string): Promise<'legacy' | 'orders'> {
  return stageOf(runtime, await runtime.store.merchant(merchant_id));
}

function stageOf(runtime: Runtime, merchant: Merchant | null): 'legacy' | 'orders' {
  return merchant?.settings.stage ?? runtime.settings.merchants.stage;
}
