/** The delivery loop on the real store, with real receivers, on a clock that the tests advance. */
import { createHmac, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import type { Store } from '../../../src/ops/ports.ts';
import { createSender } from '../../../src/proxy/notices/delivery.ts';
import { type NotifierParts, startNotifier } from '../../../src/proxy/notices/notifier.ts';
import type { Receiver } from '../../../src/proxy/notices/request.ts';
import type { Attempt, NewNotice, Notice, NoticeForm } from '../../../src/proxy/records/notices.ts';
import type { Link } from '../../../src/proxy/sales/link.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { newLink, newNotice } from '../../store/contract/harness.ts';
import { answer, onRequest, type Peer, startPeer } from '../upstream/peer.ts';

const MINUTE = 60_000;
/** The first pause with all of its jitter. */
const LONGEST_FIRST_PAUSE = 16.5 * MINUTE;
const ARGENTINA = '700100200';
const BRAZIL = '700100300';
const PUBLIC_URL = 'https://puente.test';

/** Time stops until `advance`; a sleeper wakes when its time has come or its signal aborts. */
function manualClock(start: number) {
  let now = start;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    now: () => now,
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const wake = (): void => {
          sleepers.delete(sleeper);
          resolve();
        };
        const sleeper = { at: now + ms, wake };
        if (signal.aborted) return resolve();
        sleepers.add(sleeper);
        signal.addEventListener('abort', wake, { once: true });
      }),
    advance(ms: number) {
      now += ms;
      for (const sleeper of [...sleepers]) if (sleeper.at <= now) sleeper.wake();
    },
  };
}

let directory = '';
let store: Store;
let clock: ReturnType<typeof manualClock>;
let closing: (() => Promise<void>)[] = [];
const receivers = new Map<string, Receiver>();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'puente-notifier-'));
  clock = manualClock(Date.UTC(2026, 10, 2, 12));
  store = await openSqliteStore({ path: join(directory, 'puente.db'), create: true, now: clock.now });
  receivers.clear();
});

afterEach(async () => {
  for (const close of closing.reverse()) await close();
  closing = [];
  await store.close();
  await rm(directory, { recursive: true });
});

function start(more: Partial<NotifierParts> = {}) {
  const sender = createSender({
    policy: { allow_private: true, allow_http: false, ports: [], own_hosts: [] },
    userAgent: 'Puente/test',
  });
  const attempts: { notice: Notice; attempt: Attempt }[] = [];
  const faults: unknown[] = [];
  const notifier = startNotifier({
    store: store.notices,
    sender,
    public_url: PUBLIC_URL,
    receiver: async ({ merchant_id }) =>
      receivers.get(merchant_id) ?? { url: null, dialect: 'point_integration_ipn', secret: null },
    clock,
    random: () => 0.5,
    horizon_ms: null,
    concurrency: 50,
    per_host: 2,
    onAttempt: (notice, attempt) => attempts.push({ notice, attempt }),
    onFault: (error) => faults.push(error),
    ...more,
  });
  const stop = async (): Promise<void> => {
    // The clock runs meanwhile, so that the timeout of the stop ends, too.
    const turning = setInterval(() => clock.advance(1_000), 2);
    await notifier.stop();
    clearInterval(turning);
    await sender.close();
  };
  closing.push(stop);
  return { ...notifier, stop, attempts, faults };
}

interface Seen {
  line: string;
  headers: string;
  body: string;
}

/** A receiver that records notices; `script` answers, by default with 200. */
async function receiver(
  script: (socket: Socket, seen: Seen, number: number) => unknown = (socket) => socket.write(answer(200, 'OK')),
) {
  const told: Seen[] = [];
  const peer: Peer = await startPeer((socket) =>
    onRequest(socket, (text) => {
      const [head = '', body = ''] = text.split('\r\n\r\n');
      const [line = '', ...headers] = head.split('\r\n');
      const seen = { line, headers: headers.join('\n'), body };
      told.push(seen);
      script(socket, seen, told.length);
    }),
  );
  closing.push(() => peer.close());
  return { url: `${peer.url}/hook?shop=1`, told, bodies: () => told.map((seen) => seen.body) };
}

function listen(merchant_id: string, url: string | null, more: Partial<Receiver> = {}): void {
  receivers.set(merchant_id, { url, dialect: 'point_integration_ipn', secret: null, ...more });
}

