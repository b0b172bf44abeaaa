/** The safety stop: takes one kind of a merchant's new work back to shadow when its exchanges on orders fail. */
import { type UpstreamCallName, upstreamRoutes } from '../contract/upstream.ts';
import { PuenteError, type Spoken } from '../error.ts';
import { encoded, readStored, say } from '../locales/message.ts';
import type { Tables } from '../mapping/tables.ts';
import type { AuditAction, AuditEntry } from './audit.ts';
import {
  type Exchange,
  type Outcome,
  type SafetyWatch,
  type Sums,
  TILL_LEFT,
  type UpstreamNote,
  type Watched,
} from './evidence/exchange.ts';
import type { Ports } from './ports.ts';
import type { Merchant, RoutedKind, SafetyMode, Trip } from './routing/merchant.ts';
import { kindOfSlot, stageInForce } from './routing/stage.ts';
import type { CoreSettings } from './settings.ts';
import { isNotYet } from './upstream/upstream.ts';

/** The audit action of a stop. */
export const STOPPED = 'safety stop';
/** The audit action of a stop that only observes. */
export const WOULD_STOP = 'safety stop observed';

/** Another change of the merchant may win the race, but not ten times in a row. */
const TRIES = 10;
/** Windows in memory, by merchant and kind; the longest unused are dropped first. */
const MOST_WINDOWS = 20_000;

interface Kept {
  merchant_id: string;
  kind: RoutedKind;
  window: Window;
  /** Epoch ms of the last stop: calls that arrived before it no longer count. */
  since: number;
  /** Epoch ms before which no decision is made: a storm of faults reads the store once a slice. */
  rest_until: number;
  /** Epoch ms of the last report of a stop that would have tripped. */
  logged_at: number | null;
}

/** The watch is part of `Ports`, so it takes only these. */
type Parts = Pick<Ports, 'store' | 'tables' | 'clock' | 'settings' | 'log' | 'count'>;

/** The safety stop: judges each exchange, and moves a merchant back, or only reports, by its mode (`docs/operations.md`). */
export function createSafetyWatch(ports: Parts): SafetyWatch {
  const rules = ports.settings.safety;
  const byDefaultRow = defaultRowsOf(ports.tables);
  const writes = new Map(
    ports.tables.operations.filter(({ method }) => method !== 'GET').map(({ name, upstream }) => [name, upstream]),
  );
  /**
   * What failed: a sale, so that all retries of its create and all that it refuses are one fault; or a cancel or refund
   * of a sale, however often it is repeated; else the call. Retries of a sale that was refused or not sent have no id in
   * common: they are known by unit and amount, for 15 s.
   */
  const faultOf = (exchange: Exchange, { doubt_of, not_made }: Parameters<SafetyWatch['note']>[1]): Fault => {
    const { id, legacy_id, operation, unit } = exchange;
    if (operation === null || !writes.has(operation)) return { of: id };
    if (writes.get(operation) !== 'create') return { of: `${operation} ${legacy_id ?? unit ?? id}` };
    if (doubt_of === undefined && not_made !== undefined) return { of: not_made, new_after_ms: TRIED_AGAIN_MS };
    return { of: doubt_of ?? legacy_id ?? id };
  };
  const windows = new Map<string, Kept>();
  const deciding = new Set<Promise<void>>();
  const start = (kept: Kept, at: number): void => {
    kept.rest_until = at + sliceOf(rules);
    const work = decide(ports, kept).catch((error: unknown) =>
      ports.log.error('the safety stop could not evaluate its window', {
        merchant: kept.merchant_id,
        cause: String(error),
      }),
    );
    deciding.add(work);
    void work.then(() => deciding.delete(work));
  };
  return {
    note(exchange, failed) {
      const found = classify({ ...exchange, default_row: byDefaultRow(exchange) }, rules.slow_ms);
      if (found === null) return;
      const at = exchange.at + exchange.duration_ms;
      const kept = keptOf(windows, found);
      if (exchange.at < kept.since) return;
      addCall(kept.window, rules, at, found.is, { exchange: exchange.id, fault: faultOf(exchange, failed) });
      if (at >= kept.rest_until && tripReason(sumsOf(kept.window, rules, at), rules) !== null) start(kept, at);
    },
    view: (merchant_id) => {
      const mine = [...windows.values()].filter(
        (kept) => merchant_id === undefined || kept.merchant_id === merchant_id,
      );
      return mine
        .map((kept) => watched(kept, rules, ports.clock.now()))
        .filter(({ calls, in_a_row }) => calls + in_a_row > 0);
    },
    async settled() {
      await Promise.all(deciding);
    },
  };
}

