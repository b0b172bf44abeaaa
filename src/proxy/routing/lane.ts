/** The lane of a call: new work by stage, an existing id by the lane it was created on (`docs/glossary.md` Lane). */
import { INTENT_ID } from '../../contract/identifiers.ts';
import type { CommonErrorName } from '../../contract/legacy-errors.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { OperationKind } from '../evidence/exchange.ts';
import type { LegacyCall } from '../http/answer.ts';
import { isSyntheticMerchantOrder, merchantOrderOfPayment } from '../ids.ts';
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
  /** `merchant_id`: maybe only claimed by the token. `is_token_refused`: by the orders API; legacy may accept it. */
  | { lane: 'legacy'; stage: Stage; merchant_id: string | null; is_token_refused?: boolean }
  /** `is_by_unit`: the stage leaves new work on legacy, and only work of its unit is on orders. */
  | { lane: 'orders'; stage: Stage; merchant: Merchant; link: Link | null; is_by_unit: boolean }
  | { lane: 'refused'; stage: Stage; merchant_id: string | null; error: CommonErrorName };

/** A call without an existing id. */
type NewWork = Exclude<Named, { kind: 'link' }>;

/**
 * Chooses the lane of a call of the given kind. A merchant on legacy is proxied without verifying its token; calls that
 * read or change stored sales need an accepted token, and an id of another merchant counts as unknown. A unit with live
 * work on one lane stays there until it is terminal, whatever the stage: the retry of a create in doubt must not become
 * a second charge (`docs/protocol.md` §3.10, `docs/architecture.md` Decision 6).
 */
export async function chooseLane(
  ports: Ports,
  token: Secret,
  naming: Named | Promise<Named>,
  kind: OperationKind,
): Promise<Lane> {
  // Both at once: one round trip with a database server.
  const [named, { claimed, stored }] = await Promise.all([naming, storedClaim(ports, token, naming)]);
  const known = stored?.merchant ?? null;
  const { stage } = stageInForce(ports.settings, known, kind);
  const proxied: Lane = { lane: 'legacy', stage, merchant_id: claimed };
  noteId(ports, named);
  if (named.kind === 'link' && named.link === null) return proxied;
  const may_be_legacy =
    claimed !== null && named.kind !== 'link' && !isMeantForOrders(ports, claimed, known, named, kind);
  if (may_be_legacy && !(await hasAnythingOnOrders(ports, claimed, named, kind))) return proxied;
  const identity = await identify(ports, token, stored);
  if (identity.kind === 'accepted') {
    const { merchant } = identity;
    // After a call to upstream `is_free` no longer holds: another call may have taken the unit meanwhile.
    const is_free = stored?.is_free === true && merchant === stored.merchant;
    return await laneOfMerchant(ports, merchant, token, named, kind, is_free);
  }
  // Unknown payments are mostly legacy's, and so is its work on a unit: legacy judges the token itself.
  const is_token_refused = identity.error === 'unauthorized';
  const which = is_token_refused ? 'proven' : 'any';
  const has_unit = claimed !== null && named.kind === 'slot';
  const judgesItself = named.kind === 'payment' || (has_unit && (await isOnLegacyAlone(ports, claimed, named, which)));
  if (judgesItself) return { ...proxied, is_token_refused };
  return { lane: 'refused', stage, merchant_id: claimed, error: identity.error };
}

/** The claimed merchant, its token and the unit. Reads the store; makes no network call. */
async function storedClaim(
  ports: Ports,
  token: Secret,
  named: Named | Promise<Named>,
): Promise<{ claimed: string | null; stored: MerchantWithToken | null }> {
  const claimed = claimedMerchant(token) ?? (await rememberedMerchant(ports, token));
  if (claimed === null) return { claimed, stored: null };
  const has_unit = !(named instanceof Promise) && named.kind === 'slot' && named.work !== 'beside';
  const unit = has_unit ? { slot: named.slot, now: ports.clock.now() } : null;
  const stored = await ports.store.merchants.merchantWithToken(claimed, ports.vault.fingerprint(token), unit);
  return { claimed, stored };
}

