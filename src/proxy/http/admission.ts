/** Admission to the public door: under too much load background work is shed first, then reads, payments last; before a request is read, asked about or written. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from 'express';
import { matchPath } from '../../mapping/path.ts';
import type { Operation } from '../../mapping/tables.ts';
import { createLru } from '../concurrency.ts';
import type { Count } from '../log.ts';
import type { Ports } from '../ports.ts';
import type { Store } from '../store.ts';
import { refused, sendAnswer } from './answer.ts';
import { workOf } from './exchange.ts';
import { familyOf } from './passthrough.ts';
import { isHeldBack, readToken } from './request.ts';

/** Tills and upstream try again after so long; by then what is under way is mostly done. */
const RETRY_AFTER_S = 1;
/** A short body is taken in and thrown away, so that the connection stays for the next try. */
const SHORT_BODY_BYTES = 8_192;
const WEBHOOK_PATH = '/webhooks/orders';

/**
 * Whose call it is is told by its token alone: addresses and `X-Forwarded-For` are anybody's to choose, and are never
 * looked at (`test/faults/README.md` F99, F100).
 */
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
      workOf(request).then(leave, leave); // a create goes on when its till has gone
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

/** A start has forgotten whose tokens are good; a flood of invented ones must not keep theirs out until they are told again. */
async function recognise(store: Pick<Store, 'merchants'>, admission: Admission, fingerprint: string): Promise<void> {
  try {
    if ((await store.merchants.token(fingerprint)) !== null) admission.noteKnown(fingerprint);
  } catch {
    // A store that can't be read says nothing for the token.
  }
}

/** It makes, cancels or refunds something. */
export function isPayment({ method, kind }: Pick<Operation, 'method' | 'kind'>): boolean {
  return method !== 'GET' && kind !== 'devices';
}

/** Of these methods nothing is made, cancelled or refunded. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * What a call is, by method and path. What no table knows is carried, and may be a payment at legacy: it counts as one
 * unless its method only reads, and whoever floods with it has only its own room.
 */
