/** The parts of the proof that are suites of `npm test`, with the night's counts in place of those of every change. */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { grouped, type Line, type Part, type Say } from './part.ts';

/** The counts of `reliability.md` §5.1, column Nightly. */
const suites: readonly Suite[] = [
  {
    name: 'guard',
    about: 'outbound URLs: the corpus in three resolver modes, and generated ones',
    promise: 'P8',
    what: 'no socket to an address that is not public',
    files: ['test/faults/guard-'],
    counts: { GUARD_RUNS: 100_000 },
  },
  {
    name: 'backlog',
    about: 'notices that are all due at once after an outage',
    promise: 'P5',
    what: 'a backlog goes out paced, fair and whole',
    files: ['test/faults/notices-backlog'],
    counts: { NOTICE_BACKLOG: 100_000 },
  },
  {
    name: 'fuzz',
    about: 'hostile bytes, texts and ids at every door',
    promise: 'P10 P12',
    what: 'hostile input is refused, shows nothing and stops nothing',
    files: ['test/faults/hostile-fuzz', 'test/faults/hostile-parsers', 'test/faults/hostile-owners'],
    counts: { FUZZ_FACTOR: 100, FUZZ_RUNS: 100_000, FUZZ_OWNERS: 50_000 },
  },
  {
    name: 'properties',
    about: 'the mapping tables and the evidence against generated sales',
    promise: 'P6',
    what: 'amounts, references and texts come out as they went in',
    files: ['test/mapping/', 'test/core/evidence/findings'],
    counts: { PROPERTY_RUNS: 50_000 },
  },
  {
    name: 'crash',
    about: 'the real server killed, cut from power, and its system calls made to fail',
    promise: 'P1 P2 P3',
    what: 'nothing acknowledged is lost, nothing is sold twice',
    files: ['test/crash/'],
    counts: { CRASH_KILLS: 10_000, CRASH_POINT_REPEATS: 200, CRASH_IMAGES: 20_000, CRASH_SYSCALL_FAULTS: 2_400 },
    seed: 'CRASH_SEED',
  },
];

interface Suite {
  name: string;
  about: string;
  promise: string;
  what: string;
  /** As vitest filters them. */
  files: string[];
  /** Environment variables that the tests read. */
  counts: Record<string, number>;
  /** The variable of the seed, where the suite has one; a failing property prints its own. */
  seed?: string;
}

export const suiteParts: readonly Part[] = suites.map((suite) => ({
  name: suite.name,
  about: `${suite.about}; ${Object.keys(suite.counts).join(', ')}`,
  run: (_options, say) => runSuite(suite, say),
}));

const VITEST = join(import.meta.dirname, '..', '..', 'node_modules', 'vitest', 'vitest.mjs');
/** The first lines of a failure say what it was. */
const SHOWN_LINES = 6;

async function runSuite(suite: Suite, say: Say): ReturnType<Part['run']> {
  const env = environmentOf(suite);
  const folder = mkdtempSync(join(tmpdir(), 'puente-prove-'));
  const report = join(folder, 'report.json');
  try {
    const code = await runVitest(suite.files, report, { ...process.env, ...env }, say);
    const tests = readTests(report);
    const failed = tests.filter(({ status }) => status === 'failed');
    const again = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const command = [...again, 'npx vitest run', ...suite.files].join(' ');
    const failures = failed.map(({ fullName, failureMessages }) => {
      const why = failureMessages.join('\n').split('\n').slice(0, SHOWN_LINES).join('\n  ');
      return `${fullName}\n  ${why}\n  (${command})`;
    });
    if (code !== 0 && failed.length === 0) failures.push(`the suite ended with ${code} (${command})`);
    return { lines: [lineOf(suite, env, tests, failures.length)], failures, remarks: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What is set from outside wins, so that a part can be run smaller, or with the seed of a failure. */
function environmentOf({ counts, seed }: Suite): Record<string, string> {
  const entries: [string, number][] = Object.entries(counts);
  if (seed !== undefined) entries.push([seed, randomInt(1, 2 ** 31)]);
  return Object.fromEntries(entries.map(([name, value]) => [name, process.env[name] ?? String(value)]));
}

function lineOf({ promise, what }: Suite, env: Record<string, string>, tests: Told[], violations: number): Line {
  const passed = tests.filter(({ status }) => status === 'passed').length;
  const skipped = tests.filter(({ status }) => status === 'pending' || status === 'skipped').length;
  const asked = Object.entries(env).map(([name, value]) => `${name} ${grouped(Number(value))}`);
  const told = skipped === 0 ? `${passed} tests` : `${passed} tests, ${skipped} skipped`;
  return { promise, what, count: `${told}\n${asked.join('\n')}`, violations };
}

/** @returns the exit code; every line of it is progress. */
function runVitest(files: string[], report: string, env: NodeJS.ProcessEnv, say: Say): Promise<number | null> {
  // A test with a night's count takes as long as it takes; hooks too.
  const unlimited = ['--testTimeout=0', '--hookTimeout=0'];
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const child = spawn(process.execPath, [VITEST, 'run', ...files, ...unlimited, ...reporters], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', say);
  return new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
}

interface Told {
  fullName: string;
  status: string;
  failureMessages: string[];
}

/** The form is vitest's JSON report. A file that could not be read at all is a failure too. */
function readTests(report: string): Told[] {
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { name: string; status: string; message: string; assertionResults: Told[] }[];
  };
  return testResults.flatMap(({ name, status, message, assertionResults }) =>
    assertionResults.length === 0 && status === 'failed'
      ? [{ fullName: name, status, failureMessages: [message] }]
      : assertionResults,
  );
}
