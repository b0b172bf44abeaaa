/** Reads requests: strict where a guess could cost money, else tolerant (`docs/architecture.md` Decision 12). */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type BodyFault, legacyHeaders, readLegacyBody, readQuery } from '../../contract/legacy-body.ts';
import { PuenteError } from '../../error.ts';
import { createLru } from '../concurrency.ts';
import { slotOf } from '../sales/link.ts';
import { Secret } from '../vault.ts';

/** Longest accepted token; real ones have about 80 characters. */
const MAX_TOKEN = 512;

/** Token of `Authorization`, else the query (old tills), else `X-Access-Token`; one object per token, as cache key. */
export function readToken(request: IncomingMessage): Secret | null {
  const read = (request as Read)[TOKEN];
  if (read !== undefined) return read;
  const token = tokenOf(request);
  (request as Read)[TOKEN] = token;
  return token;
}

/** Property of the request, for the reason at `CALL` (`exchange.ts`). */
const TOKEN = Symbol('token');
type Read = IncomingMessage & { [TOKEN]?: Secret | null };

function tokenOf(request: IncomingMessage): Secret | null {
  const header = /^Bearer[ ]+([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const own = request.headers['x-access-token'];
  const text =
    header ?? new URLSearchParams(queryText(request)).get('access_token') ?? (own === undefined ? '' : String(own));
  return text === '' || text.length > MAX_TOKEN || !/^[\x21-\x7e]+$/.test(text) ? null : secretOf(text);
}

/** Tokens cached in memory: more than a fleet has in use, about two megabytes. */
const KNOWN_TOKENS = 10_000;
const secrets = createLru<Secret>(KNOWN_TOKENS);

function secretOf(text: string): Secret {
  const known = secrets.get(text);
  if (known !== undefined) return known;
  const secret = new Secret(text);
  secrets.set(text, secret);
  return secret;
}

/** True for a token in the query, which the legacy lane proxies unchanged. */
export function hasQueryToken(request: IncomingMessage): boolean {
  return new URLSearchParams(queryText(request)).has('access_token');
}

/** Path in its plain spelling and query as received, without the token: identifies a retry, and may be logged. */
export function scrubbedTarget(request: IncomingMessage): string {
  const [path = '', query] = plainTarget(request.url ?? '').split('?', 2);
  if (query === undefined) return path;
  const kept = query.split('&').filter((part) => part !== '' && !isToken(part));
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}

/** In any spelling: `access%5Ftoken` is the token too. */
function isToken(part: string): boolean {
  const [written = ''] = part.split('=', 1);
  const [name = ''] = written.includes('%') ? new URLSearchParams(written).keys() : [written];
  return name.toLowerCase() === 'access_token';
}

/**
 * The query as single values, without the token; null when a parameter is repeated, which is ambiguous
 * (`test/faults/README.md` F87).
 */
export function singleQuery(request: IncomingMessage): Record<string, string> | null {
  const text = queryText(request);
  if (text === '') return {};
  const parameters = [...readQuery(text)].filter(([name]) => name !== 'access_token');
  const values = Object.fromEntries(parameters);
  return Object.keys(values).length < parameters.length ? null : values;
}

/**
 * Headers with one value each; Node has joined repeated ones, or dropped them where one counts. An empty one counts as
 * absent: an idempotency key without a value would make equal sales, and all refunds of a payment, one.
 */
export function singleHeaders(request: IncomingMessage): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string' && value !== '') values[name] = value;
  }
  return values;
}

/**
 * Reads the whole body and puts it back, so that it can still be proxied; a longer one is refused before more is
 * buffered.
 * @throws PuenteError refused with the legacy error `too_large`; bad_request when the client disconnects.
 */
export async function peekBody(request: IncomingMessage, limit_bytes: number): Promise<Buffer> {
  const body = await peekUpTo(request, limit_bytes);
  if (body === null) throw refusal('too_large');
  return body;
}

/**
 * Reads a body up to a limit and puts every byte back.
 * @returns null when it is longer than the limit; then at most the limit and one chunk are in memory.
 * @throws PuenteError bad_request when the client disconnects.
 */
export async function peekUpTo(request: IncomingMessage, limit_bytes: number): Promise<Buffer | null> {
  const declared = Number(request.headers['content-length'] ?? Number.NaN);
  if (declared > limit_bytes) return null;
  if (declared === 0) return Buffer.alloc(0);
  sendContinue(request);
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= limit_bytes && length !== declared) {
    const chunk = request.read() as Buffer | null; // no encoding is set on this stream
    if (chunk !== null) {
      chunks.push(chunk);
      length += chunk.length;
    } else if (request.readableEnded || request.complete) break;
    else await readable(request);
  }
  const body = Buffer.concat(chunks);
  // Before its `end` event the stream accepts the bytes back, with a declared length or in chunks.
  if (length > 0 && !request.readableEnded) request.unshift(body);
  return length > limit_bytes ? null : body;
}

