/** The HTTP client of an upstream: one pool of connections, payments before reads, a pace for background calls. */
import { type Dispatcher, Pool } from 'undici';
import { PuenteError } from '../../error.ts';
import { type Clock, tickOf } from '../clock.ts';
import { batchPerTick, createDrain, createQueue, type Queue } from '../concurrency.ts';
import { Reception, type SentMark, watchSending } from './reception.ts';
import {
  readRetryAfter,
  SHORTEST_READ_MS,
  type Upstream,
  type UpstreamCall,
  type UpstreamOutcome,
} from './upstream.ts';

/** Longest answer; the largest real one, a page of terminals, is below 100 KiB (F21). */
const MAX_ANSWER_BYTES = 1024 * 1024;
/** Node's own default, made explicit: real answers have below 2 KiB of headers (F21). */
const MAX_HEADER_BYTES = 16 * 1024;
/** Cause of a lack of Puente's own sockets, which shows nothing about upstream. */
export const NO_FREE_CONNECTION = 'no free connection in time';
/** A timer that fires this late shows that this process was blocked, not upstream (F50). */
const STALL_MS = 100;
/** Answers that arrived while the process was blocked are read within this time. */
const CATCH_UP_MS = 50;
/** Longest `Retry-After` that is honoured while a till waits. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Where the client connects, and with what limits. */
export interface UpstreamOptions {
  /** `https://host`, or with a path that precedes the path of every call. */
  baseUrl: string;
  /** Sockets, and so concurrent calls; reads leave a quarter of them to writes. */
  connections: number;
  connectTimeout_ms: number;
  userAgent: string;
  /** For counters; `status` is null unless answered. */
  onOutcome?: (
    call: Pick<UpstreamCall, 'name' | 'method'>,
    kind: UpstreamOutcome['kind'],
    status: number | null,
    duration_ms: number,
  ) => void;
}

/** An upstream whose connections must be closed. */
export interface UpstreamClient extends Upstream {
  /** Waits for calls in flight, at most until their timeouts. */
  close(): Promise<void>;
}

/**
 * A client on one pool: keep-alive, one request per socket at a time, no redirects, no retries but one of a read whose
 * kept connection closed. `send` resolves for any network failure; it rejects with PuenteError bad_request, unsent, for a
 * call that can't be written as HTTP.
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
  const under_way = createDrain();
  const leave = batchPerTick<() => void>((send) => send());

  async function exchange(
    call: UpstreamCall,
    request: Dispatcher.DispatchOptions,
    mark: SentMark = { sent: false },
  ): Promise<UpstreamOutcome> {
    const limit = startLimit(call.timeout_ms);
    const kind = slotKindOf(call);
    const taken = slots.take(kind, limit);
    if (taken !== true && !(await taken)) return { kind: 'not_sent', cause: NO_FREE_CONNECTION };
    const reception = new Reception(mark, MAX_ANSWER_BYTES, readRetryAfterHeader);
    limit.onTimeout(reception.cut);
    // The slot stays taken until undici releases the request, which a timeout alone does not ensure.
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
        const mark: SentMark = { sent: false };
        let outcome = await exchange(call, request, mark);
        const left_ms = call.timeout_ms - (performance.now() - started);
        if (
          isRepeatable(call) &&
          mark.on_kept_connection === true &&
          wasClosed(outcome) &&
          left_ms > SHORTEST_READ_MS
        ) {
          const second = await exchange({ ...call, timeout_ms: left_ms }, request);
          // A repeat that is not sent does not undo the first try.
          if (second.kind !== 'not_sent') outcome = second;
        }
        if (call.method === 'GET') outcome = withoutPage(outcome);
        const status = outcome.kind === 'answered' ? outcome.status : null;
        options.onOutcome?.(call, outcome.kind, status, performance.now() - started);
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

/** A write is repeated by the create protocol, with its key; a paced call by its next turn. */
function isRepeatable({ method, is_paced }: UpstreamCall): boolean {
  return method === 'GET' && is_paced !== true;
}

/** Servers close idle connections, and a request that crosses the close is never answered: a read can be sent again (RFC 9110 §9.2.2). */
function wasClosed(outcome: UpstreamOutcome): boolean {
  return outcome.kind === 'broken' && CLOSED.has(outcome.cause);
}

/** As undici and Node name it. */
const CLOSED = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

/** Statuses that judge a token, or what it may see; upstream's own come with JSON (`docs/field-notes.md` Orders §1.5, QR §3). */
const JUDGING: readonly number[] = [401, 403, 404];

/** A gateway's page is no answer to a read (`docs/protocol.md` §3.5); a write that it answers was refused. */
function withoutPage(outcome: UpstreamOutcome): UpstreamOutcome {
  if (outcome.kind !== 'answered' || outcome.body !== undefined || !JUDGING.includes(outcome.status)) return outcome;
  return { kind: 'broken', cause: `${outcome.status} without a JSON body`, page: outcome.status };
}

function slotKindOf({ method, for_payment }: UpstreamCall): SlotKind {
  if (method !== 'GET') return 'write';
  return for_payment === true ? 'payment_read' : 'read';
}

