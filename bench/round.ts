/** One arrangement of processes, measured from start to end: interleaved repetitions, then the proof of the counts. */
import { mkdirSync } from 'node:fs';
import { benchCases } from './cases.ts';
import { type Check, checkCounts, type UpstreamCounts } from './checks.ts';
import { type Contestant, contestants } from './contestants.ts';
import type { LoadPlan, LoadResult } from './load.ts';
import { cpuSeconds } from './machine.ts';
import { type Running, startProcess } from './processes.ts';

export interface RoundPlan {
  /** `one core`: the contestant on core 1, upstream and load on core 0; `free`: as the system likes. */
  arrangement: 'one core' | 'free';
  in_flight: readonly number[];
  repetitions: number;
  duration_ms: number;
  /** Requests that each contestant answers before it is measured: the compiler has to see the hot path often. */
  warm_up: number;
  directory: string;
  /** Where CPU profiles of the contestants go; null makes none. */
  profile: string | null;
  progress(text: string): void;
}

/** One measurement of one contestant. */
export interface Sample {
  case_name: string;
  contestant: string;
  in_flight: number;
  repetition: number;
  per_second: number;
  p50_ms: number;
  p99_ms: number;
  /** Processor time of the contestant for one request, all threads; null where the system doesn't say. */
  cpu_us: number | null;
}

export interface Round {
  arrangement: RoundPlan['arrangement'];
  samples: Sample[];
  checks: Check[];
  faults: string[];
}

/** The warm-up ends after this time even if it has not seen its requests, so that a slow machine ends at all. */
const WARM_UP_LIMIT_MS = 60_000;
const WARM_UP_STEP_MS = 500;
const WARM_UP_IN_FLIGHT = 16;

export async function runRound(plan: RoundPlan): Promise<Round> {
  mkdirSync(plan.directory, { recursive: true });
  const pinned = plan.arrangement === 'one core';
  const [own, shared] = pinned ? [1, 0] : [null, null];
  const start = (name: string, ready: RegExp): Promise<Running> =>
    startProcess({ name, script: `bench/${name}.ts`, core: shared, directory: plan.directory, ready });
  const upstream = await start('upstream', /(http:\S+)/);
  const load = await start('load', /(ready)/);
  const node_options = plan.profile === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${plan.profile}`];
  const field: { contestant: Contestant; running: Running }[] = [];
  for (const contestant of contestants) {
    const running = await contestant.start({ upstream, core: own, directory: plan.directory, node_options });
    field.push({ contestant, running });
  }
  const { samples, succeeded, faults } = await measureAll(plan, load, field);
  const counts = (await (await fetch(`${upstream.said}/_bench/counts`)).json()) as UpstreamCounts; // our own process
  for (const { running } of field) await running.stop();
  load.child.disconnect();
  await upstream.stop();
  return { arrangement: plan.arrangement, samples, checks: checkCounts(plan.directory, counts, succeeded), faults };
}

/** Contestants take turns inside every repetition, and another one begins each time, so that a slow minute hits all alike. */
async function measureAll(
  plan: RoundPlan,
  load: Running,
  field: { contestant: Contestant; running: Running }[],
): Promise<Pick<Round, 'samples' | 'faults'> & { succeeded: { translated: number; untouched: number } }> {
  const samples: Sample[] = [];
  const faults: string[] = [];
  const succeeded = { translated: 0, untouched: 0 };
  let first = 1;

  const measure = async (
    entry: (typeof field)[number],
    one: Omit<LoadPlan, 'url' | 'first'>,
  ): Promise<LoadResult & { cpu_us: number | null }> => {
    const { contestant, running } = entry;
    const before = cpuSeconds(running.pid);
    const result = await askLoad(load, { ...one, url: running.said, first });
    const after = cpuSeconds(running.pid);
    first += result.sent;
    succeeded[contestant.name === 'puente' ? 'translated' : 'untouched'] += result.succeeded;
    faults.push(...result.faults.map((fault) => `${contestant.name}: ${fault}`));
    return { ...result, cpu_us: before === null || after === null ? null : ((after - before) / result.sent) * 1e6 };
  };

  for (const { name: case_name } of benchCases) {
    for (const entry of field) {
      plan.progress(`${plan.arrangement}, ${case_name}: warming up ${entry.contestant.name}`);
      const ends_at = performance.now() + WARM_UP_LIMIT_MS;
      for (let done = 0; done < plan.warm_up && performance.now() < ends_at; ) {
        done += (await measure(entry, { case_name, in_flight: WARM_UP_IN_FLIGHT, duration_ms: WARM_UP_STEP_MS }))
          .succeeded;
      }
    }
    for (const in_flight of plan.in_flight) {
      for (let repetition = 0; repetition < plan.repetitions; repetition++) {
        for (const entry of turned(field, repetition)) {
          const contestant = entry.contestant.name;
          const result = await measure(entry, { case_name, in_flight, duration_ms: plan.duration_ms });
          const { per_second, p50_ms, p99_ms, cpu_us } = result;
          samples.push({ case_name, contestant, in_flight, repetition, per_second, p50_ms, p99_ms, cpu_us });
          plan.progress(
            `${plan.arrangement}, ${case_name}, ${in_flight} in flight, ${repetition + 1}/${plan.repetitions}: ${contestant} ${Math.round(per_second)}/s`,
          );
        }
      }
    }
  }
  return { samples, faults, succeeded };
}

function turned<Entry>(entries: readonly Entry[], by: number): Entry[] {
  const start = by % entries.length;
  return [...entries.slice(start), ...entries.slice(0, start)];
}

/** @throws Error when the load generator ends instead of answering. */
function askLoad(load: Running, plan: LoadPlan): Promise<LoadResult> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error('The load generator ended.'));
    load.child.once('exit', ended);
    load.child.once('message', (result) => {
      load.child.off('exit', ended);
      resolve(result as LoadResult); // what our own process sends
    });
    load.child.send(plan);
  });
}