/** @param limit_bytes decompressed. @throws PuenteError refused with `bad_json`, `unsupported_media` or `too_large`. */
export function parseBody(body: Buffer, headers: IncomingHttpHeaders, limit_bytes: number): unknown {
  const read = readLegacyBody(body, headers, limit_bytes);
  if (read.fault !== undefined) throw refusal(read.fault);
  return read.value;
}

function refusal(name: BodyFault): PuenteError {
  return new PuenteError('refused', `The body was refused: ${name}`, { facts: { error: name } });
}

function queryText(request: IncomingMessage): string {
  const url = request.url ?? '';
  const mark = url.indexOf('?');
  return mark === -1 ? '' : url.slice(mark + 1);
}

function readable(request: IncomingMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    const proceed = (): void => {
      request.off('readable', proceed).off('end', proceed).off('close', closed);
      resolve();
    };
    const closed = (): void => {
      request.off('readable', proceed).off('end', proceed);
      reject(new PuenteError('bad_request', 'The client went away before its request was complete'));
    };
    // A client that has disconnected already causes no more events.
    if (request.destroyed) return closed();
    request.once('readable', proceed).once('end', proceed).once('close', closed);
  });
}

// Checks of a request's head: ambiguous heads are refused at every door, and hop-by-hop headers are not sent on.

/** Fault of a head; also its label in the metrics. */
export type HeadFault =
  | 'method'
  | 'target'
  | 'too_many_headers'
  | 'repeated_header'
  | 'transfer_encoding'
  | 'connection'
  | 'method_override';

/**
 * An origin-form target (`takeAbsoluteForm` converts absolute ones; F78). No path has `\` or `#`, and servers read them
 * in three different ways. Node's parser refuses bytes beyond ASCII (LIM-77).
 */
const TARGET = /^\/[\x21\x22\x24-\x3e\x40-\x5b\x5d-\x7e]*(\?[\x21-\x7e]*)?$/;
/** A till sends about ten; a proxy in front of Puente adds as many. */
const MAX_HEADERS = 100;
/** Headers that are ambiguous when repeated (F79). */
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
 * Replaces an absolute-form target by its path. Clients that use a proxy send this form, and a server takes its host
 * for the `Host` header (RFC 9112 §3.2.2), so that one host is left. With user information, a fragment or another
 * scheme the target stays, and is refused.
 */
export function takeAbsoluteForm(request: IncomingMessage): void {
  const [, host, target = ''] = ABSOLUTE.exec(request.url ?? '') ?? [];
  if (host === undefined) return;
  request.url = target.startsWith('/') ? target : `/${target}`;
  request.headers.host = host;
}
const ABSOLUTE = /^https?:\/\/((?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?)([/?].*)?$/i;

/** Why two servers could read the request differently; null for a sound one (`test/faults/README.md` F78–F83, F88). */
export function headFault(request: IncomingMessage): HeadFault | null {
  if (request.method === 'TRACE') return 'method'; // it would echo a token (`test/faults/README.md` F88)
  if (!TARGET.test(request.url ?? '') && !isAboutServer(request)) return 'target';
  if (request.rawHeaders.length > MAX_HEADERS * 2) return 'too_many_headers';
  if (repeatsHeader(request.rawHeaders)) return 'repeated_header';
  if (!isFramedPlainly(request)) return 'transfer_encoding';
  if (namedForThisHop(request).some((name) => SINGLE.has(name))) return 'connection';
  return isMethodOverridden(request) ? 'method_override' : null;
}

/** `OPTIONS *` requests what the server can do, for any path. */
function isAboutServer({ method, url }: IncomingMessage): boolean {
  return method === 'OPTIONS' && url === '*';
}

/** True for a lower-case name that servers could read as a single header or token: some read `_` as `-` (F82). */
export function readsAsSingle(name: string): boolean {
  const plain = name.replaceAll('_', '-');
  return SINGLE.has(plain) || plain === 'x-access-token';
}

/** Of one hop alone (RFC 9110 §7.6.1), with those of an upgrade or an interim answer. */
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
/** With the headers that frame the message, which each hop writes anew. */
const OF_THIS_HOP: ReadonlySet<string> = new Set(['connection', 'transfer-encoding', ...HOP_BY_HOP]);

/** True for a header of one connection only. @param name lower case. */
export function isOfThisHop(name: string): boolean {
  return OF_THIS_HOP.has(name);
}

/**
 * Removes headers that must not be sent on: hop-by-hop ones, and doubles of single headers spelled with underscores,
 * which some servers read as the same (`test/faults/README.md` F82). Of `connection`, `close` and `keep-alive` stay,
 * because the answer's own depends on it.
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

/** The console's session must not leave this installation, and browsers send cookies to every port of a host. */
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

/** True for no coding but `chunked`: servers that disagree on another one allow request smuggling (F81). */
function isFramedPlainly({ headers, httpVersion }: IncomingMessage): boolean {
  const encoding = headers['transfer-encoding'];
  if (encoding === undefined) return true;
  return encoding.trim().toLowerCase() === 'chunked' && httpVersion !== '1.0';
}

/** Names in `Connection` other than `close` and `keep-alive`, lower case. */
export function namedForThisHop({ headers }: IncomingMessage): string[] {
  const { connection } = headers;
  if (connection === undefined) return [];
  const names = connection.split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== '' && name !== 'close' && name !== 'keep-alive');
}

