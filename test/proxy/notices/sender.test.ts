/** One notice to every kind of receiver: which answers count as delivered, and the side at fault for others. */
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { say } from '../../../src/locales/message.ts';
import { createSender, type SenderOptions } from '../../../src/proxy/notices/delivery.ts';
import { type Act, type FaultServer, type FaultServerOptions, startFaultServer } from '../../faults/fault-server.ts';
import * as acts from '../../faults/fault-server-acts.ts';
import { makeTlsFaults } from '../../faults/fault-server-tls.ts';
import { answer, onRequest, type Peer, startPeer } from '../upstream/peer.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const OPEN = { allow_private: true, allow_http: false, ports: [443, 8443], own_hosts: [] };

function sender(more: Partial<SenderOptions> = {}) {
  const made = createSender({ policy: OPEN, userAgent: 'Puente/test', timeout_ms: 2_000, ...more });
  closing.push(() => made.close());
  return made;
}

async function receiver(script: (socket: Socket, request: string) => void): Promise<Peer> {
  const made = await startPeer((socket) => onRequest(socket, (request) => script(socket, request)));
  closing.push(() => made.close());
  return made;
}

async function misbehaving(act: Act, options: FaultServerOptions = {}): Promise<FaultServer> {
  const server = await startFaultServer(() => act, options);
  closing.push(() => server.close());
  return server;
}

function notice(url: string) {
  return { url, headers: { 'content-type': 'application/json', accept: '*/*' }, body: '{"id":"ñ"}' };
}

describe('answers of a receiver', () => {
  const table: [number, 'delivered' | 'theirs'][] = [
    [200, 'delivered'],
    [201, 'delivered'],
    [202, 'theirs'],
    [204, 'theirs'],
    [301, 'theirs'],
    [302, 'theirs'],
    [400, 'theirs'],
    [401, 'theirs'],
    [410, 'theirs'],
    [429, 'theirs'],
    [500, 'theirs'],
    [503, 'theirs'],
  ];
  it.each(table)('%i is %s [F118]', async (status, outcome) => {
    const { url } = await receiver((socket) =>
      socket.write(status === 204 ? 'HTTP/1.1 204 No Content\r\n\r\n' : answer(status, 'secret body')),
    );
    const result = await sender().send(notice(`${url}/hook`));
    expect(result).toMatchObject({ outcome, status, retry_after_ms: null });
    expect(result.detail.text).toContain(String(status));
    expect(result.detail.text).not.toContain('secret body');
  });

  it.each([301, 302, 303, 307, 308])('%i with another address is not followed [F115]', async (status) => {
    const elsewhere = await misbehaving(acts.answer(200, 'OK'));
    const { url } = await misbehaving(acts.redirect(status, `${elsewhere.url}/latest/meta-data`));
    expect(await sender().send(notice(url))).toMatchObject({ outcome: 'theirs', status });
    expect(elsewhere.accepted()).toBe(0);
  });

  it('Retry-After is told', async () => {
    const { url } = await receiver((socket) => socket.write(answer(429, '', { 'retry-after': '120' })));
    expect(await sender().send(notice(url))).toMatchObject({ outcome: 'theirs', retry_after_ms: 120_000 });
  });
});

it('the request is as it was built', async () => {
  let text = '';
  const { url } = await receiver((socket, request) => {
    text = Buffer.from(request, 'latin1').toString();
    socket.write(answer(200, 'OK'));
  });
  await sender().send(notice(`${url}/hook?client=7&topic=point_integration_ipn&id=x`));
  const [head = '', body] = text.split('\r\n\r\n');
  expect(body).toBe('{"id":"ñ"}');
  expect(head.split('\r\n')[0]).toBe('POST /hook?client=7&topic=point_integration_ipn&id=x HTTP/1.1');
  expect(head.split('\r\n').slice(1).sort()).toEqual(
    [
      `host: ${new URL(url).host}`,
      'connection: keep-alive',
      'content-type: application/json',
      'accept: */*',
      'accept-encoding: identity',
      'user-agent: Puente/test',
      'content-length: 11',
    ].sort(),
  );
});

