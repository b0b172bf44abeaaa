/** The delivery log finds notices with all their attempts, and a redelivery is added beside the others of its link. */
import { expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import type { Notice } from '../../../src/proxy/records/notices.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import {
  attempt,
  auditOf,
  firstDue,
  type Harness,
  MERCHANT,
  MINUTE_MS,
  NOON,
  newNotice,
  OTHER_MERCHANT,
  opened,
} from './harness.ts';

const LATER = NOON + 60 * MINUTE_MS;
const REDELIVERY = auditOf('replay notices', { notices: 1 });

async function end(store: Store, body: string, state: Notice['state'], next_attempt_at = LATER): Promise<Notice> {
  const notice = (await store.notices.dueNotices(LATER, 100)).find((one) => one.body === body);
  if (notice === undefined) throw new Error(`the notice ${body} is not due`);
  const told = state === 'delivered' ? attempt('delivered', 200) : attempt('theirs', 500);
  await store.notices.recordAttempt(notice, told, { state, next_attempt_at });
  return notice;
}

function ofItsOwn(link: Link, body: string) {
  return newNotice(link, body, { topic: 'payment', form: 'ipn', subject: body });
}

async function linkWith(store: Store, bodies: string[], change: Partial<Link> = {}): Promise<Link> {
  const link = await opened(store, change);
  return store.links.saveLink(link, {}, { notices: bodies.map((body) => ofItsOwn(link, body)) });
}

async function dueBodies(store: Store, now = NOON): Promise<string[]> {
  return (await store.notices.dueNotices(now, 100)).map(({ body }) => body);
}

export function noticeLogTests(harness: Harness): void {
  const { store } = harness;
  itFinds(harness);

  it('redelivers a delivered notice, and one that was given up, beside the others of their link', async () => {
    await linkWith(store, ['1', '2', '3']);
    const first = await end(store, '1', 'delivered');
    const second = await end(store, '2', 'dead');
    await end(store, '3', 'pending', LATER);
    await store.notices.redeliverNotices([first.id, second.id], NOON, REDELIVERY);
    expect(await dueBodies(store)).toEqual(['1', '2']);
    expect(await store.upkeep.counts()).toMatchObject({ notices_pending: 3 });
    await end(store, '1', 'delivered');
    await end(store, '2', 'dead');
    expect(await dueBodies(store)).toEqual([]);
    expect(await dueBodies(store, LATER)).toEqual(['3']);
  });

  it('lets news of the same topic and id take the place of a redelivery that is refused', async () => {
    const link = await linkWith(store, ['1']);
    const first = await end(store, '1', 'delivered');
    await store.notices.redeliverNotices([first.id], NOON, REDELIVERY);
    await end(store, '1', 'pending', LATER);
    await store.links.saveLink(link, {}, { notices: [{ ...ofItsOwn(link, '1'), body: 'newer' }] });
    const reopened = await harness.reopen();
    expect(await dueBodies(reopened, LATER)).toEqual(['newer']);
    await reopened.notices.redeliverNotices([first.id], LATER, REDELIVERY);
    expect(await dueBodies(reopened, LATER), 'an operator may ask for what was superseded').toEqual(['newer', '1']);
  });

  it('a redelivery of what still waits makes it due, and nothing else', async () => {
    await linkWith(store, ['1', '2']);
    for (const body of ['1', '2']) await end(store, body, 'pending', LATER);
    const second = (await store.notices.notices({}, 10)).find(({ body }) => body === '2');
    await store.notices.redeliverNotices([second?.id ?? ''], NOON + 1, REDELIVERY);
    expect(await dueBodies(store, NOON + 1)).toEqual(['2']);
    expect((await store.notices.notice(second?.id ?? ''))?.notice).toMatchObject({ replayed: false });
  });

  it('a redelivery during an attempt takes nothing from its record', async () => {
    await linkWith(store, ['1', '2']);
    const under_way = await firstDue(store);
    await store.notices.redeliverNotices([under_way.id], NOON, REDELIVERY);
    await store.notices.recordAttempt(under_way, attempt('delivered', 200), {
      state: 'delivered',
      next_attempt_at: NOON,
    });
    expect(await dueBodies(store)).toEqual(['2']);
  });

  it('redelivers many in one transaction with one audit line, in the order in which they were made', async () => {
    await linkWith(store, ['1', '2']);
    for (const body of ['1', '2']) await end(store, body, 'delivered');
    const ids = (await store.notices.notices({}, 10)).map(({ id }) => id);
    await store.notices.redeliverNotices([...ids, 'nobody'], LATER, auditOf('replay notices', { notices: 2 }));
    expect(await dueBodies(store, LATER)).toEqual(['1', '2']);
    expect(await store.audit.audits(10)).toMatchObject([
      { action: 'replay notices', who: 'ana', detail: { notices: 2 } },
    ]);
  });
}

