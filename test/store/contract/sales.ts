/** Lists of sales: every filter alone and combined, each page starting where the last one ended. */
import { expect, it } from 'vitest';
import type { SaleFilter, SalePage, SalePlace } from '../../../src/ops/ports.ts';
import { stateOfLegacySale, stateOfLink } from '../../../src/ops/sale-state.ts';
import { uuidV7 } from '../../../src/proxy/ids.ts';
import type { LegacySale } from '../../../src/proxy/records/routing.ts';
import type { Link, LinkChange } from '../../../src/proxy/sales/link.ts';
import { type Harness, MERCHANT, MINUTE_MS, NOON, newSale, OTHER_MERCHANT, opened, orderId } from './harness.ts';

const now = NOON + 60 * MINUTE_MS;
const order = (status: string, nth: number): LinkChange => ({ state: 'DONE', order: { id: orderId(nth), status } });
/** One of each state, and of orders that ended in each way. */
const ends: LinkChange[] = [
  {},
  { state: 'IN_DOUBT' },
  { state: 'LOST' },
  { state: 'REJECTED' },
  { state: 'NOT_SENT' },
  { state: 'LIVE', order: { id: orderId(1), status: 'created' } },
  ...['processed', 'refunded', 'canceled', 'failed', 'expired', 'action_required'].map((status, nth) =>
    order(status, nth + 2),
  ),
];

export function saleListTests(harness: Harness): void {
  const { store } = harness;

  it('lists links that pass a filter, each once and newest first, whatever the size of a page', async () => {
    const links: Link[] = [];
    for (const [nth, end] of [...ends, ...ends].entries()) {
      const created_at = NOON + Math.floor(nth / 2) * MINUTE_MS;
      const merchant_id = nth % 3 === 0 ? OTHER_MERCHANT : MERCHANT;
      const [unit, amount_minor] = [`PAX_A910__${nth}`, nth * 100];
      const legacy_id = uuidV7(created_at);
      const change = end.order ? { ...end, order: { ...end.order, id: orderId(nth + 20) } } : end;
      const family = nth % 4 === 1 ? ('qr' as const) : ('point' as const);
      const merchant_order_id = family === 'qr' ? nth : null;
      const client_reference = nth % 5 < 2 ? 'mesa 4' : null;
      const own = {
        legacy_id,
        created_at,
        merchant_id,
        unit,
        family,
        merchant_order_id,
        amount_minor,
        client_reference,
      };
      const link = await opened(store, own);
      links.push(Object.keys(change).length === 0 ? link : await store.links.saveLink(link, change));
    }
    const listed = (filter: SaleFilter, limit: number) =>
      walk(
        (before) => store.history.listLinks(filter, before, limit),
        (link) => link.legacy_id,
      );
    for (const filter of filters) {
      const wanted = links.filter((link) => passes(link, stateOfLink(link), filter)).toSorted(newestFirst);
      for (const limit of [100, 3])
        expect(await listed({ ...filter, now }, limit), `${JSON.stringify(filter)} by ${limit}`).toEqual(
          wanted.map(({ legacy_id }) => legacy_id),
        );
    }
  });

  it('lists sales on legacy alike, without refunds and without those of tokens that may be invented', async () => {
    const states = ['SENDING', 'IN_DOUBT', 'OPEN', 'ENDED', 'REFUSED'] as const;
    const sales: LegacySale[] = [];
    for (const [nth, state] of [...states, ...states, ...states].entries()) {
      const created_at = NOON + nth * MINUTE_MS;
      const sale = newSale({
        id: uuidV7(created_at),
        unit: `PAX_A910__${nth}`,
        merchant_id: nth % 3 === 0 ? OTHER_MERCHANT : MERCHANT,
        ...(nth === 12 ? { slot: null } : {}),
        work: nth === 11 ? 'refund' : 'sale',
        family: nth % 4 === 1 ? 'qr' : 'point',
        state,
        client_reference: nth % 5 < 2 ? 'mesa 4' : null,
        amount: `${nth * 100}.00`,
        end_state: [null, 'CANCELED', 'FINISHED', 'paid', 'ABANDONED', 'ERROR'][nth % 6] ?? null,
        unproven_token: nth === 10 ? 'of nobody' : null,
        ends_at: nth < 5 ? now - 1 : now + 1,
        created_at,
      });
      await store.legacy_sales.openLegacySale(sale);
      if (sale.work === 'sale' && sale.unproven_token === null) sales.push(sale);
    }
    for (const filter of filters) {
      const wanted = sales.filter((sale) =>
        passes({ ...sale, amount_minor: Number(sale.amount) }, stateOfLegacySale(sale, now), filter),
      );
      for (const limit of [100, 2]) {
        const listed = await walk(
          (before) => store.legacy_sales.listLegacySales({ ...filter, now }, before, limit),
          ({ id }) => id,
        );
        expect(listed, `${JSON.stringify(filter)} by ${limit}`).toEqual(wanted.toReversed().map(({ id }) => id));
      }
    }
    const { rows } = await store.legacy_sales.listLegacySales({ now, with_unproven: true }, null, 100);
    expect(rows.length).toBe(sales.length + 1);
  });
}