async function queueLink(merchant_id: string, noticesOf: (link: Link) => NewNotice[]): Promise<string> {
  const now = clock.now();
  const times = { legacy_state_at: now, expires_at: now + 15 * MINUTE, created_at: now, updated_at: now };
  const unit = `PAX_A910__${randomUUID().slice(0, 13)}`;
  const own = newLink({ merchant_id, unit, ...times, next_check_at: null, reference_sent: randomUUID() });
  const { link } = await store.links.openLink(own, () => ({ kind: 'open' }));
  await store.links.saveLink(link, {}, { notices: noticesOf(link) });
  return link.legacy_id;
}

function noticeOf(link: Link, body: string, change: Partial<NewNotice> = {}): NewNotice {
  return newNotice(link, body, { created_at: clock.now(), next_attempt_at: clock.now(), ...change });
}

/** A link with one notice per body, each with its own subject; the first about the intent. */
function queue(merchant_id: string, ...bodies: string[]): Promise<string> {
  return queueLink(merchant_id, (link) =>
    bodies.map((body, index) => noticeOf(link, body, index === 0 ? {} : { subject: `${link.legacy_id} ${index}` })),
  );
}

const SALE = { order_status: 'paid', application_id: '4004001' } as const;
const PAYMENT = '131313131313';
const MERCHANT_ORDER = '8000000000000017';
const SUBJECTS = [
  ['payment', PAYMENT],
  ['merchant_order', MERCHANT_ORDER],
] as const;

/** A link with the notices of a QR sale: for its payment, then for its merchant order, in these forms. */
function queueSale(merchant_id: string, ...forms: NoticeForm[]): Promise<string> {
  return queueLink(merchant_id, (link) =>
    SUBJECTS.flatMap(([topic, subject]) =>
      forms.map((form) =>
        noticeOf(link, JSON.stringify({ ...SALE, first: topic === 'payment' }), { topic, form, subject }),
      ),
    ),
  );
}

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function pending(): Promise<number> {
  return (await store.upkeep.counts()).notices_pending;
}

describe('delivery', () => {
  it('goes out on wake, with a signature that no secret made, and is recorded', async () => {
    const { url, told } = await receiver();
    listen(ARGENTINA, url);
    const notifier = start();
    const id = await queue(ARGENTINA, '{"state":"FINISHED"}');
    notifier.wake();
    await until(() => notifier.attempts.length === 1);
    expect(await pending()).toBe(0);
    expect(told).toEqual([
      {
        line: `POST /hook?shop=1&topic=point_integration_ipn&id=${id} HTTP/1.1`,
        headers: expect.stringMatching(/^x-request-id: [0-9a-f-]{36}\nx-signature: ts=\d{10},v1=[0-9a-f]{64}$/m),
        body: '{"state":"FINISHED"}',
      },
    ]);
    expect(notifier.attempts).toMatchObject([{ attempt: { outcome: 'delivered', status: 200, at: clock.now() } }]);
  });

  it('goes out signed in the other dialect', async () => {
    const { url, told } = await receiver();
    listen(ARGENTINA, url, { dialect: 'point_integration_wh', secret: new Secret('till secret') });
    const notifier = start();
    const id = await queue(ARGENTINA, '{}');
    notifier.wake();
    await until(() => told.length === 1);
    const headers = told[0]?.headers ?? '';
    const request_id = /x-request-id: (\S+)/.exec(headers)?.[1];
    const [, ts, v1] = /x-signature: ts=(\d+),v1=(\w+)/.exec(headers) ?? [];
    expect(ts).toBe(String(clock.now()));
    expect(v1).toBe(
      createHmac('sha256', 'till secret').update(`id:${id};request-id:${request_id};ts:${ts};`).digest('hex'),
    );
  });

  it('is found without a wake, by time alone', async () => {
    const { url, told } = await receiver();
    listen(ARGENTINA, url);
    start();
    await queue(ARGENTINA, '{}');
    await until(() => {
      clock.advance(1_000);
      return told.length === 1;
    });
  });
});

