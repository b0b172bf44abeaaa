/** The vendor's view of both APIs, by the sandbox's control door. */
import type { Journey } from './journey.ts';
import type { Sale } from './shop.ts';
import type { Stand } from './stand.ts';

export interface Underneath {
  orders: {
    id: string;
    merchant_id: string;
    status: string;
    external_reference: string;
    config: { point?: { terminal_id: string }; qr?: { external_pos_id: string } };
  }[];
  payments: { merchant_id: string; amount_minor: number }[];
  requests: { method: string; path: string }[];
  legacy: { intents: { id: string; merchant_id: string; device_id: string }[] };
  legacy_qr: { orders: { merchant_id: string; external_pos_id: string; external_reference: string }[] };
}

export async function underneath(stand: Stand): Promise<Underneath> {
  return (await stand.control('GET', '/state')) as Underneath; // the sandbox's shape
}

/**
 * Finds the lane of each new sale in the vendor's books; a known lane stays. @returns the number of sales found per
 * lane.
 */
export async function placeAll({ stand, shops }: Pick<Journey, 'stand' | 'shops'>): Promise<Record<Side, number>> {
  const { legacy, legacy_qr } = await underneath(stand);
  const intents = new Set(legacy.intents.map(({ id }) => id));
  const codes = new Set(legacy_qr.orders.map((order) => `${order.merchant_id} ${order.external_reference}`));
  const count = { legacy: 0, orders: 0 };
  for (const { merchant, sales } of Object.values(shops))
    for (const sale of sales.filter(({ born }) => born === null)) {
      const known = sale.id === null ? codes.has(`${merchant} ${sale.reference}`) : intents.has(sale.id);
      sale.born = known ? 'legacy' : 'orders';
      count[sale.born]++;
    }
  return count;
}

type Side = NonNullable<Sale['born']>;
