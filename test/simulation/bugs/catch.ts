/** Lets the checker look for one seeded bug, in processes of its own. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runInProcesses } from '../workers.ts';
import type { Bug } from './list.ts';

export interface Caught {
  bug: string;
  /** Null: it was not caught. */
  by: string | null;
  seeds: number;
}

/**
 * @param most seeds that are tried.
 * @throws Error when a process fails by itself.
 */
export async function catchBug(bug: Bug, most: number, processes = 1): Promise<Caught> {
  if (bug.test !== null) return { bug: bug.name, by: await failingTest(bug), seeds: 0 };
  const { found, tally } = await runInProcesses({ from: 1, count: most, stride: 1, first: true }, processes, {
    bug: bug.name,
  });
  const [first] = found;
  const by =
    first === undefined
      ? null
      : `seed ${first.seed}: ${first.violations[0]?.invariant} ${first.violations[0]?.text.split('\n')[0]}`;
  return { bug: bug.name, by, seeds: tally.seeds };
}

async function failingTest(bug: Bug): Promise<string | null> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'run-test.ts')], {
    stdio: 'ignore',
    env: { ...process.env, PUENTE_SEEDED_BUG: bug.name },
  });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  return code === 0 ? `${bug.test?.file}: ${bug.test?.name || 'whole file'}` : null;
}