/** Only work on orders can be stopped; the merchant's mode says whether it is. */
async function decide(ports: Parts, kept: Kept): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const now = ports.clock.now();
    const merchant = await ports.store.merchants.merchant(kept.merchant_id);
    const sums = sumsOf(kept.window, ports.settings.safety, now);
    const why = tripReason(sums, ports.settings.safety);
    const mode = modeOf(ports, merchant);
    if (merchant === null || why === null || mode === 'off') return;
    const { stage, trip: standing } = stageInForce(ports.settings, merchant, kept.kind);
    if (standing !== null || (stage !== 'canary' && stage !== 'orders')) return;
    const trip: Trip = {
      at: now,
      why: encoded(why),
      evidence: { ...sums, window_ms: ports.settings.safety.window_ms },
    };
    try {
      await (mode === 'armed' ? stop(ports, kept, merchant, trip) : noteTrip(ports, kept, trip));
      return;
    } catch (error) {
      if (!(error instanceof PuenteError && error.code === 'conflict') || attempt === TRIES) throw error;
    }
  }
}

/** The operator's stage stays stored; the stop overrides it until an operator resets the stop. */
async function stop(ports: Parts, kept: Kept, merchant: Merchant, trip: Trip): Promise<void> {
  const { intended } = stageInForce(ports.settings, merchant, kept.kind);
  const line = auditOf(kept, trip, STOPPED, 'armed');
  const audit = { ...line, detail: { ...line.detail, before: { stage: intended }, after: { stage: 'shadow' } } };
  await ports.store.merchants.saveTrips(merchant.id, { [kept.kind]: trip }, merchant.revision, audit);
  kept.window = emptyWindow();
  kept.since = ports.clock.now();
  ports.count('safety_stops', 'armed');
  ports.log.error('safety stop', {
    merchant: merchant.id,
    action: `${kept.kind} to shadow`,
    cause: readStored(trip.why).text,
  });
}

/** Reports, once a window, what the stop would have done. */
async function noteTrip(ports: Parts, kept: Kept, trip: Trip): Promise<void> {
  if (kept.logged_at !== null && trip.at < kept.logged_at + ports.settings.safety.window_ms) return;
  kept.logged_at = trip.at;
  await ports.store.audit.appendAudit(auditOf(kept, trip, WOULD_STOP, 'observe'));
  ports.count('safety_stops', 'observe');
  ports.log.warn('a safety stop would have tripped', {
    merchant: kept.merchant_id,
    action: kept.kind,
    cause: readStored(trip.why).text,
  });
}

/** The merchant's own mode, else the setting's. */
export function modeOf(ports: Pick<Ports, 'settings'>, merchant: Merchant | null): SafetyMode {
  return merchant?.settings.safety_stop ?? ports.settings.merchants.safety_stop;
}

function auditOf(
  { merchant_id, kind }: Kept,
  { at, why, evidence }: Trip,
  action: AuditAction,
  mode: SafetyMode,
): AuditEntry {
  return { at, who: 'puente', action, subject: merchant_id, reason: why, detail: { kind, mode, evidence } };
}

function keptOf(
  windows: Map<string, Kept>,
  { merchant_id, kind }: { merchant_id: string; kind: RoutedKind; is: Class },
): Kept {
  const key = `${merchant_id}/${kind}`;
  const kept = windows.get(key) ?? {
    merchant_id,
    kind,
    window: emptyWindow(),
    since: 0,
    rest_until: 0,
    logged_at: null,
  };
  windows.delete(key); // keeps the map in the order of the last call
  windows.set(key, kept);
  if (windows.size > MOST_WINDOWS) windows.delete(windows.keys().next().value ?? '');
  return kept;
}

