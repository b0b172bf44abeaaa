/** The safety stop: watches finished exchanges and takes one kind of work of a merchant back to shadow when the orders lane fails. */
import { PuenteError } from '../../error.ts';
import { say } from '../../locales/sentences.ts';
import type { AuditAction, AuditEntry } from '../audit.ts';
import type { SafetyWatch, Watched } from '../evidence/exchange.ts';
import type { Ports } from '../ports.ts';
import type { Merchant, RoutedKind, SafetyMode, Trip } from '../routing/merchant.ts';
import { stageInForce } from '../routing/stage.ts';
import type { CoreSettings } from '../settings.ts';
import { type Class, classify, defaultRows } from './classify.ts';

/** Audit actions, for those who look for them. */
export const STOPPED = 'safety stop';
export const WOULD_STOP = 'safety stop observed';

/** Another change of the merchant may come between; nobody changes one ten times in a moment. */
const TRIES = 10;
/** Windows in memory: merchants that called lately, by kind. The ones that were quiet longest go first. */
const MOST_WINDOWS = 20_000;

interface Kept {
  merchant_id: string;
  kind: RoutedKind;
  window: Window;
  /** Epoch ms: what came in before belongs to a stop that was made of it. */
  since: number;
  /** Epoch ms before which the merchant is not looked at again, so that a storm of faults asks the store once a slice. */
  rest_until: number;
  /** Epoch ms when it was last told what the stop would have done. */
  told_at: number | null;
}

/** What the watch is handed of the ports that it becomes a part of. */
type Parts = Pick<Ports, 'store' | 'tables' | 'clock' | 'settings' | 'log' | 'count'>;

export function createSafetyWatch(ports: Parts): SafetyWatch {
  const rules = ports.settings.safety;
  const defaults = defaultRows(ports.tables);
  const windows = new Map<string, Kept>();
  const deciding = new Set<Promise<void>>();
  const start = (kept: Kept, at: number): void => {
    kept.rest_until = at + sliceOf(rules);
    const work = decide(ports, kept).catch((error: unknown) =>
      ports.log.error('the safety stop could not decide', { merchant: kept.merchant_id, cause: String(error) }),
    );
    deciding.add(work);
    void work.then(() => deciding.delete(work));
  };
  return {
    note(exchange) {
      const default_row = exchange.fired.some((row) => defaults.has(row));
      const found = classify({ ...exchange, default_row }, rules.slow_ms);
      if (found === null) return;
      const at = exchange.at + exchange.duration_ms;
      const kept = keptOf(windows, found);
      if (exchange.at < kept.since) return;
      addCall(kept.window, rules, at, found.is, exchange.id);
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

/** The merchant's mode decides; only work that is on orders can be stopped. */
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
    const trip: Trip = { at: now, why, evidence: { ...sums, window_ms: ports.settings.safety.window_ms } };
    try {
      await (mode === 'armed' ? stop(ports, kept, merchant, trip) : tell(ports, kept, trip));
      return;
    } catch (error) {
      if (!(error instanceof PuenteError && error.code === 'conflict') || attempt === TRIES) throw error;
    }
  }
}

/** The operator's stage stays as it is: the stop lies over it until somebody resets it. */
async function stop(ports: Parts, kept: Kept, merchant: Merchant, trip: Trip): Promise<void> {
  const { intended } = stageInForce(ports.settings, merchant, kept.kind);
  const line = auditOf(kept, trip, STOPPED, 'armed');
  const audit = { ...line, detail: { ...line.detail, before: { stage: intended }, after: { stage: 'shadow' } } };
  await ports.store.merchants.saveTrips(merchant.id, { [kept.kind]: trip }, merchant.revision, audit);
  kept.window = emptyWindow();
  kept.since = ports.clock.now();
  ports.count('safety_stops', 'armed');
  ports.log.error('safety stop', { merchant: merchant.id, action: `${kept.kind} to shadow`, cause: trip.why });
}

/** Once a window says what it would have done. */
async function tell(ports: Parts, kept: Kept, trip: Trip): Promise<void> {
  if (kept.told_at !== null && trip.at < kept.told_at + ports.settings.safety.window_ms) return;
  kept.told_at = trip.at;
  await ports.store.audit.appendAudit(auditOf(kept, trip, WOULD_STOP, 'observe'));
  ports.count('safety_stops', 'observe');
  ports.log.warn('a safety stop would have tripped', {
    merchant: kept.merchant_id,
    action: kept.kind,
    cause: trip.why,
  });
}

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
  const kept = windows.get(key) ?? { merchant_id, kind, window: emptyWindow(), since: 0, rest_until: 0, told_at: null };
  windows.delete(key); // so that the map stays in the order of the last call
  windows.set(key, kept);
  if (windows.size > MOST_WINDOWS) windows.delete(windows.keys().next().value ?? '');
  return kept;
}

