/** Notices are told in order for each link, and every attempt is kept with its outcome. */
import { expect, it } from 'vitest';
import type { Attempt, Notice, NoticeForm } from '../../../src/core/records/notices.ts';
import { type Harness, MERCHANT, MINUTE_MS, NOON, newNotice, OTHER_MERCHANT, opened } from './harness.ts';

const delivered: Attempt = {
  at: NOON,
  duration_ms: 12,
  outcome: 'delivered',
  status: 200,
  detail: 'answered 200',
  url: 'https://pos.example/ipn',
};
const theirs: Attempt = {
  at: NOON,
  duration_ms: 22_000,
  outcome: 'theirs',
  status: null,
  detail: 'no answer in 22 s',
  url: 'https://pos.example/ipn?key=…',
};
const ours: Attempt = { at: NOON, duration_ms: 0, outcome: 'ours', status: null, detail: 'no URL is set', url: null };

export function noticeTests(current: () => Harness): void {
  itKeepsAttempts(current);

  it('gives one notice per link, the first undelivered, and the next after it, although all are of one moment [F48]', async () => {
    const { store } = current();
    let link = await opened(store);
    link = await store.saveLink(link, {}, { notices: [newNotice(link, '1')] });
    await store.saveLink(link, {}, { notices: [newNotice(link, '2'), newNotice(link, '3')] });
    for (const [index, body] of ['1', '2', '3'].entries()) {
      const due = await store.dueNotices(NOON, 10);
      expect(due).toHaveLength(1);
      const [notice] = due;
      expect(notice).toMatchObject({ body, sequence: index + 1, state: 'pending', attempts: 0 });
      if (notice === undefined) return;
      await store.recordAttempt(notice, delivered, { state: 'delivered', next_attempt_at: NOON });
    }
    expect(await store.dueNotices(NOON, 10)).toEqual([]);
    expect(await store.counts()).toMatchObject({ notices_pending: 0 });
  });

  it('holds later notices of a link while the first waits for its next attempt, and no other link', async () => {
    const { store } = current();
    const link = await opened(store);
    await store.saveLink(link, {}, { notices: [newNotice(link, '1'), newNotice(link, '2')] });
    const other = await opened(store, { unit: 'PAX_A910__2' });
    await store.saveLink(other, {}, { notices: [newNotice(other, 'other', { next_attempt_at: NOON + 1 })] });
    const [first] = await store.dueNotices(NOON, 10);
    if (first === undefined) throw new Error('no notice is due');
    await store.recordAttempt(first, theirs, { state: 'pending', next_attempt_at: NOON + MINUTE_MS });
    expect((await store.dueNotices(NOON + 1, 10)).map((notice) => notice.body)).toEqual(['other']);
    const due = await (await current().reopen()).dueNotices(NOON + MINUTE_MS, 10);
    expect(due.map((notice) => notice.body)).toEqual(['other', '1']);
    expect(due[1]).toMatchObject({ id: first.id, attempts: 1 });
  });

  it('keeps an order for each form, so that one form never waits for the other', async () => {
    const { store } = current();
    const link = await opened(store);
    const told = (body: string, form: NoticeForm) => newNotice(link, body, { topic: 'payment', form });
    const notices = [told('1 ipn', 'ipn'), told('1 wh', 'webhook'), told('2 ipn', 'ipn'), told('2 wh', 'webhook')];
    await store.saveLink(link, {}, { notices });
    const due = await store.dueNotices(NOON, 10);
    expect(due.map(({ body, form, topic }) => [body, form, topic])).toEqual([
      ['1 ipn', 'ipn', 'payment'],
      ['1 wh', 'webhook', 'payment'],
    ]);
    const [ipn] = due;
    if (ipn === undefined) throw new Error('no notice is due');
    await store.recordAttempt(ipn, delivered, { state: 'delivered', next_attempt_at: NOON });
    expect((await store.dueNotices(NOON, 10)).map(({ body }) => body)).toEqual(['1 wh', '2 ipn']);
  });

  it('goes on behind a notice that was given up', async () => {
    const { store } = current();
    const link = await opened(store);
    await store.saveLink(link, {}, { notices: [newNotice(link, '1'), newNotice(link, '2')] });
    const [first] = await store.dueNotices(NOON, 10);
    if (first === undefined) throw new Error('no notice is due');
    await store.recordAttempt(first, theirs, { state: 'dead', next_attempt_at: NOON });
    expect((await store.dueNotices(NOON, 10)).map((notice) => notice.body)).toEqual(['2']);
    expect(await store.counts()).toMatchObject({ notices_pending: 1 });
  });

  it('goes through merchants in turns, some notices of each, past a backlog and past those that are left out [F120]', async () => {
    const { store } = current();
    const merchants = ['700100200', '700100300', '700100400', '700100500'];
    for (const merchant_id of merchants) {
      for (const nth of [3, 1, 2]) {
        const link = await opened(store, { unit: `${merchant_id} ${nth}`, merchant_id });
        const body = `${merchant_id.slice(6, 7)}${nth}`;
        await store.saveLink(link, {}, { notices: [newNotice(link, body, { next_attempt_at: NOON + nth })] });
      }
    }
    const turn = { now: NOON + 3, merchants: 2, each: 2, except_merchants: ['700100300'] };
    const told = async (after_merchant: string, change = {}) => {
      const found = await store.dueNoticesInTurn({ ...turn, after_merchant, ...change });
      return { bodies: found.notices.map(({ body }) => body), last: found.last_merchant };
    };
    expect(await told('')).toEqual({ bodies: ['21', '22', '41', '42'], last: '700100400' });
    expect(await told('700100400')).toEqual({ bodies: ['51', '52'], last: null });
    expect(await told('700100500')).toEqual({ bodies: [], last: null });
    expect(await told('', { now: NOON + 1, each: 9 })).toEqual({ bodies: ['21', '41'], last: '700100400' });
    expect(await told('', { except_merchants: merchants })).toEqual({ bodies: [], last: null });
  });

  it('goes on behind a certain notice of one merchant, also among those of one moment [F120]', async () => {
    const { store } = current();
    for (const [merchant_id, nth, delay_ms] of [
      [MERCHANT, 1, -2],
      [MERCHANT, 2, 0],
      [MERCHANT, 3, 0],
      [MERCHANT, 4, 0],
      [MERCHANT, 5, 1],
      [OTHER_MERCHANT, 6, -1],
    ] as const) {
      const link = await opened(store, { unit: `PAX_A910__${nth}`, merchant_id });
      const notices = [newNotice(link, String(nth), { next_attempt_at: NOON + delay_ms })];
      await store.saveLink(link, {}, { notices });
    }
    const bodies: string[] = [];
    for (let after: Notice | null = null, page = 0; page < 5; page++) {
      const asked = { now: NOON, merchant_id: MERCHANT, after, limit: 1 };
      const [found]: Notice[] = await store.dueNoticesBehind(asked);
      if (found === undefined) break;
      bodies.push(found.body);
      after = found;
    }
    expect(bodies[0]).toBe('1');
    expect(bodies.toSorted()).toEqual(['1', '2', '3', '4']);
    const all = await store.dueNoticesBehind({ now: NOON, merchant_id: MERCHANT, after: null, limit: 9 });
    expect(all.map(({ body }) => body)).toEqual(bodies);
  });

  it('lists due notices oldest first, within the limit', async () => {
    const { store } = current();
    for (const [unit, delay_ms] of [
      ['A', 0],
      ['B', -2],
      ['C', -1],
      ['D', 1],
    ] as const) {
      const link = await opened(store, { unit });
      await store.saveLink(link, {}, { notices: [newNotice(link, unit, { next_attempt_at: NOON + delay_ms })] });
    }
    expect((await store.dueNotices(NOON, 10)).map((notice) => notice.body)).toEqual(['B', 'C', 'A']);
    expect((await store.dueNotices(NOON, 1)).map((notice) => notice.body)).toEqual(['B']);
  });

  it('hastens the pending notices of one merchant', async () => {
    const { store } = current();
    for (const merchant_id of [MERCHANT, OTHER_MERCHANT]) {
      const link = await opened(store, { merchant_id });
      const notices = [newNotice(link, merchant_id, { next_attempt_at: NOON + MINUTE_MS })];
      await store.saveLink(link, {}, { notices });
    }
    await store.hastenNotices(MERCHANT, NOON);
    expect((await store.dueNotices(NOON, 10)).map((notice) => notice.body)).toEqual([MERCHANT]);
  });
}

