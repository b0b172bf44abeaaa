/** How each merchant's two lanes do now: calls of the last hour in slices, so that a busy shop takes no more room than a quiet one: pure. */
import type { CallSeen } from '../../proxy/records/evidence.ts';
import { classOf, upperBound } from '../report/histogram.ts';

/** What the board shows; older calls are the report's. */
export const PULSE_MS = 60 * 60_000;
/** Points of a trend line: what the eye tells apart in a table's cell. */
const SLICES = 20;
const SLICE_MS = PULSE_MS / SLICES;
const MINUTE_MS = 60_000;

/** One lane of one merchant over the last hour. */
export interface LanePulse {
  calls: number;
  per_minute: number;
  /** Ours or the service's: 5xx, timeouts, outcomes in doubt. What a shop or a card does is none. */
  faults: number;
  /** Percent of the calls. */
  fault_share: number;
  /** What tills waited: upper bounds of their classes, at most 12.5 % above the true value. */
  p50_ms: number;
  p99_ms: number;
  /** Calls in each three minutes, oldest first. */
  trend: number[];
}

export interface LanePulses {
  /** Null: no call in the last hour. */
  legacy: LanePulse | null;
  orders: LanePulse | null;
}

export interface Pulses {
  add(call: CallSeen): void;
  of(merchant_id: string, now: number): LanePulses;
  /** Lets go of what has left the hour. */
  trim(now: number): void;
}

interface Slice {
  /** Number of the slice since 1970. */
  nth: number;
  calls: number;
  faults: number;
  /** Calls by class of duration. */
  waits: Map<number, number>;
}

type Lane = CallSeen['lane'];

export function createPulses(): Pulses {
  const kept = new Map<string, Slice[]>();
  const laneOf = (merchant_id: string, lane: Lane, now: number): LanePulse | null =>
    pulseOf(kept.get(`${lane} ${merchant_id}`) ?? [], now);
  return {
    add({ merchant_id, lane, at, outcome, duration_ms }) {
      if (merchant_id === null) return; // counts for nobody: the token was not proven to be anyone's
      const key = `${lane} ${merchant_id}`;
      const slices = kept.get(key) ?? [];
      const nth = Math.floor(at / SLICE_MS);
      const slice = slices.find((one) => one.nth === nth) ?? { nth, calls: 0, faults: 0, waits: new Map() };
      if (slice.calls === 0) slices.push(slice);
      slice.calls++;
      if (outcome === 'fault') slice.faults++;
      const wait = classOf(duration_ms);
      slice.waits.set(wait, (slice.waits.get(wait) ?? 0) + 1);
      kept.set(key, slices);
    },
    of: (merchant_id, now) => ({
      legacy: laneOf(merchant_id, 'legacy', now),
      orders: laneOf(merchant_id, 'orders', now),
    }),
    trim(now) {
      for (const [key, slices] of kept) {
        const fresh = slices.filter(({ nth }) => nth > lastSlice(now) - SLICES);
        if (fresh.length === 0) kept.delete(key);
        else if (fresh.length < slices.length) kept.set(key, fresh);
      }
    },
  };
}

function pulseOf(slices: readonly Slice[], now: number): LanePulse | null {
  const first = lastSlice(now) - SLICES + 1;
  const trend = Array.from({ length: SLICES }, () => 0);
  const waits = new Map<number, number>();
  let calls = 0;
  let faults = 0;
  for (const slice of slices) {
    const place = slice.nth - first;
    if (place < 0 || place >= SLICES) continue;
    trend[place] = slice.calls;
    calls += slice.calls;
    faults += slice.faults;
    for (const [wait, count] of slice.waits) waits.set(wait, (waits.get(wait) ?? 0) + count);
  }
  if (calls === 0) return null;
  const minutes = PULSE_MS / MINUTE_MS;
  return {
    calls,
    per_minute: hundredths(calls / minutes),
    faults,
    fault_share: hundredths((faults / calls) * 100),
    p50_ms: waitOf(waits, calls, 0.5),
    p99_ms: waitOf(waits, calls, 0.99),
    trend,
  };
}

/** Upper bound of the class that holds the share of the calls, ms. @param share 0 to 1. */
function waitOf(waits: ReadonlyMap<number, number>, calls: number, share: number): number {
  const wanted = Math.ceil(calls * share);
  let seen = 0;
  for (const [wait, count] of [...waits].toSorted(([one], [other]) => one - other)) {
    seen += count;
    if (seen >= wanted) return upperBound(wait);
  }
  return 0;
}

function lastSlice(now: number): number {
  return Math.floor(now / SLICE_MS);
}

function hundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
