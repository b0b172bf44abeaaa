/** One attempt to deliver a notice: build, send without redirects, judge by status alone, record. */

import { Client, type Dispatcher } from 'undici';
import { PuenteError, type Sentence, type Spoken } from '../../error.ts';
import { encoded, quoted, say } from '../../locales/message.ts';
import { shownUrl } from '../evidence/redact-text.ts';
import type { Attempt, Notice } from '../records/notices.ts';
import type { NoticeStore } from '../store.ts';
import { readRetryAfter } from '../upstream/upstream.ts';
import { checkUrl, guardedConnector, type OutboundPolicy } from './guard.ts';
import { type NoticeRequest, noticeRequest, type Receiver, withoutCredentials } from './request.ts';
import type { Resolve } from './resolve.ts';
import { afterNoticeAttempt } from './retry-schedule.ts';

/** Pause before a failed record of an attempt is tried again; its notice stays in flight. */
const RECORD_PAUSE_MS = 5_000;

export type NoticeDelivery = Pick<
  NoticeStore,
  'dueNotices' | 'dueNoticesInTurn' | 'dueNoticesBehind' | 'recordAttempt'
>;

/** What an attempt needs. */
export interface AttemptParts {
  store: NoticeDelivery;
  sender: Pick<Sender, 'send'>;
  /** Puente's public address without a final slash; notices of merchant orders contain it. */
  public_url: string;
  /** `now`: epoch ms. `sleep` resolves after `ms`, or as soon as `signal` aborts. */
  clock: { now(): number; sleep(ms: number, signal: AbortSignal): Promise<void> };
  /** From 0 up to, not including, 1. */
  random: () => number;
  /** Age in ms from which a refused notice is given up; null: never. */
  horizon_ms: number | null;
  /** Called after the attempt was recorded; must not throw, or the attempt counts as not recorded. */
  onAttempt?: (notice: Notice, attempt: Attempt) => void;
  /** Called when the store fails; the loop continues. */
  onFault?: (error: unknown, notice?: Notice) => void;
}

/** Makes and records one attempt. Never rejects. @param receiver null when settings or link are unreadable. */
export async function attemptNotice(
  parts: AttemptParts,
  notice: Notice,
  receiver: Receiver | null,
  stopping: AbortSignal,
): Promise<void> {
  const { attempt, retry_after_ms, is_by_settings } = await sendOnce(parts, notice, receiver);
  // A connection that Puente's own stop cut proves nothing about the receiver; the notice stays due.
  if (stopping.aborted && attempt.status === null) return;
  const next = afterNoticeAttempt({
    outcome: attempt.outcome,
    is_by_settings,
    attempts: notice.attempts + 1,
    created_at: notice.created_at,
    // Not `attempt.at` and its duration: a clock that was set back during the attempt would put the next one off by as much.
    now: parts.clock.now(),
    retry_after_ms,
    horizon_ms: parts.horizon_ms,
    random: parts.random(),
  });
  await record(parts, notice, attempt, next, stopping);
}

/** Sends a notice once, and records nothing. Never rejects. */
export async function sendOnce(
  { clock, sender, public_url }: Pick<AttemptParts, 'sender' | 'public_url'> & { clock: { now(): number } },
  notice: Notice,
  receiver: Receiver | null,
): Promise<{ attempt: Attempt; retry_after_ms: number | null; is_by_settings: boolean }> {
  const at = clock.now();
  const request = writeRequest(notice, receiver, public_url, at);
  const result = 'said' in request ? held(request) : await sender.send(withCredentials(request));
  const { outcome, status, detail, retry_after_ms, is_by_settings = false } = result;
  const duration_ms = Math.max(0, clock.now() - at);
  const url = 'said' in request ? null : shownUrl(request.url);
  return {
    attempt: { at, duration_ms, outcome, status, detail: encoded(detail), url },
    retry_after_ms,
    is_by_settings,
  };
}

function withCredentials(request: NoticeRequest): NoticeRequest {
  const { url, headers } = withoutCredentials(request.url);
  return { ...request, url, headers: { ...request.headers, ...headers } };
}

/** The request, or why there is none and what to do. */
function writeRequest(
  notice: Notice,
  receiver: Receiver | null,
  public_url: string,
  timestamp_ms: number,
): NoticeRequest | Spoken {
  if (receiver === null) return say('attempt.unreadable_settings', {});
  const { url, dialect, secret, extra } = receiver;
  if (url === null) return say('attempt.no_url', {});
  if (notice.form === 'point' && dialect === 'point_integration_wh' && secret === null)
    return say('attempt.no_secret', {});
  try {
    return noticeRequest(notice, { url, dialect, secret, extra, public_url }, timestamp_ms);
  } catch {
    return say('attempt.no_news', {});
  }
}