describe('receivers that misbehave', () => {
  const OK = acts.answer(200, 'OK');
  it.each<[string, Act]>([
    ['drip their head byte by byte', acts.drip(OK)],
    ['close without an answer', acts.close],
    ['reset', acts.reset],
    ['close within their head', acts.cutAt(12, OK)],
    ['speak no HTTP', acts.raw('hello\r\n\r\n')],
    ['send informational answers without end', acts.informationalFlood()],
    ['send headers without end', acts.endlessHeaders(1)],
    ['send a header of a megabyte', acts.longHeader(1024 ** 2, 200)],
    ['send ten thousand headers', acts.manyHeaders(10_000, 200)],
    ['send two kinds of length', acts.lengthAndChunked(200, '{}')],
  ])('those that %s are cut in time and size [F117]', async (_name, act) => {
    const { url } = await misbehaving(act);
    expect(await sender({ timeout_ms: 400 }).send(notice(url))).toMatchObject({ outcome: 'theirs', status: null });
  });

  it.each<[string, Act]>([
    ['send a gigabyte', acts.hugeBody(1024 ** 3, 200)],
    ['never end', acts.endlessChunked(200)],
    ['send a bomb', acts.gzipBomb(64 * 1024 ** 2, 200)],
    ['break off', acts.wrongLength(200, 'half', 100)],
  ])('those that say 200 and %s have it, and are read no further [F117]', async (_name, act) => {
    const { url, heard, written } = await misbehaving(act);
    expect(await sender({ timeout_ms: 400 }).send(notice(url))).toMatchObject({ outcome: 'delivered', status: 200 });
    expect(heard[0]?.headers['accept-encoding']).toBe('identity');
    // The socket buffers took some bytes before the cut, far fewer than offered.
    expect(written()).toBeLessThan(32 * 1024 ** 2);
  });

  it('those that say 200 and work on are waited for, and not cut while they do [F117]', async () => {
    const cut: boolean[] = [];
    const { url } = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      setTimeout(() => {
        cut.push(socket.destroyed);
        socket.end('0\r\n\r\n');
      }, 1_500);
    });
    expect(await sender({ timeout_ms: 20_000 }).send(notice(url))).toMatchObject({ outcome: 'delivered' });
    expect(cut).toEqual([false]);
  });

  it('that hang are cut at the timeout [F117]', async () => {
    const { url } = await receiver(() => {});
    const result = await sender({ timeout_ms: 200 }).send(notice(url));
    expect(result).toEqual({
      outcome: 'theirs',
      status: null,
      detail: say('attempt.silent', { timeout_ms: 200 }),
      retry_after_ms: null,
    });
  });

  it('those that are not there', async () => {
    const gone = await startPeer(() => {});
    await gone.close();
    expect(await sender().send(notice(gone.url))).toMatchObject({
      outcome: 'theirs',
      detail: { text: expect.stringContaining('ECONNREFUSED') },
    });
  });
});