function watched({ merchant_id, kind, window }: Kept, rules: Ports['settings']['safety'], now: number): Watched {
  const sums = sumsOf(window, rules, now);
  return { merchant_id, kind, ...sums, ...leftOf(sums, rules), why: tripReason(sums, rules)?.text ?? null };
}

// A sliding window over the calls of one merchant and kind, as sums of slices of bounded number. Pure.

/** Slices of a window, whose end is exact to one slice. */
const SLICES = 30;
/** Faults in a row that trip without a sample, which a small shop never reaches: its tills wait for sales in doubt. */
export const FAULTS_IN_A_ROW = 5;
/** A fault this long after the previous one begins a new row: a small shop sells a few times an hour. */
const ROW_ENDS_AFTER_MS = 60 * 60_000;
/**
 * A cashier or a client library tries a sale that failed again within this time; later an equal one is taken for the next
 * customer's, so that an outage trips the stop of a till with one price, too.
 */
const TRIED_AGAIN_MS = 15_000;
/** Faults remembered of a merchant and kind, so that a retry counts none; far more trip the stop. */
const MOST_FAULTS = 100;
/** Exchanges that a reason links: an operator opens one or two. */
const MOST_EXCHANGES = 10;

/** What failed. The same is no new fault for `new_after_ms` after it was counted; without it, as long as it goes on. */
interface Fault {
  of: string;
  new_after_ms?: number;
}

interface Slice {
  nth: number;
  calls: number;
  faults: number;
  slow: number;
}

interface Window {
  slices: Slice[];
  /** Faults since the last good call, and the epoch ms of the first and the last one. */
  row: { faults: number; since: number; at: number };
  /** Epoch ms from which each fault is no new one, in the order in which they were last seen. */
  seen: Map<string, number>;
  /** Faults and slow calls, newest first. */
  exchanges: { id: string; at: number }[];
}

type SafetyRules = CoreSettings['safety'];

/** A window without calls. */
export function emptyWindow(): Window {
  return { slices: [], row: { faults: 0, since: 0, at: 0 }, seen: new Map(), exchanges: [] };
}

/**
 * Adds a call, and drops slices that have left the window. A fault that was seen before is no new one, and no call
 * either, so that retries neither add to the faults nor dilute them.
 * @param at epoch ms. @param exchange its id. @param fault what failed, if it did.
 */
export function addCall(
  window: Window,
  rules: SafetyRules,
  at: number,
  is: Class,
  { exchange, fault }: { exchange: string; fault: Fault },
): void {
  if (is === 'fault' && isRepeated(window, rules, at, fault)) return;
  const nth = Math.floor(at / sliceOf(rules));
  window.slices = window.slices.filter((slice) => slice.nth > nth - SLICES);
  const slice = window.slices.find((one) => one.nth === nth) ?? { nth, calls: 0, faults: 0, slow: 0 };
  if (slice.calls === 0) window.slices.push(slice);
  slice.calls++;
  const faults = is === 'fault' ? rowAt(window, at) + 1 : 0;
  window.row = { faults, since: faults > 1 ? window.row.since : at, at };
  if (is === 'fine') return;
  if (is === 'fault') slice.faults++;
  else slice.slow++;
  window.exchanges = [{ id: exchange, at }, ...window.exchanges].slice(0, MOST_EXCHANGES);
}

/** True for a fault that was counted before and is no new one; notes it. */
function isRepeated({ seen }: Window, rules: SafetyRules, at: number, { of, new_after_ms }: Fault): boolean {
  const last = seen.get(of);
  const goes_on_ms = Math.max(rules.window_ms, ROW_ENDS_AFTER_MS);
  const is_repeated = last !== undefined && Math.abs(at - last) < (new_after_ms ?? goes_on_ms);
  seen.delete(of); // keeps the map in the order of the last time
  seen.set(of, is_repeated && new_after_ms !== undefined ? last : at);
  if (seen.size > MOST_FAULTS) seen.delete(seen.keys().next().value ?? '');
  return is_repeated;
}

