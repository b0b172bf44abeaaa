/** The door to the orders API: one call, one awaited outcome, and a proof whether the call left. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import { decodeUtf8, parseJson } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import { readRetryAfter } from '../notices/retry-schedule.ts';
import { createRounds } from '../rounds.ts';
import { sideBySide } from '../side-by-side.ts';
import { createSlots, type SlotKind, type TimeLimit } from './pace.ts';
import type { Upstream, UpstreamCall, UpstreamOutcome } from './upstream.ts';

/** A larger answer is not ours to read; the largest real one, a page of terminals, is below 100 KiB (F21). */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Node's own default, said here so that it is ours: real answers have below 2 KiB of headers (F21). */
const MAX_HEADER_BYTES = 16 * 1024;
/** The cause that says that the lack was ours: it tells nothing of the upstream. */
export const NO_FREE_CONNECTION = 'no free connection in time';
/** A timer that fires this late shows that this process stood still, not the upstream (F50). */
const STALL_MS = 100;
/** What came in while it stood still is read within this time. */
const CATCH_UP_MS = 50;
/** The longest patience a `Retry-After` can ask of a call that a till is waiting for. */
const MAX_RETRY_AFTER_MS = 60_000;

export interface UpstreamOptions {
  /** `https://host`, or with a path that every call's path is put behind. */
  baseUrl: string;
  /** Sockets, and therefore calls, at a time; reads leave a quarter of them to what changes something. */
  connections: number;
  connectTimeout_ms: number;
  userAgent: string;
  /** For counters; `status` is null unless answered. */
  onOutcome?: (
    name: UpstreamCall['name'],
    kind: UpstreamOutcome['kind'],
    status: number | null,
    duration_ms: number,
  ) => void;
}

export interface UpstreamClient extends Upstream {
  /** Lets calls under way end, at most until their own timeouts. */
  close(): Promise<void>;
}

/**
 * Opens a client on one pool: keep-alive, one request per socket at a time, no redirects, no retries.
 * `send` resolves for whatever the network does; it rejects with PuenteError bad_request only for a call that can't be
 * written as HTTP, before anything is sent.
 * @throws PuenteError bad_setting when `baseUrl` is no plain http(s) URL.
 */
export function createUpstream(options: UpstreamOptions): UpstreamClient {
  const base = readBase(options.baseUrl);
  const pool = new Pool(base.origin, {
    connections: options.connections,
    connectTimeout: options.connectTimeout_ms,
    pipelining: 1,
    maxHeaderSize: MAX_HEADER_BYTES,
    allowH2: false,
  });
  const slots = createSlots(options.connections);
  const watch = watchSending();
  const under_way = createRounds();
  const leave = sideBySide<() => void>((send) => send());

  async function exchange(call: UpstreamCall, request: Dispatcher.DispatchOptions): Promise<UpstreamOutcome> {
    const limit = startLimit(call.timeout_ms);
    const kind = slotKindOf(call);
    const taken = slots.take(kind, limit);
    if (taken !== true && !(await taken)) return { kind: 'not_sent', cause: NO_FREE_CONNECTION };
    const mark: SentMark = { sent: false };
    const reception = new Reception(mark, MAX_ANSWER_BYTES, readRetryAfterHeader);
    limit.onOver(reception.cut);
    // The slot stays taken until undici is done with the request, which a timeout alone doesn't make sure.
    void reception.released.then(() => {
      limit.clear();
      slots.give(kind);
    });
    leave(() => watch.follow(mark, () => pool.dispatch(request, reception.handler)));
    return await reception.outcome;
  }

  return {
    async send(call) {
      const request = writeRequest(call, base.prefix, options.userAgent);
      const started = performance.now();
      const ticket = under_way.begin();
      try {
        const outcome = await exchange(call, request);
        const status = outcome.kind === 'answered' ? outcome.status : null;
        options.onOutcome?.(call.name, outcome.kind, status, performance.now() - started);
        return outcome;
      } finally {
        under_way.done(ticket);
      }
    },
    async close() {
      await under_way.settled();
      if (!pool.closed) await pool.close();
      watch.stop();
    },
  };
}

function slotKindOf({ method, for_payment }: UpstreamCall): SlotKind {
  if (method !== 'GET') return 'write';
  return for_payment === true ? 'payment_read' : 'read';
}