/** Ends after `timeout_ms` unless cleared; answers that arrived while the process was blocked are read first. */
function startLimit(timeout_ms: number): TimeLimit & { clear(): void } {
  let is_timed_out = false;
  let callback = (): void => undefined;
  const end = (): void => {
    is_timed_out = true;
    callback();
  };
  const due = performance.now() + timeout_ms;
  let timer = setTimeout(() => {
    if (performance.now() - due < STALL_MS) end();
    else timer = setTimeout(end, CATCH_UP_MS);
  }, timeout_ms);
  return {
    isTimedOut: () => is_timed_out,
    onTimeout(next) {
      callback = next;
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

/** Everything that is sent is named here; no other header of the till is copied. */
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

/** Segments of characters that need no escape; `%` is refused: `%2e%2e` leads to a parent (`docs/protocol.md` P8). */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._~:@-]+)+$/;

// The pace of background calls, so that a backlog does not delay payments (`test/faults/README.md` F31, §3.11.4).

const SECOND_MS = 1_000;
/** Pause of all background calls after a 429 that names none. */
const REST_MS = 1_000;
/** Longest pause after a 429, whatever it names. */
const LONGEST_REST_MS = 60_000;

interface PacedUpstream extends Upstream {
  /** True while starting more calls is useless: during the pause after a 429, and while no answer could be stored. */
  rests(): boolean;
}

/**
 * At most `per_second` calls of all callers, evenly spaced; during a pause they are not sent, to be tried later.
 * @param canStore false while what is read can't be stored: it stays due, and would be read again at once.
 */
export function paceUpstream(
  upstream: Upstream,
  per_second: number,
  clock: Clock,
  canStore: () => boolean = () => true,
): PacedUpstream {
  let free_at = Number.NEGATIVE_INFINITY;
  let rest_until = Number.NEGATIVE_INFINITY;

  /** Takes the next slot. @returns ms until it. */
  const nextSlot = (): number => {
    const now = tickOf(clock);
    const slot = Math.max(now, free_at);
    free_at = slot + SECOND_MS / per_second;
    return slot - now;
  };
  const isPaused = (): boolean => tickOf(clock) < rest_until;
  const heed = (outcome: UpstreamOutcome): void => {
    if (outcome.kind !== 'answered' || outcome.status !== 429) return;
    rest_until = tickOf(clock) + Math.min(outcome.retry_after_ms ?? REST_MS, LONGEST_REST_MS);
  };

  return {
    rests: () => isPaused() || !canStore(),
    async send(call) {
      const wait_ms = nextSlot();
      if (wait_ms > 0) await clock.sleep(wait_ms);
      if (isPaused()) return { kind: 'not_sent', cause: 'background calls rest' };
      const outcome = await upstream.send({ ...call, is_paced: true });
      heed(outcome);
      return outcome;
    },
  };
}

// Limits of concurrent calls: payments before reads; waiting calls leave the queue at their timeout.

/** `write`: makes, cancels or refunds something. `payment_read`: a read that such a call waits for. */
export type SlotKind = 'write' | 'payment_read' | 'read';

/** Waiting calls are served in this order. */
const KINDS = ['write', 'payment_read', 'read'] as const satisfies readonly SlotKind[];

/** A timeout. Not an AbortController, which costs as much processor time as all other work for a slot. */
export interface TimeLimit {
  /** True from the timeout on. */
  isTimedOut(): boolean;
  /** Called once at the timeout. Only the last callback counts; one set after the timeout is not called. */
  onTimeout(callback: () => void): void;
}

/** Reads leave a quarter of the slots to writes, so that neither many nor slow reads delay a payment. */
const READ_SHARE = 0.75;
/** Reads for payments may take more, and still leave room for calls without a read, should all reads hang. */
const ALL_READS_SHARE = 0.875;

/**
 * The queue is in front of undici's pool, because a call that timed out in the pool's queue stays there and still costs
 * a connection attempt: while upstream is unreachable, that queue only grows.
 */
export function createSlots(count: number) {
  const most_reads = Math.max(1, Math.floor(count * READ_SHARE));
  const most_all_reads = Math.min(count, Math.max(most_reads + 1, Math.floor(count * ALL_READS_SHARE)));
  const running: Record<SlotKind, number> = { write: 0, payment_read: 0, read: 0 };
  const waiting: Record<SlotKind, Queue<() => void>> = {
    write: createQueue(),
    payment_read: createQueue(),
    read: createQueue(),
  };
  const hasFreeSlot = (kind: SlotKind): boolean => {
    const all_reads = running.payment_read + running.read;
    if (running.write + all_reads >= count) return false;
    if (kind === 'read' && running.read >= most_reads) return false;
    return kind === 'write' || all_reads < most_all_reads;
  };
  const serveNext = (): void => {
    for (const kind of KINDS) {
      const serve = waiting[kind].first();
      if (serve === null || !hasFreeSlot(kind)) continue;
      serve();
      return;
    }
  };
  return {
    /** True with a slot taken, synchronously when one is free; false at the timeout. */
    take(kind: SlotKind, limit: TimeLimit): boolean | Promise<boolean> {
      if (limit.isTimedOut()) return false;
      if (hasFreeSlot(kind)) {
        running[kind]++;
        return true;
      }
      return new Promise((resolve) => {
        const end = (taken: boolean): void => {
          waiting[kind].leave(place);
          if (taken) running[kind]++;
          resolve(taken);
        };
        const place = waiting[kind].join(() => end(true));
        limit.onTimeout(() => end(false));
      });
    },
    /** Gives a slot back, to the longest waiting call of the first kind in `KINDS` that has a free slot. */
    give(kind: SlotKind): void {
      running[kind]--;
      serveNext();
    },
  };
}
