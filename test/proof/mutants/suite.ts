/** The part of vitest that these tests need, in one process: a worker for each run costs a hundred times more. */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect as vitestExpect } from 'vitest';

/** Its own `poll` and golden files, because Vitest's need a worker of Vitest. */
export const expect: typeof vitestExpect = new Proxy(vitestExpect, {
  get: (all, name) => (name === 'poll' ? poll : Reflect.get(all, name)),
  apply: (all, _this, [value, message]: [unknown, string?]) =>
    Object.defineProperty(all(value, message), 'toMatchFileSnapshot', {
      value: async (file: string) => all(value).toBe(readFileSync(file, 'utf8')),
    }),
});

const POLL_EVERY_MS = 5;
const POLL_FOR_MS = 1_000;

function poll(look: () => unknown) {
  const matcherNamed = (name: string) => async (wanted: unknown) => {
    for (const limit = Date.now() + POLL_FOR_MS; ; await pause(POLL_EVERY_MS)) {
      try {
        const seen = vitestExpect(await look()) as unknown as Record<string, (wanted: unknown) => void>; // its matchers
        return seen[name]?.(wanted);
      } catch (error) {
        if (Date.now() > limit) throw error;
      }
    }
  };
  return new Proxy({}, { get: (_, name) => matcherNamed(String(name)) }) as ReturnType<typeof vitestExpect.poll>;
}

type Work = (...given: never[]) => unknown;

interface Suite {
  name: string;
  parent: Suite | null;
  beforeAll: Work[];
  afterAll: Work[];
  beforeEach: Work[];
  afterEach: Work[];
  parts: (Suite | Test)[];
}

export interface Test {
  /** File and titles, with a number for duplicates. */
  id: string;
  suite: Suite;
  work: () => unknown;
}

export interface Outcome {
  test: Test;
  /** Null for a passed test. */
  failure: unknown;
  took_ms: number;
}

let at: Suite = blank('', null);
let ids = new Map<string, number>();

/** Forgets the collected tests, before files are loaded again. */
export function startCollecting(): void {
  at = blank('', null);
  ids = new Map();
}

export async function collectFile(file: string, load: () => Promise<unknown>): Promise<void> {
  const root = at;
  at = blank(file, root);
  root.parts.push(at);
  try {
    await load();
  } finally {
    at = root;
  }
}

export function collected(): Test[] {
  return testsOf(at);
}

/**
 * Runs the tests of `wanted` with their hooks.
 * @param before called as each test begins, @param bail stops at the first failure.
 */
export async function runTests(
  wanted: ReadonlySet<Test>,
  before: (test: Test | null) => void,
  bail: boolean,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const over = (): boolean => bail && outcomes.some(({ failure }) => failure !== null);
  const walk = async (suite: Suite): Promise<void> => {
    const tests = testsOf(suite).filter((test) => wanted.has(test));
    if (tests.length === 0 || over()) return;
    const cleaning: unknown[] = [];
    try {
      for (const hook of suite.beforeAll) cleaning.push(await hook());
      for (const part of suite.parts) {
        if (!('work' in part)) await walk(part);
        else if (wanted.has(part) && !over()) outcomes.push(await runTest(part, before));
      }
      for (const hook of suite.afterAll.toReversed()) await hook();
      await clean(cleaning);
    } catch (failure) {
      for (const test of tests) outcomes.push({ test, failure: failure ?? 'nothing', took_ms: 0 });
    }
  };
  await walk(at);
  return outcomes;
}

let fail: (error: unknown) => void = () => undefined;

/** Fails the running test with an error that no code caught. */
export function crash(error: unknown): void {
  fail(error);
}

async function runTest(test: Test, before: (test: Test | null) => void): Promise<Outcome> {
  const suites = around(test.suite);
  const started_ms = performance.now();
  const cleaning: unknown[] = [];
  let failure: unknown = null;
  before(test);
  const crash = new Promise<never>((_, reject) => {
    fail = reject;
  });
  crash.catch(() => undefined); // prevents an unhandled rejection between tests
  try {
    for (const suite of suites) for (const hook of suite.beforeEach) cleaning.push(await hook());
    await Promise.race([test.work(), crash]);
  } catch (error) {
    failure = error ?? 'nothing';
  }
  try {
    for (const suite of suites.toReversed()) for (const hook of suite.afterEach.toReversed()) await hook();
    await clean(cleaning);
  } catch (error) {
    failure ??= error ?? 'nothing';
  }
  before(null);
  return { test, failure, took_ms: performance.now() - started_ms };
}

/** Hooks may return a function that undoes them. */
async function clean(undoing: readonly unknown[]): Promise<void> {
  for (const undo of undoing.toReversed()) if (typeof undo === 'function') await undo();
}

/** From the file to the innermost suite. */
function around(suite: Suite): Suite[] {
  return suite.parent === null ? [suite] : [...around(suite.parent), suite];
}

function testsOf(suite: Suite): Test[] {
  return suite.parts.flatMap((part) => ('work' in part ? [part] : testsOf(part)));
}

function blank(name: string, parent: Suite | null): Suite {
  return { name, parent, beforeAll: [], afterAll: [], beforeEach: [], afterEach: [], parts: [] };
}

function declare(name: string, work: () => unknown): void {
  const title = [...around(at).map((suite) => suite.name), name].filter((part) => part !== '').join(' > ');
  const times = (ids.get(title) ?? 0) + 1;
  ids.set(title, times);
  at.parts.push({ id: times === 1 ? title : `${title} (${times})`, suite: at, work });
}

function inside(name: string, work: () => unknown): void {
  const suite = blank(name, at);
  at.parts.push(suite);
  at = suite;
  work();
  at = suite.parent ?? suite;
}

/** The signatures of vitest, as far as these tests use them; options after the work are ignored. */
function withEach(add: (name: string, work: () => unknown) => void) {
  const one = (name: string, ...given: unknown[]): void => add(name, workOf(given) as () => unknown);
  return Object.assign(one, {
    each: (rows: readonly unknown[]) => (name: string, work: (...row: unknown[]) => unknown) => {
      for (const row of rows) add(name, () => work(...(Array.isArray(row) ? row : [row])));
    },
    runIf: (fits: unknown) => (fits ? one : () => undefined),
  });
}

function workOf(given: readonly unknown[]): unknown {
  return given.find((one) => typeof one === 'function');
}

export const it = withEach(declare);
export const test = it;
export const describe = withEach(inside);

export const beforeAll = (work: Work): void => void at.beforeAll.push(work);
export const afterAll = (work: Work): void => void at.afterAll.push(work);
export const beforeEach = (work: Work): void => void at.beforeEach.push(work);
export const afterEach = (work: Work): void => void at.afterEach.push(work);
