/** A backlog that is due at once after an outage: delivered at its pace, in turns, never read as a whole (F120). */
import { afterEach, expect, it } from 'vitest';
import type { Notice } from '../../src/proxy/records/notices.ts';
import { startFaultServer } from './fault-server.ts';
import { answer, late } from './fault-server-acts.ts';
import { openNoticeStand } from './notice-stand.ts';

/** Number of notices; `npm run prove` sets a hundred thousand. */
const COUNT = Math.max(Number(process.env.NOTICE_BACKLOG ?? 800), 200);
/** Only ends a test that hangs. */
const LONGEST_MS = Math.max(60_000, COUNT * 100);
const PER_HOST = 2;
const CONCURRENCY = 50;
const LARGE = '700100200';
/** Small merchants that share the large one's receiver, as customers of one integrator do; others have their own. */
const NEIGHBOURS = Array.from({ length: 60 }, (_, index) => String(800_000_001 + index));
const OTHERS = Array.from({ length: 8 }, (_, index) => String(900_000_001 + index));
const EACH = 2;

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

it(
  'a backlog is paced by host, fair between merchants and oldest first, with one page of it in memory [F120]',
  async () => {
    const small = [...NEIGHBOURS, ...OTHERS].map((merchant_id) => ({ merchant_id, notices: EACH }));
    const large = { merchant_id: LARGE, notices: COUNT - small.length * EACH };
    // The large merchant's notices are the oldest, so ordering by age alone would serve it first.
    const stand = await openNoticeStand([large, ...small]);
    closing.push(() => stand.close());
    const most = new Map<string, number>();
    const told = async (host: string): Promise<string> => {
      // A connection is kept for the next notice.
      const open = new Set<object>();
      const server = await startFaultServer((_heard) => (socket, heard) => {
        if (!open.has(socket)) socket.once('close', () => open.delete(socket));
        open.add(socket);
        most.set(host, Math.max(most.get(host) ?? 0, open.size));
        (host === 'shared' ? answer(200, 'OK') : late(answer(200, 'OK'), 5))(socket, heard);
      });
      closing.push(() => server.close());
      return server.url;
    };
    const shared = await told('shared');
    for (const merchant of [LARGE, ...NEIGHBOURS]) stand.urls.set(merchant, shared);
    for (const merchant of OTHERS) stand.urls.set(merchant, await told(merchant));
    let largest_page = 0;
    const seen = <Page extends readonly Notice[]>(page: Page): Page => {
      largest_page = Math.max(largest_page, page.length);
      return page;
    };
    const { store } = stand;
    stand.start({
      per_host: PER_HOST,
      concurrency: CONCURRENCY,
      store: {
        recordAttempt: store.notices.recordAttempt,
        dueNotices: async (...parts) => seen(await store.notices.dueNotices(...parts)),
        dueNoticesBehind: async (...parts) => seen(await store.notices.dueNoticesBehind(...parts)),
        async dueNoticesInTurn(turn) {
          const found = await store.notices.dueNoticesInTurn(turn);
          seen(found.notices);
          return found;
        },
      },
    });
    await stand.attempted(COUNT);
    expect(stand.attempts.every(({ attempt }) => attempt.outcome === 'delivered')).toBe(true);
    expect(new Set(stand.attempts.map(({ notice }) => notice.id)).size).toBe(COUNT);
    expect(await store.upkeep.counts()).toMatchObject({ notices_pending: 0 });
    expect(Math.max(...most.values())).toBeLessThanOrEqual(PER_HOST);
    expect(largest_page).toBeLessThanOrEqual(4 * CONCURRENCY);
    // The large merchant got only its turns while a small one still waited.
    const order = stand.attempts.map(({ notice }) => notice.merchant_id);
    const lastOfSmall = order.findLastIndex((merchant) => merchant !== LARGE);
    const turnsOfLarge = order.slice(0, lastOfSmall).filter((merchant) => merchant === LARGE).length;
    expect(turnsOfLarge).toBeLessThan(NEIGHBOURS.length);
    const ofLarge = stand.attempts.filter(({ notice }) => notice.merchant_id === LARGE).slice(0, 500);
    const created = ofLarge.map(({ notice }) => notice.created_at);
    // Two attempts are in flight, so the second may end before the first.
    const overtaken = created.map((at, index) => created.slice(0, index).filter((before) => before > at).length);
    expect(Math.max(...overtaken)).toBeLessThan(PER_HOST + 1);
  },
  LONGEST_MS,
);
