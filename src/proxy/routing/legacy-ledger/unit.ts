/** Which unit a carried call works on, as the lane names it: the slot that must not be live on orders meanwhile. */
import { EXTERNAL_ID } from '../../../contract/identifiers.ts';
import type { Operation } from '../../../mapping/tables.ts';
import { isNoPosOfOrders, peekPos } from '../../qr/pos-lookup.ts';
import { ANY_POINT_OF_SALE, type LegacySale } from '../../records/routing.ts';
import type { Runtime } from '../../runtime.ts';
import { slotOf } from '../../sales/link.ts';
import type { Secret } from '../../secret.ts';
import { namedBy } from '../named.ts';

/** A call that is carried, with whom its token claims to be. */
export interface CarriedCall {
  /** As the lane told it: claimed by the token or remembered, maybe unproven; null: nobody known. */
  merchant_id: string | null;
  operation: Operation;
  path: Readonly<Record<string, string>>;
  token: Secret;
}

/** `slot` is null for what holds nothing; a number whose point of sale is not known stands for any of them. */
export type CarriedUnit = Pick<LegacySale, 'family' | 'unit' | 'slot'>;

/** A refund that the terminal carries out, which names its terminal and is no sale. */
export function isTerminalRefund({ story }: Operation): boolean {
  return story === 'refund_intent';
}

/** Null where the call names no unit that orders could ever have. Asks nobody. */
export async function unitOf(runtime: Runtime, merchant_id: string, call: CarriedCall): Promise<CarriedUnit | null> {
  if (isTerminalRefund(call.operation)) return knownUnit(slotOf('point', call.path.device_id ?? ''), true);
  const named = await namedBy(runtime, call.operation, call.path);
  if (named.kind === 'slot') return knownUnit(named.slot, named.work !== 'beside');
  if (named.kind !== 'pos') return null;
  const lookup = await peekPos(runtime, merchant_id, named.pos_id);
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
