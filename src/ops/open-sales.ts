/** Open sales of a merchant, on either lane. */
import type { LegacySale } from '../proxy/records/routing.ts';
import type { Ports } from './ports.ts';

/** More than a merchant has at a time; bounds one answer. */
const MOST_OPEN = 10_000;

/** An open sale keeps its unit on its lane. */
export interface OpenSale extends Pick<LegacySale, 'family' | 'unit' | 'created_at'> {
  side: 'orders' | 'legacy';
  legacy_id: string | null;
  /** Null: it holds no unit. */
  slot: string | null;
  state: string;
  /** Epoch ms of its latest possible end. */
  ends_at: number;
}

/** Links first, each lane oldest first; at most `MOST_OPEN` of each. */
export async function openSales({ store, clock }: Ports, merchant_id: string): Promise<OpenSale[]> {
  const [links, sales] = await Promise.all([
    store.history.liveLinks(merchant_id, MOST_OPEN),
    store.legacy_sales.openLegacySales(merchant_id, clock.now(), MOST_OPEN),
  ]);
  return [
    ...links.map((link) => ({ ...link, side: 'orders' as const, ends_at: link.expires_at })),
    ...sales.map((sale) => ({ ...sale, side: 'legacy' as const })),
  ];
}
