import { type Dispatcher, Pool } from 'undici';
import { PuenteError } from '../../error.ts';
import type { Clock } from '../clock.ts';
import { batchPerTick, createDrain, createQueue, type Queue } from '../concurrency.ts';
import { Reception, type SentMark, watchSending } from './reception.ts';
import { readRetryAfter, type Upstream, type UpstreamCall, type UpstreamOutcome } from './upstream.ts';

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
  const under_way = createDrain();
  const leave = batchPerTick<() => void>((send) => send());

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

/** Segments of the characters that URLs need no escape for; `%` is refused because `%2e%2e` climbs (`docs/protocol.md` P8). */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._~:@-]+)+$/;

// Bounds on calls to upstream: how many run at once, payments before reads; and the pace of recovery, so that a backlog does not crowd out payments (`test/faults/README.md` F31, §3.11.4).

const SECOND_MS = 1_000;
/** How long all background calls rest when the service asks for fewer without saying for how long. */
const REST_MS = 1_000;
/** A slot further away than this was given before the clock was set back, and is not waited for. */
const LONGEST_WAIT_MS = 60_000;

export interface PacedUpstream extends Upstream {
  /** True while the service's own limit (429) is respected: nothing more is worth starting. */
  rests(): boolean;
}

/**
 * The same upstream at no more than `per_second` calls, evenly spaced and without a burst, whoever makes them. What is
 * started while it rests is answered as not sent, so that its caller tries later and holds nothing up meanwhile.
 */
export function paceUpstream(upstream: Upstream, per_second: number, clock: Clock): PacedUpstream {
  let free_at = Number.NEGATIVE_INFINITY;
  let rest_until = Number.NEGATIVE_INFINITY;

  /** Takes the next slot; ms until it comes. */
  const nextSlot = (): number => {
    const now = clock.now();
    const slot = free_at - now > LONGEST_WAIT_MS ? now : Math.max(now, free_at);
    free_at = slot + SECOND_MS / per_second;
    return slot - now;
  };
  const rests = (): boolean => {
    const left_ms = rest_until - clock.now();
    return left_ms > 0 && left_ms <= LONGEST_WAIT_MS;
  };
  const heed = (outcome: UpstreamOutcome): void => {
    if (outcome.kind !== 'answered' || outcome.status !== 429) return;
    rest_until = clock.now() + Math.min(outcome.retry_after_ms ?? REST_MS, LONGEST_WAIT_MS);
  };

  return {
    rests,
    async send(call) {
      const wait_ms = nextSlot();
      if (wait_ms > 0) await clock.sleep(wait_ms);
      if (rests()) return { kind: 'not_sent', cause: 'background calls rest' };
      const outcome = await upstream.send(call);
      heed(outcome);
      return outcome;
    },
  };
}

// Bounds how many calls run at once: payments go before reads, and those that wait leave the queue when their time is
// over.

/** `write`: makes, cancels or refunds something. `payment_read`: such a call waits for what is read. */
export type SlotKind = 'write' | 'payment_read' | 'read';

/** Who waits is served in this order. */
const KINDS = ['write', 'payment_read', 'read'] as const satisfies readonly SlotKind[];

/** The time that somebody waits. Not an AbortController: that costs as much processor time as all else that is done for a slot. */
export interface TimeLimit {
  isOver(): boolean;
  /** Told once, when the time is over; whoever asked last is told alone, and nobody who asks after it. */
  onOver(tell: () => void): void;
}

export interface Slots {
  /** True with a slot taken, at once where one is free; false when the time was over first. */
  take(kind: SlotKind, limit: TimeLimit): boolean | Promise<boolean>;
  /** Gives a slot back, to what has waited longest of the first kind in line. */
  give(kind: SlotKind): void;
}

/** Reads leave a quarter of the slots to writes, so that no flood of them, and no slow ones, keeps a payment waiting. */
const READ_SHARE = 0.75;
/** Those for payments may take more, and still leave room for what needs no read, should reads alone hang. */
const ALL_READS_SHARE = 0.875;

/**
 * The queue stands before undici's pool, because a call that timed out in the pool's own queue stays there and still
 * costs a connection attempt: while the other side is unreachable, that queue only grows.
 */
export function createSlots(count: number): Slots {
  const most_reads = Math.max(1, Math.floor(count * READ_SHARE));
  const most_all_reads = Math.min(count, Math.max(most_reads + 1, Math.floor(count * ALL_READS_SHARE)));
  const running: Record<SlotKind, number> = { write: 0, payment_read: 0, read: 0 };
  const waiting: Record<SlotKind, Queue<() => void>> = {
    write: createQueue(),
    payment_read: createQueue(),
    read: createQueue(),
  };
  const hasRoom = (kind: SlotKind): boolean => {
    const all_reads = running.payment_read + running.read;
    if (running.write + all_reads >= count) return false;
    if (kind === 'read' && running.read >= most_reads) return false;
    return kind === 'write' || all_reads < most_all_reads;
  };
  const serveNext = (): void => {
    for (const kind of KINDS) {
      const serve = waiting[kind].first();
      if (serve === null || !hasRoom(kind)) continue;
      serve();
      return;
    }
  };
  return {
    take(kind, limit) {
      if (limit.isOver()) return false;
      if (hasRoom(kind)) {
        running[kind]++;
        return true;
      }
      return new Promise((resolve) => {
        const settle = (taken: boolean): void => {
          waiting[kind].leave(place);
          if (taken) running[kind]++;
          resolve(taken);
        };
        const place = waiting[kind].join(() => settle(true));
        limit.onOver(() => settle(false));
      });
    },
    give(kind) {
      running[kind]--;
      serveNext();
    },
  };
}
