/** Calls that are not translated are proxied to legacy byte for byte, streaming both ways (`docs/glossary.md` Lane). */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { ARGENTINA, DEVICE, eventually, POINT, tokenOf } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';
import { rawRequest, sendRaw } from './raw.ts';
import { legacyErrorOf } from './till.ts';
import { answerJson, answerWho, type Outside, orderFor, startOutside, startUnruly, type Unruly } from './unruly.ts';

const INTENT = '019539a0-0000-7000-8000-00000000dead';
let legacy: Unruly;
let puente: Outside;
const opened: { close(): Promise<unknown> }[] = [];
async function closeAll(): Promise<void> {
  for (const one of opened.splice(0).reverse()) await one.close();
}

/** A legacy upstream that echoes every request, and a Puente whose merchants are on legacy. */
async function open(settings: Record<string, string> = {}): Promise<void> {
  legacy = await startUnruly((seen, response) => {
    const digest = createHash('sha256').update(seen.body).digest('hex');
    response.writeHead(207, {
      'content-type': 'application/x-legacy',
      'x-legacy': 'yes',
      'set-cookie': ['a=1', 'b=2'],
    });
    response.end(`${seen.method} ${seen.path} ${digest}`);
  });
  puente = await startOutside(legacy.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy', ...settings });
  opened.push(legacy, puente);
}

function digestOf(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

describe('a merchant on legacy', () => {
  beforeAll(() => open());
  afterAll(closeAll);

  it.each([
    ['POST', `${POINT}/devices/${DEVICE}/payment-intents`, '{"amount":1500.50, "a":1, "a":2}'],
    ['POST', `${POINT}/devices/${DEVICE}/payment-intents?x=1&x=2&access_token=abc`, 'no json at all'],
    ['GET', `${POINT}/payment-intents/${INTENT}`, '{}'],
    ['DELETE', `${POINT}/devices/${DEVICE}/payment-intents/${INTENT}`, '{}'],
    ['GET', `${POINT}/payment-intents/events?`, ''],
    ['PATCH', `${POINT}/devices/a%2Fb`, '{"operating_mode":"PDV"}'],
    ['GET', `${POINT}/devices?limit=50&offset=0`, ''],
    ['POST', `${POINT}/devices/${DEVICE}/refund`, '{"payment_id":"1"}'],
    ['GET', `${POINT}/integrator`, ''],
    ['PUT', '/instore/qr/v2/1/x', '{"total_amount": 1e2}'],
    ['GET', '/v1/payments/search?criteria=desc&a[]=1&b=%20%7B', ''],
    ['POST', '/oauth/token', 'grant_type=x&code=%zz'],
    ['OPTIONS', '/anything/./at//all/', ''],
  ])('%s %s is proxied untouched', async (method, path, body) => {
    const before = legacy.seen.length;
    const token = tokenOf(ARGENTINA);
    const headers = [
      `Authorization: Bearer ${token}`,
      'X-Idempotency-Key: k-1',
      'X-Test-Scope: sandbox',
      'Content-Type: text/odd; charset=utf-7',
      'Accept-Encoding: gzip, br',
      'User-Agent: till 1.0',
    ];
    const answer = await sendRaw(puente.app.public_url, rawRequest(`${method} ${path}`, headers, body));
    expect(answer.status).toBe(207);
    expect(answer.text).toContain(`${method} ${path} ${digestOf(body)}`);
    expect(answer.text).toMatch(/x-legacy: yes/i);
    expect(answer.text.match(/set-cookie/gi)).toHaveLength(2);
    const [seen] = legacy.seen.slice(before);
    expect(seen?.headers).toMatchObject({
      authorization: `Bearer ${token}`,
      'x-idempotency-key': 'k-1',
      'x-test-scope': 'sandbox',
      'content-type': 'text/odd; charset=utf-7',
      'accept-encoding': 'gzip, br',
      'user-agent': 'till 1.0',
    });
    for (const name of Object.keys(seen?.headers ?? {})) expect(name).not.toMatch(/forwarded|via|puente|traceparent/);
    expect(legacy.seen, 'nobody was asked whose token it is').toHaveLength(before + 1);
  });

  it('a body in chunks arrives whole', async () => {
    const chunks = '5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n';
    const bytes = rawRequest(
      `POST ${POINT}/devices/${DEVICE}/payment-intents`,
      [`Authorization: Bearer ${tokenOf(ARGENTINA)}`, 'Transfer-Encoding: chunked'],
      chunks,
    );
    const answer = await sendRaw(puente.app.public_url, bytes);
    expect(answer.text).toContain(digestOf('hello world'));
  });

  it('five megabytes arrive whole', async () => {
    const body = randomBytes(5 * 1024 * 1024);
    const answer = await request(`${puente.app.public_url}/v1/uploads`, { method: 'POST', body });
    expect(await answer.body.text()).toContain(digestOf(body));
  });
});

describe('streaming', () => {
  afterEach(closeAll);

  it('five megabytes come back while they are being written, and nothing is held back', async () => {
    const gate = Promise.withResolvers<void>();
    const half = randomBytes(2.5 * 1024 * 1024);
    const server = await streamServer(async (response) => {
      response.writeHead(200, { 'content-length': String(half.length * 2) });
      response.write(half);
      await gate.promise;
      response.end(half);
    });
    puente = await startOutside(server.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
    opened.push(server, puente);
    const answer = await request(`${puente.app.public_url}/v1/report`);
    let received = 0;
    const hash = createHash('sha256');
    for await (const chunk of answer.body) {
      hash.update(chunk as Buffer); // undici's bodies are made of buffers
      received += (chunk as Buffer).length; // as above
      if (received === half.length) gate.resolve();
    }
    expect(received).toBe(half.length * 2);
    expect(hash.digest('hex')).toBe(digestOf(Buffer.concat([half, half])));
  });

  it('an answer that breaks off in the middle breaks off for the till too, and does not hang', async () => {
    const server = await streamServer(async (response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half', () => response.destroy());
    });
    puente = await startOutside(server.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
    opened.push(server, puente);
    const answer = await request(`${puente.app.public_url}/v1/report`);
    await expect(answer.body.text()).rejects.toThrow();
  });

  it('invalid bytes behind a request are not answered in the middle of its answer [F80]', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await streamServer(async (response) => {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('half');
      await gate.promise;
    });
    puente = await startOutside(server.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
    opened.push(server, puente);
    const socket = connect(Number(new URL(puente.app.public_url).port), '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (text.endsWith('half')) socket.write('x\r\n');
    });
    const begun = `8000\r\n${'x'.repeat(0x8000)}\r\n`; // Puente waits for a shorter chunk to be completed.
    socket.write(rawRequest('POST /v1/uploads', ['transfer-encoding: chunked'], begun));
    await once(socket, 'close');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nhalf$/);
    gate.resolve();
  });

  it('a legacy service that is away is told as 502 in the legacy shape', async () => {
    await open();
    await legacy.close();
    const answer = await puente.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
    expect(answer.status).toBe(502);
    legacyErrorOf(answer);
  });
});

describe('the metrics of the legacy lane', () => {
  afterEach(closeAll);

  const lines = async (): Promise<string[]> =>
    (await puente.ops('/metrics')).text
      .split('\n')
      .filter((line) => /^puente_(http|upstream)_request_duration_seconds_count/.test(line))
      .map((line) => line.replaceAll(/^puente_|_request_duration_seconds_count|"/g, ''))
      .sort();

  it('count each call once, when it ends, by operation, outcome and status, and what legacy itself did', async () => {
    const gate = Promise.withResolvers<void>();
    const server = await startUnruly(async ({ path }, response) => {
      if (path === '/v1/slow') {
        response.writeHead(200, { 'content-length': '8' }).write('half');
        await gate.promise;
        return void response.end('half');
      }
      if (path === '/v1/half') return void response.writeHead(200).write('half', () => response.destroy());
      if (path === '/v1/none') return void response.destroy();
      answerJson(response, Number(/\d{3}$/.exec(path)?.[0] ?? 200), {});
    });
    puente = await startOutside(server.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
    opened.push(server, puente);
    const slow = await request(`${puente.app.public_url}/v1/slow`);
    const pieces = slow.body[Symbol.asyncIterator]();
    expect([String((await pieces.next()).value), await lines()], 'not before it ends').toEqual(['half', []]);
    gate.resolve();
    await pieces.next();
    for (const path of ['half', 'none']) await puente.till(`/v1/${path}`).catch(() => undefined);
    for (const status of [200, 401, 404, 503]) await puente.till(`${POINT}/payment-intents/${status}`);
    const told = (outcome: string, status: string, operation = 'point.get_intent') =>
      `http{method=GET,operation=${operation},lane=legacy,outcome=${outcome},status=${status}} 1`;
    const did = (outcome: string, status: string, times = 1) =>
      `upstream{method=GET,service=legacy,call=legacy,outcome=${outcome},status=${status}} ${times}`;
    const unnamed = (outcome: string, status: string, times = 1) =>
      did(outcome, status, times).replace('call=legacy', 'call=none');
    const expected = [
      ...[told('ok', '200'), told('auth', '401'), told('business', '404'), told('fault', '503')],
      ...[told('ok', '200', 'none'), told('fault', '200', 'none'), told('fault', '502', 'none')],
      ...[did('answered', '200'), did('answered', '401'), did('answered', '404'), did('answered', '503')],
      ...[unnamed('answered', '200'), unnamed('broken', 'none', 2)],
    ];
    await eventually(lines, (found) => found.length === expected.length);
    expect(await lines()).toEqual(expected.sort());
  });

  it('do not blame legacy for tills that disconnect, unless they have waited for long', async () => {
    let arrived = Promise.withResolvers<void>();
    const server = await startUnruly(({ path }, response) => {
      if (path === '/v1/half') response.writeHead(200, { 'content-length': '8' }).write('half');
      arrived.resolve();
    });
    puente = await startOutside(server.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
    opened.push(server, puente);
    const { hostname, port } = new URL(puente.app.public_url);
    const leave = async (
      path: string,
      how: 'end' | 'resetAndDestroy',
      until = () => arrived.promise,
    ): Promise<void> => {
      arrived = Promise.withResolvers();
      const till = connect(Number(port), hostname);
      const first = once(till, 'data');
      till.write(`GET ${path} HTTP/1.1\r\nHost: puente\r\n\r\n`);
      await (path === '/v1/half' ? first : until());
      till[how]();
    };
    const told = (operation: string, outcome: string, times: number, status = 'none') =>
      `http{method=GET,operation=${operation},lane=legacy,outcome=${outcome},status=${status}} ${times}`;
    const did = (call_name: string, outcome: string, times: number) =>
      `upstream{method=GET,service=legacy,call=${call_name},outcome=${outcome},status=none} ${times}`;
    for (const how of ['end', 'resetAndDestroy'] as const)
      for (const path of ['/v1/anything', '/v1/half', `${POINT}/payment-intents/1`]) await leave(path, how);
    const left = [
      ...[told('point.get_intent', 'left', 2), told('none', 'left', 2), told('none', 'left', 2, '200')],
      ...[did('legacy', 'left', 2), did('none', 'left', 4)],
    ];
    const is_all = (found: string[]): boolean => found.length === 5 && left.every((one) => found.includes(one));
    await eventually(lines, is_all);
    const now = performance.now.bind(performance);
    const waited = vi.spyOn(performance, 'now');
    try {
      await leave(`${POINT}/payment-intents/1`, 'end', async () => {
        await arrived.promise;
        waited.mockImplementation(() => now() + 5_000);
      });
      const blamed = [told('point.get_intent', 'fault', 1), did('legacy', 'broken', 1)];
      expect(await eventually(lines, (found) => found.length > left.length + 1)).toEqual([...left, ...blamed].sort());
    } finally {
      waited.mockRestore();
    }
  });
});

describe('a merchant on orders', () => {
  async function openOrders(): Promise<void> {
    legacy = await startUnruly((seen, response) => {
      if (seen.path === '/users/me') return answerWho(response);
      if (seen.path === '/v1/orders') return answerJson(response, 201, orderFor(seen));
      if (seen.path.startsWith('/v1/orders/'))
        return answerJson(response, 500, { errors: [{ code: 'internal_error' }] });
      answerJson(response, 207, { legacy: `${seen.method} ${seen.path}`, digest: digestOf(seen.body) });
    });
    puente = await startOutside(legacy.url);
    opened.push(legacy, puente);
  }
  beforeAll(openOrders);
  afterAll(closeAll);

  it.each([
    ['with a length', false],
    ['in chunks', true],
  ])('has a refund of a payment that is not ours proxied with its body, %s', async (_name, chunked) => {
    const body = '{"payment_id":"999", "additional_info":{"print_on_terminal":["SELLER_TICKET"]}}';
    const sent = chunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
    const headers = [
      `Authorization: Bearer ${tokenOf(ARGENTINA)}`,
      'Content-Type: application/json',
      ...(chunked ? ['Transfer-Encoding: chunked'] : []),
    ];
    const answer = await sendRaw(
      puente.app.public_url,
      rawRequest(`POST ${POINT}/devices/${DEVICE}/refund`, headers, sent),
    );
    expect(answer.status).toBe(207);
    expect(answer.text).toContain(digestOf(body));
  });

  it('has one whose body comes slowly proxied with its body', async () => {
    const body = ['{"payment_id":', '"999"', '}'];
    const slowly = async function* (): AsyncGenerator<string> {
      for (const piece of body) {
        yield piece;
        await new Promise((resolve) => setTimeout(resolve, 40));
      }
    };
    const headers = { authorization: `Bearer ${tokenOf(ARGENTINA)}`, 'content-type': 'application/json' };
    const url = `${puente.app.public_url}${POINT}/devices/${DEVICE}/refund`;
    const answer = await request(url, { method: 'POST', headers, body: Readable.from(slowly()) });
    expect(await answer.body.json()).toMatchObject({ digest: digestOf(body.join('')) });
  });
});

/** A server whose answers a test writes chunk by chunk. */
async function streamServer(
  write: (response: ServerResponse) => Promise<void>,
): Promise<{ url: string; close(): Promise<void> }> {
  const server: Server = createServer((incoming, response) => {
    incoming.resume();
    void write(response);
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => shut(server),
  };
}
