/** The outbound URL guard: which URLs a notice may go to, checked again at connect time. */
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { PuenteError, type Spoken } from '../../error.ts';
import { say } from '../../locales/message.ts';
import { publicResolver, type Resolve, systemResolver } from './resolve.ts';

/** Which URLs of receivers may be called. */
export interface OutboundPolicy {
  /** Allows plain http, loopback, private addresses and every port: for a sandbox or a closed network. */
  allow_private: boolean;
  /** Allows plain http to public addresses, on port 80 or one of `ports`. */
  allow_http: boolean;
  /** Allowed ports, 443 and 8443 by default. */
  ports: number[];
  /**
   * Puente's own public names and addresses, as `host` or `host:port`: a notice to Puente would loop. An entry without
   * a port is also refused as the address of another name.
   */
  own_hosts: string[];
}

/** The limit of common browsers and servers. */
const MAX_URL_CHARACTERS = 2048;

/**
 * Checks a URL before its name is resolved, in its parsed form: the URL standard writes `0x7f.1`, `2130706433` and the
 * like in one way (`test/faults/README.md` F113, F116).
 * @throws PuenteError blocked_address, with a sentence that says what to change.
 */
export function checkUrl(text: string, policy: OutboundPolicy): URL {
  if (text.length > MAX_URL_CHARACTERS) throw blocked(say('url.long', { most: MAX_URL_CHARACTERS }));
  if (!PRINTABLE_ASCII.test(text)) throw blocked(say('url.not_ascii', {}));
  if (text.includes('\\')) throw blocked(say('url.backslash', {}));
  if (text.includes('#')) throw blocked(say('url.fragment', {}));
  const url = URL.parse(text);
  if (url === null) throw blocked(say('url.none', {}));
  const plain = url.protocol === 'http:' && (policy.allow_private || policy.allow_http);
  if (url.protocol !== 'https:' && !plain) throw blocked(say('url.not_https', {}));
  if (url.username !== '' || url.password !== '' || AUTHORITY_WITH_USER.test(text)) throw blocked(say('url.user', {}));
  const port = portOf(url);
  const isPlainPort = plain && port === 80;
  if (!policy.allow_private && !isPlainPort && !policy.ports.includes(port))
    throw blocked(say('url.port', { port, allowed: policy.ports.join(', ') }));
  const host = hostOf(url);
  if (isOwn(host, port, policy)) throw blocked(say('url.own', {}));
  if (host === '' || EMPTY_LABEL.test(host)) throw blocked(say('url.no_host', {}));
  if (!policy.allow_private && isLocalName(host)) throw blocked(say('url.local', { host }));
  const cause = isIP(host) === 0 ? null : addressRefusal(host, policy.allow_private);
  if (cause !== null) throw blocked(say('url.goes_to', { host, cause }));
  return url;
}
const PRINTABLE_ASCII = /^[\x21-\x7e]+$/;
/** The URL parser takes `127.0.0.1..` for a name. */
const EMPTY_LABEL = /^\.|\.\.|\.$/;
const AUTHORITY_WITH_USER = /^[a-z]+:\/*[^/?]*@/i;

/** An undici connector that checks every address of the lookup, an IP literal, and the peer of the socket (F114). */
export function guardedConnector(
  policy: OutboundPolicy,
  connect_timeout_ms: number,
  resolve: Resolve = policy.allow_private ? systemResolver : publicResolver(),
): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    timeout: connect_timeout_ms,
    lookup: guardedLookup(policy, resolve),
  });
  return (options, callback) => {
    const host = options.hostname.replace(/^\[|\]$/g, '');
    const cause = isIP(host) === 0 ? null : refusalOf(host, policy);
    if (cause !== null) return callback(blocked(say('url.goes_to', { host, cause })), null);
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null);
      const wrong = peerRefusal(socket, policy);
      if (wrong === null) return callback(null, socket);
      socket.destroy();
      callback(wrong, null);
    });
  };
}

