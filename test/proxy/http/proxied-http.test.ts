/** HTTP on the legacy lane, byte for byte over raw sockets: methods, header lines, trailers, interim answers, order. */
import { connect, type Socket } from 'node:net';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ARGENTINA, DEVICE, eventually, POINT, startBench, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { sendRaw, startRawUpstream } from './raw.ts';
import { startOutside } from './unruly.ts';

const DEVICES = `${POINT}/devices`;
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;
const BEARER = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

let answer: (request: string, socket: Socket) => void;
const upstream = openForAll(() => startRawUpstream((request, socket) => answer(request, socket)));
const puente = openForAll(() => startOutside(upstream.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));
beforeEach(() => {
  answer = (_request, socket) => socket.write(OK);
});

function lines(...all: string[]): string {
  return [...all, '', ''].join('\r\n');
}

/** Writes bytes, and returns everything received until the connection ends or `until` matches. */
function talk(bytes: string, until?: string | RegExp, url = puente.app.public_url): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(bytes, 'latin1'));
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (until !== undefined && text.search(until) !== -1) socket.destroy();
    });
    socket.on('error', () => undefined); // a reset ends it, too
    socket.on('close', () => resolve(text));
  });
}

/** The request as legacy saw it, and the answer as the till saw it. */
async function exchange(request: string, answered: string): Promise<{ seen: string; told: string }> {
  answer = (_request, socket) => socket.write(answered, 'latin1');
  const told = await talk(request);
  return { seen: upstream.requests.at(-1) ?? '', told };
}

describe('a request', () => {
  it.each(['OPTIONS', 'PROPFIND', 'PURGE', 'QUERY', 'LINK', 'REPORT', 'M-SEARCH'])(
    'of the method %s arrives with it, on paths of operations and others',
    async (method) => {
      for (const path of [DEVICES, INTENTS, '/v1/documents?a']) {
        const allow = 'HTTP/1.1 200 OK\r\nAllow: GET, LINK\r\nContent-Length: 0\r\n\r\n';
        const { seen, told } = await exchange(
          lines(`${method} ${path} HTTP/1.1`, 'Host: a', BEARER, 'Connection: close'),
          allow,
        );
        expect(seen.split('\r\n')[0]).toBe(`${method} ${path} HTTP/1.1`);
        expect(seen.toLowerCase()).not.toMatch(/content-length: [1-9]|transfer-encoding/);
        expect(told).toContain('\r\nAllow: GET, LINK\r\n');
      }
    },
  );

  it('OPTIONS * arrives as such', async () => {
    const { seen, told } = await exchange(lines('OPTIONS * HTTP/1.1', 'Host: a', 'Connection: close'), OK);
    expect(seen.split('\r\n')[0]).toBe('OPTIONS * HTTP/1.1');
    expect(told).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    const { status } = await sendRaw(puente.app.public_url, lines('GET * HTTP/1.1', 'Host: a'));
    expect(status, 'of no other method').toBe(400);
  });

  it('keeps the names of its headers in their case, and each line of a repeated one, in order', async () => {
    const head = [
      BEARER,
      'X-Till-ID: 7',
      'x-trace: one',
      'ACCEPT: */*',
      'X-Trace: two',
      'user-AGENT: a',
      'User-Agent: b',
    ];
    const { seen } = await exchange(
      lines('GET /v1/documents HTTP/1.1', 'Host: a', ...head, 'x-TRACE: one', 'Connection: close'),
      OK,
    );
    expect(seen.split('\r\n').filter((line) => !/^(host|connection):/i.test(line))).toEqual([
      'GET /v1/documents HTTP/1.1',
      BEARER,
      'X-Till-ID: 7',
      'x-trace: one',
      'x-trace: two',
      'x-trace: one',
      'ACCEPT: */*',
      'user-AGENT: a',
      'user-AGENT: b',
      '',
      '',
    ]);
    expect(seen).toMatch(/\r\nHost: 127\.0\.0\.1:\d+\r\n/);
  });

  it('keeps its trailers, also when its body was looked at, but none that a reader could take for a header', async () => {
    const body = ['2', '{}', '0', 'X-Sum: 1', 'x-sum: 2', 'Authorization: Bearer other', 'X-Access-Token: x'];
    for (const path of ['/v1/documents', INTENTS]) {
      const head = ['Host: a', BEARER, 'Trailer: X-Sum', 'Transfer-Encoding: chunked', 'Connection: close', ''];
      const { seen } = await exchange(lines(`POST ${path} HTTP/1.1`, ...head, ...body), OK);
      expect(seen).toContain('\r\nTrailer: X-Sum\r\n');
      expect(seen.slice(seen.indexOf('\r\n\r\n'))).toBe('\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n');
    }
  });

  it.each(['X_Access_Token', 'x-access_token', 'Content_Type', 'X_Idempotency-Key'])(
    'is proxied without %s, which some servers read with dashes [F82]',
    async (name) => {
      const head = ['Host: a', BEARER, `${name}: other`, 'X_Other: kept', 'Connection: close'];
      const { seen } = await exchange(lines('GET /v1/documents HTTP/1.1', ...head), OK);
      expect(seen).toContain('\r\nX_Other: kept\r\n');
      expect(seen).not.toContain('other');
    },
  );

  it('with a trailer announced beside a length is proxied without it', async () => {
    const head = ['Host: a', BEARER, 'Trailer: X-Sum', 'Content-Length: 2', 'Connection: close'];
    const { seen, told } = await exchange(`${lines('POST /v1/documents HTTP/1.1', ...head)}{}`, OK);
    expect(seen).not.toMatch(/trailer/i);
    expect(told).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });
});

