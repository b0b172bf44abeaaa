/** Proxies calls to the legacy upstream unchanged, streaming both ways (`docs/architecture.md` Decision 2). */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  type InformationEvent,
  type ServerResponse,
} from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { RequestHandler } from 'express';
import { createProxyMiddleware, debugProxyErrorsPlugin, proxyEventsPlugin } from 'http-proxy-middleware';
import type { Family } from '../../contract/legacy-errors.ts';
import type { Log } from '../log.ts';
import { refused, sendAnswer } from './answer.ts';
import { watchCall } from './exchange.ts';
import {
  dropHopByHop,
  hasQueryToken,
  isHeldBack,
  isOfThisHop,
  namedForThisHop,
  readsAsSingle,
  readToken,
  sendContinue,
} from './request.ts';

/** Longest silence of the legacy upstream; longer than any till waits. What is in front of Puente must wait longer. */
export const SILENCE_MS = 60_000;
/** Failures before there was a connection, so that legacy can't have received anything. */
const NOT_CONNECTED: readonly string[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
/** Interim answers (1xx) proxied per call; more could fill the memory while a till reads none of them. */
const MOST_HINTS = 16;

/** The proxy to the legacy upstream. */
export interface Passthrough {
  /** Sends the request to legacy and its answer back, both streaming. Answers itself when legacy gives no valid answer. */
  handler: RequestHandler;
  /** Closes the connections to legacy, calls in flight included. */
  close(): void;
}

/**
 * The library sends and pipes. Puente writes the heads of both directions, because the library joins repeated headers,
 * and nothing catches what Node throws when the library writes an invalid answer.
 * @param calls limit of admission: with fewer sockets one merchant's slow calls would delay the others here.
 */
export function createPassthrough(target: string, calls: number, log: Log): Passthrough {
  // Without a keep-alive agent the library opens a connection per request and is four times slower (measured).
  const options = { keepAlive: true, maxSockets: calls };
  const agent = target.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  /** Answers in place of an answer that can't be proxied, whose headers must not remain. */
  const refuseAnswer = (request: IncomingMessage, response: ServerResponse, cause: string): void => {
    log.warn('legacy answered what can not be passed on', { cause, lane: 'legacy' });
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.statusMessage = '';
    sendAnswer(response, refused(familyOf(request.url ?? ''), 'bad_answer'));
  };
  const handler = createProxyMiddleware({
    // As a string, it would be parsed twice for each call.
    target: new URL(target),
    changeOrigin: true,
    agent,
    // Without the default plugin that makes a URL and a log line for each call, even when nothing reads the line.
    ejectPlugins: true,
    plugins: [debugProxyErrorsPlugin, proxyEventsPlugin],
    proxyTimeout: SILENCE_MS,
    selfHandleResponse: true,
    on: {
      proxyReq: (onward, request, response) => {
        // Puente requests no upgrade; without a listener Node ends the connection and reports nothing.
        onward.once('upgrade', (_answer, socket) => {
          socket.on('error', () => undefined).destroy(); // Node no longer handles its errors
          refuseAnswer(request, response, 'it changes the protocol');
        });
        try {
          sendRequest(onward, request, response);
        } catch (error) {
          onward.destroy(error as Error); // answered by `error` below; Node throws nothing but errors
        }
      },
      proxyRes: (answer, request, response) => {
        if (response.destroyed || response.headersSent) return void answer.destroy();
        try {
          passAnswer(answer, request, response);
        } catch (error) {
          answer.destroy();
          refuseAnswer(request, response, (error as Error).message); // as above
        }
      },
      error: (error, request, response) => {
        log.warn('legacy upstream failed', { cause: error.message, lane: 'legacy' });
        if ('writeHead' in response) sendAnswer(response as ServerResponse, failure(error, request)); // not a socket
      },
    },
  });
  const proxy = handler as RequestHandler; // the library types its own request
  return {
    handler: (request, response, next) => {
      dropHopByHop(request);
      return proxy(request, response, next);
    },
    close: () => agent.destroy(),
  };
}

/** Writes the head of the request, and sets up its trailers and interim answers; nothing has been sent yet. */
function sendRequest(onward: ClientRequest, request: IncomingMessage, response: ServerResponse): void {
  writeHeaders(onward, request);
  liftToken(onward, request);
  if (request.url === '*') onward.path = '*'; // the library would send `/*`
  collectBehind(request);
  passTrailers(request, onward);
  let hints = 0;
  onward.on('information', (hint) => {
    if (hints++ < MOST_HINTS) passHint(hint, response);
  });
  if (!isHeldBack(request)) return;
  onward.once('continue', () => sendContinue(request));
  // Set here, because the library skips `proxyReq` for a request that has it.
  onward.setHeader('Expect', '100-continue');
  onward.flushHeaders();
}

/** Restores the case and the repetition of headers; one that the library changed or removed stays so. */
function writeHeaders(onward: ClientRequest, { rawHeaders, method }: IncomingMessage): void {
  const sent = linesOf(rawHeaders);
  for (const [key, { name, values }] of sent) {
    const value = onward.getHeader(key);
    if (value === undefined) continue;
    const is_untouched = value === values[0] || value === values.join(key === 'cookie' ? '; ' : ', ');
    onward.setHeader(name, !is_untouched ? value : values.length === 1 ? (values[0] ?? '') : values);
  }
  // The library adds `Content-Length: 0` to these, for a Node version that is no longer supported.
  if ((method === 'DELETE' || method === 'OPTIONS') && !sent.has('content-length'))
    onward.removeHeader('content-length');
  const trailer = sent.get('trailer');
  // Node throws for this header beside a length.
  if (trailer !== undefined && onward.hasHeader('transfer-encoding')) onward.setHeader(trailer.name, trailer.values);
}

/** Moves a token of `X-Access-Token`, never sent on, to `Authorization` (`docs/architecture.md` Decision 12). */
function liftToken(onward: ClientRequest, request: IncomingMessage): void {
  if (request.headers['x-access-token'] === undefined) return;
  onward.removeHeader('x-access-token');
  const token = readToken(request);
  const is_elsewhere = request.headers.authorization !== undefined || hasQueryToken(request);
  if (token !== null && !is_elsewhere) onward.setHeader('Authorization', `Bearer ${token.reveal()}`);
}

interface Lines {
  /** Spelling of the first line. */
  name: string;
  values: string[];
}

/** Header lines by name, lower case. */
function linesOf(raw: readonly string[]): Map<string, Lines> {
  const lines = new Map<string, Lines>();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] as string; // both are below the length
    const value = raw[index + 1] as string;
    const key = name.toLowerCase();
    const known = lines.get(key);
    if (known === undefined) lines.set(key, { name, values: [value] });
    else known.values.push(value);
  }
  return lines;
}

