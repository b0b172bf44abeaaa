/** Whose call it is, as far as that is known without asking anybody, and what that merchant's settings ask of the door. */

import type { Merchant, UnknownPolicy } from '../routing/merchant.ts';
import { claimedMerchant, rememberedMerchant } from '../routing/merchant-identity.ts';
import type { Runtime } from '../runtime.ts';
import type { Secret } from '../secret.ts';
import type { Ongoing } from './exchange.ts';

/** Names the merchant of a call by its claim or its memory. Never throws: a call is carried also while the store is away. */
export async function nameCaller(runtime: Runtime, call: Ongoing, token: Secret | null): Promise<void> {
  call.token = token;
  if (token === null) return;
  try {
    await nameMerchant(runtime, call, claimedMerchant(token) ?? (await rememberedMerchant(runtime, token)));
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'unknown';
    runtime.log.warn('the merchant of a carried call could not be read', {
      merchant: call.merchant_id ?? 'none',
      cause,
    });
  }
}

/** @throws PuenteError of the store. */
export async function nameMerchant(runtime: Runtime, call: Ongoing, merchant_id: string | null): Promise<void> {
  call.merchant_id = merchant_id;
  if (merchant_id !== null) setMerchant(runtime, call, await runtime.store.merchant(merchant_id));
}

/** From here on the exchange is gathered as the merchant's settings say. */
export function setMerchant(runtime: Runtime, call: Ongoing, merchant: Merchant | null): void {
  call.merchant = merchant;
  call.merchant_id = merchant?.id ?? call.merchant_id;
  call.draft.rules = {
    captured: merchant?.settings.capture ?? runtime.settings.merchants.capture,
    unknown_field: policyOf(runtime, merchant, 'unknown_field'),
  };
}

/** The merchant's word on what no table knows, or the default. */
export function policyOf(
  runtime: Runtime,
  merchant: Merchant | null,
  what: 'unknown_endpoint' | 'unknown_field' | 'unknown_header',
): UnknownPolicy {
  return merchant?.settings[what] ?? runtime.settings.merchants[what];
}
