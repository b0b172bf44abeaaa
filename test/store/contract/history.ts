/** History: how a link reached its state, live links, later changes, and the events of an order. */
import { expect, it } from 'vitest';
import {
  finished,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newEvent,
  newRefund,
  newSale,
  OTHER_MERCHANT,
  opened,
  orderId,
} from './harness.ts';

export function historyTests(harness: Harness): void {
  itKeepsHistory(harness);
  itListsLinks(harness);
  itShowsEvents(harness);
}

function itKeepsHistory(harness: Harness): void {
  const { store } = harness;
  it('notes every change of state, of what tills see, and of the order, and nothing else', async () => {
    let link = await opened(store);
    const at = (minutes: number) => NOON + minutes * MINUTE_MS;
    const order = (status: string, extra = {}) => ({ id: orderId(1), status, ...extra });
    link = await store.links.saveLink(link, { attempts: 1, updated_at: at(1) });
    link = await store.links.saveLink(link, { state: 'LIVE', order: order('created'), updated_at: at(2) });
    link = await store.links.saveLink(link, { order: order('created', { status_detail: 'x' }), updated_at: at(3) });
    link = await store.links.saveLink(link, { legacy_state: 'ON_TERMINAL', updated_at: at(4) });
    link = await store.links.saveLink(link, { order: order('processed'), updated_at: at(5) });
    link = await store.links.saveLink(link, { state: 'DONE', legacy_state: 'FINISHED', updated_at: at(5) });
    await expect(store.links.saveLink({ ...link, revision: 1 }, { state: 'LOST' })).rejects.toMatchObject({
      code: 'conflict',
    });
    expect(await (await harness.reopen()).history.linkHistory(link.legacy_id)).toEqual([
      { at: NOON, state: 'SENDING', legacy_state: 'OPEN', order_status: null },
      { at: at(2), state: 'LIVE', legacy_state: 'OPEN', order_status: 'created' },
      { at: at(4), state: 'LIVE', legacy_state: 'ON_TERMINAL', order_status: 'created' },
      { at: at(5), state: 'LIVE', legacy_state: 'ON_TERMINAL', order_status: 'processed' },
      { at: at(5), state: 'DONE', legacy_state: 'FINISHED', order_status: 'processed' },
    ]);
    expect(await store.history.linkHistory('nobody')).toEqual([]);
  });
}

