/** The upstream client over real sockets: requests and outcomes. See also `test/faults/upstream-broken.test.ts`. */
import { connect, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { probeUpstream } from '../../../src/ops/doctor/probe.ts';
import { createUpstream, type UpstreamOptions } from '../../../src/proxy/upstream/client.ts';
import type { UpstreamCall, UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { selfSigned } from './certificate.ts';
import { answer, listening, onRequest, type Peer, startPeer } from './peer.ts';

const TOKEN = 'APP_USR-4004001-112026-00000000000000000000000000000a01-700100200';
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function client(baseUrl: string, more: Partial<UpstreamOptions> = {}) {
  const upstream = createUpstream({
    baseUrl,
    connections: 4,
    connectTimeout_ms: 3_000,
    userAgent: 'Puente/test',
    ...more,
  });
  closing.push(() => upstream.close());
  return upstream;
}

async function peer(script: (socket: Socket, number: number) => void): Promise<Peer> {
  const made = await startPeer(script);
  closing.push(() => made.close());
  return made;
}

function call(more: Partial<UpstreamCall> = {}): UpstreamCall {
  return {
    name: 'create',
    method: 'POST',
    path: '/v1/orders',
    body: Buffer.from('{"type":"point"}'),
    token: new Secret(TOKEN),
    idempotency_key: 'key-1',
    timeout_ms: 2_000,
    ...more,
  };
}

async function outcomeOf(script: (socket: Socket) => void, more: Partial<UpstreamCall> = {}): Promise<UpstreamOutcome> {
  const { url } = await peer((socket) => onRequest(socket, () => script(socket)));
  return client(url).send(call(more));
}

describe('not sent', () => {
  it('a TLS handshake that never ends: connect timeout', async () => {
    const { port } = await peer(() => {});
    const outcome = await client(`https://127.0.0.1:${port}`, { connectTimeout_ms: 200 }).send(
      call({ timeout_ms: 5_000 }),
    );
    expect(outcome).toEqual({ kind: 'not_sent', cause: 'UND_ERR_CONNECT_TIMEOUT' });
  });

  it('a TLS handshake that outlasts the call: the call is not sent later either, and the next one is', async () => {
    const certificate = await selfSigned('localhost');
    setDefaultCACertificates([...getCACertificates(), certificate.cert]);
    const seen: string[] = [];
    const server = createTlsServer(certificate);
    const tls = await listening(
      server,
      (socket) =>
        onRequest(socket, (text) => {
          seen.push(text);
          socket.write(answer(201, '{}'));
        }),
      'secureConnection',
    );
    closing.push(() => tls.close());
    const slow = await peer((socket) => {
      socket.pause();
      setTimeout(() => {
        const onward = connect(tls.port, '127.0.0.1');
        onward.on('error', () => socket.destroy());
        socket.pipe(onward).pipe(socket);
      }, 300);
    });
    const upstream = client(`https://localhost:${slow.port}`, { connections: 1 });
    const outcome = await upstream.send(call({ timeout_ms: 100, idempotency_key: 'key-late' }));
    expect(outcome).toEqual({ kind: 'not_sent', cause: 'timeout' });
    expect(await upstream.send(call({ idempotency_key: 'key-next' }))).toMatchObject({ kind: 'answered', status: 201 });
    await upstream.close();
    expect(seen.map((text) => /x-idempotency-key: (\S+)/.exec(text)?.[1])).toEqual(['key-next']);
  });

  it('no free connection in time; the call that waited is never sent', async () => {
    const seen: string[] = [];
    const { url } = await peer((socket) => onRequest(socket, (text) => seen.push(text)));
    const upstream = client(url, { connections: 1 });
    const first = upstream.send(call({ timeout_ms: 500 }));
    const second = upstream.send(call({ timeout_ms: 200, idempotency_key: 'key-2' }));
    expect(await second).toEqual({ kind: 'not_sent', cause: 'no free connection in time' });
    expect(await first).toEqual({ kind: 'broken', cause: 'timeout' });
    await upstream.close();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toContain('key-1');
  });
});

describe("the doctor's look", () => {
  it.each<[string, (socket: Socket) => void]>([
    ['never answers', () => {}],
    [
      'drips its answer',
      (socket) => {
        const head = 'HTTP/1.1 200 OK\r\nx-long: '.padEnd(500, 'x');
        let at = 0;
        const dripping = setInterval(() => socket.write(head[at++] ?? 'x'), 20);
        socket.on('close', () => clearInterval(dripping));
      },
    ],
  ])('at a service that %s ends in time', async (_name, script) => {
    const { url } = await peer((socket) => onRequest(socket, () => script(socket)));
    const seen = await probeUpstream('orders', url, { now: Date.now }, 150);
    expect(seen).toMatchObject({ is_reached: false, says: 'no answer within 150 ms' });
  });
});

describe('reads and payments', () => {
  const read = { name: 'get', method: 'GET', path: '/v1/orders/x' } as const;

  it('reads that hang, however many, leave room for a payment [F99]', async () => {
    const hanging: Socket[] = [];
    let hangs = true;
    const { url } = await peer((socket) =>
      onRequest(socket, (text) => {
        if (hangs && text.startsWith('GET')) hanging.push(socket);
        else socket.write(answer(201, '{}'));
      }),
    );
    const upstream = client(url);
    const { body: _none, idempotency_key: _no, ...asked } = call({ ...read, timeout_ms: 5_000 });
    const reads = Array.from({ length: 12 }, () => upstream.send(asked));
    expect(await upstream.send(call())).toMatchObject({ kind: 'answered', status: 201 });
    expect(hanging.length).toBeLessThanOrEqual(3);
    hangs = false;
    for (const socket of hanging) socket.write(answer(200, '{}'));
    expect((await Promise.all(reads)).map(({ kind }) => kind)).toEqual(reads.map(() => 'answered'));
  });

  it('a payment goes before reads that have waited longer', async () => {
    const order: string[] = [];
    const { url } = await peer((socket) =>
      onRequest(socket, (text) => {
        order.push(text.slice(0, text.indexOf(' ')));
        setTimeout(() => socket.write(answer(200, '{}')), 20);
      }),
    );
    const upstream = client(url, { connections: 1 });
    const { body: _none, idempotency_key: _no, ...asked } = call({ ...read });
    await Promise.all([upstream.send(asked), upstream.send(asked), upstream.send(asked), upstream.send(call())]);
    expect(order).toEqual(['GET', 'POST', 'GET', 'GET']);
  });
});

describe('a read that a payment waits for', () => {
  const read = { name: 'get', method: 'GET', path: '/v1/orders/x', timeout_ms: 5_000 } as const;

  it('goes behind payments and before reads that have waited longer [F99]', async () => {
    const order: string[] = [];
    const { url } = await peer((socket) =>
      onRequest(socket, (text) => {
        order.push(text.slice(0, text.indexOf(' HTTP')));
        setTimeout(() => socket.write(answer(200, '{}')), 20);
      }),
    );
    const upstream = client(url, { connections: 1 });
    const { body: _none, idempotency_key: _no, ...asked } = call(read);
    const payments_own = { ...asked, path: '/v1/orders/paid', for_payment: true };
    await Promise.all([asked, asked, payments_own, call()].map((one) => upstream.send(one)));
    expect(order).toEqual(['GET /v1/orders/x', 'POST /v1/orders', 'GET /v1/orders/paid', 'GET /v1/orders/x']);
  });

  it('has a connection beside other reads that hang, and leaves some to payments when it hangs itself [F99]', async () => {
    const hanging: Socket[] = [];
    const { url } = await peer((socket) =>
      onRequest(socket, (text) => {
        if (text.startsWith('GET')) hanging.push(socket);
        else socket.write(answer(201, '{}'));
      }),
    );
    const upstream = client(url, { connections: 16 });
    const { body: _none, idempotency_key: _no, ...asked } = call(read);
    const reads = Array.from({ length: 20 }, () => upstream.send(asked));
    const own = Array.from({ length: 20 }, () => upstream.send({ ...asked, for_payment: true }));
    expect(await upstream.send(call())).toMatchObject({ kind: 'answered', status: 201 });
    while (hanging.length < 14) await new Promise((turn) => setTimeout(turn, 5));
    expect(await upstream.send(call())).toMatchObject({ kind: 'answered', status: 201 });
    expect(hanging).toHaveLength(14);
    for (const socket of hanging) socket.destroy();
    await upstream.close();
    await Promise.all([...reads, ...own]);
  });
});

describe('broken: bytes left, no whole valid answer came', () => {
  const cases: [string, (socket: Socket) => void][] = [
    ['truncated body of an error', (socket) => socket.end('HTTP/1.1 400 Bad\r\ncontent-length: 100\r\n\r\n{"errors"')],
    [
      '100 Continue, which nobody asked for',
      (socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${answer(201, '{}')}`),
    ],
  ];
  it.each(cases)('%s', async (_name, script) => {
    expect((await outcomeOf(script)).kind).toBe('broken');
  });

  it('a server that closes at accept', async () => {
    const { url, accepted } = await peer((socket) => socket.end());
    expect((await client(url).send(call())).kind).toBe('broken');
    expect(accepted).toHaveLength(1);
  });

  it('a server that resets at accept is not sent only when it got no byte', async () => {
    const { url, accepted } = await peer((socket) => socket.resetAndDestroy());
    const outcome = await client(url).send(call());
    expect(outcome.kind).not.toBe('answered');
    if (outcome.kind === 'not_sent') expect(accepted.map((socket) => socket.bytesRead)).toEqual([0]);
  });

  it('a kept connection that the server resets as the second request comes in', async () => {
    const { url, accepted } = await peer((socket) =>
      onRequest(socket, (_text, number) => (number === 1 ? socket.write(answer(200, '{}')) : socket.resetAndDestroy())),
    );
    const upstream = client(url, { connections: 1 });
    expect((await upstream.send(call())).kind).toBe('answered');
    expect((await upstream.send(call())).kind).toBe('broken');
    expect(accepted).toHaveLength(1);
  });
});

describe('a kept connection that was closed while idle', () => {
  it('takes a new connection or tells broken, and never sends twice', async () => {
    const keys: string[] = [];
    const { url } = await peer((socket) =>
      onRequest(socket, (text) => {
        keys.push(/x-idempotency-key: (\S+)/.exec(text)?.[1] ?? '');
        socket.write(answer(201, '{}'), () => socket.end());
      }),
    );
    const upstream = client(url, { connections: 1 });
    const outcomes: string[] = [];
    for (let index = 0; index < 60; index++) {
      const outcome = await upstream.send(call({ idempotency_key: `key-${index}` }));
      outcomes.push(outcome.kind);
      const arrived = keys.filter((key) => key === `key-${index}`).length;
      if (outcome.kind === 'answered') expect(arrived).toBe(1);
      if (outcome.kind === 'not_sent') expect(arrived).toBe(0);
      // Sends the next call near the moment at which the client notices the close.
      for (let turn = 0; turn < index % 6; turn++) await new Promise(setImmediate);
    }
    expect(new Set(keys).size).toBe(keys.length);
    expect(outcomes).toContain('answered');
  });
});

describe('a read whose kept connection closes', () => {
  const { body: _, idempotency_key: __, ...read } = call({ name: 'get', method: 'GET', path: '/v1/orders/ORD01' });
  const closesAtSecond = (socket: Socket) =>
    onRequest(socket, (_text, number) => (number === 1 ? socket.write(answer(200, '{}')) : socket.resetAndDestroy()));

  it('is sent once more on a new connection, a write is not', async () => {
    const { url, accepted } = await peer(closesAtSecond);
    const upstream = client(url, { connections: 1 });
    expect((await upstream.send(read)).kind).toBe('answered');
    expect((await upstream.send(read)).kind).toBe('answered');
    expect(accepted).toHaveLength(2);
    expect((await upstream.send(call())).kind).toBe('broken');
    expect(accepted).toHaveLength(2);
  });

  it('is not sent again at once where its calls are paced', async () => {
    const { url, accepted } = await peer(closesAtSecond);
    const upstream = client(url, { connections: 1 });
    await upstream.send(read);
    expect((await upstream.send({ ...read, is_paced: true })).kind).toBe('broken');
    expect(accepted).toHaveLength(1);
  });

  it('is sent once on a new connection that closes', async () => {
    const { url, accepted } = await peer((socket) => onRequest(socket, () => socket.resetAndDestroy()));
    const seen: unknown[] = [];
    const upstream = client(url, { connections: 1, onOutcome: ({ method }, kind) => seen.push([method, kind]) });
    // As in production: one client for orders, one for legacy.
    client(url);
    expect((await upstream.send(read)).kind).toBe('broken');
    expect(accepted).toHaveLength(1);
    expect(seen).toEqual([['GET', 'broken']]);
  });

  it('and then the next one is broken, and counts once', async () => {
    const { url, accepted } = await peer((socket, connection) =>
      onRequest(socket, (_text, number) =>
        connection === 1 && number === 1 ? socket.write(answer(200, '{}')) : socket.resetAndDestroy(),
      ),
    );
    const seen: unknown[] = [];
    const upstream = client(url, { connections: 1, onOutcome: ({ method }, kind) => seen.push([method, kind]) });
    await upstream.send(read);
    expect((await upstream.send(read)).kind).toBe('broken');
    expect(accepted).toHaveLength(2);
    expect(seen.slice(1)).toEqual([['GET', 'broken']]);
  });

  it('is not sent again where too little of its time is left', async () => {
    const { url, accepted } = await peer((socket) =>
      onRequest(socket, (_text, number) =>
        number === 1 ? socket.write(answer(200, '{}')) : setTimeout(() => socket.resetAndDestroy(), 100),
      ),
    );
    const upstream = client(url, { connections: 1 });
    await upstream.send(read);
    expect((await upstream.send({ ...read, timeout_ms: 300 })).kind).toBe('broken');
    expect(accepted).toHaveLength(1);
  });
});

describe('the proof is per request', () => {
  it('with many calls at once of which some are cut before they leave', async () => {
    const arrived = new Set<string>();
    const { url } = await peer((socket) =>
      onRequest(socket, (text) => {
        arrived.add(/x-idempotency-key: (\S+)/.exec(text)?.[1] ?? '');
        setTimeout(() => socket.write(answer(201, '{}')), 15);
      }),
    );
    const upstream = client(url, { connections: 3 });
    const sends = Array.from({ length: 120 }, async (_, index) => {
      const idempotency_key = `key-${index}`;
      const timeout_ms = index % 10 === 0 ? 10_000 : 20 + ((index * 37) % 400); // some have enough time on a slow machine
      const outcome = await upstream.send(call({ idempotency_key, timeout_ms }));
      return { idempotency_key, outcome };
    });
    const results = await Promise.all(sends);
    await upstream.close();
    for (const { idempotency_key, outcome } of results) {
      if (outcome.kind === 'not_sent') expect(arrived).not.toContain(idempotency_key);
      if (outcome.kind === 'answered') expect(arrived).toContain(idempotency_key);
    }
    const kinds = new Set(results.map((result) => result.outcome.kind));
    expect([...kinds]).toEqual(expect.arrayContaining(['answered', 'not_sent']));
  });
});

it('a client that is closed lets calls under way end, also those that have not left yet, and tells what came of them', async () => {
  const { url } = await peer((socket) => onRequest(socket, () => socket.write(answer(201, '{}'))));
  const upstream = client(url, { connections: 100 });
  const told: string[] = [];
  const sends = Array.from({ length: 80 }, async (_, index) => {
    told.push((await upstream.send(call({ idempotency_key: `key-${index}` }))).kind);
  });
  await upstream.close();
  await null;
  expect(told).toEqual(Array(80).fill('answered'));
  await Promise.all(sends);
});

it.each([401, 403, 404])(
  "a gateway's page with %i is no answer to a read; of a write it is a refusal [F138]",
  async (status) => {
    const page = `HTTP/1.1 ${status} No\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>`;
    const read = { name: 'get', method: 'GET', path: '/v1/orders/ORD01' } as const;
    const cause = `${status} without a JSON body`;
    expect(await outcomeOf((socket) => socket.write(page), read)).toEqual({ kind: 'broken', cause, page: status });
    expect(await outcomeOf((socket) => socket.write(page))).toMatchObject({
      kind: 'answered',
      status,
      body: undefined,
    });
    expect(await outcomeOf((socket) => socket.write(answer(status, '{}')), read)).toMatchObject({
      kind: 'answered',
      status,
    });
  },
);

describe('answered', () => {
  it('sends exactly the headers that are named, and the bytes as they are', async () => {
    let text = '';
    const { url } = await peer((socket) =>
      onRequest(socket, (request) => {
        text = request;
        socket.write(answer(201, '{"id":"ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD","amount":10.10}'));
      }),
    );
    const outcome = await client(url).send(
      call({ query: { a: 'b c' }, headers: { 'X-Allow-Cancelable-Status': 'at_terminal', Authorization: 'Basic x' } }),
    );
    expect(outcome).toMatchObject({
      kind: 'answered',
      status: 201,
      retry_after_ms: null,
      body: { id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD' },
    });
    const [head = '', body] = text.split('\r\n\r\n');
    const [line, ...headers] = head.split('\r\n');
    expect(line).toBe('POST /v1/orders?a=b+c HTTP/1.1');
    expect(body).toBe('{"type":"point"}');
    expect(headers.sort()).toEqual(
      [
        `host: ${new URL(url).host}`,
        'connection: keep-alive',
        'x-allow-cancelable-status: at_terminal',
        `authorization: Bearer ${TOKEN}`,
        'accept: application/json',
        'accept-encoding: identity',
        'user-agent: Puente/test',
        'content-type: application/json',
        'x-idempotency-key: key-1',
        'content-length: 16',
      ].sort(),
    );
  });

  it('puts the path of the base URL in front, and reuses the connection', async () => {
    const lines: string[] = [];
    const { url, accepted } = await peer((socket) =>
      onRequest(socket, (text) => {
        lines.push(text.split('\r\n')[0] ?? '');
        socket.write(answer(200, '[]'));
      }),
    );
    const upstream = client(`${url}/base/`, { connections: 1 });
    const {
      body: _body,
      idempotency_key: _key,
      ...plain
    } = call({ name: 'users_me', method: 'GET', path: '/users/me' });
    await upstream.send(plain);
    await upstream.send(plain);
    expect(lines).toEqual(['GET /base/users/me HTTP/1.1', 'GET /base/users/me HTTP/1.1']);
    expect(accepted).toHaveLength(1);
  });

  const retryAfter: [string, number | null][] = [
    ['7', 7_000],
    ['-5', 0],
    ['1e9', 60_000],
    ['999999999999999999999', 60_000],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 60_000],
    ['soon', null],
  ];
  it.each(retryAfter)('Retry-After: %s', async (header, retry_after_ms) => {
    const outcome = await outcomeOf((socket) => socket.write(answer(429, '{}', { 'retry-after': header })));
    expect(outcome).toEqual({ kind: 'answered', status: 429, retry_after_ms, body: {} });
  });
});

describe('refused before anything is sent', () => {
  const paths = [
    '/v1/orders/..',
    '/v1/../x',
    '/v1/orders/%2e%2e/x',
    '/v1/orders/a\r\nx',
    '/v1/orders?x=1',
    '/v1/#',
    'v1/orders',
    '//host/v1',
    '/v1/orders/',
    '/v1/o\\x',
    '/v1/é',
    '',
  ];
  it.each(paths)('the path %j', async (path) => {
    const { url, accepted } = await peer(() => {});
    await expect(client(url).send(call({ path }))).rejects.toMatchObject({ code: 'bad_request' });
    expect(accepted).toHaveLength(0);
  });

  it('a token that would break out of its header, without showing it', async () => {
    const { url, accepted } = await peer(() => {});
    const sending = client(url).send(call({ token: new Secret('APP_USR-x\r\nx-evil: 1') }));
    await expect(sending).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.not.stringContaining('APP_USR'),
    });
    expect(accepted.length).toBeLessThanOrEqual(1);
  });

  it.each(['ftp://host', 'https://user:pw@host', 'https://host/?a=1', 'https://host/#x', 'host'])(
    'the base URL %s',
    (baseUrl) => {
      expect(() => createUpstream({ baseUrl, connections: 1, connectTimeout_ms: 1, userAgent: 'x' })).toThrow(
        /base URL/,
      );
    },
  );
});

describe('counting', () => {
  it('tells name, kind and status of every call', async () => {
    const seen: unknown[] = [];
    const { url } = await peer((socket) =>
      onRequest(socket, (_text, number) => (number === 1 ? socket.write(answer(404, '{}')) : socket.destroy())),
    );
    const upstream = client(url, {
      connections: 1,
      onOutcome: ({ name, method }, kind, status, duration_ms) =>
        seen.push([name, method, kind, status, duration_ms >= 0]),
    });
    await upstream.send(call());
    await upstream.send(call());
    expect(seen).toEqual([
      ['create', 'POST', 'answered', 404, true],
      ['create', 'POST', 'broken', null, true],
    ]);
  });
});
