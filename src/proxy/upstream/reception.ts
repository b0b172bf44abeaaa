/** Receives the answer of one upstream call, and proves whether the call's bytes left (`docs/protocol.md` §3.5). */
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';
import { decodeUtf8, parseJson } from '../../contract/json.ts';
import { PuenteError } from '../../error.ts';
import { batchPerTick } from '../concurrency.ts';
import type { UpstreamOutcome } from './upstream.ts';

/** Callers that wait for answers continue together, for all clients. */
const goOn = batchPerTick<() => void>((resume) => resume());

/** A class because undici drives it step by step, and a timeout may end it at any step. */
export class Reception {
  /** Settles once: with the outcome, or with PuenteError bad_request when undici refused to write the request. */
  readonly outcome: Promise<UpstreamOutcome>;
  /** Resolves when undici has released the request. */
  readonly released: Promise<void>;
  readonly handler: Dispatcher.DispatchHandler;
  readonly #mark: SentMark;
  readonly #settle: PromiseWithResolvers<UpstreamOutcome>;
  #controller: Dispatcher.DispatchController | null = null;
  #isCut = false;
  /** The answer is complete, and `outcome` settles in this tick. */
  #isWhole = false;

  /**
   * @param mark set by `SentWatch.follow` once the request leaves. @param max_bytes of the answer's body; a larger one is
   * `broken`. @param readRetryAfter the header as ms to wait, or null.
   */
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
      // Called before the head is written; a call that timed out in the queue ends here and is never sent.
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

  /** Ends the call at its timeout; bound, so that it can be a listener. */
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

/** A success must be JSON, since an order is made of it. Compression is refused (`docs/protocol.md` §3.5). */
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

/** A missing content type counts as JSON; any other one does not. */
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

/** The first value of a header that was sent more than once. */
function first(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

/** The code is enough; a message may contain parts of the answer. */
function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

// Proves whether the bytes of a request left this process, by undici's diagnostics channels (`docs/protocol.md` §3.5).

/** Set just before undici writes the request's head to the socket. */
export interface SentMark {
  sent: boolean;
  /** Whether an earlier request went over its connection. */
  on_kept_connection?: boolean;
}

/** Marks requests as sent, for all clients of the process. */
export interface SentWatch {
  /** Runs `dispatch`; its one request sets `mark`. */
  follow(mark: SentMark, dispatch: () => void): void;
  /** Leaves the diagnostics channels; marks of calls in flight no longer change. */
  stop(): void;
}

/**
 * Ties each channel message to its call: undici makes its request object inside `dispatch`, also for a call that the
 * pool queued (it restores the caller's async context then), and names that same object when it writes it.
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
    // Each client watches, and all of them get every message: the first one marks.
    if (mark === undefined || mark.sent) return;
    mark.sent = true;
    const { socket } = message as { socket: { [USED]?: true } }; // undici names it beside the request
    mark.on_kept_connection = USED in socket;
    socket[USED] = true;
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

/** Property of undici's own object, because a WeakMap keeps ended calls alive (`CALL` in `proxy/http/exchange.ts`). */
const MARK = Symbol('mark');
const USED = Symbol('used');
type Marked = object & { [MARK]?: SentMark };

function requestOf(message: unknown): Marked | null {
  if (typeof message !== 'object' || message === null || !('request' in message)) return null;
  return typeof message.request === 'object' ? message.request : null;
}
