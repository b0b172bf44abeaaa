/** The proof's report: a skipped test never counts as passed, and every failure can be repeated. */
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Told } from '../../scripts/prove/reporter.ts';
import { rowsWithout } from '../../scripts/prove/rows.ts';
import { failuresOf } from '../../scripts/prove/run-tests.ts';
import { shownFailures } from '../../scripts/prove/simulation.ts';
import { countOf, suites } from '../../scripts/prove/suites.ts';
import { summaryOf } from '../../scripts/prove/summary.ts';
import { nightly } from '../../vitest.config.ts';
import { HOUSE } from '../run-cli.ts';

const told = (name: string, state: string, why = ''): Told => ({ name, state, why });
// Assembled at run time, so that the ledger does not count these as tests of rows.
const row = (...ids: string[]): string => `[${ids.join(' ')}]`;

describe('a suite has failed', () => {
  it.each<[string, Told[], number, RegExp]>([
    [
      'when a test was skipped, with its reason',
      [told('a', 'passed'), told('b', 'skipped', 'no strace')],
      0,
      /no strace/,
    ],
    ['when no test was run', [], 0, /no test was run/],
    ['when a test failed', [told('a', 'failed', 'expected 1')], 1, /expected 1/],
    ['when its process did', [told('a', 'passed')], 1, /ended with 1/],
  ])('%s', (_name, tests, code, says) => {
    const failures = failuresOf(tests, code, 'SEED=5 npx vitest run x');
    expect(failures).toEqual([expect.stringMatching(says)]);
    expect(failures[0]).toContain('(SEED=5 npx vitest run x)');
  });

  it('not when everything passed', () => {
    expect(failuresOf([told('a', 'passed')], 0, '')).toEqual([]);
  });
});

it('what CI leaves to the night is in one of its parts', () => {
  const files = globSync(nightly, { cwd: HOUSE });
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !suites.some((suite) => suite.files.some((start) => file.startsWith(start))))).toEqual(
    [],
  );
});

it('what was skipped stands in the table with its reason', () => {
  expect(countOf([told('a', 'passed'), told('b', 'skipped', 'no strace')])).toBe('1 tests, 1 NOT RUN: no strace');
});

it('a row counts when tests with its name were run and all of them passed', () => {
  const tests = [
    told(`a > b ${row('F1', 'P2')}`, 'passed'),
    told(`cut ${row('F2')}: repeated`, 'passed'),
    told(`c ${row('F2')}`, 'failed'),
    told(`d ${row('F3')}`, 'skipped'),
  ];
  expect(rowsWithout(['F1', 'F2', 'F3', 'F4'], tests)).toEqual(['F2', 'F3', 'F4']);
});

it('failing seeds are shown with the command that repeats them, and the others are counted', () => {
  const found = Array.from({ length: 23 }, (_, index) => ({
    seed: index + 1,
    violations: [{ invariant: 'I3', text: 'lost' }],
    small: null,
  }));
  const shown = shownFailures(found);
  expect(shown).toHaveLength(21);
  expect(shown[0]).toBe('I3: lost (npm run prove -- --seed 1)');
  expect(shown.at(-1)).toContain('3 more seeds');
});

it('the table is by promise, and ends with what failed', () => {
  const line = (promise: string) => ({ promise, what: 'w', count: 'c', violations: 0 });
  const parts = [
    ['P10 P13', '§4'],
    ['P2 I2', 'P9'],
  ].map((promises, index) => ({
    part: `part ${index}`,
    lines: promises.map(line),
    failures: index === 0 ? [] : ['a row has no test'],
    remarks: [],
    took_ms: 1,
  }));
  const text = summaryOf(parts);
  expect(text.match(/P10 P13|P2 I2|P9|§4/g)).toEqual(['P2 I2', 'P9', 'P10 P13', '§4']);
  expect(text).toMatch(/FAILED: a row has no test\n1 failures\.$/);
});
