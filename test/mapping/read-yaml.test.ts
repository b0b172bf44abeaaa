/** Where a failure of a file stands, and what would have fitted. */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Failure } from '../../src/mapping/check-rows.ts';
import { folded, nearTo, whatFits } from '../../src/mapping/near.ts';
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

describe('near words', () => {
  it.each<[what: string, wanted: string, known: string[], near: string[]]>([
    ['the same word', 'copy', ['drop', 'copy'], ['copy']],
    ['a letter is missing', 'coy', ['copy'], ['copy']],
    ['the first letter is missing', 'opy', ['copy'], ['copy']],
    ['the last letter is missing', 'cop', ['copy'], ['copy']],
    ['a letter too many', 'coopy', ['copy'], ['copy']],
    ['a wrong letter', 'cozy', ['copy'], ['copy']],
    ['two wrong letters', 'xopz', ['copy'], ['copy']],
    ['three wrong letters', 'xozz', ['copy'], []],
    ['two letters too many', 'copying', ['copyi', 'copy'], ['copyi']],
    ['three letters too many', 'copying', ['copy'], []],
    ['swapped letters are one slip, as a wrong one is', 'cpoy', ['cxoy', 'copy'], ['cxoy', 'copy']],
    ['a letter further on is none that was swapped', 'abcde', ['acxde', 'axbde', 'abcdx'], ['abcdx']],
    ['fewer slips win', 'copi', ['coat', 'copy'], ['copy']],
    ['nothing is known', 'copy', [], []],
    ['five at most', 'a', ['b', 'c', 'd', 'e', 'f', 'g'], ['b', 'c', 'd', 'e', 'f']],
  ])('%s', (_what, wanted, known, near) => {
    expect(nearTo(wanted, known)).toEqual(near);
  });

  const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`);

  it.each<[what: string, wanted: string, known: string[], says: string]>([
    ['a near one', 'cpoy', ['copy', 'drop'], '; did you mean copy?'],
    ['near ones rather than alike ones', 'text', ['texts', 'body.text'], '; did you mean texts?'],
    ['one whose end is the word', 'text', ['body.text', 'id'], '; did you mean body.text?'],
    ['one whose end is near the word', 'body.tezt', ['body.items[].text', 'id'], '; did you mean body.items[].text?'],
    ['one whose end has the word in it', 'body.ext', ['config.external'], '; did you mean config.external?'],
    ['one that the word has in it', 'body.externals', ['config.ext'], '; did you mean config.ext?'],
    ['two alike ones', 'text', ['body.text', 'path.text'], '; did you mean body.text or path.text?'],
    [
      'five alike ones',
      'word',
      words(30).map((word) => `x.y.${word}`),
      '; did you mean x.y.word0 or x.y.word1 or x.y.word2 or x.y.word3 or x.y.word4?',
    ],
    ['none by two letters', 'body.ex', ['config.external'], '; there is config.external'],
    ['none of two letters', 'body.external', ['config.ex'], '; there is config.ex'],
    ['all of a few', 'zzzzzzzz', ['copy', 'drop'], '; there are copy, drop'],
    ['all of fourteen', 'zzzzzzzz', words(14), `; there are ${words(14).join(', ')}`],
    ['fourteen of more', 'zzzzzzzz', words(15), `; there are ${words(14).join(', ')} and 1 more`],
    ['none of none', 'zzzzzzzz', [], ''],
  ])('what would have fitted: %s', (_what, wanted, known, says) => {
    expect(whatFits(wanted, known)).toBe(says);
  });

  it('what people type has neither case nor accents nor spaces around it', () => {
    expect(folded('  Café ÑANDÚ ')).toBe('cafe nandu');
  });
});
