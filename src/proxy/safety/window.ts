/** A sliding window over the calls of one merchant and kind: sums in slices, so that a busy merchant costs no more than a quiet one: pure. */

import { say } from '../../locales/sentences.ts';
import type { CoreSettings } from '../runtime.ts';
import type { Class } from './classify.ts';

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
