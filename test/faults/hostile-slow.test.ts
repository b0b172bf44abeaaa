/** Deliberately slow, idle or numerous clients: each holds little, briefly, and tills are served meanwhile. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BRAZIL, call, DEVICE, eventually, MEXICO, POINT, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { rowsOf } from '../proxy/http/till.ts';
import { answerJson, answerWho, type Outside, orderFor, startOutside, startUnruly } from '../proxy/http/unruly.ts';
import { selfSigned } from '../proxy/upstream/certificate.ts';
import { CREATE, exactly, START } from './hostile-table.ts';

/** The shortest allowed; `config/default.yaml` has the defaults, which are tested to be no longer than promised. */
const SHORT = {
  PUENTE_PUBLIC_HEADERS_TIMEOUT_MS: '700',
  PUENTE_PUBLIC_REQUEST_TIMEOUT_MS: '900',
  PUENTE_PUBLIC_KEEP_ALIVE_TIMEOUT_MS: '600000',
  PUENTE_PUBLIC_WRITE_TIMEOUT_MS: '1000',
};
const MOST_CONNECTIONS = 20;
const BIG = Buffer.alloc(64 * 1024 * 1024, 'x');

let orders: Outside;
let legacy: Outside;
let orders_made = 0;
const nextOrder = (): string => `ORD01K7Q2V5B8N4T6W9XJ3MEH${String(++orders_made).padStart(4, '0')}`;
/** The legacy answer that a client reads slowly. */
let big: ServerResponse | null = null;
const open: Socket[] = [];
const upstream = openForAll(() =>
  startUnruly((seen, response) => {
    if (seen.path === '/users/me') answerWho(response);
    else if (seen.path === '/v1/orders') answerJson(response, 201, orderFor(seen, { id: nextOrder() }));
    else if (seen.path.startsWith('/terminals/v1/list'))
      answerJson(response, 200, { data: { terminals: [] }, paging: { total: 0, offset: 0, limit: 50 } });
    else if (seen.path === '/v1/big') {
      big = response;
      response.writeHead(200, { 'content-length': BIG.length }).end(BIG);
    } else if (seen.path !== '/v1/silence') answerJson(response, 200, { devices: [] });
  }),
);
beforeAll(async () => {
  orders = await startOutside(upstream.url, SHORT);
  const few = {
    ...SHORT,
    PUENTE_ROUTING_DEFAULT_STAGE: 'legacy',
    PUENTE_PUBLIC_MAX_CONNECTIONS: `${MOST_CONNECTIONS}`,
  };
  legacy = await startOutside(upstream.url, few);
});
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});
afterAll(async () => {
  await Promise.all([orders.close(), legacy.close()]);
});

/** A connection to a door; errors count as its end. */
function dial(door: Outside): Socket {
  const socket = connect(Number(new URL(door.app.public_url).port), '127.0.0.1').on('error', () => undefined);
  open.push(socket);
  return socket;
}

/** Writes one byte every 50 ms until the other side closes; resolves with the answer. */
async function drip(socket: Socket, text: Buffer): Promise<string> {
  let answer = '';
  let at = 0;
  socket.on('data', (chunk) => {
    answer += chunk.toString('latin1');
  });
  const dripping = setInterval(() => socket.write(text.subarray(at, ++at)), 50);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(dripping);
  return answer;
}

const HEAD = exactly(...START, 'Content-Length: 60000', '', '');