describe('a QR sale', () => {
  it("is told by IPN under the vendor's agent: id before topic, the payment, and where its merchant order is", async () => {
    const { url, told } = await receiver();
    listen(ARGENTINA, url, { secret: new Secret('till secret') });
    const notifier = start();
    await queueSale(ARGENTINA, 'ipn');
    notifier.wake();
    await until(() => notifier.attempts.length === 2);
    told.sort((one, other) => (one.line < other.line ? -1 : 1)); // each is sent independently
    expect(told.map(({ line, body }) => [line, body])).toEqual([
      [`POST /hook?shop=1&id=${PAYMENT}&topic=payment HTTP/1.1`, `{"resource":"${PAYMENT}","topic":"payment"}`],
      [
        `POST /hook?shop=1&id=${MERCHANT_ORDER}&topic=merchant_order HTTP/1.1`,
        `{"resource":"${PUBLIC_URL}/merchant_orders/${MERCHANT_ORDER}","topic":"merchant_order"}`,
      ],
    ]);
    expect(told[0]?.headers).toContain('user-agent: MercadoPago Feed v2.0 payment\n');
    expect(told[1]?.headers).toContain('user-agent: MercadoPago Feed v2.0 merchant_order\n');
    for (const { headers } of told) expect(headers).toMatch(/^x-signature: ts=\d{10},v1=[0-9a-f]{64}$/m);
    expect(notifier.attempts.map(({ attempt }) => attempt.url)).toEqual([
      `${new URL(url).origin}/…?…`,
      `${new URL(url).origin}/…?…`,
    ]);
  });

  it('in both forms is two deliveries, and a receiver that refuses one form still gets the other', async () => {
    const { url, told } = await receiver((socket, { line }) =>
      socket.write(answer(line.includes('data.id=') ? 404 : 200, '')),
    );
    listen(ARGENTINA, url);
    const notifier = start();
    await queueSale(ARGENTINA, 'ipn', 'webhook');
    notifier.wake();
    await until(() => notifier.attempts.length === 4);
    const outcomes = notifier.attempts.map(
      ({ notice, attempt }) => `${notice.topic} ${notice.form} ${attempt.outcome}`,
    );
    expect(outcomes.sort()).toEqual([
      'merchant_order ipn delivered',
      'merchant_order webhook theirs',
      'payment ipn delivered',
      'payment webhook theirs',
    ]);
    expect(told).toHaveLength(4);
    expect(await pending()).toBe(2);
  });

  it('has one request id on every attempt', async () => {
    const { url, told } = await receiver((socket, _seen, number) => socket.write(answer(number === 1 ? 500 : 200, '')));
    listen(ARGENTINA, url);
    const notifier = start();
    await queueSale(ARGENTINA, 'ipn');
    notifier.wake();
    await until(() => notifier.attempts.length === 2);
    expect(await pending()).toBe(1);
    clock.advance(LONGEST_FIRST_PAUSE);
    await until(async () => (await pending()) === 0);
    const ids = told.map(({ headers }) => /x-request-id: ([0-9a-f-]{36})/.exec(headers)?.[1]);
    expect(ids[0]).toBe(ids[2]);
    expect(ids[1]).not.toBe(ids[0]);
  });

  it('whose stored facts are unreadable is held, and stops nobody', async () => {
    const { url, told } = await receiver();
    listen(ARGENTINA, url);
    const notifier = start();
    const facts = { topic: 'payment', form: 'webhook', subject: PAYMENT } as const;
    const legacy_id = await queueLink(ARGENTINA, (link) => [noticeOf(link, 'no facts', facts)]);
    await queueSale(ARGENTINA, 'webhook');
    notifier.wake();
    await until(() => notifier.attempts.length === 3);
    expect(notifier.attempts.filter(({ attempt }) => attempt.outcome === 'ours')).toMatchObject([
      { notice: { legacy_id }, attempt: { url: null, status: null } },
    ]);
    expect(told).toHaveLength(2);
  });

  it("of one merchant goes to another host while the merchant's first one hangs", async () => {
    const hanging = await receiver(() => {});
    const quick = await receiver();
    const urls = new Map<string, string>();
    const notifier = start({
      receiver: async ({ legacy_id }) => ({
        url: urls.get(legacy_id) ?? hanging.url,
        dialect: 'point_integration_ipn',
        secret: null,
      }),
    });
    for (let index = 0; index < 6; index++) await queueSale(ARGENTINA, 'ipn');
    clock.advance(1);
    const other = await queueSale(ARGENTINA, 'ipn');
    urls.set(other, quick.url);
    notifier.wake();
    await until(() => quick.told.length === 2);
    expect(hanging.told.length).toBeLessThanOrEqual(2);
  });
});

const AUDIT = {
  who: 'ana',
  action: 'replay notices' as const,
  subject: ARGENTINA,
  reason: 'asked by the shop',
  detail: {},
};

