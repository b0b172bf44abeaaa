/** Ledger of legacy sales: a row before each proxied create keeps its unit off orders (`docs/protocol.md` §3.10). */
import { EXTERNAL_ID, INTENT_ID } from '../../contract/identifiers.ts';
import { plainNumber } from '../../contract/json.ts';
import { decimalOf, quantityOf, withoutNoise } from '../../contract/legacy-amount.ts';
import { finalIntentStates, type IntentState } from '../../contract/legacy-point.ts';
import type { Operation } from '../../mapping/tables.ts';
import { decimalOfMinor, decimalText, minorUnits } from '../../mapping/values.ts';
import type { Ports } from '../ports.ts';
import { referenceOf } from '../qr/held-body.ts';
import { isNoPosOfOrders, lookUpPos, POS_LOOKUP_MS, peekPos } from '../qr/point-of-sale.ts';
import { ANY_POINT_OF_SALE, LATE_EFFECT_MS, type LegacySale, type LegacySaleChange } from '../records/routing.ts';
import { slotOf } from '../sales/link.ts';
import { namedBy } from './lane.ts';
import {
  holdsUntil,
  holdsWhileOpen,
  isPreference,
  legacyDoubts,
  narrow,
  type ProxiedCall,
  type ProxiedCreate,
} from './legacy-sale-end.ts';
import { judgeUnproven, provenMerchant } from './token-ownership.ts';

/** A recorded create that is being proxied, for `endProxied`. */
export interface ProxiedSale {
  row: LegacySale;
  call: ProxiedCreate;
}

/**
 * `begun`: recorded, where it has to be; proxy it and pass its answer to `endProxied`. `elsewhere`: an order holds the
 * unit, so the lane has to be chosen again. `unrecorded`: proxy it; its answer is not recorded.
 */
type Begun = { kind: 'begun'; sale: ProxiedSale } | { kind: 'elsewhere' } | { kind: 'unrecorded' };

/** Null: no complete answer. `body`: parsed JSON; null when missing or unreadable. */
export type ProxiedAnswer = { status: number; body: unknown } | null;

/**
 * Writes the row of a create before its bytes leave. Never throws for the store, because a till is not refused for a
 * missing row; its unit is then held in memory, so that nothing of it goes to orders meanwhile.
 */
export async function beginProxied(ports: Ports, call: ProxiedCreate): Promise<Begun> {
  const { merchant_id } = call;
  const unit = merchant_id === null ? null : await unitOf(ports, merchant_id, call);
  if (merchant_id === null || unit === null)
    return unrecorded(ports, call, 'its merchant is unknown, or its unit takes no orders');
  try {
    const row = await newRow(ports, merchant_id, call, unit);
    if (call.is_token_refused) return { kind: 'begun', sale: { row, call } };
    if ((await ports.store.legacy_sales.openLegacySale(row)) !== null) return elsewhere(ports);
    ports.memory.failpoint('proxied.row_written');
    ports.count('legacy_sales', 'begun');
    return { kind: 'begun', sale: { row, call } };
  } catch (error) {
    if (unit.slot !== null) holdInMemory(ports, merchant_id, unit.slot);
    return unrecorded(ports, call, String(error));
  }
}

/** Holds its unit for long from the start, because a process that ends before the answer can't extend it. */
async function newRow(
  ports: Ports,
  merchant_id: string,
  call: ProxiedCreate,
  { family, unit, slot }: ProxiedUnit,
): Promise<LegacySale> {
  const now = ports.clock.now();
  const is_proven = (await provenMerchant(ports, call.token)) === merchant_id;
  return {
    id: ports.memory.ids.legacyId(now),
    merchant_id,
    family,
    work: isTerminalRefund(call.operation) ? 'refund' : 'sale',
    unit,
    slot,
    legacy_id: null,
    client_reference: clientReference(family, call.body),
    amount: amountOf(call),
    end_state: null,
    state: 'SENDING',
    unproven_token: is_proven ? null : ports.vault.fingerprint(call.token),
    ends_at: holdsUntil(ports, call, is_proven),
    created_at: now,
    updated_at: now,
  };
}

