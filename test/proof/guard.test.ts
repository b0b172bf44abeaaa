/** What the tests of the guard leave open: hosts that are none, Node's other way to ask for an address, and sockets that die at once. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import {
  createServer,
  getDefaultAutoSelectFamily,
  type Server,
  type Socket,
  setDefaultAutoSelectFamily,
} from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addressRefusal, checkUrl, guardedConnector, type OutboundPolicy } from '../../src/proxy/notices/guard.ts';

const OPEN: OutboundPolicy = { allow_private: true, allow_http: true, ports: [443], own_hosts: [] };
const CLOSED: OutboundPolicy = { allow_private: false, allow_http: false, ports: [443, 8443], own_hosts: [] };

let server: Server;
let port: number;
const sockets = new Set<Socket>();
beforeAll(async () => {
  server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  port = typeof address === 'object' && address !== null ? address.port : 0;
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server?.close(resolve));
});

/** Connects to a name that resolves to this machine. */
function connect(policy: OutboundPolicy, hostname = 'till.example', addresses = ['127.0.0.1']): Promise<Socket> {
  const resolve = async () => addresses.map((address) => ({ address, family: 4 as const }));
  const connector = guardedConnector(policy, 5_000, resolve);
  return new Promise((done, failed) => {
    const options = { hostname, host: hostname, protocol: 'http:', port: String(port) };
    connector(options, (error, socket) => (error === null ? done(socket) : failed(error)));
  });
}

describe('a host', () => {
  it.each(['https://./x', 'https://../', 'https://a..b.example/', 'https://.a.example/'])('%s is none', (url) => {
    for (const policy of [OPEN, CLOSED]) {
      expect(() => checkUrl(url, policy)).toThrow(expect.objectContaining({ code: 'blocked_address' }));
    }
  });
});

describe('a connection', () => {
  it.each([true, false])('goes to the address that was checked, with Node choosing a family: %s', async (chooses) => {
    const before = getDefaultAutoSelectFamily();
    setDefaultAutoSelectFamily(chooses);
    try {
      const socket = await connect(OPEN);
      expect(socket.remoteAddress).toBe('127.0.0.1');
      socket.destroy();
    } finally {
      setDefaultAutoSelectFamily(before);
    }
  });

  it('asks the system for the address, unless a test says how', async () => {
    const open = guardedConnector(OPEN, 5_000);
    const socket = await new Promise<Socket>((done, failed) => {
      const options = { hostname: 'localhost', host: 'localhost', protocol: 'http:', port: String(port) };
      open(options, (error, found) => (error === null ? done(found) : failed(error)));
    });
    expect(['127.0.0.1', '::ffff:127.0.0.1']).toContain(socket.remoteAddress);
    socket.destroy();
    const closed = guardedConnector(CLOSED, 5_000);
    const literal = { hostname: '127.0.0.1', host: '127.0.0.1', protocol: 'https:', port: String(port) };
    const refusal = await new Promise((done) => closed(literal, (...args) => done(args[0])));
    expect(refusal).toMatchObject({ code: 'blocked_address' });
  });

  it('to a name without an address is refused', async () => {
    await expect(connect(OPEN, 'till.example', [])).rejects.toThrow(
      "The notification URL names 'till.example', which has no address.",
    );
  });

  it('that led elsewhere than to the address that was checked is dropped', async () => {
    let led: Socket | null = null;
    const lead = (message: unknown): void => {
      const { socket } = message as { socket: Socket }; // what Node says of a new client socket
      Object.defineProperty(socket, 'remoteAddress', { value: '169.254.169.254' });
      led = socket;
    };
    subscribe('net.client.socket', lead);
    try {
      await expect(connect(OPEN)).rejects.toThrow(/led to 169\.254\.169\.254, which is not public \(linkLocal\)/);
      expect(led).toMatchObject({ destroyed: true });
    } finally {
      unsubscribe('net.client.socket', lead);
    }
  });

  it('that is closed as soon as it is open is a broken one', async () => {
    const kill = (message: unknown): void => {
      const { socket } = message as { socket: Socket }; // what Node says of a new client socket
      socket.prependListener('connect', () => socket.destroy());
    };
    subscribe('net.client.socket', kill);
    try {
      await expect(connect(OPEN)).rejects.toMatchObject({
        code: 'ECONNRESET',
        message: 'closed as soon as it was open',
      });
    } finally {
      unsubscribe('net.client.socket', kill);
    }
  });
});

