/** Lets the checker look for one seeded bug, in processes of its own. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { snippet } from '../shrink.ts';
import { type Outcome, replayInProcess, runInProcesses } from '../workers.ts';
import type { Bug } from './list.ts';

/** A small plan for each bug that the simulation catches: on the sources as they are it breaks nothing. */
export const PLANS = join(import.meta.dirname, 'plans');

export interface Caught {
  bug: string;
  /** What caught it; null when nothing did. */
  by: string | null;
  seeds: number;
}

/**
 * By its small plan, or by the test that is there for it: quick enough for every change.
 * @throws Error when a process fails by itself.
 */
export async function catchByPlan(bug: Bug): Promise<Caught> {
  if (bug.test !== null) return { bug: bug.name, by: await failingTest(bug), seeds: 0 };
  const { found } = await replayInProcess([planFile(bug)], bug.name);
  return { bug: bug.name, by: said('its plan', found), seeds: 1 };
}

/**
 * By seeds that know nothing of it, from the first on.
 * @param most seeds that are tried.
 * @param remember keep the smallest plan that shows it, for `catchByPlan`.
 * @throws Error when a process fails by itself.
 */
export async function catchBySeeds(bug: Bug, most: number, processes = 1, remember = false): Promise<Caught> {
  if (bug.test !== null) return { bug: bug.name, by: await failingTest(bug), seeds: 0 };
  const range = { from: 1, count: most, stride: 1, first: true };
  const { found, tally } = await runInProcesses(range, processes, { bug: bug.name });
  const [first] = found;
  if (remember && first?.small) {
    mkdirSync(PLANS, { recursive: true });
    writeFileSync(planFile(bug), `${snippet(first.small)}\n`);
  }
  return { bug: bug.name, by: said(`seed ${first?.seed}`, found), seeds: tally.seeds };
}

/** @returns whether a plan of the bug is kept. */
export function hasPlan(bug: Bug): boolean {
  return existsSync(planFile(bug));
}

export function planFile({ name }: Bug): string {
  return join(
    PLANS,
    `${name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '')}.json`,
  );
}

function said(what: string, [first]: Outcome['found']): string | null {
  if (first === undefined) return null;
  const [violation] = first.violations;
  return `${what}: ${violation?.invariant} ${violation?.text.split('\n')[0]}`;
}

async function failingTest(bug: Bug): Promise<string | null> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'run-test.ts')], {
    stdio: 'ignore',
    env: { ...process.env, PUENTE_SEEDED_BUG: bug.name },
  });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  return code === 0 ? `${bug.test?.file}: ${bug.test?.name || 'whole file'}` : null;
}
