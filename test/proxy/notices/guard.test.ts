/** The outbound guard over the corpus of `test/faults/README.md` F113–F116, and against resolvers that lie. */
import type { LookupAddress } from 'node:dns';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import { addressRefusal, checkUrl, guardedConnector, type OutboundPolicy } from '../../../src/proxy/notices/guard.ts';
import { type Peer, startPeer } from '../upstream/peer.ts';

const PUBLIC: OutboundPolicy = {
  allow_private: false,
  allow_http: false,
  ports: [443, 8443],
  own_hosts: ['puente.example.com', 'puente.example.org:8443', '93.184.216.34'],
};
const PRIVATE: OutboundPolicy = { ...PUBLIC, allow_private: true };
const PLAIN: OutboundPolicy = { ...PUBLIC, allow_http: true };

/** URL, and a word of the refusal. */
const REFUSED: [string, string][] = [
  ['https://127.0.0.1/', 'loopback'],
  ['https://127.1/', 'loopback'],
  ['https://0x7f.1/', 'loopback'],
  ['https://2130706433/', 'loopback'],
  ['https://017700000001/', 'loopback'],
  ['https://0x7f000001/', 'loopback'],
  ['https://①②⑦.⓪.⓪.①/', 'ASCII'],
  ['https://localhost/', 'this machine'],
  ['https://localhost./', 'this machine'],
  ['https://LOCALHOST/', 'this machine'],
  ['https://till.localhost/', 'this machine'],
  ['https://%6cocalhost/', 'this machine'],
  ['https://0/', 'unspecified'],
  ['https://0.0.0.0/', 'unspecified'],
  ['https://10.1.2.3/', 'private'],
  ['https://172.31.255.255/', 'private'],
  ['https://192.168.0.1/', 'private'],
  ['https://169.254.169.254/latest/meta-data', 'linkLocal'],
  ['https://100.64.0.1/', 'carrierGradeNat'],
  ['https://192.0.0.1/', 'reserved'],
  ['https://192.0.2.1/', 'reserved'],
  ['https://198.51.100.1/', 'reserved'],
  ['https://203.0.113.9/', 'reserved'],
  ['https://198.18.0.1/', 'reserved'],
  ['https://192.88.99.1/', 'reserved'],
  ['https://240.0.0.1/', 'reserved'],
  ['https://224.0.0.1/', 'multicast'],
  ['https://255.255.255.255/', 'broadcast'],
  ['https://[::]/', 'unspecified'],
  ['https://[::1]/', 'loopback'],
  ['https://[::ffff:127.0.0.1]/', 'loopback'],
  ['https://[::ffff:7f00:1]/', 'loopback'],
  ['https://[::ffff:10.0.0.1]/', 'private'],
  ['https://[::127.0.0.1]/', 'not public'],
  ['https://[::8.8.8.8]/', 'not public'],
  ['https://[64:ff9b::7f00:1]/', 'rfc6052'],
  ['https://[64:ff9b::808:808]/', 'rfc6052'],
  ['https://[64:ff9b:1::a00:1]/', 'rfc6052'],
  ['https://[2002:7f00:1::]/', '6to4'],
  ['https://[2001:0:7f00:1::]/', 'teredo'],
  ['https://[fc00::1]/', 'uniqueLocal'],
  ['https://[fd12:3456::1]/', 'uniqueLocal'],
  ['https://[fe80::1]/', 'linkLocal'],
  ['https://[fe80::1%25eth0]/', 'not a URL'],
  ['https://[fec0::1]/', 'deprecatedSiteLocal'],
  ['https://[ff02::1]/', 'multicast'],
  ['https://[100::1]/', 'discard'],
  ['https://[2001:db8::1]/', 'reserved'],
  ['https://[3fff::1]/', 'reserved'],
  ['https://[2001:2::1]/', 'benchmarking'],
  ['https://[::ffff:0:7f00:1]/', 'rfc6145'],
  ['https://[4000::1]/', 'outside'],
  ['http://example.com/', 'https'],
  ['ftp://example.com/', 'https'],
  ['file:///etc/passwd', 'https'],
  ['gopher://example.com/', 'https'],
  ['javascript:alert(1)', 'https'],
  ['data:text/plain,x', 'https'],
  ['https://user:pw@example.com/', 'user name'],
  ['https://user@example.com/', 'user name'],
  ['https://@example.com/', 'user name'],
  ['https://:@example.com/', 'user name'],
  ['https://example.com:22/', 'port 22'],
  ['https://example.com:25/', 'port 25'],
  ['https://example.com:80/', 'port 80'],
  ['https://example.com:6379/', 'port 6379'],
  ['https://example.com:0/', 'port 0'],
  ['https://example.com/#x', 'fragment'],
  [`https://example.com/${'x'.repeat(2048)}`, 'longer'],
  ['https://example.com/\r\nx-evil: 1', 'ASCII'],
  ['https://example.com/a b', 'ASCII'],
  ['https://example.com/\u0000', 'ASCII'],
  ['https://exam\u0440le.com/', 'ASCII'],
  ['https://example.com\\@127.0.0.1/', 'backslash'],
  ['https://puente.example.com/hook', 'own address'],
  ['https://PUENTE.example.com./hook', 'own address'],
  ['https://puente.example.com:8443/hook', 'own address'],
  ['https://puente.example.org:8443/hook', 'own address'],
  ['https://93.184.216.34/hook', 'own address'],
  ['https://', 'not a URL'],
  ['example.com', 'not a URL'],
  ['', 'ASCII'],
];

