/** The lane of a call: new work follows the stage of the merchant, an existing id the lane it was created on (`docs/glossary.md` Lane). */

import { INTENT_ID } from '../../contract/identifiers.ts';
import type { CommonErrorName } from '../../contract/legacy-errors.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { OperationKind } from '../evidence/exchange.ts';
import type { LegacyCall } from '../http/answer.ts';
import { isMintedMerchantOrder, merchantOrderOfPayment } from '../ids.ts';
import { findUnseenPayment } from '../payments/owner.ts';
import type { Ports } from '../ports.ts';
import { isNoPosOfOrders, lookUpPos, POS_LOOKUP_MS } from '../qr/point-of-sale.ts';
import { type Link, slotOf, unitOf } from '../sales/link.ts';
import type { Secret } from '../vault.ts';
import { isHeldByLegacy } from './legacy-sale-end.ts';
import type { Merchant, MerchantWithToken, Stage } from './merchant.ts';
import { claimedMerchant, identify, rememberedMerchant } from './merchant-identity.ts';
import { isOnOrders, stageInForce } from './stage.ts';

/** `stage`: in force for the call, safety stop included. */
export type Lane =
  /** `merchant_id`: whom the token names or was accepted for; may be unproven, because nobody was asked. Null: nobody known.
   * `is_token_refused`: orders have refused the token, and it goes to legacy for what legacy has there. */
  | { lane: 'legacy'; stage: Stage; merchant_id: string | null; is_token_refused?: boolean }
  | { lane: 'orders'; stage: Stage; merchant: Merchant; link: Link | null }
  | { lane: 'refused'; stage: Stage; merchant_id: string | null; error: CommonErrorName };

/** A call without an existing id; an id stays on the lane that it was created on. */
type NewWork = Exclude<Named, { kind: 'link' }>;

/**
 * Chooses the lane of a call of the given kind. A merchant on legacy is carried without asking the upstream about its
 * token; whatever reads or changes the map needs an accepted token first, and an id of another merchant is treated as
 * unknown. A unit with live work in one lane is not handed to the other before that is over, whatever the stage is now:
 * the retry of a create in doubt must not become a second charge (`docs/protocol.md` §3.10, `docs/architecture.md` Decision 6).
 */
export async function chooseLane(
  ports: Ports,
  token: Secret,
  naming: Named | Promise<Named>,
  kind: OperationKind,
): Promise<Lane> {
  // In one round trip, where that is what a look takes.
  const [named, { claimed, seen }] = await Promise.all([naming, seenBefore(ports, token, naming)]);
  const known = seen?.merchant ?? null;
  const { stage } = stageInForce(ports.settings, known, kind);
  const carried: Lane = { lane: 'legacy', stage, merchant_id: claimed };
  noteId(ports, named);
  if (named.kind === 'link' && named.link === null) return carried;
  const may_be_legacy =
    claimed !== null && named.kind !== 'link' && !isMeantForOrders(ports, claimed, known, named, kind);
  if (may_be_legacy && !(await hasAnythingOnOrders(ports, claimed, named, kind))) return carried;
  const identity = await identify(ports, token, seen);
  if (identity.kind === 'accepted') {
    const { merchant } = identity;
    // Whoever had to be asked whose the token is took time, in which the unit may have been taken.
    const is_free = seen?.is_free === true && merchant === seen.merchant;
    return await laneOfMerchant(ports, merchant, token, named, kind, is_free);
  }
  // Most payments nobody here has seen are legacy's, and so is what it has on a unit: it judges the token itself.
  const is_token_refused = identity.error === 'unauthorized';
  const which = is_token_refused ? 'proven' : 'any';
  const has_unit = claimed !== null && named.kind === 'slot';
  const judgesItself = named.kind === 'payment' || (has_unit && (await isOnLegacyAlone(ports, claimed, named, which)));
  if (judgesItself) return { ...carried, is_token_refused };
  return { lane: 'refused', stage, merchant_id: claimed, error: identity.error };
}

/** What is known before anybody is asked: the merchant, its token, and a unit that decides about the lane. */
async function seenBefore(
  ports: Ports,
  token: Secret,
  named: Named | Promise<Named>,
): Promise<{ claimed: string | null; seen: MerchantWithToken | null }> {
  const claimed = claimedMerchant(token) ?? (await rememberedMerchant(ports, token));
  if (claimed === null) return { claimed, seen: null };
  const has_unit = !(named instanceof Promise) && named.kind === 'slot' && named.work !== 'beside';
  const unit = has_unit ? { slot: named.slot, now: ports.clock.now() } : null;
  const seen = await ports.store.merchants.merchantWithToken(claimed, ports.vault.fingerprint(token), unit);
  return { claimed, seen };
}