/** Is over after `timeout_ms`, unless it is cleared; what arrived while this process stood still is read first. */
function startLimit(timeout_ms: number): TimeLimit & { clear(): void } {
  let is_over = false;
  let tell = (): void => undefined;
  const end = (): void => {
    is_over = true;
    tell();
  };
  const due = performance.now() + timeout_ms;
  let timer = setTimeout(() => {
    if (performance.now() - due < STALL_MS) end();
    else timer = setTimeout(end, CATCH_UP_MS);
  }, timeout_ms);
  return {
    isOver: () => is_over,
    onOver(next) {
      tell = next;
    },
    clear: () => clearTimeout(timer),
  };
}

function readRetryAfterHeader(header: string | undefined): number | null {
  return readRetryAfter(header, Date.now(), MAX_RETRY_AFTER_MS);
}

function readBase(baseUrl: string): { origin: string; prefix: string } {
  const url = URL.parse(baseUrl);
  const plain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === '';
  if (!plain) {
    throw new PuenteError(
      'bad_setting',
      'The upstream must be a base URL such as https://api.mercadopago.com, without user, query and fragment.',
    );
  }
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

/** Everything that goes on the wire is named here; nothing of the client's own request can slip through. */
function writeRequest(call: UpstreamCall, prefix: string, userAgent: string): Dispatcher.DispatchOptions {
  if (!PLAIN_PATH.test(call.path) || call.path.includes('..')) {
    throw new PuenteError('bad_request', 'The upstream path has a character that no id has; nothing was sent.', {
      facts: { call: call.name },
    });
  }
  const query = call.query === undefined ? '' : `?${new URLSearchParams(call.query)}`;
  const extra = Object.entries(call.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const);
  const headers: Record<string, string> = {
    ...Object.fromEntries(extra),
    authorization: `Bearer ${call.token.reveal()}`,
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': userAgent,
  };
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  if (call.idempotency_key !== undefined) headers['x-idempotency-key'] = call.idempotency_key;
  return {
    path: prefix + call.path + query,
    method: call.method,
    headers,
    body: call.body === undefined ? null : Buffer.from(call.body),
    headersTimeout: call.timeout_ms,
    bodyTimeout: call.timeout_ms,
  };
}

/** Segments of the characters that URLs need no escape for; `%` is refused because `%2e%2e` climbs (`reliability.md` §0.4). */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._~:@-]+)+$/;

// Receives the answer of one upstream call, and decides what the call came to when it ends, breaks or is cut.

/** Whoever waits for answers goes on together, whatever client they came by. */
const goOn = sideBySide<() => void>((tell) => tell());

/** A class because undici drives it step by step and a timeout may end it at every one of them. */
export class Reception {
  /** Settles once: with the outcome, or with PuenteError bad_request when undici refused to write the request. */
  readonly outcome: Promise<UpstreamOutcome>;
  /** Resolves when undici has let go of the request. */
  readonly released: Promise<void>;
  readonly handler: Dispatcher.DispatchHandler;
  readonly #mark: SentMark;
  readonly #settle: PromiseWithResolvers<UpstreamOutcome>;
  #controller: Dispatcher.DispatchController | null = null;
  #isCut = false;
  /** The answer has come whole, and is told in this very turn. */
  #isWhole = false;