describe('a connection whose answer was read', () => {
  it('serves the next notice to its origin, and no other', async () => {
    const { url, accepted } = await receiver((socket) => socket.write(answer(200, 'OK')));
    const other = await receiver((socket) => socket.write(answer(201, 'OK')));
    const made = sender();
    for (const to of [url, other.url, url, `${url}/hook?id=2`]) {
      expect(await made.send(notice(to))).toMatchObject({ outcome: 'delivered' });
    }
    expect([accepted.length, other.accepted.length]).toEqual([1, 1]);
  });

  it.each([200, 500])('is kept after %i, and two notices at once have one each', async (status) => {
    const { url, accepted } = await receiver((socket) => socket.write(answer(status, 'OK')));
    const made = sender();
    for (let round = 0; round < 3; round++) {
      const both = await Promise.all([made.send(notice(url)), made.send(notice(url))]);
      expect(both).toMatchObject([{ status }, { status }]);
    }
    expect(accepted).toHaveLength(2);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['closes it after its answer', (socket) => socket.end(answer(200, 'OK'))],
    ['says that it will close it', (socket) => socket.write(answer(200, 'OK', { connection: 'close' }))],
    ['answers longer than is read', (socket) => socket.write(answer(200, 'x'.repeat(20_000)))],
  ])('is given up when the receiver %s', async (_how, script) => {
    const { url, accepted } = await receiver(script);
    const made = sender();
    for (let nth = 1; nth <= 3; nth++) {
      expect(await made.send(notice(url))).toMatchObject({ outcome: 'delivered' });
      for (let wait = 0; wait < 200 && accepted.some(({ destroyed }) => !destroyed); wait++) await pause(5);
      expect(accepted).toHaveLength(nth);
    }
  });

  it.each<[string, (socket: Socket) => void]>([
    ['ends it after each answer', (socket) => socket.end(answer(200, 'OK'))],
    ['says so in each answer', (socket) => socket.end(answer(200, 'OK', { connection: 'close' }))],
    ['speaks HTTP/1.0', (socket) => socket.end('HTTP/1.0 200 OK\r\n\r\nOK')],
    ['ends an answer without a length', (socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nOK')],
    ['keeps it for two seconds', (socket) => socket.write(answer(200, 'OK', { 'keep-alive': 'timeout=2' }))],
  ])('that the receiver closes costs no notice, however soon the next one comes: it %s', async (_how, script) => {
    const { url } = await receiver(script);
    const made = sender();
    for (let nth = 1; nth <= 20; nth++)
      expect(await made.send(notice(url)), `notice ${nth}`).toMatchObject({ outcome: 'delivered' });
  });

  it('that the receiver closed while the process was busy costs no notice', async () => {
    const { url } = await receiver((socket) => {
      socket.write(answer(200, 'OK'));
      setTimeout(() => socket.end(), 5);
    });
    const made = sender();
    for (let nth = 1; nth <= 5; nth++) {
      expect(await made.send(notice(url)), `notice ${nth}`).toMatchObject({ outcome: 'delivered' });
      for (const until = performance.now() + 30; performance.now() < until; );
    }
  });

  it('that the receiver ends with 408 while it is idle costs no notice, and a 408 on a new one is an answer', async () => {
    const timeout = answer(408, '', { connection: 'close' });
    const { url } = await receiver((socket) => {
      socket.write(answer(200, 'OK'));
      setTimeout(() => socket.end(timeout), 5);
    });
    const made = sender();
    for (let nth = 1; nth <= 4; nth++) {
      expect(await made.send(notice(url)), `notice ${nth}`).toMatchObject({ outcome: 'delivered' });
      for (const until = performance.now() + 20; performance.now() < until; );
    }
    const refusing = await receiver((socket) => socket.end(timeout));
    expect(await made.send(notice(refusing.url))).toMatchObject({ outcome: 'theirs', status: 408 });
  });

  it('is not replaced when it ends after a second: the receiver is in trouble', async () => {
    let requests = 0;
    const { url } = await receiver((socket) => {
      if (requests++ === 0) socket.write(answer(200, 'OK'));
      else setTimeout(() => socket.end(), 1_100);
    });
    const made = sender();
    expect(await made.send(notice(url))).toMatchObject({ outcome: 'delivered' });
    expect(await made.send(notice(url))).toMatchObject({ outcome: 'theirs', status: null });
    expect(requests).toBe(2);
  });

  it('serves a hundred notices, then a new one, whose address is checked, serves the next', async () => {
    const { url, accepted } = await receiver((socket) => socket.write(answer(200, 'OK')));
    const made = sender();
    for (let nth = 0; nth < 101; nth++) expect(await made.send(notice(url))).toMatchObject({ outcome: 'delivered' });
    expect(accepted).toHaveLength(2);
  });

  it('is one of a hundred that are kept', async () => {
    const { url, accepted } = await receiver((socket) => socket.write(answer(200, 'OK')));
    const made = sender();
    await Promise.all(Array.from({ length: 120 }, () => made.send(notice(url))));
    for (let wait = 0; wait < 200 && accepted.filter(({ destroyed }) => !destroyed).length > 100; wait++)
      await pause(5);
    expect(accepted).toHaveLength(120);
    expect(accepted.filter(({ destroyed }) => !destroyed)).toHaveLength(100);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['ends', (socket) => socket.end()],
    ['resets', (socket) => socket.resetAndDestroy()],
  ])('and which the receiver %s at the next notice is replaced by a new one within the attempt', async (_how, cut) => {
    const first = new Set<Socket>();
    let requests = 0;
    const { url, accepted } = await receiver((socket) => {
      requests++;
      if (first.has(socket)) return cut(socket);
      first.add(socket);
      socket.write(answer(200, 'OK'));
    });
    const made = sender();
    for (let nth = 0; nth < 2; nth++) expect(await made.send(notice(url))).toMatchObject({ outcome: 'delivered' });
    expect([requests, accepted.length]).toEqual([3, 2]);
  });

  it('is replaced once: a receiver that also closes the new one has failed, in the time of one attempt', async () => {
    let requests = 0;
    const { url } = await receiver((socket) => {
      requests++;
      if (requests === 1) socket.write(answer(200, 'OK'));
      else socket.end();
    });
    const made = sender();
    expect(await made.send(notice(url))).toMatchObject({ outcome: 'delivered' });
    expect(await made.send(notice(url))).toMatchObject({ outcome: 'theirs', status: null });
    expect(requests).toBe(3);
    expect(await made.send(notice(url))).toMatchObject({ outcome: 'theirs', status: null });
    expect(requests).toBe(4);
  });

  it('and its replacement have the time of one attempt together', async () => {
    let requests = 0;
    const { url } = await receiver((socket) => {
      requests++;
      if (requests === 1) socket.write(answer(200, 'OK'));
      else if (requests === 2) socket.end();
    });
    const made = sender({ timeout_ms: 300 });
    expect(await made.send(notice(url))).toMatchObject({ outcome: 'delivered' });
    expect(await made.send(notice(url))).toMatchObject({
      outcome: 'theirs',
      detail: say('attempt.silent', { timeout_ms: 300 }),
    });
    expect(requests).toBe(3);
  });
});

describe('our own reasons', () => {
  const guarded = { allow_private: false, allow_http: false, ports: [443, 8443], own_hosts: [] };

  it('a URL that the guard refuses', async () => {
    const { url, accepted } = await receiver(() => {});
    expect(await sender({ policy: guarded }).send(notice(url))).toMatchObject({
      outcome: 'ours',
      is_by_settings: true,
      status: null,
      detail: { text: expect.stringContaining('https://') },
    });
    expect(accepted).toHaveLength(0);
  });

  it('a name that resolves to a private address', async () => {
    const resolve = () => Promise.resolve([{ address: '10.0.0.1', family: 4 }]);
    const result = await sender({ policy: guarded, resolve }).send(notice('https://till.example.com/'));
    expect(result).toMatchObject({
      outcome: 'ours',
      is_by_settings: true,
      detail: { text: expect.stringContaining('10.0.0.1') },
    });
  });

  it('a resolver that is out of order', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('try again'), { code: 'EAI_AGAIN' }));
    const result = await sender({ resolve }).send(notice('https://till.example.com/'));
    expect(result).toMatchObject({ outcome: 'ours' });
    expect(result.is_by_settings).not.toBe(true);
  });

  it('a name that does not exist is theirs', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('gone'), { code: 'ENOTFOUND' }));
    expect(await sender({ resolve }).send(notice('https://till.example.com/'))).toMatchObject({ outcome: 'theirs' });
  });
});