function itFinds(harness: Harness): void {
  const { store } = harness;
  it('keeps every attempt of a notice, oldest first, and knows the last', async () => {
    await linkWith(store, ['1']);
    const notice = await end(store, '1', 'pending', NOON);
    await end(store, '1', 'delivered');
    expect(await store.notices.notice('nobody')).toBeNull();
    const found = await (await harness.reopen()).notices.notice(notice.id);
    expect(found?.attempts).toEqual([attempt('theirs', 500), attempt('delivered', 200)]);
    expect(found?.notice).toMatchObject({ id: notice.id, state: 'delivered', tries: 2, replayed: false });
    expect(found?.notice.last_attempt).toEqual(attempt('delivered', 200));
  });

  it('sums attempts by merchant, receiver and outcome, of the notices of a period', async () => {
    await linkWith(store, ['1']);
    await linkWith(store, ['2'], { merchant_id: OTHER_MERCHANT });
    await end(store, '1', 'pending', NOON);
    await end(store, '1', 'delivered');
    await end(store, '2', 'delivered');
    const url = 'https://pos.example/ipn?id=…';
    const of = { url, count: 1, last_at: NOON, late: 0 };
    const sum = (merchant_id: string, outcome: string) => ({ ...of, merchant_id, outcome });
    const period = { since: NOON, until: NOON + 1 };
    const all = await store.notices.sumAttempts(period);
    expect(all).toHaveLength(3);
    expect(all).toContainEqual(sum(OTHER_MERCHANT, 'delivered'));
    const own = await store.notices.sumAttempts({ ...period, merchant_id: MERCHANT });
    expect(own).toHaveLength(2);
    for (const outcome of ['theirs', 'delivered']) expect(own).toContainEqual(sum(MERCHANT, outcome));
    expect(await store.notices.sumAttempts({ since: NOON - 1, until: NOON })).toEqual([]);
  });

  it('counts a first delivery as late, and no redelivery of a delivered notice', async () => {
    await linkWith(store, ['1', '2']);
    await end(store, '1', 'delivered');
    await store.notices.redeliverNotices(
      (await store.notices.notices({}, 10)).map(({ id }) => id),
      LATER,
      auditOf('replay notices', { notices: 1 }),
    );
    const at = NOON + 60 * MINUTE_MS;
    for (const notice of await store.notices.dueNotices(at, 100))
      await store.notices.recordAttempt(
        notice,
        { ...attempt('delivered', 200), at },
        { state: 'delivered', next_attempt_at: at },
      );
    expect(await store.notices.sumAttempts({ since: NOON, until: NOON + 1 })).toMatchObject([{ count: 3, late: 1 }]);
  });

  it('finds by link, merchant, state, topic and time, newest first, within the limit', async () => {
    const link = await opened(store);
    const notices = [
      newNotice(link, 'old', { created_at: NOON - MINUTE_MS, subject: 'of its own' }),
      newNotice(link, 'payment', { topic: 'payment', form: 'ipn' }),
      newNotice(link, 'new', { created_at: NOON + MINUTE_MS }),
    ];
    await store.links.saveLink(link, {}, { notices });
    await linkWith(store, ['other'], { merchant_id: OTHER_MERCHANT });
    await end(store, 'old', 'delivered');
    const bodies = async (filter: Parameters<Store['notices']['notices']>[0], limit = 10): Promise<string[]> => {
      const found = (await store.notices.notices(filter, limit)).map(({ body }) => body);
      expect(await store.notices.countNotices(filter)).toBeGreaterThanOrEqual(found.length);
      return found;
    };
    expect(await bodies({})).toEqual(['new', 'other', 'payment', 'old']);
    expect(await bodies({}, 2)).toEqual(['new', 'other']);
    expect(await bodies({ merchant_id: MERCHANT })).toEqual(['new', 'payment', 'old']);
    expect(await bodies({ states: ['delivered'] })).toEqual(['old']);
    expect(await bodies({ states: ['delivered', 'pending'], merchant_id: MERCHANT })).toHaveLength(3);
    expect(await bodies({ topic: 'payment' })).toEqual(['other', 'payment']);
    expect(await bodies({ since: NOON, until: NOON + MINUTE_MS })).toEqual(['other', 'payment']);
    expect(await bodies({ legacy_id: link.legacy_id, topic: 'point' })).toEqual(['new', 'old']);
    expect(await bodies({ states: ['dead'] })).toEqual([]);
    expect(await store.notices.countNotices({ states: ['pending'] })).toBe(3);
  });
}
