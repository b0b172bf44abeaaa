/** Where one call goes: new work follows the merchant's stage, an existing id its lane of birth (DESIGN, Words: Lane). */
import type { CommonErrorName } from '../../contract/legacy-errors.ts';
import type { OperationKind } from '../evidence/exchange.ts';
import { findUnseenPayment } from '../payments/owner.ts';
import { isNoPosOfOrders, lookUpPos, POS_LOOKUP_MS } from '../qr/pos-lookup.ts';
import type { Runtime } from '../runtime.ts';
import { type Link, slotOf } from '../sales/link.ts';
import type { Secret } from '../secret.ts';
import type { Merchant, MerchantWithToken, Stage } from './merchant.ts';
import { claimedMerchant, identify, rememberedMerchant } from './merchant-identity.ts';
import { isOnOrders, stageInForce } from './stage.ts';
import { hasOwnWork, isOnLegacyAlone, isUnitOnOrders, type UnitWork } from './unit-lane.ts';

/** `stage`: in force for the call, safety stop included. */
export type Lane =
  /** `merchant_id`: whom the token names or was accepted for; may be unproven, because nobody was asked. Null: nobody known.
   * `is_token_refused`: orders have refused the token, and it goes to legacy for what legacy has there. */
  | { lane: 'legacy'; stage: Stage; merchant_id: string | null; is_token_refused?: boolean }
  | { lane: 'orders'; stage: Stage; merchant: Merchant; link: Link | null }
  | { lane: 'refused'; stage: Stage; merchant_id: string | null; error: CommonErrorName };

/** What a call is about, which decides its lane. */
export type Named =
  /** An existing id, looked up already; null when it is none of ours. `legacy_id`: as the path says it, where it is one. */
  | { kind: 'link'; link: Link | null; legacy_id?: string }
  | ({ kind: 'slot' } & UnitWork)
  /** A point of sale by its internal number, which has to be looked up before its slot is known. */
  | { kind: 'pos'; pos_id: string; work: UnitWork['work'] }
  /** A payment whose number no link has: foreign, or one of a sale on orders that has not seen its payment yet. */
  | { kind: 'payment'; payment_id: string }
  /** Whatever the merchant's past on orders has: searches. */
  | { kind: 'history' }
  /** Nothing that Puente remembers. */
  | { kind: 'merchant' };

/** Whatever is no existing id, which stays where it was born. */
type NewWork = Exclude<Named, { kind: 'link' }>;

/**
 * Chooses the lane of a call of the given kind. A merchant on legacy is carried without asking the upstream about its
 * token; whatever reads or changes the map needs an accepted token first, and an id of another merchant is treated as
 * unknown. A unit with live work in one lane is not handed to the other before that is over, whatever the stage is now:
 * the retry of a create in doubt must not become a second charge (`reliability.md` §3.10, DESIGN decision 6).
 */
export async function chooseLane(
  runtime: Runtime,
  token: Secret,
  naming: Named | Promise<Named>,
  kind: OperationKind,
): Promise<Lane> {
  // In one round trip, where that is what a look takes.
  const [named, { claimed, seen }] = await Promise.all([naming, seenBefore(runtime, token, naming)]);
  const known = seen?.merchant ?? null;
  const { stage } = stageInForce(runtime.settings, known, kind);
  const carried: Lane = { lane: 'legacy', stage, merchant_id: claimed };
  noteId(runtime, named);
  if (named.kind === 'link' && named.link === null) return carried;
  const may_be_legacy =
    claimed !== null && named.kind !== 'link' && !isMeantForOrders(runtime, claimed, known, named, kind);
  if (may_be_legacy && !(await hasAnythingOnOrders(runtime, claimed, named, kind))) return carried;
  const identity = await identify(runtime, token, seen);
  if (identity.kind === 'accepted') {
    const { merchant } = identity;
    // Whoever had to be asked whose the token is took time, in which the unit may have been taken.
    const is_free = seen?.is_free === true && merchant === seen.merchant;
    return await laneOfMerchant(runtime, merchant, token, named, kind, is_free);
  }
  // Most payments nobody here has seen are legacy's, and so is what it has on a unit: it judges the token itself.
  const is_token_refused = identity.error === 'unauthorized';
  const which = is_token_refused ? 'proven' : 'any';
  const has_unit = claimed !== null && named.kind === 'slot';
  const judgesItself =
    named.kind === 'payment' || (has_unit && (await isOnLegacyAlone(runtime, claimed, named, which)));
  if (judgesItself) return { ...carried, is_token_refused };
  return { lane: 'refused', stage, merchant_id: claimed, error: identity.error };
}

/** What is known before anybody is asked: the merchant, its token, and a unit that decides about the lane. */
async function seenBefore(
  runtime: Runtime,
  token: Secret,
  named: Named | Promise<Named>,
): Promise<{ claimed: string | null; seen: MerchantWithToken | null }> {
  const claimed = claimedMerchant(token) ?? (await rememberedMerchant(runtime, token));
  if (claimed === null) return { claimed, seen: null };
  const has_unit = !(named instanceof Promise) && named.kind === 'slot' && named.work !== 'beside';
  const unit = has_unit ? { slot: named.slot, now: runtime.clock.now() } : null;
  const seen = await runtime.store.merchantWithToken(claimed, runtime.vault.fingerprint(token), unit);
  return { claimed, seen };
}

