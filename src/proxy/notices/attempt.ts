/** One attempt to deliver one notice: build, send, judge, record. */

import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { Attempt, Notice } from '../records/notices.ts';
import type { Dialect } from '../routing/merchant.ts';
import type { Secret } from '../secret.ts';
import type { Store } from '../store.ts';
import { feedNoticeRequest } from './feed-request.ts';
import { type NoticeRequest, noticeRequest, withoutCredentials } from './point-request.ts';
import { afterNoticeAttempt } from './retry-schedule.ts';
import type { Sender, SendResult } from './sender.ts';
import { shownUrl } from './shown-url.ts';

/** Pause before an attempt that could not be recorded is recorded again; nothing new is worth sending meanwhile. */
const RECORD_PAUSE_MS = 5_000;

/** Where a notice goes and how it is told, as it is set now. */
export interface Receiver {
  url: string | null;
  dialect: Dialect;
  secret: Secret | null;
}

export interface AttemptParts {
  store: Pick<Store, 'recordAttempt'>;
  sender: Pick<Sender, 'send'>;
  /** Puente's public address without a slash at its end; notices of merchant orders name it. */
  public_url: string;
  /** `now`: epoch ms. `sleep` resolves after `ms`, or as soon as `signal` aborts. */
  clock: { now(): number; sleep(ms: number, signal: AbortSignal): Promise<void> };
  /** From 0 up to, not including, 1. */
  random: () => number;
  /** Age in ms from which a refused notice is given up; null: never. */
  horizon_ms: number | null;
  /** After every recorded attempt, for logs and counters. */
  onAttempt?: (notice: Notice, attempt: Attempt) => void;
  /** When the store fails; the loop goes on. Without a notice it was none in particular. */
  onFault?: (error: unknown, notice?: Notice) => void;
}

/**
 * Tries once, from the lookup's result to the record. Never rejects.
 * @param receiver Null when the merchant's settings or the link could not be read.
 */
export async function attemptNotice(
  parts: AttemptParts,
  notice: Notice,
  receiver: Receiver | null,
  stopping: AbortSignal,
): Promise<void> {
  const started = parts.clock.now();
  const request = writeRequest(notice, receiver, parts.public_url, started);
  const result = typeof request === 'string' ? held(request) : await parts.sender.send(asCalled(request));
  // A connection that was cut by our stop says nothing about the receiver; the notice stays due.
  if (stopping.aborted && result.status === null) return;
  const ended = parts.clock.now();
  const attempt: Attempt = {
    at: started,
    duration_ms: Math.max(0, ended - started),
    outcome: result.outcome,
    status: result.status,
    detail: result.detail,
    url: typeof request === 'string' ? null : shownUrl(request.url),
  };
  const next = afterNoticeAttempt({
    outcome: result.outcome,
    attempts: notice.attempts + 1,
    created_at: notice.created_at,
    now: ended,
    retry_after_ms: result.retry_after_ms,
    horizon_ms: parts.horizon_ms,
    random: parts.random(),
  });
  await record(parts, notice, attempt, next, stopping);
}

function asCalled(request: NoticeRequest): NoticeRequest {
  const { url, headers } = withoutCredentials(request.url);
  return { ...request, url, headers: { ...request.headers, ...headers } };
}

/** The request, or one sentence that says why there is none and what to do about it. */
function writeRequest(
  notice: Notice,
  receiver: Receiver | null,
  public_url: string,
  timestamp_ms: number,
): NoticeRequest | string {
  if (receiver === null) return say('attempt.unreadable_settings', {}).text;
  const { url, dialect, secret } = receiver;
  if (url === null) return say('attempt.no_url', {}).text;
  if (notice.form !== 'point') {
    try {
      return feedNoticeRequest(notice, { url, secret, public_url }, timestamp_ms);
    } catch {
      return say('attempt.no_news', {}).text;
    }
  }
  const facts = { url, intent_id: notice.legacy_id, body: notice.body, request_id: notice.id, timestamp_ms };
  if (dialect === 'point_integration_ipn') return noticeRequest({ ...facts, dialect });
  if (secret === null) return say('attempt.no_secret', {}).text;
  return noticeRequest({ ...facts, dialect, secret });
}

/** Keeps trying while the store fails, because a delivered notice that is not recorded would be sent again at once. */
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
      // Somebody else has changed the notice, so it is not ours to record any more.
      if (error instanceof PuenteError && error.code === 'conflict') return;
      if (stopping.aborted) return;
      await parts.clock.sleep(RECORD_PAUSE_MS, stopping);
    }
  }
}

function held(detail: string): SendResult {
  return { outcome: 'ours', status: null, detail, retry_after_ms: null };
}