describe('a redelivery', () => {
  it('is a further delivery with the same request id, and nothing waits for it', async () => {
    let refuses = false;
    const { url, told, bodies } = await receiver((socket, seen) =>
      socket.write(answer(refuses && seen.body === 'first' ? 500 : 200, '')),
    );
    listen(ARGENTINA, url, { dialect: 'point_integration_wh', secret: new Secret('s') });
    const notifier = start();
    await queue(ARGENTINA, 'first', 'second');
    notifier.wake();
    await until(async () => (await pending()) === 0);
    refuses = true;
    const ids = (await store.notices.notices({}, 10)).map(({ id }) => id);
    await store.notices.redeliverNotices(ids, clock.now(), { ...AUDIT, at: clock.now() });
    notifier.wake();
    await until(() => notifier.attempts.length === 4);
    expect(bodies().sort()).toEqual(['first', 'first', 'second', 'second']);
    const requests = told.map(({ headers, body }) => `${body} ${/x-request-id: (\S+)/.exec(headers)?.[1]}`);
    expect(new Set(requests).size).toBe(2);
    expect(await pending()).toBe(1);
    refuses = false;
    clock.advance(60 * MINUTE);
    await until(async () => (await pending()) === 0);
    expect(bodies().at(-1)).toBe('first');
  });
});

async function queueNewer(legacy_id: string, body: string): Promise<void> {
  const link = await store.links.link(legacy_id);
  if (link === null) throw new Error('there is no such link');
  await store.links.saveLink(link, {}, { notices: [noticeOf(link, body)] });
}

