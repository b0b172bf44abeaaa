/** Answers broken, late, endless or foreign: never a 2xx, the same key and bytes again, one order (F4–F10, F20–F24). */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BRAZIL, eventually, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { legacyErrorOf } from '../proxy/http/till.ts';
import { type Act, startFaultServer } from './fault-server.ts';
import * as acts from './fault-server-acts.ts';
import { openTill, SHORT, startUpstream, type Till, type Twist, type Upstream } from './upstream-stand.ts';

let upstream: Upstream;
let puente: Till;

/** One Puente per group, because the faults of the whole file would exhaust its retry budget. */
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

/** Every attempt of a row had the same key and bytes; there were at most three. */
function expectSameTries(device: string, least: number): void {
  const { idempotency_key } = puente.row(device);
  const [first, ...others] = upstream.creates(idempotency_key);
  expect(others.length + 1).toBeGreaterThanOrEqual(least);
  for (const other of others) expect(other.body.equals(first?.body ?? Buffer.alloc(0))).toBe(true);
  expect(puente.row(device).attempts).toBeLessThanOrEqual(3);
}

/** Spoils only the first attempt: the till gets its sale under the same key, and there is one order. */
async function expectRepeated(spoiled: Twist): Promise<void> {
  upstream.onCreate = (honest, heard, nth) => (nth === 1 ? spoiled(honest, heard, nth) : honest);
  const orders = upstream.orders.size;
  const device = puente.device();
  const told = await puente.create(device);
  expect({ status: told.status, text: told.text }).toMatchObject({ status: 201 });
  expect(puente.row(device)).toMatchObject({ state: 'LIVE', attempts: 2 });
  expectSameTries(device, 2);
  expect(upstream.orders.size).toBe(orders + 1);
}

/**
 * The complete honest answer with one fault, which alone keeps it from being a success. `write` gets the text of the
 * order.
 */
function spoil(write: (order: string) => Act): Twist {
  return (honest) => (socket, heard) => {
    acts.unheard(honest, acts.silence)(socket, heard);
    write(JSON.stringify(upstream.orders.get(heard.headers['x-idempotency-key'] ?? '')))(socket, heard);
  };
}

const JSON_TYPE = { 'content-type': 'application/json' };
const asJson = (text: string | Buffer): Act => acts.answer(201, text, JSON_TYPE);

/** Accepted at the first attempt: the control of `spoil`. */
async function expectTaken(twist: Twist): Promise<void> {
  upstream.onCreate = twist;
  const device = puente.device();
  const told = await puente.create(device);
  expect({ status: told.status, text: told.text }).toMatchObject({ status: 201 });
  expect(puente.row(device)).toMatchObject({ state: 'LIVE', attempts: 1 });
  upstream.onCreate = (honest) => honest;
}

/** Spoils every attempt: the till is answered 504, and the row stays in doubt. */
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
    ['a content length that promises more [F8]', spoil((order) => acts.wrongLength(201, order, 10))],
    ['a content length that ends too early [F8]', spoil((order) => acts.wrongLength(201, order, -5))],
    [
      'a body without its last chunk [F8]',
      spoil((order) =>
        acts.rawThenClose(
          `HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n${order.length.toString(16)}\r\n${order}\r\n`,
        ),
      ),
    ],
  ])('%s: repeated with the same key and bytes', async (_name, twist) => {
    await expectRepeated(twist);
  });

  it('an idle connection is closed while the request is written: one order for each sale [F7]', async () => {
    upstream.onCreate = (honest) => acts.thenClose(honest);
    const orders = upstream.orders.size;
    for (let sale = 0; sale < 12; sale++) {
      expect((await puente.create(puente.device())).status).toBe(201);
      // Places the next call close to the moment at which Puente notices the close.
      for (let turn = 0; turn < sale % 4; turn++) await new Promise(setImmediate);
    }
    expect(upstream.orders.size).toBe(orders + 12);
  });
});