/** The lane of a call whose token was accepted as this merchant's. @param is_free legacy holds nothing of the named unit. */
async function laneOfMerchant(
  ports: Ports,
  merchant: Merchant,
  token: Secret,
  named: Named,
  kind: OperationKind,
  is_free: boolean,
): Promise<Lane> {
  const { stage } = stageInForce(ports.settings, merchant, kind);
  const legacy: Lane = { lane: 'legacy', stage, merchant_id: merchant.id };
  const orders = (link: Link | null = null): Lane => ({ lane: 'orders', stage, merchant, link });
  switch (named.kind) {
    case 'link':
      return named.link?.merchant_id === merchant.id ? orders(named.link) : legacy;
    case 'payment': {
      const link = await unseenPayment(ports, merchant, token, named.payment_id);
      return link === null ? legacy : orders(link);
    }
    case 'slot':
      return (await isUnitOnOrders(ports, merchant, token, named, kind, is_free)) ? orders() : legacy;
    case 'pos': {
      // With nothing of its tills on legacy the stage says it all, and the story asks what it needs.
      if (stage === 'orders' && !(await mayHaveQrOnLegacy(ports, merchant.id))) return orders();
      // Its story needs the number anyway; everywhere else legacy may be the place for it.
      const timeout_ms = stage === 'orders' ? ports.settings.reads.timeout_ms : POS_LOOKUP_MS;
      const lookup = await lookUpPos(ports, merchant.id, token, named.pos_id, timeout_ms);
      if (lookup.kind === 'known') {
        const slot = slotOf('qr', lookup.external_pos_id);
        return (await isUnitOnOrders(ports, merchant, token, { slot, work: named.work }, kind)) ? orders() : legacy;
      }
      // The story tells what is wrong with the number; on the way there legacy is the place for what can't be told …
      if (stage === 'orders') return orders();
      if (isNoPosOfOrders(lookup) || !(await hasLiveQr(ports, merchant.id))) return legacy;
      // … unless it may be the one that has work on orders.
      return { lane: 'refused', stage, merchant_id: merchant.id, error: 'unavailable' };
    }
    case 'history':
      return stage === 'orders' || (await hasHistory(ports, merchant.id)) ? orders() : legacy;
    case 'merchant':
      return isOnOrders(ports.settings, merchant, merchant.id, kind, null) ? orders() : legacy;
  }
}

/** By the stage, whatever is there. */
function isMeantForOrders(
  { settings }: Ports,
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
  ports: Ports,
  merchant_id: string,
  named: NewWork,
  kind: OperationKind,
): Promise<boolean> {
  switch (named.kind) {
    case 'payment':
    case 'history':
      return await hasHistory(ports, merchant_id);
    case 'slot':
      return await hasOwnWork(ports, merchant_id, named, kind);
    case 'pos':
      return await hasLiveQr(ports, merchant_id);
    case 'merchant':
      return false; // not of a unit, nor of the past
  }
}

/** Asks whose the payment is only where the merchant has had sales on orders. */
async function unseenPayment(
  ports: Ports,
  merchant: Merchant,
  token: Secret,
  payment_id: string,
): Promise<Link | null> {
  if (!(await hasHistory(ports, merchant.id))) return null;
  return findUnseenPayment(ports, token, merchant.id, payment_id);
}

/** More open sales than this are taken for one of QR among them. */
const LOOKED_AT = 1_000;

async function mayHaveQrOnLegacy(ports: Ports, merchant_id: string): Promise<boolean> {
  const now = ports.clock.now();
  if (ports.memory.unrecorded.holdsAny(merchant_id, 'qr', now)) return true;
  const open = await ports.store.legacy_sales.openLegacySales(merchant_id, now, LOOKED_AT);
  return open.length === LOOKED_AT || open.some(({ slot }) => slot?.startsWith(slotOf('qr', '')));
}

async function hasLiveQr(ports: Ports, merchant_id: string): Promise<boolean> {
  return (await ports.store.links.liveSlots(merchant_id)).some((slot) => slot.startsWith(slotOf('qr', '')));
}

/** The merchant has had sales on orders. */
async function hasHistory(ports: Ports, merchant_id: string): Promise<boolean> {
  return (await ports.store.history.linksOf(merchant_id, 0, Number.MAX_SAFE_INTEGER, 1)).length > 0;
}

