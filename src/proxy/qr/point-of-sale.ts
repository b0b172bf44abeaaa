/** Which point of sale a QR call is about, and whether the caller may speak for it. */
import { EXTERNAL_ID, USER_ID } from '../../contract/identifiers.ts';
import type { Family } from '../../contract/legacy-errors.ts';
import { markLimitation } from '../evidence/limitation-mark.ts';
import type { LegacyCall } from '../http/call.ts';
import { type Answered, refused } from '../http/legacy-answer.ts';
import type { Runtime } from '../runtime.ts';
import { lookUpPos } from './pos-lookup.ts';

export type PointOfSale = { kind: 'known'; external_pos_id: string } | { kind: 'refused'; answer: Answered };

/**
 * The external id of the point of sale in the path; an internal number is looked up. A path user that is not the
 * token's owner is refused as legacy did.
 */
export async function pointOfSaleOf(runtime: Runtime, call: LegacyCall): Promise<PointOfSale> {
  const { family } = call.operation;
  const { user_id, external_pos_id, pos_id } = call.path;
  if (user_id !== undefined && !USER_ID.test(user_id)) return refuse(refused(family, 'invalid_collector'));
  if (user_id !== undefined && user_id !== call.merchant.id) return refuse(refused(family, 'foreign_collector'));
  if (external_pos_id !== undefined) return named(runtime, family, external_pos_id);
  const lookup = await lookUpPos(runtime, call.merchant.id, call.token, pos_id ?? '');
  if (lookup.kind === 'known') return lookup;
  if (lookup.error === 'pos_without_external_id') markLimitation(runtime.exchange(), 'LIM-24');
  return refuse(refused(family, lookup.error));
}

/** v1 has one answer for whatever is not there; v2 has a code for an id that can't be one. */
function named(runtime: Runtime, family: Family, external_pos_id: string): PointOfSale {
  if (EXTERNAL_ID.test(external_pos_id)) return { kind: 'known', external_pos_id };
  markLimitation(runtime.exchange(), 'LIM-24');
  if (family === 'qr_v1') return refuse(refused(family, 'pos_not_found'));
  return refuse(refused(family, 'invalid_property', 'external_pos_id'));
}

function refuse(answer: Answered): PointOfSale {
  return { kind: 'refused', answer };
}
