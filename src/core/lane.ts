/** Where one call goes: new work follows the merchant's stage, an existing id its lane of birth (DESIGN, Words: Lane). */
import type { CommonErrorName } from '../contract/legacy-errors.ts';
import { claimedMerchant, identify, rememberedMerchant } from './identity.ts';
import { type Link, slotOf } from './link.ts';
import type { Merchant } from './merchant.ts';
import { findUnseenPayment } from './payments/owner.ts';
import { lookUpPos } from './qr/pos-lookup.ts';
import type { Runtime } from './runtime.ts';
import type { Secret } from './secret.ts';

export type Lane =
  | { lane: 'legacy' }
  | { lane: 'orders'; merchant: Merchant; link: Link | null }
  | { lane: 'refused'; error: CommonErrorName };

/** What a call is about, which decides its lane. */
export type Named =
  /** An existing id, looked up already; null when it is none of ours. */
  | { kind: 'link'; link: Link | null }
  /** A unit, by the slot of its live link: new work, or whatever is open there. */
  | { kind: 'slot'; slot: string }
  /** A point of sale by its internal number, which has to be looked up before its slot is known. */
  | { kind: 'pos'; pos_id: string }
  /** A payment whose number no link has: foreign, or one of a sale on orders that has not seen its payment yet. */
  | { kind: 'payment'; payment_id: string }
  /** Whatever the merchant's past on orders has: searches. */
  | { kind: 'history' }
  /** Nothing that Puente remembers. */
  | { kind: 'merchant' };

/**
 * Chooses the lane. A merchant on legacy is carried without asking the upstream about its token; whatever reads or
 * changes the map needs an accepted token first, and an id of another merchant is treated as unknown. A unit with
 * live work on orders is not handed to legacy before that is over, whatever the stage is now: the retry of a create
 * in doubt must not become a second charge there (`reliability.md` §3.10, DESIGN decision 6).
 */
export async function chooseLane(runtime: Runtime, token: Secret, named: Named): Promise<Lane> {
  if (named.kind === 'link' && named.link === null) return { lane: 'legacy' };
  const claimed = claimedMerchant(token) ?? (await rememberedMerchant(runtime, token));
  if (claimed !== null && (await isLegacy(runtime, claimed, named))) return { lane: 'legacy' };
  const identity = await identify(runtime, token);
  if (identity.kind === 'refused') {
    // Most payments nobody here has seen are legacy's, which judges the token itself.
    return named.kind === 'payment' ? { lane: 'legacy' } : { lane: 'refused', error: identity.error };
  }
  const { merchant } = identity;
  if (named.kind === 'link') {
    return named.link?.merchant_id === merchant.id
      ? { lane: 'orders', merchant, link: named.link }
      : { lane: 'legacy' };
  }
  if (named.kind === 'payment') return unseenPaymentLane(runtime, merchant, token, named.payment_id);
  const legacy = named.kind === 'pos' ? await isPosLegacy(runtime, merchant, token, named.pos_id) : false;
  return legacy || (await isLegacy(runtime, merchant.id, named))
    ? { lane: 'legacy' }
    : { lane: 'orders', merchant, link: null };
}

/** Asks whose the payment is only where the merchant has had sales on orders. */
async function unseenPaymentLane(
  runtime: Runtime,
  merchant: Merchant,
  token: Secret,
  payment_id: string,
): Promise<Lane> {
  if (!(await hasHistory(runtime, merchant.id))) return { lane: 'legacy' };
  const link = await findUnseenPayment(runtime, token, merchant.id, payment_id);
  return link === null ? { lane: 'legacy' } : { lane: 'orders', merchant, link };
}

/** Asks what the number stands for only where something of the merchant is live on orders; what can't be told is legacy's. */
async function isPosLegacy(runtime: Runtime, merchant: Merchant, token: Secret, pos_id: string): Promise<boolean> {
  if (stageOf(runtime, merchant) === 'orders') return false;
  const lookup = await lookUpPos(runtime, merchant.id, token, pos_id);
  if (lookup.kind === 'failed') return true;
  return (await runtime.store.liveLink(merchant.id, slotOf('qr', lookup.external_pos_id))) === null;
}

/** The merchant's new work goes to legacy, and nothing that the call is about is on orders. */
async function isLegacy(runtime: Runtime, merchant_id: string, named: Named): Promise<boolean> {
  if (named.kind === 'link') return false;
  if (named.kind === 'payment') return !(await hasHistory(runtime, merchant_id));
  const merchant = await runtime.store.merchant(merchant_id);
  if (stageOf(runtime, merchant) === 'orders') return false;
  if (named.kind === 'slot') return (await runtime.store.liveLink(merchant_id, named.slot)) === null;
  if (named.kind === 'pos') return !(await hasLiveQr(runtime, merchant_id));
  return named.kind === 'merchant' || !(await hasHistory(runtime, merchant_id));
}

async function hasLiveQr(runtime: Runtime, merchant_id: string): Promise<boolean> {
  return (await runtime.store.liveSlots(merchant_id)).some((slot) => slot.startsWith(slotOf('qr', '')));
}

/** The merchant has had sales on orders. */
async function hasHistory(runtime: Runtime, merchant_id: string): Promise<boolean> {
  return (await runtime.store.linksOf(merchant_id, 0, Number.MAX_SAFE_INTEGER, 1)).length > 0;
}

/** The stage in force. */
export function stageOf(runtime: Runtime, merchant: Merchant | null): 'legacy' | 'orders' {
  return merchant?.settings.stage ?? runtime.settings.merchants.stage;
}
