/** Misbehaving receivers on real sockets: what counts as delivered, when a retry follows, what others do not notice. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Act, type FaultServer, type FaultServerOptions, startFaultServer } from './fault-server.ts';
import * as acts from './fault-server-acts.ts';
import { makeTlsFaults, type TlsFaults } from './fault-server-tls.ts';
import { type NoticeStand, OPEN, openNoticeStand } from './notice-stand.ts';

const MINUTE_MS = 60_000;
const SHOP = '700100200';
const OTHER = '700100300';
const OK = acts.answer(200, 'OK');

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function stand(notices = 1): Promise<NoticeStand> {
  const opened = await openNoticeStand([{ merchant_id: SHOP, notices }]);
  closing.push(() => opened.close());
  return opened;
}

async function receiver(act: (nth: number) => Act, options: FaultServerOptions = {}): Promise<FaultServer> {
  const server = await startFaultServer((_heard, nth) => act(nth), options);
  closing.push(() => server.close());
  return server;
}

describe('receivers', () => {
  const GIGABYTE = 1024 ** 3;
  const table: [string, Act, 'delivered' | 'theirs'][] = [
    ['never answers', acts.silence, 'theirs'],
    ['drips its head byte by byte', acts.drip(OK), 'theirs'],
    ['closes without an answer', acts.close, 'theirs'],
    ['resets', acts.reset, 'theirs'],
    ['closes within its head', acts.cutAt(12, OK), 'theirs'],
    ['sends informational answers without end', acts.informationalFlood(), 'theirs'],
    ['sends headers without end', acts.endlessHeaders(1), 'theirs'],
    ['sends a header of a megabyte', acts.longHeader(1024 ** 2, 200), 'theirs'],
    ['sends ten thousand headers', acts.manyHeaders(10_000, 200), 'theirs'],
    ['sends two kinds of length', acts.lengthAndChunked(200, '{}'), 'theirs'],
    ['says 200 and sends a gigabyte', acts.hugeBody(GIGABYTE, 200), 'delivered'],
    ['says 200 and never ends', acts.endlessChunked(200), 'delivered'],
    ['says 200 and sends a bomb', acts.gzipBomb(64 * 1024 ** 2, 200), 'delivered'],
    ['says 200 and breaks off', acts.wrongLength(200, 'half', 100), 'delivered'],
  ];
  it('that hang, send slowly, send too much or close early are cut in time and size; others get theirs meanwhile [F117]', async () => {
    const merchants = table.map((_row, index) => String(800_000_001 + index));
    const backlogs = merchants.map((merchant_id) => ({ merchant_id, notices: 1 }));
    const opened = await openNoticeStand([...backlogs, { merchant_id: OTHER, notices: 6 }]);
    closing.push(() => opened.close());
    const servers = await Promise.all(table.map(([, act]) => receiver(() => act)));
    const well = await receiver(() => OK);
    for (const [index, merchant] of merchants.entries()) opened.urls.set(merchant, `${servers[index]?.url}/hook`);
    opened.urls.set(OTHER, `${well.url}/hook`);
    opened.start({ timeout_ms: 1_500 });
    await well.waitFor(6);
    await opened.attempted(table.length + 6);
    for (const [index, [name, , outcome]] of table.entries()) {
      const [notice] = await opened.log(merchants[index] ?? '');
      expect(notice, name).toMatchObject({
        state: outcome === 'delivered' ? 'delivered' : 'pending',
        last_attempt: { outcome },
      });
      expect(servers[index]?.heard[0]?.headers['accept-encoding'], name).toBe('identity');
      // The socket buffers took some bytes before the cut, far fewer than offered.
      expect(servers[index]?.written(), name).toBeLessThan(32 * 1024 ** 2);
    }
  });
});

describe('a receiver that answers', () => {
  const table: [number, Record<string, string>, number | null][] = [
    [200, {}, null],
    [201, {}, null],
    [202, {}, 15],
    [204, {}, 15],
    [301, { location: '/elsewhere' }, 15],
    [302, { location: '/elsewhere' }, 15],
    [303, { location: '/elsewhere' }, 15],
    [307, { location: '/elsewhere' }, 15],
    [308, { location: '/elsewhere' }, 15],
    [410, {}, 15],
    [429, {}, 15],
    [429, { 'retry-after': '1200' }, 20],
    [429, { 'retry-after': '999999999' }, 30],
    [429, { 'retry-after': '-5' }, 15],
    [500, {}, 15],
    [503, { 'retry-after': 'soon' }, 15],
  ];
  it('anything but 200 and 201 is tried again in a quarter of an hour, or after its Retry-After, and never given up [F118]', async () => {
    const merchants = table.map((_row, index) => String(800_000_001 + index));
    const opened = await openNoticeStand(merchants.map((merchant_id) => ({ merchant_id, notices: 1 })));
    closing.push(() => opened.close());
    const server = await startFaultServer(({ path }) => {
      const [status, headers] = table[Number(/^\/(\d+)/.exec(path)?.[1])] ?? [404, {}];
      return status === 204 ? acts.raw('HTTP/1.1 204 No Content\r\n\r\n') : acts.answer(status, '', headers);
    });
    closing.push(() => server.close());
    for (const [index, merchant] of merchants.entries()) opened.urls.set(merchant, `${server.url}/${index}`);
    opened.start();
    await opened.attempted(table.length);
    for (const [index, [status, headers, minutes]] of table.entries()) {
      const [notice] = await opened.log(merchants[index] ?? '');
      expect(notice, `${status} ${JSON.stringify(headers)}`).toMatchObject({
        state: minutes === null ? 'delivered' : 'pending',
        last_attempt: { status, outcome: minutes === null ? 'delivered' : 'theirs' },
      });
      // Jitter only adds, at most a tenth.
      const waits = ((notice?.next_attempt_at ?? 0) - opened.now) / MINUTE_MS;
      expect(waits).toBeGreaterThanOrEqual(minutes ?? 0);
      expect(waits).toBeLessThanOrEqual((minutes ?? 0) * 1.1);
    }
    expect(server.heard.filter(({ path }) => path.startsWith('/elsewhere'))).toEqual([]);
  });

  it.each([301, 302, 303, 307, 308])('%i with another address is not followed [F115]', async (status) => {
    const inside = await receiver(() => OK);
    const server = await receiver(() => acts.redirect(status, `${inside.url}/latest/meta-data`));
    const opened = await stand();
    opened.urls.set(SHOP, server.url);
    opened.start();
    await opened.attempted(1);
    expect(opened.attempts[0]?.attempt).toMatchObject({ outcome: 'theirs', status });
    expect(inside.accepted()).toBe(0);
  });
});

describe('a setting that changes while notices wait', () => {
  it('applies to the next attempt: another URL, no URL, and a stricter policy [F121]', async () => {
    const first = await receiver(() => acts.answer(500));
    const second = await receiver(() => OK);
    const opened = await stand();
    const tried = async (count: number): Promise<string> => {
      opened.now += 24 * 60 * MINUTE_MS;
      await opened.attempted(count);
      return opened.attempts.at(-1)?.attempt.outcome ?? '';
    };
    opened.urls.set(SHOP, first.url);
    const open = opened.start();
    expect(await tried(1)).toBe('theirs');
    opened.urls.set(SHOP, null);
    expect(await tried(2)).toBe('ours');
    await open.stop();
    opened.urls.set(SHOP, second.url);
    const closed = opened.start({ policy: { ...OPEN, allow_private: false } });
    expect(await tried(3)).toBe('ours');
    expect(second.accepted()).toBe(0);
    await closed.stop();
    opened.start();
    expect(await tried(4)).toBe('delivered');
    expect([first.heard.length, second.heard.length]).toEqual([1, 1]);
  });
});

describe('a receiver whose TLS is broken', () => {
  let faults: TlsFaults;
  beforeAll(async () => {
    faults = await makeTlsFaults();
  });

  it('gets no notice, and is tried again until its TLS works [F122]', async () => {
    const broken = Object.entries(faults).filter(([name]) => name !== 'good');
    const opened = await openNoticeStand(
      broken.map((_fault, index) => ({ merchant_id: String(800_000_001 + index), notices: 1 })),
    );
    closing.push(() => opened.close());
    const servers = await Promise.all(broken.map(([, tls]) => receiver(() => OK, { tls })));
    for (const [index, server] of servers.entries()) opened.urls.set(String(800_000_001 + index), `${server.url}/hook`);
    opened.start();
    await opened.attempted(broken.length);
    for (const { attempt } of opened.attempts) expect(attempt).toMatchObject({ outcome: 'theirs', status: null });
    expect(servers.map(({ heard }) => heard.length)).toEqual(broken.map(() => 0));
    const mended = await receiver(() => OK, { tls: faults.good });
    for (const index of broken.keys()) opened.urls.set(String(800_000_001 + index), `${mended.url}/hook`);
    opened.now += 60 * MINUTE_MS;
    await opened.attempted(2 * broken.length);
    expect(await opened.store.upkeep.counts()).toMatchObject({ notices_pending: 0 });
  });

  it('costs no socket and no timer, however often it is tried [F122]', async () => {
    const server = await receiver(() => OK, { tls: faults.expired });
    const opened = await stand(60);
    opened.urls.set(SHOP, `${server.url}/hook`);
    const resources = (): number =>
      process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Timeout|Timer/.test(name)).length;
    const before = resources();
    const notifier = opened.start();
    await opened.attempted(60);
    await notifier.stop();
    for (let wait = 0; wait < 200 && resources() > before; wait++) await pause(10);
    expect(resources()).toBeLessThanOrEqual(before);
    expect(server.accepted()).toBe(60);
  });
});