describe('each notice by itself', () => {
  it('holds up nothing while it is refused, and is not tried again before its time', async () => {
    const { url, bodies } = await receiver((socket, seen) =>
      socket.write(answer(seen.body === 'first' ? 503 : 200, '')),
    );
    listen(ARGENTINA, url);
    const notifier = start({ random: () => 0 });
    await queue(ARGENTINA, 'first', 'second');
    notifier.wake();
    await until(() => notifier.attempts.length === 2);
    const triesOf = (body: string): number => notifier.attempts.filter(({ notice }) => notice.body === body).length;
    for (const tries of [1, 2, 3]) {
      clock.advance(15 * MINUTE - 1);
      await queue(ARGENTINA, `other sale ${tries}`);
      notifier.wake();
      await until(() => triesOf(`other sale ${tries}`) === 1);
      expect(triesOf('first')).toBe(tries);
      clock.advance(1);
      notifier.wake();
      await until(() => triesOf('first') === tries + 1);
    }
    expect(bodies().filter((body) => body === 'second')).toHaveLength(1);
  });

  it('is tried again no sooner than its receiver asks for [F118]', async () => {
    const { url } = await receiver((socket) => socket.write(answer(429, '', { 'retry-after': '1200' })));
    listen(ARGENTINA, url);
    const notifier = start();
    await queue(ARGENTINA, 'first');
    notifier.wake();
    await until(() => notifier.attempts.length === 1);
    const [notice] = await store.notices.notices({}, 1);
    expect(notice?.next_attempt_at).toBe(clock.now() + 20 * MINUTE);
  });

  it('is tried again after its pause when the clock was set back during its attempt [F47]', async () => {
    const held = Promise.withResolvers<void>();
    const { url, told } = await receiver(async (socket) => {
      await held.promise;
      socket.write(answer(503, ''));
    });
    listen(ARGENTINA, url);
    const notifier = start();
    await queue(ARGENTINA, 'first');
    notifier.wake();
    await until(() => told.length === 1);
    clock.advance(-24 * 60 * MINUTE);
    held.resolve();
    await until(() => notifier.attempts.length === 1);
    const [notice] = await store.notices.notices({}, 1);
    expect(notice?.next_attempt_at).toBe(clock.now() + 15.75 * MINUTE);
  });

  it('is superseded by a newer one of its topic and id, which goes out at once and alone', async () => {
    const { url, bodies } = await receiver((socket, seen) => socket.write(answer(seen.body === 'old' ? 503 : 200, '')));
    listen(ARGENTINA, url);
    const notifier = start();
    const id = await queue(ARGENTINA, 'old');
    notifier.wake();
    await until(() => notifier.attempts.length === 1);
    await queueNewer(id, 'new');
    notifier.wake();
    await until(async () => (await pending()) === 0);
    clock.advance(60 * MINUTE);
    await queue(ARGENTINA, 'later');
    notifier.wake();
    await until(() => bodies().includes('later'));
    expect(bodies()).toEqual(['old', 'new', 'later']);
  });

  it('ends its attempt before a newer one of its topic and id begins, so that the newer one comes last', async () => {
    const held = Promise.withResolvers<void>();
    const { url, bodies } = await receiver(async (socket, seen) => {
      if (seen.body === 'old') await held.promise;
      socket.write(answer(200, ''));
    });
    listen(ARGENTINA, url);
    const notifier = start();
    const id = await queue(ARGENTINA, 'old');
    notifier.wake();
    await until(() => bodies().length === 1);
    await queueNewer(id, 'new');
    await queue(ARGENTINA, 'other sale');
    notifier.wake();
    await until(() => bodies().length === 2);
    expect(bodies()).toEqual(['old', 'other sale']);
    held.resolve();
    await until(() => bodies().length === 3);
    expect(bodies()).toEqual(['old', 'other sale', 'new']);
    await until(async () => (await pending()) === 0);
    const states = (await store.notices.notices({}, 10)).map(({ state }) => state);
    expect(states).toEqual(Array(3).fill('delivered'));
  });

  it('that waits behind another of its kind is not sent from the page that is kept, but as it stands then', async () => {
    const CONCURRENCY = 4;
    const held = Promise.withResolvers<void>();
    let first: Socket | null = null;
    const { url, bodies } = await receiver(async (socket, seen) => {
      if (seen.body === 'old') first = socket;
      else {
        await held.promise;
        socket.write(answer(200, ''));
      }
    });
    listen(ARGENTINA, url);
    const id = await queue(ARGENTINA, 'old');
    await queueNewer(id, 'newer');
    const [old] = await store.notices.notices({ states: ['superseded'] }, 1);
    await store.notices.redeliverNotices([old?.id ?? ''], clock.now(), { ...AUDIT, at: clock.now() });
    clock.advance(1);
    // Three times a page, of which half is kept while no time passes.
    for (let nth = 0; nth < 12 * CONCURRENCY; nth++) await queue(ARGENTINA, `other ${nth}`);
    const notifier = start({ concurrency: CONCURRENCY, per_host: CONCURRENCY });
    await until(() => bodies().length === CONCURRENCY && first !== null);
    await queueNewer(id, 'newest');
    (first as Socket | null)?.write(answer(200, ''));
    await until(() => notifier.attempts.length === 1 && bodies().length > CONCURRENCY);
    held.resolve();
    await until(async () => (await pending()) === 0);
    expect(bodies().filter((body) => !body.startsWith('other'))).toEqual(['old', 'newest']);
  });

  it('is given up by itself', async () => {
    const { url, bodies } = await receiver((socket, seen) =>
      socket.write(answer(seen.body === 'first' ? 410 : 200, '')),
    );
    listen(ARGENTINA, url);
    const notifier = start({ horizon_ms: 10 * MINUTE });
    await queue(ARGENTINA, 'first', 'second');
    notifier.wake();
    await until(() => notifier.attempts.length === 2);
    expect(await pending()).toBe(1);
    clock.advance(LONGEST_FIRST_PAUSE);
    await until(async () => (await pending()) === 0);
    expect(bodies().sort()).toEqual(['first', 'first', 'second']);
  });
});