/**
 * Records the outcome of a proxied create. Without a clear answer the sale may exist, and holds its unit, unless its
 * token turns out not to be the merchant's: an invented token must not keep a merchant's units from moving. Never
 * throws for the store: the first row keeps holding.
 * @param answered_at epoch ms when the answer was complete.
 */
export async function endProxied(
  ports: Ports,
  sale: ProxiedSale,
  answer: ProxiedAnswer,
  answered_at = ports.clock.now(),
): Promise<void> {
  const { row, call } = sale;
  const change = { ...judge(ports, sale, answer), at: answered_at };
  // Legacy accepted the token, so it belongs to the merchant that it names.
  const taken = answer !== null && answer.status >= 200 && answer.status <= 299;
  if (call.is_token_refused && !taken) return;
  try {
    if (call.is_token_refused) await ports.store.legacy_sales.openLegacySale(row);
    await saveOutcome(ports, row, taken ? { ...change, unproven_token: null } : change);
    if (change.state === 'REFUSED') return;
    const is_doubtful = !taken && row.unproven_token !== null;
    const doubt = { ...row, state: 'IN_DOUBT' } as const;
    if (is_doubtful && (await judgeUnproven(ports, doubt, call.token)) !== 'proven') return;
    if (row.slot === ANY_POINT_OF_SALE) await narrow(ports, row, call.token);
  } catch (error) {
    if (change.state !== 'REFUSED' && row.slot !== null) holdInMemory(ports, row.merchant_id, row.slot);
    ports.log.error('proxied create: its outcome could not be stored', {
      merchant: row.merchant_id,
      ...(change.legacy_id ? { legacy_id: change.legacy_id } : {}),
      cause: String(error),
    });
  }
}

function judge(ports: Ports, { row, call }: ProxiedSale, answer: ProxiedAnswer): LegacySaleChange {
  const in_doubt: LegacySaleChange = {
    state: 'IN_DOUBT',
    ends_at: holdsUntil(ports, call, row.unproven_token === null),
  };
  if (answer === null) return in_doubt;
  const { status } = answer;
  if (isRefusal(status)) return { state: 'REFUSED' };
  if (status < 200 || status > 299) return in_doubt;
  const legacy_id = legacyIdOf(row, call, answer.body);
  if (legacy_id === undefined) return { state: 'IN_DOUBT', ends_at: holdsUntil(ports, call, true) };
  return { state: 'OPEN', legacy_id, ends_at: holdsWhileOpen(ports, call, { ...row, legacy_id }) };
}

/** With 408 the request may have been received in part. */
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408;
}

async function saveOutcome(ports: Ports, row: LegacySale, change: LegacySaleChange): Promise<void> {
  await ports.store.legacy_sales.saveLegacySale(row.id, change);
  ports.count('legacy_sales', String(change.state).toLowerCase());
  if (change.state !== 'OPEN') return;
  const draft = ports.exchange;
  if (draft !== null && change.legacy_id) draft.legacy_id = change.legacy_id;
  if (row.slot === null) await endDoubtsBefore(ports, row);
}

/** Ends earlier tries of a dynamic code that was answered now, unless they may still be on their way. */
async function endDoubtsBefore(ports: Ports, row: LegacySale): Promise<void> {
  const arrived_by = ports.clock.now() - LATE_EFFECT_MS;
  for (const doubt of await legacyDoubts(ports, row.merchant_id, row.unit, row.client_reference)) {
    if (doubt.id !== row.id && doubt.updated_at <= arrived_by) {
      await ports.store.legacy_sales.saveLegacySale(doubt.id, { state: 'ENDED' });
    }
  }
}

/**
 * The id that legacy gave: an intent, a preference (`<collector>-<uuid>`), or an in-store order. Null where legacy
 * gives none (v2, `docs/field-notes.md` QR finding 2), undefined when a required one is unreadable.
 */
