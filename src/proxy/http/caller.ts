/** Whose call it is, as far as that is known without asking anybody, and what that merchant's settings ask of the door. */

import type { Ports } from '../ports.ts';
import type { Merchant, UnknownPolicy } from '../routing/merchant.ts';
import { claimedMerchant, rememberedMerchant } from '../routing/merchant-identity.ts';
import type { Secret } from '../secret.ts';
import type { Ongoing } from './exchange.ts';

/** Names the merchant of a call by its claim or its memory. Never throws: a call is carried also while the store is away. */
export async function nameCaller(ports: Ports, call: Ongoing, token: Secret | null): Promise<void> {
  call.token = token;
  if (token === null) return;
  try {
    await nameMerchant(ports, call, claimedMerchant(token) ?? (await rememberedMerchant(ports, token)));
  } catch (error) {
    const cause = error instanceof Error ? error.message : 'unknown';
    ports.log.warn('the merchant of a carried call could not be read', {
      merchant: call.merchant_id ?? 'none',
      cause,
    });
  }
}

/** @throws PuenteError of the store. */
export async function nameMerchant(ports: Ports, call: Ongoing, merchant_id: string | null): Promise<void> {
  call.merchant_id = merchant_id;
  if (merchant_id !== null) setMerchant(ports, call, await ports.store.merchants.merchant(merchant_id));
}

/** From here on the exchange is gathered as the merchant's settings say. */
export function setMerchant(ports: Ports, call: Ongoing, merchant: Merchant | null): void {
  call.merchant = merchant;
  call.merchant_id = merchant?.id ?? call.merchant_id;
  call.draft.rules = {
    captured: merchant?.settings.capture ?? ports.settings.merchants.capture,
    unknown_field: policyOf(ports, merchant, 'unknown_field'),
  };
}

/** The merchant's word on what no table knows, or the default. */
export function policyOf(
  ports: Ports,
  merchant: Merchant | null,
  what: 'unknown_endpoint' | 'unknown_field' | 'unknown_header',
): UnknownPolicy {
  return merchant?.settings[what] ?? ports.settings.merchants[what];
}
