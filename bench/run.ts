/** One whole run: every round and every extra that was asked for, each in a directory that is removed when it is over. */
import { mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findProgram, machineFacts } from './machine.ts';
import type { Check } from './measures/checks.ts';
import { instructionsMissing, measureInstructions } from './measures/instructions.ts';
import { measureMemory } from './measures/memory.ts';
import { measureNotices } from './measures/notices.ts';
import { runRound } from './measures/round.ts';
import { measureSizes } from './measures/sizes.ts';
import { measureSlowFsync } from './measures/slow-fsync.ts';
import type { Options } from './options.ts';
import { killAll } from './processes.ts';
import { goalsOf } from './result/goals.ts';
import { linesOf } from './result/lines.ts';
import type { Result } from './result/result.ts';
import { type Chosen, extrasOf, roundsOf } from './selection.ts';
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
    options: { ...options },
    lines: [],
    slow_fsync_ms: {},
    notices: null,
    sizes: null,
    memory: null,
    instructions: null,
    not_measured: [],
    checks: [],
    faults: [],
  };
  let count = 0;
  // What fails is told, and the rest is measured all the same: nobody wants to lose an hour's figures to its last minute.
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
  const note = (where: string, checks: readonly Check[]): void => {
    result.checks.push(...checks.map((check) => ({ where, ...check })));
  };

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
      result.faults.push(...round.faults);
      note(nameOf(chosen), round.checks);
    });
  }
  const asked = extrasOf(options);
  if (asked.includes('notices')) {
    progress('notices');
    result.notices = await within('notices', measureNotices);
    note('notices', result.notices?.checks ?? []);
  }
  if (asked.includes('sizes')) {
    const { sizes, repetitions, seconds } = options;
    const plan = { sizes, repetitions, duration_ms: seconds * 1000, progress };
    result.sizes = await within('sizes', (own) => measureSizes({ ...plan, directory: own }));
    note('sizes', result.sizes?.map(({ check }) => check) ?? []);
  }
  if (asked.includes('memory')) {
    result.memory = await within('memory', (own) => measureMemory(own, options.requests, progress));
    note('memory', result.memory?.checks ?? []);
    result.faults.push(...(result.memory?.faults ?? []));
  }
  if (asked.includes('instructions')) {
    const missing = instructionsMissing();
    progress('instructions of a create');
    if (missing === null) result.instructions = await within('instructions', measureInstructions);
    else result.not_measured.push(`instructions: ${missing}`);
  }
  result.took_s = (Date.now() - started) / 1000;
  return { ...result, goals: goalsOf(result) };
}

function planOf(options: Options, chosen: Chosen, directory: string, progress: (text: string) => void) {
  return {
    ...chosen,
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