const filters: Omit<SaleFilter, 'now'>[] = [
  {},
  { merchant_id: MERCHANT },
  { merchant_id: 'nobody' },
  { merchant_ids: [MERCHANT, OTHER_MERCHANT] },
  { merchant_ids: [OTHER_MERCHANT, 'nobody'] },
  { merchant_ids: [OTHER_MERCHANT, 'nobody'], state: 'paid', since: NOON + 3 * MINUTE_MS },
  { merchant_ids: [OTHER_MERCHANT, 'nobody'], state: 'in_doubt' },
  { merchant_ids: [OTHER_MERCHANT, 'nobody'], reference: 'mesa 4' },
  { merchant_ids: ['nobody', 'no other'] },
  { unit: 'PAX_A910__4' },
  { family: 'qr' },
  { family: 'point', merchant_id: MERCHANT },
  { family: 'qr', state: 'paid', since: NOON + 3 * MINUTE_MS },
  { unit: 'PAX_A910__4', merchant_id: OTHER_MERCHANT },
  { since: NOON + 3 * MINUTE_MS, until: NOON + 9 * MINUTE_MS },
  { since: NOON + 3 * MINUTE_MS, until: NOON + 9 * MINUTE_MS, merchant_id: MERCHANT },
  { amount_from: 300, amount_to: 1100 },
  { amount_to: 900, merchant_id: MERCHANT },
  { reference: 'mesa 4' },
  { reference: 'mesa 4', merchant_id: MERCHANT },
  { reference: 'mesa 4', state: 'paid', since: NOON + 2 * MINUTE_MS },
  { reference: 'mesa', merchant_id: MERCHANT },
  ...(['open', 'in_doubt', 'paid', 'canceled', 'declined', 'expired', 'refused', 'lost', 'not_known'] as const).flatMap(
    (state) => [{ state }, { state, merchant_id: MERCHANT }, { state, since: NOON + 6 * MINUTE_MS }],
  ),
];

function passes(
  row: Pick<LegacySale, 'merchant_id' | 'unit' | 'family' | 'created_at' | 'client_reference'> &
    Pick<Link, 'amount_minor'>,
  state: string,
  filter: Omit<SaleFilter, 'now'>,
): boolean {
  const { since = 0, until = now, amount_from = 0, amount_to = Number.MAX_SAFE_INTEGER } = filter;
  const { amount_minor } = row;
  return (
    (filter.state ?? state) === state &&
    (filter.merchant_id ?? row.merchant_id) === row.merchant_id &&
    (filter.merchant_ids ?? [row.merchant_id]).includes(row.merchant_id) &&
    (filter.unit ?? row.unit) === row.unit &&
    (filter.reference ?? row.client_reference) === row.client_reference &&
    (filter.family ?? row.family) === row.family &&
    row.created_at >= since &&
    row.created_at < until &&
    amount_minor >= amount_from &&
    amount_minor <= amount_to
  );
}

function newestFirst(one: Link, other: Link): number {
  return other.created_at - one.created_at || (one.legacy_id < other.legacy_id ? 1 : -1);
}

async function walk<Row>(
  read: (before: SalePlace | null) => Promise<SalePage<Row>>,
  idOf: (row: Row) => string,
): Promise<string[]> {
  const ids: string[] = [];
  for (let before: SalePlace | null = null; ; ) {
    const { rows, next }: SalePage<Row> = await read(before);
    ids.push(...rows.map(idOf));
    if (next === null) return ids;
    before = next;
  }
}