function legacyIdOf(row: LegacySale, { operation }: ProxiedCreate, body: unknown): string | null | undefined {
  const { id, in_store_order_id } = objectOf(body);
  if (row.family === 'point') return typeof id === 'string' && INTENT_ID.test(id) ? id.toLowerCase() : undefined;
  if (operation.family === 'qr_v1') return isPreference(row.merchant_id, id) ? id : undefined;
  return typeof in_store_order_id === 'string' ? in_store_order_id : null;
}

function clientReference(family: LegacySale['family'], body: unknown): string | null {
  if (family === 'qr') return referenceOf(objectOf(body));
  const { external_reference } = objectOf(objectOf(body).additional_info);
  return typeof external_reference === 'string' ? external_reference : null;
}

/** Decimals with which a Point amount is stored; no currency has more than `MOST_DECIMALS` (`mappings/sites.yaml`). */
const POINT_DECIMALS = 2;
const MOST_DECIMALS = 3;

/** The amount in decimal; null when it can't be read. A v1 sale has no total but its items. */
function amountOf({ operation: { family }, body }: ProxiedCreate): string | null {
  const { amount, total_amount, items } = objectOf(body);
  if (family === 'point') return decimalText(plainNumber(amount), POINT_DECIMALS) ?? null;
  if (family !== 'qr_v1') return decimalOf(total_amount);
  let sum = 0n;
  for (const item of Array.isArray(items) ? items : []) {
    const { unit_price, quantity } = objectOf(item);
    const price = minorUnits(withoutNoise(decimalOf(unit_price) ?? '', MOST_DECIMALS), MOST_DECIMALS);
    const pieces = quantityOf(quantity);
    if (price === undefined || pieces === null) return null;
    sum += BigInt(price) * BigInt(pieces);
  }
  return sum === 0n ? null : decimalOfMinor(sum, MOST_DECIMALS);
}

/**
 * The amount of a stored sale in minor units; null where it is not known, or has more decimals than the currency. A
 * Point amount has as many implied decimals as the currency, as on orders (`amount_text`). Legacy Point itself is only
 * at sites with two (`docs/field-notes.md` Point §1), and the ledger writes two, since it may not know the site yet.
 * @param exponent decimals of the currency of the merchant's site.
 */
export function minorOf({ family, amount }: Pick<LegacySale, 'family' | 'amount'>, exponent: number): number | null {
  const decimals = family === 'point' ? POINT_DECIMALS : exponent;
  return amount === null ? null : (minorUnits(withoutNoise(amount, decimals), decimals) ?? null);
}

/** Empty for what is no JSON object. */
export function objectOf(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}; // any JSON object
}

function elsewhere(ports: Ports): Begun {
  ports.count('legacy_sales', 'elsewhere');
  return { kind: 'elsewhere' };
}

function unrecorded(ports: Ports, { merchant_id, operation }: ProxiedCreate, cause: string): Begun {
  ports.count('legacy_sales', 'unrecorded');
  const merchant = merchant_id === null ? {} : { merchant: merchant_id };
  ports.log.warn('a proxied create was not recorded', { operation: operation.name, ...merchant, cause });
  return { kind: 'unrecorded' };
}

function holdInMemory(ports: Ports, merchant_id: string, slot: string): void {
  ports.memory.unrecorded.hold(merchant_id, slot, ports.clock.now() + ports.settings.routing.legacy_hold_ms);
}

// The end of legacy sales, as proxied calls show it: a cancel that worked, a read of a terminal state.

/**
 * Ends a sale that a proxied call shows as terminal, so that its unit may move without another request, and sums have
 * its outcome. Ends only an OPEN sale: one without an answer may still take effect. Never throws for the store, because
 * the next create of the unit reads from legacy anyway.
 * @param answer its body is read only where it may show the end of an OPEN sale. @param received_at epoch ms of arrival:
 * a sale that was not open by then may be another one, or arrive later.
 */
