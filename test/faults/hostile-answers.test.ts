/** Legacy answers broken in any place, to tills of any kind: the process survives and passes no broken answer on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Child, startChild } from '../crash/child.ts';
import { ARGENTINA, DEVICE, OPS_TOKEN, POINT, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { startRawUpstream } from '../proxy/http/raw.ts';

/** Number of mutated answers; nightly runs set `FUZZ_RUNS=100000`. */
const RUNS = Number(process.env.FUZZ_RUNS ?? 1_000);
const TOGETHER = 20;
/** The test closes a connection that is silent for this long. */
const PATIENCE_MS = 200;
/** The same before the first byte, where an answer is required. */
const FIRST_MS = 20_000;
const LIMIT_MS = 240_000;

let child: Child;
let data_dir: string;
/** Legacy's treatment of a request, by its number. */
const plans = new Map<number, (socket: Socket) => void>();
const upstream = openForAll(() =>
  startRawUpstream((request, socket) => {
    const number = Number(/[?&]n=(\d+)/.exec(request)?.[1] ?? Number.NaN);
    (plans.get(number) ?? ((one) => one.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}')))(socket);
  }, true),
);
beforeAll(async () => {
  data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
  const started = await startChild({
    PUENTE_DATA_DIR: data_dir,
    PUENTE_UPSTREAM: upstream.url,
    PUENTE_LEGACY_UPSTREAM: upstream.url,
    PUENTE_SECRET_KEY: 'c7'.repeat(32),
    PUENTE_WEBHOOK_SECRET: 'a webhook secret of the tests',
    PUENTE_ROUTING_DEFAULT_STAGE: 'legacy',
    PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_OPS_TOKEN: OPS_TOKEN,
    PUENTE_LOG_LEVEL: 'error',
    PUENTE_LIMITS_LAG_MS: '600000', // as in test/kit.ts
  });
  if (started === null) throw new Error('the server did not start');
  child = started;
}, LIMIT_MS);
afterAll(async () => {
  await child.stop();
  rmSync(data_dir, { recursive: true, force: true });
});

const BEARER = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;
/** Requests that Node handles in different ways. */
const tills: Record<string, (number: number) => string> = {
  'a read': (n) => head(`GET ${POINT}/devices?n=${n} HTTP/1.1`),
  'a read that keeps the connection': (n) => head(`GET /v1/documents?n=${n} HTTP/1.1`, 'Connection: keep-alive'),
  HEAD: (n) => head(`HEAD /v1/documents?n=${n} HTTP/1.1`),
  'HTTP/1.0': (n) => head(`GET /v1/documents?n=${n} HTTP/1.0`),
  'HTTP/1.0 that keeps the connection': (n) => head(`GET /v1/documents?n=${n} HTTP/1.0`, 'Connection: keep-alive'),
  'a sale': (n) => `${head(`POST ${INTENTS}?n=${n} HTTP/1.1`, 'Content-Length: 15')}{"amount":1500}`,
  'a body in chunks': (n) =>
    `${head(`PUT /v1/documents?n=${n} HTTP/1.1`, 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
  'a body that never comes whole': (n) => `${head(`PUT /v1/documents?n=${n} HTTP/1.1`, 'Content-Length: 60000')}{`,
  'a body that is held back': (n) =>
    head(`PUT /v1/documents?n=${n} HTTP/1.1`, 'Expect: 100-continue', 'Content-Length: 2'),
};

function head(line: string, ...more: string[]): string {
  return [line, 'Host: a', BEARER, ...more, '', ''].join('\r\n');
}

/** Puente's request for a body that a till holds back. */
const ASKED = 'HTTP/1.1 100 Continue\r\n\r\n';

let last_number = 0;
/** The till's answer when legacy misbehaves. */
function tell(
  till: (number: number) => string,
  act: (socket: Socket) => void,
  first_ms = PATIENCE_MS,
): Promise<string> {
  const number = ++last_number;
  plans.set(number, act);
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(child.public_url).port), '127.0.0.1', () => socket.write(till(number)));
    let answer = '';
    socket.setTimeout(first_ms, () => socket.destroy());
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (answer === ASKED) socket.write('{}');
      else socket.setTimeout(PATIENCE_MS);
    });
    socket.on('error', () => undefined); // a reset also ends it
    socket.on('close', () => {
      plans.delete(number);
      resolve(answer);
    });
  });
}

function expectAlive(): void {
  if (!child.alive()) throw new Error(`the process has ended:\n${child.output()}`);
}

/** In every answer, to show which parts are passed on. */
const OWN = 'Server: broken-legacy\r\nSet-Cookie: broken=1\r\n';
const BODY = 'Content-Length: 2\r\n\r\n{}';
/** No till could read these. */
const broken: Record<string, string> = {
  'a status below 100': `HTTP/1.1 099 Broken\r\n${OWN}${BODY}`,
  'a status of nothing': `HTTP/1.1 000 Broken\r\n${OWN}${BODY}`,
  'a control character in the reason': `HTTP/1.1 200 Bro\x01ken\r\n${OWN}${BODY}`,
  'a DEL in the reason': `HTTP/1.1 200 Broken\x7f\r\n${OWN}${BODY}`,
  'another protocol': `HTTP/1.1 101 Broken\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n${OWN}\r\n`,
  'another protocol without its name': `HTTP/1.1 101 Broken\r\n${OWN}\r\n`,
  'another protocol, and more': `HTTP/1.1 101 Broken\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nHTTP/1.1 200 OK\r\n${OWN}${BODY}`,
  'a packed transfer': `HTTP/1.1 200 Broken\r\n${OWN}Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'a packed transfer without chunks': `HTTP/1.1 200 Broken\r\n${OWN}Transfer-Encoding: gzip\r\n\r\n{}`,
  'a length beside chunks': `HTTP/1.1 200 Broken\r\n${OWN}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'two lengths': `HTTP/1.1 200 Broken\r\n${OWN}Content-Length: 3\r\n${BODY}`,
  'a NUL in a header': `HTTP/1.1 200 Broken\r\n${OWN}X-A: b\0c\r\n${BODY}`,
  'no HTTP': 'SSH-2.0-Broken\r\n\r\n',
  'a head without end': `HTTP/1.1 200 Broken\r\n${OWN}${'X-A: b\r\n'.repeat(5_000)}`,
};
/** Tills can read these in whole or in part. */
const odd: Record<string, string> = {
  'a trailer beside a length': `HTTP/1.1 200 OK\r\nTrailer: y\r\n${BODY}`,
  'a trailer of a 204': 'HTTP/1.1 204 No Content\r\nTrailer: y\r\n\r\n',
  'a trailer of a 304': 'HTTP/1.1 304 Not Modified\r\nTrailer: y\r\nTransfer-Encoding: chunked\r\n\r\n',
  trailers: 'HTTP/1.1 200 OK\r\nTrailer: y\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\ny: 1\r\n\r\n',
  'trailers that nobody announced':
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\ny: 1\r\nContent-Length: 9\r\n\r\n',
  'no reason': `HTTP/1.1 200\r\n${BODY}`,
  'the highest status': `HTTP/1.1 999 OK\r\n${BODY}`,
  'a body of a 204': `HTTP/1.1 204 No Content\r\n${BODY}`,
  'a second answer': `HTTP/1.1 200 OK\r\n${BODY}HTTP/1.1 200 OK\r\nSet-Cookie: broken=1\r\n${BODY}`,
  'less body than it says': 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}',
  'bad chunks': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n',
  'interim answers of any kind': `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 199 \x80\r\n\r\nHTTP/1.1 200 OK\r\n${BODY}`,
};

describe('an answer that can not be passed on', () => {
  it.each(Object.entries(broken))(
    '%s',
    async (name, bytes) => {
      const act = (socket: Socket): void => void socket.end(bytes, 'latin1');
      const all = Object.entries(tills).map(async ([kind, till]) => ({ kind, told: await tell(till, act, FIRST_MS) }));
      for (const { kind, told } of await Promise.all(all)) {
        expectAlive();
        const final = told.replace(ASKED, '');
        expect([name, kind, final]).toEqual([name, kind, expect.stringMatching(/^HTTP\/1\.1 50[24] /)]);
        expect(final).not.toMatch(/broken/i);
        if (kind !== 'HEAD') expect(final).toMatch(/"message":/);
      }
    },
    LIMIT_MS,
  );

  it('another protocol is 502 at once, without the end of the connection being waited for', async () => {
    for (const till of [tills['a read'], tills['a sale']]) {
      const told = await tell(till as never, (socket) => void socket.write(broken['another protocol'] ?? ''), FIRST_MS);
      expect(told).toMatch(/^HTTP\/1\.1 502 /);
    }
  });
});

it.each(Object.entries(odd))(
  'an odd answer: %s',
  async (_name, bytes) => {
    const act = (socket: Socket): void => void socket.end(bytes, 'latin1');
    for (const told of await Promise.all(Object.values(tills).map((till) => tell(till, act)))) {
      expectAlive();
      expect(told.replace(/^(HTTP\/1\.1 10[03] [^\0]*?\r\n\r\n)*/, '')).toMatch(
        /^$|^HTTP\/1\.1 (200|204|304|502|504|999)/,
      );
      expect(told).not.toContain('broken=1');
    }
  },
  LIMIT_MS,
);

const piece = fc.oneof(
  fc.constantFrom(
    '\r\n',
    '\n',
    '\r',
    '\0',
    '\x01',
    '\x7f',
    ' ',
    ':',
    '\t',
    'é',
    '\r\n\r\n',
    'HTTP/1.1 103 E\r\nLink: <a>; rel=b\r\n\r\n',
  ),
  fc.constantFrom(
    'HTTP/1.0',
    'HTTP/1.1 101 S\r\n\r\n',
    ' 99 ',
    ' 000 ',
    ' 304 ',
    ' 204 ',
    '0\r\n',
    '\r\nTrailer: y',
    '\r\nTrailer: Content-Length',
  ),
  fc.constantFrom(
    '\r\nContent-Length: 1',
    '\r\nContent-Length: -1',
    '\r\nTransfer-Encoding: chunked',
    '\r\nTransfer-Encoding: gzip',
  ),
  fc.constantFrom(
    '\r\nConnection: content-length, date',
    '\r\nConnection: Upgrade\r\nUpgrade: x',
    '\r\nKeep-Alive: timeout=-1',
    '9'.repeat(40),
  ),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
const change = fc.record({ at: fc.nat(), cut: fc.nat(12), piece });
/** Most changed places are in the head. */
const changed = fc
  .tuple(
    fc.constantFrom(...Object.values(odd), ...Object.values(broken).filter(({ length }) => length < 1_000)),
    fc.array(change, { maxLength: 4 }),
  )
  .map(([bytes, changes]) =>
    changes.reduce((text, { at, cut, piece: put }) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + cut);
    }, bytes),
  );
const storm = fc.record({
  till: fc.constantFrom(...Object.values(tills)),
  bytes: changed,
  split: fc.nat(200),
  end: fc.constantFrom('end' as const, 'reset' as const, 'open' as const),
});

it(
  'changed answers, cut in two and broken off anywhere: the process lives, and answers what can be answered [P13]',
  async () => {
    const all = fc.asyncProperty(fc.array(storm, { minLength: TOGETHER, maxLength: TOGETHER }), async (calls) => {
      const told = await Promise.all(
        calls.map(({ till, bytes, split, end }) =>
          tell(till, (socket) => {
            socket.write(bytes.slice(0, split), 'latin1');
            setImmediate(() => {
              socket.write(bytes.slice(split), 'latin1');
              if (end === 'end') socket.end();
              if (end === 'reset') socket.resetAndDestroy();
            });
          }),
        ),
      );
      expectAlive();
      for (const answer of told)
        if (!/^$|^HTTP\/1\.1 \d{3} /.test(answer)) throw new Error(`no HTTP: ${answer.slice(0, 200)}`);
    });
    await fc.assert(all, { numRuns: Math.ceil(RUNS / TOGETHER), endOnFailure: true });
    for (const till of [tills['a read'], tills['a sale']]) {
      const told = await tell(till as never, (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${BODY}`), FIRST_MS);
      expect(told).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    }
    expect(child.output()).not.toMatch(/uncaught|unhandled/i);
  },
  LIMIT_MS + RUNS * 50,
);
