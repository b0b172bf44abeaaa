/** The safety stop at work: watches finished exchanges, and takes a kind of a merchant's work back to shadow when it must. */

import { PuenteError } from '../../error.ts';
import type { AuditAction } from '../audit-actions.ts';
import type { Merchant, RoutedKind, SafetyMode, Trip } from '../routing/merchant.ts';
import { stageInForce } from '../routing/stage.ts';
import type { Runtime } from '../runtime.ts';
import type { AuditEntry } from '../store.ts';
import { type Class, classify } from './classify.ts';
import { defaultRows } from './default-rows.ts';
import type { SafetyWatch, Watched } from './watched.ts';
import { addCall, emptyWindow, sliceOf, sumsOf, tripReason, type Window } from './window.ts';

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

/** What the watch is handed of the runtime that it becomes a part of. */
type Parts = Pick<Runtime, 'store' | 'tables' | 'clock' | 'settings' | 'log' | 'count'>;

export function createSafetyWatch(runtime: Parts): SafetyWatch {
  const rules = runtime.settings.safety;
  const defaults = defaultRows(runtime.tables);
  const windows = new Map<string, Kept>();
  const deciding = new Set<Promise<void>>();
  const start = (kept: Kept, at: number): void => {
    kept.rest_until = at + sliceOf(rules);
    const work = decide(runtime, kept).catch((error: unknown) =>
      runtime.log.error('the safety stop could not decide', { merchant: kept.merchant_id, cause: String(error) }),
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
        .map((kept) => watched(kept, rules, runtime.clock.now()))
        .filter(({ calls, in_a_row }) => calls + in_a_row > 0);
    },
    async settled() {
      await Promise.all(deciding);
    },
  };
}

/** The merchant's mode decides; only work that is on orders can be stopped. */
async function decide(runtime: Parts, kept: Kept): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const now = runtime.clock.now();
    const merchant = await runtime.store.merchant(kept.merchant_id);
    const sums = sumsOf(kept.window, runtime.settings.safety, now);
    const why = tripReason(sums, runtime.settings.safety);
    const mode = modeOf(runtime, merchant);
    if (merchant === null || why === null || mode === 'off') return;
    const { stage, trip: standing } = stageInForce(runtime.settings, merchant, kept.kind);
    if (standing !== null || (stage !== 'canary' && stage !== 'orders')) return;
    const trip: Trip = { at: now, why, evidence: { ...sums, window_ms: runtime.settings.safety.window_ms } };
    try {
      await (mode === 'armed' ? stop(runtime, kept, merchant, trip) : tell(runtime, kept, trip));
      return;
    } catch (error) {
      if (!(error instanceof PuenteError && error.code === 'conflict') || attempt === TRIES) throw error;
    }
  }
}

/** The operator's stage stays as it is: the stop lies over it until somebody resets it. */
async function stop(runtime: Parts, kept: Kept, merchant: Merchant, trip: Trip): Promise<void> {
  const { intended } = stageInForce(runtime.settings, merchant, kept.kind);
  const line = auditOf(kept, trip, STOPPED, 'armed');
  const audit = { ...line, detail: { ...line.detail, before: { stage: intended }, after: { stage: 'shadow' } } };
  await runtime.store.saveTrips(merchant.id, { [kept.kind]: trip }, merchant.revision, audit);
  kept.window = emptyWindow();
  kept.since = runtime.clock.now();
  runtime.count('safety_stops', 'armed');
  runtime.log.error('safety stop', { merchant: merchant.id, action: `${kept.kind} to shadow`, cause: trip.why });
}

/** Once a window says what it would have done. */
async function tell(runtime: Parts, kept: Kept, trip: Trip): Promise<void> {
  if (kept.told_at !== null && trip.at < kept.told_at + runtime.settings.safety.window_ms) return;
  kept.told_at = trip.at;
  await runtime.store.appendAudit(auditOf(kept, trip, WOULD_STOP, 'observe'));
  runtime.count('safety_stops', 'observe');
  runtime.log.warn('a safety stop would have tripped', {
    merchant: kept.merchant_id,
    action: kept.kind,
    cause: trip.why,
  });
}

export function modeOf(runtime: Pick<Runtime, 'settings'>, merchant: Merchant | null): SafetyMode {
  return merchant?.settings.safety_stop ?? runtime.settings.merchants.safety_stop;
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

function watched({ merchant_id, kind, window }: Kept, rules: Runtime['settings']['safety'], now: number): Watched {
  const sums = sumsOf(window, rules, now);
  return { merchant_id, kind, ...sums, why: tripReason(sums, rules) };
}