/** Call before the pipe is set, whose listener ends the message. Node omits trailers of a message without chunks. */
function passTrailers(from: IncomingMessage, to: ClientRequest | ServerResponse): void {
  const add = (): void => {
    const pairs: [string, string][] = [];
    for (const [key, { name, values }] of linesOf(from.rawTrailers)) {
      // A reader that merges trailers into headers would find another length, host or token in them.
      if (!readsAsSingle(key) && !isOfThisHop(key)) for (const value of values) pairs.push([name, value]);
    }
    if (pairs.length > 0) to.addTrailers(pairs);
  };
  if (from.readableEnded) add();
  else from.once('end', add);
}

/** Node can write only 102 and 103; HTTP/1.0 has no interim answers (RFC 9110 §15.2). */
function passHint({ statusCode, rawHeaders }: InformationEvent, response: ServerResponse): void {
  if (response.headersSent || response.destroyed || response.req.httpVersion === '1.0') return;
  if (statusCode === 102) response.writeProcessing();
  if (statusCode !== 103) return;
  const hints: Record<string, string | string[]> = {};
  for (const [key, { name, values }] of linesOf(rawHeaders)) hints[key === 'link' ? key : name] = values;
  try {
    response.writeEarlyHints(hints);
  } catch {
    // Node refuses some links; hints are optional.
  }
}

