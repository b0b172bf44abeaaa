/** Answers that are broken, late, endless or somebody else's: never a 2xx on them, the same key and bytes again, one order (F4–F10, F20–F24). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { legacyErrorOf } from '../http/till.ts';
import { eventually } from '../kit.ts';
import { type Act, type FaultServer, startFaultServer } from './fault-server.ts';
import * as acts from './fault-server-acts.ts';
import { openTill, SHORT, startUpstream, type Till, type Twist, type Upstream } from './upstream-stand.ts';

let upstream: Upstream;
let puente: Till;

/** A Puente for each group, because its retry budget is meant to run out under as many faults as one file makes. */
function openForGroup(settings: Record<string, string> = {}): void {
  beforeAll(async () => {
    upstream = await startUpstream();
    puente = await openTill(upstream.url, settings);
  });
  afterAll(async () => {
    await puente.close();
    await upstream.close();
  });
}

/** Every try of a row went with the same key and the same bytes, and there were three at most. */
function expectSameTries(device: string, least: number): void {
  const { idempotency_key } = puente.row(device);
  const [first, ...others] = upstream.creates(idempotency_key);
  expect(others.length + 1).toBeGreaterThanOrEqual(least);
  for (const other of others) expect(other.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
  expect(puente.row(device).attempts).toBeLessThanOrEqual(3);
}

/** Spoils the first try alone: the till gets its sale, by the same key, and there is one order. */
async function expectReplayed(spoiled: Twist): Promise<void> {
  upstream.onCreate = (honest, heard, nth) => (nth === 1 ? spoiled(honest, heard, nth) : honest);
  const orders = upstream.orders.size;
  const device = puente.device();
  const told = await puente.create(device);
  expect({ status: told.status, text: told.text }).toMatchObject({ status: 200 });
  expect(puente.row(device)).toMatchObject({ state: 'LIVE', attempts: 2 });
  expectSameTries(device, 2);
  expect(upstream.orders.size).toBe(orders + 1);
}

/** Spoils every try: the till is told that nobody knows, and the row stays in doubt. */
async function expectDoubt(spoiled: Twist, least_tries = 2): Promise<string> {
  upstream.onCreate = spoiled;
  const device = puente.device();
  const told = await puente.create(device);
  expect({ status: told.status, text: told.text }).toMatchObject({ status: 504 });
  legacyErrorOf(told);
  expect(puente.row(device)).toMatchObject({ state: 'IN_DOUBT', client_answer: 'error', body_kept: 1 });
  expectSameTries(device, least_tries);
  upstream.onCreate = (honest) => honest;
  return device;
}

async function untilLive(device: string): Promise<void> {
  await eventually(
    async () => puente.row(device),
    (row) => row.state === 'LIVE',
  );
}

describe('the connection fails after the request', () => {
  openForGroup();

  it.each<[string, Twist]>([
    ['reset before the order was made [F6]', () => acts.reset],
    ['reset after the order was made [F6]', (honest) => acts.unheard(honest, acts.reset)],
    ['closed without a byte after the order was made', (honest) => acts.unheard(honest, acts.close)],
    ['cut inside the status line [F8]', (honest) => acts.cutAt(7, honest)],
    ['cut inside the headers [F8]', (honest) => acts.cutAt(40, honest)],
    ['cut inside the body [F8]', (honest) => acts.cutAt(200, honest)],
    ['reset inside the body [F8]', (honest) => acts.cutAt(200, honest, 'reset')],
    ['a content length that promises more [F8]', () => acts.wrongLength(201, '{"id":"ORD"}', 10)],
    ['a content length that ends too early [F8]', () => acts.wrongLength(201, '{"id":"ORD"}', -5)],
    [
      'a chunk that never ends',
      () => acts.rawThenClose('HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{'),
    ],
  ])('%s: replayed with the same key and bytes', async (_name, twist) => {
    await expectReplayed(twist);
  });

  it('an idle connection that is closed as we write: one order for each sale [F7]', async () => {
    upstream.onCreate = (honest) => acts.thenClose(honest);
    const orders = upstream.orders.size;
    for (let sale = 0; sale < 12; sale++) {
      expect((await puente.create(puente.device())).status).toBe(200);
      // Lands the next call around the moment at which the close is noticed.
      for (let turn = 0; turn < sale % 4; turn++) await new Promise(setImmediate);
    }
    expect(upstream.orders.size).toBe(orders + 12);
  });
});

describe('two answers in one', () => {
  openForGroup();

  it.each<[string, Twist]>([
    ['content length and chunked together [F10]', () => acts.lengthAndChunked(201, '{}')],
    [
      'an answer nobody asked for behind the first',
      (honest) => acts.unheard(honest, acts.raw('HTTP/1.1 100 Continue\r\n\r\n')),
    ],
    ['no HTTP at all', () => acts.raw('SSH-2.0-OpenSSH_9.6\r\n')],
    ['HTML that says 201 [F9]', () => acts.answer(201, '<html></html>', { 'content-type': 'text/html' })],
    ['HTML that says it is JSON [F9]', () => acts.answer(201, '<html></html>', { 'content-type': 'application/json' })],
    [
      'JSON that says it is HTML [F9]',
      (_honest, heard) => acts.answer(201, heard.body, { 'content-type': 'text/html' }),
    ],
  ])('%s: no success, and replayed', async (_name, twist) => {
    await expectReplayed(twist);
  });

  it('what is no success is told in the log [F9]', async () => {
    const before = puente.alerts.length;
    await expectDoubt(() => acts.json(201, []));
    const own = puente.alerts.slice(before).filter(({ message }) => message === 'create: ambiguous');
    expect(own.map(({ cause }) => cause)).toContain('success without a readable order');
  });
});

describe('silence', () => {
  openForGroup(SHORT);

  it('is cut per try and in all, told as 504, and resolved when the upstream is back [F4]', async () => {
    const device = await expectDoubt(() => acts.silence);
    await untilLive(device);
    expect(puente.row(device).client_answer, 'nobody was told of it').toBe('error');
    expect(upstream.orders.size).toBe(1);
  });

  it('an answer after our deadline makes no second order [F5]', async () => {
    const device = await expectDoubt((honest) => acts.late(honest, 1_800));
    await untilLive(device);
    const { idempotency_key, order_id } = puente.row(device);
    expect(upstream.orders.get(idempotency_key)?.id).toBe(order_id);
    expect([...upstream.orders.values()].filter(({ id }) => id === order_id)).toHaveLength(1);
  });
});

describe('an answer that does not end', () => {
  openForGroup(SHORT);

  it.each<[string, Twist]>([
    ['one byte now and then [F22]', (honest) => acts.drip(honest, 1, 40)],
    ['early hints without end [F23]', () => acts.informationalFlood(103)],
    ['processing without end [F23]', () => acts.informationalFlood(102)],
    ['header lines without end', () => acts.endlessHeaders()],
  ])('%s is cut by the timeout, and no success', async (_name, twist) => {
    await expectReplayed(twist);
  });
});

describe('an answer that is too much', () => {
  openForGroup();

  it.each<[string, Act]>([
    ['ten thousand headers [F21]', acts.manyHeaders(10_000)],
    ['one header of a mebibyte [F21]', acts.longHeader(1024 * 1024)],
    ['a gzip bomb of 64 MiB [F21]', acts.gzipBomb(64 * 1024 * 1024)],
    ['an endless chunked body [F21]', acts.endlessChunked()],
    ['a body of 5 GB [F21]', acts.hugeBody(5 * 1024 ** 3)],
  ])('%s is cut; memory stays flat', async (_name, act) => {
    const written = upstream.written();
    const rss = process.memoryUsage().rss;
    await expectReplayed(() => act);
    // What the sockets of both ends hold beside our 1 MiB.
    expect(upstream.written() - written).toBeLessThan(32 * 1024 * 1024);
    expect(process.memoryUsage().rss - rss).toBeLessThan(128 * 1024 * 1024);
  });
});

describe('a redirect to somebody else', () => {
  openForGroup();
  let thief: FaultServer;
  beforeAll(async () => {
    thief = await startFaultServer(() => acts.json(200, {}));
  });
  afterAll(() => thief.close());

  it.each([301, 302, 303, 307, 308])('%i is not followed, and the token goes nowhere [F20]', async (status) => {
    const device = await expectDoubt(() => acts.redirect(status, `${thief.url}/v1/orders`), 1);
    expect(puente.row(device).attempts, 'a wrong address is not asked again while the till waits').toBe(1);
    expect([thief.accepted(), thief.heard]).toEqual([0, []]);
  });

  it('of a read is not followed either [F20]', async () => {
    upstream.onRead = () => acts.redirect(302, `${thief.url}/v1/orders/x`);
    const device = puente.device();
    const id = (await puente.create(device)).body as { id: string };
    expect((await puente.till(`/point/integration-api/payment-intents/${id.id}`)).status).toBe(200);
    expect(thief.accepted()).toBe(0);
    upstream.onRead = (honest) => honest;
  });
});

describe('JSON that bites', () => {
  openForGroup();

  it.each<[string, string]>([
    ['a nest of 100,000 lists [F24]', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['__proto__ deep inside [F24]', '{"id":"ORD","config":{"__proto__":{"polluted":true}}}'],
    ['constructor.prototype [F24]', '{"constructor":{"prototype":{"polluted":true}}}'],
    ['the same key twice with different values [F24]', '{"id":"ORD1","id":"ORD2"}'],
    ['bytes that are no UTF-8 [F24]', '{"id":"\xff"}'],
  ])('%s is no success and pollutes nothing', async (_name, text) => {
    await expectReplayed(() => acts.answer(201, Buffer.from(text, 'latin1'), { 'content-type': 'application/json' }));
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});
