/** Proxies a call to the legacy upstream: request and answer as they came, streaming both ways (`docs/architecture.md` Decision 2). */
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
  askForBody,
  dropHopByHop,
  hasQueryToken,
  isHeldBack,
  isOfThisHop,
  namedForThisHop,
  readsAsSingle,
  readToken,
} from './request.ts';

/** Longest silence of the legacy upstream; longer than any till waits. */
const SILENCE_MS = 60_000;
/** Failures before a connection stood, so that nothing can have happened there. */
const NOT_CONNECTED: readonly string[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
/** Interim answers of one call; a service that sends more does not get the memory of a till that reads none of them. */
const MOST_HINTS = 16;

export interface Passthrough {
  handler: RequestHandler;
  close(): void;
}

/**
 * The library sends and pipes; the heads of both directions are written here, because it joins repeated headers, and writes
 * an answer where nobody catches what Node throws at one that it can't write.
 * @param target base URL of the legacy upstream.
 * @param calls that the gate lets in: with fewer sockets one merchant's slow calls would keep the others waiting here.
 */
export function createPassthrough(target: string, calls: number, log: Log): Passthrough {
  // Without a keep-alive agent the library opens a connection per request and is four times slower (measured).
  const options = { keepAlive: true, maxSockets: calls };
  const agent = target.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  /** In place of an answer that can't be passed on, of which nothing may be left. */
  const refuseAnswer = (request: IncomingMessage, response: ServerResponse, cause: string): void => {
    log.warn('legacy answered what can not be passed on', { cause, lane: 'legacy' });
    for (const name of response.getHeaderNames()) response.removeHeader(name);
    response.statusMessage = '';
    sendAnswer(response, refused(familyOf(request.url ?? ''), 'bad_answer'));
  };
  const handler = createProxyMiddleware({
    // A text would be read as a URL twice for each call.
    target: new URL(target),
    changeOrigin: true,
    agent,
    // Without the one of the library's own that writes a log line for each call, and makes a URL for it if nobody reads it.
    ejectPlugins: true,
    plugins: [debugProxyErrorsPlugin, proxyEventsPlugin],
    proxyTimeout: SILENCE_MS,
    selfHandleResponse: true,
    on: {
      proxyReq: (onward, request, response) => {
        // We asked for no other protocol; without a listener Node ends the connection and says nothing of it.
        onward.once('upgrade', (_answer, socket) => {
          socket.on('error', () => undefined).destroy(); // Node has let go of it
          refuseAnswer(request, response, 'it changes the protocol');
        });
        try {
          sendRequest(onward, request, response);
        } catch (error) {
          onward.destroy(error as Error); // told by `error` below; Node throws nothing but errors
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
  const carry = handler as RequestHandler; // the library types its own request
  return {
    handler: (request, response, next) => {
      dropHopByHop(request);
      return carry(request, response, next);
    },
    close: () => agent.destroy(),
  };
}

/** The head of the request, and what belongs to it besides its body. Nothing of it has been sent yet. */
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
  onward.once('continue', () => askForBody(request));
  // Not before: the library passes over a request that has it.
  onward.setHeader('Expect', '100-continue');
  onward.flushHeaders();
}

/**
 * Names in their case, and repeated headers line by line. What the library sends is the word on which go and with which value:
 * where the two differ, somebody has taken the header out, put it in or changed it on purpose.
 */
function writeHeaders(onward: ClientRequest, { rawHeaders, method }: IncomingMessage): void {
  const sent = linesOf(rawHeaders);
  for (const [key, { name, values }] of sent) {
    const value = onward.getHeader(key);
    if (value === undefined) continue;
    const is_untouched = value === values[0] || value === values.join(key === 'cookie' ? '; ' : ', ');
    onward.setHeader(name, !is_untouched ? value : values.length === 1 ? (values[0] ?? '') : values);
  }
  // The library gives these a length of nothing, for a Node that is gone.
  if ((method === 'DELETE' || method === 'OPTIONS') && !sent.has('content-length'))
    onward.removeHeader('content-length');
  const trailer = sent.get('trailer');
  // Node throws at one beside a length.
  if (trailer !== undefined && onward.hasHeader('transfer-encoding')) onward.setHeader(trailer.name, trailer.values);
}

/** A token in a header of its own goes on as legacy takes every token; that header is never sent on (`docs/architecture.md` Decision 12). */
function liftToken(onward: ClientRequest, request: IncomingMessage): void {
  if (request.headers['x-access-token'] === undefined) return;
  onward.removeHeader('x-access-token');
  const token = readToken(request);
  const is_elsewhere = request.headers.authorization !== undefined || hasQueryToken(request);
  if (token !== null && !is_elsewhere) onward.setHeader('Authorization', `Bearer ${token.reveal()}`);
}

interface Lines {
  /** As the first of them is spelled. */
  name: string;
  values: string[];
}

/** The lines of a head by their name in lower case. */
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

/** To be called before the pipe is set, whose listener ends the message. Node leaves them out where its side has no chunks. */
function passTrailers(from: IncomingMessage, to: ClientRequest | ServerResponse): void {
  const add = (): void => {
    const pairs: [string, string][] = [];
    for (const [key, { name, values }] of linesOf(from.rawTrailers)) {
      // A reader that took them for headers would find another length, host or token in them.
      if (!readsAsSingle(key) && !isOfThisHop(key)) for (const value of values) pairs.push([name, value]);
    }
    if (pairs.length > 0) to.addTrailers(pairs);
  };
  if (from.readableEnded) add();
  else from.once('end', add);
}

/** 102 and 103 are all that Node can write; a till of HTTP/1.0 knows of none (RFC 9110 §15.2). */
function passHint({ statusCode, rawHeaders }: InformationEvent, response: ServerResponse): void {
  if (response.headersSent || response.destroyed || response.req.httpVersion === '1.0') return;
  if (statusCode === 102) response.writeProcessing();
  if (statusCode !== 103) return;
  const hints: Record<string, string | string[]> = {};
  for (const [key, { name, values }] of linesOf(rawHeaders)) hints[key === 'link' ? key : name] = values;
  try {
    response.writeEarlyHints(hints);
  } catch {
    // A link that Node does not write. Hints may be left out.
  }
}

/** The answer of legacy to the till. @throws Error, with nothing sent, for one that Node can't write, or no till could read. */
function passAnswer(answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void {
  const { statusCode = 0, statusMessage, headers } = answer;
  const coding = headers['transfer-encoding'];
  // None but this one may be used unasked, and what else is packed would reach the till without its name.
  if (coding !== undefined && coding.trim().toLowerCase() !== 'chunked') throw new TypeError('a transfer coding');
  if (statusCode < 200) throw new RangeError('a status below 200');
  // A client that was answered without being asked for its body may send it or not: what came next could be either.
  if (isHeldBack(request) && !request.complete) response.shouldKeepAlive = false;
  response.writeHead(statusCode, statusMessage, headersFor(answer, response));
  watchCall(request, answer);
  collectBehind(answer);
  passTrailers(answer, response);
  answer.pipe(response);
}

/** Line by line as they came, without those of the hop to legacy; Node adds those of the hop to the till. */
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
    // A till that believed it would take the next answer for this body.
    if (key === 'content-length' && statusCode === 204 && value !== '0') continue;
    kept.push(name, value);
  }
  return kept;
}

/** A call that may have arrived is never told as one that did nothing, unless it could do nothing anyway. */
function failure(error: Error, request: IncomingMessage): ReturnType<typeof refused> {
  const code = 'code' in error ? String(error.code) : '';
  const family = familyOf(request.url ?? '');
  if (code.startsWith('HPE_')) return refused(family, 'bad_answer');
  const harmless = request.method === 'GET' || request.method === 'HEAD' || NOT_CONNECTED.includes(code);
  return refused(family, harmless ? 'bad_gateway' : 'outcome_unknown');
}

/** Whose envelope the callers of a path know; everything that is not named speaks as payments do (`docs/field-notes.md` QR §3). */
const FAMILIES: readonly (readonly [string, Family])[] = [
  ['/point/', 'point'],
  ['/mpmobile/', 'qr_v1'],
  ['/instore/', 'qr'],
  ['/merchant_orders', 'merchant_orders'],
];

/** @param target path and query as they came. */
export function familyOf(target: string): Family {
  return FAMILIES.find(([prefix]) => target.startsWith(prefix))?.[1] ?? 'payments';
}

// Frees what large bodies leave behind while they are carried, before V8 looks through its whole heap for it.

/** So many bytes of large bodies, and then a collection of the young: it takes some milliseconds, whatever else is in memory. */
const COLLECT_AFTER_BYTES = 8 * 1024 * 1024;
/** What tills send and are answered is far below; only a body that may be longer is counted. */
const LARGE_BYTES = 256 * 1024;

let carried_bytes = 0;

/**
 * Counts a body that is large, or does not say how long it is, beside the pipe that carries it; to be called in the turn in
 * which that pipe is set, before or after it, so that both get every byte. Node reads a body in pieces outside V8's heap. They
 * die young, but nothing that is young tells V8 to look; what does is their sum, every 32 MB or so, and then it collects the
 * whole heap, which is far larger than the pieces. Nothing is done where the process was started without `--expose-gc`. A body
 * of 10 MB to a till, beside a Puente without it: 0.52 × the processor time and 1.8 to 2.2 × the bodies a second (one core,
 * 1 and 8 in flight).
 */
export function collectBehind(body: IncomingMessage): void {
  if (globalThis.gc !== undefined && mayBeLarge(body)) body.on('data', count);
}

function mayBeLarge({ headers }: IncomingMessage): boolean {
  const { 'content-length': length } = headers;
  return length === undefined ? headers['transfer-encoding'] !== undefined : Number(length) >= LARGE_BYTES;
}

function count(piece: Buffer): void {
  carried_bytes += piece.length;
  if (carried_bytes < COLLECT_AFTER_BYTES) return;
  carried_bytes = 0;
  globalThis.gc?.({ type: 'minor', execution: 'sync' });
}
