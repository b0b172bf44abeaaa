/** Checks seeded bugs in processes of their own. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Violation } from '../invariants.ts';
import { type Small, snippet } from '../shrink.ts';
import { type Outcome, runInProcesses, runTrials } from '../workers.ts';
import type { Bug } from './bug.ts';
import type { Verdict } from './run-test.ts';

/** A small plan for each bug that the simulation catches; it breaks nothing on the unchanged sources. */
export const PLANS = join(import.meta.dirname, 'plans');

export interface Caught {
  bug: string;
  /** The plan, seed or test that caught it; null when none did. */
  by: string | null;
  /** The result seen instead of the expected one; null for a caught bug. */
  instead: string | null;
  seeds: number;
}

/**
 * The plan must break a promise that it names: a bug that breaks the whole product proves nothing about the checker.
 * @param bugs that the simulation catches; several run in one process. @returns one for each, in their order.
 * @throws Error when a process fails on its own.
 */
export async function catchByPlans(bugs: Bug[]): Promise<Caught[]> {
  const found = await runTrials(bugs.map((bug) => ({ file: planFile(bug), bug })));
  return bugs.map((bug, index) => {
    return { bug: bug.name, ...judged('its plan', found[index] ?? [], brokenBy(bug)), seeds: 1 };
  });
}

/**
 * @param bugs that tests catch; one process runs them one after the other. @returns one for each, in their order.
 * @throws Error when the process ends without a verdict on each.
 */
export async function catchByTests(bugs: Bug[]): Promise<Caught[]> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'run-test.ts'), JSON.stringify(bugs)], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const verdicts: Verdict[] = [];
  child.on('message', (message) => void verdicts.push(message as Verdict)); // it sends nothing else
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  return bugs.map(({ name, test }, index) => {
    const verdict = verdicts[index];
    if (verdict === undefined) throw new Error(`the test of ${name} ended with ${code} and no verdict`);
    const what = `${test?.file}: ${test?.name || 'whole file'}`;
    const { instead } = verdict;
    return {
      bug: name,
      seeds: 0,
      ...(instead === null ? { by: what, instead } : { by: null, instead: `${what}: ${instead}` }),
    };
  });
}

/** Its test, or else its plan. @throws Error when a process fails on its own. */
export async function catchOne(bug: Bug): Promise<Caught> {
  const [caught] = await (bug.test === null ? catchByPlans : catchByTests)([bug]);
  return caught as Caught; // one for each
}

/**
 * @param most number of seeds to try.
 * @param remember stores the smallest plan that shows the bug, for `catchByPlans`.
 * @throws Error when a process fails on its own.
 */
export async function catchBySeeds(bug: Bug, most: number, processes = 1, remember = false): Promise<Caught> {
  if (bug.test !== null) return catchOne(bug);
  const range = { from: 1, count: most, stride: 1, first: true };
  const { found, tally } = await runInProcesses(range, processes, { bug });
  const [first] = found;
  const caught = { bug: bug.name, ...judged(`seed ${first?.seed}`, found, null), seeds: tally.seeds };
  if (remember && caught.by !== null && first?.small) {
    mkdirSync(PLANS, { recursive: true });
    writeFileSync(planFile(bug), `${snippet(first.small)}\n`);
  }
  return caught;
}

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

function brokenBy(bug: Bug): ReadonlySet<string> {
  const { why } = JSON.parse(readFileSync(planFile(bug), 'utf8')) as Small; // written by `shrink`
  return new Set(why.map((sentence) => sentence.slice(0, sentence.indexOf(':'))));
}

/** Errors of code that can't work at all; no seeded bug is of that kind. */
const BROKEN_CODE = /\b(?:Type|Reference|Range|Syntax)Error\b/;

/** @param wanted the promises that the first run must have broken; null for any. */
export function judged(
  what: string,
  [first]: Outcome['found'],
  wanted: ReadonlySet<string> | null,
): Pick<Caught, 'by' | 'instead'> {
  if (first === undefined) return { by: null, instead: 'nothing was broken' };
  const broken = first.violations.find(({ invariant, text }) => invariant === 'run' || BROKEN_CODE.test(text));
  if (broken !== undefined) return { by: null, instead: `broke off: ${told(broken)}` };
  const violation = first.violations.find(({ invariant }) => wanted?.has(invariant) ?? true);
  if (violation !== undefined) return { by: `${what}: ${told(violation)}`, instead: null };
  return { by: null, instead: first.violations.map(told).join('; ') };
}

function told({ invariant, text }: Violation): string {
  return `${invariant} ${text.split('\n')[0]}`;
}