/** Retries while the store fails: a delivered notice without a record would be sent again at once. */
async function record(
  parts: AttemptParts,
  notice: Notice,
  attempt: Attempt,
  next: { state: Notice['state']; next_attempt_at: number },
  stopping: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      await parts.store.recordAttempt(notice, attempt, next);
      parts.onAttempt?.(notice, attempt);
      return;
    } catch (error) {
      parts.onFault?.(error, notice);
      // The notice has changed, so this attempt is not recorded.
      if (error instanceof PuenteError && error.code === 'conflict') return;
      if (stopping.aborted) return;
      await parts.clock.sleep(RECORD_PAUSE_MS, stopping);
    }
  }
}

/** Why there is no request, where settings are the cause. */
const SETTINGS: readonly string[] = ['attempt.no_url', 'attempt.no_secret'];

function held(detail: Spoken): SendResult {
  const is_by_settings = SETTINGS.includes(detail.said.code);
  return { outcome: 'ours', status: null, detail, retry_after_ms: null, is_by_settings };
}

/** The legacy contract gives a receiver 22 s (`docs/field-notes.md` Point §3.2). */
const TIMEOUT_MS = 22_000;
/** No real receiver needs longer for lookup and connection; the rest of the time is for its answer. */
const MAX_CONNECT_MS = 10_000;
/** Larger than any ordinary answer. */
const MAX_ANSWER_BYTES = 16 * 1024;
/** The schedule limits it further, to twice its own pause. */
const MAX_RETRY_AFTER_MS = 48 * 3_600_000;
/** Legacy accepted only these, and sent again after any other 2xx. */
const DELIVERED: readonly number[] = [200, 201];
/** Failures of this machine or its resolver, never of the receiver. */
const OUR_CODES: readonly string[] = [
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'EADDRNOTAVAIL',
  'ENETDOWN',
  'ENETUNREACH',
  'EAI_AGAIN',
];

/** How one attempt ended. */
export interface SendResult {
  outcome: Attempt['outcome'];
  status: number | null;
  /** Contains nothing of the receiver's body. */
  detail: Sentence;
  retry_after_ms: number | null;
  /** Of `ours`: held until an operator changes a setting. */
  is_by_settings?: boolean;
}

/** Sends notices over guarded connections. */
export interface Sender {
  /** Never rejects. */
  send(request: NoticeRequest): Promise<SendResult>;
  /** Cuts running calls. */
  close(): Promise<void>;
}

export interface SenderOptions {
  policy: OutboundPolicy;
  /** For requests without their own User-Agent. */
  userAgent: string;
  /** Replaces the system's resolver. */
  resolve?: Resolve;
  timeout_ms?: number;
}

/** How long a connection waits for the next notice to its origin; Node's own server closes it after five seconds. */
const KEPT_MS = 4_000;
/** More connections are not kept: those of a large fleet's receivers would take the descriptors that tills need. */
const MOST_KEPT = 100;
/** Then the name is looked up anew, and its address checked: a receiver may have moved. */
const MOST_NOTICES = 100;
/** How a kept connection ends that the receiver closed as the notice went out. */
const CLOSED_CODES: readonly string[] = ['UND_ERR_SOCKET', 'UND_ERR_DESTROYED', 'ECONNRESET', 'EPIPE'];
/** A later end is that of a receiver in trouble, which is not sent the notice again at once. */
const AT_ONCE_MS = 1_000;

/** Connections by origin, kept for the next notice. The address is checked when one is made. */
function keptConnections(connect: ReturnType<typeof guardedConnector>) {
  const options: Client.Options = {
    connect,
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEPT_MS,
    keepAliveMaxTimeout: KEPT_MS,
    maxRequestsPerClient: MOST_NOTICES,
  };
  const open = new Set<Client>();
  const kept = new Map<string, Client[]>();

  async function drop(client: Client, origin: string): Promise<void> {
    open.delete(client);
    const others = kept.get(origin)?.filter((one) => one !== client) ?? [];
    if (others.length === 0) kept.delete(origin);
    else kept.set(origin, others);
    await client.destroy();
  }

  return {
    take: (origin: string): Client | undefined => kept.get(origin)?.pop(),
    make(origin: string): Client {
      const client = new Client(origin, options);
      open.add(client);
      client.once('disconnect', () => void drop(client, origin));
      return client;
    },
    async keep(client: Client, origin: string): Promise<void> {
      if (client.destroyed || open.size > MOST_KEPT) return drop(client, origin);
      kept.set(origin, [...(kept.get(origin) ?? []), client]);
    },
    drop,
    cut: () => Promise.all(Array.from(open, (client) => client.destroy())),
  };
}

