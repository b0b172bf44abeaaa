/** The assumptions in force for whom a report is about: a merchant's own settings stand over the defaults. */
import type { Merchant } from '../../proxy/routing/merchant.ts';
import type { Assumption } from './report.ts';

const DEFAULTS = 'merchants.';
/** Behind a value that is a merchant's own. */
export const OWN_VALUE = ' (of this merchant)';

/** @param merchant null: the fleet, or a merchant without settings. */
export function assumptionsFor(assumptions: readonly Assumption[], merchant: Merchant | null): Assumption[] {
  if (merchant === null) return [...assumptions];
  const own = new Map<string, unknown>(
    Object.entries(merchant.settings).map(([key, value]) => [DEFAULTS + key, value]),
  );
  // Where its notices go is sealed; that it has somewhere of its own is what counts.
  own.set(`${DEFAULTS}notice_url`, merchant.sealed_notice_url === null ? null : 'set');
  return assumptions.map((one) => {
    const value = own.get(one.name) ?? null;
    return value === null ? one : { ...one, value: `${value}${OWN_VALUE}` };
  });
}
