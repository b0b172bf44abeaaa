/** Cases measured in one arrangement: interleaved repetitions of all contestants, then the check of the counts. */
import { join } from 'node:path';
import { caseOf } from '../cases/cases.ts';
import { contestantOf } from '../contestants/contestants.ts';
import { type Cost, costOf } from '../result/costs.ts';
import type { Check } from './checks.ts';
import { type Arrangement, isProbed, type Measured, openStand, type StandPlan } from './stand.ts';

export interface RoundPlan extends StandPlan {
  cases: readonly string[];
  in_flight: readonly number[];
  /** Fixed arrivals per second; null is the closed loop. */
  rate: number | null;
  repetitions: number;
  duration_ms: number;
  /** Requests that each contestant answers before it is measured, so that V8 optimizes the hot path. */
  warm_up: number;
  /** Directory of the contestants' CPU profiles; null makes none. */
  profile: string | null;
  progress(text: string): void;
}

export interface Sample extends Omit<Measured, 'faults' | 'sent' | 'succeeded'> {
  case_name: string;
  contestant: string;
  in_flight: number;
  rate: number | null;
  repetition: number;
}

export interface Round {
  arrangement: Arrangement;
  fsync_delay_us: number | null;
  upstream: 'nginx' | 'Node';
  samples: Sample[];
  /** Of the last repetition; empty without profiling. */
  costs: Cost[];
  checks: Check[];
  faults: string[];
}

/** Limit of the warm-up on a slow machine. */
const WARM_UP_LIMIT_MS = 60_000;
const WARM_UP_STEP_MS = 1_000;
const WARM_UP_IN_FLIGHT = 16;

export async function runRound(plan: RoundPlan): Promise<Round> {
  const stand = await openStand(plan);
  const samples: Sample[] = [];
  const costs: Cost[] = [];
  const words = `${plan.arrangement}${plan.fsync_delay_us === null ? '' : `, fsync +${plan.fsync_delay_us} µs`}`;
  for (const case_name of plan.cases) {
    const list = caseOf(case_name).in_flight ?? plan.in_flight;
    const able = plan.contestants.filter((name) => contestantOf(name).cases?.includes(case_name) ?? true);
    // Only Node compiles while it runs, so the others need no warm-up.
    for (const contestant of able.filter((name) => contestantOf(name).is_node)) {
      plan.progress(`${words}, ${case_name}: warming up ${contestant}`);
      const limit = performance.now() + WARM_UP_LIMIT_MS;
      const asked = { case_name, duration_ms: Math.min(WARM_UP_STEP_MS, plan.duration_ms), rate: null };
      for (let done = 0; done < warmUpOf(plan, case_name) && performance.now() < limit; ) {
        done += (
          await stand.measure(contestant, { ...asked, in_flight: Math.min(WARM_UP_IN_FLIGHT, Math.max(...list)) })
        ).sent;
      }
    }
    await stand.settle();
    for (const in_flight of list) {
      for (let repetition = 0; repetition < plan.repetitions; repetition++) {
        for (const contestant of turned(able, repetition)) {
          const { duration_ms, rate, arrangement } = plan;
          const asked = { case_name, in_flight, duration_ms, rate };
          const file = profileOf(plan, repetition, contestant, asked);
          const measure = () => stand.measure(contestant, asked);
          const measured = file === null ? await measure() : await stand.profiled(contestant, file, measure);
          if (file !== null)
            costs.push({ arrangement, case_name, in_flight, contestant, us: costOf(file, measured.sent) });
          const { faults: _told, sent: _sent, succeeded: _succeeded, ...figures } = measured;
          samples.push({ case_name, contestant, in_flight, rate, repetition, ...figures });
          plan.progress(
            `${words}, ${case_name}, ${rate === null ? `${in_flight} in flight` : `${rate}/s arriving`}, ${repetition + 1}/${plan.repetitions}: ${contestant} ${Math.round(measured.per_second)}/s, p50 ${measured.p50_ms.toFixed(2)} ms`,
          );
        }
      }
    }
  }
  const { arrangement, fsync_delay_us } = plan;
  return { arrangement, fsync_delay_us, upstream: stand.upstream.program, samples, costs, ...(await stand.close()) };
}

/** Null without profiling: once for each case and load is enough, when all is warm. */
function profileOf(
  { profile, arrangement, repetitions }: RoundPlan,
  repetition: number,
  contestant: string,
  { case_name, in_flight }: { case_name: string; in_flight: number },
): string | null {
  if (profile === null || repetition < repetitions - 1 || !isProbed(contestant)) return null;
  return join(profile, `${[contestant, case_name, in_flight, arrangement].join(' ').replaceAll(' ', '-')}.cpuprofile`);
}

/** A large body takes thousands of reads, so a few of them are a warm-up. */
function warmUpOf({ warm_up }: RoundPlan, case_name: string): number {
  return caseOf(case_name).in_flight === null ? warm_up : Math.ceil(warm_up / 200);
}

/** Rotates the order of contestants, so that a slow minute affects all alike. */
function turned<Entry>(entries: readonly Entry[], by: number): Entry[] {
  const start = by % entries.length;
  return [...entries.slice(start), ...entries.slice(0, start)];
}