/** Sends guarded POSTs without redirects, over kept connections. */
export function createSender({ policy, userAgent, resolve, timeout_ms = TIMEOUT_MS }: SenderOptions): Sender {
  const connections = keptConnections(guardedConnector(policy, Math.min(timeout_ms, MAX_CONNECT_MS), resolve));
  let is_closed = false;

  async function post({ origin, pathname, search }: URL, { headers, body }: NoticeRequest): Promise<SendResult> {
    const waiting = connections.take(origin);
    const asked_at = performance.now();
    let client = waiting ?? connections.make(origin);
    // Destroying the client ends the call at every stage; an abort signal would not end a connection attempt.
    const timer = setTimeout(() => void client.destroy(new TimeUp()), timeout_ms);
    const ask = () =>
      client.request({
        path: pathname + search,
        method: 'POST',
        headers: { 'user-agent': userAgent, ...headers, 'accept-encoding': 'identity' },
        body,
      });
    const isStale = () => client === waiting && !is_closed && performance.now() - asked_at <= AT_ONCE_MS;
    const askAnew = () => {
      client = connections.make(origin);
      return ask();
    };
    try {
      let answer = await ask().catch((error: unknown) => {
        if (!CLOSED_CODES.includes(codeOf(error)) || !isStale()) throw error;
        return askAnew();
      });
      // With 408 a receiver ends a connection that was idle (RFC 9110, 15.5.9); this notice may not have reached it.
      if (answer.statusCode === 408 && isStale()) {
        await readSome(answer.body);
        await connections.drop(client, origin);
        answer = await askAnew();
      }
      const is_whole = await readSome(answer.body);
      await (is_whole ? connections.keep(client, origin) : connections.drop(client, origin));
      return judge(answer);
    } catch (error) {
      await connections.drop(client, origin);
      return failed(error, timeout_ms);
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    async send(request) {
      try {
        return await post(checkUrl(request.url, policy), request);
      } catch (error) {
        return failed(error, timeout_ms);
      }
    },
    async close() {
      is_closed = true;
      await connections.cut();
    },
  };
}

class TimeUp extends Error {}

function judge({ statusCode: status, headers }: Dispatcher.ResponseData): SendResult {
  if (DELIVERED.includes(status))
    return { outcome: 'delivered', status, detail: say('attempt.answered', { status }), retry_after_ms: null };
  const given = headers['retry-after'];
  const retry_after_ms = readRetryAfter(Array.isArray(given) ? given[0] : given, Date.now(), MAX_RETRY_AFTER_MS);
  const is_redirect = status >= 300 && status < 400;
  return {
    outcome: 'theirs',
    status,
    detail: say(is_redirect ? 'attempt.redirected' : 'attempt.refused', { status }),
    retry_after_ms,
  };
}

/** The status has already decided, so a broken body changes nothing. @returns whether it was read to its end. */
async function readSome(body: AsyncIterable<Uint8Array>): Promise<boolean> {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes >= MAX_ANSWER_BYTES) return false;
    }
    return true;
  } catch {
    // Cut by the receiver or by the timeout.
    return false;
  }
}

function failed(error: unknown, timeout_ms: number): SendResult {
  const result = { status: null, retry_after_ms: null };
  if (error instanceof PuenteError)
    return { ...result, outcome: 'ours', detail: messageOf(error), is_by_settings: true };
  if (error instanceof TimeUp) {
    return { ...result, outcome: 'theirs', detail: say('attempt.silent', { timeout_ms }) };
  }
  const code = codeOf(error);
  if (OUR_CODES.includes(code)) return { ...result, outcome: 'ours', detail: say('attempt.unconnected', { code }) };
  if (code.startsWith('UND_ERR_INVALID_ARG'))
    return { ...result, outcome: 'ours', detail: say('attempt.unwritable', {}) };
  return { ...result, outcome: 'theirs', detail: say('attempt.broken', { code }) };
}

function messageOf({ said: [said], message }: PuenteError): Sentence {
  return said === undefined ? quoted(message) : say(said.code, said.facts);
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'no code';
}