describe('an address', () => {
  it.each([
    ['no address', 'is not an IP address'],
    ['10.0.0.1', 'is not public (private)'],
    ['2a00:1450::1%eth0', 'has a zone, which no public address has'],
    ['2a00:1450::5efe:a00:1', 'is not public (isatap)'],
    ['2a00:1450::200:5efe:a00:1', 'is not public (isatap)'],
    ['2a00:1450::300:5efe:a00:1', null],
    ['2a00:1450::1', null],
    ['8.8.8.8', null],
  ])('%s: %s', (address, expected) => {
    expect(addressRefusal(address, false)).toBe(expected);
  });
});

describe('a URL', () => {
  const said = (url: string, change: Partial<OutboundPolicy> = {}): string => {
    try {
      checkUrl(url, { ...CLOSED, ...change });
    } catch (error) {
      return (error as Error).message.replace('The notification URL ', '');
    }
    return 'allowed';
  };
  const long = (length: number): string => `https://shop.example/${'x'.repeat(length - 21)}`;

  it.each([
    [long(2048), 'allowed'],
    [long(2049), 'is longer than 2048 characters.'],
    ['https://u@shop.example/', 'has a user name or a password; remove it.'],
    ['https://:p@shop.example/', 'has a user name or a password; remove it.'],
    ['https://@shop.example/', 'has a user name or a password; remove it.'],
    ['https://shop.example/x@y', 'allowed'],
    ['https://shop.example/?to=https://u@x', 'allowed'],
    ['https://shop.example:444/', 'uses port 444; allowed are 443, 8443.'],
    ['https://shop.example:8443/', 'allowed'],
    ['https://a..example/', 'has no name of a host.'],
    ['https://shop/', "names the host 'shop', which is this machine or its own network."],
    ['https://local/', "names the host 'local', which is this machine or its own network."],
    ['https://a.local/', "names the host 'a.local', which is this machine or its own network."],
    ['https://a.localhost/', "names the host 'a.localhost', which is this machine or its own network."],
    ['https://a.internal/', "names the host 'a.internal', which is this machine or its own network."],
    ['https://a.home.arpa/', "names the host 'a.home.arpa', which is this machine or its own network."],
    ['https://home.arpa/', "names the host 'home.arpa', which is this machine or its own network."],
    ['https://a.localdomain./', "names the host 'a.localdomain', which is this machine or its own network."],
    ['https://a.localdomain../', 'has no name of a host.'],
    ['https://2130706433127.0.0.1%2e%2e', 'has no name of a host.'],
    ['https://mylocal.example/', 'allowed'],
    ['https://[2a00:1450::1]/', 'allowed'],
    ['https://[::1]/', 'goes to ::1, which is not public (loopback).'],
  ])('%s: %s', (url, expected) => {
    expect(said(url)).toBe(expected);
  });

  it('to a plain address uses port 80 or one of those allowed', () => {
    const http = { allow_http: true };
    expect(said('http://shop.example/', http)).toBe('allowed');
    expect(said('http://shop.example:81/', http)).toContain('uses port 81');
    expect(said('http://shop.example:8443/', http)).toBe('allowed');
    expect(said('http://shop.example/')).toBe('does not start with https://.');
    expect(said('https://shop.example:80/', http)).toContain('uses port 80');
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
  ])('%s is our own when that is %s: %s', (url, own, expected) => {
    expect(said(url, { own_hosts: [own] })).toBe(expected ? "is Puente's own address." : 'allowed');
  });

  it('that leads to our own address by another name is refused when it is resolved', async () => {
    const own = { ...OPEN, own_hosts: ['127.0.0.1'] };
    await expect(connect(own)).rejects.toThrow("which resolves to 127.0.0.1, which is Puente's own.");
    await expect(
      connect({ ...OPEN, own_hosts: ['127.0.0.2'] }).then((socket) => socket.destroy()),
    ).resolves.toBeDefined();
    await expect(connect(own, '[127.0.0.1]')).rejects.toThrow("goes to 127.0.0.1, which is Puente's own.");
  });
});