/** The lane of a call whose token was accepted as this merchant's. @param is_free legacy holds nothing of the named unit. */
async function laneOfMerchant(
  runtime: Runtime,
  merchant: Merchant,
  token: Secret,
  named: Named,
  kind: OperationKind,
  is_free: boolean,
): Promise<Lane> {
  const { stage } = stageInForce(runtime.settings, merchant, kind);
  const legacy: Lane = { lane: 'legacy', stage, merchant_id: merchant.id };
  const orders = (link: Link | null = null): Lane => ({ lane: 'orders', stage, merchant, link });
  switch (named.kind) {
    case 'link':
      return named.link?.merchant_id === merchant.id ? orders(named.link) : legacy;
    case 'payment': {
      const link = await unseenPayment(runtime, merchant, token, named.payment_id);
      return link === null ? legacy : orders(link);
    }
    case 'slot':
      return (await isUnitOnOrders(runtime, merchant, token, named, kind, is_free)) ? orders() : legacy;
    case 'pos': {
      // With nothing of its tills on legacy the stage says it all, and the story asks what it needs.
      if (stage === 'orders' && !(await mayHaveQrOnLegacy(runtime, merchant.id))) return orders();
      // Its story needs the number anyway; everywhere else legacy may be the place for it.
      const timeout_ms = stage === 'orders' ? runtime.settings.reads.timeout_ms : POS_LOOKUP_MS;
      const lookup = await lookUpPos(runtime, merchant.id, token, named.pos_id, timeout_ms);
      if (lookup.kind === 'known') {
        const slot = slotOf('qr', lookup.external_pos_id);
        return (await isUnitOnOrders(runtime, merchant, token, { slot, work: named.work }, kind)) ? orders() : legacy;
      }
      // The story tells what is wrong with the number; on the way there legacy is the place for what can't be told …
      if (stage === 'orders') return orders();
      if (isNoPosOfOrders(lookup) || !(await hasLiveQr(runtime, merchant.id))) return legacy;
      // … unless it may be the one that has work on orders.
      return { lane: 'refused', stage, merchant_id: merchant.id, error: 'unavailable' };
    }
    case 'history':
      return stage === 'orders' || (await hasHistory(runtime, merchant.id)) ? orders() : legacy;
    case 'merchant':
      return isOnOrders(runtime.settings, merchant, merchant.id, kind, null) ? orders() : legacy;
  }
}

/** By the stage, whatever is there. */
function isMeantForOrders(
  { settings }: Runtime,
  merchant_id: string,
  merchant: Merchant | null,
  named: NewWork,
  kind: OperationKind,
): boolean {
  const { stage } = stageInForce(settings, merchant, kind);
  switch (named.kind) {
    case 'payment':
      return false;
    case 'slot':
      return isOnOrders(settings, merchant, merchant_id, kind, named.slot);
    case 'pos':
      return stage === 'orders' || stage === 'canary';
    case 'history':
      return stage === 'orders';
    case 'merchant':
      return isOnOrders(settings, merchant, merchant_id, kind, null);
  }
}

/** What the stage says is legacy's may be on orders all the same; where nothing is, nobody has to be asked whose the token is. */
async function hasAnythingOnOrders(
  runtime: Runtime,
  merchant_id: string,
  named: NewWork,
  kind: OperationKind,
): Promise<boolean> {
  switch (named.kind) {
    case 'payment':
    case 'history':
      return await hasHistory(runtime, merchant_id);
    case 'slot':
      return await hasOwnWork(runtime, merchant_id, named, kind);
    case 'pos':
      return await hasLiveQr(runtime, merchant_id);
    case 'merchant':
      return false; // not of a unit, nor of the past
  }
}

/** Asks whose the payment is only where the merchant has had sales on orders. */
async function unseenPayment(
  runtime: Runtime,
  merchant: Merchant,
  token: Secret,
  payment_id: string,
): Promise<Link | null> {
  if (!(await hasHistory(runtime, merchant.id))) return null;
  return findUnseenPayment(runtime, token, merchant.id, payment_id);
}

/** More open sales than this are taken for one of QR among them. */
const LOOKED_AT = 1_000;

async function mayHaveQrOnLegacy(runtime: Runtime, merchant_id: string): Promise<boolean> {
  const now = runtime.clock.now();
  if (runtime.unrecorded.holdsAny(merchant_id, 'qr', now)) return true;
  const open = await runtime.store.openLegacySales(merchant_id, now, LOOKED_AT);
  return open.length === LOOKED_AT || open.some(({ slot }) => slot?.startsWith(slotOf('qr', '')));
}

async function hasLiveQr(runtime: Runtime, merchant_id: string): Promise<boolean> {
  return (await runtime.store.liveSlots(merchant_id)).some((slot) => slot.startsWith(slotOf('qr', '')));
}

/** The merchant has had sales on orders. */
async function hasHistory(runtime: Runtime, merchant_id: string): Promise<boolean> {
  return (await runtime.store.linksOf(merchant_id, 0, Number.MAX_SAFE_INTEGER, 1)).length > 0;
}

/** For the exchange record: whose life the call belongs to. */
function noteId(runtime: Runtime, named: Named): void {
  const draft = runtime.exchange();
  if (draft === null || named.kind !== 'link') return;
  draft.legacy_id = named.link?.legacy_id ?? named.legacy_id ?? null;
}
