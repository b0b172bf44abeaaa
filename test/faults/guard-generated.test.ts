/** The guard against generated URLs: every accepted URL is public in each spelling, and public URLs are accepted. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addressRefusal, checkUrl, type OutboundPolicy } from '../../src/proxy/notices/guard.ts';
import { anyText } from '../any-text.ts';
import { spellingsOf } from './guard-corpus.ts';
import { isPublic } from './guard-oracle.ts';

/** Generated cases of each property; `npm run prove` sets more. */
const RUNS = Number(process.env.GUARD_RUNS ?? 2_000);
/** Only ends a test that hangs. */
const LONGEST_MS = Math.max(60_000, RUNS * 20);
const POLICY: OutboundPolicy = { allow_private: false, allow_http: false, ports: [443, 8443], own_hosts: [] };

function isTaken(url: string): boolean {
  try {
    checkUrl(url, POLICY);
    return true;
  } catch {
    return false;
  }
}

/** Half of the addresses are random, half lie at the edge of a range that is not public. */
const EDGES = [0, 0x0a, 0x64_40, 0x7f, 0xa9_fe, 0xac_10, 0xc0_00_00, 0xc0_00_02, 0xc0_a8, 0xc6_12, 0xcb_00_71, 0xe0];
const ipv4 = fc.oneof(
  fc.nat(0xff_ff_ff_ff),
  fc.tuple(fc.constantFrom(...EDGES), fc.integer({ min: -300, max: 70_000 })).map(([prefix, step]) => {
    const start = prefix * 256 ** (4 - Math.max(1, Math.ceil(Math.log2(prefix + 1) / 8)));
    return Math.min(Math.max(start + step, 0), 0xff_ff_ff_ff);
  }),
);
const dotted = ipv4.map((value) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.'));
const group = fc.oneof(
  fc.nat(0xffff),
  fc.constantFrom(0, 1, 0xffff, 0x64, 0xff9b, 0x2001, 0x2002, 0x5efe, 0xdb8, 0xfc00, 0xfe80),
);
const ipv6 = fc
  .array(group, { minLength: 8, maxLength: 8 })
  .map((groups) => groups.map((one) => one.toString(16)).join(':'));

it(
  'an IPv4 address is allowed exactly when it is public, in every spelling of it [F113]',
  () => {
    fc.assert(
      fc.property(dotted, fc.nat(19), (address, nth) => {
        expect(isTaken(`https://${address}/`), address).toBe(isPublic(address));
        const other = spellingsOf(address)[nth] ?? '';
        if (isTaken(`https://${other}/`)) expect(isPublic(address), `${other} is ${address}`).toBe(true);
      }),
      { numRuns: RUNS },
    );
  },
  LONGEST_MS,
);

it(
  'an IPv6 address that is allowed is public, and so is every IPv4 address in it [F113]',
  () => {
    fc.assert(
      fc.property(ipv6, (address) => {
        const host = URL.parse(`https://[${address}]/`)?.hostname.slice(1, -1) ?? '';
        const taken = isTaken(`https://[${address}]/`);
        expect(taken, address).toBe(isPublic(host) && !/^(?:[^:]*:){4}(?:0|200):5efe:/.test(address));
        expect(addressRefusal(address, false) === null, 'judged alike without a URL').toBe(taken);
      }),
      { numRuns: RUNS },
    );
  },
  LONGEST_MS,
);

const part = fc.constantFrom(
  ...['https:', 'http:', '//', '/', '\\', '@', ':', '#', '?', '.', '%', '[', ']', '::', 'user', '443', '22', '8443'],
  ...['127.0.0.1', '0x7f.1', '10.0.0.1', '[::1]', 'localhost', 'example.com', '2130706433', '%2e', '%40', '\t', '①'],
);

it(
  'any text is refused, or is an https URL with a name or a public address and an allowed port [F116]',
  () => {
    const text = fc.oneof(
      fc.array(part, { maxLength: 8 }).map((parts) => parts.join('')),
      fc.array(part, { maxLength: 8 }).map((parts) => `https://${parts.join('')}`),
      anyText({ maxLength: 60 }),
    );
    fc.assert(
      fc.property(text, (url) => {
        if (!isTaken(url)) return;
        const { protocol, port, username, password, hash, hostname } = new URL(url);
        expect({ protocol, username, password, hash }).toEqual({
          protocol: 'https:',
          username: '',
          password: '',
          hash: '',
        });
        expect(['', '8443']).toContain(port);
        const host = hostname.replace(/^\[|\]$/g, '');
        if (/^[\d.]+$|:/.test(host)) expect(isPublic(host), url).toBe(true);
        else expect(host).toMatch(/.\../);
      }),
      { numRuns: RUNS },
    );
  },
  LONGEST_MS,
);
