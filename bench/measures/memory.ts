/** Whether memory stays flat: resident memory after many requests of every kind, compared with that after few. */
import { PUENTE } from '../contestants/contestants.ts';
import type { Check } from './checks.ts';
import { openStand } from './stand.ts';

export interface MemoryResult {
  at_start_mb: number | null;
  /** After each slice: requests so far, and resident memory. */
  points: { requests: number; resident_mb: number | null }[];
  checks: Check[];
  faults: string[];
}

const MIX = ['create', 'get-final', 'proxied', 'payment-search', 'event', 'get-live'] as const;
const SLICE_MS = 4000;
const IN_FLIGHT = 64;

/** @param requests total to reach, in slices of each kind in turn. */
export async function measureMemory(
  directory: string,
  requests: number,
  progress: (text: string) => void,
): Promise<MemoryResult> {
  const plan = { arrangement: 'free', contestants: [PUENTE], directory, fsync_delay_us: null } as const;
  const stand = await openStand(plan);
  const points: MemoryResult['points'] = [];
  const at_start_mb = stand.resident(PUENTE);
  let done = 0;
  for (let turn = 0; done < requests; turn++) {
    const case_name = MIX[turn % MIX.length] ?? 'create';
    // The first slices are short, so that there is a point near 50,000.
    const duration_ms = done < 50_000 ? SLICE_MS / 4 : SLICE_MS;
    const measured = await stand.measure(PUENTE, { case_name, in_flight: IN_FLIGHT, duration_ms, rate: null });
    done += measured.sent;
    points.push({ requests: done, resident_mb: measured.resident_mb });
    progress(`memory: ${measured.resident_mb?.toFixed(0)} MB after ${done} requests (${case_name})`);
  }
  return { at_start_mb, points, ...(await stand.close()) };
}