describe('an answer', () => {
  const GET = lines('GET /v1/documents HTTP/1.1', 'Host: a', 'Connection: close');

  it('keeps the names of its headers in their case, and each line of a repeated one, in order, and its reason', async () => {
    const head = ['Date: x', 'X-A: 1', 'Set-Cookie: a=1', 'x-b: 2', 'X-a: 3', 'set-cookie: b=2', 'Vary: A', 'Vary: B'];
    const { told } = await exchange(GET, `${lines('HTTP/1.1 299 Caf\xe9 it is', ...head, 'Content-Length: 2')}{}`);
    expect(told).toBe(`${lines('HTTP/1.1 299 Caf\xe9 it is', ...head, 'Content-Length: 2', 'Connection: close')}{}`);
  });

  it('loses what its Connection names, and what is of one hop anyway', async () => {
    const head = [
      'Connection: keep-alive, X-Hop, Upgrade',
      'X-Hop: 1',
      'Upgrade: h2c',
      'Keep-Alive: timeout=90',
      'X-Till: 2',
    ];
    const { told } = await exchange(GET, `${lines('HTTP/1.1 200 OK', 'Date: x', ...head, 'Content-Length: 2')}{}`);
    expect(told).toBe(
      `${lines('HTTP/1.1 200 OK', 'Date: x', 'X-Till: 2', 'Content-Length: 2', 'Connection: close')}{}`,
    );
  });

  const CHUNKED = `${lines('HTTP/1.1 200 OK', 'Date: x', 'Trailer: X-Sum', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\n\r\n`;

  it('keeps its trailers', async () => {
    const { told } = await exchange(GET, CHUNKED);
    expect(told).toBe(
      `${lines('HTTP/1.1 200 OK', 'Date: x', 'Trailer: X-Sum', 'Connection: close', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n`,
    );
  });

  it.each([
    ['to a till of HTTP/1.0', 'GET /v1/documents HTTP/1.0', CHUNKED, '{}'],
    [
      'to HEAD',
      'HEAD /v1/documents HTTP/1.1',
      lines('HTTP/1.1 200 OK', 'Trailer: X-Sum', 'Transfer-Encoding: chunked'),
      '',
    ],
    [
      'beside a length',
      'GET /v1/documents HTTP/1.1',
      `${lines('HTTP/1.1 200 OK', 'Trailer: X-Sum', 'Content-Length: 2')}{}`,
      '{}',
    ],
    ['of a 204', 'GET /v1/documents HTTP/1.1', lines('HTTP/1.1 204 OK', 'Trailer: X-Sum', 'Content-Length: 3'), ''],
    ['of a 304', 'GET /v1/documents HTTP/1.1', lines('HTTP/1.1 304 OK', 'Trailer: X-Sum'), ''],
  ])('%s has none, and is whole', async (_which, line, answered, body) => {
    const { told } = await exchange(lines(line, 'Host: a', 'Connection: close'), answered);
    expect(told).toMatch(/^HTTP\/1\.1 (200|204|304) OK\r\n/);
    expect(told).not.toMatch(/trailer|x-sum|transfer-encoding|content-length: 3/i);
    expect(told.slice(told.indexOf('\r\n\r\n') + 4)).toBe(body);
  });

  it('of a connection that a till of HTTP/1.0 wants to keep ends with the connection where it has no length', async () => {
    const { told } = await exchange(lines('GET /v1/documents HTTP/1.0', 'Host: a', 'Connection: keep-alive'), CHUNKED);
    expect(told).toMatch(/\r\nConnection: close\r\n/);
    expect(told.endsWith('\r\n\r\n{}')).toBe(true);
  });
});

