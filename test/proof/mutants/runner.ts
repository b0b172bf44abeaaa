/** Runs the tests of one group for Stryker in this process: a mutant costs only its tests. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { MutantCoverage } from '@stryker-mutator/api/core';
import { PluginKind } from '@stryker-mutator/api/plugin';
import {
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestRunner,
  TestStatus,
} from '@stryker-mutator/api/test-runner';
import { globsOf, groups } from '../modules.ts';
import { collected, collectFile, crash, type Outcome, runTests, startCollecting, type Test } from './suite.ts';

/** Read by the instrumented code: the active mutant, and the test that a visit counts for. */
interface Switch {
  activeMutant: string | undefined;
  currentTestId: string | undefined;
  hitCount: number | undefined;
  hitLimit: number | undefined;
  mutantCoverage?: MutantCoverage;
}

/** Tests run by duration, in these steps: a proof of all tables takes as long as a thousand tests of rows. */
const STEPS_MS = [3, 30, 300, 3_000, Number.POSITIVE_INFINITY];
/** Those of a step that killed a recent mutant run first: neighbouring mutants mostly fail the same tests. */
const MOST_KILLERS = 20;
/** In the sandbox: one process makes the first run, and the others take the durations from it. */
const TOOK = 'took.json';

const SUITE = new URL('./suite.ts', import.meta.url).href;
const HERE = pathToFileURL(process.cwd()).href;
/** Rises with every load: a module URL with another number is loaded again. */
let loading = 0;

function switchOf(): Switch {
  const holder = globalThis as { __stryker__?: Switch }; // the instrumented code finds it by this name
  holder.__stryker__ ??= {
    activeMutant: undefined,
    currentTestId: undefined,
    hitCount: undefined,
    hitLimit: undefined,
  };
  return holder.__stryker__;
}

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL = '' } = context;
    if (specifier === 'vitest' && parentURL !== SUITE) return { url: SUITE, shortCircuit: true };
    const found = next(specifier, context);
    const isOurs = found.url.startsWith(HERE) && !found.url.includes('/node_modules/');
    return isOurs && loading > 0 ? { ...found, url: `${found.url}?loading=${loading}` } : found;
  },
});

// A mutant may leave work behind that fails later.
process.on('unhandledRejection', () => undefined);
process.on('uncaughtException', crash);

class InProcessRunner implements TestRunner {
  readonly #group = groups.find(({ name }) => name === process.env.PUENTE_PROOF_GROUP);
  readonly #switch = switchOf();
  /** Null when the tests must be loaded, or loaded again. */
  #tests: Map<string, Test> | null = null;
  /** Duration of each test's last pass, milliseconds, by id; null before the first run. */
  #took: Map<string, number> | null = null;
  #killers: string[] = [];

  capabilities() {
    return { reloadEnvironment: true };
  }

