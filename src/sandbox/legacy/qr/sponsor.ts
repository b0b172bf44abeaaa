/** The integrator that an order names: a user id, and not the seller's own. Source: `legacy-qr.md` §1.1 errors. */
import type { Json } from '../../../contract/json.ts';
import { type QrCall, refuse } from './call.ts';

/**
 * Integrators are not in the cast, so any other number passes; a merchant of the cast must be of the same site.
 * @returns null when none is named.
 * @throws PuenteError refused.
 */
export function checkSponsor({ family, merchant, state }: QrCall, value: Json): number | null {
  if (value === null || value === '') return null;
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : '';
  const known = state.world.merchants.get(text);
  const foreign = known !== undefined && known.site.site_id !== merchant.site.site_id;
  if (!/^[1-9]\d{0,14}$/.test(text) || text === merchant.user_id || foreign) throw refuse(family, 'invalid_sponsor');
  return Number(text);
}
