/** Where a failure of a file stands, and what would have fitted. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Failure } from '../../src/mapping/check-rows.ts';
import { nearTo, whatFits } from '../../src/mapping/near.ts';
import { byGrammar, pathOfRow, placesIn, readYaml } from '../../src/mapping/read-yaml.ts';

const TEXT = 'table: one\nrows:\n  - copy: a\n    to: b\n  - const: 1\n';

describe('the place of a path', () => {
  it.each([
    ['of a key', ['table'], '1:1'],
    ['of an element', ['rows', 1], '5:5'],
    ['of a key inside', ['rows', 0, 'to'], '4:5'],
    ['of a key that is not there is that of its map', ['rows', 0, 'from'], '3:5'],
    ['of an element that is not there is that of the list', ['rows', 7], '2:1'],
    ['below a text is that of the text', ['table', 'x'], '1:1'],
  ])('%s', (_what, path, place) => {
    const { line, column } = placesIn(TEXT)(path);
    expect(`${line}:${column}`).toBe(place);
  });

  it('of anything in an empty file is its start', () => {
    expect(placesIn('')(['rows'])).toEqual({ line: 1, column: 1 });
  });
});

it.each([
  ['a row', { rows: [] }, '3', undefined, ['rows', 2]],
  ['a row inside a list', { rows: [] }, '1.4', 'to', ['rows', 0, 'rows', 3, 'to']],
  ['a row of one’s own', { rows: [] }, 'own.2', undefined, ['rows', 1]],
  ['a rule', { never: [] }, 'never 2', undefined, ['never', 1]],
  ['a row for any call', { any: [] }, 'any 1', undefined, ['any', 0]],
  ['a row of a call', { calls: {} }, 'create 5', 'code', ['calls', 'create', 4, 'code']],
  ['a row of a file without lists', 'text', '1', undefined, ['', 0]],
  ['a key of the table', { table: 'x', rows: [] }, null, 'table', ['table']],
  ['a key that is not there', { rows: [] }, null, 'unknown', ['rows']],
  ['the table', { sites: [] }, null, undefined, ['sites']],
  ['a table without lists', null, null, undefined, []],
])('the path of %s', (_what, content, row, key, path) => {
  expect(pathOfRow(content, row, key, false)).toEqual(path);
});

it('the path of a row in a file of one’s own, which has no shipped row', () => {
  const paths = ['own.2', 'merchant.1', '3', 'create own.1'].map((row) =>
    pathOfRow({ rows: [] }, row, undefined, true),
  );
  expect(paths).toEqual([['rows', 1], ['rows', 0], [], ['calls', 'create', 0]]);
});

describe('what a grammar refuses', () => {
  const row = z.strictObject({ verb: z.enum(['copy', 'drop']), note: z.string().nullable().optional() });
  const grammar = z.strictObject({
    rows: z.array(row).default([]),
    sites: z.record(z.string(), z.strictObject({ currency: z.string() })).optional(),
    kind: z.discriminatedUnion('a', [z.strictObject({ a: z.literal('x') })]).optional(),
    any: z.union([z.strictObject({ one: z.string() }), z.string()]).optional(),
  });
  const said = (text: string): string[] => {
    const failures: Failure[] = [];
    const read = readYaml('f.yaml', text, failures);
    if (read !== null) byGrammar(grammar, 'f.yaml', { text, content: read.content }, failures);
    return failures.map(
      ({ row: at, message, line, column }) => `${line}:${column}${at === null ? '' : ` row ${at}`} ${message}`,
    );
  };

  it.each([
    ['nothing', 'rows: [{verb: copy}]', []],
    [
      'a mistyped key of a row',
      'rows:\n  - verb: copy\n    nota: x',
      [expect.stringMatching(/^3:5 row 1 .*did you mean note/)],
    ],
    ['a mistyped key of the file', 'row: []', [expect.stringMatching(/^1:1 .*did you mean rows/)]],
    [
      'a mistyped key in a record',
      'sites: {MLA: {currency: x, curency: x}}',
      [expect.stringMatching(/did you mean currency/)],
    ],
    ['a mistyped word', 'rows: [{verb: cpy}]', [expect.stringMatching(/row 1 verb: .*did you mean copy/)]],
    ['a number for a word', 'rows: [{verb: 1}]', [expect.stringMatching(/row 1 verb: /)]],
    ['a key where a union decides', 'any: {two: x}', [expect.stringMatching(/^1:1 .*any: /)]],
    [
      'a key that is given twice',
      'rows: []\nrows: []',
      ['2:1 the key rows is given twice in one place: keep one of them'],
    ],
    ['a key of one kind', 'kind: {a: x, b: y}', [expect.stringMatching(/^1:14 kind: Unrecognized key: "b"$/)]],
    ['no key, twice', ': a\n: b', ['2:1 the key (empty) is given twice in one place: keep one of them']],
    ['what is no YAML', 'rows: [', [expect.stringMatching(/is not YAML/)]],
    ['an alias of nothing', 'rows: *x', [expect.stringMatching(/^1:1 can't be read/)]],
  ])('%s', (_what, text, failures) => {
    expect(said(text)).toEqual(failures);
  });
});

it('the words that would have fitted: near ones, else alike ones, else all', () => {
  expect(nearTo('cpoy', ['copy', 'drop'])).toEqual(['copy']);
  expect(whatFits('text', ['body.text', 'id'])).toBe('; did you mean body.text?');
  expect(whatFits('zzz', ['copy'])).toBe('; there is copy');
  expect(whatFits('zzz', ['copy', 'drop'])).toBe('; there are copy, drop');
  expect(
    whatFits(
      'zzz',
      Array.from({ length: 16 }, (_, at) => `word${at}`),
    ),
  ).toContain('word13 and 2 more');
  expect(whatFits('zzz', [])).toBe('');
});