/** The lane of a call with an accepted token of this merchant. @param is_free legacy holds nothing of the unit. */
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
  const orders = (link: Link | null = null, is_by_unit = false): Lane => {
    return { lane: 'orders', stage, merchant, link, is_by_unit };
  };
  const unit = async (work: UnitWork, free = false): Promise<Lane> => {
    const by = await unitOnOrders(ports, merchant, token, work, kind, free);
    return by === null ? legacy : orders(null, by === 'unit');
  };
  switch (named.kind) {
    case 'link':
      return named.link?.merchant_id === merchant.id ? orders(named.link) : legacy;
    case 'payment': {
      const link = await unseenPayment(ports, merchant, token, named.payment_id);
      return link === null ? legacy : orders(link);
    }
    case 'slot':
      return unit(named, is_free);
    case 'pos': {
      // On stage orders the story needs the lookup as well, so it may take longer.
      const timeout_ms = stage === 'orders' ? ports.settings.reads.timeout_ms : POS_LOOKUP_MS;
      const lookup = await lookUpPos(ports, merchant.id, token, named.pos_id, timeout_ms);
      if (lookup.kind === 'known') return unit({ slot: slotOf('qr', lookup.external_pos_id), work: named.work });
      // On stage orders the story answers a failed lookup; before it, such calls go to legacy …
      if (stage === 'orders') return orders();
      if (isNoPosOfOrders(lookup) || !(await hasQrWork(ports, merchant.id))) return legacy;
      // … unless the number may be a point of sale with work on orders.
      return { lane: 'refused', stage, merchant_id: merchant.id, error: 'unavailable' };
    }
    case 'history':
      return stage === 'orders' || (await hasHistory(ports, merchant.id)) ? orders() : legacy;
    case 'merchant':
      return isOnOrders(ports.settings, merchant, merchant.id, kind, null) ? orders() : legacy;
  }
}

/** True when the stage assigns the work to orders, whatever is live. */
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

/** True when orders may have work that the stage assigns to legacy; otherwise the token need not be verified. */
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
      return await hasQrWork(ports, merchant_id);
    case 'merchant':
      return false; // concerns no unit and no past sale
  }
}

/** Looks up a payment that no link has, for merchants with sales on orders only. */
async function unseenPayment(
  ports: Ports,
  merchant: Merchant,
  token: Secret,
  payment_id: string,
): Promise<Link | null> {
  if (!(await hasHistory(ports, merchant.id))) return null;
  return findUnseenPayment(ports, token, merchant.id, payment_id);
}

function hasQrWork(ports: Ports, merchant_id: string): Promise<boolean> {
  return ports.store.links.hasQrWork(merchant_id, ...repeatedSince(ports));
}

/** True for a merchant that has had sales on orders. */
async function hasHistory(ports: Ports, merchant_id: string): Promise<boolean> {
  return (await ports.store.history.linksOf(merchant_id, 0, Number.MAX_SAFE_INTEGER, 1)).length > 0;
}

function noteId(ports: Ports, named: Named): void {
  const draft = ports.exchange;
  if (draft === null || named.kind !== 'link') return;
  draft.legacy_id = named.link?.legacy_id ?? named.legacy_id ?? null;
}

// The lane of a call about a unit: live work there decides before the stage (`docs/architecture.md` Decision 6).

/**
 * Why work is on orders: by its stage, or only by live work on its unit; null: it is on legacy.
 * @param is_free legacy holds nothing of the unit.
 */
export async function unitOnOrders(
  ports: Ports,
  merchant: Merchant,
  token: Secret,
  unit: UnitWork,
  kind: OperationKind,
  is_free = false,
): Promise<'stage' | 'unit' | null> {
  const { slot, work } = unit;
  const is_by_stage = isOnOrders(ports.settings, merchant, merchant.id, kind, slot);
  // The common case: nothing of the unit is on legacy, so live work would be on orders too and needs no lookup.
  if (is_by_stage && (work === 'beside' || !(await mayBeHeld(ports, merchant.id, slot, is_free)))) return 'stage';
  if (await hasOwnWork(ports, merchant.id, unit, kind)) return is_by_stage ? 'stage' : 'unit';
  // Legacy answers reads of its own sales; only a new sale is worth a request to legacy.
  if (!is_by_stage || work === 'look') return null;
  const deadline = ports.clock.now() + ports.settings.reads.timeout_ms;
  return (await isHeldByLegacy(ports, merchant.id, slot, token, deadline)) ? null : 'stage';
}