  constructor(mark: SentMark, max_bytes: number, readRetryAfter: (header: string | undefined) => number | null) {
    this.#mark = mark;
    this.#settle = Promise.withResolvers();
    this.outcome = this.#settle.promise;
    const release = Promise.withResolvers<void>();
    this.released = release.promise;
    const chunks: Buffer[] = [];
    let bytes = 0;
    let status = 0;
    let headers: IncomingHttpHeaders = {};
    this.handler = {
      // Comes before the head is written; a call that was cut while it waited ends here and is never sent.
      onRequestStart: (controller) => {
        this.#controller = controller;
        if (this.#isCut) controller.abort(new Error('cut'));
      },
      onResponseStart: (_controller, statusCode, received) => {
        status = statusCode;
        headers = received;
      },
      onResponseData: (controller, chunk) => {
        bytes += chunk.length;
        if (bytes > max_bytes) controller.abort(new Error(`the answer is larger than ${max_bytes} bytes`));
        else chunks.push(chunk);
      },
      onResponseEnd: () => {
        this.#isWhole = true;
        goOn(() => {
          try {
            const retry_after_ms = readRetryAfter(first(headers['retry-after']));
            this.#settle.resolve(judge(status, headers, Buffer.concat(chunks), retry_after_ms));
          } catch (error) {
            this.#settle.resolve({ kind: 'broken', cause: `the answer could not be read: ${String(error)}` });
          }
          release.resolve();
        });
      },
      onResponseError: (_controller, error) => {
        this.#fail(error);
        release.resolve();
      },
    };
  }

  /** Ends the call because its time is over; bound, so that it can be a listener. */
  readonly cut = (): void => {
    if (this.#isWhole) return;
    this.#isCut = true;
    this.#settle.resolve({ kind: this.#failure(), cause: 'timeout' });
    this.#controller?.abort(new Error('timeout'));
  };

  #fail(error: Error): void {
    if (!this.#mark.sent && codeOf(error) === 'UND_ERR_INVALID_ARG') {
      // undici's message names the header or the path, never the value.
      this.#settle.reject(
        new PuenteError(
          'bad_request',
          `The upstream call can't be written as HTTP: ${error.message}; nothing was sent.`,
        ),
      );
    } else this.#settle.resolve({ kind: this.#failure(), cause: codeOf(error) });
  }

  #failure(): 'broken' | 'not_sent' {
    return this.#mark.sent ? 'broken' : 'not_sent';
  }
}

/**
 * What a complete answer is worth: a success must be JSON, since an order is made of it; an error is an error whatever
 * its body says. Compressed answers were asked not to come (`reliability.md` §3.5).
 */
function judge(
  status: number,
  headers: IncomingHttpHeaders,
  bytes: Buffer,
  retry_after_ms: number | null,
): UpstreamOutcome {
  const encoding = first(headers['content-encoding'])?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity') return { kind: 'broken', cause: 'the answer is compressed' };
  const body = isJson(headers) ? readJson(bytes) : undefined;
  if (status < 300 && body === undefined) return { kind: 'broken', cause: `${status} without a JSON body` };
  return { kind: 'answered', status, retry_after_ms, body };
}

/** A missing content type is let through to the parser; another one is not. */
function isJson(headers: IncomingHttpHeaders): boolean {
  const type = first(headers['content-type']);
  return type === undefined || /^\s*application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type);
}

function readJson(bytes: Buffer): unknown {
  try {
    return parseJson(decodeUtf8(bytes));
  } catch {
    return undefined;
  }
}

function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** The code says enough; messages may carry parts of what was received. */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

// Proves whether the bytes of one request left this process, through undici's diagnostics channels (`reliability.md`
// §3.5).

/** `sent` turns true just before undici hands the request's head to the socket, and never back. */
export interface SentMark {
  sent: boolean;
}

export interface SentWatch {
  /** Runs `dispatch`; the one request it makes writes into `mark`. */
  follow(mark: SentMark, dispatch: () => void): void;
  stop(): void;
}

/**
 * Ties each channel message to its call: undici makes its request object inside `dispatch`, also when the pool had queued
 * it (it restores the caller's async context then), and names that same object when it writes it.
 */
export function watchSending(): SentWatch {
  const context = new AsyncLocalStorage<SentMark>();
  const created = (message: unknown): void => {
    const mark = context.getStore();
    const request = requestOf(message);
    if (mark !== undefined && request !== null) request[MARK] = mark;
  };
  const writing = (message: unknown): void => {
    const mark = requestOf(message)?.[MARK];
    if (mark !== undefined) mark.sent = true;
  };
  subscribe('undici:request:create', created);
  subscribe('undici:client:sendHeaders', writing);
  return {
    follow: (mark, dispatch) => context.run(mark, dispatch),
    stop() {
      unsubscribe('undici:request:create', created);
      unsubscribe('undici:client:sendHeaders', writing);
    },
  };
}

/** On undici's own object, because a WeakMap holds on to what is long over (`proxy/http/ongoing.ts`). */
const MARK = Symbol('mark');
type Marked = object & { [MARK]?: SentMark };

function requestOf(message: unknown): Marked | null {
  if (typeof message !== 'object' || message === null || !('request' in message)) return null;
  return typeof message.request === 'object' ? message.request : null;
}
