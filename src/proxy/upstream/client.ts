import { type Dispatcher, Pool } from 'undici';
import { PuenteError } from '../../error.ts';
import { createRounds } from '../rounds.ts';
import { sideBySide } from '../side-by-side.ts';
import { createSlots, type SlotKind, type TimeLimit } from './pace.ts';
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

/** Segments of the characters that URLs need no escape for; `%` is refused because `%2e%2e` climbs (`docs/protocol.md` P8). */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._~:@-]+)+$/;