/** Refuses the whole answer if one address is not allowed. */
function guardedLookup(policy: OutboundPolicy, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (found) => {
        const refusal = answerRefusal(hostname, found, policy);
        const [first] = found;
        if (refusal !== null || first === undefined)
          callback(refusal ?? blocked(say('url.no_address', { host: hostname })), '', 0);
        else if (options.all === true) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
}

function answerRefusal(hostname: string, found: LookupAddress[], policy: OutboundPolicy): PuenteError | null {
  for (const { address } of found) {
    const cause = refusalOf(address, policy);
    if (cause !== null) return blocked(say('url.resolves_to', { host: hostname, address, cause }));
  }
  return null;
}

/** A socket that its peer has already closed has no address to check. */
function peerRefusal({ remoteAddress }: Socket, policy: OutboundPolicy): Error | null {
  if (remoteAddress === undefined)
    return Object.assign(new Error('closed as soon as it was open'), { code: 'ECONNRESET' });
  const cause = refusalOf(remoteAddress, policy);
  return cause === null ? null : blocked(say('url.led_to', { address: remoteAddress, cause }));
}

function refusalOf(address: string, policy: OutboundPolicy): Spoken | null {
  const refusal = addressRefusal(address, policy.allow_private);
  if (refusal !== null) return refusal;
  const spelled = oneSpelling(address);
  return policy.own_hosts.some((own) => oneSpelling(own) === spelled) ? say('address.own', {}) : null;
}

function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

/** Without IPv6 brackets and the final dot: `localhost.` is `localhost`. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function isOwn(host: string, port: number, policy: OutboundPolicy): boolean {
  const spelled = oneSpelling(host);
  return policy.own_hosts.some((own) => {
    const name = own.toLowerCase();
    return (
      oneSpelling(name) === spelled ||
      name === host ||
      name === `${host}:${port}` ||
      name === `[${host}]:${port}` ||
      name === `[${host}]`
    );
  });
}

/** Never in the public DNS: RFC 6761, 6762, 8375, and ICANN's resolution of 2024 on `internal`. */
const LOCAL_ENDINGS = ['localhost', 'local', 'internal', 'home.arpa', 'localdomain'];

/** A name without a dot is resolved by the local search list. */
function isLocalName(host: string): boolean {
  if (isIP(host) !== 0) return false;
  return !host.includes('.') || LOCAL_ENDINGS.some((ending) => host === ending || host.endsWith(`.${ending}`));
}

/** Leaves out the URL, because merchants put keys into its query. */
function blocked(cause: Spoken): PuenteError {
  return new PuenteError('blocked_address', say('attempt.blocked', { cause }));
}

/** Ranges that `allow_private` allows. Link-local stays blocked: clouds have their metadata service there. */
const PRIVATE_RANGES: readonly string[] = ['loopback', 'private', 'uniqueLocal'];
/** Interface ids with an IPv4 address (ISATAP), to which a tunnel on this machine would lead. */
const ISATAP_IDS: readonly number[] = [0x0000, 0x0200];
const ISATAP_MARK = 0x5efe;
/** Global unicast as assigned by IANA; other IPv6 (mapped, compatible, NAT64, translated, local) is refused. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Why an address is not allowed; null when it is. Only public unicast is allowed (`test/faults/README.md` F113). */
export function addressRefusal(text: string, allow_private: boolean): Spoken | null {
  const address = readAddress(text);
  if (address === null) return say('address.none', {});
  const range = address.range();
  if (allow_private && PRIVATE_RANGES.includes(range)) return null;
  if (range !== 'unicast') return say('address.not_public', { range });
  if (address instanceof ipaddr.IPv4) return null;
  if (!address.match(GLOBAL_IPV6)) return say('address.not_public', { range: 'outside 2000::/3' });
  if (address.zoneId !== undefined) return say('address.zone', {});
  const [, , , , id = 0, mark] = address.parts;
  const is_isatap = mark === ISATAP_MARK && ISATAP_IDS.includes(id);
  return is_isatap ? say('address.not_public', { range: 'isatap' }) : null;
}

/** The normal form of an address, for comparison; any other text unchanged. */
function oneSpelling(text: string): string {
  return readAddress(text)?.toString() ?? text;
}

/** An IPv4-mapped address (`::ffff:10.0.0.1`) counts as its IPv4 address. */
function readAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | null {
  // Most texts are names, for each of which the library would make an error with its stack.
  if (isIP(text) === 0) return null;
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  return ipaddr.IPv6.isValid(text) ? ipaddr.process(text) : null;
}