export function callClasses(operations: readonly Operation[]): (method: string, target: string) => CallClass {
  const harmless = operations.filter(({ method, kind }) => method !== 'GET' && kind === 'devices');
  return (method, target) => {
    if (READING.has(method)) return 'read';
    const asked = target.split('?', 1)[0] ?? '';
    if (method === 'POST' && matchPath(WEBHOOK_PATH, asked) !== null) return 'event';
    const is_harmless = harmless.some((one) => one.method === method && matchPath(one.path, asked) !== null);
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

// Who is let in when there is too much to do: background work gives way first, then reads, and payments last.

export interface AdmissionLimits {
  /** Calls under way in all. */
  calls: number;
  /** Of those, the ones with a token that nobody has accepted yet. */
  unknown_calls: number;
  /** Calls under way with one merchant's token. */
  merchant_calls: number;
  /**
   * Calls a second with one merchant's token that are nobody's loss, while Puente is busy. The reads of all strangers
   * together have as many.
   */
  merchant_per_second: number;
  /** A delay of the event loop from which on reads are shed. */
  lag_ms: number;
}

/** `payment`: makes, cancels or refunds something, or may do so. `read`: what else tills ask. `event`: told by upstream. */
export type CallClass = 'payment' | 'read' | 'event';

/** What gives way now: everything above a name in this list is shed before it. */
export const sheddingLevels = ['nothing', 'shadow', 'reads', 'payments'] as const;
export type SheddingLevel = (typeof sheddingLevels)[number];

export interface Admission {
  /**
   * Lets a call in, or sheds it.
   * @param fingerprint of the token; null without one.
   * @returns what to call when the call is over, or null when it is shed; then nothing of it was kept, and it was counted.
   */
  enter(kind: CallClass, fingerprint: string | null): (() => void) | null;
  /**
   * Takes a place among the calls whose body is still coming, besides the one of `enter`: whoever sends slowly keeps only
   * its own long bodies waiting.
   * @returns what to call when the body has come, or null when the call is shed; then it was counted.
   */
  upload(kind: CallClass, fingerprint: string | null): (() => void) | null;
  /** Its token was accepted since the start. */
  isKnown(fingerprint: string): boolean;
  /** The token was accepted, so it has limits of its own from now on. */
  noteKnown(fingerprint: string): void;
  /** It counts with those of strangers, who have no room left to speak of, or no more to ask this second. */
  isCrowdedOut(fingerprint: string): boolean;
  /** What gives way now. */
  level(): SheddingLevel;
  /** How many calls are under way. */
  callsUnderWay(): number;
  /** Ends the measuring of the delay. */
  stop(): void;
}

/** Shadows are left out from half of the calls on, and rates begin to count: there is room left for payments only then. */
const BUSY_SHARE = 0.5;
/** Reads leave the last quarter of every limit to payments. */
const READ_SHARE = 0.75;
/** Bodies that are still coming leave the rest of every limit to calls that have come. Tills send none so long. */
const UPLOAD_SHARE = 0.25;
/** Tokens with limits of their own; one that is forgotten is unknown again until its next call that works (F102). */
const MAX_KNOWN = 20_000;
/** How often the delay of the event loop is measured. */
const BEAT_MS = 100;

/** Calls that count together. */
interface Group {
  cap: number;
  under_way: number;
  /** Of those, the ones whose body is still coming. */
  uploads: number;
  /** Calls left in this second's allowance. */
  allowance: number;
  /** Process time of the last change of the allowance, ms. */
  at_ms: number;
}

/** @param now_ms a clock that nobody can set, ms. @param count told of each call that is shed, as `class reason`. */
export function createAdmission(limits: AdmissionLimits, now_ms: () => number, count: Count): Admission {
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
    enter(kind, fingerprint) {
      const group = find(kind, fingerprint);
      refill(group);
      const reason = whyShed(kind, level(), group, group === strangers);
      if (reason !== null) {
        count('shed', `${kind} ${reason}`);
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
    upload(kind, fingerprint) {
      const group = find(kind, fingerprint);
      if (group.uploads >= group.cap * UPLOAD_SHARE) {
        count('shed', `${kind} upload`);
        return null;
      }
      group.uploads++;
      return once(() => group.uploads--);
    },
    isKnown: (fingerprint) => known.get(fingerprint) !== undefined,
    noteKnown(fingerprint) {
      if (known.get(fingerprint) === undefined) known.set(fingerprint, groupOf(limits.merchant_calls));
    },
    isCrowdedOut(fingerprint) {
      if (known.get(fingerprint) !== undefined) return false;
      refill(strangers);
      const is_rate_spent = level() !== 'nothing' && strangers.allowance < 1;
      return is_rate_spent || strangers.under_way >= strangers.cap * READ_SHARE;
    },
    level,
    callsUnderWay: () => under_way,
    stop: lag.stop,
  };
}

/** Why a call is shed; null when it may come in. */
function whyShed(kind: CallClass, level: SheddingLevel, group: Group, is_strangers: boolean): 'load' | 'share' | null {
  const is_payment = kind === 'payment';
  if (level === 'payments' || (level === 'reads' && !is_payment)) return 'load';
  if (group.under_way >= group.cap * (is_payment ? 1 : READ_SHARE)) return 'share';
  return doesRateCount(kind, level, is_strangers) && group.allowance < 1 ? 'share' : null;
}

/**
 * While there is room, nobody loses anything by a merchant that asks a lot. Events are those of all merchants, and after a
 * start strangers are: their payments must not share what one merchant may ask, so their room alone bounds them.
 */
function doesRateCount(kind: CallClass, level: SheddingLevel, is_strangers: boolean): boolean {
  if (kind === 'payment') return level === 'reads' && !is_strangers;
  return kind === 'read' && level === 'shadow';
}

/** Refills the allowance for the time that went by. */
function earn(group: Group, per_second: number, now_ms: number): void {
  const earned = ((now_ms - group.at_ms) / 1000) * per_second;
  group.allowance = Math.min(per_second, group.allowance + Math.max(0, earned));
  group.at_ms = now_ms;
}

/**
 * How late timers, and so every call, are served now (`test/faults/README.md` F50): the delay of the last beat, or of the one that
 * is due, because after a stall calls are read before timers run.
 */
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
