/** One whole run: every round and every extra that was asked for, each in a directory that is removed when it is over. */
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { measureExtras, type Ways } from './extras.ts';
import { findProgram, machineFacts } from './machine.ts';
import { runRound } from './measures/round.ts';
import { measureSlowFsync } from './measures/slow-fsync.ts';
import { engineOf, type Options } from './options.ts';
import { killAll } from './processes.ts';
import { goalsOf } from './result/goals.ts';
import { linesOf } from './result/lines.ts';
import type { Result } from './result/result.ts';
import { type Chosen, roundsOf } from './selection.ts';
import { slowDiskMissing } from './slow-disk.ts';
import { upstreamProgram } from './upstream/start.ts';

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
    notices: null,
    sizes: null,
    starts: null,
    memory: null,
    instructions: null,
    workers: null,
    growth: null,
    retention: null,
    not_measured: [],
    checks: [],
    faults: [],
  };
  let count = 0;
  // What fails is told, and the rest is measured all the same: nobody wants to lose an hour's figures to its last minute.
  const within: Ways['within'] = async (what, measure) => {
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
  const note: Ways['note'] = (where, checks) => {
    result.checks.push(...checks.map((check) => ({ where, ...check })));
  };

  if (options.profile !== null) mkdirSync(options.profile, { recursive: true });
  const slowMissing = slowDiskMissing();
  for (const chosen of roundsOf(options)) {
    if (chosen.fsync_delay_us !== null && slowMissing !== null) {
      result.not_measured.push(`slow fsync: ${slowMissing}`);
      continue;
    }
    await within(nameOf(chosen), async (own) => {
      const delay_us = chosen.fsync_delay_us;
      if (delay_us !== null) result.slow_fsync_ms[delay_us] ??= await measureSlowFsync(own, delay_us);
      const round = await runRound(planOf(options, chosen, own, progress));
      result.lines.push(...linesOf(round));
      result.costs.push(...round.costs);
      result.faults.push(...round.faults);
      note(nameOf(chosen), round.checks);
    });
  }
  await measureExtras(options, result, { within, note, progress });
  result.took_s = (Date.now() - started) / 1000;
  return { ...result, goals: goalsOf(result) };
}

function planOf(options: Options, chosen: Chosen, directory: string, progress: (text: string) => void) {
  return {
    ...chosen,
    ...(options.beside === null ? {} : { beside: options.beside }),
    postgres: options.postgres,
    repetitions: options.repetitions,
    duration_ms: options.seconds * 1000,
    warm_up: options.warmUp,
    directory,
    profile: options.profile === null ? null : resolve(options.profile),
    progress,
  };
}

function nameOf({ arrangement, cases, rate, fsync_delay_us }: Chosen): string {
  const slow = fsync_delay_us === null ? '' : `, fsync +${fsync_delay_us / 1000} ms`;
  const load = rate === null ? '' : `, ${rate}/s arriving`;
  return `${arrangement}, ${cases.join(' ')}${load}${slow}`;
}
