/** The ledger of sales on legacy: a row before a proxied create leaves, then what legacy answered (`docs/protocol.md` §3.10), so that its unit gets no work on orders meanwhile. */
import { EXTERNAL_ID, INTENT_ID } from '../../contract/identifiers.ts';
import { finalIntentStates } from '../../contract/legacy-point.ts';
import type { Operation } from '../../mapping/tables.ts';
import type { Ports } from '../ports.ts';
import { referenceOf } from '../qr/held-body.ts';
import { isNoPosOfOrders, lookUpPos, POS_LOOKUP_MS, peekPos } from '../qr/point-of-sale.ts';
import { ANY_POINT_OF_SALE, LATE_EFFECT_MS, type LegacySale, type LegacySaleChange } from '../records/routing.ts';
import { slotOf } from '../sales/link.ts';
import { namedBy } from './lane.ts';
import {
  type CarriedCall,
  type CarriedCreate,
  holdsUntil,
  holdsWhileOpen,
  isPreference,
  legacyDoubts,
  narrow,
} from './legacy-sale-end.ts';
import { judgeUnproven, provenMerchant } from './token-ownership.ts';

/** A carried create that is written down; `endCarried` takes it back. */
export interface CarriedSale {
  row: LegacySale;
  call: CarriedCreate;
}

/**
 * `begun`: written down, where it has to be; carry it and tell `endCarried` what came. `elsewhere`: an order of ours holds the unit, so the
 * lane has to be chosen again. `unrecorded`: carry it; there is nothing to tell afterwards.
 */
export type Begun = { kind: 'begun'; sale: CarriedSale } | { kind: 'elsewhere' } | { kind: 'unrecorded' };

/** Null: no complete answer came. `body`: parsed JSON; null when there was none or nobody could read it. */
export type CarriedAnswer = { status: number; body: unknown } | null;

/**
 * Writes the row of a create before its bytes leave. Never throws for the store: a till is not refused because Puente
 * can't take a note; its unit is then held in memory, so that nothing of it goes to orders meanwhile.
 */
export async function beginCarried(ports: Ports, call: CarriedCreate): Promise<Begun> {
  const { merchant_id } = call;
  const unit = merchant_id === null ? null : await unitOf(ports, merchant_id, call);
  if (merchant_id === null || unit === null) return unrecorded(ports, call, 'nobody known, or no unit of orders');
  try {
    const row = await newRow(ports, merchant_id, call, unit);
    if (call.is_token_refused) return { kind: 'begun', sale: { row, call } };
    if ((await ports.store.legacy_sales.openLegacySale(row)) !== null) return elsewhere(ports);
    ports.memory.failpoint('carried.row_written');
    ports.count('legacy_sales', 'begun');
    return { kind: 'begun', sale: { row, call } };
  } catch (error) {
    if (unit.slot !== null) holdInMemory(ports, merchant_id, unit.slot);
    return unrecorded(ports, call, String(error));
  }
}

/** Holds its unit for long from the start, because a process that ends before the answer can't do it any more. */
async function newRow(
  ports: Ports,
  merchant_id: string,
  call: CarriedCreate,
  { family, unit, slot }: CarriedUnit,
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
    state: 'SENDING',
    unproven_token: is_proven ? null : ports.vault.fingerprint(call.token),
    ends_at: holdsUntil(ports, call, is_proven),
    created_at: now,
    updated_at: now,
  };
}

/**
 * Writes what became of a carried create. Without a clear answer it may exist, and holds its unit; only when its token
 * turns out to be none of the merchant's nothing can have come of it, because an invented token must not keep a victim's
 * units from moving. Never throws for the store: the row of before goes on holding.
 * @param answered_at epoch ms when the answer was complete.
 */
