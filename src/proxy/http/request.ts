/** Reading a legacy request: strict where a guess could cost money, tolerant where legacy was (DESIGN decision 12). */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type BodyFault, readLegacyBody, readQuery } from '../../contract/legacy-body.ts';
import { PuenteError } from '../../error.ts';
import { createRecent } from '../recent.ts';
import { Secret } from '../secret.ts';
import { askForBody } from './expect.ts';
import { plainTarget } from './legacy-route.ts';

/** Longest token that is looked at; the vendor's are about 80 characters. */
const MAX_TOKEN = 512;

/**
 * The token of a request: from `Authorization`, or lifted from the query, where old tills put it, or from `X-Access-Token`, in
 * this order; null without one. The same object each time, so that what is made of it is made once.
 */
export function readToken(request: IncomingMessage): Secret | null {
  const read = (request as Read)[TOKEN];
  if (read !== undefined) return read;
  const token = tokenOf(request);
  (request as Read)[TOKEN] = token;
  return token;
}

/** On the request itself, as its call is (`ongoing.ts`). */
const TOKEN = Symbol('token');
type Read = IncomingMessage & { [TOKEN]?: Secret | null };

function tokenOf(request: IncomingMessage): Secret | null {
  const header = /^Bearer[ ]+([\x21-\x7e]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  const own = request.headers['x-access-token'];
  const text =
    header ?? new URLSearchParams(queryText(request)).get('access_token') ?? (own === undefined ? '' : String(own));
  return text === '' || text.length > MAX_TOKEN || !/^[\x21-\x7e]+$/.test(text) ? null : secretOf(text);
}

/** Tokens remembered, in memory alone: more than a fleet has in use, some two megabytes of them. */
const KNOWN_TOKENS = 10_000;
const secrets = createRecent<Secret>(KNOWN_TOKENS);

/** The same object for the same token, so that what is made of it is made once for all its calls. */
function secretOf(text: string): Secret {
  const known = secrets.get(text);
  if (known !== undefined) return known;
  const secret = new Secret(text);
  secrets.set(text, secret);
  return secret;
}

/** The token stands in the query, where it goes on as it came on the legacy lane. */
export function hasQueryToken(request: IncomingMessage): boolean {
  return new URLSearchParams(queryText(request)).has('access_token');
}

/**
 * Path, in its plain spelling, and query as it came, without a token: what a retry is recognised by, and what logs may show.
 */
export function scrubbedTarget(request: IncomingMessage): string {
  const [path = '', query] = plainTarget(request.url ?? '').split('?', 2);
  if (query === undefined) return path;
  const kept = query.split('&').filter((part) => part !== '' && !isToken(part));
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}

/** However its name is spelled: `access%5Ftoken` is the same one. */
function isToken(part: string): boolean {
  const [written = ''] = part.split('=', 1);
  const [name = ''] = written.includes('%') ? new URLSearchParams(written).keys() : [written];
  return name.toLowerCase() === 'access_token';
}

/** True when a parameter was given twice, so that nobody knows which one counts (`reliability.md` F87). The token is none. */
export function repeatsParameter(request: IncomingMessage): boolean {
  const names = parameters(request).map(([name]) => name);
  return new Set(names).size < names.length;
}

/** The query as single values; the token is not among them. */
export function singleQuery(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(parameters(request));
}

function parameters(request: IncomingMessage): [string, string][] {
  const text = queryText(request);
  return text === '' ? [] : [...readQuery(text)].filter(([name]) => name !== 'access_token');
}

/** Headers with one value each; Node has joined or dropped repeats of those that only count once. */
export function singleHeaders(request: IncomingMessage): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === 'string') values[name] = value;
  }
  return values;
}

/**
 * Reads the whole body and puts it back, so that the request can still be carried.
 * @param limit_bytes refused as soon as it is known to be passed, before anything is buffered beyond it.
 * @throws PuenteError refused with the legacy error `too_large`; bad_request when the client goes away.
 */
export async function peekBody(request: IncomingMessage, limit_bytes: number): Promise<Buffer> {
  const body = await peekUpTo(request, limit_bytes);
  if (body === null) throw refusal('too_large');
  return body;
}

/**
 * Looks at a body that may be carried afterwards: whatever was read is put back, so that not a byte is lost.
 * @returns null when it is longer than the limit; then at most the limit and one chunk stand in memory.
 * @throws PuenteError bad_request when the client goes away.
 */
export async function peekUpTo(request: IncomingMessage, limit_bytes: number): Promise<Buffer | null> {
  const declared = Number(request.headers['content-length'] ?? Number.NaN);
  if (declared > limit_bytes) return null;
  if (declared === 0) return Buffer.alloc(0);
  askForBody(request);
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
  // Before its end was told the stream takes the bytes back, whether their length was declared or they came in chunks.
  if (length > 0 && !request.readableEnded) request.unshift(body);
  return length > limit_bytes ? null : body;
}

/**
 * Parses the body of a legacy request (`contract/legacy-body.ts`).
 * @param limit_bytes most that a packed body may grow to.
 * @throws PuenteError refused with `bad_json`, `unsupported_media` or `too_large`.
 */
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
    const settle = (): void => {
      request.off('readable', settle).off('end', settle).off('close', closed);
      resolve();
    };
    const closed = (): void => {
      request.off('readable', settle).off('end', settle);
      reject(new PuenteError('bad_request', 'The client went away before its request was complete'));
    };
    // One that went while something else was asked tells no more of it.
    if (request.destroyed) return closed();
    request.once('readable', settle).once('end', settle).once('close', closed);
  });
}
