/** Says which network addresses an outgoing notice may connect to: only public unicast ones, however they are written. */
import ipaddr from 'ipaddr.js';

/** What `allow_private` opens. Link-local stays shut: that is where clouds keep their metadata service. */
const PRIVATE_RANGES: readonly string[] = ['loopback', 'private', 'uniqueLocal'];
/** An interface id that carries an IPv4 address (ISATAP): a tunnel on this machine would lead to that address. */
const ISATAP_IDS: readonly number[] = [0x0000, 0x0200];
const ISATAP_MARK = 0x5efe;
/** Global unicast as assigned by IANA; all else of IPv6 (mapped, compatible, NAT64, translated, local) is refused by default. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Why an address may not be connected to, in a few words; null when it may (`reliability.md` F113). */
export function addressRefusal(text: string, allow_private: boolean): string | null {
  const address = readAddress(text);
  if (address === null) return 'is not an IP address';
  const range = address.range();
  if (allow_private && PRIVATE_RANGES.includes(range)) return null;
  if (range !== 'unicast') return `is not public (${range})`;
  if (address instanceof ipaddr.IPv4) return null;
  if (!address.match(GLOBAL_IPV6)) return 'is not public (outside 2000::/3)';
  if (address.zoneId !== undefined) return 'has a zone, which no public address has';
  const [, , , , id = 0, mark] = address.parts;
  return mark === ISATAP_MARK && ISATAP_IDS.includes(id) ? 'is not public (isatap)' : null;
}

/** One spelling for each address, so that two can be compared; the text itself when it is no address. */
export function oneSpelling(text: string): string {
  return readAddress(text)?.toString() ?? text;
}

/** An IPv4-mapped address (`::ffff:10.0.0.1`) is judged as the IPv4 address that the connection would go to. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : null;
}
