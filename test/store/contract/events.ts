/** The inbox: no answered event is lost, identical unread hints are merged, and unmatched events are parked. */
import { expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import { PARKED_EVENTS_LIMIT } from '../../../src/proxy/store.ts';
import { UNVERIFIED_KEPT } from '../../../src/store/conditions.ts';
import { type Harness, MINUTE_MS, NOON, newEvent, newNotice, opened, orderId } from './harness.ts';

/** Later than the store's own clock. */
const WHENEVER = Number.MAX_SAFE_INTEGER;

/** Twenty thousand units, one by one on a server that shares a machine. */
const LONG_MS = 240_000;

export function eventTests(harness: Harness): void {
  const { store } = harness;
  itEndsWithItsSale(harness);
  itParks(harness);
  itKeepsTheOrder(harness);

  it('keeps an event as it came, through a restart', async () => {
    const event = newEvent();
    await store.events.receiveEvent(event);
    const [kept, ...rest] = await (await harness.reopen()).events.dueEvents(NOON, 10);
    expect(kept).toMatchObject({ ...event, state: 'pending', attempts: 0 });
    expect(rest).toEqual([]);
  });

  it('merges an identical hint that is still unread', async () => {
    await Promise.all(Array.from({ length: 50 }, () => store.events.receiveEvent(newEvent())));
    expect(await store.events.dueEvents(NOON, 100)).toHaveLength(1);
  });

  it('merges hints that name no order, too', async () => {
    await store.events.receiveEvent(newEvent({ order_id: null, reference: null }));
    await store.events.receiveEvent(newEvent({ order_id: null, reference: null }));
    expect(await store.events.dueEvents(NOON, 100)).toHaveLength(1);
  });

  it('keeps hints that differ in order, reference, sender, action or proof', async () => {
    await store.events.receiveEvent(newEvent());
    await store.events.receiveEvent(newEvent({ order_id: orderId(2) }));
    await store.events.receiveEvent(newEvent({ order_id: null }));
    await store.events.receiveEvent(newEvent({ reference: null }));
    await store.events.receiveEvent(newEvent({ user_id: '700100300' }));
    await store.events.receiveEvent(newEvent({ action: 'order.refunded' }));
    await store.events.receiveEvent(newEvent({ verified: false }));
    expect(await store.events.dueEvents(NOON, 100)).toHaveLength(7);
  });

  it('does not merge into a hint that was handed out, because it may have been read before this change', async () => {
    await store.events.receiveEvent(newEvent());
    const [first] = await store.events.dueEvents(NOON, 10);
    await store.events.receiveEvent(newEvent());
    if (first === undefined) throw new Error('no event is due');
    await store.events.saveEvent(first.sequence, { state: 'done' });
    const due = await store.events.dueEvents(NOON, 10);
    expect(due).toHaveLength(1);
    expect(due[0]?.sequence).toBeGreaterThan(first.sequence);
  });

  it('lists due events by their next attempt, and changes only what is named', async () => {
    for (const order of [1, 2, 3]) await store.events.receiveEvent(newEvent({ order_id: orderId(order) }));
    const [first, second] = await store.events.dueEvents(NOON, 2);
    if (first === undefined || second === undefined) throw new Error('two events are due');
    await store.events.saveEvent(first.sequence, { attempts: 1, next_attempt_at: NOON + MINUTE_MS });
    await store.events.saveEvent(second.sequence, { state: 'done' });
    expect((await store.events.dueEvents(NOON, 10)).map((event) => event.order_id)).toEqual([orderId(3)]);
    const later = await store.events.dueEvents(NOON + MINUTE_MS, 10);
    expect(later[1]).toEqual({ ...first, attempts: 1, next_attempt_at: NOON + MINUTE_MS });
    expect(await store.upkeep.counts()).toMatchObject({ events_waiting: 2 });
  });
}

function itEndsWithItsSale(harness: Harness): void {
  const { store } = harness;
  it('ends an event in the commit of what it changed about its sale, and not without it', async () => {
    const link = await opened(store);
    await store.events.receiveEvent(newEvent());
    const [event] = await store.events.dueEvents(NOON, 10);
    if (event === undefined) throw new Error('no event is due');
    const notices = [newNotice(link, 'paid')];
    const stale = { ...link, revision: link.revision - 1 };
    await expect(store.links.saveLink(stale, { state: 'DONE' }, { notices, event })).rejects.toMatchObject({
      code: 'conflict',
    });
    const reopened = await harness.reopen();
    expect(await reopened.events.dueEvents(WHENEVER, 10)).toMatchObject([{ ...event, attempts: 0 }]);
    expect(await reopened.notices.dueNotices(NOON, 10)).toEqual([]);
    await reopened.links.saveLink(link, { state: 'DONE' }, { notices, event });
    const again = await harness.reopen();
    expect(await again.events.dueEvents(WHENEVER, 10)).toEqual([]);
    expect(await again.events.eventsOf(orderId(1), null, 10)).toMatchObject([{ state: 'done', attempts: 1 }]);
    expect(await again.notices.dueNotices(NOON, 10)).toMatchObject([{ body: 'paid' }]);
    expect(await again.links.link(link.legacy_id)).toMatchObject({ state: 'DONE' });
  });

  it.each([
    ['of its order', orderId(1)],
    ['of its reference', null],
  ])('keeps the newest unverified events %s when one ends with its sale', async (_which, order_id) => {
    let link = await opened(store);
    for (let number = 0; number < UNVERIFIED_KEPT + 3; number++) {
      await store.events.receiveEvent(newEvent({ order_id, verified: false }));
      const [event] = await store.events.dueEvents(WHENEVER, 10);
      if (event === undefined) throw new Error('no event is due');
      link = await store.links.saveLink(link, { attempts: number }, { event });
    }
    expect(await store.events.eventsOf(orderId(1), 'ref00000001', 100)).toHaveLength(UNVERIFIED_KEPT);
  });
}

function itKeepsTheOrder(harness: Harness): void {
  const { store } = harness;
  it('lists events with equal times in the order of arrival, also after a restart [F48]', async () => {
    const orders = Array.from({ length: 40 }, (_, index) => orderId((index * 17) % 40));
    for (const order_id of orders) await store.events.receiveEvent(newEvent({ order_id }));
    expect((await store.events.dueEvents(NOON, 100)).map(({ order_id }) => order_id)).toEqual(orders);
    const again = await harness.reopen();
    expect((await again.events.dueEvents(NOON, 100)).map(({ order_id }) => order_id)).toEqual(orders);
  });
}

function itParks(harness: Harness): void {
  const { store } = harness;
  it('parks an event and makes it pending again when its order or its reference appears', async () => {
    await park(store, { order_id: orderId(1), reference: 'a' });
    await park(store, { order_id: orderId(2), reference: 'b' });
    await park(store, { order_id: null, reference: null });
    expect(await store.events.dueEvents(WHENEVER, 10)).toEqual([]);
    expect(await store.upkeep.counts()).toMatchObject({ events_waiting: 3 });
    await learn(store, orderId(8), 'c');
    expect(await store.events.dueEvents(WHENEVER, 10)).toEqual([]);
    await learn(store, orderId(1), 'd');
    expect(await store.events.dueEvents(WHENEVER, 10)).toMatchObject([{ order_id: orderId(1), state: 'pending' }]);
    await learn(store, orderId(9), 'b');
    expect(await store.events.dueEvents(WHENEVER, 10)).toHaveLength(2);
  });

  it('leaves events parked when a link changes without learning its order, unless they are recalled', async () => {
    await park(store, { order_id: orderId(1), reference: 'a' });
    const link = await opened(store, { reference_sent: 'a' });
    const doubt = await store.links.saveLink(link, { state: 'IN_DOUBT' });
    expect(await store.events.dueEvents(WHENEVER, 10)).toEqual([]);
    await park(store, { reference: 'b' });
    await store.links.saveLink(doubt, {}, { recall_events: true });
    expect(await store.events.dueEvents(WHENEVER, 10)).toMatchObject([{ order_id: orderId(1), reference: 'a' }]);
  });

  it('keeps a bounded number of parked events: verified ones push out unverified ones, oldest first [F109]', {
    timeout: LONG_MS,
  }, async () => {
    const before = PARKED_EVENTS_LIMIT - 1;
    // Dated today, because on a slow machine the store may purge old parked events meanwhile.
    const received_at = Date.now();
    await park(store, { received_at, reference: 'verified and oldest' });
    // One event is received by the store; the others are copies of its row, because 10,000 transactions take half a minute.
    await store.events.receiveEvent(newEvent({ received_at, reference: 'forged 0', verified: false }));
    const columns = 'received_at, order_id, user_id, verified, action, state, attempts, next_attempt_at';
    await harness.sql(`INSERT INTO events (reference, ${columns})
      WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${before - 1})
      SELECT 'forged ' || number, ${columns} FROM events, numbers WHERE reference = 'forged 0' ORDER BY number`);
    await harness.sql("UPDATE events SET state = 'parked' WHERE state = 'pending'");
    expect(await store.upkeep.counts()).toMatchObject({ events_waiting: PARKED_EVENTS_LIMIT });
    await park(store, { received_at, reference: 'verified and newest' });
    expect(await store.upkeep.counts()).toMatchObject({ events_waiting: PARKED_EVENTS_LIMIT });
    const names = ['verified and oldest', 'verified and newest', 'forged 0', 'forged 1'];
    for (const [index, reference] of names.entries()) await learn(store, orderId(20 + index), reference);
    const left = await store.events.dueEvents(WHENEVER, 10);
    expect(left.map((event) => event.reference).sort()).toEqual([
      'forged 1',
      'verified and newest',
      'verified and oldest',
    ]);
  });
}

/** Gives a link of its own the order id, as a settled create does. */
async function learn(store: Store, order_id: string, reference_sent: string): Promise<void> {
  const link = await opened(store, { unit: `PAX_A910__${order_id}`, reference_sent });
  await store.links.saveLink(link, { order_id, state: 'LIVE' });
}

async function park(store: Store, change: Parameters<typeof newEvent>[0]): Promise<void> {
  const received = newEvent(change);
  await store.events.receiveEvent(received);
  for (const event of await store.events.dueEvents(received.received_at, 10))
    await store.events.saveEvent(event.sequence, { state: 'parked' });
}
