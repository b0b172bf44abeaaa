/** Changes of links, and every lookup of them. */
import { LosslessNumber } from 'lossless-json';
import { expect, it } from 'vitest';
import {
  auditOf,
  DAY_MS,
  finished,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newNotice,
  OTHER_MERCHANT,
  opened,
  orderId,
  withReference,
} from './harness.ts';

export function linkTests(harness: Harness): void {
  const { store } = harness;
  itFindsLinks(harness);
  itListsLinks(harness);

  it('changes what is named, raises the revision, and keeps the rest through a restart', async () => {
    const link = await opened(store);
    const order = { id: orderId(1), status: 'at_terminal', transactions: { payments: [{ amount: '15.00' }] } };
    const change = { state: 'LIVE', client_answer: 'maybe', order_id: order.id, order, attempts: 2 } as const;
    const saved = await store.links.saveLink(link, { ...change, first_sent_at: NOON, next_check_at: null });
    expect(saved).toMatchObject({ ...change, revision: 2, sealed_body: link.sealed_body, held: link.held });
    expect(await store.links.link(link.legacy_id)).toEqual(saved);
    expect(await (await harness.reopen()).links.link(link.legacy_id)).toEqual(saved);
  });

  it('keeps numbers that a double can not hold, in what the client said', async () => {
    const held = {
      additional_info: { tip: new LosslessNumber('1.10'), long: new LosslessNumber('12345678901234567890') },
    };
    const link = await opened(store, { held });
    expect((await store.links.link(link.legacy_id))?.held).toEqual(held);
  });

  it('notes that a till knows a sale, and leaves all else of the sale as it was, its time too', async () => {
    const order = { id: orderId(1), status: 'at_terminal' };
    const placed = { state: 'LIVE', order_id: order.id, order, updated_at: NOON + 1 } as const;
    const link = await store.links.saveLink(await opened(store), placed);
    const history = await store.history.linkHistory(link.legacy_id);
    const marks = { known_by: 'till', acknowledged_at: NOON + 2 } as const;
    const marked = await store.links.saveLink(link, { ...marks, updated_at: NOON + 3 });
    expect(marked).toEqual({ ...link, ...marks, revision: link.revision + 1 });
    expect(await store.links.link(link.legacy_id)).toEqual(marked);
    expect(await store.history.linkHistory(link.legacy_id)).toEqual(history);
    await expect(store.links.saveLink(link, { known_by: 'notice' })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('changes the payment alone: the new one finds the sale, the old one no more, and its order as before', async () => {
    const link = await store.links.saveLink(await opened(store), { order_id: orderId(1), payment_id: '81' });
    const saved = await store.links.saveLink(link, { payment_id: '82' });
    expect(await store.links.linkByPayment('82')).toEqual(saved);
    expect(await store.links.linkByPayment('81')).toBeNull();
    expect(await store.links.linkByOrder(orderId(1))).toEqual(saved);
  });

  it('refuses a change on an old revision and changes nothing', async () => {
    const link = await opened(store);
    const saved = await store.links.saveLink(link, { attempts: 1 });
    const extra = { notices: [newNotice(link, '{}')], audit: auditOf('link.settled') };
    const late = store.links.saveLink(link, { attempts: 9 }, extra);
    await expect(late).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.links.link(link.legacy_id)).toEqual(saved);
    expect(await store.notices.dueNotices(NOON, 10)).toEqual([]);
    expect(await store.audit.audits(10)).toEqual([]);
  });

  it('fails, and reports no conflict, for a value that its column does not hold', async () => {
    const link = await opened(store);
    const broken = store.links.saveLink(link, { next_check_at: NOON + 0.25 });
    await expect(broken).rejects.toMatchObject({ code: 'store_failed', facts: { failure: 'failed' } });
    expect(await store.links.link(link.legacy_id)).toEqual(link);
  });

  it('lets one of ten changes of one revision through', async () => {
    const link = await opened(store);
    const attempts = Array.from({ length: 10 }, (_, index) => store.links.saveLink(link, { attempts: index + 1 }));
    const results = await Promise.allSettled(attempts);
    const won = results.filter((result) => result.status === 'fulfilled');
    expect(won).toHaveLength(1);
    expect(await store.links.link(link.legacy_id)).toEqual(won[0]?.value);
  });

  it('undoes a change that is refused half way, whole, and none of those that are committed with it', async () => {
    const link = await opened(store);
    const neighbours = Array.from({ length: 6 }, (_, index) => opened(store, { unit: `PAX_A910__${index}` }));
    const notices = [newNotice(link, '1'), newNotice({ ...link, legacy_id: 'nobody' }, '2')];
    const refused = store.links.saveLink(link, { attempts: 5 }, { notices, audit: auditOf('link.settled') });
    const late = Array.from({ length: 6 }, (_, index) => opened(store, { unit: `NEWLAND_N950__${index}` }));
    await expect(refused).rejects.toMatchObject({ code: 'conflict' });
    for (const neighbour of await Promise.all([...neighbours, ...late])) {
      expect(await store.links.link(neighbour.legacy_id)).toEqual(neighbour);
    }
    expect(await store.links.link(link.legacy_id)).toEqual(link);
    expect(await store.notices.dueNotices(NOON, 10)).toEqual([]);
    expect(await store.audit.audits(10)).toEqual([]);
    expect(await store.upkeep.counts()).toMatchObject({ links: { SENDING: 13 } });
  });

  it('erases the sealed body and refuses another one', async () => {
    const link = await opened(store);
    const other = store.links.saveLink(link, { sealed_body: new Uint8Array([5]) });
    await expect(other).rejects.toMatchObject({ code: 'conflict' });
    const erased = await store.links.saveLink(link, { sealed_body: null });
    expect(erased.sealed_body).toBeNull();
    const back = store.links.saveLink(erased, { sealed_body: new Uint8Array([5]) });
    await expect(back).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.links.link(link.legacy_id)).toEqual(erased);
  });

  it('refuses to make a link live again while another holds the unit', async () => {
    const first = await opened(store);
    const over = await store.links.saveLink(first, { state: 'NOT_SENT' });
    await opened(store);
    await expect(store.links.saveLink(over, { state: 'LIVE' })).rejects.toMatchObject({ code: 'conflict' });
  });

  it('counts links by state', async () => {
    const link = await opened(store);
    await finished(store);
    expect((await store.upkeep.counts()).links).toMatchObject({ SENDING: 1, LIVE: 0, DONE: 1 });
    await store.links.saveLink(link, { state: 'LIVE' });
    expect((await store.upkeep.counts()).links).toMatchObject({ SENDING: 0, LIVE: 1, DONE: 1 });
    expect((await (await harness.reopen()).upkeep.counts()).links).toMatchObject({ SENDING: 0, LIVE: 1, DONE: 1 });
  });

  it('counts a link that goes from any state to any other, and one that is removed', async () => {
    const states = ['SENDING', 'IN_DOUBT', 'LIVE', 'DONE', 'REJECTED', 'NOT_SENT', 'LOST'];
    const none = Object.fromEntries(states.map((state) => [state, 0]));
    const links = async () => (await store.upkeep.counts()).links;
    expect(await links()).toEqual(none);
    for (const from of states) {
      for (const to of states) {
        const { legacy_id } = await opened(store);
        await harness.sql(
          `UPDATE links SET state = '${from}', revision = revision + 1 WHERE legacy_id = '${legacy_id}'`,
        );
        await harness.sql(`UPDATE links SET state = '${to}', revision = revision + 1 WHERE legacy_id = '${legacy_id}'`);
        expect(await links(), `${from} to ${to}`).toEqual({ ...none, [to]: 1 });
        await harness.sql(`DELETE FROM link_states WHERE legacy_id = '${legacy_id}'`);
        await harness.sql(`DELETE FROM links WHERE legacy_id = '${legacy_id}'`);
        expect(await links(), `${to}, removed`).toEqual(none);
      }
    }
  });
}

function itFindsLinks(harness: Harness): void {
  const { store } = harness;
  it('finds nothing where nothing is', async () => {
    expect(await store.links.link('unknown')).toBeNull();
    expect(await store.links.linkByOrder(orderId(1))).toBeNull();
    expect(await store.links.linkByReference(MERCHANT, 'unknown')).toBeNull();
    expect(await store.links.linkByPayment('1')).toBeNull();
  });

  it('finds a link by order and payment, and by a reference within its merchant', async () => {
    const link = await opened(store, { reference_sent: 'table7' });
    const saved = await store.links.saveLink(link, { order_id: orderId(2), payment_id: '123456' });
    expect(await store.links.linkByOrder(orderId(2))).toEqual(saved);
    expect(await store.links.linkByReference(MERCHANT, 'table7')).toEqual(saved);
    expect(await store.links.linkByPayment('123456')).toEqual(saved);
    expect(await store.links.linkByReference(OTHER_MERCHANT, 'table7')).toBeNull();
    expect(await store.links.linkByPayment('1234567')).toBeNull();
  });

  it('prefers the live link, then the newest, of a reference that was written twice', async () => {
    const live = await opened(store, { reference_sent: 'table7', created_at: NOON });
    const over = await finished(store, { created_at: NOON + 1 });
    const newest = await finished(store, { created_at: NOON + 2 });
    for (const link of [over, newest]) await harness.sql(withReference(link, 'table7'));
    expect((await store.links.linkByReference(MERCHANT, 'table7'))?.legacy_id).toBe(live.legacy_id);
    await store.links.saveLink(live, { state: 'DONE' });
    expect((await store.links.linkByReference(MERCHANT, 'table7'))?.legacy_id).toBe(newest.legacy_id);
    expect(newest.legacy_id).not.toBe(over.legacy_id);
  });

  it('refuses one order for two links', async () => {
    const first = await opened(store);
    await store.links.saveLink(first, { order_id: orderId(3) });
    const second = await opened(store, { unit: 'PAX_A910__2' });
    const twice = store.links.saveLink(second, { order_id: orderId(3) });
    await expect(twice).rejects.toMatchObject({ code: 'conflict' });
  });
}

function itListsLinks(harness: Harness): void {
  const { store } = harness;
  it('lists due links oldest first, within the limit', async () => {
    const third = await opened(store, { unit: 'A', next_check_at: NOON });
    const first = await opened(store, { unit: 'B', next_check_at: NOON - 2 * MINUTE_MS });
    const second = await opened(store, { unit: 'C', next_check_at: NOON - MINUTE_MS });
    await opened(store, { unit: 'D', next_check_at: NOON + 1 });
    await opened(store, { unit: 'E', next_check_at: null });
    expect(await store.links.dueLinks(NOON, 10)).toEqual([first, second, third]);
    expect(await store.links.dueLinks(NOON, 2)).toEqual([first, second]);
    await store.links.saveLink(first, { next_check_at: null });
    expect(await store.links.dueLinks(NOON, 10)).toEqual([second, third]);
  });

  it('lists creates without an outcome before live orders, in half of the places while others wait [F31]', async () => {
    const due = async (limit: number) => (await store.links.dueLinks(NOON, limit)).map(({ unit }) => unit);
    for (const [index, unit] of ['L1', 'L2', 'L3'].entries()) {
      const link = await opened(store, { unit, next_check_at: NOON - (9 - index) * MINUTE_MS });
      await store.links.saveLink(link, { state: 'LIVE' });
    }
    for (const [index, unit] of ['D1', 'D2', 'D3'].entries())
      await opened(store, { unit, next_check_at: NOON - (3 - index) * MINUTE_MS });
    expect(await due(6)).toEqual(['D1', 'D2', 'D3', 'L1', 'L2', 'L3']);
    expect(await due(4)).toEqual(['D1', 'D2', 'L1', 'L2']);
    expect(await due(1)).toEqual(['D1']);
    expect((await store.links.dueLinks(NOON, 6, [MERCHANT])).length).toBe(0);
  });

  it('leaves out the due links of merchants that have their share already', async () => {
    await opened(store, { unit: 'A', next_check_at: NOON - MINUTE_MS });
    const other = await opened(store, { unit: 'A', merchant_id: OTHER_MERCHANT, next_check_at: NOON });
    expect(await store.links.dueLinks(NOON, 10, [MERCHANT])).toEqual([other]);
  });

  it('lists the finished links of a merchant by the moment they were finished, newest first', async () => {
    const early = await finished(store, {}, NOON);
    const late = await finished(store, {}, NOON + MINUTE_MS);
    await finished(store, {}, NOON - 1);
    await finished(store, {}, NOON + DAY_MS);
    await finished(store, { merchant_id: OTHER_MERCHANT }, NOON);
    await opened(store, { unit: 'still open' });
    expect(await store.history.finishedLinks(MERCHANT, NOON, NOON + DAY_MS, 10)).toEqual([late, early]);
    expect(await store.history.finishedLinks(MERCHANT, NOON, NOON + DAY_MS, 1)).toEqual([late]);
  });
}