/** Sends legacy's answer. @throws Error, with nothing sent, for an answer that Node can't write or tills can't read. */
function passAnswer(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 0, statusMessage, headers } = answer;
  const coding = headers['transfer-encoding'];
  // Only `chunked` needs no negotiation; the body of another coding would reach the till without its name.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') throw new TypeError('a transfer coding');
  if (statusCode < 200) throw new RangeError('a status below 200');
  // A client that got no 100 may send its body or not: the next bytes would be ambiguous.
  if (isHeldBack(request) && !request.complete) response.shouldKeepAlive = false;
  response.writeHead(statusCode, statusMessage, headersFor(answer, response));
  watchCall(request, answer);
  collectBehind(answer);
  passTrailers(answer, response);
  answer.pipe(response);
}

/** Header lines as received, without hop-by-hop ones; Node adds those of the connection to the till. */
function headersFor(answer: IncomingMessage, response: ServerResponse): string[] {
  const { rawHeaders, statusCode, headers } = answer;
  const named = namedForThisHop(answer);
  const without_body = response.req.method === 'HEAD' || statusCode === 204 || statusCode === 304;
  const is_chunked = !without_body && headers['content-length'] === undefined && response.req.httpVersion === '1.1';
  const kept: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string; // both are below the length
    const value = rawHeaders[index + 1] as string;
    const key = name.toLowerCase();
    if (named.includes(key) || (key === 'trailer' ? !is_chunked : isOfThisHop(key))) continue;
    // A till that trusts this length would read the next answer as this body.
    if (key === 'content-length' && statusCode === 204 && value !== '0') continue;
    kept.push(name, value);
  }
  return kept;
}

/** Answers that nothing happened only for a call that can't have arrived, or could change nothing anyway. */
function failure(error: Error, request: IncomingMessage): ReturnType<typeof refused> {
  const code = 'code' in error ? String(error.code) : '';
  const family = familyOf(request.url ?? '');
  if (code.startsWith('HPE_')) return refused(family, 'bad_answer');
  const harmless = request.method === 'GET' || request.method === 'HEAD' || NOT_CONNECTED.includes(code);
  return refused(family, harmless ? 'bad_gateway' : 'no_answer');
}

/** Error shape by path prefix; any other path has that of payments (`docs/field-notes.md` QR §3). */
const FAMILIES: readonly (readonly [string, Family])[] = [
  ['/point/', 'point'],
  ['/mpmobile/', 'qr_v1'],
  ['/instore/', 'qr'],
  ['/merchant_orders', 'merchant_orders'],
];

/** @param target path and query as received. */
export function familyOf(target: string): Family {
  return FAMILIES.find(([prefix]) => target.startsWith(prefix))?.[1] ?? 'payments';
}

// Collects garbage of large proxied bodies early, before V8 collects its whole heap for it.

/** Bytes of large bodies per minor collection, which takes some milliseconds, however large the heap is. */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024;
/** Bodies of tills are far smaller; only bodies that may be longer are counted. */
const LARGE_BYTES = 256 * 1024;

let proxied_bytes = 0;

/**
 * Counts a body that is large or of unknown length, beside its pipe. Call it in the tick in which the pipe is set, so
 * that both get every byte. Node keeps the chunks outside V8's heap; they die young, but do not make V8 run a minor
 * collection: every 32 MB or so it collects the whole heap for them, which is far larger. Does nothing without
 * `--expose-gc`. A body of 10 MB to a till, compared with a Puente without it: 0.52 × the processor time and 1.8 to 2.2
 * × the bodies a second (one core, 1 and 8 in flight).
 */
function collectBehind(body: IncomingMessage): void {
  if (globalThis.gc !== undefined && mayBeLarge(body)) body.on('data', count);
}

function mayBeLarge({ headers }: IncomingMessage): boolean {
  const { 'content-length': length } = headers;
  return length === undefined ? headers['transfer-encoding'] !== undefined : Number(length) >= LARGE_BYTES;
}

function count(piece: Buffer): void {
  proxied_bytes += piece.length;
  if (proxied_bytes < COLLECT_AFTER_BYTES) return;
  proxied_bytes = 0;
  globalThis.gc?.({ type: 'minor', execution: 'sync' });
}