describe('the receiver is read at send time', () => {
  it('so a URL that changes while a notice waits is used [F121]', async () => {
    const old = await receiver((socket) => socket.write(answer(500, '')));
    const fresh = await receiver();
    listen(ARGENTINA, old.url);
    const notifier = start();
    await queue(ARGENTINA, '{}');
    notifier.wake();
    await until(() => notifier.attempts.length === 1);
    listen(ARGENTINA, fresh.url);
    clock.advance(LONGEST_FIRST_PAUSE);
    await until(async () => (await pending()) === 0);
    expect([old.told.length, fresh.told.length]).toEqual([1, 1]);
  });

  it('without a URL, without a secret, or with a refused URL a notice is held, and goes out once it can [F121]', async () => {
    const { url, told } = await receiver();
    const notifier = start({ horizon_ms: MINUTE, random: () => 0 });
    await queue(ARGENTINA, '{}');
    const hold = async (count: number): Promise<void> => {
      notifier.wake();
      await until(() => notifier.attempts.length === count);
      expect(await store.notices.dueNotices(clock.now(), 10)).toEqual([]);
      clock.advance(15 * MINUTE - 1);
      expect(await store.notices.dueNotices(clock.now(), 10)).toEqual([]);
    };
    await hold(1);
    listen(ARGENTINA, url, { dialect: 'point_integration_wh' });
    clock.advance(1);
    await hold(2);
    listen(ARGENTINA, 'http://169.254.169.254/');
    clock.advance(1);
    await hold(3);
    expect(notifier.attempts.map(({ attempt }) => attempt.outcome)).toEqual(['ours', 'ours', 'ours']);
    expect(notifier.attempts.map(({ notice }) => notice.attempts)).toEqual([0, 0, 0]);
    listen(ARGENTINA, url);
    await store.notices.hastenNotices(ARGENTINA, clock.now());
    notifier.wake();
    await until(async () => (await pending()) === 0);
    expect(told).toHaveLength(1);
  });

  it("and one merchant's broken settings don't stop the others", async () => {
    const { url, told } = await receiver();
    const notifier = start({
      receiver: async ({ merchant_id }) => {
        if (merchant_id === ARGENTINA) throw new PuenteError('store_unusable', 'sealed with another key');
        return { url, dialect: 'point_integration_ipn', secret: null };
      },
    });
    await queue(ARGENTINA, 'a');
    await queue(BRAZIL, 'b');
    notifier.wake();
    await until(() => notifier.attempts.length === 2);
    expect(told.map((seen) => seen.body)).toEqual(['b']);
    expect(await pending()).toBe(1);
    expect(notifier.faults).toHaveLength(1);
  });

  it('and while the store can not be read, a notice stays due and goes out with the next look', async () => {
    const { url, told } = await receiver();
    let isGone = true;
    const notifier = start({
      receiver: async () => {
        if (isGone) throw new PuenteError('store_failed', 'the database server is gone');
        return { url, dialect: 'point_integration_ipn', secret: null };
      },
    });
    await queue(ARGENTINA, 'a');
    notifier.wake();
    await until(() => notifier.faults.length === 1);
    expect(notifier.attempts).toEqual([]);
    isGone = false;
    notifier.wake();
    await until(() => notifier.attempts.length === 1);
    expect(told.map((seen) => seen.body)).toEqual(['a']);
  });
});

describe('the pace', () => {
  it('is two attempts at a time to one host, and a receiver that hangs does not hold up another [F117]', async () => {
    const hanging = await receiver(() => {});
    const quick = await receiver();
    listen(ARGENTINA, hanging.url);
    listen(BRAZIL, quick.url);
    const notifier = start();
    for (let index = 0; index < 6; index++) await queue(ARGENTINA, `slow ${index}`);
    for (let index = 0; index < 6; index++) await queue(BRAZIL, `quick ${index}`);
    notifier.wake();
    await until(() => quick.told.length === 6 && hanging.told.length === 2);
    await until(async () => (await pending()) === 6);
    expect(hanging.told).toHaveLength(2);
  });

  it('takes a backlog from one read until a commit adds to it', async () => {
    const { url, told } = await receiver();
    listen(ARGENTINA, url);
    let reads = 0;
    const counted: NotifierParts['store'] = {
      ...store.notices,
      dueNotices: (now, limit) => {
        reads++;
        return store.notices.dueNotices(now, limit);
      },
    };
    for (let index = 0; index < 20; index++) await queue(ARGENTINA, String(index));
    const notifier = start({ store: counted });
    await until(async () => (await pending()) === 0);
    expect([told.length, reads]).toEqual([20, 1]);
    await queue(ARGENTINA, 'later');
    notifier.wake(ARGENTINA);
    await until(async () => (await pending()) === 0);
    expect([told.length, reads]).toEqual([21, 2]);
  });

  it('never passes the limits, whatever the backlog', async () => {
    let open = 0;
    let most = 0;
    const slow = (socket: Socket): void => {
      most = Math.max(most, ++open);
      setTimeout(() => {
        open--;
        socket.write(answer(200, ''));
      }, 5);
    };
    const hosts = await Promise.all(Array.from({ length: 4 }, () => receiver(slow)));
    const merchants = ['700100200', '700100300', '700100400', '700100500'];
    for (const [index, merchant] of merchants.entries()) listen(merchant, hosts[index]?.url ?? null);
    const notifier = start({ concurrency: 3 });
    for (let index = 0; index < 48; index++) await queue(merchants[index % 4] ?? '', String(index));
    notifier.wake();
    await until(async () => (await pending()) === 0);
    expect(most).toBe(3);
    expect(hosts.flatMap((host) => host.bodies())).toHaveLength(48);
  });

  it('is fair between merchants that share a host [F120]', async () => {
    const shared = await receiver();
    listen(ARGENTINA, shared.url);
    listen(BRAZIL, shared.url);
    for (let index = 0; index < 8; index++) await queue(ARGENTINA, 'a');
    clock.advance(1);
    for (let index = 0; index < 4; index++) await queue(BRAZIL, 'b');
    start({ per_host: 1 });
    await until(async () => (await pending()) === 0);
    expect(shared.bodies().join('')).toBe('ababababaaaa');
  });

  it('asks the store past a merchant whose host is full', async () => {
    const hanging = await receiver(() => {});
    const quick = await receiver();
    listen(ARGENTINA, hanging.url);
    listen(BRAZIL, quick.url);
    const notice = (index: number, merchant_id: string): Notice => {
      const made = newNotice(newLink({ merchant_id }), '{}', { created_at: 0, next_attempt_at: 0 });
      return { ...made, id: `notice-${index}`, sequence: 1, state: 'pending', attempts: 0 };
    };
    const rows = Array.from({ length: 40 }, (_, index) => notice(index, index < 39 ? ARGENTINA : BRAZIL));
    const memory: NotifierParts['store'] = {
      dueNotices: async (_now, limit) => rows.filter((row) => row.state === 'pending').slice(0, limit),
      dueNoticesInTurn: async ({ after_merchant, except_merchants }) => ({
        notices: rows.filter(
          ({ state, merchant_id }) =>
            state === 'pending' && merchant_id > after_merchant && !except_merchants.includes(merchant_id),
        ),
        last_merchant: null,
      }),
      dueNoticesBehind: async () => [],
      recordAttempt: async (row, _attempt, next) => {
        rows[rows.findIndex(({ id }) => id === row.id)] = { ...row, ...next };
      },
    };
    start({ store: memory, concurrency: 4, per_host: 1 });
    await until(() => rows.at(-1)?.state === 'delivered');
    expect(quick.told).toHaveLength(1);
    expect(hanging.told).toHaveLength(1);
  });
});

