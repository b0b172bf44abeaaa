/** Runs the tests of seeded bugs, each on sources patched for it, and sends the results to the parent process. */
import { join } from 'node:path';
import { startVitest, type TestCase } from 'vitest/node';
import { type Bug, environmentOf } from './bug.ts';

/** Null when an assertion of the test failed, as it must; otherwise what happened instead. */
export type Verdict = { instead: string | null };

const bugs = JSON.parse(process.argv[2] ?? '') as Bug[]; // written by `catchByTests`
for (const bug of bugs) {
  const verdict = await verdictOf(bug);
  await new Promise((resolve) => process.send?.(verdict, resolve));
}
process.exit(0);

async function verdictOf(bug: Bug): Promise<Verdict> {
  const { name, test } = bug;
  if (test === null) throw new Error(`${name} is caught by the simulation, not by a test`);
  // The process of the test inherits it.
  Object.assign(process.env, environmentOf(bug));
  const vitest = await startVitest('test', [test.file], {
    config: false,
    watch: false,
    reporters: [],
    testNamePattern: test.name,
    include: [test.file],
    pool: 'forks',
    maxWorkers: 1,
    // As in `vitest.config.ts`: Node loads the sources, so that they are patched as those of the simulation are.
    execArgv: ['--import', join(import.meta.dirname, 'loader.ts')],
    experimental: { viteModuleRunner: false },
  });
  const modules = vitest.state.getTestModules();
  const tests = modules.flatMap((module) => [...module.children.allTests()]);
  const outside = [...modules.flatMap((module) => module.errors()), ...vitest.state.getUnhandledErrors()];
  await vitest.close();
  return { instead: insteadOfFailing(tests, outside) };
}

/** A file that can't be loaded shows nothing; neither does a test that failed before it asserted. */
function insteadOfFailing(all: readonly TestCase[], errors: readonly unknown[]): string | null {
  const ran = all.map((one) => one.result()).filter(({ state }) => state === 'passed' || state === 'failed');
  const why = ran.flatMap((result) => result.errors ?? []);
  if (why.some((error) => error.name === 'AssertionError')) return null;
  const [first] = [...why, ...errors];
  if (first !== undefined) return `broke off: ${(first as { message?: string }).message ?? String(first)}`;
  return ran.length === 0 ? 'no test of that name ran' : 'passed';
}
