/** What is measured beside the cases, one after the other, each in a directory of its own. */
import type { Check } from './measures/checks.ts';
import { measureGrowth } from './measures/growth.ts';
import { instructionsMissing, measureInstructions } from './measures/instructions.ts';
import { measureMemory } from './measures/memory.ts';
import { measureNotices } from './measures/notices.ts';
import { measureRetention } from './measures/retention.ts';
import { measureSizes } from './measures/sizes.ts';
import { measureStarts } from './measures/starts.ts';
import { measureWorkers, workersMissing } from './measures/workers.ts';
import type { Options } from './options.ts';
import type { Result } from './result/result.ts';
import { extrasOf } from './selection.ts';

/** How a run does each of its parts. */
export interface Ways {
  /** Null when it failed, which the result then tells. */
  within<Found>(what: string, measure: (directory: string) => Promise<Found>): Promise<Found | null>;
  note(where: string, checks: readonly Check[]): void;
  progress(text: string): void;
}

/** Links in the file that is started on. */
const START_LINKS = 50_000;

type Measured = Omit<Result, 'goals'>;

/** Measures those that were asked for, into the result. */
export async function measureExtras(options: Options, result: Measured, ways: Ways): Promise<void> {
  const { within, note, progress } = ways;
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
  if (asked.includes('starts')) {
    const { beside, repetitions } = options;
    const plan = { beside, links: START_LINKS, repetitions, progress };
    result.starts = await within('starts', (own) => measureStarts({ ...plan, directory: own }));
    note('starts', result.starts?.checks ?? []);
  }
  if (asked.includes('growth')) {
    result.growth = await within('growth', (own) => measureGrowth(own, options.sales, progress));
    note('growth', result.growth?.map(({ check }) => check) ?? []);
  }
  if (asked.includes('retention')) {
    result.retention = await within('retention', (own) => measureRetention(own, options.sales, progress));
    note('retention', result.retention?.flatMap(({ checks }) => checks) ?? []);
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
  if (asked.includes('workers')) {
    const missing = workersMissing();
    const { repetitions, seconds, warmUp } = options;
    const plan = { repetitions, duration_ms: seconds * 1000, warm_up: warmUp, progress };
    if (missing === null)
      result.workers = await within('workers', (own) => measureWorkers({ ...plan, directory: own }));
    else result.not_measured.push(`workers: ${missing}`);
    note('workers', result.workers?.checks ?? []);
    result.faults.push(...(result.workers?.faults ?? []));
  }
}
