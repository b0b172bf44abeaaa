/** Load shedding at the public door, before a call is read or stored: shadows first, then reads, payments last. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { matcherOf } from '../../mapping/path.ts';
import type { Operation } from '../../mapping/tables.ts';
import { createLru } from '../concurrency.ts';
import type { Count } from '../log.ts';
import type { Ports } from '../ports.ts';
import type { Store } from '../store.ts';
import { refused, sendAnswer } from './answer.ts';
import { workOf } from './exchange.ts';
import { familyOf } from './passthrough.ts';
import { isHeldBack, readToken } from './request.ts';

/** `Retry-After` of a shed call; by then most calls in flight have ended. */
const RETRY_AFTER_S = 1;
/** A body up to this length is read and discarded, so that the connection stays open for the retry. */
const SHORT_BODY_BYTES = 8_192;
const WEBHOOK_PATH = '/webhooks/orders';

/** Counts calls by token: clients can forge addresses and `X-Forwarded-For` (`test/faults/README.md` F99, F100). */
export function admissionGate(ports: Pick<Ports, 'tables' | 'vault' | 'store'>, admission: Admission): RequestHandler {
  const classOf = callClasses(ports.tables.operations);
  const admit = (fingerprint: string | null, ...[request, response, next]: Handled): void => {
    if (response.closed) return;
    const kind = classOf(request.method, request.url);
    const come = request.complete ? NOTHING : admission.upload(kind, fingerprint);
    const leave = come === null ? null : admission.enter(kind, fingerprint);
    if (come === null || leave === null) {
      come?.();
      shed(request, response);
      return;
    }
    request.once('end', come);
    response.once('close', () => {
      come();
      workOf(request).then(leave, leave); // a create continues after its till disconnects
    });
    next();
  };
  return (...handled) => {
    const token = readToken(handled[0]);
    const fingerprint = token === null ? null : ports.vault.fingerprint(token);
    if (fingerprint === null || !admission.isCrowdedOut(fingerprint)) return admit(fingerprint, ...handled);
    void recognise(ports.store, admission, fingerprint).finally(() => admit(fingerprint, ...handled));
  };
}

const NOTHING = (): void => undefined;
type Handled = Parameters<RequestHandler>;

/** Restores a known token from the store after a restart: a flood of invented tokens must not shed its calls. */
async function recognise(store: Pick<Store, 'merchants'>, admission: Admission, fingerprint: string): Promise<void> {
  try {
    if ((await store.merchants.token(fingerprint)) !== null) admission.noteKnown(fingerprint);
  } catch {
    // With an unreadable store the token stays unknown.
  }
}

/** True for an operation that makes, cancels or refunds something. */
export function isPayment({ method, kind }: Pick<Operation, 'method' | 'kind'>): boolean {
  return method !== 'GET' && kind !== 'devices';
}

/** Methods that make, cancel or refund nothing. */
export const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** By method and path. An unknown write may be a payment at legacy, so it counts as one, within its token's limits. */
export function callClasses(operations: readonly Operation[]): (method: string, target: string) => CallClass {
  const harmless = operations.filter(({ method, kind }) => method !== 'GET' && kind === 'devices');
  return (method, target) => {
    if (READING.has(method)) return 'read';
    const match = matcherOf(target.split('?', 1)[0] ?? '');
    if (method === 'POST' && match(WEBHOOK_PATH) !== null) return 'event';
    const is_harmless = harmless.some((one) => one.method === method && match(one.path) !== null);
    return is_harmless ? 'read' : 'payment';
  };
}

function shed(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
  const stays =
    response.shouldKeepAlive && !isHeldBack(request) && encoding === undefined && Number(length) <= SHORT_BODY_BYTES;
  const headers = { 'retry-after': String(RETRY_AFTER_S), ...(stays ? { connection: 'keep-alive' } : {}) };
  sendAnswer(response, refused(familyOf(request.url ?? ''), 'unavailable', null, headers));
}

// Limits and counters: background work is shed first, then reads, and payments last.

/** Limits of the public door, from the settings `limits`. */
export interface AdmissionLimits {
  /** Calls in flight, all together. */
  calls: number;
  /** Calls in flight with tokens that were not accepted yet; webhooks have a limit of the same size. */
  unknown_calls: number;
  /** Calls in flight with one accepted token. */
  merchant_calls: number;
  /** Calls per second with one accepted token while Puente is busy; reads of all other tokens share as many. */
  merchant_per_second: number;
  /** Event-loop delay from which reads are shed. */
  lag_ms: number;
}

/** `payment`: makes, cancels or refunds something, or may. `event`: a webhook of upstream. `read`: all other calls. */
type CallClass = 'payment' | 'read' | 'event';

/** What is shed now; each level includes the ones before it. */
export const sheddingLevels = ['nothing', 'shadow', 'reads', 'payments'] as const;
type SheddingLevel = (typeof sheddingLevels)[number];

export type Admission = ReturnType<typeof createAdmission>;

/** From this share of the limits on, shadows are left out and rates count. */
const BUSY_SHARE = 0.5;
/** Reads leave the last quarter of every limit to payments. */
const READ_SHARE = 0.75;
/** Share of every limit for calls whose body is still arriving; the short body of a till is awaited before. */
const UPLOAD_SHARE = 0.25;
/** Tokens with limits of their own; an evicted one is unknown until its next accepted call (F102). */
const MAX_KNOWN = 20_000;
/** Interval of measuring the event-loop delay. */
const BEAT_MS = 100;

