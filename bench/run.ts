/** One whole run: each requested round and extra, in a directory that is removed at its end. */
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GATEWAY } from './contestants/contestants.ts';
import { GATEWAY_MISSING, gatewayIn } from './contestants/gateway.ts';
import { findProgram, machineFacts } from './machine.ts';
import type { Check } from './measures/checks.ts';
import { measureGrowth } from './measures/growth.ts';
import { measureMemory } from './measures/memory.ts';
import { measureRetention } from './measures/retention.ts';
import { runRound } from './measures/round.ts';
import { measureSizes } from './measures/sizes.ts';
import { measureStarts } from './measures/starts.ts';
import { measureWorkers, workersMissing } from './measures/workers.ts';
import { type Chosen, type Extra, engineOf, extrasOf, type Options, roundsOf } from './options.ts';
import { killAll } from './processes.ts';
import { goalsOf } from './result/goals.ts';
import { linesOf } from './result/lines.ts';
import type { Result } from './result/result.ts';
import { measureSlowFsync, slowDiskMissing } from './slow-disk.ts';
import { upstreamProgram } from './upstream/start.ts';

const START_LINKS = 50_000;

/** @param directory for databases and logs of the processes. */
export async function run(options: Options, directory: string, progress: (text: string) => void): Promise<Result> {
  const started = Date.now();
  const result: Omit<Result, 'goals'> = {
    started_at: new Date(started).toISOString(),
    took_s: 0,
    machine: machineFacts(directory),
    upstream: upstreamProgram(),
    load: findProgram('wrk') === null ? 'own' : 'wrk and own',
    engine: engineOf(options),
    options: { ...options },
    lines: [],
    costs: [],
    slow_fsync_ms: {},
    sizes: null,
    starts: null,
    memory: null,
    workers: null,
    growth: null,
    retention: null,
    not_measured: [],
    checks: [],
    faults: [],
  };
  let count = 0;
  // A failed measurement is reported and the others go on, so that an hour's figures survive a late failure.
  const within = async <Found>(what: string, measure: (directory: string) => Promise<Found>): Promise<Found | null> => {
    const own = join(directory, String(++count));
    mkdirSync(own, { recursive: true });
    try {
      return await measure(own);
    } catch (error) {
      result.faults.push(`${what} ended: ${error instanceof Error ? error.message : String(error)}`);
      killAll();
      return null;
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  };
  const note = (where: string, { checks, faults = [] }: { checks: readonly Check[]; faults?: readonly string[] }) => {
    result.checks.push(...checks.map((check) => ({ where, ...check })));
    result.faults.push(...faults);
  };
  if (options.profile !== null) mkdirSync(options.profile, { recursive: true });
  const slow_missing = slowDiskMissing();
  const gateway = gatewayIn(options.gateway);
  const rounds = roundsOf(options);
  if (gateway === null && rounds.some(({ contestants }) => contestants.includes(GATEWAY)))
    result.not_measured.push(`${GATEWAY}: ${GATEWAY_MISSING}`);
  for (const chosen of rounds) {
    const delay_us = chosen.fsync_delay_us;
    if (delay_us !== null && slow_missing !== null) {
      result.not_measured.push(`slow fsync: ${slow_missing}`);
      continue;
    }
    await within(nameOf(chosen), async (own) => {
      if (delay_us !== null) result.slow_fsync_ms[delay_us] ??= await measureSlowFsync(own, delay_us);
      const round = await runRound({
        ...chosen,
        contestants: chosen.contestants.filter((name) => name !== GATEWAY || gateway !== null),
        ...(options.beside === null ? {} : { beside: options.beside }),
        ...(gateway === null ? {} : { gateway }),
        postgres: options.postgres,
        repetitions: options.repetitions,
        duration_ms: options.seconds * 1000,
        warm_up: options.warmUp,
        directory: own,
        profile: options.profile === null ? null : resolve(options.profile),
        progress,
      });
      result.lines.push(...linesOf(round));
      result.costs.push(...round.costs);
      note(nameOf(chosen), round);
    });
  }
  const asked = extrasOf(options);
  const extra = async <Found>(
    name: Extra,
    measure: (directory: string) => Promise<Found>,
    proofOf: (found: Found) => Parameters<typeof note>[1],
    missing: string | null = null,
  ): Promise<Found | null> => {
    if (!asked.includes(name)) return null;
    if (missing !== null) result.not_measured.push(`${name}: ${missing}`);
    const found = missing === null ? await within(name, measure) : null;
    if (found !== null) note(name, proofOf(found));
    return found;
  };
  const { repetitions, sales, sizes, beside, requests, warmUp: warm_up } = options;
  const common = { repetitions, duration_ms: options.seconds * 1000, progress };
  const own = <Found extends { checks: readonly Check[] }>(found: Found) => found;
  const each = (found: readonly { check: Check }[]) => ({ checks: found.map(({ check }) => check) });
  const allOf = (found: readonly { checks: Check[] }[]) => ({ checks: found.flatMap(({ checks }) => checks) });
  result.sizes = await extra('sizes', (at) => measureSizes({ ...common, sizes, directory: at }), each);
  const starts = { beside, links: START_LINKS, repetitions, progress };
  result.starts = await extra('starts', (at) => measureStarts({ ...starts, directory: at }), own);
  result.growth = await extra('growth', (at) => measureGrowth(at, sales, progress), each);
  result.retention = await extra('retention', (at) => measureRetention(at, sales, progress), allOf);
  result.memory = await extra('memory', (at) => measureMemory(at, requests, progress), own);
  const workers = (at: string) => measureWorkers({ ...common, warm_up, directory: at });
  result.workers = await extra('workers', workers, own, workersMissing());
  result.took_s = (Date.now() - started) / 1000;
  return { ...result, goals: goalsOf(result) };
}

function nameOf({ arrangement, cases, rate, fsync_delay_us }: Chosen): string {
  const slow = fsync_delay_us === null ? '' : `, fsync +${fsync_delay_us / 1000} ms`;
  const load = rate === null ? '' : `, ${rate}/s arriving`;
  return `${arrangement}, ${cases.join(' ')}${load}${slow}`;
}
