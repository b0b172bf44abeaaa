/** The ledger of fault rows: what counts as a named test, and what the ledger refuses. */
import { describe, expect, it } from 'vitest';
import { namedTests, problemsOf, switchedOff } from '../../scripts/fault-rows.ts';

// Assembled at run time, so that the ledger does not count these as tests of rows.
const row = (...ids: string[]): string => `[${ids.join(' ')}]`;
const idsIn = (source: string): string[] => namedTests('some.test.ts', source).flatMap(({ ids }) => ids);

describe('a named test', () => {
  it.each<[string, string, string[]]>([
    ['a test', `it('refuses ${row('F1')}', () => {`, ['F1']],
    ['a describe with two rows and a promise', `describe("all ${row('F1', 'F2', 'P12')}", () => {`, ['F1', 'F2']],
    ['a title behind a table', `])('%s is cut ${row('F21')}', async () => {`, ['F21']],
    ['a row of a table, on its own line', `  [\n    'a drip ${row('F22')}',\n    1,\n  ],`, ['F22']],
    ['a title with an escaped quote', `it('the till\\'s own ${row('F3')}', () => {`, ['F3']],
    ['a comment is none', `// it('refuses ${row('F1')}', () => {`, []],
    ['a promise alone is none', `it('keeps ${row('P1')}', () => {`, []],
    ['an id in the middle of a title is none', `it('of ${row('F1')} and more', () => {`, []],
  ])('%s', (_name, source, ids) => {
    expect(idsIn(source)).toEqual(ids);
  });
});

describe('the title of a named test', () => {
  const titlesIn = (source: string): string[] => namedTests('some.test.ts', source).map(({ title }) => title);

  it('is printed with the groups around it, and with no group before it', () => {
    const source = [
      `describe('another group', () => {`,
      `  it('is whole', () => {});`,
      `});`,
      `describe('a client', { timeout: 5 }, () => {`,
      `  describe.each([`,
      `    ['http', 1],`,
      `  ])('over %s', (_name, port) => {`,
      `    it('is closed ${row('F1')}', () => {});`,
      `  });`,
      `  it("is the till's own ${row('F2')}", () => {});`,
      `});`,
      `it('stands alone ${row('F3')}', () => {});`,
    ];
    expect(titlesIn(source.join('\n'))).toEqual([
      'a client > over … > is closed',
      "a client > is the till's own",
      'stands alone',
    ]);
  });

  it('of a table row has the title of its test around it', () => {
    const table = (title: string): string =>
      `describe('a body', () => {\n  it.each([\n    ['a list ${row('F1')}', 1],\n  ])('${title}', (_name, one) => {`;
    expect(titlesIn(table('%s is refused with %i'))).toEqual(['a body > a list is refused with …']);
    expect(titlesIn(table('is refused'))).toEqual(['a body > a list']);
  });

  it.each([
    ['%s is refused', 'a body > … is refused'],
    ['is refused: %s', 'a body > is refused'],
    ['%s=%j', 'a body'],
    ['$name needs a token', 'a body > … needs a token'],
    ['\u0024{name} needs a token', 'a body > … needs a token'],
  ])('has one mark for each value of a table, and none at its end: %s', (title, printed) => {
    expect(titlesIn(`describe('a body', () => {\n  it.each(all)('${title} ${row('F1')}', () => {`)).toEqual([printed]);
  });
});

describe('the ledger refuses', () => {
  const matrix = [
    { id: 'F1', fault: 'a', expected: 'b' },
    { id: 'F2', fault: 'a', expected: 'b', instead: 'no such machine here' },
  ];
  const test = (...ids: string[]) => ({ file: 'a.test.ts', title: 'a', ids });

  it.each<[string, Parameters<typeof problemsOf>[1], RegExp]>([
    ['a row without a test', [], /without a test.*F1\./],
    ['a test of a row that is none', [test('F1'), test('F999')], /names F999/],
    ['a test of a row that says why it has none', [test('F1', 'F2')], /tests and an `instead`: F2/],
    ['a title without words', [{ ...test('F1'), title: '' }], /title that is its table's values alone/],
  ])('%s', (_name, tests, problem) => {
    expect(problemsOf(matrix, tests)).toEqual([expect.stringMatching(problem)]);
  });

  it.each([
    `it.skip('refuses ${row('F1')}', () => {`,
    `it.todo('refuses ${row('F1')}', );`,
    `describe.skip.each([1])('refuses ${row('F1')}', () => {`,
    `it.fails('refuses ${row('F1')}', () => {`,
    `it('refuses ${row('F1')}', { timeout: 5, skip: true }, () => {`,
    `describe.skip('all', () => {\n  it('refuses ${row('F1')}', () => {`,
  ])('a row whose test does not run: %s', (source) => {
    expect(switchedOff('some.test.ts', source)).toEqual([expect.stringContaining('does not run')]);
  });

  it.each([
    `it('refuses ${row('F1')}', (context) => {\n  if (missing) return context.skip(missing);`,
    `it.skipIf(missing)('refuses ${row('F1')}', () => {`,
    "it.todo('later');",
  ])('no test that runs where it can, and none that names no row: %s', (source) => {
    expect(switchedOff('some.test.ts', source)).toEqual([]);
  });

  it('nothing when every row has its test or its reason', () => {
    expect(problemsOf(matrix, [test('F1')])).toEqual([]);
  });
});
