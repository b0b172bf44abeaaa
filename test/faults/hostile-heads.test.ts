/** Heads that two servers could read differently: answered 400 on every port; no upstream call, row or open socket. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { ARGENTINA, call, eventually, tokenOf } from '../kit.ts';
import { closing, openForAll, openForEach } from '../open.ts';
import { sendRaw } from '../proxy/http/raw.ts';
import { answerJson, answerWho, type Outside, orderFor, startOutside, startUnruly } from '../proxy/http/unruly.ts';
import { ambiguousHeads, CREATE, creation, exactly, START, untilClosed } from './hostile-table.ts';

/** HTTP/0.9 has no end of a head, so the door waits for one until this timeout. */
const SETTINGS = { PUENTE_PUBLIC_HEADERS_TIMEOUT_MS: '1000' };
const REFUSED = [400, 405, 408, 413, 431];
const TUNNEL = ['CONNECT a.example:443 HTTP/1.1', 'Host: a', '', ''];

/** Until it resolves, upstream does not answer `/users/me`. */
let asking = Promise.withResolvers<void>();
asking.resolve();
const upstream = openForAll(() =>
  startUnruly((seen, response) => {
    if (seen.path === '/users/me') asking.promise.then(() => answerWho(response));
    else if (seen.path === '/v1/orders') answerJson(response, 201, orderFor(seen));
    else answerJson(response, 200, { id: 'x' });
  }),
);
const orders = openForAll(() => startOutside(upstream.url, SETTINGS));
const legacy = openForAll(() => startOutside(upstream.url, { ...SETTINGS, PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));
const sandbox = openForAll(() => startSandbox({ port: 0, host: '127.0.0.1' }));

/** Rows of all tables that a call could write. */
function rowsOf(door: Outside, tables = ['links', 'legacy_sales', 'exchanges', 'tokens']): number {
  using database = closing(new Database(join(door.data_dir, 'puente.db'), { readonly: true }));
  const counts = tables.map((table) => database.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get());
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), 0);
}

describe('an ambiguous head [F78 F79 F80 F81 F82 F83 F88]', () => {
  it.each(Object.entries(ambiguousHeads))('on the public door: %s', async (_name, bytes) => {
    for (const door of [orders, legacy]) {
      const answer = await sendRaw(door.app.public_url, bytes);
      expect(REFUSED).toContain(answer.status);
      expect(answer.closed).toBe(true);
      expect(answer.text.match(/^HTTP\/1\.1 /gm), 'what stands behind is no request').toHaveLength(1);
      expect(answer.text).not.toContain(tokenOf(ARGENTINA));
    }
    expect(upstream.seen).toEqual([]);
  });

  it('of all of them nothing was kept, and the door lives', async () => {
    for (const door of [orders, legacy]) {
      expect((await call(`${door.app.ops_url}/readyz`)).status).toBe(200);
      expect(rowsOf(door)).toBe(0);
    }
    expect((await orders.ops('/metrics')).text).toContain('puente_refused_heads_total{fault="repeated_header"}');
  });

  it('on the ops door, in its own words', async () => {
    for (const [name, bytes] of Object.entries(ambiguousHeads)) {
      if (name === 'HTTP/0.9') continue; // the ops door's head timeout is long and not configurable
      const answer = await sendRaw(orders.app.ops_url, bytes);
      expect([name, REFUSED.includes(answer.status), answer.closed]).toEqual([name, true, true]);
      expect(answer.text).not.toContain(tokenOf(ARGENTINA));
    }
    const told = await sendRaw(orders.app.ops_url, creation(`POST ${CREATE}`, ['Host: other.example']));
    expect(JSON.parse(told.text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: 'bad_request' });
    expect((await orders.ops('/api/merchants')).status).toBe(200);
  });

  it('the sandbox survives them', async () => {
    for (const bytes of Object.values(ambiguousHeads)) {
      const half = Buffer.concat([bytes, Buffer.from('\r\n\r\n')]);
      expect((await sendRaw(sandbox.url, half)).status).toBeLessThan(500);
    }
    expect((await call(`${sandbox.url}/_sandbox/state`)).status).toBe(200);
  });
});

it('a request that follows a refused head on the connection is not served either [F79 F80]', async () => {
  const refused = creation(`POST ${CREATE}`, ['Host: other.example']);
  for (const door of [orders, legacy]) {
    const text = await untilClosed(door.app.public_url, Buffer.concat([refused, creation(`POST ${CREATE}`, [])]));
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400']);
    expect(rowsOf(door, ['links', 'legacy_sales'])).toBe(0);
  }
  expect(upstream.seen).toEqual([]);
});