/** For the exchange record: whose life the call belongs to. */
function noteId(ports: Ports, named: Named): void {
  const draft = ports.exchange;
  if (draft === null || named.kind !== 'link') return;
  draft.legacy_id = named.link?.legacy_id ?? named.legacy_id ?? null;
}

// The lane of a call about a unit: whatever is live there decides before the stage does (`docs/architecture.md` Decision 6).

/**
 * True for work that belongs on orders: what is live on its unit decides, on either side; then the stage.
 * @param is_free the store has just said that legacy holds nothing of the unit.
 */
export async function isUnitOnOrders(
  ports: Ports,
  merchant: Merchant,
  token: Secret,
  unit: UnitWork,
  kind: OperationKind,
  is_free = false,
): Promise<boolean> {
  const { slot, work } = unit;
  const is_by_stage = isOnOrders(ports.settings, merchant, merchant.id, kind, slot);
  // The commonest: whatever is live on the unit is on orders as well, so that nobody has to look for it. A unit that legacy may
  // hold is looked at twice instead.
  if (is_by_stage && (work === 'beside' || !(await mayBeHeld(ports, merchant.id, slot, is_free)))) return true;
  if (await hasOwnWork(ports, merchant.id, unit, kind)) return true;
  // Legacy itself answers what is asked of its own; only a new sale is worth a question.
  if (!is_by_stage || work === 'look') return false;
  const deadline = ports.clock.now() + ports.settings.reads.timeout_ms;
  return !(await isHeldByLegacy(ports, merchant.id, slot, token, deadline));
}

/**
 * For a story whose unit turned out to be free: the merchant may have been moved, or legacy have taken the unit, since the
 * lane was chosen.
 */
export async function isStillOnOrders(ports: Ports, call: LegacyCall, slot: string): Promise<boolean> {
  const merchant = (await ports.store.merchants.merchant(call.merchant.id)) ?? call.merchant;
  return isUnitOnOrders(ports, merchant, call.token, { slot, work: 'look' }, call.operation.kind);
}

/** The longest lifetime of a Point order (`docs/field-notes.md` Spec Limits); who repeats an unanswered QR sale does so far earlier. */
const LONGEST_LIFETIME_MS = 3 * 60 * 60_000;

/**
 * Something of the unit is on orders: a live sale that takes it, or one that its till may not know of and may ask for again, which
 * must not be charged a second time on legacy.
 */
export async function hasOwnWork(
  ports: Ports,
  merchant_id: string,
  { slot, work }: UnitWork,
  kind: OperationKind,
): Promise<boolean> {
  const { store, clock, settings } = ports;
  if (work === 'look') return (await store.links.liveLink(merchant_id, slot)) !== null;
  if (work === 'beside' && kind !== 'qr') return false;
  const { replay_window_ms, join_window_ms } = settings.create;
  const now = clock.now();
  const at = { slot: work === 'beside' ? null : slot, unit: unitOf(slot) };
  return await store.links.hasWork(merchant_id, at, now - LONGEST_LIFETIME_MS - replay_window_ms, now - join_window_ms);
}

/** Legacy may have work on the unit, as far as can be told without asking it. */
async function mayBeHeld(ports: Ports, merchant_id: string, slot: string, is_free = false): Promise<boolean> {
  const now = ports.clock.now();
  if (ports.memory.unrecorded.holds(merchant_id, slot, now)) return true;
  if (is_free) return false;
  return (await ports.store.legacy_sales.heldByLegacy(merchant_id, slot, now)) !== null;
}

/**
 * What legacy has on a unit that has nothing on orders. Only what is `proven` for a token that orders refuse: otherwise
 * invented ones could hold a unit there for one another.
 */
export async function isOnLegacyAlone(
  ports: Ports,
  merchant_id: string,
  { slot, work }: UnitWork,
  which: 'any' | 'proven',
): Promise<boolean> {
  if (work === 'beside' || (await ports.store.links.liveLink(merchant_id, slot)) !== null) return false;
  if (which === 'any') return mayBeHeld(ports, merchant_id, slot);
  return (await ports.store.legacy_sales.heldByLegacy(merchant_id, slot, ports.clock.now(), which)) !== null;
}

// What the path of an operation is about: looked up before the lane is chosen (`docs/glossary.md` Lane).

type PathValues = Readonly<Record<string, string>>;
/** Reads the map at most; asks nobody. */
type Naming = (ports: Ports, path: PathValues) => Named | Promise<Named>;