/** What counts of a window at `now`, epoch ms: sums of its last `window_ms`, and the faults in a row. */
export function sumsOf(window: Window, rules: SafetyRules, now: number): Sums {
  const first = Math.floor(now / sliceOf(rules)) - SLICES;
  const in_a_row = rowAt(window, now);
  const since = Math.min(now - rules.window_ms, in_a_row > 0 ? window.row.since : now);
  const exchanges = window.exchanges.filter(({ at }) => at >= since).map(({ id }) => id);
  const sums: Sums = { calls: 0, faults: 0, slow: 0, in_a_row, exchanges };
  for (const slice of window.slices) {
    if (slice.nth <= first) continue;
    sums.calls += slice.calls;
    sums.faults += slice.faults;
    sums.slow += slice.slow;
  }
  return sums;
}

function rowAt({ row }: Window, now: number): number {
  return now - row.at < ROW_ENDS_AFTER_MS ? row.faults : 0;
}

/** Why the stop trips; null while it does not. Too few calls prove nothing, unless `FAULTS_IN_A_ROW` fail. */
export function tripReason({ calls, faults, slow, in_a_row }: Sums, rules: SafetyRules): Spoken | null {
  const is_row = in_a_row >= FAULTS_IN_A_ROW;
  const has_sample = calls >= rules.min_sample;
  const { fault_share, slow_share, slow_ms } = rules;
  const minutes = Math.round(rules.window_ms / 6000) / 10;
  if (has_sample && faults * 100 >= calls * fault_share)
    return say('safety.faults', { faults, calls, minutes, share: fault_share });
  if (has_sample && slow * 100 >= calls * slow_share)
    return say('safety.slow', { slow, calls, minutes, slow_ms, share: slow_share });
  return is_row ? say('safety.in_a_row', { in_a_row, limit: FAULTS_IN_A_ROW }) : null;
}

/** How many more calls that are faults, or slow, trip the stop; the smallest numbers for which `tripReason` does. */
export function leftOf(sums: Sums, rules: SafetyRules): Pick<Watched, 'faults_left' | 'slow_left'> {
  if (tripReason(sums, rules) !== null) return { faults_left: 0, slow_left: 0 };
  const { calls, faults, slow, in_a_row } = sums;
  const more = (bad: number, share: number): number => {
    // At 100 % a single good call keeps it from tripping until the call leaves the window.
    if (share >= 100) return bad === calls ? Math.max(1, rules.min_sample - calls) : Number.POSITIVE_INFINITY;
    return Math.max(1, rules.min_sample - calls, Math.ceil((calls * share - bad * 100) / (100 - share)));
  };
  const slow_left = more(slow, rules.slow_share);
  return {
    faults_left: Math.min(FAULTS_IN_A_ROW - in_a_row, more(faults, rules.fault_share)),
    slow_left: Number.isFinite(slow_left) ? slow_left : null,
  };
}

/** Length of a slice, ms. */
function sliceOf(rules: SafetyRules): number {
  return Math.max(1, rules.window_ms / SLICES);
}

// Classifies exchanges for the safety stop; errors of a shop never count. Pure.

/** `fault`: Puente's or upstream's. `slow`: right, but so late that tills give up. `fine`: right and in time. */
export type Class = 'fault' | 'slow' | 'fine';

/** The facts of an exchange by which it is judged. */
export type Judged = Pick<
  Exchange,
  'merchant_id' | 'operation' | 'kind' | 'lane' | 'stage' | 'unit' | 'status' | 'outcome' | 'upstream' | 'duration_ms'
> & {
  /** A default row gave the answer, because no other row has the upstream error. */
  default_row: boolean;
};

/**
 * The class of an exchange, and the kind it counts for. Null, which counts neither as fault nor as health: calls not on
 * orders, errors of a shop or card (declines, bad requests, busy terminals, unknown ids), refused tokens, rate limits,
 * and tills that disconnected. So a flood of busy terminals never dilutes faults.
 * @param slow_ms a call that takes this long is slow.
 */
export function classify(
  exchange: Judged,
  slow_ms: number,
): { merchant_id: string; kind: RoutedKind; is: Class } | null {
  const { merchant_id, lane, stage } = exchange;
  const kind = kindOf(exchange);
  if (merchant_id === null || kind === null || lane !== 'orders') return null;
  if (stage !== 'canary' && stage !== 'orders') return null;
  const is = classOf(exchange, slow_ms);
  return is === null ? null : { merchant_id, kind, is };
}