function watched({ merchant_id, kind, window }: Kept, rules: Ports['settings']['safety'], now: number): Watched {
  const sums = sumsOf(window, rules, now);
  return { merchant_id, kind, ...sums, why: tripReason(sums, rules) };
}

// A sliding window over the calls of one merchant and kind: sums in slices, so that a busy merchant costs no more
// than a quiet one: pure.

/** Slices of a window: its end is exact to a thirtieth. */
const SLICES = 30;
/**
 * So many faults in a row, with no good call between, trip it whatever the sample: when nothing works at all, a small shop
 * never comes to one, because every till that was failed once is held by its own doubt.
 */
const FAULTS_IN_A_ROW = 5;
/** A fault that came so long after the one before begins a new row: a small shop sells a few times an hour. */
const ROW_ENDS_AFTER_MS = 60 * 60_000;

interface Slice {
  /** Number of the slice since 1970. */
  nth: number;
  calls: number;
  faults: number;
  slow: number;
}

export interface Window {
  slices: Slice[];
  /** Faults since the last good call, and when the last of them was seen (epoch ms). */
  row: { faults: number; at: number };
  /** The exchange that showed the last fault or slow call. */
  sample: string | null;
}

export interface Sums {
  calls: number;
  faults: number;
  slow: number;
  /** Faults since the last good call. */
  in_a_row: number;
  sample: string | null;
}

export type SafetyRules = CoreSettings['safety'];

export function emptyWindow(): Window {
  return { slices: [], row: { faults: 0, at: 0 }, sample: null };
}

/** Adds a call, and lets go of what has left the window. @param at epoch ms. */
export function addCall(window: Window, rules: SafetyRules, at: number, is: Class, sample: string): void {
  const nth = Math.floor(at / sliceOf(rules));
  window.slices = window.slices.filter((slice) => slice.nth > nth - SLICES);
  const slice = window.slices.find((one) => one.nth === nth) ?? { nth, calls: 0, faults: 0, slow: 0 };
  if (slice.calls === 0) window.slices.push(slice);
  slice.calls++;
  window.row = { faults: is === 'fault' ? rowAt(window, at) + 1 : 0, at };
  if (is === 'fine') return;
  if (is === 'fault') slice.faults++;
  else slice.slow++;
  window.sample = sample;
}

/** What the window holds now. */
export function sumsOf(window: Window, rules: SafetyRules, now: number): Sums {
  const first = Math.floor(now / sliceOf(rules)) - SLICES;
  const sums: Sums = { calls: 0, faults: 0, slow: 0, in_a_row: rowAt(window, now), sample: window.sample };
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

/** Why the stop trips, in a sentence; null while it doesn't. Too few calls prove nothing, unless all of them fail. */
export function tripReason({ calls, faults, slow, in_a_row }: Sums, rules: SafetyRules): string | null {
  const row = say('safety.in_a_row', { in_a_row, limit: FAULTS_IN_A_ROW }).text;
  if (calls < rules.min_sample) return in_a_row >= FAULTS_IN_A_ROW ? row : null;
  const { fault_share, slow_share, slow_ms } = rules;
  const minutes = Math.round(rules.window_ms / 6000) / 10;
  if (faults * 100 >= calls * fault_share)
    return say('safety.faults', { faults, calls, minutes, share: fault_share }).text;
  if (slow * 100 >= calls * slow_share)
    return say('safety.slow', { slow, calls, minutes, slow_ms, share: slow_share }).text;
  return in_a_row >= FAULTS_IN_A_ROW ? row : null;
}

/** Milliseconds of a slice. */
export function sliceOf(rules: SafetyRules): number {
  return Math.max(1, rules.window_ms / SLICES);
}
