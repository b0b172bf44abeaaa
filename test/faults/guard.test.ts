/** The outbound guard and the corpus, with three resolvers; all connections of this process are recorded (P8, I9). */
import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { PuenteError } from '../../src/error.ts';
import { createSender, type SendResult } from '../../src/proxy/notices/delivery.ts';
import { checkUrl, guardedConnector, type OutboundPolicy } from '../../src/proxy/notices/guard.ts';
import { type Resolve, systemResolver } from '../../src/proxy/notices/resolve.ts';
import { listen, shut } from '../listen.ts';
import { NAMED_URLS, OWN_HOSTS, PUBLIC_URLS, REFUSED_URLS } from './guard-corpus.ts';
import { isPublic } from './guard-oracle.ts';
import { type Begun, type SocketWatch, watchSockets } from './guard-sockets.ts';

const POLICY: OutboundPolicy = { allow_private: false, allow_http: false, ports: [443, 8443], own_hosts: OWN_HOSTS };
const PUBLIC: LookupAddress[] = [
  { address: '93.184.215.14', family: 4 },
  { address: '2606:2800:21f:cb07::1', family: 6 },
];
const PRIVATE: LookupAddress[] = [{ address: '169.254.169.254', family: 4 }];
const CORPUS = [...REFUSED_URLS, ...NAMED_URLS, ...PUBLIC_URLS.map(({ url }) => url)];

let sockets: SocketWatch;
beforeAll(async () => {
  sockets = await watchSockets();
});
afterAll(() => sockets.stop());
afterEach(() => sockets.take());

/** Sends `times` notices to each URL; passes the connections begun to `judge`. */
async function sendAll(
  resolve: Resolve,
  judge: (url: string, begun: Begun[]) => void,
  { times = 1, urls = CORPUS }: { times?: number; urls?: readonly string[] } = {},
): Promise<void> {
  const sender = createSender({ policy: POLICY, userAgent: 'Puente/test', resolve, timeout_ms: 5_000 });
  for (const url of urls) {
    for (let time = 0; time < times; time++) {
      const result = await sender.send({ url, headers: {}, body: '{}' });
      const begun = sockets.take();
      expect(
        begun.filter(({ address }) => !isPublic(address)),
        `${url} in all`,
      ).toEqual([]);
      judge(url, begun);
      expectOwnFault(url, result);
    }
  }
  await sender.close();
}

/** A refusal by the guard never counts against the receiver and never shows the URL's query. */
function expectOwnFault(url: string, { outcome, detail }: SendResult): void {
  expect({ url, outcome }).toEqual({ url, outcome: 'ours' });
  expect(detail).not.toContain('canary');
}

function isNamed(url: string): boolean {
  return NAMED_URLS.includes(url);
}

/** The address in a URL without a name to resolve. */
function literalOf(url: string): string[] {
  return PUBLIC_URLS.filter((known) => known.url === url).map(({ address }) => address);
}

it('the corpus has at least 300 different URLs, and the guard accepts or refuses each as the corpus says [F113 F116]', () => {
  expect(CORPUS.length).toBeGreaterThanOrEqual(300);
  expect(new Set(CORPUS).size).toBe(CORPUS.length);
  const taken = CORPUS.filter((url) => {
    try {
      checkUrl(url, POLICY);
      return true;
    } catch (error) {
      expect(error, url).toBeInstanceOf(PuenteError);
      return false;
    }
  });
  expect(taken).toEqual(CORPUS.slice(REFUSED_URLS.length));
});

