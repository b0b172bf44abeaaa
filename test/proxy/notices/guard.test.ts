/** The outbound guard: refused URLs with their messages, and allowed connections. See `test/faults/guard*.test.ts`. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LookupAddress } from 'node:dns';
import { getDefaultAutoSelectFamily, type Socket, setDefaultAutoSelectFamily } from 'node:net';
import { describe, expect, it } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import { addressRefusal, checkUrl, guardedConnector, type OutboundPolicy } from '../../../src/proxy/notices/guard.ts';
import { openForAll } from '../../open.ts';
import { startPeer } from '../upstream/peer.ts';

const PUBLIC: OutboundPolicy = {
  allow_private: false,
  allow_http: false,
  ports: [443, 8443],
  own_hosts: ['puente.example.com', 'puente.example.org:8443', '93.184.216.34'],
};
const PRIVATE: OutboundPolicy = { ...PUBLIC, allow_private: true };
const PLAIN: OutboundPolicy = { ...PUBLIC, allow_http: true };

const long = (length: number): string => `https://shop.example/${'x'.repeat(length - 21)}`;

const REFUSED: [string, string][] = [
  ['https://127.0.0.1/', 'loopback'],
  ['https://①②⑦.⓪.⓪.①/', 'ASCII'],
  ['https://localhost/', "names the host 'localhost', which is this machine or its own network."],
  ['https://localhost./', 'this machine'],
  ['https://LOCALHOST/', 'this machine'],
  ...['till.localhost', 'shop', 'local', 'a.local', 'a.internal', 'home.arpa', 'a.home.arpa', 'a.localdomain.'].map(
    (host): [string, string] => [
      `https://${host}/`,
      `names the host '${host.replace(/\.$/, '')}', which is this machine`,
    ],
  ),
  ...['.', '..', 'a..b.example', '.a.example', 'a.localdomain..', '2130706433127.0.0.1%2e%2e'].map(
    (host): [string, string] => [`https://${host}/`, 'has no name of a host.'],
  ),
  ['https://%6cocalhost/', 'this machine'],
  ['https://0.0.0.0/', 'unspecified'],
  ['https://10.1.2.3/', 'private'],
  ['https://169.254.169.254/latest/meta-data', 'linkLocal'],
  ['https://100.64.0.1/', 'carrierGradeNat'],
  ['https://192.0.0.1/', 'reserved'],
  ['https://192.88.99.1/', 'reserved'],
  ['https://240.0.0.1/', 'reserved'],
  ['https://224.0.0.1/', 'multicast'],
  ['https://255.255.255.255/', 'broadcast'],
  ['https://[::]/', 'unspecified'],
  ['https://[::1]/', 'goes to ::1, which is not public (loopback).'],
  ['https://[::ffff:127.0.0.1]/', 'loopback'],
  ['https://[::ffff:10.0.0.1]/', 'private'],
  ['https://[::127.0.0.1]/', 'not public'],
  ['https://[::8.8.8.8]/', 'not public'],
  ['https://[64:ff9b::7f00:1]/', 'rfc6052'],
  ['https://[64:ff9b:1::a00:1]/', 'rfc6052'],
  ['https://[2002:7f00:1::]/', '6to4'],
  ['https://[2001:0:7f00:1::]/', 'teredo'],
  ['https://[fc00::1]/', 'uniqueLocal'],
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
  ['http://example.com/', 'does not start with https://.'],
  ['ftp://example.com/', 'https'],
  ['file:///etc/passwd', 'https'],
  ['javascript:alert(1)', 'https'],
  ['data:text/plain,x', 'https'],
  ...['user:pw@', 'user@', ':pw@', '@', ':@'].map((user): [string, string] => [
    `https://${user}example.com/`,
    'has a user name or a password; remove it.',
  ]),
  ['https://example.com:22/', 'uses port 22; allowed are 443, 8443.'],
  ['https://example.com:80/', 'port 80'],
  ['https://example.com:0/', 'port 0'],
  ['https://example.com/#x', 'fragment'],
  [long(2049), 'is longer than 2048 characters.'],
  ['https://example.com/\r\nx-evil: 1', 'ASCII'],
  ['https://example.com/a b', 'ASCII'],
  ['https://example.com/\u0000', 'ASCII'],
  ['https://exam\u0440le.com/', 'ASCII'],
  ['https://example.com\\@127.0.0.1/', 'backslash'],
  ['https://puente.example.com/hook', "is Puente's own address."],
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
  it.each(REFUSED)('%s: %s [F113 F116]', (text, words) => {
    try {
      checkUrl(text, PUBLIC);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(PuenteError);
      const { message, said } = error as PuenteError; // checked in the line above
      expect(message).toContain(words);
      expect(said).toMatchObject([
        { code: 'attempt.blocked', facts: { cause: { said: { code: expect.any(String) } } } },
      ]);
      expect(JSON.stringify(said)).not.toContain('"said":null');
    }
  });

  it('never repeats a secret of the query in the refusal', () => {
    expect(() => checkUrl('https://example.com:22/?key=canary', PUBLIC)).toThrow(
      expect.objectContaining({ code: 'blocked_address', message: expect.not.stringContaining('canary') }),
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
    'https://mylocal.example/',
    'https://shop.example/x@y',
    'https://shop.example/?to=https://u@x',
    long(2048),
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
    'https://../',
  ])('%s not even then', (text) => {
    expect(() => checkUrl(text, PRIVATE)).toThrow(PuenteError);
  });

  it.each([
    ['https://shop.example/', 'shop.example', true],
    ['https://shop.example/', 'SHOP.example', true],
    ['https://shop.example/', 'shop.example:443', true],
    ['https://shop.example:8443/', 'shop.example:443', false],
    ['https://shop.example/', 'other.example', false],
    ['https://8.8.8.8/', '8.8.8.8', true],
    ['https://[2a00:1450::1]/', '2a00:1450:0:0:0:0:0:1', true],
    ['https://[2a00:1450::1]/', '[2a00:1450::1]', true],
    ['https://[2a00:1450::1]/', '[2a00:1450::1]:443', true],
    ['https://[2a00:1450::1]/', '[2a00:1450::1]:444', false],
  ])('%s is our own when that is %s: %s', (url, own, is_own) => {
    const check = () => checkUrl(url, { ...PUBLIC, own_hosts: [own] });
    if (is_own) expect(check).toThrow("is Puente's own address.");
    else expect(check).not.toThrow();
  });
});

describe('an address', () => {
  it.each(['', 'not an address', '1.2.3', '0x7f.0.0.1', '1.2.3.4.5', 'fe80::1%eth0', 'fe80::1%eth-0', ':::'])(
    '%j is none',
    (text) => {
      expect(addressRefusal(text, true)).not.toBeNull();
    },
  );

  it.each([
    ['no address', 'is not an IP address'],
    ['10.0.0.1', 'is not public (private)'],
    ['2a00:1450::1%eth0', 'has a zone, which no public address has'],
    ['2a00:1450::5efe:a00:1', 'is not public (isatap)'],
    ['2a00:1450::200:5efe:a00:1', 'is not public (isatap)'],
    ['2a00:1450::300:5efe:a00:1', null],
    ['2a00:1450::1', null],
    ['::ffff:8.8.8.8', null],
    ['8.8.8.8', null],
  ])('%s: %s', (address, expected) => {
    expect(addressRefusal(address, false)?.text ?? null).toBe(expected);
  });
});

describe('a connection', () => {
  const HERE: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];
  const receiver = openForAll(() => startPeer(() => {}));

  /** Connects to a name that resolves to these addresses, one list per lookup. */
  function connectTo(
    policy: OutboundPolicy,
    hostname: string,
    answers: LookupAddress[][] | null,
  ): () => Promise<string> {
    const resolve = answers === null ? undefined : () => Promise.resolve(answers.shift() ?? []);
    const connector = guardedConnector(policy, 5_000, resolve);
    const options = { hostname, host: hostname, protocol: 'http:', port: String(receiver.port) };
    return () =>
      new Promise((done, failed) =>
        connector(options, (error, socket) => {
          if (error !== null) return failed(error);
          done(socket.remoteAddress ?? '');
          socket.destroy();
        }),
      );
  }
  const connect = (policy: OutboundPolicy, hostname = 'till.example.com', addresses = HERE): Promise<string> =>
    connectTo(policy, hostname, [addresses])();

  it.each<[string, LookupAddress[], string]>([
    ['one private address', HERE, "names 'till.example.com', which resolves to 127.0.0.1, which is not public"],
    ['a public and a private address', [{ address: '8.8.8.8', family: 4 }, ...HERE], 'which resolves to 127.0.0.1'],
    ['no address', [], "names 'till.example.com', which has no address."],
    ['nonsense', [{ address: 'localhost', family: 4 }], 'which is not an IP address'],
  ])('to a name that resolves to %s is refused [F114]', async (_name, addresses, words) => {
    const before = receiver.accepted.length;
    await expect(connect(PUBLIC, 'till.example.com', addresses)).rejects.toThrow(words);
    expect(receiver.accepted).toHaveLength(before);
  });

  it.each(['127.0.0.1', '[::1]', '[::ffff:7f00:1]'])(
    'to the IP literal %s, for which no name is looked up, is refused [F113]',
    async (hostname) => {
      await expect(connect(PUBLIC, hostname, [{ address: '8.8.8.8', family: 4 }])).rejects.toThrow(
        "The receiver's URL goes to",
      );
    },
  );

  it.each([true, false])('goes to the address that was checked, with Node choosing a family: %s', async (chooses) => {
    const before = getDefaultAutoSelectFamily();
    setDefaultAutoSelectFamily(chooses);
    try {
      expect(await connect(PRIVATE)).toBe('127.0.0.1');
    } finally {
      setDefaultAutoSelectFamily(before);
    }
  });

  it('looks the name up each time, so that one that turned private is refused [F114]', async () => {
    const again = connectTo(PRIVATE, 'rebind.example.com', [HERE, [{ address: '169.254.169.254', family: 4 }]]);
    expect(await again()).toBe('127.0.0.1');
    await expect(again()).rejects.toMatchObject({ code: 'blocked_address' });
  });

  it('passes a resolver failure on', async () => {
    const failure = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    const connector = guardedConnector(PUBLIC, 1_000, () => Promise.reject(failure));
    const error = await new Promise<Error | null>((resolve) => {
      connector({ hostname: 'gone.example.com', protocol: 'https:', port: '443' }, (...[failed]) => resolve(failed));
    });
    expect(error).toBe(failure);
  });

  it('asks the system for the address, unless a test says how', async () => {
    expect(['127.0.0.1', '::ffff:127.0.0.1']).toContain(await connectTo(PRIVATE, 'localhost', null)());
    await expect(connectTo(PUBLIC, '127.0.0.1', null)()).rejects.toMatchObject({ code: 'blocked_address' });
  });

  it('to our own address by another name is refused', async () => {
    const own = { ...PRIVATE, own_hosts: ['127.0.0.1'] };
    await expect(connect(own)).rejects.toThrow("which resolves to 127.0.0.1, which is Puente's own.");
    await expect(connect(own, '[127.0.0.1]')).rejects.toThrow("goes to 127.0.0.1, which is Puente's own.");
    await expect(connect({ ...PRIVATE, own_hosts: ['127.0.0.2'] })).resolves.toBeDefined();
  });

  /** Acts on each client socket that Node creates meanwhile. */
  async function withSockets(act: (socket: Socket) => void, work: () => Promise<void>): Promise<void> {
    const seen = (message: unknown): void => act((message as { socket: Socket }).socket); // the message of this channel
    subscribe('net.client.socket', seen);
    await work().finally(() => unsubscribe('net.client.socket', seen));
  }

  it('that led elsewhere than to the address that was checked is dropped', async () => {
    let led: Socket | null = null;
    const lead = (socket: Socket): void => {
      Object.defineProperty(socket, 'remoteAddress', { value: '169.254.169.254' });
      led = socket;
    };
    await withSockets(lead, async () => {
      await expect(connect(PRIVATE)).rejects.toThrow(/led to 169\.254\.169\.254, which is not public \(linkLocal\)/);
    });
    expect(led).toMatchObject({ destroyed: true });
  });

  it('that is closed as soon as it is open is a broken one', async () => {
    await withSockets(
      (socket) => socket.prependListener('connect', () => socket.destroy()),
      async () => {
        const message = 'closed as soon as it was open';
        await expect(connect(PRIVATE)).rejects.toMatchObject({ code: 'ECONNRESET', message });
      },
    );
  });
});