describe('plain http, where it is allowed', () => {
  it.each(['http://till.example.com/ipn', 'http://till.example.com:8443/ipn'])('takes %s', (url) => {
    expect(checkUrl(url, PLAIN).href).toBe(url);
    expect(() => checkUrl(url, PUBLIC)).toThrow('https://');
  });
  it.each([
    ['http://10.0.0.1/', 'private'],
    ['http://localhost/', 'this machine'],
    ['http://till.example.com:8080/', 'port 8080'],
    ['https://till.example.com:80/', 'port 80'],
    ['ftp://till.example.com/', 'https://'],
  ])('still refuses %s', (url, word) => {
    expect(() => checkUrl(url, PLAIN)).toThrow(word);
  });
});

describe('refused URLs', () => {
  it.each(REFUSED)('%s [F113 F116]', (text, word) => {
    expect(() => checkUrl(text, PUBLIC)).toThrow(PuenteError);
    expect(() => checkUrl(text, PUBLIC)).toThrow(word);
  });

  it.each(REFUSED)('%s has a code down to its cause', (text) => {
    try {
      checkUrl(text, PUBLIC);
      expect.unreachable();
    } catch (error) {
      const { said } = error as PuenteError; // the line above asks
      expect(said).toMatchObject([
        { code: 'attempt.blocked', facts: { cause: { said: { code: expect.any(String) } } } },
      ]);
      expect(JSON.stringify(said)).not.toContain('"said":null');
    }
  });

  it('never repeats a secret of the query in the refusal', () => {
    try {
      checkUrl('https://example.com:22/?key=canary', PUBLIC);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'blocked_address', message: expect.not.stringContaining('canary') });
    }
  });

  it('refuses every spelling of every address of the private ranges [F113]', () => {
    const inRange = fc
      .constantFrom(0x7f000000, 0x0a000000, 0xa9fe0000, 0xc0a80000)
      .chain((base) => fc.nat(0xffff).map((low) => base + low));
    const spelling = fc.constantFrom(
      (value: number) => String(value),
      (value: number) => `0x${value.toString(16)}`,
      (value: number) => `0${value.toString(8)}`,
      (value: number) => `${value >>> 24}.${value & 0xffffff}`,
      (value: number) => `[::ffff:${(value >>> 16).toString(16)}:${(value & 0xffff).toString(16)}]`,
    );
    fc.assert(
      fc.property(inRange, spelling, (value, spell) => {
        expect(() => checkUrl(`https://${spell(value)}/`, PUBLIC)).toThrow(PuenteError);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('allowed URLs', () => {
  it.each([
    'https://example.com/hook?key=1',
    'https://example.com:8443/',
    'https://xn--exmple-cua.com/',
    'https://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'https://puente.example.org/',
  ])('%s', (text) => {
    expect(checkUrl(text, PUBLIC).href).toBe(new URL(text).href);
  });

  it.each([
    'http://127.0.0.1:54321/hook',
    'http://localhost/',
    'https://10.0.0.1:22/',
    'http://[::1]:8080/',
    'http://[fd00::1]/',
  ])('%s where private addresses are allowed', (text) => {
    expect(checkUrl(text, PRIVATE).href).toBe(new URL(text).href);
    expect(() => checkUrl(text, PUBLIC)).toThrow(PuenteError);
  });

  it.each([
    'http://169.254.169.254/',
    'http://[fe80::1]/',
    'http://0.0.0.0/',
    'http://100.64.0.1/',
    'http://224.0.0.1/',
    'https://puente.example.com/',
  ])('%s not even then', (text) => {
    expect(() => checkUrl(text, PRIVATE)).toThrow(PuenteError);
  });
});

describe('addresses', () => {
  it.each(['', 'not an address', '1.2.3', '0x7f.0.0.1', '1.2.3.4.5', 'fe80::1%eth0', ':::'])(
    '%j is refused',
    (text) => {
      expect(addressRefusal(text, true)).not.toBeNull();
    },
  );

  it('an IPv4-mapped public address is public', () => {
    expect(addressRefusal('::ffff:8.8.8.8', false)).toBeNull();
  });
});

describe('the connector', () => {
  let receiver: Peer | null = null;
  afterEach(async () => {
    await receiver?.close();
    receiver = null;
  });

  /** Connects to a name whose addresses are given; resolves to the peer's address or the error's message. */
  function connect(
    hostname: string,
    addresses: LookupAddress[],
    policy: OutboundPolicy,
    port: number,
  ): Promise<string> {
    const connector = guardedConnector(policy, 1_000, () => Promise.resolve(addresses));
    return new Promise((resolve) => {
      connector({ hostname, host: hostname, protocol: 'http:', port: String(port) }, (error, socket) => {
        resolve(error === null ? (socket.remoteAddress ?? '') : `${error.name}: ${error.message}`);
        socket?.destroy();
      });
    });
  }

  const answers: [string, LookupAddress[]][] = [
    ['one private address', [{ address: '127.0.0.1', family: 4 }]],
    [
      'a public and a private address',
      [
        { address: '8.8.8.8', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
    ],
    [
      'a public IPv4 and a private IPv6 address',
      [
        { address: '8.8.8.8', family: 4 },
        { address: '::1', family: 6 },
      ],
    ],
    ['a mapped private address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['a link-local address with a zone', [{ address: 'fe80::1%lo', family: 6 }]],
    ['no address', []],
    ['nonsense', [{ address: 'localhost', family: 4 }]],
  ];
  it.each(answers)('refuses a name that resolves to %s [F114]', async (_name, addresses) => {
    receiver = await startPeer(() => {});
    expect(await connect('rebind.example.com', addresses, PUBLIC, receiver.port)).toMatch(
      /^PuenteError: The notification URL names/,
    );
    expect(receiver.accepted).toHaveLength(0);
  });

  it.each(['127.0.0.1', '[::1]', '[::ffff:7f00:1]'])(
    'refuses the IP literal %s, for which no name is looked up [F113]',
    async (hostname) => {
      receiver = await startPeer(() => {});
      expect(await connect(hostname, [{ address: '8.8.8.8', family: 4 }], PUBLIC, receiver.port)).toMatch(
        /^PuenteError: The notification URL goes to/,
      );
      expect(receiver.accepted).toHaveLength(0);
    },
  );

  it('connects to the resolved address, and only to that', async () => {
    receiver = await startPeer(() => {});
    expect(await connect('till.example.com', [{ address: '127.0.0.1', family: 4 }], PRIVATE, receiver.port)).toBe(
      '127.0.0.1',
    );
    expect(receiver.accepted).toHaveLength(1);
  });

  it('asks anew for every connection, so that a name that turned private is refused [F114]', async () => {
    receiver = await startPeer(() => {});
    const replies: LookupAddress[][] = [
      [{ address: '127.0.0.1', family: 4 }],
      [{ address: '169.254.169.254', family: 4 }],
    ];
    const connector = guardedConnector(PRIVATE, 1_000, () => Promise.resolve(replies.shift() ?? []));
    const { port } = receiver;
    const attempt = () =>
      new Promise<Error | null>((resolve) => {
        connector({ hostname: 'rebind.example.com', protocol: 'http:', port: String(port) }, (error, socket) => {
          socket?.destroy();
          resolve(error);
        });
      });
    expect(await attempt()).toBeNull();
    expect(await attempt()).toMatchObject({ code: 'blocked_address' });
  });

  it('passes a resolver failure on', async () => {
    const failure = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    const connector = guardedConnector(PUBLIC, 1_000, () => Promise.reject(failure));
    const error = await new Promise<Error | null>((resolve) => {
      connector({ hostname: 'gone.example.com', protocol: 'https:', port: '443' }, (...[failed]) => resolve(failed));
    });
    expect(error).toMatchObject({ code: 'ENOTFOUND' });
  });
});