describe('a slow client', () => {
  it('that sends its head byte by byte is disconnected [F94]', async () => {
    for (const door of [orders, legacy]) expect(await drip(dial(door), HEAD)).toMatch(/^(HTTP\/1\.1 408 |$)/);
    expect(rowsOf(orders.data_dir, DEVICE)).toEqual([]);
  });

  it('that sends nothing at all is disconnected [F94]', async () => {
    const silent = dial(orders);
    await once(silent.resume(), 'close');
  });

  it('that starts no TLS handshake at a TLS door is disconnected [F94]', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'puente-test-'));
    const { cert, key } = await selfSigned('localhost');
    const files = { certificate_file: join(directory, 'chain.pem'), key_file: join(directory, 'key.pem') };
    writeFileSync(files.certificate_file, cert);
    writeFileSync(files.key_file, key);
    const secure = await startOutside(upstream.url, {
      ...SHORT,
      PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: files.certificate_file,
      PUENTE_PUBLIC_TLS_KEY_FILE: files.key_file,
      PUENTE_PUBLIC_MAX_CONNECTIONS: '2',
    });
    await once(dial(secure).resume(), 'close');
    // The cap counts TLS connections too: the oldest of three is closed and the newest is served.
    const port = Number(new URL(secure.app.public_url).port);
    const dialTls = (): Socket => connectTls({ port, ca: cert, servername: 'localhost' }).on('error', () => undefined);
    // Repeated where this machine is too slow for a handshake within the door's short timeout.
    const told = await eventually(
      async () => {
        const [oldest, second, newest] = [dialTls(), dialTls(), dialTls()];
        await new Promise((resolve) => oldest.resume().once('close', resolve));
        const answer = new Promise<string>((resolve) => {
          newest.once('data', (chunk: Buffer) => resolve(chunk.toString())).once('close', () => resolve(''));
        });
        newest.write('GET /v1/nothing HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
        const text = await answer;
        for (const socket of [second, newest]) socket.destroy();
        return text;
      },
      (text) => text.startsWith('HTTP/1.1 200'),
    );
    expect(told).toMatch(/^HTTP\/1\.1 200/);
    await secure.close();
    rmSync(directory, { recursive: true });
  });

  it('that sends its body byte by byte is disconnected, and no sale is made [F95]', async () => {
    for (const door of [orders, legacy]) {
      const socket = dial(door);
      socket.write(HEAD);
      expect(await drip(socket, Buffer.alloc(60_000, ' '))).toMatch(/^(HTTP\/1\.1 4\d\d |$)/);
    }
    expect(upstream.seen.filter(({ method }) => method === 'POST')).toEqual([]);
    expect(rowsOf(orders.data_dir, DEVICE)).toEqual([]);
  });

  it('that declares a gigabyte is refused before it sends it [F95]', async () => {
    const socket = dial(orders);
    socket.write(exactly(...START, 'Content-Length: 1073741824', '', '{'));
    expect(await drip(socket, Buffer.alloc(1_000, ' '))).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('that reads nothing of its answer is disconnected, and no more of the legacy answer is read for it [F96]', async () => {
    const socket = dial(legacy);
    socket.pause();
    socket.write(exactly('GET /v1/big HTTP/1.1', 'Host: a', '', ''));
    const answer = await eventually(
      async () => big,
      (response) => response !== null,
    );
    await once(answer as ServerResponse, 'close'); // waited for above
    expect((answer as ServerResponse).writableFinished, 'most of it was never taken').toBe(false);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await once(socket.resume(), 'close');
    expect(received).toBeLessThan(BIG.length);
  });

  it('that reads its answer slowly, but does read, gets all of it [F96]', async () => {
    const socket = dial(legacy);
    socket.write(exactly('GET /v1/big HTTP/1.1', 'Host: a', 'Connection: close', '', ''));
    let received = 0;
    for await (const chunk of socket) {
      received += (chunk as Buffer).length; // a socket without an encoding yields buffers
      if (received % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(received).toBeGreaterThan(BIG.length);
  });
});

describe('many bodies that are sent slowly', () => {
  const ROOM = 20;
  const MANY = 3 * ROOM;
  const LIMITS = {
    PUENTE_LIMITS_UNKNOWN_CALLS: `${ROOM}`,
    PUENTE_LIMITS_MERCHANT_CALLS: `${ROOM}`,
    PUENTE_PUBLIC_REQUEST_TIMEOUT_MS: '60000',
  };
  const door = openForAll(() => startOutside(upstream.url, LIMITS));

  /** Starts the calls of a flood and sends the first bytes of each. */
  async function flood(headFor: (nth: number) => string[], first: string): Promise<void> {
    const sockets = Array.from({ length: MANY }, () => dial(door).resume());
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const [nth, socket] of sockets.entries()) socket.write(exactly(...headFor(nth), '', first));
    // When a later connection is answered, the door has read the bytes of the flood.
    for (let nth = 0; nth < 3; nth++) await call(`${door.app.public_url}/webhooks/orders`, { body: {} });
  }
  const CALL = [`POST ${CREATE} HTTP/1.1`, 'Host: a'];
  const invented = (nth: number): string =>
    `Authorization: Bearer APP_USR-1-1-${nth.toString(16).padStart(32, '0')}-${MEXICO}`;

  it.each<[string, (nth: number) => string[], string]>([
    ['short ones', (nth) => [...CALL, invented(nth), 'Content-Length: 500'], '{'],
    ['long ones', (nth) => [...CALL, invented(nth), 'Content-Length: 60000'], '{'],
    ['ones in chunks', (nth) => [...CALL, invented(nth), 'Transfer-Encoding: chunked'], '1\r\n{\r\n'],
    ['ones that are held back', (nth) => [...CALL, invented(nth), 'Expect: 100-continue', 'Content-Length: 500'], ''],
    ['ones of nobody', () => ['PUT /v1/documents HTTP/1.1', 'Host: a', 'Content-Length: 500'], '{'],
    ['events', () => ['POST /webhooks/orders HTTP/1.1', 'Host: a', 'Content-Length: 500'], '{'],
    ['long events', () => ['POST /webhooks/orders HTTP/1.1', 'Host: a', 'Content-Length: 60000'], '{'],
  ])(
    'with invented tokens do not shut out a merchant that is not known yet: %s [F95 F98]',
    async (_what, headFor, first) => {
      await flood(headFor, first);
      const sale = { body: { amount: 1500 }, token: tokenOf(BRAZIL).replace('APP_USR-', 'APP_USR-9') };
      expect((await door.till(CREATE, sale)).status).not.toBe(503);
      const event = await call(`${door.app.public_url}/webhooks/orders`, { body: { data: { id: 'ORD1' } } });
      expect(event.status).not.toBe(503);
    },
  );

  it.each<[string, string[], string]>([
    ['short ones', ['Content-Length: 500'], '{'],
    ['long ones', ['Content-Length: 60000'], '{'],
    ['ones that are held back', ['Expect: 100-continue', 'Content-Length: 500'], ''],
  ])('of one merchant leave room for its other calls: %s [F95 F99]', async (_what, more, first) => {
    expect((await door.till(`${POINT}/devices`)).status).toBe(200);
    await flood(() => [...START, ...more], first);
    expect((await door.till(`${POINT}/devices`)).status).toBe(200);
    expect((await door.till(CREATE, { body: { amount: 1500 } })).status).toBe(201);
  });
});

describe('more connections than the public door allows', () => {
  it('the connection that is idle for longest is closed; a till is served [F97]', async () => {
    const idle = Array.from({ length: MOST_CONNECTIONS }, () => dial(legacy).resume());
    const ended: number[] = [];
    for (const [nth, socket] of idle.entries()) socket.once('close', () => ended.push(nth));
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    // A busy connection stays although it is the oldest; one that is still sending its call is closed.
    idle[0]?.write(exactly('GET /v1/silence HTTP/1.1', 'Host: a', '', ''));
    idle[1]?.write(exactly(...START, 'Content-Length: 2', '', '{'));
    await eventually(
      async () => upstream.seen.at(-1)?.path,
      (path) => path === '/v1/silence',
    );
    for (let nth = 0; nth < 3; nth++) expect((await legacy.till(`${POINT}/devices`)).status).toBe(200);
    expect(ended).toContain(1);
    expect(ended).not.toContain(0);
    expect((await legacy.ops('/metrics')).text).toContain('puente_dropped_connections_total{door="public"}');
  });

  it('a storm of connections leaves nothing behind [F97]', async () => {
    for (let wave = 0; wave < 10; wave++) {
      const sockets = Array.from({ length: 60 }, () => dial(legacy).resume());
      expect((await legacy.till(`${POINT}/devices`)).status).toBe(200);
      for (const socket of sockets) socket.destroy();
      await Promise.all(sockets.map((socket) => socket.closed || once(socket, 'close')));
    }
    expect((await legacy.till(CREATE, { body: { amount: 1500 } })).status).toBe(200);
  });
});