function classOf({ status, outcome, upstream, duration_ms, default_row }: Judged, slow_ms: number): Class | null {
  if (status === TILL_LEFT || outcome === 'auth') return null;
  if (status === 429 || wasPutOff(upstream)) return null;
  if (outcome === 'fault' || status >= 500) return 'fault';
  if (outcome === 'business') return default_row && isOurs(upstream) ? 'fault' : null;
  return duration_ms >= slow_ms ? 'slow' : 'fine';
}

/** HTTP statuses about the payment, a missing resource or its state: a shop's affair with any code. */
const SHOPS_AFFAIRS = [402, 404, 409];

/** True for an unknown refusal: upstream rejects Puente's translation, and the till's answer may be wrong. */
function isOurs(upstream: Exchange['upstream']): boolean {
  const status = upstream.at(-1)?.status ?? null;
  return status !== null && !SHOPS_AFFAIRS.includes(status);
}

/** True when upstream refused by its rate limit or could not do it yet: no fault. */
function wasPutOff(upstream: Exchange['upstream']): boolean {
  const last = upstream.findLast(({ name }) => name !== 'get');
  return upstream.at(-1)?.status === 429 || (last?.status != null && isNotYet(last.status, last.code));
}

/** Payments count for the kind of their sale, if the call names its unit. */
function kindOf({ kind, unit }: Judged): RoutedKind | null {
  if (kind !== 'payments') return kind;
  return unit === null ? null : kindOfSlot(unit);
}

/** Calls that identify the seller of a token; their refusal shows in the answer's own status. */
const IDENTITY_CALLS: readonly string[] = ['users_me'];

/**
 * The outcome of a call. A proxied answer that broke off is a fault with any status, and so is a till that stopped
 * waiting. Upstream's rate limit (429) is temporary: it counts as business, and never moves a merchant. A refusal (4xx)
 * that stands for a failed upstream call counts as that failure.
 * @param upstream the calls made for it, in order. @param by_doubt a create in doubt caused the refusal: a fault.
 */
export function outcomeOf(status: number, upstream: readonly UpstreamNote[], by_doubt = false): Outcome {
  if (upstream.some((note) => note.name === 'legacy' && note.status === null)) return 'fault';
  if (status < 400) return 'ok';
  if (status === 401 || status === 403) return 'auth';
  if (status >= 500 || status === TILL_LEFT) return 'fault';
  if (status === 429) return 'business';
  if (by_doubt) return 'fault';
  const last = upstream.findLast((note) => !IDENTITY_CALLS.includes(note.name));
  return last !== undefined && (last.status === null || last.status >= 500) ? 'fault' : 'business';
}

// The default rows of the errors tables: an exchange with one of them was answered by a guess.

/** Only default rows have these statuses with an empty body: a refusal, a failure, and neither. */
const UNNAMED_STATUSES = [418, 599, 302];

/** True for an exchange with a default row of its merchant's tables: two merchants' own rows may have the same id. */
export function defaultRowsOf(tables: Tables): (exchange: Pick<Exchange, 'merchant_id' | 'fired'>) => boolean {
  const common = defaultRows(tables);
  const own = new Map(tables.with_own.map((id) => [id, defaultRows(tables.of(id))]));
  return ({ merchant_id, fired }) => {
    const defaults = own.get(merchant_id ?? '') ?? common;
    return fired.some((row) => defaults.has(row));
  };
}

/** Row ids, as in `fired` of an exchange. */
function defaultRows(tables: Tables): ReadonlySet<string> {
  const rows = new Set<string>();
  const calls = Object.keys(upstreamRoutes) as UpstreamCallName[]; // the record's own keys
  // A family whose calls are all answered from the store has no upstream errors.
  const translated = tables.operations.filter((operation) => operation.upstream !== null);
  for (const family of new Set(translated.map((operation) => operation.family)))
    for (const call of calls)
      for (const status of UNNAMED_STATUSES) {
        const row = tables.error(family, call, status, {}, {});
        if (row.default) rows.add(row.row);
      }
  return rows;
}
