/** `npm run bench` with the smallest counts: it runs whole and its counts are verified; no figure is judged. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { USER } from '../../bench/cases/requests.ts';
import { GATEWAY_MISSING, gatewayIn } from '../../bench/contestants/gateway.ts';
import { askLoad, startLoad } from '../../bench/load/load.ts';
import type { GrowthResult } from '../../bench/measures/growth.ts';
import { program } from '../../bench/options.ts';
import { readStartScript } from '../../bench/processes.ts';
import { changesOf } from '../../bench/result/compare.ts';
import { goalsOf } from '../../bench/result/goals.ts';
import type { Line } from '../../bench/result/lines.ts';
import type { Result } from '../../bench/result/result.ts';
import { percentile, spreadOf } from '../../bench/statistics.ts';

const ROOT = join(import.meta.dirname, '../..');
const BENCH = join(ROOT, 'bench', 'bench.ts');
const LIMIT_MS = 300_000;
/** Kinds of measurement that a change seldom touches take minutes: the nightly proof runs them. */
const NIGHT = process.env.NIGHT === '1';
const nightly = test.runIf(NIGHT);

const directory = mkdtempSync(join(tmpdir(), 'puente-bench-test-'));

function runBench(...options: string[]) {
  return spawnSync(process.execPath, [BENCH, ...options], { encoding: 'utf8', timeout: LIMIT_MS });
}

/** A run that is done. @returns its result, and what it printed. */
function measured(folder: string, ...options: string[]) {
  const results = join(directory, folder);
  const { status, stdout, stderr } = runBench('--plain', ...options, '--results', results);
  expect(status, stderr + stdout).toBe(0);
  const [file = '', ...left] = readdirSync(results).sort();
  expect(left).toEqual(options.includes('--save-baseline') ? ['baseline.json'] : []);
  return { stdout, result: JSON.parse(readFileSync(join(results, file), 'utf8')) as Result }; // written by the benchmark
}

/** The smallest options that run every part of a round. */
const SMALLEST = ['--seconds', '0.2', '--warm-up', '20', '--repetitions', '1', '--concurrency', '1,4', '--pin', 'free'];