function itKeepsAttempts(current: () => Harness): void {
  it('does not count our own faults against the receiver', async () => {
    const { store } = current();
    const link = await opened(store);
    await store.saveLink(link, {}, { notices: [newNotice(link, '1')] });
    const [notice] = await store.dueNotices(NOON, 10);
    if (notice === undefined) throw new Error('no notice is due');
    await store.recordAttempt(notice, ours, { state: 'pending', next_attempt_at: NOON });
    expect(await store.dueNotices(NOON, 10)).toEqual([notice]);
    await store.recordAttempt(notice, theirs, { state: 'pending', next_attempt_at: NOON });
    expect(await store.dueNotices(NOON, 10)).toEqual([{ ...notice, attempts: 1 }]);
  });

  it('refuses an attempt on a notice that another attempt has changed', async () => {
    const { store } = current();
    const link = await opened(store);
    await store.saveLink(link, {}, { notices: [newNotice(link, '1')] });
    const [notice] = await store.dueNotices(NOON, 10);
    if (notice === undefined) throw new Error('no notice is due');
    await store.recordAttempt(notice, delivered, { state: 'delivered', next_attempt_at: NOON });
    const late = store.recordAttempt(notice, theirs, { state: 'pending', next_attempt_at: NOON });
    await expect(late).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.dueNotices(NOON, 10)).toEqual([]);
  });

  it('gives every notice its own id', async () => {
    const { store } = current();
    const ids = new Set<string>();
    for (let unit = 0; unit < 20; unit++) {
      const link = await opened(store, { unit: `PAX_A910__${unit}` });
      await store.saveLink(link, {}, { notices: [newNotice(link, '1')] });
    }
    for (const notice of await store.dueNotices(NOON, 100)) ids.add(notice.id);
    expect(ids.size).toBe(20);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  });
}
