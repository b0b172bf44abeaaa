/** Work scheduled by a clock that ran ahead is rescheduled earlier, other work is not (`test/faults/README.md` F47). */
import { expect, it } from 'vitest';
import type { Attempt } from '../../../src/proxy/records/notices.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { firstDue, type Harness, MINUTE_MS, NOON, newEvent, newNotice, newSale, noticed, opened } from './harness.ts';

const DAY_MS = 24 * 60 * MINUTE_MS;
const AHEAD = NOON + DAY_MS;
const failed: Attempt = {
  at: AHEAD,
  duration_ms: 5,
  outcome: 'theirs',
  status: 500,
  detail: 'answered 500',
  url: null,
};

export function scheduleTests(harness: Harness): void {
  const { store } = harness;
  it('pulls forward a link that was put off by a clock that ran ahead, once [F47]', async () => {
    const ahead = await opened(store, { updated_at: AHEAD, next_check_at: AHEAD + MINUTE_MS });
    await store.upkeep.pullForward(NOON);
    expect(await store.links.link(ahead.legacy_id)).toMatchObject({
      next_check_at: NOON + MINUTE_MS,
      updated_at: NOON,
      revision: ahead.revision + 1,
    });
    await store.upkeep.pullForward(NOON + 1);
    expect(await store.links.link(ahead.legacy_id)).toMatchObject({ next_check_at: NOON + MINUTE_MS });
  });

  it('corrects the deadline of a create in doubt by a clock that ran ahead, and no other deadline [F47]', async () => {
    const ahead = {
      first_sent_at: AHEAD,
      updated_at: AHEAD + 1,
      next_check_at: AHEAD + MINUTE_MS,
      expires_at: AHEAD + 9 * MINUTE_MS,
    };
    const links = await Promise.all([
      opened(store, { ...ahead, unit: 'sending' }),
      opened(store, { ...ahead, unit: 'in doubt', state: 'IN_DOUBT' }),
      opened(store, { ...ahead, unit: 'live', state: 'LIVE' }),
      opened(store, { ...ahead, unit: 'older', first_sent_at: NOON, expires_at: NOON + 9 * MINUTE_MS }),
      opened(store, { ...ahead, unit: 'a code for months', first_sent_at: NOON, expires_at: AHEAD + 90 * DAY_MS }),
    ]);
    await store.upkeep.pullForward(NOON);
    const ends = await Promise.all(links.map(async ({ legacy_id }) => (await store.links.link(legacy_id))?.expires_at));
    const moved = ahead.expires_at - DAY_MS - 1;
    expect(ends).toEqual([moved, moved, ahead.expires_at, NOON + 9 * MINUTE_MS, AHEAD + 90 * DAY_MS]);
  });

  it('a create whose deadline passed unread by a clock that ran ahead holds its unit no longer than allowed [F47]', async () => {
    const held = { first_sent_at: NOON, updated_at: AHEAD, next_check_at: AHEAD, expires_at: AHEAD + 9 * MINUTE_MS };
    const ends = async (state: Link['state']): Promise<number | undefined> => {
      const link = await opened(store, { ...held, unit: state, state });
      await store.upkeep.pullForward(NOON);
      return (await store.links.link(link.legacy_id))?.expires_at;
    };
    expect(await ends('IN_DOUBT')).toBe(NOON + 15 * MINUTE_MS);
    expect(await ends('SENDING')).toBe(NOON + 15 * MINUTE_MS);
    expect(await ends('LIVE')).toBe(held.expires_at);
  });

  it('deletes a first send time of a clock that ran ahead, so that nothing is sent again [F47]', async () => {
    const ahead = { updated_at: AHEAD, next_check_at: AHEAD };
    const late = await opened(store, { ...ahead, first_sent_at: AHEAD });
    const right = await opened(store, { ...ahead, unit: 'PAX_A910__2', first_sent_at: NOON });
    // Retried after the clock was corrected.
    const again = { first_sent_at: AHEAD, updated_at: NOON - 1, next_check_at: NOON + MINUTE_MS };
    const tried = await opened(store, { ...again, unit: 'PAX_A910__3', expires_at: AHEAD + MINUTE_MS });
    await store.upkeep.pullForward(NOON);
    expect(await store.links.link(late.legacy_id)).toMatchObject({ first_sent_at: null });
    expect(await store.links.link(right.legacy_id)).toMatchObject({ first_sent_at: NOON });
    const moved = {
      first_sent_at: null,
      created_at: NOON,
      next_check_at: NOON + MINUTE_MS,
      expires_at: NOON + MINUTE_MS,
    };
    expect(await store.links.link(tried.legacy_id)).toMatchObject(moved);
    await store.upkeep.pullForward(NOON + 1);
    expect(await store.links.link(tried.legacy_id)).toMatchObject(moved);
  });

  it('leaves a link that was put off by a correct clock [F47]', async () => {
    const right = await opened(store, { updated_at: NOON, next_check_at: NOON + DAY_MS });
    const over = await opened(store, { unit: 'PAX_A910__2', updated_at: AHEAD, next_check_at: null });
    await store.upkeep.pullForward(NOON);
    expect(await store.links.link(right.legacy_id)).toEqual(right);
    expect(await store.links.link(over.legacy_id)).toEqual(over);
  });

  it('pulls forward a notice that was attempted or made by a clock that ran ahead [F47]', async () => {
    const tried = await opened(store);
    await store.links.saveLink(tried, {}, { notices: [newNotice(tried, 'tried')] });
    const notice = await firstDue(store);
    await store.notices.recordAttempt(notice, failed, { state: 'pending', next_attempt_at: AHEAD + 15 * MINUTE_MS });
    const made = await opened(store, { unit: 'PAX_A910__2' });
    const late = { created_at: AHEAD, next_attempt_at: AHEAD };
    await store.links.saveLink(made, {}, { notices: [newNotice(made, 'made', late)] });
    await store.upkeep.pullForward(NOON);
    expect((await store.notices.dueNotices(NOON, 10)).map(({ body }) => body)).toEqual(['made']);
    const later = await store.notices.dueNotices(NOON + 15 * MINUTE_MS, 10);
    expect(later.map(({ body }) => body).toSorted()).toEqual(['made', 'tried']);
  });

  it('pulls forward a notice whose attempt began before the clock ran ahead [F47]', async () => {
    const { notice } = await noticed(store, 'tried');
    const attempt = { ...failed, at: NOON, duration_ms: DAY_MS };
    await store.notices.recordAttempt(notice, attempt, { state: 'pending', next_attempt_at: AHEAD + 15 * MINUTE_MS });
    await store.upkeep.pullForward(NOON);
    expect(await store.notices.dueNotices(NOON + 15 * MINUTE_MS - 1, 10)).toEqual([]);
    expect(await store.notices.dueNotices(NOON + 15 * MINUTE_MS, 10)).toHaveLength(1);
  });

  it('pulls a notice forward again when the clock is set back in two steps [F47]', async () => {
    const { notice } = await noticed(store, 'tried');
    await store.notices.recordAttempt(notice, failed, { state: 'pending', next_attempt_at: AHEAD + 15 * MINUTE_MS });
    await store.upkeep.pullForward(NOON + DAY_MS / 2);
    await store.upkeep.pullForward(NOON);
    // The intended delay is lost; only its maximum is known.
    expect(await store.notices.dueNotices(NOON + 30 * MINUTE_MS, 10)).toHaveLength(1);
    await store.upkeep.pullForward(NOON + MINUTE_MS);
    expect(await store.notices.dueNotices(NOON + 30 * MINUTE_MS, 10)).toHaveLength(1);
  });

  it('leaves a notice whose receiver set its next time, also after an attempt by a clock that ran ahead [F47]', async () => {
    const link = await opened(store);
    await store.links.saveLink(link, {}, { notices: [newNotice(link, 'waits')] });
    for (const at of [AHEAD, NOON]) {
      const notice = await firstDue(store, AHEAD);
      const next_attempt_at = at === NOON ? NOON + 30 * MINUTE_MS : AHEAD;
      await store.notices.recordAttempt(
        notice,
        { ...failed, at, duration_ms: 0 },
        { state: 'pending', next_attempt_at },
      );
    }
    await store.upkeep.pullForward(NOON);
    expect(await store.notices.dueNotices(NOON + 30 * MINUTE_MS - 1, 10)).toEqual([]);
    expect(await store.notices.dueNotices(NOON + 30 * MINUTE_MS, 10)).toHaveLength(1);
  });

  it('never shortens the time that a legacy sale holds its unit [F47]', async () => {
    const sale = newSale({ legacy_id: 'intent-1', updated_at: AHEAD, ends_at: AHEAD + MINUTE_MS });
    await store.legacy_sales.openLegacySale(sale);
    await store.upkeep.pullForward(NOON);
    expect(await store.legacy_sales.legacySale('intent-1')).toEqual(sale);
  });

  it('finds the newest stored time by an attempt alone [F47]', async () => {
    const { notice } = await noticed(store, 'tried');
    const before = await store.upkeep.newestMoment();
    await store.notices.recordAttempt(
      notice,
      { ...failed, at: before + DAY_MS, duration_ms: 0 },
      { state: 'pending', next_attempt_at: AHEAD },
    );
    expect(await store.upkeep.newestMoment()).toBe(before + DAY_MS);
  });

  it('finds the newest stored time by the pause after an attempt of an event [F47]', async () => {
    await store.events.receiveEvent(newEvent());
    const [event] = await store.events.dueEvents(NOON, 10);
    if (event === undefined) throw new Error('no event is due');
    await store.events.saveEvent(event.sequence, { attempts: 1, next_attempt_at: AHEAD + 2_000 });
    const newest = await store.upkeep.newestMoment();
    expect(newest).toBeLessThanOrEqual(AHEAD);
    expect(newest).toBeGreaterThan(AHEAD - MINUTE_MS);
  });
}