test('what the first request of a connection waited for is not measured', async () => {
  const HELD_MS = 3_000;
  const asked = new WeakSet<Socket>();
  const server = createServer(async (request, response) => {
    for await (const _part of request);
    if (!asked.has(request.socket)) await new Promise((resolve) => setTimeout(resolve, HELD_MS));
    asked.add(request.socket);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ id: `${USER}-customer` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const its = mkdtempSync(join(tmpdir(), 'puente-bench-load-'));
  const load = await startLoad(its, null);
  try {
    const { port } = server.address() as AddressInfo; // it listens on a port
    const plan = { case_name: 'proxied', targets: [], translated: false, first: 0, in_flight: 8, rate: null };
    const result = await askLoad(load, { ...plan, url: `http://127.0.0.1:${port}`, duration_ms: 200 });
    expect(result).toMatchObject({ faults: [], succeeded: result.sent });
    expect(result.p999_ms).toBeLessThan(HELD_MS);
  } finally {
    load.child.disconnect(); // it ends by itself
    server.close();
    server.closeAllConnections();
  }
});

describe('npm run bench', () => {
  test(
    'measures the contestants on a fresh machine, proves the counts, judges the goals, and leaves only its result',
    () => {
      const cases = NIGHT ? 'create,get-live,get-final,payment-search,merchant-order,proxied,event' : 'create';
      const contestants = ['--contestants', 'bare translation,translation with rows,gateway', '--gateway', directory];
      const asked = ['--case', cases, ...contestants, '--concurrency', '4'];
      const { result, stdout } = measured('whole', ...SMALLEST, ...asked);
      expect(result.machine.node).toBe(process.version);
      expect(result).toMatchObject({ upstream: 'Node', load: 'own', faults: [] });
      // Nothing is installed there.
      expect(result.not_measured).toEqual([expect.stringMatching(/^gateway: not installed; run `npm install /)]);
      const expected = cases
        .split(',')
        .flatMap((name) =>
          [
            'bare proxy',
            ...(name === 'create' ? ['bare translation', 'translation with rows'] : []),
            'direct',
            'puente',
          ].map((who) => `${name} 4 ${who}`),
        );
      const found = result.lines.map((line) => `${line.case_name} ${line.in_flight} ${line.contestant}`);
      expect(found.sort()).toEqual(expected.sort());
      for (const { what, expected: right, found: counted } of result.checks) expect(counted, what).toBe(right);
      const rows = result.checks.filter(({ what }) => what.startsWith('rows with their order'));
      expect(rows.map(({ what }) => what.slice('rows with their order in the database'.length))).toEqual([
        '',
        ' of the bare translation',
        ' of the translation with rows',
      ]);
      for (const { found } of rows) expect(found).toBeGreaterThan(20);
      expect(result.goals.map(({ verdict }) => verdict)).toContain('not measured');
      expect(stdout).toContain('added over direct');
    },
    LIMIT_MS,
  );

  test(
    'measures a gateway that stores nothing, where it is installed, by completions that each came back translated',
    ({ skip }) => {
      const folder = process.env.BENCH_GATEWAY ?? ROOT;
      skip(gatewayIn(folder) === null, `the gateway is ${GATEWAY_MISSING}; a test reads BENCH_GATEWAY`);
      const asked = ['--case', 'create', '--contestants', 'gateway', '--gateway', folder];
      const { lines, checks, not_measured } = measured('gateway', ...SMALLEST, ...asked).result;
      const found = lines.filter(({ contestant }) => contestant === 'gateway');
      expect(found.map(({ case_name, in_flight }) => `${case_name} ${in_flight}`)).toEqual(['create 1', 'create 4']);
      for (const { ratio } of found) expect(ratio?.median).toBeGreaterThan(0);
      const [completed] = checks.filter(({ what }) => what.startsWith('completions'));
      expect([completed?.found, (completed?.found ?? 0) > 20]).toEqual([completed?.expected, true]);
      expect(not_measured).toEqual([]);
    },
    LIMIT_MS,
  );

  nightly(
    'shows where the main thread of each contestant spends its time',
    () => {
      const profiles = join(directory, 'profiles');
      // Long enough to sample functions that take a few percent, on a busy machine too.
      const enough = ['--seconds', '1', '--concurrency', '4'];
      const asked = ['--case', 'create,proxied', '--profile', profiles];
      const { result, stdout } = measured('profiled', ...SMALLEST, ...enough, ...asked);
      const { costs } = result;
      const of = (contestant: string, case_name: string): string[] =>
        costs.flatMap((one) =>
          one.contestant === contestant && one.case_name === case_name ? Object.keys(one.us) : [],
        );
      expect(of('puente', 'create')).toEqual(
        expect.arrayContaining([
          'src/proxy/sales',
          'src/mapping',
          'undici',
          'Express',
          'to and from the writer thread',
        ]),
      );
      expect(of('puente', 'proxied')).toContain('http-proxy-middleware');
      expect(of('bare proxy', 'proxied')).toEqual(expect.arrayContaining(['http-proxy-middleware', 'Node and V8']));
      expect(of('bare proxy', 'create').some((owner) => owner.startsWith('src/'))).toBe(false);
      expect(readdirSync(profiles).length).toBe(costs.length);
      expect(stdout).toMatch(/Main thread, µs for one request: free, create, 4 in flight/);
    },
    LIMIT_MS,
  );

  nightly(
    'holds two processes on a PostgreSQL server against one, and proves the counts',
    () => {
      const smallest = ['--seconds', '0.2', '--warm-up', '10', '--repetitions', '1'];
      const { workers, checks, faults } = measured('workers', ...smallest, '--case', 'workers').result;
      expect(workers?.lines.map(({ processes }) => processes)).toEqual([1, 2]);
      for (const { puente_us, postgres_us } of workers?.lines ?? [])
        expect(Math.min(puente_us.min, postgres_us.min)).toBeGreaterThan(0);
      expect([checks.length, faults]).toEqual([4, []]);
    },
    LIMIT_MS,
  );

  nightly(
    'measures on both engines what sales leave behind, and that all that is old goes',
    () => {
      const file = join(directory, 'capacity.json');
      const asked = ['--case', 'growth,retention', '--sales', '20', '--json', file];
      const { stdout } = measured('capacity', ...asked);
      const { growth, retention } = JSON.parse(readFileSync(file, 'utf8')) as Result; // written by the benchmark
      const tables = ['events', 'exchanges', 'link_states', 'links', 'notice_attempts', 'notices'];
      expect(growth?.map((one) => [one.engine, one.tables.map(({ table }) => table)])).toEqual([
        ['SQLite', tables],
        ['PostgreSQL', tables],
      ]);
      for (const one of growth ?? []) {
        expect(one.tables.find(({ table }) => table === 'links')).toMatchObject({ rows: 40 });
        for (const { row_bytes } of one.tables) expect(row_bytes).toBeGreaterThan(0);
      }
      for (const { days, kept_days } of retention ?? [])
        expect(days.map(({ sales_deleted }) => sales_deleted)).toEqual(
          days.map((_, day) => (day > kept_days ? 20 : 0)),
        );
      expect(stdout).toContain('GB a day at 50/s');
    },
    LIMIT_MS,
  );

  nightly(
    'measures another checkout in turn with this one, and proves the counts of both',
    () => {
      const asked = ['--case', 'create,get-final', '--beside', ROOT];
      const { result, stdout } = measured('beside', ...SMALLEST, ...asked);
      const { lines, checks } = result;
      expect(
        lines.map((line) => `${line.case_name} ${line.in_flight} ${line.contestant} ${line.ratio}`).sort(),
      ).toEqual(
        ['create', 'get-final'].flatMap((name) =>
          [1, 4].flatMap((in_flight) => [
            `${name} ${in_flight} puente beside null`,
            `${name} ${in_flight} puente null`,
          ]),
        ),
      );
      for (const { contestant, beside } of lines)
        if (contestant === 'puente') expect(beside?.ratio.median).toBeGreaterThan(0);
        else expect(beside).toBeNull();
      const rows = checks.filter(({ what }) => what.startsWith('rows with their order'));
      expect(rows.map(({ what }) => what)).toEqual([
        'rows with their order in the database',
        'rows with their order in the database beside',
      ]);
      // Rows that get-final reads, and rows that were made.
      for (const { found } of rows) expect(found).toBeGreaterThan(200);
      expect(stdout).toContain('Puente over the checkout beside it');
    },
    LIMIT_MS,
  );

  nightly(
    'measures two checkouts on a PostgreSQL server, whose time is theirs, and holds neither against the goals of a file',
    () => {
      const asked = ['--case', 'create', '--postgres', '--beside', ROOT, '--save-baseline'];
      const { result, stdout } = measured('server', ...SMALLEST, ...asked);
      const { engine, lines, checks, goals } = result;
      expect(engine).toBe('PostgreSQL');
      expect(lines.map(({ in_flight, contestant }) => `${in_flight} ${contestant}`).sort()).toEqual(
        [1, 4].flatMap((in_flight) => [`${in_flight} puente`, `${in_flight} puente beside`]),
      );
      const rows = checks.filter(({ what }) => what.startsWith('rows with their order'));
      expect(rows).toHaveLength(2);
      for (const { expected, found } of rows) expect([found, found > 20]).toEqual([expected, true]);
      expect(new Set(goals.map(({ verdict }) => verdict))).toEqual(new Set(['not measured']));
      expect(stdout).toContain("Puente's rows on PostgreSQL");
      const other = runBench('--compare', '--results', join(directory, 'server'));
      expect(other.stderr).toContain('its rows on PostgreSQL, this one has');
      expect(other.status).toBe(1);
    },
    LIMIT_MS,
  );

  test.each([
    { options: ['--beside', '/no/such/checkout'], told: 'There is no src/main.ts in /no/such/checkout' },
    { options: ['--concurrency', '0'], told: 'Give whole numbers above 0.' },
    { options: ['--case', 'create,no-such-case'], told: 'There is no no-such-case; there are create, get-live' },
    { options: ['--contestants', 'nobody'], told: 'There is no nobody' },
  ])('refuses $options', async ({ options, told }) => {
    const quiet = program(() => Promise.reject(new Error('measured all the same')));
    quiet.exitOverride().configureOutput({ writeErr: () => undefined });
    await expect(quiet.parseAsync(options, { from: 'user' })).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining(told),
    });
  });

  test(
    'refuses to compare with nothing before it measures for minutes',
    () => {
      const { status, stderr } = runBench('--compare', '--results', join(directory, 'empty'));
      expect(stderr).toContain('There is no saved run at');
      expect(stderr).toContain('--save-baseline');
      expect(status).toBe(1);
    },
    LIMIT_MS,
  );
});

test('what is measured is what `npm start` and the image run', () => {
  const { environment, options } = readStartScript(ROOT);
  expect(options).toContain('--max-old-space-size=1024');
  const image = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const words = ['node', ...options, 'src/main.ts'].map((word) => JSON.stringify(word));
  expect(image).toContain(`CMD [${words.join(', ')}]`);
  // The start that fills the compile cache: V8 rejects cache entries made with other options.
  expect(image).toContain(`${options.join(' ')} src/main.ts > /tmp/said &`);
  expect(Object.keys(environment)).toEqual(['MALLOC_ARENA_MAX', 'PUENTE_SANDBOX_KEEPS_WORLD', 'NODE_COMPILE_CACHE']);
  expect(environment.NODE_COMPILE_CACHE).toBe(join(ROOT, 'node_modules/.cache/puente'));
  expect(image).toContain(`MALLOC_ARENA_MAX=${environment.MALLOC_ARENA_MAX} `);
  expect(image).toContain('NODE_COMPILE_CACHE=');
});

function lineOf(ratio: readonly number[]): Line {
  return {
    case_name: 'create',
    arrangement: 'free',
    fsync_delay_us: null,
    in_flight: 64,
    rate: null,
    contestant: 'puente',
    generator: 'own',
    per_second: spreadOf([1]),
    ratio: spreadOf(ratio),
    p50_ms: spreadOf([1]),
    p99_ms: spreadOf([1]),
    p999_ms: spreadOf([1]),
    added: null,
    cpu_us: null,
    cpu_ratio: null,
    beside: null,
    resident_mb: null,
    loop_p99_ms: null,
  };
}

describe('a goal', () => {
  test.each([
    { repetitions: [1.01, 1.3, 1.2], verdict: 'met' },
    { repetitions: [0.2, 0.3, 0.99], verdict: 'missed' },
    { repetitions: [0.01, 36], verdict: 'undecided' },
    { repetitions: [0.99, 1.2, 1.3], verdict: 'undecided' },
  ])('of 1 is $verdict by $repetitions', ({ repetitions, verdict }) => {
    const extras = { sizes: null, starts: null, memory: null, workers: null, growth: null };
    const measured = { lines: [lineOf(repetitions)], not_measured: [], ...extras };
    // Only these parts are read.
    const goals = goalsOf(measured as Partial<Result> as Result);
    expect(goals.find(({ goal }) => goal === 'create, 64 in flight, free: ≥ 1 × the bare proxy')?.verdict).toBe(
      verdict,
    );
    expect(goals.filter((one) => one.verdict !== 'not measured')).toHaveLength(1);
  });

  const judged = (parts: Partial<Result>, words: string) => {
    const none = { lines: [], not_measured: [], sizes: null, starts: null, memory: null, workers: null, growth: null };
    // Only these parts are read.
    const goals = goalsOf({ ...none, ...parts } as Partial<Result> as Result);
    const found = goals.filter(({ goal }) => goal.includes(words));
    return found.map(({ measured, verdict }) => `${verdict}: ${measured}`);
  };
  const ms = (value: number) => spreadOf([value]);
  const line = (more: Partial<Line>): Line => ({ ...lineOf([1]), ...more });

  test('of tails is that of the worst case beside the bare proxy, once each case was measured', () => {
    const bare = { contestant: 'bare proxy' };
    const lines = ['create', 'get-final', 'payment-search', 'proxied', 'event'].flatMap((case_name, index) => [
      line({ case_name, p99_ms: ms(20 + index) }),
      line({ case_name, ...bare, p99_ms: ms(20) }),
    ]);
    const free = (given: Line[]) => judged({ lines: given }, 'p99 of every case')[1];
    const all = 'event 1.20, proxied 1.15, payment-search 1.10, get-final 1.05, create 1.00';
    expect(free(lines)).toBe(`met: ${all}`);
    expect(free([line({ p99_ms: ms(31) }), ...lines.slice(1)])).toMatch(/^missed: create 1\.55, event 1\.20/);
    expect(free(lines.slice(2))).toBe('not measured: null');
  });

  test('of a create alone is beside the bare translation, in both arrangements', () => {
    const added = (p50: number, p99: number) => ({
      in_flight: 1,
      added: { p50_ms: ms(p50), p99_ms: ms(p99), p999_ms: ms(9) },
    });
    const translation = { contestant: 'bare translation', ...added(1, 4) };
    const lines = [line(added(1.2, 6)), line(translation)];
    expect(judged({ lines }, '1 in flight')).toEqual(['met: free 1.20 of 1.00 ms', 'missed: free 6.00 of 4.00 ms']);
    const both = [
      ...lines,
      ...[line(added(1.3, 5)), line(translation)].map((one): Line => ({ ...one, arrangement: 'one core' })),
    ];
    expect(judged({ lines: both }, 'p50')).toEqual(['missed: one core 1.30 of 1.00 ms, free 1.20 of 1.00 ms']);
  });

  test('of a late event loop is beside the bare proxy', () => {
    const slow = { in_flight: 256, fsync_delay_us: 1000 };
    const lines = [
      line({ ...slow, loop_p99_ms: ms(7) }),
      line({ ...slow, contestant: 'bare proxy', loop_p99_ms: ms(10) }),
    ];
    expect(judged({ lines }, 'event loop')).toEqual(['missed: 7.0 of 10.0 ms']);
    expect(judged({ lines: lines.slice(0, 1) }, 'event loop')).toEqual(['not measured: null']);
  });

  test('of first calls, and of what a sale costs', () => {
    const starts = { links: 1, lines: [], checks: [], first_calls: spreadOf([1.4, 1.5, 1.6]) };
    expect(judged({ starts }, 'first 1,000')).toEqual(['met: 1.50 × (1.40–1.60)']);
    const grown = (engine: 'SQLite' | 'PostgreSQL', server_cpu_us_per_sale: number | null) =>
      ({ engine, cpu_us_per_sale: 4_100, server_cpu_us_per_sale, written_bytes_per_sale: 60_000 }) as GrowthResult; // nothing else is read
    const growth = [grown('SQLite', null), grown('PostgreSQL', 5_000)];
    expect(judged({ growth }, 'sale')).toEqual(['met: 60.0 kB', 'missed: 4.1 ms', 'met: 5.0 ms']);
  });
});

describe('comparing with a saved run', () => {
  const resultOf = (median: number) =>
    // Only this part is read.
    ({ lines: [lineOf([median * 0.99, median, median * 1.01])] }) as Partial<Result> as Result;

  test.each([
    { ratio: 0.5, verdict: 'worse' },
    { ratio: 0.97, verdict: 'same' },
    { ratio: 2, verdict: 'better' },
  ])('ratio 1 before and $ratio now: $verdict', ({ ratio, verdict }) => {
    expect(changesOf(resultOf(1), resultOf(ratio)).map((change) => change.verdict)).toEqual([verdict]);
  });
});

describe('statistics', () => {
  test('a percentile is a value that was measured', () => {
    const values = Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentile(values, 0.5)).toBe(50);
    expect(percentile(values, 0.99)).toBe(99);
    expect(percentile([7], 0.99)).toBe(7);
    expect(percentile([], 0.5)).toBeNaN();
  });

  test('a median stands in the middle of its spread', () => {
    expect(spreadOf([3, 1, 2])).toEqual({ median: 2, min: 1, max: 3 });
    expect(spreadOf([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 });
  });
});