export async function endCarried(
  ports: Ports,
  sale: CarriedSale,
  answer: CarriedAnswer,
  answered_at = ports.clock.now(),
): Promise<void> {
  const { row, call } = sale;
  const change = { ...judge(ports, sale, answer), at: answered_at };
  // Legacy took the token, so it is a real one of whom it names.
  const taken = answer !== null && answer.status >= 200 && answer.status <= 299;
  if (call.is_token_refused && !taken) return;
  try {
    if (call.is_token_refused) await ports.store.legacy_sales.openLegacySale(row);
    await settle(ports, row, taken ? { ...change, unproven_token: null } : change);
    if (change.state === 'REFUSED') return;
    const is_doubtful = !taken && row.unproven_token !== null;
    if (is_doubtful && (await judgeUnproven(ports, row, call.token)) !== 'proven') return;
    if (row.slot === ANY_POINT_OF_SALE) await narrow(ports, row, call.token);
  } catch (error) {
    if (change.state !== 'REFUSED' && row.slot !== null) holdInMemory(ports, row.merchant_id, row.slot);
    ports.log.error('carried create: its outcome could not be stored', {
      merchant: row.merchant_id,
      ...(change.legacy_id ? { legacy_id: change.legacy_id } : {}),
      cause: String(error),
    });
  }
}

function judge(ports: Ports, { row, call }: CarriedSale, answer: CarriedAnswer): LegacySaleChange {
  const in_doubt: LegacySaleChange = {
    state: 'IN_DOUBT',
    ends_at: holdsUntil(ports, call, row.unproven_token === null),
  };
  if (answer === null) return in_doubt;
  const { status } = answer;
  // Refused, except where the request may have been taken in part.
  if (status >= 400 && status < 500 && status !== 408) return { state: 'REFUSED' };
  if (status < 200 || status > 299) return in_doubt;
  const legacy_id = legacyIdOf(row, call, answer.body);
  if (legacy_id === undefined) return { state: 'IN_DOUBT', ends_at: holdsUntil(ports, call, true) };
  return { state: 'OPEN', legacy_id, ends_at: holdsWhileOpen(ports, call, { ...row, legacy_id }) };
}

async function settle(ports: Ports, row: LegacySale, change: LegacySaleChange): Promise<void> {
  await ports.store.legacy_sales.saveLegacySale(row.id, change);
  ports.count('legacy_sales', String(change.state).toLowerCase());
  if (change.state !== 'OPEN') return;
  const draft = ports.exchange;
  if (draft !== null && change.legacy_id) draft.legacy_id = change.legacy_id;
  if (row.slot === null) await endDoubtsBefore(ports, row);
}

/** A dynamic code that was answered is what its retry waited for; an earlier try that may still be on its way stays. */
async function endDoubtsBefore(ports: Ports, row: LegacySale): Promise<void> {
  const arrived_by = ports.clock.now() - LATE_EFFECT_MS;
  for (const doubt of await legacyDoubts(ports, row.merchant_id, row.unit, row.client_reference)) {
    if (doubt.id !== row.id && doubt.updated_at <= arrived_by) {
      await ports.store.legacy_sales.saveLegacySale(doubt.id, { state: 'ENDED' });
    }
  }
}

/**
 * The id that legacy gave: an intent, a preference (`<collector>-<uuid>`), or an in-store order; null where it gives none
 * (v2, `docs/field-notes.md` QR finding 2), undefined where it must have given one that nobody can read.
 */
