/** Hop-by-hop headers, and requests that servers read in different ways, go no further: not proxied, not translated. */
import { describe, expect, it } from 'vitest';
import { openForAll } from '../open.ts';
import { sendRaw } from '../proxy/http/raw.ts';
import { answerJson, answerWho, orderFor, startOutside, startUnruly } from '../proxy/http/unruly.ts';
import { CREATE, creation, exactly, START, untilClosed } from './hostile-table.ts';

/** Puente closes a connection after this many requests. */
const MOST_REQUESTS = 4;
const SETTINGS = { PUENTE_PUBLIC_MAX_REQUESTS_PER_CONNECTION: String(MOST_REQUESTS) };

const upstream = openForAll(() =>
  startUnruly((seen, response) => {
    if (seen.path === '/users/me') answerWho(response);
    else if (seen.path === '/v1/orders') answerJson(response, 201, orderFor(seen));
    else answerJson(response, 200, { id: 'x' });
  }),
);
const orders = openForAll(() => startOutside(upstream.url, SETTINGS));
const legacy = openForAll(() => startOutside(upstream.url, { ...SETTINGS, PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));

function arrived(path: string): Record<string, unknown> {
  const seen = upstream.seen.findLast((one) => one.path === path);
  if (seen === undefined) throw new Error(`${path} was not asked`);
  return seen.headers;
}

const ONE_HOP = [
  'Connection: close, X-Secret-Hop, TE, Upgrade',
  'X-Secret-Hop: 1',
  'TE: trailers, deflate;q=0.3',
  'Trailer: X-Late',
  'Upgrade: websocket',
  'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
  'Keep-Alive: timeout=100',
  'Proxy-Connection: keep-alive',
  'Proxy-Authorization: Basic dXNlcjpwYXNz',
  'Expect: 100-continue',
  'Content_Length: 99',
  'X_Idempotency_Key: other',
];
const END_TO_END = ['X-Forwarded-For: 203.0.113.7', 'X-Forwarded-Host: other.example', 'X-Till: 7', 'X-Tracking-Id: t'];
const NAMES = ['x-secret-hop', 'te', 'trailer', 'upgrade', 'http2-settings', 'keep-alive', 'proxy-connection'];
const GONE = [...NAMES, 'proxy-authorization', 'expect', 'content_length', 'x_idempotency_key'];

describe('headers of one hop', () => {
  it('are not proxied; the other headers of the till reach legacy unchanged [F82]', async () => {
    const answer = await sendRaw(legacy.app.public_url, creation(`POST ${CREATE}`, [...ONE_HOP, ...END_TO_END]));
    expect(answer.text).toMatch(/HTTP\/1\.1 200 OK\r\n/);
    const headers = arrived(CREATE);
    for (const name of GONE) expect(headers).not.toHaveProperty(name);
    expect(headers).toMatchObject({
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-host': 'other.example',
      'x-till': '7',
      'content-length': '15',
      connection: 'close',
    });
  });

  it('the session of the console is not proxied with the cookies of the same host', async () => {
    const target = `POST ${CREATE}`;
    await sendRaw(legacy.app.public_url, creation(target, ['Cookie: till=7; puente_session=secret; lane=2']));
    expect(arrived(CREATE).cookie).toBe('till=7; lane=2');
    await sendRaw(legacy.app.public_url, creation(target, ['Cookie: puente_language=es; puente_session=secret']));
    expect(arrived(CREATE)).not.toHaveProperty('cookie');
  });

  it('are not translated, and neither is any header that no table names [F82]', async () => {
    const answer = await sendRaw(orders.app.public_url, creation(`POST ${CREATE}`, [...ONE_HOP, ...END_TO_END]));
    expect(answer.text).toMatch(/HTTP\/1\.1 201 Created\r\n/);
    const { host: _host, ...sent } = arrived('/v1/orders');
    const allowed = ['accept', 'authorization', 'connection', 'content-length', 'content-type', 'user-agent'];
    const ours = ['x-idempotency-key', 'x-tracking-id', 'x-platform-id', 'x-integrator-id', 'accept-encoding'];
    expect(Object.keys(sent).filter((name) => ![...allowed, ...ours].includes(name))).toEqual([]);
    expect(sent['x-idempotency-key']).not.toBe('other');
    expect(JSON.stringify(sent)).not.toContain('203.0.113.7');
  });

  it('an Upgrade header is ignored, and the call is answered [F82]', async () => {
    for (const door of [orders, legacy]) {
      const upgrade = ['Connection: Upgrade', 'Upgrade: h2c, websocket', 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='];
      const answer = await sendRaw(door.app.public_url, creation('GET /v1/nothing', upgrade, ''));
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain('101 Switching');
    }
  });

  it('Expect: 100-continue gets 100 Continue; any other expectation is refused [F82]', async () => {
    const [waiting, other] = ['100-continue', 'a miracle'].map((what) =>
      creation(`POST ${CREATE}`, [`Expect: ${what}`, 'Connection: close']),
    );
    for (const door of [orders, legacy]) {
      expect((await sendRaw(door.app.public_url, waiting ?? '')).text).toMatch(/^HTTP\/1\.1 100 Continue\r\n/);
      expect((await sendRaw(door.app.public_url, other ?? '')).status).toBe(417);
    }
  });

  it('a method override that repeats the method of the request is accepted [F88]', async () => {
    const answer = await sendRaw(orders.app.public_url, creation(`POST ${CREATE}`, ['X-HTTP-Method-Override: post']));
    expect(answer.status).toBe(201);
  });
});

describe('an answer behind an answer', () => {
  it('the last answer of a connection says so, and what stands behind it is sent again by its client: no call fails', async () => {
    const get = exactly('GET /v1/nothing HTTP/1.1', ...START.slice(1, 3), '', '');
    const list = exactly(`GET ${CREATE.replace('payment-intents', 'none')} HTTP/1.1`, ...START.slice(1, 3), '', '');
    for (const [door, one] of [
      [legacy, get],
      [orders, get],
      [orders, list],
    ] as const) {
      const before = upstream.seen.length;
      const text = await untilClosed(door.app.public_url, Buffer.concat(Array(MOST_REQUESTS + 2).fill(one)));
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(Array(MOST_REQUESTS).fill('HTTP/1.1 200'));
      expect(text.match(/^connection: .*/gim)?.map((line) => line.trim().toLowerCase())).toEqual([
        ...Array(MOST_REQUESTS - 1).fill('connection: keep-alive'),
        'connection: close',
      ]);
      // A till must not depend on upstream's own keep-alive (a minute here).
      const idle = [...new Set(text.match(/^keep-alive: .*/gim)?.map((line) => line.trim().toLowerCase()))];
      expect(idle).toEqual(['keep-alive: timeout=5']);
      expect(upstream.seen.slice(before).filter(({ path }) => path !== '/users/me')).toHaveLength(MOST_REQUESTS);
    }
  });

  it('a header with bytes beyond ASCII is proxied as it is, and never breaks a sale [F83]', async () => {
    const named = exactly(...START, 'X-Till: caf\xe9 \xf0\x9f\x92\xb3', 'Content-Length: 15', '', '{"amount":1500}');
    for (const door of [orders, legacy]) {
      const answer = await sendRaw(door.app.public_url, named);
      expect(answer.status).toBe(door === orders ? 201 : 200);
    }
    expect(arrived(CREATE)['x-till']).toBe('caf\xe9 \xf0\x9f\x92\xb3');
    const mapped = exactly(...START, 'X-Platform-Id: caf\xe9\x85', 'Content-Length: 15', '', '{"amount":1600}');
    expect((await sendRaw(orders.app.public_url, mapped)).status).toBeLessThan(500);
  });
});