/** For a story whose unit is free: a move or a legacy sale may have changed the lane since it was chosen. */
export async function isStillOnOrders(ports: Ports, call: LegacyCall, slot: string): Promise<boolean> {
  const merchant = (await ports.store.merchants.merchant(call.merchant.id)) ?? call.merchant;
  return (await unitOnOrders(ports, merchant, call.token, { slot, work: 'look' }, call.operation.kind)) !== null;
}

/** The longest lifetime of a Point order (`docs/field-notes.md` Spec Limits); QR sales are retried far earlier. */
const LONGEST_LIFETIME_MS = 3 * 60 * 60_000;

/** True for a live sale of the unit, or one not known to the till: its retry must not be charged again on legacy. */
async function hasOwnWork(
  ports: Ports,
  merchant_id: string,
  { slot, work }: UnitWork,
  kind: OperationKind,
): Promise<boolean> {
  const { store } = ports;
  if (work === 'look') return (await store.links.liveLink(merchant_id, slot)) !== null;
  if (work === 'beside' && kind !== 'qr') return false;
  const at = { slot: work === 'beside' ? null : slot, unit: unitOf(slot) };
  return await store.links.hasWork(merchant_id, at, ...repeatedSince(ports));
}

/** Epoch ms since when sales may be repeated, and since when those whose answer was delivered to a till without a key. */
function repeatedSince({ clock, settings }: Ports): [since: number, answered_since: number] {
  const { replay_window_ms, join_window_ms } = settings.create;
  const now = clock.now();
  return [now - LONGEST_LIFETIME_MS - replay_window_ms, now - join_window_ms];
}

/** True when legacy may have work on the unit, as far as store and memory show; makes no network call. */
async function mayBeHeld(ports: Ports, merchant_id: string, slot: string, is_free = false): Promise<boolean> {
  const now = ports.clock.now();
  if (ports.memory.unrecorded.holds(merchant_id, slot, now)) return true;
  if (is_free) return false;
  return (await ports.store.legacy_sales.heldByLegacy(merchant_id, slot, now)) !== null;
}

/**
 * True when only legacy has work on the unit. For a token that the orders API refused only `proven` work counts:
 * invented tokens could otherwise hold a unit on legacy for one another.
 */
async function isOnLegacyAlone(
  ports: Ports,
  merchant_id: string,
  { slot, work }: UnitWork,
  which: 'any' | 'proven',
): Promise<boolean> {
  if (work === 'beside' || (await ports.store.links.liveLink(merchant_id, slot)) !== null) return false;
  if (which === 'any') return mayBeHeld(ports, merchant_id, slot);
  return (await ports.store.legacy_sales.heldByLegacy(merchant_id, slot, ports.clock.now(), which)) !== null;
}

// What the path of an operation names; looked up before the lane is chosen (`docs/glossary.md` Lane).

type PathValues = Readonly<Record<string, string>>;
/** May read the store; makes no network call. */
type Naming = (ports: Ports, path: PathValues) => Named | Promise<Named>;

/** A payment intent; its id is read in lower case. A text that is no UUID names no sale. */
export const byIntent: Naming = async (ports, { intent_id = '' }) => {
  const legacy_id = intent_id.toLowerCase();
  const link = await ports.store.links.link(legacy_id);
  return INTENT_ID.test(legacy_id) ? { kind: 'link', link, legacy_id } : { kind: 'link', link };
};

/** A sale on a terminal: it takes the unit. */
export const byDevice: Naming = (_runtime, { device_id = '' }) => ({
  kind: 'slot',
  slot: slotOf('point', device_id),
  work: 'sale',
});

