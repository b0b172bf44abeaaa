/** A unit never has live work on both lanes, in any order and number of concurrent opens. */
import { expect, it } from 'vitest';
import {
  busyUnlessFree,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newLink,
  newSale,
  OTHER_MERCHANT,
  opened,
} from './harness.ts';

export function laneTests(harness: Harness): void {
  const { store } = harness;
  itRaces(harness);

  it('writes no link while a sale created on legacy holds the unit, and gives that sale', async () => {
    for (const state of ['SENDING', 'IN_DOUBT', 'OPEN'] as const) {
      const unit = `PAX_A910__${state}`;
      const sale = newSale({ unit, state });
      await store.legacy_sales.openLegacySale(sale);
      const link = newLink({ unit });
      const result = await store.links.openLink(link, busyUnlessFree);
      expect(result).toEqual({ opening: { kind: 'elsewhere' }, link, elsewhere: sale });
      expect(await store.links.link(link.legacy_id)).toBeNull();
      expect(await store.history.linkHistory(link.legacy_id)).toEqual([]);
    }
  });

  it('writes a link when the sale created on legacy is over, or is of another unit or merchant', async () => {
    await store.legacy_sales.openLegacySale(newSale({ state: 'ENDED' }));
    await store.legacy_sales.openLegacySale(newSale({ state: 'REFUSED' }));
    await store.legacy_sales.openLegacySale(newSale({ state: 'OPEN', ends_at: NOON }));
    await store.legacy_sales.openLegacySale(newSale({ state: 'OPEN', unit: 'PAX_A910__OTHER' }));
    await store.legacy_sales.openLegacySale(newSale({ state: 'OPEN', merchant_id: OTHER_MERCHANT }));
    await store.legacy_sales.openLegacySale(newSale({ state: 'OPEN', family: 'qr' }));
    await store.legacy_sales.openLegacySale(newSale({ state: 'OPEN', slot: null }));
    const link = newLink();
    expect(await store.links.openLink(link, busyUnlessFree)).toMatchObject({
      opening: { kind: 'open' },
      elsewhere: null,
    });
  });

  it('compares the end of the sale with the time of the link', async () => {
    const sale = newSale({ state: 'OPEN', ends_at: NOON + MINUTE_MS });
    await store.legacy_sales.openLegacySale(sale);
    const early = await store.links.openLink(newLink({ created_at: NOON + MINUTE_MS - 1 }), busyUnlessFree);
    expect(early).toMatchObject({ opening: { kind: 'elsewhere' }, elsewhere: sale });
    const late = await store.links.openLink(newLink({ created_at: NOON + MINUTE_MS }), busyUnlessFree);
    expect(late).toMatchObject({ opening: { kind: 'open' }, elsewhere: null });
  });

  it('writes a dynamic QR, which holds nothing, in either lane', async () => {
    await store.legacy_sales.openLegacySale(newSale({ family: 'qr', unit: 'SUC001POS001', state: 'OPEN' }));
    const change = { family: 'qr', unit: 'SUC001POS001', slot: null } as const;
    expect(await opened(store, { ...change, merchant_order_id: 7 })).toMatchObject({ slot: null });
    expect(await store.legacy_sales.openLegacySale(newSale(change))).toBeNull();
  });

  it('writes no sale of legacy while a link holds the unit, and gives that link', async () => {
    let link = await opened(store);
    for (const state of ['SENDING', 'IN_DOUBT', 'LIVE'] as const) {
      link = await store.links.saveLink(link, { state });
      expect(await store.legacy_sales.openLegacySale(newSale({ legacy_id: 'none' }))).toEqual(link);
    }
    expect(await store.legacy_sales.legacySale('none')).toBeNull();
    await store.links.saveLink(link, { state: 'DONE' });
    expect(await store.legacy_sales.openLegacySale(newSale({ legacy_id: 'some' }))).toBeNull();
    expect((await store.legacy_sales.legacySale('some'))?.legacy_id).toBe('some');
  });

  it('keeps a sale of any point of sale and links of QR from each other, whichever comes first', async () => {
    const any = newSale({ family: 'qr', unit: '1001', slot: 'qr:*' });
    await opened(store); // a terminal blocks no till
    const link = await opened(store, { family: 'qr', unit: 'SUC001POS001' });
    expect(await store.legacy_sales.openLegacySale(any)).toEqual(link);
    await store.links.saveLink(link, { state: 'DONE', legacy_state: 'paid' });
    expect(await store.legacy_sales.openLegacySale(any)).toBeNull();
    const late = await store.links.openLink(newLink({ family: 'qr', unit: 'SUC001POS002' }), busyUnlessFree);
    expect(late).toMatchObject({ opening: { kind: 'elsewhere' }, elsewhere: any });
    expect(await opened(store, { unit: 'PAX_A910__OTHER' })).toMatchObject({ slot: 'point:PAX_A910__OTHER' });
  });

  it('asks first what is live on orders: busy and join are answered as ever', async () => {
    const holder = await opened(store);
    for (const kind of ['busy', 'join'] as const) {
      const opening = { kind, link: holder };
      const result = await store.links.openLink(newLink(), () => opening);
      expect(result).toEqual({ opening, link: holder, elsewhere: null });
    }
  });
}

