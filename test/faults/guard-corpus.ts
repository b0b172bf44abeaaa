/** The corpus of `test/faults/README.md` F113–F116: URLs that merchants may configure, with the expected decision. */

/** Names and addresses that the policy under test counts as Puente's own. */
export const OWN_HOSTS = ['puente.example.com', 'puente.example.org:8443', '93.184.216.34'];

/** Addresses of every non-public IPv4 range, at the edges where a wrong mask shows. */
const INSIDE_V4 = [
  '0.0.0.0', // "this" network
  '0.255.255.255',
  '10.0.0.1', // private
  '10.255.255.255',
  '100.64.0.1', // carrier-grade NAT
  '100.127.255.254',
  '127.0.0.1', // loopback
  '127.255.255.254',
  '169.254.0.1', // link-local
  '169.254.169.254', // cloud metadata
  '172.16.0.1',
  '172.31.255.254',
  '192.0.0.1', // protocol assignments
  '192.0.2.1', // documentation
  '192.88.99.1', // 6to4 relays
  '192.168.0.1',
  '192.168.255.254',
  '198.18.0.1', // benchmarking
  '198.19.255.254',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1', // multicast
  '239.255.255.250',
  '240.0.0.1', // reserved
  '255.255.255.255', // broadcast
];

/** Every spelling of one IPv4 address in the URL standard, in URLs and inside IPv6 addresses. */
export function spellingsOf(address: string): string[] {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const value = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  const hex = (number: number): string => number.toString(16);
  const octal = (number: number): string => `0${number.toString(8)}`;
  const high = hex(value >>> 16);
  const low = hex(value & 0xffff);
  return [
    address,
    `${address}.`,
    String(value),
    `0x${hex(value)}`,
    octal(value),
    `0x${hex(a)}.${octal(b)}.${c}.0x${hex(d)}`,
    `${a}.${value & 0xffffff}`,
    `${a}.${b}.${value & 0xffff}`,
    `${octal(a)}.${octal(b)}.${octal(c)}.${octal(d)}`,
    `%3${String(a).charAt(0)}${String(a).slice(1)}.${b}.${c}.${d}`,
    `[::ffff:${address}]`,
    `[::ffff:${high}:${low}]`,
    `[0:0:0:0:0:FFFF:${high}:${low}]`,
    `[::${high}:${low}]`,
    `[64:ff9b::${high}:${low}]`,
    `[64:ff9b:1::${high}:${low}]`,
    `[2002:${high}:${low}::1]`,
    `[2001:0:${high}:${low}::1]`,
    `[::ffff:0:${high}:${low}]`,
    `[2606:4700::5efe:${high}:${low}]`,
  ];
}

const INSIDE_V6 = [
  '::',
  '::1',
  '0:0:0:0:0:0:0:1',
  '::8.8.8.8',
  '64:ff9b::808:808',
  '64:ff9b:1::808:808',
  '100::1',
  '2001::1',
  '2001:1::1',
  '2001:2::1',
  '2001:3::1',
  '2001:4:112::1',
  '2001:10::1',
  '2001:20::1',
  '2001:30::1',
  '2001:1ff::1',
  '2001:db8::1',
  '2002:808:808::1',
  '2620:4f:8000::1',
  '3fff::1',
  '3fff:fff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fdff:ffff::1',
  'fe80::1',
  'febf::1',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
  '2606:4700::200:5efe:a00:1',
];

const LOCAL_NAMES = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'localhost..',
  'till.localhost',
  '%6cocalhost',
  '%6C%6F%63%61%6C%68%6F%73%74',
  'localhost.localdomain',
  'printer.local',
  'PRINTER.LOCAL.',
  'metadata.google.internal',
  'router.home.arpa',
  'metadata',
  'redis',
  'ip6-localhost',
];

const OWN = [
  'https://puente.example.com/hook',
  'https://PUENTE.example.com./hook',
  'https://puente.example.com..:443/hook',
  'https://puente.example.com:8443/hook',
  'https://puente.example.org:8443/hook',
  'https://puente%2Eexample.com/hook',
  'https://93.184.216.34/hook',
  'https://0x5db8d822/hook',
  'https://[::ffff:93.184.216.34]/hook',
];

const SCHEMES = ['http', 'ftp', 'ftps', 'file', 'gopher', 'ldap', 'dict', 'sftp', 'tftp', 'ws', 'wss', 'jar', 'netdoc'];
const PORTS = [0, 1, 21, 22, 23, 25, 53, 80, 110, 143, 389, 445, 465, 587, 993, 1433, 2375, 3306, 5432, 6379, 8080];
const MORE_PORTS = [9200, 11211, 27017, 65535];

