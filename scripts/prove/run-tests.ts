/** Runs tests in a process of their own and returns the outcome of each; its output lines are progress. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Say } from './part.ts';
import { REPORT, type Told } from './reporter.ts';
import { runProgram } from './run-program.ts';

const VITEST = join(import.meta.dirname, '..', '..', 'node_modules', 'vitest', 'vitest.mjs');
const REPORTER = join(import.meta.dirname, 'reporter.ts');
// Tests with nightly counts have no time limit, nor have their hooks.
const UNLIMITED = ['--testTimeout=0', '--hookTimeout=0'];

export interface Ran {
  tests: Told[];
  /** Sentences with the command that repeats each; empty when all requested tests ran and passed. */
  failures: string[];
}

/**
 * @param words file filters and options of vitest.
 * @param env variables of the tests; part of the command that repeats them.
 */
export async function runTests(words: readonly string[], env: Record<string, string>, say: Say): Promise<Ran> {
  const folder = mkdtempSync(join(tmpdir(), 'puente-prove-'));
  const report = join(folder, 'report.json');
  try {
    const argv = [VITEST, 'run', ...words, ...UNLIMITED, '--reporter=default', `--reporter=${REPORTER}`];
    const code = await runProgram(argv, { ...env, [REPORT]: report }, say);
    const tests = JSON.parse(readFileSync(report, 'utf8')) as Told[]; // written by the reporter
    const again = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return { tests, failures: failuresOf(tests, code, [...again, 'npx vitest run', ...words].join(' ')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A requested test that was skipped counts as a failure: it proves nothing. */
export function failuresOf(tests: readonly Told[], code: number | null, command: string): string[] {
  const failures = tests
    .filter(({ state }) => state !== 'passed')
    .map(({ name, state, why }) => `${name}\n  ${state === 'failed' ? why : `not run: ${why}`}\n  (${command})`);
  if (failures.length > 0) return failures;
  if (code !== 0) return [`the suite ended with ${code} (${command})`];
  return tests.length === 0 ? [`no test was run (${command})`] : [];
}