describe("a merchant's crowded host", () => {
  /** Notices go where `listen` says, except those of these sales. */
  const sales = new Map<string, string>();
  const byNotice = async ({ legacy_id, merchant_id }: Notice): Promise<Receiver> => ({
    url: sales.get(legacy_id) ?? receivers.get(merchant_id)?.url ?? null,
    dialect: 'point_integration_ipn',
    secret: null,
  });

  it('for QR notices does not hold up its Point notices, nor QR notices for another host [F117 F120]', async () => {
    const hanging = await receiver(() => {});
    const quick = await receiver();
    listen(ARGENTINA, quick.url);
    for (let index = 0; index < 20; index++) sales.set(await queueSale(ARGENTINA, 'ipn'), hanging.url);
    await queue(ARGENTINA, '{}');
    sales.set(await queueSale(ARGENTINA, 'ipn'), quick.url);
    start({ receiver: byNotice });
    await until(() => quick.told.length === 3);
    expect(hanging.told).toHaveLength(2);
  });

  it('is found once for each sale that waits, and a large backlog is not read again for each attempt', async () => {
    const SALES = 60;
    const crowded = await receiver();
    listen(ARGENTINA, crowded.url);
    for (let index = 0; index < SALES; index++) await queueSale(ARGENTINA, 'ipn');
    let reads = 0;
    let turns = 0;
    let look_ups = 0;
    const counted: NotifierParts['store'] = {
      ...store.notices,
      dueNotices: (now, limit) => {
        reads++;
        return store.notices.dueNotices(now, limit);
      },
      dueNoticesInTurn: (turn) => {
        turns++;
        return store.notices.dueNoticesInTurn(turn);
      },
    };
    const notifier = start({
      store: counted,
      receiver: (notice) => {
        look_ups++;
        return byNotice(notice);
      },
      concurrency: 8,
    });
    // An attempt is stored before it is reported.
    await until(async () => (await pending()) === 0 && notifier.attempts.length >= 2 * SALES);
    expect(notifier.attempts).toHaveLength(2 * SALES);
    // One for each attempt, and one for each sale that was met while its host had no place.
    expect(look_ups).toBeLessThanOrEqual(3 * SALES);
    // A batch is 32 notices and serves 16 attempts.
    expect(reads).toBeLessThan(SALES / 4);
    // The batch has enough of its only merchant, so that no read merchant by merchant finds more.
    expect(turns).toBeLessThan(SALES / 2);
  });

  it('is found again once a second for a merchant, and not for each of its sales without a URL of their own', async () => {
    const SALES = 40;
    const crowded = await receiver();
    for (let index = 0; index < SALES; index++) await queueSale(ARGENTINA, 'ipn');
    let look_ups = 0;
    const notifier = start({
      receiver: async () => {
        look_ups++;
        return { url: crowded.url, dialect: 'point_integration_ipn', secret: null, is_merchants: true };
      },
    });
    let seconds = 0;
    await until(() => {
      clock.advance(1_000);
      seconds++;
      return notifier.attempts.length === 2 * SALES;
    });
    // One for each attempt, one for each sale that was met while its host had no place, and then one or two a second.
    expect(look_ups).toBeLessThanOrEqual(3 * SALES + 2 * seconds);
  });

  it('hides no merchant whose first notice comes while it hangs, without a second look [F120]', async () => {
    const hanging = await receiver(() => {});
    const quick = await receiver();
    listen(ARGENTINA, hanging.url);
    listen(BRAZIL, quick.url);
    for (let index = 0; index < 70; index++) await queue(ARGENTINA, '{}');
    const notifier = start({ concurrency: 8 });
    await until(() => hanging.told.length === 2);
    await queue(BRAZIL, 'the first');
    notifier.wake(BRAZIL);
    await until(() => quick.told.length === 1); // no time passes
  });

  it('does not hide the notices for others, however many wait for it [F117 F120]', async () => {
    const hanging = await receiver(() => {});
    const quick = await receiver();
    listen(ARGENTINA, hanging.url);
    // A batch is 32 of these, and none of them ends.
    for (let index = 0; index < 70; index++) sales.set(await queueSale(ARGENTINA, 'ipn'), hanging.url);
    for (let index = 0; index < 70; index++) await queue(ARGENTINA, '{}');
    clock.advance(1);
    sales.set(await queueSale(ARGENTINA, 'ipn'), quick.url);
    await queue(BRAZIL, 'behind it');
    listen(BRAZIL, quick.url);
    start({ receiver: byNotice, concurrency: 8 });
    await until(() => {
      clock.advance(1_000);
      return quick.told.length === 3;
    });
    expect(hanging.told).toHaveLength(2);
  });
});