const ODD = [
  '',
  ' ',
  'example.com',
  'https://',
  'https:///',
  'https://%00/',
  'https://exa%00mple.com/',
  'https://exa mple.com/',
  'https://example.com:99999/',
  'https://example.com:4 43/',
  'https://[::1/',
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
  'https://256.256.256.256/',
  'https://1.2.3.4.5/',
  'https://0x/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'blob:https://example.com/x',
  'https://user:pw@example.com/',
  'https://user@example.com/',
  'https://:pw@example.com/',
  'https://@example.com/',
  'https:user@example.com/',
  'https://example.com@127.0.0.1/',
  'https://127.0.0.1@example.com/',
  'https://example.com%40127.0.0.1@10.0.0.1/',
  'https://example.com#@127.0.0.1/',
  'https://example.com/#x',
  'https://example.com/?a#',
  'https://example.com\\@127.0.0.1/',
  'https:\\\\127.0.0.1\\',
  'https://example.com/\r\nx-evil: 1',
  'https://example.com/\nHost: 127.0.0.1',
  'https://example.com/\t',
  'https://example.com/\u0000',
  'https://example.com/\u007f',
  'https://example.com/\u00a0',
  '\u0000https://example.com/',
  ' https://example.com/',
  'https://example.com/ ',
  'ht\ntps://example.com/',
  'https://exam\u0440le.com/',
  'https://\u0435xample.com/',
  'https://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460/',
  'https://\uff11\uff12\uff17.0.0.1/',
  'https://127\u30020\u30020\u30021/',
  'https://127\uff0e0\uff0e0\uff0e1/',
  'https://\u0661\u0662\u0667.0.0.1/',
  'https://loca\u217chost/',
  'https://\u24d5\u24de\u24de.example.com/',
  'https://example.com\u2028/',
  'https://example.com\ufeff/',
  'https://example.com\u200b/',
  'https://example.com\u202e/',
  `https://example.com/${'x'.repeat(2_048)}`,
  `https://example.com/?${'x'.repeat(8_192)}`,
  `https://${'a'.repeat(2_100)}.example.com/`,
];

/** Refused without resolving a name. */
export const REFUSED_URLS: readonly string[] = [
  ...INSIDE_V4.flatMap(spellingsOf).map((host) => `https://${host}/hook?key=canary`),
  ...INSIDE_V6.map((address) => `https://[${address}]:8443/hook`),
  ...LOCAL_NAMES.map((name) => `https://${name}/hook`),
  ...OWN,
  ...SCHEMES.map((scheme) => `${scheme}://example.com/hook`),
  ...[...PORTS, ...MORE_PORTS].map((port) => `https://example.com:${port}/hook`),
  ...ODD,
];

/** Names that look like a merchant's; only their resolved addresses decide. */
export const NAMED_URLS: readonly string[] = [
  'https://till.example.com/hook',
  'https://till.example.com./hook',
  'https://TILL.example.com/hook?key=1&topic=x',
  'https://till.example.com:8443/hook',
  'https://till.example.com:0443/hook',
  'https:till.example.com/hook',
  'https:///till.example.com/hook',
  'https://xn--exmple-cua.com/hook',
  'https://127.0.0.1.nip.example.com/hook',
  'https://10-0-0-1.example.net/hook',
  'https://169.254.169.254.example.org/hook',
  'https://localhost.example.com/hook',
  'https://a.b.c.d.e.f.example.com/hook',
  'https://with_underscore.example.com/hook',
  'https://1.2.3.4.example/hook',
  'https://example.com/http://127.0.0.1/',
  'https://example.com/?url=http://169.254.169.254/',
  'https://example.com/%0d%0aHost:%20127.0.0.1',
  'https://example.com/..%2f..%2f',
  'https://example.com/;@127.0.0.1/',
  'https://example.com:/:80',
  'https://%65xample.com/hook',
];

export const PUBLIC_URLS: readonly { url: string; address: string }[] = [
  { url: 'https://8.8.8.8/hook', address: '8.8.8.8' },
  { url: 'https://134744072/hook', address: '8.8.8.8' },
  { url: 'https://0x08080808/hook', address: '8.8.8.8' },
  { url: 'https://[::ffff:8.8.8.8]/hook', address: '::ffff:808:808' },
  { url: 'https://9.255.255.255/hook', address: '9.255.255.255' },
  { url: 'https://11.0.0.0:8443/hook', address: '11.0.0.0' },
  { url: 'https://100.63.255.255/hook', address: '100.63.255.255' },
  { url: 'https://100.128.0.0/hook', address: '100.128.0.0' },
  { url: 'https://172.15.255.255/hook', address: '172.15.255.255' },
  { url: 'https://172.32.0.0/hook', address: '172.32.0.0' },
  { url: 'https://223.255.255.255/hook', address: '223.255.255.255' },
  { url: 'https://[2606:4700::1111]/hook', address: '2606:4700::1111' },
  { url: 'https://[2a00:1450:4001::1]:8443/hook', address: '2a00:1450:4001::1' },
];
