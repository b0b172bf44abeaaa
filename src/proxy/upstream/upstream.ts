/** A call to an upstream, its possible outcomes, and the repeats of a temporary refusal. */
import { notYetErrors, type UpstreamCallName, upstreamRoutes } from '../../contract/upstream.ts';
import { readError } from '../../mapping/errors.ts';
import type { Clock } from '../clock.ts';
import type { Secret } from '../vault.ts';

/** Puente's own reads outside of the orders API; their errors are not documented, and have no rows. */
export type LegacyReadName =
  | 'users_me'
  | 'pos'
  | 'payment'
  | 'payment_search'
  | 'merchant_order_search'
  | 'legacy_intent'
  | 'legacy_till'
  | 'legacy_events'
  | 'legacy_read';

/** One HTTP call to an upstream, before it is sent. */
export interface UpstreamCall {
  name: UpstreamCallName | LegacyReadName;
  method: 'GET' | 'POST' | 'PATCH';
  /** Absolute path, ids already checked against their pattern. */
  path: string;
  query?: Record<string, string>;
  /** Besides authorization, accept, content type and idempotency key, which the client sets. */
  headers?: Record<string, string>;
  /** Exact bytes of a JSON body. */
  body?: Uint8Array;
  token: Secret;
  idempotency_key?: string;
  timeout_ms: number;
  /** True for a read that a payment, cancel or refund waits for: it goes first. Unset: as the served call decides. */
  for_payment?: boolean;
  /** True for a call in the background, which is sent at a bounded rate, so that it is not repeated at once. */
  is_paced?: boolean;
}

/** A read with less time than this would mostly time out. */
export const SHORTEST_READ_MS = 250;

/**
 * `answered`: a complete answer. `not_sent`: proved that no byte of the request left (`docs/protocol.md` §3.5).
 * `broken`: bytes left and no complete, valid answer came; the effect is unknown. `page`: of a read, the status of a gateway's
 * page (401, 403 or 404 without JSON), which shows nothing about the token, what was looked for, or whether upstream works.
 */
export type UpstreamOutcome =
  | { kind: 'answered'; status: number; retry_after_ms: number | null; body: unknown }
  /** `kept_back`: refused by Puente's breaker, which refuses an immediate retry too. */
  | { kind: 'not_sent'; cause: string; kept_back?: boolean }
  | { kind: 'broken'; cause: string; page?: number };

/** The port of an upstream: the orders API, or legacy for its reads. */
export interface Upstream {
  /** Sends a write once, a read that is not paced once more if its kept connection closes; no redirect. Never throws for a network failure. */
  send(call: UpstreamCall): Promise<UpstreamOutcome>;
  /** True while a call of this method with this token would be refused; missing without a breaker. */
  isShut?(method: UpstreamCall['method'], token: Secret): boolean;
}

/** @param order_id checked against its pattern already, so that it can't change the path (`docs/protocol.md` P8). */
export function routeOf(name: UpstreamCallName, order_id = ''): Pick<UpstreamCall, 'name' | 'method' | 'path'> {
  const { method, path } = upstreamRoutes[name];
  return { name, method, path: path.replace(':order_id', order_id) };
}

/**
 * The first error code of either envelope (`docs/field-notes.md` Orders §1.5); null when there is none. What stands
 * beside it does not matter: nobody knows the form of `details`.
 */
export function errorCode(body: unknown): string | null {
  return readError(body).code || null;
}

/** `Retry-After`, seconds or an HTTP date, as ms from `now`, clamped to 0 … `max_ms`; null when unreadable (F19). */
export function readRetryAfter(header: string | null | undefined, now: number, max_ms: number): number | null {
  const text = header?.trim() ?? '';
  if (text === '') return null;
  const wait_ms = SECONDS.test(text) ? Number(text) * 1000 : readHttpDate(text) - now;
  if (Number.isNaN(wait_ms)) return null;
  return Math.round(Math.min(Math.max(wait_ms, 0), max_ms));
}

const SECONDS = /^[+-]?\d+(?:\.\d+)?(?:[eE]\+?\d+)?$/;

/** All three forms of HTTP dates start with a day name; any other text that `Date.parse` accepts is refused. */
function readHttpDate(text: string): number {
  return HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
}

const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

// Temporary refusals: sent again with the same key while the till waits, then answered as worth a retry.

/** First pause, doubled after each try: as clients have measured, a payment settles after 1 to 5 s. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 2_000;
/** Time left for the steps after the last try: a read of the order, and the answer. */
const RESERVE_MS = 500;

/** True for a temporary refusal: nothing was done, and the same call works later. */
export function isNotYet(status: number, code: string | null): boolean {
  return notYetErrors.some(
    ([its_status, its_code]) => status === its_status && (its_code === null || code === its_code),
  );
}

/** True for an answer that promises success later, such as a payment that is not ready to be refunded. */
export function isNotReady(outcome: UpstreamOutcome): boolean {
  // A success has no error code, and to look for one costs more than to judge its order.
  return outcome.kind === 'answered' && outcome.status >= 400 && isNotYet(outcome.status, errorCode(outcome.body));
}

/**
 * Sends, and repeats a temporary refusal within the process-wide retry budget.
 * @param deadline epoch ms at which the till has to be answered.
 * @param send one try, with the same key and bytes each time.
 */
export async function sendUntilReady(
  ports: { clock: Clock; memory: { retries: { spend(): boolean } } },
  deadline: number,
  send: () => Promise<UpstreamOutcome>,
): Promise<UpstreamOutcome> {
  for (let pause_ms = FIRST_PAUSE_MS; ; pause_ms = Math.min(2 * pause_ms, LONGEST_PAUSE_MS)) {
    const outcome = await send();
    if (outcome.kind !== 'answered' || !isNotReady(outcome)) return outcome;
    const wait_ms = Math.max(outcome.retry_after_ms ?? 0, pause_ms);
    const isLate = ports.clock.now() + wait_ms + RESERVE_MS > deadline;
    if (isLate || !ports.memory.retries.spend()) return outcome;
    await ports.clock.sleep(wait_ms);
  }
}
