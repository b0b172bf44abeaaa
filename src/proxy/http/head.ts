/** Strictness over a request's head: what would leave a guess is refused at every door, and what is meant for one hop goes no further. */
import type { IncomingMessage } from 'node:http';

/** What is wrong with a head; also the label under which it is counted. */
export type HeadFault =
  | 'method'
  | 'target'
  | 'too_many_headers'
  | 'repeated_header'
  | 'transfer_encoding'
  | 'connection'
  | 'method_override';

/**
 * A path of this server, once an absolute form has been made one (`takeAbsoluteForm`; F78). No path has `\` or `#` in it, and
 * servers read them as three different ones. Bytes beyond ASCII don't come so far: Node's parser refuses them (LIM-77).
 */
const TARGET = /^\/[\x21\x22\x24-\x3e\x40-\x5b\x5d-\x7e]*(\?[\x21-\x7e]*)?$/;
/** A till sends about ten, a proxy in front of it adds as many. */
const MAX_HEADERS = 100;
/** Headers of which a second one would leave open which one counts (F79). */
const SINGLE: ReadonlySet<string> = new Set([
  'host',
  'authorization',
  'content-type',
  'content-length',
  'transfer-encoding',
  'x-idempotency-key',
]);
const OVERRIDES = ['x-http-method-override', 'x-http-method', 'x-method-override'] as const;

/**
 * Makes a target in absolute form the path that it names. Clients that were told of a proxy send it so, and a server takes the
 * host that it names for the `Host` header (RFC 9112 §3.2.2): one host is left, and nothing to guess. With user information,
 * a fragment or another scheme it stays as it is, and is refused.
 */
export function takeAbsoluteForm(request: IncomingMessage): void {
  const [, host, target = ''] = ABSOLUTE.exec(request.url ?? '') ?? [];
  if (host === undefined) return;
  request.url = target.startsWith('/') ? target : `/${target}`;
  request.headers.host = host;
}
const ABSOLUTE = /^https?:\/\/((?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)([/?].*)?$/i;

/** What makes a request one that two readers could read in two ways; null for a sound one (`reliability.md` F78–F83, F88). */
export function headFault(request: IncomingMessage): HeadFault | null {
  if (request.method === 'TRACE') return 'method'; // it would echo a token (`reliability.md` F88)
  if (!TARGET.test(request.url ?? '') && !isAboutServer(request)) return 'target';
  if (request.rawHeaders.length > MAX_HEADERS * 2) return 'too_many_headers';
  if (repeatsHeader(request.rawHeaders)) return 'repeated_header';
  if (!isFramedPlainly(request)) return 'transfer_encoding';
  if (namedForThisHop(request).some((name) => SINGLE.has(name))) return 'connection';
  return isMethodOverridden(request) ? 'method_override' : null;
}

/** What the server can do, whatever the path. */
function isAboutServer({ method, url }: IncomingMessage): boolean {
  return method === 'OPTIONS' && url === '*';
}

/**
 * Whether a reader could take a header for one that counts once, or for a token: some servers read `_` as `-` (`reliability.md`
 * F82). @param name lower case.
 */
export function readsAsSingle(name: string): boolean {
  const plain = name.replaceAll('_', '-');
  return SINGLE.has(plain) || plain === 'x-access-token';
}

/** Of one hop alone (RFC 9110 §7.6.1), with what an upgrade or an interim answer would need. */
const HOP_BY_HOP = [
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'te',
  'trailer',
  'upgrade',
  'http2-settings',
  'expect',
] as const;
/** With what frames the message, which whoever sends it on does anew. */
const OF_THIS_HOP: ReadonlySet<string> = new Set(['connection', 'transfer-encoding', ...HOP_BY_HOP]);

/** It says something of the connection that it came on, and of no other. @param name lower case. */
export function isOfThisHop(name: string): boolean {
  return OF_THIS_HOP.has(name);
}

/**
 * Takes out of a request's headers what must not be carried on: those of this hop alone, and doubles of headers that only
 * count once, spelled with underscores, which some servers read as the same (`reliability.md` F82). Of `connection`,
 * `close` and `keep-alive` stay, because the answer's own depends on it.
 */
export function dropHopByHop(request: IncomingMessage): void {
  const { headers } = request;
  for (const name of namedForThisHop(request)) delete headers[name];
  for (const name of HOP_BY_HOP) delete headers[name];
  for (const name of Object.keys(headers)) {
    if (name.includes('_') && readsAsSingle(name)) delete headers[name];
  }
  dropOwnCookies(headers);
  const { connection } = headers;
  if (connection !== undefined) headers.connection = /(^|,)\s*close\s*(,|$)/i.test(connection) ? 'close' : 'keep-alive';
}

/** Browsers send cookies to every port of a host: the console's session is nobody's beyond this installation. */
function dropOwnCookies(headers: IncomingMessage['headers']): void {
  if (headers.cookie === undefined) return;
  const others = headers.cookie.split(';').filter((one) => !one.trimStart().startsWith('puente_'));
  if (others.length === 0) delete headers.cookie;
  else headers.cookie = others.join(';').trim();
}

function repeatsHeader(raw: readonly string[]): boolean {
  const seen = new Set<string>();
  for (let index = 0; index < raw.length; index += 2) {
    const name = (raw[index] ?? '').toLowerCase();
    if (!SINGLE.has(name)) continue;
    if (seen.has(name)) return true;
    seen.add(name);
  }
  return false;
}

/** `chunked` and nothing else: what another server takes for it, or does not, is how requests are smuggled (F81). */
function isFramedPlainly({ headers, httpVersion }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return true;
  return encoding.trim().toLowerCase() === 'chunked' && httpVersion !== '1.0';
}

/** What `Connection` lists beside its own two words, lower case. */
export function namedForThisHop({ headers }: IncomingMessage): string[] {
  const { connection } = headers;
  if (connection === undefined) return [];
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== '' && name !== 'close' && name !== 'keep-alive');
}

/** A method in a header that is not the request's own: the door and legacy could take the call for different ones. */
function isMethodOverridden({ headers, method }: IncomingMessage): boolean {
  return OVERRIDES.some((name) => {
    const value = headers[name];
    return value !== undefined && String(value).trim().toUpperCase() !== method;
  });
}
