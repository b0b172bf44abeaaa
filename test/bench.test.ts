/** `npm run bench` with the smallest counts: it runs whole, and its counts are proved. No figure is judged here. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { percentile, spreadOf } from '../bench/statistics.ts';

const BENCH = join(import.meta.dirname, '..', 'bench', 'bench.ts');
const LIMIT_MS = 120_000;

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'puente-bench-test-'));
});

afterAll(() => rmSync(directory, { recursive: true, force: true }));

function runBench(...options: string[]) {
  return spawnSync(process.execPath, [BENCH, ...options], { encoding: 'utf8', timeout: LIMIT_MS });
}

interface Result {
  machine: { node: string; cpu: string; cores: number };
  rounds: {
    lines: { contestant: string; in_flight: number; per_second: { median: number }; ratio: { median: number } }[];
    checks: { what: string; expected: number; found: number }[];
    faults: string[];
  }[];
}

describe('npm run bench', () => {
  test(
    'measures every contestant, proves the counts, and leaves only its result',
    () => {
      const options = [
        '--seconds',
        '0.2',
        '--warm-up',
        '20',
        '--repetitions',
        '1',
        '--in-flight',
        '1,4',
        '--pin',
        'free',
        '--json',
      ];
      const { status, stdout, stderr } = runBench(...options, '--results', directory);
      expect(status, stderr).toBe(0);
      const result = JSON.parse(stdout) as Result; // printed by the benchmark
      expect(result.machine.node).toBe(process.version);
      const [round, ...others] = result.rounds;
      expect(others).toEqual([]);
      expect(round?.faults).toEqual([]);
      expect(round?.lines.map(({ contestant, in_flight }) => `${contestant} ${in_flight}`).sort()).toEqual([
        'bare proxy 1',
        'bare proxy 4',
        'direct 1',
        'direct 4',
        'puente 1',
        'puente 4',
      ]);
      for (const { expected, found } of round?.checks ?? []) {
        expect(found).toBeGreaterThan(0);
        expect(found).toBe(expected);
      }
      expect(round?.checks).toHaveLength(3);
      const [file = '', ...left] = readdirSync(directory);
      expect(left).toEqual([]);
      expect(JSON.parse(readFileSync(join(directory, file), 'utf8'))).toEqual(result);
    },
    LIMIT_MS,
  );

  test(
    'refuses what it can not measure',
    () => {
      const { status, stderr } = runBench('--in-flight', '0');
      expect(stderr).toContain('Give whole numbers above 0.');
      expect(status).toBe(1);
    },
    LIMIT_MS,
  );
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