export async function noteProxiedEnd(
  ports: Ports,
  call: ProxiedCall,
  answer: { status: number; body(): Promise<unknown> } | null,
  received_at: number,
): Promise<void> {
  if (answer === null || answer.status < 200 || answer.status > 299) return;
  try {
    const sale = await saleOf(ports, call);
    if (sale?.state !== 'OPEN' || sale.merchant_id !== call.merchant_id || sale.updated_at > received_at) return;
    const is_cancel = call.operation.method === 'DELETE';
    const shown = is_cancel ? null : finalStateIn(await answer.body());
    if (!is_cancel && shown === null) return;
    // Point cancels an open intent only; QR answers a cancel alike when the sale was paid before (`docs/field-notes.md` Point §1.5).
    const canceled = sale.family === 'point' ? { end_state: 'CANCELED' } : {};
    const end = shown === null ? canceled : { end_state: shown };
    await ports.store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED', ...end });
    ports.count('legacy_sales', 'ended');
  } catch (error) {
    ports.log.warn('the end of a proxied sale was not stored', {
      operation: call.operation.name,
      cause: String(error),
    });
  }
}

/** By the intent in the path; otherwise the legacy sale on the unit that a cancel names. */
async function saleOf(ports: Ports, call: ProxiedCall): Promise<LegacySale | null> {
  const { store, clock } = ports;
  const { intent_id } = call.path;
  if (intent_id !== undefined) return store.legacy_sales.legacySale(intent_id.toLowerCase());
  if (call.merchant_id === null || call.operation.method !== 'DELETE') return null;
  const unit = await unitOf(ports, call.merchant_id, call);
  if (unit === null || unit.slot === null) return null;
  const slot = unit.slot === ANY_POINT_OF_SALE ? await slotOfNumber(ports, call.merchant_id, call, unit) : unit.slot;
  const sale = await store.legacy_sales.heldByLegacy(call.merchant_id, slot, clock.now());
  // A sale of `ANY_POINT_OF_SALE` is this one's only by the same number.
  return sale?.slot === ANY_POINT_OF_SALE && sale.unit !== call.path.pos_id ? null : sale;
}

async function slotOfNumber(
  ports: Ports,
  merchant_id: string,
  call: ProxiedCall,
  { unit }: ProxiedUnit,
): Promise<string> {
  const lookup = await lookUpPos(ports, merchant_id, call.token, unit, POS_LOOKUP_MS);
  return lookup.kind === 'known' ? slotOf('qr', lookup.external_pos_id) : ANY_POINT_OF_SALE;
}

/** `state` of an intent, or `status` of its last event (`docs/field-notes.md` Point §1.4, §1.7). */
function finalStateIn(body: unknown): IntentState | null {
  const { state, status } = objectOf(body);
  return finalIntentStates.find((final) => final === state || final === status) ?? null;
}

// The unit of a proxied call, whose slot must not be live on orders meanwhile.

/** `slot`: null for no unit; `ANY_POINT_OF_SALE` for a number that was not looked up. */
type ProxiedUnit = Pick<LegacySale, 'family' | 'unit' | 'slot'>;

/** True for a refund on the terminal, which names its terminal and is no sale. */
export function isTerminalRefund({ story }: Operation): boolean {
  return story === 'refund_intent';
}

/** Null when the call names no unit that orders can have. Makes no network call. */
async function unitOf(ports: Ports, merchant_id: string, call: ProxiedCall): Promise<ProxiedUnit | null> {
  if (isTerminalRefund(call.operation)) return knownUnit(slotOf('point', call.path.device_id ?? ''), true);
  const named = await namedBy(ports, call.operation, call.path);
  if (named.kind === 'slot') return knownUnit(named.slot, named.work !== 'beside');
  if (named.kind !== 'pos') return null;
  const lookup = await peekPos(ports, merchant_id, named.pos_id);
  if (lookup?.kind === 'known') return knownUnit(slotOf('qr', lookup.external_pos_id), true);
  if (lookup !== null && isNoPosOfOrders(lookup)) return null;
  return { family: 'qr', unit: named.pos_id, slot: ANY_POINT_OF_SALE };
}

/** Null for a malformed id, which the orders lane refuses. */
function knownUnit(slot: string, holds: boolean): ProxiedUnit | null {
  const family = slot.startsWith('qr:') ? 'qr' : 'point';
  const unit = slot.slice(family.length + 1);
  return EXTERNAL_ID.test(unit) ? { family, unit, slot: holds ? slot : null } : null;
}
