/** Dynamic codes whose create nobody knows the outcome of: they hold no unit, so their retries are told by what they say. */
import type { Link } from '../link.ts';
import type { LegacySale } from '../records/routing.ts';
import type { Runtime } from '../runtime.ts';

/** More tries of one dynamic sale than any till makes before somebody looks. */
const TRIES_AT_MOST = 20;
/** More sales than a point of sale makes in the time of a retry. */
const SALES_AT_MOST = 100;

/** Dynamic codes asked for on legacy, of this unit and reference, whose outcome is not known yet. */
export async function legacyDoubts(
  runtime: Runtime,
  merchant_id: string,
  unit: string,
  client_reference: string | null,
): Promise<LegacySale[]> {
  if (client_reference === null) return [];
  const sales = await runtime.store.legacySalesByReference(merchant_id, client_reference, TRIES_AT_MOST);
  const now = runtime.clock.now();
  return sales.filter((sale) => {
    const doubtful = sale.state === 'SENDING' || sale.state === 'IN_DOUBT';
    return doubtful && sale.slot === null && sale.unit === unit && sale.ends_at > now;
  });
}

/** True while the unit has a dynamic code on orders that its till may not have been told of, and may ask for again. */
export async function hasUntoldCode(runtime: Runtime, merchant_id: string, unit: string): Promise<boolean> {
  const now = runtime.clock.now();
  const since = now - runtime.settings.create.replay_window_ms;
  const links = await runtime.store.linksOf(merchant_id, since, now + 1, SALES_AT_MOST);
  return links.some((link) => link.slot === null && link.unit === unit && isUntold(link));
}

function isUntold(link: Link): boolean {
  if (link.state === 'SENDING' || link.state === 'IN_DOUBT') return true;
  return link.state === 'LIVE' && link.client_answer !== 'maybe';
}
