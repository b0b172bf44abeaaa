/** A backlog for many receivers, one dead and one slow: the others drain evenly and wait for neither. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { type FaultServer, startFaultServer } from './fault-server.ts';
import { answer, late, silence } from './fault-server-acts.ts';
import { openNoticeStand } from './notice-stand.ts';

const RECEIVERS = 20;
/** Number of notices; `npm run prove` sets a hundred thousand. */
const COUNT = Math.max(Number(process.env.NOTICE_BACKLOG ?? 1_100), 10 * (RECEIVERS + 2));
const EACH = Math.floor(COUNT / (RECEIVERS + 2));
/** Only ends a test that hangs. */
const LONGEST_MS = Math.max(60_000, COUNT * 100);
const PER_HOST = 2;
const [DEAD, SLOW] = ['700100200', '700100300'];
const HEALTHY = Array.from({ length: RECEIVERS }, (_, index) => String(800_000_001 + index));

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

it(
  'of many receivers with equal backlogs, a dead and a slow one delay no other, and the others get theirs evenly [F117 F120]',
  async () => {
    // The dead and the slow receiver have the oldest notices, so ordering by age alone would serve them first.
    const stand = await openNoticeStand(
      [DEAD, SLOW, ...HEALTHY].map((merchant_id) => ({ merchant_id, notices: EACH })),
    );
    closing.push(() => stand.close());
    const servers = new Map<string, FaultServer>();
    for (const merchant of [DEAD, SLOW, ...HEALTHY]) {
      const ok = answer(200, 'OK');
      const act = merchant === DEAD ? silence : merchant === SLOW ? late(ok, 250) : ok;
      const server = await startFaultServer(() => act);
      closing.push(() => server.close());
      servers.set(merchant, server);
      stand.urls.set(merchant, server.url);
    }
    const heardBy = (merchant: string): number => servers.get(merchant)?.heard.length ?? 0;
    stand.start({ per_host: PER_HOST, concurrency: 50, timeout_ms: LONGEST_MS });
    const delivered = () => stand.attempts.filter(({ attempt }) => attempt.outcome === 'delivered');
    const ofHealthy = () => delivered().filter(({ notice }) => notice.merchant_id !== SLOW);
    while (stand.attempts.length < RECEIVERS * EACH || ofHealthy().length < RECEIVERS * EACH) await pause(20);
    const told = ofHealthy().map(({ notice }) => notice.merchant_id);
    expect(told).not.toContain(DEAD);
    expect(HEALTHY.map(heardBy)).toEqual(HEALTHY.map(() => EACH));
    expect(heardBy(DEAD)).toBe(PER_HOST);
    // The slow receiver kept its own two connections all the time.
    expect(heardBy(SLOW)).toBeGreaterThan(PER_HOST);
    expect((await stand.store.upkeep.counts()).notices_pending).toBeGreaterThanOrEqual(EACH);
    expect(widestGap(told)).toBeLessThanOrEqual(2 * PER_HOST);
  },
  LONGEST_MS,
);

/** The largest lead of one receiver over the last, in notices, until one has all; two in flight make a small lead. */
function widestGap(told: readonly string[]): number {
  const counts = new Map(HEALTHY.map((merchant) => [merchant, 0]));
  let widest = 0;
  for (const merchant of told) {
    const count = (counts.get(merchant) ?? 0) + 1;
    counts.set(merchant, count);
    if (count === EACH) break;
    widest = Math.max(widest, count - Math.min(...counts.values()));
  }
  return widest;
}