export const byIntent: Naming = async (ports, { intent_id = '' }) => {
  const legacy_id = intent_id.toLowerCase();
  const link = await ports.store.links.link(legacy_id);
  return INTENT_ID.test(legacy_id) ? { kind: 'link', link, legacy_id } : { kind: 'link', link };
};

/** A sale on the terminal. */
export const byDevice: Naming = (_runtime, { device_id = '' }) => ({
  kind: 'slot',
  slot: slotOf('point', device_id),
  work: 'sale',
});

/** A setting of the terminal. */
export const byDeviceSetting: Naming = (_runtime, { device_id = '' }) => ({
  kind: 'slot',
  slot: slotOf('point', device_id),
  work: 'beside',
});

/** A sale that the point of sale shows on its own code. */
export const byPointOfSale: Naming = (_runtime, path) => pointOfSale(path, 'sale');

/** What the point of sale shows. */
export const atPointOfSale: Naming = (_runtime, path) => pointOfSale(path, 'look');

/** A code of its own for one sale: any number of them may be live on one point of sale. */
export const byDynamicCode: Naming = (_runtime, path) => pointOfSale(path, 'beside');

function pointOfSale({ external_pos_id, pos_id = '' }: PathValues, work: 'sale' | 'look' | 'beside'): Named {
  if (external_pos_id === undefined) return { kind: 'pos', pos_id, work };
  return { kind: 'slot', slot: slotOf('qr', external_pos_id), work };
}

/** What can be a payment's number; anything else names nothing. */
const PAYMENT_NUMBER = /^[1-9]\d{0,17}$/;

/** A minted number goes on naming its sale after the service has given a real one. */
export const byPayment: Naming = async (ports, { payment_id = '' }) => {
  const link = await ports.store.links.linkByPayment(payment_id);
  if (link !== null || !PAYMENT_NUMBER.test(payment_id)) return { kind: 'link', link };
  const merchant_order_id = merchantOrderOfPayment(payment_id);
  if (merchant_order_id === null) return { kind: 'payment', payment_id };
  if (!Number.isSafeInteger(merchant_order_id)) return { kind: 'link', link: null };
  return { kind: 'link', link: await ports.store.links.linkByMerchantOrder(merchant_order_id) };
};

export const byMerchantOrder: Naming = async (ports, { merchant_order_id = '' }) => {
  const id = /^\d{1,16}$/.test(merchant_order_id) ? Number(merchant_order_id) : 0;
  return { kind: 'link', link: isMintedMerchantOrder(id) ? await ports.store.links.linkByMerchantOrder(id) : null };
};

export const byHistory: Naming = () => ({ kind: 'history' });
export const byMerchant: Naming = () => ({ kind: 'merchant' });

/** By the names of operations' stories in `mappings/operations.yaml`; `legacyRouter` refuses a name without a row. */
export const namings: Readonly<Record<string, Naming>> = {
  list_devices: byMerchant,
  change_mode: byDeviceSetting,
  create_intent: byDevice,
  get_intent: byIntent,
  cancel_intent: byIntent,
  cancel_without_device: byIntent,
  list_events: byHistory,
  last_status: byIntent,
  // Whose payment it is stands in the body: its story looks, for whoever has had sales on orders.
  refund_intent: byHistory,
  create_preference: byPointOfSale,
  create_store_order: byPointOfSale,
  create_dynamic_code: byDynamicCode,
  create_hybrid_code: byPointOfSale,
  cancel_point_of_sale: atPointOfSale,
  confirm_withdrawal: byMerchantOrder,
  get_point_of_sale: atPointOfSale,
  get_merchant_order: byMerchantOrder,
  search_merchant_orders: byHistory,
  search_payments: byHistory,
  get_payment: byPayment,
  search_collections: byHistory,
  get_collection: byPayment,
  create_refund: byPayment,
  list_refunds: byPayment,
  get_refund: byPayment,
  refund_collection: byPayment,
};

/** What a call is about, by its operation and the values of its path. May read the store; makes no network call. */
export function namedBy(ports: Ports, { story }: Operation, path: PathValues): Named | Promise<Named> {
  const names = namings[story] as Naming; // `legacyRouter` refuses a story without one
  return names(ports, path);
}

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

/**
 * Work on a unit, by its slot. `sale`: it takes the unit. `look`: it reads or takes away what is there. For both, whatever
 * is live on the unit decides before the stage does. `beside`: a setting, or a sale that takes no unit.
 */
export interface UnitWork {
  slot: string;
  work: 'sale' | 'look' | 'beside';
}