describe('an interim answer', () => {
  const HINTS = [
    lines('HTTP/1.1 102 Processing'),
    lines('HTTP/1.1 103 Early Hints', 'Link: </a>; rel=preload', 'Link: </b>; rel=preload', 'X-Hint: 1'),
    lines('HTTP/1.1 103 Early Hints', 'Link: no link'),
  ];

  it('102 and 103 reach the till before the answer, and one that Node can not write does no harm', async () => {
    const { told } = await exchange(
      lines('GET /v1/documents HTTP/1.1', 'Host: a', 'Connection: close'),
      HINTS.join('') + OK,
    );
    expect(told).toMatch(
      /^HTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 103 Early Hints\r\nLink: <\/a>; rel=preload, <\/b>; rel=preload\r\nX-Hint: 1\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
    );
  });

  it('reaches no till of HTTP/1.0', async () => {
    const { told } = await exchange(lines('GET /v1/documents HTTP/1.0', 'Host: a'), HINTS.join('') + OK);
    expect(told).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  });

  it('a flood of them is cut, and the answer comes', async () => {
    const { told } = await exchange(
      lines('GET /v1/documents HTTP/1.1', 'Host: a', 'Connection: close'),
      (HINTS[0] ?? '').repeat(5_000) + OK,
    );
    expect(told.match(/102 Processing/g)).toHaveLength(16);
    expect(told).toContain('HTTP/1.1 200 OK\r\n');
  });
});

describe('a body that is held back', () => {
  const HEAD = lines('PUT /v1/documents HTTP/1.1', 'Host: a', BEARER, 'Expect: 100-continue', 'Content-Length: 2');
  /** Makes the token known: legacy has accepted it. */
  beforeAll(async () => {
    answer = (_request, socket) => socket.write(OK);
    await sendRaw(puente.app.public_url, lines(`GET ${DEVICES} HTTP/1.1`, 'Host: a', BEARER));
    await eventually(
      async () =>
        await talk(
          lines('PUT /v1/documents HTTP/1.1', 'Host: a', BEARER, 'Expect: 100-continue', 'Content-Length: 2'),
          /\r\n\r\n/,
        ),
      () => upstream.requests.length > 0,
    );
  });

  it('is asked for when legacy asks for it', async () => {
    const order: string[] = [];
    answer = (request, socket) => {
      order.push(request.endsWith('{}') ? 'body' : 'head');
      if (request.endsWith('{}')) return void socket.write(OK);
      setTimeout(() => {
        order.push('leave');
        socket.write(lines('HTTP/1.1 100 Continue'));
      }, 100);
    };
    const told = await new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(puente.app.public_url).port), '127.0.0.1', () => socket.write(HEAD));
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (text === lines('HTTP/1.1 100 Continue')) {
          order.push('asked');
          socket.write('{}');
        } else socket.destroy();
      });
      socket.on('close', () => resolve(text));
    });
    expect(order).toEqual(['head', 'leave', 'asked', 'body']);
    expect(told).toContain('HTTP/1.1 200 OK\r\n');
    expect(upstream.requests.at(-1)).toContain('\r\nExpect: 100-continue\r\n');
  });

  it('is not asked for when legacy refuses it, and the connection ends: what came next could be either', async () => {
    answer = (_request, socket) => socket.write(lines('HTTP/1.1 413 Too Large', 'Content-Length: 0'));
    const told = await talk(HEAD);
    expect(told).toMatch(/^HTTP\/1\.1 413 Too Large\r\n/);
    expect(told).toMatch(/\r\nConnection: close\r\n/);
  });

  it('is asked for at once where Puente looks at it, or does not know whose it is', async () => {
    const create = HEAD.replace('PUT /v1/documents', `POST ${INTENTS}`);
    const stranger = HEAD.replace(BEARER, 'X-Nobody: 1');
    for (const head of [create, stranger]) {
      const before = upstream.requests.length;
      expect(await talk(head, /\r\n\r\n/)).toBe(lines('HTTP/1.1 100 Continue'));
      const whole = await talk(`${head}{}`, 'HTTP/1.1 200 OK');
      expect(whole).toContain('HTTP/1.1 200 OK');
      expect(upstream.requests).toHaveLength(before + 1);
      expect(upstream.requests.at(-1)).not.toMatch(/expect/i);
    }
  });
});

