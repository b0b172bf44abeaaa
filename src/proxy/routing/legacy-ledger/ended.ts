/** What carried calls tell of sales born on legacy: a cancel that worked, a read that shows an end. */
import { finalIntentStates } from '../../../contract/legacy-point.ts';
import { lookUpPos, POS_LOOKUP_MS } from '../../qr/pos-lookup.ts';
import { ANY_POINT_OF_SALE, type LegacySale } from '../../records/routing.ts';
import type { Runtime } from '../../runtime.ts';
import { slotOf } from '../../sales/link.ts';
import type { CarriedAnswer } from './carry.ts';
import { type CarriedCall, type CarriedUnit, unitOf } from './unit.ts';

/**
 * Ends the sale that a carried call has just shown to be over, so that its unit is free to move without another question.
 * Only a sale that legacy had answered for: what is not there yet may still come. Does nothing for any other call; never
 * throws for the store, because the next create of the unit asks legacy anyway.
 * @param received_at epoch ms when the call came in: a sale that was not open by then may be another one, or arrive later.
 */
export async function noteCarriedEnd(
  runtime: Runtime,
  call: CarriedCall,
  answer: CarriedAnswer,
  received_at: number,
): Promise<void> {
  if (answer === null || answer.status < 200 || answer.status > 299) return;
  if (call.operation.method !== 'DELETE' && !showsFinalState(answer.body)) return;
  try {
    const sale = await saleOf(runtime, call);
    if (sale?.state !== 'OPEN' || sale.merchant_id !== call.merchant_id || sale.updated_at > received_at) return;
    await runtime.store.saveLegacySale(sale.id, { state: 'ENDED' });
    runtime.count('legacy_sales', 'ended');
  } catch (error) {
    runtime.log.warn('the end of a carried sale was not written down', {
      operation: call.operation.name,
      cause: String(error),
    });
  }
}

/** By the intent in the path; otherwise what legacy has on the unit that a cancel names. */
async function saleOf(runtime: Runtime, call: CarriedCall): Promise<LegacySale | null> {
  const { store, clock } = runtime;
  const { intent_id } = call.path;
  if (intent_id !== undefined) return store.legacySale(intent_id.toLowerCase());
  if (call.merchant_id === null || call.operation.method !== 'DELETE') return null;
  const unit = await unitOf(runtime, call.merchant_id, call);
  if (unit === null || unit.slot === null) return null;
  const slot = unit.slot === ANY_POINT_OF_SALE ? await slotOfNumber(runtime, call.merchant_id, call, unit) : unit.slot;
  const sale = await store.heldByLegacy(call.merchant_id, slot, clock.now());
  // What stands for any point of sale is this one's only by the same number.
  return sale?.slot === ANY_POINT_OF_SALE && sale.unit !== call.path.pos_id ? null : sale;
}

async function slotOfNumber(
  runtime: Runtime,
  merchant_id: string,
  call: CarriedCall,
  { unit }: CarriedUnit,
): Promise<string> {
  const lookup = await lookUpPos(runtime, merchant_id, call.token, unit, POS_LOOKUP_MS);
  return lookup.kind === 'known' ? slotOf('qr', lookup.external_pos_id) : ANY_POINT_OF_SALE;
}

/** `state` of an intent, or `status` of its last event (`legacy-point.md` §1.4, §1.7). */
function showsFinalState(body: unknown): boolean {
  if (body === null || typeof body !== 'object') return false;
  const { state, status } = body as { state?: unknown; status?: unknown }; // any JSON object
  return finalIntentStates.some((final) => final === state || final === status);
}
