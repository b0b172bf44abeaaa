/** The parts of the proof that are test suites, run with nightly counts instead of those of every change. */
import { randomInt } from 'node:crypto';
import { grouped, type Line, type Part, type Say } from './part.ts';
import type { Told } from './reporter.ts';
import { runTests } from './run-tests.ts';

/** The counts of `docs/protocol.md` §5.1, column Nightly, and tests of promises without a count. */
export const suites: readonly Suite[] = [
  {
    name: 'crash',
    about: 'the real server killed, cut from power, and its system calls made to fail',
    promise: 'P1 P2 P3 P4 P14',
    what: 'no sale whose answer was delivered is lost, nothing is sold twice, and every start goes on',
    files: ['--project=proof', 'test/crash/'],
    counts: { CRASH_KILLS: 10_000, CRASH_POINT_REPEATS: 200, CRASH_IMAGES: 20_000, CRASH_SYSCALL_FAULTS: 2_400 },
    seed: 'CRASH_SEED',
  },
  {
    name: 'postgres',
    about: 'the same on a PostgreSQL server, which is itself killed, cut off in commits, silent, and failed over',
    promise: 'P1 P2 P3 P4',
    what: 'whatever becomes of the database, a till hears the truth or an error, and nothing is lost or sold twice',
    files: ['--project=postgres'],
    counts: { CRASH_KILLS: 1_000, CRASH_POINT_REPEATS: 20, CRASH_TROUBLES: 100 },
    seed: 'CRASH_SEED',
  },
  {
    name: 'field',
    about: 'journeys of tills, where upstream answers as in the field notes instead of the specification',
    promise: 'P5 P7',
    what: 'a till sees the same, whichever of the two it meets',
    files: ['--project=field'],
  },
  {
    name: 'network',
    about: 'a test upstream that resets, hangs, sends slowly and answers wrongly, over real sockets',
    promise: 'P2 P5 P6',
    what: 'whatever the network does, one order, never a wrong 2xx',
    files: ['test/faults/network-', 'test/faults/upstream-', 'test/proxy/notices/sender', 'test/faults/webhooks'],
    counts: { NETWORK_SCENARIOS: 400 },
    seed: 'PROPERTY_SEED',
  },
  {
    name: 'properties',
    about: 'the mapping tables and the evidence against generated sales',
    promise: 'P7',
    what: 'amounts, references and texts come out as they went in',
    files: ['test/mapping/', 'test/proxy/evidence/findings', 'test/contract/legacy-amount', 'test/proxy/shadow/writes'],
    counts: { PROPERTY_RUNS: 50_000, SHADOWS: 100_000 },
    seed: 'PROPERTY_SEED',
  },
  {
    name: 'guard',
    about: 'outbound URLs: the corpus in three resolver modes, and generated ones',
    promise: 'P8',
    what: 'no socket to an address that is not public',
    files: ['test/faults/guard', 'test/proxy/notices/guard'],
    counts: { GUARD_RUNS: 100_000 },
    seed: 'PROPERTY_SEED',
  },
  {
    name: 'secrets',
    about: 'the canary run: planted secrets through every operation, and every output searched in six encodings',
    promise: 'P9',
    what: 'no token, secret or card number in clear',
    files: ['test/faults/secrets', 'test/ops/capture/capture-canaries', 'test/ops/api/url-secrets'],
    seed: 'PROPERTY_SEED',
  },
  {
    name: 'fuzz',
    about: 'hostile bytes, texts and ids at every door',
    promise: 'P10 P13',
    what: 'hostile input is refused, shows nothing and stops nothing',
    files: ['test/faults/hostile-'],
    counts: { FUZZ_FACTOR: 50, FUZZ_RUNS: 100_000, FUZZ_OWNERS: 50_000 },
    seed: 'PROPERTY_SEED',
  },
  {
    name: 'outage',
    about: 'an upstream that fails for minutes and hours, and notices that are all due at once afterwards',
    promise: 'P4 P12',
    what: 'an outage is not made worse, and drained paced, fair and whole',
    files: [
      'test/faults/outage',
      'test/faults/notices-backlog',
      'test/faults/upstream-outage',
      'test/faults/upstream-br',
    ],
    counts: { NOTICE_BACKLOG: 100_000 },
  },
  {
    name: 'upgrade',
    about: 'every earlier schema, kills between two builds, and newer files refused',
    promise: 'P15',
    what: 'no row is lost or read as something else',
    files: ['test/crash/upgrade', 'test/store/sqlite/', 'test/app/own-tables', 'test/faults/storage-'],
  },
  {
    name: 'sites',
    about: 'QR sales of every family on every site, and the checks of our own tools',
    promise: 'P5 P7',
    what: 'a till sees the same on every site; the checker of seeded bugs and the benchmark check something',
    files: ['test/journeys/qr-fidelity', 'test/simulation/bugs', 'test/scripts/bench'],
  },
  {
    name: 'capture',
    about: 'a capture of many calls, assessed and replayed',
    promise: 'P7',
    what: 'every sum of an assessment equals the counts of the tills',
    files: ['--project=proof', 'test/journeys/assess'],
    counts: { CAPTURED_CALLS: 10_000 },
  },
  {
    name: 'programs',
    about:
      'every page of the console with its forms in three languages, every command of the docs, PostgreSQL with its workers',
    promise: 'P7 P16',
    what: 'operators see what is, and each page and command does what it says',
    files: [
      '--project=proof',
      ...['test/app/', 'test/compiled', 'test/docs/', 'test/exchanges/', 'test/journeys/', 'test/ops/', 'test/proxy/'],
      ...['test/sandbox/', 'test/scripts/pack', 'test/store/postgres/'],
    ],
  },
  {
    name: 'ops',
    about: 'every route of the ops door without, with wrong and with right credentials; the audit chain',
    promise: 'P16',
    what: 'every action is allowed, recorded and undoable',
    files: ['test/faults/ops', 'test/ops/api/', 'test/ops/audit/audit-trail', 'test/ops/moves/'],
  },
];