it('a receiver whose TLS is broken gets no notice, and costs no socket and no timer, however often it is tried [F122]', async () => {
  const { good, ...broken } = await makeTlsFaults();
  const made = sender();
  const resources = (): number =>
    process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Timeout|Timer/.test(name)).length;
  for (const [name, tls] of Object.entries(broken)) {
    const { url, heard, accepted } = await misbehaving(acts.answer(200, 'OK'), { tls });
    const before = resources();
    for (let nth = 0; nth < 12; nth++) {
      expect(await made.send(notice(url)), name).toMatchObject({ outcome: 'theirs', status: null });
    }
    for (let wait = 0; wait < 200 && resources() > before; wait++) await pause(10);
    expect(resources(), name).toBeLessThanOrEqual(before);
    expect([accepted(), heard.length], name).toEqual([12, 0]);
  }
  const mended = await misbehaving(acts.answer(200, 'OK'), { tls: good });
  expect(await made.send(notice(mended.url))).toMatchObject({ outcome: 'delivered' });
});

it('close cuts what is under way and what is kept', async () => {
  const { url, accepted } = await receiver((socket, request) => {
    if (request.includes('/quick')) socket.write(answer(200, 'OK'));
  });
  const made = sender({ timeout_ms: 10_000 });
  await Promise.all([made.send(notice(`${url}/quick`)), made.send(notice(`${url}/quick`))]);
  const hanging = made.send(notice(`${url}/slow`));
  while (accepted[0]?.bytesRead === accepted[1]?.bytesRead) await pause(5);
  await made.close();
  expect(await hanging).toMatchObject({ status: null });
  for (let wait = 0; wait < 200 && accepted.some(({ destroyed }) => !destroyed); wait++) await pause(5);
  expect(accepted.map(({ destroyed }) => destroyed)).toEqual([true, true]);
});
