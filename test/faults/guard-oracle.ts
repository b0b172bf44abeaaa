/** Decides which addresses are public from the IANA registries and Node's lists only; shares no code with the guard. */
import { BlockList, isIPv4 } from 'node:net';

const V4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 ' +
  '192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 ' +
  '224.0.0.0/4 240.0.0.0/4';
const V6 = '2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20';

const special = new BlockList();
for (const range of V4.split(' ')) add(range, 'ipv4');
for (const range of V6.split(' ')) add(range, 'ipv6');
const global6 = new BlockList();
global6.addSubnet('2000::', 3, 'ipv6');

/** True for a globally routable address; an IPv4-mapped address counts as its IPv4 address. */
export function isPublic(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4');
  const mapped = /^::ffff:(?:(\d+\.\d+\.\d+\.\d+)|([0-9a-f]{1,4}):([0-9a-f]{1,4}))$/i.exec(address);
  if (mapped !== null) return isPublic(mapped[1] ?? dotted(mapped[2] ?? '', mapped[3] ?? ''));
  return global6.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

function dotted(high: string, low: string): string {
  const value = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
}

function add(range: string, family: 'ipv4' | 'ipv6'): void {
  const [network = '', bits = ''] = range.split('/');
  special.addSubnet(network, Number(bits), family);
}