  async dryRun(): Promise<DryRunResult> {
    const tests = await this.#load();
    this.#took = new Map();
    const outcomes = await this.#run([...tests.values()], false);
    writeFileSync(TOOK, JSON.stringify([...this.#took]));
    return {
      status: DryRunStatus.Complete,
      mutantCoverage: this.#coverage(),
      tests: outcomes.map(({ test: { id }, failure, took_ms }) => {
        const common = { id, name: id, timeSpentMs: took_ms };
        if (failure === null) return { ...common, status: TestStatus.Success };
        return { ...common, status: TestStatus.Failed, failureMessage: textOf(failure) };
      }),
    };
  }

  /** A mutant that both loading and tests reach is judged by the tests, because loading again is slow. */
  #coverage(): MutantCoverage {
    const { static: loaded, perTest } = this.#switch.mutantCoverage ?? { static: {}, perTest: {} };
    const reached = new Set(Object.values(perTest).flatMap((one) => Object.keys(one)));
    return { perTest, static: Object.fromEntries(Object.entries(loaded).filter(([id]) => !reached.has(id))) };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    this.#took ??= new Map(JSON.parse(readFileSync(TOOK, 'utf8')) as [string, number][]); // `dryRun` has written it
    const first = await this.#try(options);
    const culprit = first.find(({ failure }) => failure !== null)?.test;
    // A test that also fails without the mutant was broken by an earlier mutant: repeats the run on fresh modules.
    if (culprit !== undefined && !this.#wentRound() && !(await this.#passesWithout(culprit))) {
      this.#tests = null;
      return this.#judge(await this.#try(options));
    }
    return this.#judge(first);
  }

  #judge(outcomes: readonly Outcome[]): MutantRunResult {
    if (this.#wentRound()) return { status: MutantRunStatus.Timeout };
    const failed = outcomes.find(({ failure }) => failure !== null);
    const nrOfTests = outcomes.length;
    if (failed === undefined) return { status: MutantRunStatus.Survived, nrOfTests };
    const { test, failure } = failed;
    this.#killers = [...this.#killers.filter((id) => id !== test.id), test.id].slice(-MOST_KILLERS);
    return { status: MutantRunStatus.Killed, killedBy: [test.id], failureMessage: textOf(failure), nrOfTests };
  }

  async #try({ activeMutant, mutantActivation, testFilter, hitLimit }: MutantRunOptions): Promise<Outcome[]> {
    const isStatic = mutantActivation === 'static';
    Object.assign(this.#switch, { hitCount: 0, hitLimit });
    if (isStatic) this.#switch.activeMutant = activeMutant.id;
    try {
      if (isStatic) this.#tests = null;
      const tests = await this.#load();
      this.#switch.activeMutant = activeMutant.id;
      const chosen = testFilter?.flatMap((id) => tests.get(id) ?? []) ?? [...tests.values()];
      return await this.#run(chosen, true);
    } catch (failure) {
      if (!isStatic) throw failure;
      return [{ test: NO_TEST, failure, took_ms: 0 }]; // the tests could not be loaded
    } finally {
      this.#switch.activeMutant = undefined;
      if (isStatic) this.#tests = null;
    }
  }

  async #passesWithout(test: Test): Promise<boolean> {
    const known = this.#tests?.get(test.id);
    if (known === undefined) return true; // modules were loaded for this mutant alone
    const outcomes = await this.#run([known], true);
    return outcomes.every(({ failure }) => failure === null);
  }

  /** The instrumented code throws when one place is visited far too often. */
  #wentRound(): boolean {
    const { hitCount = 0, hitLimit = Number.POSITIVE_INFINITY } = this.#switch;
    return hitCount > hitLimit;
  }

  async #run(tests: readonly Test[], bail: boolean): Promise<Outcome[]> {
    const told = (test: Test | null): void => {
      this.#switch.currentTestId = test?.id;
    };
    const outcomes: Outcome[] = [];
    for (const some of bail ? this.#likeliestFirst(tests) : [tests]) {
      outcomes.push(...(await runTests(new Set(some), told, bail)));
      if (bail && outcomes.some(({ failure }) => failure !== null)) break;
    }
    for (const { test, failure, took_ms } of outcomes) if (failure === null) this.#took?.set(test.id, took_ms);
    return outcomes;
  }

  #likeliestFirst(tests: readonly Test[]): Test[][] {
    const rest = new Set(tests);
    const take = (fits: (test: Test) => boolean): Test[] => {
      const taken = [...rest].filter(fits);
      for (const test of taken) rest.delete(test);
      return taken;
    };
    return STEPS_MS.flatMap((most_ms) => {
      const step = take(({ id }) => (this.#took?.get(id) ?? 0) <= most_ms);
      return [
        step.filter(({ id }) => this.#killers.includes(id)),
        step.filter(({ id }) => !this.#killers.includes(id)),
      ];
    });
  }

  async #load(): Promise<Map<string, Test>> {
    if (this.#tests !== null) return this.#tests;
    if (this.#group === undefined) throw new Error('PUENTE_PROOF_GROUP names no group');
    loading++;
    startCollecting();
    const { include, exclude } = globsOf(this.#group.tests);
    for (const file of globSync(include, { exclude }).toSorted()) {
      await collectFile(file, () => import(pathToFileURL(join(process.cwd(), file)).href));
    }
    this.#tests = new Map(collected().map((test) => [test.id, test]));
    return this.#tests;
  }
}

const NO_TEST: Test = { id: 'loading', suite: null as unknown as Test['suite'], work: () => undefined }; // only its id is used

function textOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}

/** Stryker finds the plugin under this name. */
export const strykerPlugins = [
  {
    kind: PluginKind.TestRunner,
    name: 'in-process',
    factory: Object.assign(() => new InProcessRunner(), { inject: [] as const }),
  },
];