function itListsLinks(harness: Harness): void {
  const { store } = harness;
  it('pages through links, refunds and legacy sales of a merchant and a period, as they were created', async () => {
    const ids = ['c', 'a', 'b'].map((letter) => `00000000-0000-7000-8000-00000000000${letter}`);
    const made = (id: string, nth: number) => ({
      created_at: NOON + (nth === 0 ? 1 : 0),
      unit: `PAX_A910__${id.at(-1)}`,
    });
    for (const [nth, id] of ids.entries()) {
      const link = await finished(store, { legacy_id: id, family: 'qr', merchant_order_id: nth, ...made(id, nth) });
      await store.refunds.openRefund(newRefund(link, { id, number: nth + 1, ...made(id, nth) }), () => 'open');
      await store.legacy_sales.openLegacySale(newSale({ id, legacy_id: id, ...made(id, nth) }));
    }
    for (const change of [{ created_at: NOON - 1 }, { created_at: NOON + 2 }, { merchant_id: OTHER_MERCHANT }]) {
      const link = await finished(store, change);
      await store.refunds.openRefund(
        newRefund(link, { number: NOON + (change.created_at ?? 0), ...change }),
        () => 'open',
      );
      await store.legacy_sales.openLegacySale(newSale({ unit: link.unit, ...change }));
    }
    const page = (after: { created_at: number; id: string } | null) => {
      return { merchant_id: MERCHANT, since: NOON, until: NOON + 2, after, limit: 2 };
    };
    const { history, refunds, legacy_sales } = store;
    for (const read of [history.linksMade, refunds.refundsMade, legacy_sales.legacySalesMade]) {
      const idsOf = async (...asked: Parameters<typeof page>) =>
        (await read(page(...asked))).map((row) => ('id' in row ? row.id : row.legacy_id));
      expect(await idsOf(null)).toEqual([ids[1], ids[2]]);
      expect(await idsOf({ created_at: NOON, id: ids[2] ?? '' })).toEqual([ids[0]]);
    }
    expect((await refunds.refundsMade(page(null)))[0]?.family).toBe('qr');
    const of = await refunds.refundsOf([ids[2] ?? '', ids[1] ?? '', 'none']);
    expect(of.map(({ legacy_id }) => legacy_id)).toEqual([ids[1], ids[2]]);
  });

  it('lists live links oldest first, of one merchant or of all', async () => {
    const live = (unit: string, age: number, merchant_id = MERCHANT) =>
      opened(store, { unit, merchant_id, created_at: NOON - age });
    const [young, old] = [await live('PAX_A910__1', 1), await live('PAX_A910__2', 9)];
    const other = await live('PAX_A910__1', 5, OTHER_MERCHANT);
    const dynamic = await opened(store, { family: 'qr', slot: null, merchant_order_id: 7, created_at: NOON });
    await finished(store);
    expect(await store.history.liveLinks(MERCHANT, 9)).toEqual([old, young, dynamic]);
    expect(await store.history.liveLinks(MERCHANT, 1)).toEqual([old]);
    expect(await store.history.liveLinks(null, 9)).toEqual([old, other, young, dynamic]);
    expect(await store.history.liveLinks('nobody', 9)).toEqual([]);
  });

  it('pages through links by their last change, and leaves none of one millisecond out', async () => {
    const units = Array.from({ length: 7 }, (_, index) => `PAX_A910__${index}`);
    for (const [index, unit] of units.entries()) {
      await opened(store, { unit, updated_at: NOON + Math.floor(index / 3) });
    }
    const walk = async (since: number, limit: number) => {
      const pages: [number, string][] = [];
      let after: { updated_at: number; legacy_id: string } | null = null;
      for (;;) {
        const page = await store.history.linksChangedSince(since, after, limit);
        for (const { updated_at, legacy_id } of page) pages.push([updated_at, legacy_id]);
        after = page.at(-1) ?? null;
        if (page.length < limit) return pages;
      }
    };
    const all = await walk(NOON, 100);
    expect(all.map(([at]) => at - NOON)).toEqual([0, 0, 0, 1, 1, 1, 2]);
    expect(all.toSorted(([at, id], [otherAt, otherId]) => at - otherAt || (id < otherId ? -1 : 1))).toEqual(all);
    expect(await walk(NOON, 2)).toEqual(all);
    expect(await walk(NOON + 1, 2)).toEqual(all.slice(3));
    expect(await walk(NOON + 3, 2)).toEqual([]);
    const first = await store.links.link(all[0]?.[1] ?? '');
    if (first !== null) await store.links.saveLink(first, { attempts: 1, updated_at: NOON + 9 });
    expect(await walk(NOON + 3, 2)).toEqual([[NOON + 9, first?.legacy_id]]);
  });
}

function itShowsEvents(harness: Harness): void {
  const { store } = harness;
  it('finds what was heard of an order or a reference, oldest first and each once', async () => {
    await store.events.receiveEvent(newEvent());
    await store.events.receiveEvent(newEvent({ order_id: null, action: 'by reference' }));
    await store.events.receiveEvent(newEvent({ reference: null, action: 'by order' }));
    await store.events.receiveEvent(newEvent({ order_id: orderId(2), reference: 'ref00000002', action: 'other' }));
    await store.events.receiveEvent(newEvent({ order_id: null, reference: null, action: 'of nothing' }));
    const heard = async (order_id: string | null, reference: string | null, limit = 9) =>
      (await store.events.eventsOf(order_id, reference, limit)).map(({ action }) => action);
    expect(await heard(orderId(1), 'ref00000001')).toEqual(['order.processed', 'by reference', 'by order']);
    expect(await heard(orderId(1), 'ref00000001', 2)).toEqual(['order.processed', 'by reference']);
    expect(await heard(orderId(1), null)).toEqual(['order.processed', 'by order']);
    expect(await heard(null, 'ref00000002')).toEqual(['other']);
    expect(await heard(null, null)).toEqual([]);
  });

  it('shows the events that found no link, newest first', async () => {
    for (const number of [1, 2, 3, 4]) await store.events.receiveEvent(newEvent({ order_id: orderId(number) }));
    const events = await store.events.dueEvents(NOON, 9);
    for (const [index, state] of (['parked', 'done', 'expired'] as const).entries()) {
      await store.events.saveEvent(events[index]?.sequence ?? 0, { state });
    }
    const unmatched = await store.events.unmatchedEvents(9);
    expect(unmatched.map(({ order_id, state }) => [order_id, state])).toEqual([
      [orderId(3), 'expired'],
      [orderId(1), 'parked'],
    ]);
    expect(await store.events.unmatchedEvents(1)).toEqual(unmatched.slice(0, 1));
  });
}