describe('an answer that is no readable order', () => {
  openForGroup();

  it.each<[string, Twist]>([
    ['content length and chunked together [F10]', spoil((order) => acts.lengthAndChunked(201, order))],
    [
      'two content lengths [F10]',
      spoil((order) =>
        acts.raw(
          `HTTP/1.1 201 Created\r\ncontent-length: ${order.length}\r\ncontent-length: ${order.length + 1}\r\n\r\n${order} `,
        ),
      ),
    ],
    ['no HTTP at all', spoil((order) => acts.raw(`SSH-2.0-OpenSSH_9.6\r\n\r\n${order}`))],
    ['HTML that says 201 [F9]', () => acts.answer(201, '<html></html>', { 'content-type': 'text/html' })],
    ['HTML that says it is JSON [F9]', () => acts.answer(201, '<html></html>', JSON_TYPE)],
    ['JSON that says it is HTML [F9]', spoil((order) => acts.answer(201, order, { 'content-type': 'text/html' }))],
    [
      'JSON that says it is compressed',
      spoil((order) => acts.answer(201, order, { ...JSON_TYPE, 'content-encoding': 'gzip' })),
    ],
    ['two orders in a row', spoil((order) => asJson(order + order))],
    ['an order in a list [F9]', spoil((order) => asJson(`[${order}]`))],
  ])('%s: no success, and repeated', async (_name, twist) => {
    await expectRepeated(twist);
  });

  it("an answer nobody asked for behind the first is no call's answer", async () => {
    let others = '';
    await expectTaken(
      spoil((order) => {
        const other = order.replace(/"id":"ORD[^"]*"/, '"id":"ORD01K7Q2V5B8N4T6W9XJ3SOMEBODY"');
        others = other;
        const whole = (text: string): string =>
          `HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
        return acts.raw(whole(order) + whole(other));
      }),
    );
    expect(others).toContain('SOMEBODY');
    const device = puente.device();
    expect((await puente.create(device)).status).toBe(201);
    const { idempotency_key, order_id } = puente.row(device);
    expect(order_id).toBe(upstream.orders.get(idempotency_key)?.id);
  });

  it('the same order unspoiled is taken at the first try', async () => {
    await expectTaken(spoil((order) => asJson(order)));
  });

  it('an answer that is no success is logged [F9]', async () => {
    const before = puente.alerts.length;
    await expectDoubt(spoil((order) => asJson(`[${order}]`)));
    const own = puente.alerts.slice(before).filter(({ message }) => message === 'create: ambiguous');
    expect(own.map(({ cause }) => cause)).toContain('success without a readable order');
  });
});

describe('an upstream that does not answer', () => {
  openForGroup({ ...SHORT, PUENTE_READS_TIMEOUT_MS: '9000' });

  it('is cut per try and in all, answered with 504, and the sale is resolved when upstream is back [F4]', async () => {
    const device = await expectDoubt(() => acts.silence);
    await untilLive(device);
    expect(puente.row(device).client_answer, 'nobody was told of it').toBe('error');
    expect(upstream.orders.size).toBe(1);
  });

  it('ten equal creates at once are all answered within one deadline, and make one order [F4]', async () => {
    upstream.onCreate = (honest) => acts.unheard(honest, acts.silence);
    const orders = upstream.orders.size;
    const device = puente.device();
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 10 }, () => puente.create(device)));
    const deadlines = (performance.now() - began) / Number(SHORT.PUENTE_CREATE_DEADLINE_MS);
    upstream.onCreate = (honest) => honest;
    expect(deadlines, 'one after the other they would take ten').toBeLessThan(5);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([504]));
    expect(upstream.orders.size).toBe(orders + 1);
  });

  it('an answer after our deadline makes no second order [F5]', async () => {
    const orders = upstream.orders.size;
    const device = await expectDoubt((honest) => acts.late(honest, 1_800));
    await untilLive(device);
    const { idempotency_key, order_id } = puente.row(device);
    expect(upstream.orders.get(idempotency_key)?.id).toBe(order_id);
    expect(upstream.orders.size, 'whatever the key').toBe(orders + 1);
  });

  it('the read after a repeat ends with the deadline, and its silence does not take the success away', async () => {
    upstream.onRead = () => acts.silence;
    const began = performance.now();
    await expectRepeated((honest) => acts.unheard(honest, acts.reset));
    expect(performance.now() - began, 'not after the 9 s of a read').toBeLessThan(5_000);
    upstream.onRead = (honest) => honest;
  });

  it('a slow answer to whose token it is counts against the same deadline', async () => {
    upstream.onWho = (honest) => acts.late(honest, 1_700);
    const creates = upstream.creates().length;
    const told = await puente.create(puente.device(), tokenOf(BRAZIL));
    legacyErrorOf(told);
    expect([told.status, upstream.creates().length]).toEqual([503, creates]);
  });
});

describe('an answer that does not end', () => {
  openForGroup(SHORT);

  it.each<[string, Twist]>([
    ['an answer of single bytes [F22]', (honest) => acts.drip(honest, 1, 40)],
    ['an endless row of 103 answers [F23]', () => acts.informationalFlood(103)],
    ['an endless row of 102 answers [F23]', () => acts.informationalFlood(102)],
    ['an endless head', () => acts.endlessHeaders()],
  ])('%s is cut by the timeout, and no success', async (_name, twist) => {
    await expectRepeated(twist);
  });
});

describe('an answer that is too large', () => {
  openForGroup();
  const CAP = 1024 * 1024;

  it.each<[string, (order: string) => Act]>([
    ['a head of ten thousand headers [F21]', (order) => acts.manyHeaders(10_000, 201, order)],
    ['a header of a mebibyte [F21]', (order) => acts.longHeader(1024 * 1024, 201, order)],
    ['a header of 17 KiB [F21]', (order) => acts.longHeader(17 * 1024, 201, order)],
    ['a gzip bomb of 64 MiB [F21]', (order) => acts.gzipBomb(64 * 1024 * 1024, 201, order)],
    ['an endless chunked body [F21]', (order) => acts.endlessChunked(201, order)],
    ['a body of 5 GB [F21]', (order) => acts.hugeBody(5 * 1024 ** 3, 201, order)],
    ['a body of one byte more than 1 MiB [F21]', (order) => asJson(order.padEnd(CAP + 1))],
  ])('%s is cut; memory stays flat', async (_name, write) => {
    const written = upstream.written();
    const rss = process.memoryUsage().rss;
    await expectRepeated(spoil(write));
    // The sockets of both ends hold some bytes beyond Puente's 1 MiB.
    expect(upstream.written() - written).toBeLessThan(32 * 1024 * 1024);
    expect(process.memoryUsage().rss - rss).toBeLessThan(128 * 1024 * 1024);
  });

  it.each<[string, (order: string) => Act]>([
    ['an answer of three hundred headers', (order) => acts.manyHeaders(300, 201, order)],
    ['a body of 1 MiB', (order) => asJson(order.padEnd(CAP))],
  ])('%s is within the caps, and accepted at the first try [F21]', async (_name, write) => {
    await expectTaken(spoil(write));
  });
});

describe('a redirect to another host', () => {
  openForGroup();
  const thief = openForAll(() => startFaultServer(() => acts.json(200, {})));

  it.each([300, 301, 302, 303, 307, 308])(
    '%i is not followed, and the token is not sent there [F20]',
    async (status) => {
      // The body holds our own order, which makes it no success either.
      const to = (order: string): Act =>
        acts.answer(status, order, { ...JSON_TYPE, location: `${thief.url}/v1/orders` });
      const device = await expectDoubt(spoil(to), 1);
      expect(puente.row(device).attempts, 'a wrong address is not asked again while the till waits').toBe(1);
      expect([thief.accepted(), thief.heard]).toEqual([0, []]);
    },
  );

  it('that answers a read is not followed either [F20]', async () => {
    upstream.onRead = () => acts.redirect(302, `${thief.url}/v1/orders/x`);
    const device = puente.device();
    const id = (await puente.create(device)).body as { id: string };
    expect((await puente.till(`/point/integration-api/payment-intents/${id.id}`)).status).toBe(200);
    expect(thief.accepted()).toBe(0);
    upstream.onRead = (honest) => honest;
  });
});

describe('hostile JSON', () => {
  openForGroup();

  /** The order with other members first, so a parser that keeps the last duplicate reads an honest order. */
  const withMore = (order: string, more: string): Buffer => Buffer.from(`{${more},${order.slice(1)}`, 'latin1');

  it.each<[string, string]>([
    ['a nest of 100,000 lists [F24]', `"more":${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['a nest of 40 lists [F24]', `"more":${'['.repeat(40)}${']'.repeat(40)}`],
    ['a nested __proto__ [F24]', '"more":{"deep":{"__proto__":{"polluted":true}}}'],
    ['constructor.prototype [F24]', '"constructor":{"prototype":{"polluted":true}}'],
    ['the same key twice with different values [F24]', '"status":"canceled"'],
    ['invalid UTF-8 [F24]', '"more":"\xff"'],
  ])('%s is no success and pollutes nothing', async (_name, more) => {
    await expectRepeated(spoil((order) => asJson(withMore(order, more))));
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('more that is harmless is taken at the first try', async () => {
    await expectTaken(spoil((order) => asJson(withMore(order, `"more":${'['.repeat(20)}${']'.repeat(20)}`))));
  });
});