describe('connections to the URLs of the corpus', () => {
  it('for public names go to the addresses of the name and nowhere else; for refused URLs there are none [F113 F116]', async () => {
    await sendAll(
      async () => PUBLIC,
      (url, begun) => {
        const expected = isNamed(url) ? PUBLIC.map(({ address }) => address) : literalOf(url);
        expect(begun.map(({ address }) => address).sort(), url).toEqual(expected.toSorted());
      },
    );
  });

  it('for names whose second DNS answer is private are opened on the first answer alone [F114]', async () => {
    const asked = new Map<string, number>();
    const rebinding: Resolve = async (hostname) => {
      const times = (asked.get(hostname) ?? 0) + 1;
      asked.set(hostname, times);
      return times === 1 ? PUBLIC : PRIVATE;
    };
    const seen = new Map<string, number>();
    const note = (url: string, begun: Begun[]): void => {
      if (isNamed(url)) seen.set(url, (seen.get(url) ?? 0) + begun.length);
    };
    await sendAll(rebinding, note, { times: 2 });
    // Some names occur several times in the corpus; each name is connected to once in all.
    expect([...seen.values()].reduce((sum, count) => sum + count, 0)).toBe(asked.size * PUBLIC.length);
    expect(Math.min(...asked.values())).toBeGreaterThanOrEqual(2);
  });

  it('for names with a private address beside a public one are never opened [F114]', async () => {
    await sendAll(
      async () => [...PUBLIC, ...PRIVATE],
      (url, begun) =>
        expect(
          begun.map(({ address }) => address),
          url,
        ).toEqual(literalOf(url)),
    );
  });

  it.each([
    ['a private one before a public one', [...PRIVATE, ...PUBLIC]],
    ['a public IPv4 and a private IPv6', [PUBLIC[0], { address: 'fd00::1', family: 6 }]],
    ['a mapped private one', [PUBLIC[0], { address: '::ffff:10.0.0.1', family: 6 }]],
    ['one of our own', [PUBLIC[0], { address: '93.184.216.34', family: 4 }]],
    ['what is no address', [PUBLIC[0], { address: 'localhost', family: 4 }]],
    ['a zone', [{ address: '2606:4700::1%lo', family: 6 }]],
    ['nothing', []],
  ] as [string, LookupAddress[]][])(
    'for names whose addresses include %s are never opened [F114]',
    async (_name, mixed) => {
      await sendAll(
        async () => mixed,
        (_url, begun) => expect(begun).toEqual([]),
        { urls: NAMED_URLS },
      );
    },
  );
});

describe('the connector, without the check of the URL before it', () => {
  it('opens no connection to an address that is not public, for any host of the corpus and any port [F113 F114]', async () => {
    const hosts = new Set(CORPUS.map((url) => URL.parse(url)?.hostname ?? '').filter((host) => host !== ''));
    for (const answers of [PRIVATE, [...PUBLIC, ...PRIVATE]]) {
      const connect = guardedConnector(POLICY, 5_000, async () => answers);
      for (const hostname of hosts) {
        await new Promise<void>((done) => {
          connect({ hostname, host: hostname, protocol: 'https:', port: '22' }, () => done());
        });
        expect(
          sockets.take().filter(({ address }) => !isPublic(address)),
          hostname,
        ).toEqual([]);
      }
    }
    expect(hosts.size).toBeGreaterThan(200);
  });

  it.each(['localhost', '127.1', '0x7f.1', '2130706433', '017700000001'])(
    "opens no connection to the addresses that this machine's resolver returns for %s [F113]",
    async (hostname) => {
      const connect = guardedConnector(POLICY, 5_000, systemResolver);
      const error = await new Promise<Error | null>((done) => {
        connect({ hostname, host: hostname, protocol: 'https:', port: '443' }, (...[failed]) => done(failed));
      });
      expect(error).toBeInstanceOf(Error);
      expect(sockets.take()).toEqual([]);
    },
  );
});

describe('a connected socket', () => {
  it('is closed before a byte is sent when its peer is not the address that was checked [F114]', async () => {
    let received = 0;
    let connections = 0;
    const server = createServer((socket) => {
      connections++;
      socket.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      socket.on('error', () => socket.destroy());
    });
    const port = await listen(server);
    sockets.divert(port);
    const sender = createSender({
      policy: { ...POLICY, allow_http: true },
      userAgent: 'Puente/test',
      resolve: async () => PUBLIC,
    });
    try {
      const result = await sender.send({ url: 'http://till.example.com/hook', headers: {}, body: '{}' });
      expect(result.outcome).toBe('ours');
      expect(result.detail.text).toContain('led to 127.0.0.1');
      expect(connections).toBe(1);
      expect(received).toBe(0);
    } finally {
      sockets.divert(null);
      await sender.close();
      await shut(server);
    }
  });
});