describe('faults', () => {
  it('an attempt that is cut before it is recorded is repeated, with the same request id [F119]', async () => {
    let answers = false;
    const { url, told } = await receiver((socket) => {
      if (answers) socket.write(answer(200, ''));
    });
    listen(ARGENTINA, url, { dialect: 'point_integration_wh', secret: new Secret('s') });
    const before = start();
    await queue(ARGENTINA, '{}');
    before.wake();
    await until(() => told.length === 1);
    await before.stop();
    expect(before.attempts).toEqual([]);
    await store.close();
    store = await openSqliteStore({ path: join(directory, 'puente.db'), create: false, now: clock.now });
    answers = true;
    start();
    await until(async () => (await pending()) === 0);
    const ids = told.map((seen) => /x-request-id: (\S+)/.exec(seen.headers)?.[1]);
    expect(ids).toEqual([ids[0], ids[0]]);
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(['recordAttempt', 'dueNotices'] as const)(
    'a store that fails at %s is tried again, and the notice is sent once',
    async (method) => {
      const { url, told } = await receiver();
      listen(ARGENTINA, url);
      let failures = 3;
      const failing = async (...parts: never[]): Promise<never> => {
        if (failures-- > 0) throw new PuenteError('store_failed', 'the disk is full');
        return (store.notices[method] as (...parts: never[]) => Promise<never>)(...parts);
      };
      const notifier = start({ store: { ...store.notices, [method]: failing } });
      await queue(ARGENTINA, '{}');
      await until(async () => {
        clock.advance(1_000);
        notifier.wake();
        return (await pending()) === 0;
      });
      expect(told).toHaveLength(1);
      expect(notifier.faults).toHaveLength(3);
    },
  );

  it('a stopped loop sends nothing more', async () => {
    const { url, told } = await receiver();
    listen(ARGENTINA, url);
    const notifier = start();
    await notifier.stop();
    await queue(ARGENTINA, '{}');
    notifier.wake();
    clock.advance(60 * MINUTE);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(told).toEqual([]);
    expect(await pending()).toBe(1);
  });
});
