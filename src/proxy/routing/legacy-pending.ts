import type { Ports } from '../ports.ts';
import type { LegacySale } from '../records/routing.ts';

/** More tries of one dynamic sale than any till makes before somebody looks. */
const TRIES_AT_MOST = 20;

/** Dynamic codes asked for on legacy, of this unit and reference, whose outcome is not known yet. */
export async function legacyDoubts(
  ports: Ports,
  merchant_id: string,
  unit: string,
  client_reference: string | null,
): Promise<LegacySale[]> {
  if (client_reference === null) return [];
  const sales = await ports.store.legacy_sales.legacySalesByReference(merchant_id, client_reference, TRIES_AT_MOST);
  const now = ports.clock.now();
  return sales.filter((sale) => {
    const doubtful = sale.state === 'SENDING' || sale.state === 'IN_DOUBT';
    return doubtful && sale.slot === null && sale.unit === unit && sale.ends_at > now;
  });
}
