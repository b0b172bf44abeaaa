/** Notices are independent, a newer one supersedes an older one of its topic and id, and every attempt is stored. */
import { expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import type { Attempt, Notice } from '../../../src/proxy/records/notices.ts';
import {
  firstDue,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newNotice,
  noticed,
  OTHER_MERCHANT,
  opened,
} from './harness.ts';

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

async function bodiesDue(store: Store, now = NOON): Promise<string[]> {
  return (await store.notices.dueNotices(now, 10)).map(({ body }) => body);
}

export function noticeTests(harness: Harness): void {
  const { store } = harness;
  itKeepsAttempts(harness);

  it('hands out each notice by itself: one that was refused, or has to wait, holds up no other, not even of its sale', async () => {
    const link = await opened(store);
    const notices = [
      newNotice(link, 'intent'),
      newNotice(link, 'payment', { topic: 'payment', form: 'ipn', subject: '1313' }),
      newNotice(link, 'payment by webhook', { topic: 'payment', form: 'webhook', subject: '1313' }),
      newNotice(link, 'other payment', { topic: 'payment', form: 'ipn', subject: '1414' }),
      newNotice(link, 'same id, other topic', { topic: 'merchant_order', form: 'ipn', subject: '1313' }),
    ];
    await store.links.saveLink(link, {}, { notices });
    const due = await store.notices.dueNotices(NOON, 10);
    expect(due.map(({ body }) => body)).toEqual(notices.map(({ body }) => body));
    expect(due.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
    for (const notice of due.slice(0, 3)) {
      await store.notices.recordAttempt(notice, theirs, { state: 'pending', next_attempt_at: NOON + MINUTE_MS });
    }
    expect(await bodiesDue(store)).toEqual(['other payment', 'same id, other topic']);
    const later = await (await harness.reopen()).notices.dueNotices(NOON + MINUTE_MS, 10);
    expect(later.map(({ body, attempts }) => [body, attempts])).toEqual([
      ['other payment', 0],
      ['same id, other topic', 0],
      ['intent', 1],
      ['payment', 1],
      ['payment by webhook', 1],
    ]);
  });

  it('lets a newer notice of the same topic and id take the place of an undelivered one, due at once', async () => {
    let link = await opened(store);
    const order = (body: string) => newNotice(link, body, { topic: 'merchant_order', form: 'ipn', subject: '8000' });
    link = await store.links.saveLink(link, {}, { notices: [order('opened'), newNotice(link, 'intent')] });
    const first = await firstDue(store);
    await store.notices.recordAttempt(first, theirs, { state: 'pending', next_attempt_at: NOON + 60 * MINUTE_MS });
    link = await store.links.saveLink(link, {}, { notices: [order('closed')] });
    const reopened = await harness.reopen();
    const due = await reopened.notices.dueNotices(NOON, 10);
    expect(due.map(({ body, attempts }) => [body, attempts])).toEqual([
      ['intent', 0],
      ['closed', 0],
    ]);
    expect((await reopened.notices.notice(first.id))?.notice).toMatchObject({ state: 'superseded', tries: 1 });
    expect(await bodiesDue(reopened, NOON + 24 * 60 * MINUTE_MS)).toEqual(['intent', 'closed']);
    expect(await reopened.upkeep.counts()).toMatchObject({ notices_pending: 2 });
    const sums = await reopened.notices.sumNotices({ since: NOON, until: NOON + 1 });
    expect(sums.map(({ topic, state, count }) => [topic, state, count]).sort()).toEqual([
      ['merchant_order', 'pending', 1],
      ['point', 'pending', 1],
    ]);
  });

  it('leaves alone what was delivered or given up, and the other sale, when a newer one of the topic and id comes', async () => {
    const link = await opened(store);
    const payment = (body: string) => newNotice(link, body, { topic: 'payment', form: 'ipn', subject: '1313' });
    const other = await opened(store, { unit: 'PAX_A910__2' });
    await store.links.saveLink(other, {}, { notices: [{ ...payment('other sale'), legacy_id: other.legacy_id }] });
    let now = link;
    for (const state of ['delivered', 'dead'] as const) {
      now = await store.links.saveLink(now, {}, { notices: [payment(state)] });
      const notice = (await store.notices.dueNotices(NOON, 10)).find(({ body }) => body === state);
      if (notice === undefined) throw new Error('no notice is due');
      await store.notices.recordAttempt(notice, state === 'dead' ? theirs : delivered, {
        state,
        next_attempt_at: NOON,
      });
    }
    await store.links.saveLink(now, {}, { notices: [payment('newest')] });
    const log = await store.notices.notices({}, 10);
    expect(log.map(({ body, state }) => [body, state]).sort()).toEqual([
      ['dead', 'dead'],
      ['delivered', 'delivered'],
      ['newest', 'pending'],
      ['other sale', 'pending'],
    ]);
  });

  it.each([
    ['delivered', 'delivered', delivered],
    ['refused', 'superseded', theirs],
  ] as const)(
    'records an attempt that was under way while its notice was superseded: %s',
    async (_how, state, attempt) => {
      const link = await opened(store);
      const linked = await store.links.saveLink(link, {}, { notices: [newNotice(link, 'old')] });
      const under_way = await firstDue(store);
      await store.links.saveLink(linked, {}, { notices: [newNotice(link, 'new')] });
      const next = { state: state === 'delivered' ? state : 'pending', next_attempt_at: NOON } as const;
      await store.notices.recordAttempt(under_way, attempt, next);
      expect((await store.notices.notice(under_way.id))?.notice).toMatchObject({
        state,
        tries: 1,
        last_attempt: attempt,
      });
      expect(await bodiesDue(store)).toEqual(['new']);
    },
  );

  it('lists due notices of merchants in turns, some of each, past a backlog and past excluded ones [F120]', async () => {
    const merchants = ['700100200', '700100300', '700100400', '700100500'];
    for (const merchant_id of merchants) {
      for (const nth of [3, 1, 2]) {
        const link = await opened(store, { unit: `${merchant_id} ${nth}`, merchant_id });
        const body = `${merchant_id.slice(6, 7)}${nth}`;
        await store.links.saveLink(link, {}, { notices: [newNotice(link, body, { next_attempt_at: NOON + nth })] });
      }
    }
    const turn = { now: NOON + 3, merchants: 2, each: 2, except_merchants: ['700100300'] };
    const told = async (after_merchant: string, change = {}) => {
      const found = await store.notices.dueNoticesInTurn({ ...turn, after_merchant, ...change });
      return { bodies: found.notices.map(({ body }) => body), last: found.last_merchant };
    };
    expect(await told('')).toEqual({ bodies: ['21', '22', '41', '42'], last: '700100400' });
    expect(await told('700100400')).toEqual({ bodies: ['51', '52'], last: null });
    expect(await told('700100500')).toEqual({ bodies: [], last: null });
    expect(await told('', { now: NOON + 1, each: 9 })).toEqual({ bodies: ['21', '41'], last: '700100400' });
    expect(await told('', { except_merchants: merchants })).toEqual({ bodies: [], last: null });
  });

  it('lists the notices of one merchant from a given one on, also among those with equal times [F120]', async () => {
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
      await store.links.saveLink(link, {}, { notices });
    }
    const bodies: string[] = [];
    for (let after: Notice | null = null, page = 0; page < 5; page++) {
      const asked = { now: NOON, merchant_id: MERCHANT, after, limit: 1 };
      const [found]: Notice[] = await store.notices.dueNoticesBehind(asked);
      if (found === undefined) break;
      bodies.push(found.body);
      after = found;
    }
    expect(bodies[0]).toBe('1');
    expect(bodies.toSorted()).toEqual(['1', '2', '3', '4']);
    const all = await store.notices.dueNoticesBehind({ now: NOON, merchant_id: MERCHANT, after: null, limit: 9 });
    expect(all.map(({ body }) => body)).toEqual(bodies);
  });

  it('lists due notices oldest first, within the limit', async () => {
    for (const [unit, delay_ms] of [
      ['A', 0],
      ['B', -2],
      ['C', -1],
      ['D', 1],
    ] as const) {
      const link = await opened(store, { unit });
      await store.links.saveLink(link, {}, { notices: [newNotice(link, unit, { next_attempt_at: NOON + delay_ms })] });
    }
    expect((await store.notices.dueNotices(NOON, 10)).map((notice) => notice.body)).toEqual(['B', 'C', 'A']);
    expect((await store.notices.dueNotices(NOON, 1)).map((notice) => notice.body)).toEqual(['B']);
  });

  it('hastens the pending notices of one merchant', async () => {
    for (const merchant_id of [MERCHANT, OTHER_MERCHANT]) {
      const link = await opened(store, { merchant_id });
      const notices = [newNotice(link, merchant_id, { next_attempt_at: NOON + MINUTE_MS })];
      await store.links.saveLink(link, {}, { notices });
    }
    await store.notices.hastenNotices(MERCHANT, NOON);
    expect((await store.notices.dueNotices(NOON, 10)).map((notice) => notice.body)).toEqual([MERCHANT]);
  });
}

function itKeepsAttempts(harness: Harness): void {
  const { store } = harness;
  it('does not count our own faults against the receiver', async () => {
    const { notice } = await noticed(store, '1');
    await store.notices.recordAttempt(notice, ours, { state: 'pending', next_attempt_at: NOON });
    expect(await store.notices.dueNotices(NOON, 10)).toEqual([notice]);
    await store.notices.recordAttempt(notice, theirs, { state: 'pending', next_attempt_at: NOON });
    expect(await store.notices.dueNotices(NOON, 10)).toEqual([{ ...notice, attempts: 1 }]);
  });

  it('refuses an attempt on a notice that another attempt has changed', async () => {
    const { notice } = await noticed(store, '1');
    await store.notices.recordAttempt(notice, delivered, { state: 'delivered', next_attempt_at: NOON });
    const late = store.notices.recordAttempt(notice, theirs, { state: 'pending', next_attempt_at: NOON });
    await expect(late).rejects.toMatchObject({ code: 'conflict' });
    expect(await store.notices.dueNotices(NOON, 10)).toEqual([]);
  });

  it('gives every notice its own id', async () => {
    const ids = new Set<string>();
    for (let unit = 0; unit < 20; unit++) {
      const link = await opened(store, { unit: `PAX_A910__${unit}` });
      await store.links.saveLink(link, {}, { notices: [newNotice(link, '1')] });
    }
    for (const notice of await store.notices.dueNotices(NOON, 100)) ids.add(notice.id);
    expect(ids.size).toBe(20);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  });
}