/** A setting of a terminal: it takes no unit, so live work does not decide its lane. */
export const byDeviceSetting: Naming = (_runtime, { device_id = '' }) => ({
  kind: 'slot',
  slot: slotOf('point', device_id),
  work: 'beside',
});

/** A sale that the point of sale shows on its own code. */
export const byPointOfSale: Naming = (_runtime, path) => pointOfSale(path, 'sale');

/** The current sale of a point of sale, to read or remove it. */
export const atPointOfSale: Naming = (_runtime, path) => pointOfSale(path, 'look');

/** A dynamic code for one sale: any number of them may be live at one point of sale. */
export const byDynamicCode: Naming = (_runtime, path) => pointOfSale(path, 'beside');

function pointOfSale({ external_pos_id, pos_id = '' }: PathValues, work: 'sale' | 'look' | 'beside'): Named {
  if (external_pos_id === undefined) return { kind: 'pos', pos_id, work };
  return { kind: 'slot', slot: slotOf('qr', external_pos_id), work };
}

/** A payment's number; any other text names none. */
const PAYMENT_NUMBER = /^[1-9]\d{0,17}$/;

/** A number that Puente made names its sale also after upstream gave a real one. */
export const byPayment: Naming = async (ports, { payment_id = '' }) => {
  const link = await ports.store.links.linkByPayment(payment_id);
  if (link !== null || !PAYMENT_NUMBER.test(payment_id)) return { kind: 'link', link };
  const merchant_order_id = merchantOrderOfPayment(payment_id);
  if (merchant_order_id === null) return { kind: 'payment', payment_id };
  if (!Number.isSafeInteger(merchant_order_id)) return { kind: 'link', link: null };
  return { kind: 'link', link: await ports.store.links.linkByMerchantOrder(merchant_order_id) };
};

/** A merchant order; only synthetic numbers (`ids.ts`) are of sales on orders. */
export const byMerchantOrder: Naming = async (ports, { merchant_order_id = '' }) => {
  const id = /^\d{1,16}$/.test(merchant_order_id) ? Number(merchant_order_id) : 0;
  return { kind: 'link', link: isSyntheticMerchantOrder(id) ? await ports.store.links.linkByMerchantOrder(id) : null };
};

/** Searches over past sales. */
export const byHistory: Naming = () => ({ kind: 'history' });
/** Calls that concern no sale and no unit. */
export const byMerchant: Naming = () => ({ kind: 'merchant' });

/** By the stories of `mappings/operations.yaml`; `legacyRouter` refuses a story without a row. */
export const namings: Readonly<Record<string, Naming>> = {
  list_devices: byMerchant,
  change_mode: byDeviceSetting,
  create_intent: byDevice,
  get_intent: byIntent,
  cancel_intent: byIntent,
  cancel_without_device: byIntent,
  list_events: byHistory,
  last_status: byIntent,
  // The payment is named in the body: the story reads it, for merchants with sales on orders.
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

/** What a call is about, by its operation and its path. May read the store; makes no network call. */
export function namedBy(ports: Ports, { story }: Operation, path: PathValues): Named | Promise<Named> {
  const names = namings[story] as Naming; // `legacyRouter` refuses a story without one
  return names(ports, path);
}

export type Named =
  /** An existing id; `link` is null when Puente has no such sale. `legacy_id`: of the path, if well formed. */
  | { kind: 'link'; link: Link | null; legacy_id?: string }
  | ({ kind: 'slot' } & UnitWork)
  /** A point of sale by its internal number; its slot needs a lookup. */
  | { kind: 'pos'; pos_id: string; work: UnitWork['work'] }
  /** A payment that no link has: foreign, or of a sale on orders whose payment was not read yet. */
  | { kind: 'payment'; payment_id: string }
  /** The merchant's past sales on orders: searches. */
  | { kind: 'history' }
  /** Nothing that Puente stores. */
  | { kind: 'merchant' };

/**
 * Work on a unit, by its slot. `sale`: takes the unit. `look`: reads or removes its sale. For both, live work on the
 * unit decides before the stage. `beside`: a setting, or a sale that takes no unit.
 */
interface UnitWork {
  slot: string;
  work: 'sale' | 'look' | 'beside';
}