interface Suite {
  name: string;
  about: string;
  promise: string;
  what: string;
  /** File filters of vitest, with the project where a file is in two (`vitest.config.ts`). */
  files: string[];
  /** Environment variables that the tests read. */
  counts?: Record<string, number>;
  /** Environment variable of the seed, for suites with random inputs. */
  seed?: string;
}

export const suiteParts: readonly Part[] = suites.map((suite) => ({
  name: suite.name,
  about: [suite.about, Object.keys(suite.counts ?? {}).join(', ')].filter((text) => text !== '').join('; '),
  run: (_options, say) => runSuite(suite, say),
}));

async function runSuite(suite: Suite, say: Say): ReturnType<Part['run']> {
  const env = environmentOf(suite);
  const { tests, failures } = await runTests(suite.files, env, say);
  return { lines: [lineOf(suite, env, tests, failures.length)], failures, remarks: [] };
}

/** Variables set by the caller win, so that a part can run smaller or with the seed of a failure. */
function environmentOf({ counts, seed }: Suite): Record<string, string> {
  const entries: [string, number][] = Object.entries({ ...counts, NIGHT: 1 });
  if (seed !== undefined) entries.push([seed, randomInt(1, 2 ** 31)]);
  return Object.fromEntries(entries.map(([name, value]) => [name, process.env[name] ?? String(value)]));
}

function lineOf(
  { promise, what }: Suite,
  env: Record<string, string>,
  tests: readonly Told[],
  violations: number,
): Line {
  const asked = Object.entries(env).map(
    ([name, value]) => `${name} ${name.endsWith('SEED') ? value : grouped(Number(value))}`,
  );
  return { promise, what, count: [countOf(tests), ...asked].join('\n'), violations };
}

/** Number of passed tests; skips are listed with their reason, because they prove less than was requested. */
export function countOf(tests: readonly Told[]): string {
  const passed = tests.filter(({ state }) => state === 'passed').length;
  const skipped = tests.filter(({ state }) => state === 'skipped');
  const whys = [...new Set(skipped.map(({ why }) => why))].join('; ');
  return skipped.length === 0 ? `${passed} tests` : `${passed} tests, ${skipped.length} NOT RUN: ${whys}`;
}