function itRaces(harness: Harness): void {
  const { store } = harness;
  it.each(['link', 'sale'] as const)('lets one lane win when forty race for a unit, a %s first', async (first) => {
    const asks = Array.from({ length: 40 }, (_, index) =>
      (index % 2 === 0) === (first === 'link')
        ? store.links.openLink(newLink(), busyUnlessFree).then(({ opening }) => `link ${opening.kind}`)
        : store.legacy_sales
            .openLegacySale(newSale())
            .then((holder) => (holder === null ? 'sale open' : 'sale elsewhere')),
    );
    const results = new Set(await Promise.all(asks));
    const expected = first === 'link' ? ['link open', 'link busy', 'sale elsewhere'] : ['sale open', 'link elsewhere'];
    expect(results).toEqual(new Set(expected));
  });

  it('never has both live while units change hands again and again', async () => {
    const seen = { both: 0, links: 0, sales: 0 };
    const check = async (unit: string) => {
      const slot = `point:${unit}`;
      // The writer may commit between reads: a link counts as live beside a sale only when it is before and after. One
      // after the other: PostgreSQL answers equal lookups that are asked together with one read.
      const before = await store.links.liveLink(MERCHANT, slot);
      const sale = await store.legacy_sales.heldByLegacy(MERCHANT, slot, NOON);
      const after = await store.links.liveLink(MERCHANT, slot);
      if (before !== null && sale !== null && before.legacy_id === after?.legacy_id) seen.both += 1;
    };
    const onOrders = async (unit: string) => {
      const { opening, link } = await store.links.openLink(newLink({ unit }), busyUnlessFree);
      await check(unit);
      if (opening.kind !== 'open') return;
      seen.links += 1;
      await store.links.saveLink(link, { state: 'DONE' });
    };
    const onLegacy = async (unit: string) => {
      const sale = newSale({ unit });
      const holder = await store.legacy_sales.openLegacySale(sale);
      await check(unit);
      if (holder !== null) return;
      seen.sales += 1;
      await store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED' });
    };
    const again = async (work: (unit: string) => Promise<void>, unit: string) => {
      for (let round = 0; round < 20; round++) await work(unit);
    };
    const units = ['PAX_A910__1', 'PAX_A910__2'];
    await Promise.all(
      units.flatMap((unit) => [onOrders, onLegacy, onOrders, onLegacy].map((work) => again(work, unit))),
    );
    expect(seen.both).toBe(0);
    expect(seen.links).toBeGreaterThan(0);
    expect(seen.sales).toBeGreaterThan(0);
  });
}
