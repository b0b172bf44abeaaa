/** The lane of a call about a unit: whatever is live there decides before the stage does (DESIGN decision 6). */

import type { OperationKind } from '../evidence/exchange.ts';
import type { LegacyCall } from '../http/call.ts';
import type { Runtime } from '../runtime.ts';
import { unitOf } from '../sales/link.ts';
import type { Secret } from '../secret.ts';
import { isHeldByLegacy } from './legacy-ledger/over.ts';
import type { Merchant } from './merchant.ts';
import { isOnOrders } from './stage.ts';

/**
 * Work on a unit, by its slot. `sale`: it takes the unit. `look`: it reads or takes away what is there. For both, whatever
 * is live on the unit decides before the stage does. `beside`: a setting, or a sale that takes no unit.
 */
export interface UnitWork {
  slot: string;
  work: 'sale' | 'look' | 'beside';
}

/**
 * True for work that belongs on orders: what is live on its unit decides, on either side; then the stage.
 * @param is_free the store has just said that legacy holds nothing of the unit.
 */
export async function isUnitOnOrders(
  runtime: Runtime,
  merchant: Merchant,
  token: Secret,
  unit: UnitWork,
  kind: OperationKind,
  is_free = false,
): Promise<boolean> {
  const { slot, work } = unit;
  const is_by_stage = isOnOrders(runtime.settings, merchant, merchant.id, kind, slot);
  // The commonest: whatever is live on the unit is on orders as well, so that nobody has to look for it. A unit that legacy may
  // hold is looked at twice instead.
  if (is_by_stage && (work === 'beside' || !(await mayBeHeld(runtime, merchant.id, slot, is_free)))) return true;
  if (await hasOwnWork(runtime, merchant.id, unit, kind)) return true;
  // Legacy itself answers what is asked of its own; only a new sale is worth a question.
  if (!is_by_stage || work === 'look') return false;
  const deadline = runtime.clock.now() + runtime.settings.reads.timeout_ms;
  return !(await isHeldByLegacy(runtime, merchant.id, slot, token, deadline));
}

/**
 * For a story whose unit turned out to be free: the merchant may have been moved, or legacy have taken the unit, since the
 * lane was chosen.
 */
export async function isStillOnOrders(runtime: Runtime, call: LegacyCall, slot: string): Promise<boolean> {
  const merchant = (await runtime.store.merchant(call.merchant.id)) ?? call.merchant;
  return isUnitOnOrders(runtime, merchant, call.token, { slot, work: 'look' }, call.operation.kind);
}

/** The longest lifetime of a Point order (`interface.md`, Limits); who repeats an unanswered QR sale does so far earlier. */
const LONGEST_LIFETIME_MS = 3 * 60 * 60_000;

/**
 * Something of the unit is on orders: a live sale that takes it, or one that its till may not know of and may ask for again, which
 * must not be charged a second time on legacy.
 */
export async function hasOwnWork(
  runtime: Runtime,
  merchant_id: string,
  { slot, work }: UnitWork,
  kind: OperationKind,
): Promise<boolean> {
  const { store, clock, settings } = runtime;
  if (work === 'look') return (await store.liveLink(merchant_id, slot)) !== null;
  if (work === 'beside' && kind !== 'qr') return false;
  const { replay_window_ms, join_window_ms } = settings.create;
  const now = clock.now();
  const at = { slot: work === 'beside' ? null : slot, unit: unitOf(slot) };
  return await store.hasWork(merchant_id, at, now - LONGEST_LIFETIME_MS - replay_window_ms, now - join_window_ms);
}

/** Legacy may have work on the unit, as far as can be told without asking it. */
async function mayBeHeld(runtime: Runtime, merchant_id: string, slot: string, is_free = false): Promise<boolean> {
  const now = runtime.clock.now();
  if (runtime.unrecorded.holds(merchant_id, slot, now)) return true;
  if (is_free) return false;
  return (await runtime.store.heldByLegacy(merchant_id, slot, now)) !== null;
}

/**
 * What legacy has on a unit that has nothing on orders. Only what is `proven` for a token that orders refuse: otherwise
 * invented ones could hold a unit there for one another.
 */
export async function isOnLegacyAlone(
  runtime: Runtime,
  merchant_id: string,
  { slot, work }: UnitWork,
  which: 'any' | 'proven',
): Promise<boolean> {
  if (work === 'beside' || (await runtime.store.liveLink(merchant_id, slot)) !== null) return false;
  if (which === 'any') return mayBeHeld(runtime, merchant_id, slot);
  return (await runtime.store.heldByLegacy(merchant_id, slot, runtime.clock.now(), which)) !== null;
}