describe('a request with a sound head', () => {
  const SALE = '{"amount":1500,"additional_info":{"external_reference":"sale-1"}}';
  it.each([
    ['a chunk length that is no number [F80]', 'x\r\n\r\n0\r\n\r\n'],
    ['a chunk longer than it says [F80]', '1\r\n{"amount":1500}\r\n0\r\n\r\n'],
    ['chunk extensions without end [F80]', `1;${'x'.repeat(20_000)}\r\n{\r\n`],
  ])('with %s: nothing is made, and the connection ends', async (_name, body) => {
    for (const door of [orders, legacy]) {
      const before = upstream.seen.filter(({ path }) => path !== '/users/me').length;
      const answer = await sendRaw(door.app.public_url, exactly(...START, 'Transfer-Encoding: chunked', '', body));
      expect(REFUSED).toContain(answer.status);
      expect(answer.closed).toBe(true);
      expect(upstream.seen.filter(({ path }) => path !== '/users/me').length).toBe(before);
      expect(rowsOf(door, ['links', 'legacy_sales'])).toBe(0);
    }
  });

  it('and a wrong length: the till gets the answer of its sale, not of the bytes that follow it [F80]', async () => {
    const answer = await sendRaw(
      orders.app.public_url,
      exactly(...START, `Content-Length: ${SALE.length}`, '', `${SALE}}}\x00garbage\r\n\r\n`),
    );
    expect([answer.status, answer.closed]).toEqual([201, true]);
    expect(rowsOf(orders, ['links'])).toBe(1);
  });

  it('whose client disconnects while its token is verified: nothing waits for it [F89]', async () => {
    const stopping = await startOutside(upstream.url, SETTINGS);
    asking = Promise.withResolvers<void>();
    const seen = upstream.seen.length;
    const socket = connect(Number(new URL(stopping.app.public_url).port), '127.0.0.1');
    socket.write(exactly(...START, 'Content-Length: 60000', '', '{"amou')); // too long to wait for
    await eventually(
      async () => upstream.seen[seen]?.path,
      (path) => path === '/users/me',
    );
    socket.destroy();
    await once(socket, 'close');
    asking.resolve();
    await stopping.close();
    expect(upstream.seen.slice(seen).map(({ path }) => path)).toEqual(['/users/me']);
  });
});

it('CONNECT is answered 405, and a client that resets the connection meanwhile breaks nothing else [F88]', async () => {
  const bytes = exactly(...TUNNEL);
  const answer = await sendRaw(orders.app.public_url, bytes);
  expect([answer.status, answer.closed]).toEqual([405, true]);
  for (let nth = 0; nth < 20; nth++) {
    const socket = connect(Number(new URL(orders.app.public_url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(bytes);
    socket.resetAndDestroy();
  }
  expect((await sendRaw(orders.app.public_url, bytes)).status).toBe(405);
});

describe('bytes that follow whole calls on their connection', () => {
  const BODY = '{"amount":1500}';
  const sale = exactly(...START, `Content-Length: ${BODY.length}`, '', BODY);
  const read = exactly('GET /v1/nothing HTTP/1.1', ...START.slice(1, 3), '', '');
  const behind = {
    'half a call': exactly(...START, 'Transfer-Encoding: chunked', '', '5\r\n{"amo\r\nx\r\n'),
    'a tunnel': exactly(...TUNNEL),
    'no request at all': Buffer.from('\0\r\n\r\n'),
  };
  const door = openForEach(() => startOutside(upstream.url, SETTINGS));
  beforeEach(async () => {
    asking = Promise.withResolvers<void>();
  });
  afterEach(async () => {
    asking.resolve();
  });

  /** All bytes arrive in one packet, so bytes behind the calls were read once the calls are under way. */
  async function underWay(calls: number): Promise<void> {
    await eventually(
      async () => (await door.ops('/metrics')).text,
      (text) => new RegExp(`^puente_calls_under_way ${calls}$`, 'm').test(text),
    );
  }

  it.each(Object.entries(behind))(
    '%s: each whole call gets its answer, and no answer comes before those [F80 F88]',
    async (_name, bytes) => {
      const told = untilClosed(door.app.public_url, Buffer.concat([sale, read, bytes]));
      await underWay(1); // the other waits for its turn
      asking.resolve();
      expect((await told).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 201', 'HTTP/1.1 200']);
      expect(rowsOf(door, ['links'])).toBe(1);
      await underWay(0);
    },
  );

  it.each(Object.entries(behind))(
    '%s: the calls hold no place once the client has disconnected [F80 F88 F89]',
    async (_name, bytes) => {
      const socket = connect(Number(new URL(door.app.public_url).port), '127.0.0.1');
      socket.write(Buffer.concat([sale, read, read, bytes]));
      await underWay(1);
      socket.resetAndDestroy();
      asking.resolve();
      await underWay(0);
    },
  );
});