describe('requests that come in one packet', () => {
  it('run one after the other', async () => {
    let running = 0;
    let most = 0;
    answer = (request, socket) => {
      most = Math.max(most, ++running);
      setTimeout(() => {
        running--;
        socket.write(`HTTP/1.1 200 OK\r\nX-Line: ${request.split('\r\n')[0]}\r\nContent-Length: 2\r\n\r\n{}`);
      }, 30);
    };
    const methods = ['PUT', 'DELETE', 'GET', 'POST', 'DELETE'];
    const bytes = methods.map((method, index) => {
      const end = index === methods.length - 1 ? ['Connection: close'] : [];
      return `${lines(`${method} /v1/documents/${index} HTTP/1.1`, 'Host: a', BEARER, 'Content-Length: 2', ...end)}{}`;
    });
    const told = await talk(bytes.join(''));
    expect(told.match(/X-Line: \S+ \S+/g)).toEqual(
      methods.map((method, index) => `X-Line: ${method} /v1/documents/${index}`),
    );
    expect(most).toBe(1);
  });

  it('behind the last one of a connection are no calls', async () => {
    const before = upstream.requests.length;
    const last = lines('PUT /v1/documents HTTP/1.1', 'Host: a', BEARER, 'Content-Length: 0', 'Connection: close');
    const told = await talk(last + lines('DELETE /v1/documents HTTP/1.1', 'Host: a', BEARER));
    expect(told.match(/HTTP\/1\.1 200/g)).toHaveLength(1);
    expect(upstream.requests.length - before).toBe(1);
  });

  describe('on orders', () => {
    const bench = openForAll(() => startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'orders' }));
    beforeAll(async () => {
      await bench.till(DEVICES);
    });

    it('a cancel behind its sale cancels it', async () => {
      const sale = JSON.stringify({
        external_reference: 'one',
        title: 'one',
        description: 'one',
        total_amount: 100,
        items: [{ title: 'one', unit_price: 100, quantity: 1, unit_measure: 'unit', total_amount: 100 }],
      });
      const path = `/instore/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/orders`;
      const put = `/instore/qr/seller/collectors/${ARGENTINA}/stores/SUC001/pos/SUC001POS001/orders`;
      const head = ['Host: a', BEARER, 'Content-Type: application/json'];
      const bytes =
        lines(`PUT ${put} HTTP/1.1`, ...head, `Content-Length: ${sale.length}`) +
        sale +
        lines(`DELETE ${path} HTTP/1.1`, ...head, 'Connection: close');
      const told = await talk(bytes, undefined, bench.app.public_url);
      expect(told.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 204', 'HTTP/1.1 204']);
      expect([...bench.sandbox.world.orders.values()].map(({ status }) => status)).toEqual(['canceled']);
    });
  });
});