function legacyIdOf(row: LegacySale, { operation }: CarriedCreate, body: unknown): string | null | undefined {
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

function objectOf(value: unknown): Record<string, unknown> {
  return value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : {}; // any JSON object
}

function elsewhere(ports: Ports): Begun {
  ports.count('legacy_sales', 'elsewhere');
  return { kind: 'elsewhere' };
}

function unrecorded(ports: Ports, { merchant_id, operation }: CarriedCreate, cause: string): Begun {
  ports.count('legacy_sales', 'unrecorded');
  const merchant = merchant_id === null ? {} : { merchant: merchant_id };
  ports.log.warn('a carried create was not written down', { operation: operation.name, ...merchant, cause });
  return { kind: 'unrecorded' };
}

function holdInMemory(ports: Ports, merchant_id: string, slot: string): void {
  ports.memory.unrecorded.hold(merchant_id, slot, ports.clock.now() + ports.settings.routing.legacy_hold_ms);
}

// What carried calls tell of sales created on legacy: a cancel that worked, a read that shows an end.

/**
 * Ends the sale that a carried call has just shown to be over, so that its unit is free to move without another question.
 * Only a sale that legacy had answered for: what is not there yet may still come. Does nothing for any other call; never
 * throws for the store, because the next create of the unit asks legacy anyway.
 * @param received_at epoch ms when the call came in: a sale that was not open by then may be another one, or arrive later.
 */
export async function noteCarriedEnd(
  ports: Ports,
  call: CarriedCall,
  answer: CarriedAnswer,
  received_at: number,
): Promise<void> {
  if (answer === null || answer.status < 200 || answer.status > 299) return;
  if (call.operation.method !== 'DELETE' && !showsFinalState(answer.body)) return;
  try {
    const sale = await saleOf(ports, call);
    if (sale?.state !== 'OPEN' || sale.merchant_id !== call.merchant_id || sale.updated_at > received_at) return;
    await ports.store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED' });
    ports.count('legacy_sales', 'ended');
  } catch (error) {
    ports.log.warn('the end of a carried sale was not written down', {
      operation: call.operation.name,
      cause: String(error),
    });
  }
}

/** By the intent in the path; otherwise what legacy has on the unit that a cancel names. */
async function saleOf(ports: Ports, call: CarriedCall): Promise<LegacySale | null> {
  const { store, clock } = ports;
  const { intent_id } = call.path;
  if (intent_id !== undefined) return store.legacy_sales.legacySale(intent_id.toLowerCase());
  if (call.merchant_id === null || call.operation.method !== 'DELETE') return null;
  const unit = await unitOf(ports, call.merchant_id, call);
  if (unit === null || unit.slot === null) return null;
  const slot = unit.slot === ANY_POINT_OF_SALE ? await slotOfNumber(ports, call.merchant_id, call, unit) : unit.slot;
  const sale = await store.legacy_sales.heldByLegacy(call.merchant_id, slot, clock.now());
  // What stands for any point of sale is this one's only by the same number.
  return sale?.slot === ANY_POINT_OF_SALE && sale.unit !== call.path.pos_id ? null : sale;
}

async function slotOfNumber(
  ports: Ports,
  merchant_id: string,
  call: CarriedCall,
  { unit }: CarriedUnit,
): Promise<string> {
  const lookup = await lookUpPos(ports, merchant_id, call.token, unit, POS_LOOKUP_MS);
  return lookup.kind === 'known' ? slotOf('qr', lookup.external_pos_id) : ANY_POINT_OF_SALE;
}

/** `state` of an intent, or `status` of its last event (`docs/field-notes.md` Point §1.4, §1.7). */
function showsFinalState(body: unknown): boolean {
  if (body === null || typeof body !== 'object') return false;
  const { state, status } = body as { state?: unknown; status?: unknown }; // any JSON object
  return finalIntentStates.some((final) => final === state || final === status);
}

// Which unit a carried call works on, as the lane names it: the slot that must not be live on orders meanwhile.

/** `slot` is null for what holds nothing; a number whose point of sale is not known stands for any of them. */
export type CarriedUnit = Pick<LegacySale, 'family' | 'unit' | 'slot'>;

/** A refund that the terminal carries out, which names its terminal and is no sale. */
export function isTerminalRefund({ story }: Operation): boolean {
  return story === 'refund_intent';
}

/** Null where the call names no unit that orders could ever have. Asks nobody. */
export async function unitOf(ports: Ports, merchant_id: string, call: CarriedCall): Promise<CarriedUnit | null> {
  if (isTerminalRefund(call.operation)) return knownUnit(slotOf('point', call.path.device_id ?? ''), true);
  const named = await namedBy(ports, call.operation, call.path);
  if (named.kind === 'slot') return knownUnit(named.slot, named.work !== 'beside');
  if (named.kind !== 'pos') return null;
  const lookup = await peekPos(ports, merchant_id, named.pos_id);
  if (lookup?.kind === 'known') return knownUnit(slotOf('qr', lookup.external_pos_id), true);
  if (lookup !== null && isNoPosOfOrders(lookup)) return null;
  return { family: 'qr', unit: named.pos_id, slot: ANY_POINT_OF_SALE };
}

/** A name that is no id reaches no order: the door refuses it there. */
function knownUnit(slot: string, holds: boolean): CarriedUnit | null {
  const family = slot.startsWith('qr:') ? 'qr' : 'point';
  const unit = slot.slice(family.length + 1);
  return EXTERNAL_ID.test(unit) ? { family, unit, slot: holds ? slot : null } : null;
}