/** True when a header names another method: Puente and legacy could read the call as different ones. */
function isMethodOverridden({ headers, method }: IncomingMessage): boolean {
  return OVERRIDES.some((name) => {
    const value = headers[name];
    return value !== undefined && String(value).trim().toUpperCase() !== method;
  });
}

// `Expect: 100-continue`: a client holds its body back until it gets a 100 (RFC 9110 §10.1.1).

/** Property of the request, as `TOKEN` is. */
const HELD = Symbol('held back');
type Held = IncomingMessage & { [HELD]?: ServerResponse };

/** Notes that the client waits for a 100, or for a final answer instead. */
export function noteHeldBack(request: IncomingMessage, response: ServerResponse): void {
  (request as Held)[HELD] = response;
}

/** True while the client waits for a 100. */
export function isHeldBack(request: IncomingMessage): boolean {
  return (request as Held)[HELD] !== undefined;
}

/** Sends the 100, once; does nothing for a client that does not wait. */
export function sendContinue(request: IncomingMessage): void {
  const response = (request as Held)[HELD];
  delete (request as Held)[HELD];
  if (response !== undefined && !response.headersSent && !response.destroyed) response.writeContinue();
}

// Unknown headers: neither translated, nor ordinary ones of clients and proxies.

/** Sent by HTTP clients, and by proxies on the way; lower case. */
const ORDINARY: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'authorization',
  'baggage',
  'cache-control',
  'cdn-loop',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'date',
  'dnt',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'origin',
  'pragma',
  'priority',
  'proxy-connection',
  'referer',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade-insecure-requests',
  'user-agent',
  'via',
  'x-access-token',
  'x-amzn-trace-id',
  'x-correlation-id',
  'x-real-ip',
  'x-request-id',
  'x-requested-with',
]);
/** Prefixes of such headers. */
const ORDINARY_STARTS = ['if-', 'sec-', 'x-forwarded-', 'cf-'];
/** Each has a row in the headers tables; the proofs at the start check that. */
const TRANSLATED: ReadonlySet<string> = new Set(Object.keys(legacyHeaders.shape));

/** Headers of translated calls that do not reach the order, and are therefore reported. @param names lower case. */
export function unknownHeaderNames(names: readonly string[]): string[] {
  return names.filter(
    (name) => !ORDINARY.has(name) && !TRANSLATED.has(name) && !ORDINARY_STARTS.some((start) => name.startsWith(start)),
  );
}

// Paths: their plain spelling, and the values that they name.

/** What the plain spelling removes or decodes. */
const SPELLED = /\/\/|\/\.(?=\/|$)|%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/i;
const ESCAPED_PLAIN = /%(?:2d|2e|5f|7e|3[0-9]|[46][1-9a-f]|[57][0-9a])/gi;

/**
 * The plain spelling of a target, the same path for every server (RFC 3986 §6.2.2): no empty segments, no dot segments,
 * no escapes of characters that need none. A till whose base URL ends with a slash sends `//point/…`.
 * @param target path and query as received; the query stays as it is.
 */
export function plainTarget(target: string): string {
  const mark = target.indexOf('?');
  const path = mark === -1 ? target : target.slice(0, mark);
  if (!SPELLED.test(path)) return target;
  const unescaped = path.replace(ESCAPED_PLAIN, (one) => String.fromCharCode(Number.parseInt(one.slice(1), 16)));
  const plain = unescaped.replaceAll(/(?:\/\.(?=\/|$)|\/(?=\/))/g, '');
  return (plain === '' ? '/' : plain) + (mark === -1 ? '' : target.slice(mark));
}

/** Allowed values of a path parameter, before it reaches a table or a path (`test/faults/README.md` F76). */
const PATH_VALUE = /^[A-Za-z0-9_-]{1,64}$/;

/** True for a value that may become part of a path. */
export function isPathValue(value: string): boolean {
  return PATH_VALUE.test(value);
}

/** The slot of the unit that the values of a path name; null when they name none. */
export function slotNamed({ device_id, external_pos_id }: Record<string, string>): string | null {
  const [family, unit] = device_id === undefined ? (['qr', external_pos_id] as const) : (['point', device_id] as const);
  return unit !== undefined && isPathValue(unit) ? slotOf(family, unit) : null;
}