/** Calls that share a limit. */
interface Group {
  cap: number;
  under_way: number;
  /** Calls in flight whose body is still arriving. */
  uploads: number;
  /** Calls left of the rate. */
  allowance: number;
  /** Monotonic time of the last refill. */
  at_ms: number;
}

/** @param now_ms monotonic clock, ms. @param count called for each shed call, as `class reason`. */
export function createAdmission(limits: AdmissionLimits, now_ms: () => number, count: Count) {
  const groupOf = (cap: number): Group => ({
    cap,
    under_way: 0,
    uploads: 0,
    allowance: limits.merchant_per_second,
    at_ms: now_ms(),
  });
  const known = createLru<Group>(MAX_KNOWN);
  const strangers = groupOf(limits.unknown_calls);
  const events = groupOf(limits.unknown_calls);
  const lag = watchLag(now_ms);
  let under_way = 0;
  const level = (): SheddingLevel => {
    if (under_way >= limits.calls) return 'payments';
    if (under_way >= limits.calls * READ_SHARE || lag.now() >= limits.lag_ms) return 'reads';
    return under_way >= limits.calls * BUSY_SHARE || lag.now() >= limits.lag_ms * BUSY_SHARE ? 'shadow' : 'nothing';
  };
  const refill = (group: Group): void => earn(group, limits.merchant_per_second, now_ms());
  const find = (kind: CallClass, fingerprint: string | null): Group => {
    if (kind === 'event') return events;
    return (fingerprint === null ? undefined : known.get(fingerprint)) ?? strangers;
  };
  return {
    /** @param fingerprint null without a token. @returns a function for the call's end; null for a shed call, counted. */
    enter(kind: CallClass, fingerprint: string | null): (() => void) | null {
      const group = find(kind, fingerprint);
      refill(group);
      const reason = whyShed(kind, level(), group, group === strangers);
      if (reason !== null) {
        count('shed', kind, reason);
        return null;
      }
      group.allowance = Math.max(0, group.allowance - 1);
      group.under_way++;
      under_way++;
      return once(() => {
        group.under_way--;
        under_way--;
      });
    },
    /** The same for a body that is still arriving: slow senders fill only the few places of their own group. */
    upload(kind: CallClass, fingerprint: string | null): (() => void) | null {
      const group = find(kind, fingerprint);
      if (group.uploads >= group.cap * UPLOAD_SHARE) {
        count('shed', kind, 'upload');
        return null;
      }
      group.uploads++;
      return once(() => group.uploads--);
    },
    /** True for a token that was accepted since the start. */
    isKnown: (fingerprint: string): boolean => known.get(fingerprint) !== undefined,
    /** Gives an accepted token its own limits from now on. */
    noteKnown(fingerprint: string): void {
      if (known.get(fingerprint) === undefined) known.set(fingerprint, groupOf(limits.merchant_calls));
    },
    /** True for an unknown token while unknown tokens have little room left, or have used up their rate. */
    isCrowdedOut(fingerprint: string): boolean {
      if (known.get(fingerprint) !== undefined) return false;
      refill(strangers);
      const is_rate_spent = level() !== 'nothing' && strangers.allowance < 1;
      return is_rate_spent || strangers.under_way >= strangers.cap * READ_SHARE;
    },
    level,
    callsUnderWay: (): number => under_way,
    /** Stops measuring the event-loop delay. */
    stop: lag.stop,
  };
}

function whyShed(kind: CallClass, level: SheddingLevel, group: Group, is_strangers: boolean): 'load' | 'share' | null {
  const is_payment = kind === 'payment';
  if (level === 'payments' || (level === 'reads' && !is_payment)) return 'load';
  if (group.under_way >= group.cap * (is_payment ? 1 : READ_SHARE)) return 'share';
  return doesRateCount(kind, level, is_strangers) && group.allowance < 1 ? 'share' : null;
}

/**
 * Rates count only under load: before that, a busy merchant harms no other. They do not bound events and payments of
 * unknown tokens, which may be those of all merchants.
 */
function doesRateCount(kind: CallClass, level: SheddingLevel, is_strangers: boolean): boolean {
  if (kind === 'payment') return level === 'reads' && !is_strangers;
  return kind === 'read' && level === 'shadow';
}

function earn(group: Group, per_second: number, now_ms: number): void {
  const earned = ((now_ms - group.at_ms) / 1000) * per_second;
  group.allowance = Math.min(per_second, group.allowance + Math.max(0, earned));
  group.at_ms = now_ms;
}

/** Current delay of timers (`test/faults/README.md` F50), including a due beat: after a stall, calls run first. */
function watchLag(now_ms: () => number): { now(): number; stop(): void } {
  let last_beat_ms = now_ms();
  let late_ms = 0;
  const beat = setInterval(() => {
    const at_ms = now_ms();
    late_ms = Math.max(0, at_ms - last_beat_ms - BEAT_MS);
    last_beat_ms = at_ms;
  }, BEAT_MS).unref();
  return { now: () => Math.max(late_ms, now_ms() - last_beat_ms - BEAT_MS), stop: () => clearInterval(beat) };
}

function once(work: () => void): () => void {
  let is_done = false;
  return () => {
    if (is_done) return;
    is_done = true;
    work();
  };
}
