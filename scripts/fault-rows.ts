/** The ledger of the fault matrix: each row, its expected behavior, and the tests whose titles name it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';

const rows = z
  .array(
    z.strictObject({
      id: z.string().regex(/^F\d+$/),
      fault: z.string().min(1),
      expected: z.string().min(1),
      /** Why it can't be tested here, and what was done instead. */
      instead: z.string().min(1).optional(),
      /** A requirement of its tests, and the checks that remain without it. */
      needs: z.string().min(1).optional(),
    }),
  )
  .min(1);
type Row = z.output<typeof rows>[number];

interface NamedTest {
  /** Relative to the root of the repository. */
  file: string;
  /** As Vitest prints it, with the titles of the groups around the test; `…` stands for each value of a table. */
  title: string;
  ids: string[];
}

export interface FaultLedger {
  /** Text of `test/faults/README.md`. */
  page: string;
  /** Faults of the ledger, as sentences; empty when every row has its tests. */
  problems: string[];
}

/** Reads the rows and the titles of all tests. @param house the root of the repository. */
export function readFaultLedger(house: string): FaultLedger {
  const matrix = rows.parse(parse(readFileSync(join(house, 'test/faults/rows.yaml'), 'utf8')));
  const texts = sources(house, 'test').map((file) => ({ file, source: readFileSync(join(house, file), 'utf8') }));
  const tests = texts.flatMap(({ file, source }) => namedTests(file, source));
  const off = texts.flatMap(({ file, source }) => switchedOff(file, source));
  return { page: render(matrix, tests), problems: [...problemsOf(matrix, tests), ...off] };
}

/** Ids of rows with tests, and the files of these tests. @param house the root of the repository. */
export function readFaultTests(house: string): { ids: string[]; files: string[] } {
  const matrix = rows.parse(parse(readFileSync(join(house, 'test/faults/rows.yaml'), 'utf8')));
  const tests = sources(house, 'test').flatMap((file) => namedTests(file, readFileSync(join(house, file), 'utf8')));
  const ids = matrix.filter((row) => row.instead === undefined).map((row) => row.id);
  return { ids, files: [...new Set(tests.map(({ file }) => file))] };
}

/** The title of a test or of its table row: a text right after `(` or `[` that ends with ids in brackets. */
const TITLE = /[([]\s*(['"`])((?:\\.|(?!\1)[^\\\n])*?\[((?:[FPI]\d+)(?: [FPI]\d+)*)\])\1\s*,/g;
const COMMENT_LINE = /^\s*(?:\/\/|\*|\/\*).*$/gm;

/** The tests in one source that name rows of the matrix; promises and invariants may be named beside them. */
export function namedTests(file: string, source: string): NamedTest[] {
  const code = source.replace(COMMENT_LINE, '');
  const groups = groupsIn(code);
  return [...code.matchAll(TITLE)]
    .map((match) => {
      const [text, , title = '', ids = ''] = match;
      const around = groupsAround(groups, match.index, indentAt(code, match.index + text.search(/['"`]/)));
      const own = inItsTable(code, match.index, text.startsWith('['), title.slice(0, title.lastIndexOf('[')).trim());
      return {
        file,
        title: [...around.map((group) => group.title), own]
          .map(plain)
          .filter((part) => part !== '')
          .join(' > '),
        ids: ids.split(' ').filter((id) => id.startsWith('F')),
      };
    })
    .filter((test) => test.ids.length > 0);
}

interface Group {
  at: number;
  indent: number;
  title: string;
}

/** A group of tests: its title stands right behind `describe(`, or behind the table of a `describe.each`. */
const GROUP = /^([ \t]*)describe\b(?:\.\w+)*(?:\(|[\s\S]*?\)\()\s*(['"`])((?:\\.|(?!\2)[^\\\n])*)\2\s*,/gm;

function groupsIn(code: string): Group[] {
  return [...code.matchAll(GROUP)].map(({ index, 1: indent = '', 3: title = '' }) => ({
    at: index,
    indent: indent.length,
    title: title.replace(/ \[[FPI]\d+[^\]]*\]$/, ''),
  }));
}

/** The groups that a place in formatted code is in: going up, each one that is indented less than all below it. */
function groupsAround(groups: readonly Group[], at: number, indent: number): Group[] {
  let least = indent;
  return groups
    .filter((group) => group.at < at)
    .reverse()
    .filter((group) => {
      const around = group.indent < least;
      if (around) least = group.indent;
      return around;
    })
    .reverse();
}

/** Columns before the first character of the line of a place. */
function indentAt(code: string, at: number): number {
  const line = code.slice(code.lastIndexOf('\n', at) + 1);
  return line.length - line.trimStart().length;
}

const TABLE_END = /\](?: as [^\n]*)?\)\(\s*(['"`])((?:\\.|(?!\1)[^\\\n])*)\1/g;

/** A title; for one that is a row of a table, the title of the table's test with the row in it. */
function inItsTable(code: string, at: number, is_row: boolean, title: string): string {
  if (!is_row) return title;
  TABLE_END.lastIndex = at;
  const of_table = TABLE_END.exec(code)?.[2] ?? '%s';
  return of_table.includes('%s') ? of_table.replace('%s', () => title) : title;
}

/** A title as text: without escapes, with one mark for each value of a table, and without values at its end. */
function plain(title: string): string {
  return title
    .replace(/\\(.)/g, '$1')
    .replace(/%[sijdfo]|\$\{(?:[^{}]|\{[^{}]*\})*\}|\$\w+/g, '…')
    .replace(/(?:^|[:,] )[…:=, ]+$/, '')
    .trim();
}

/** A test that is switched off in the source; a test that skips at run time (`context.skip`) is reported by its run. */
const SWITCHED_OFF =
  /\b(?:it|test|describe)(?:\.\w+)*\.(?:skip|todo|fails)\b|[`'"]\s*,\s*\{[^{}]*\b(?:skip|todo|fails)\s*:/g;

/** Sentences about switched-off tests in a file that names rows, because a skipped test's title still names its row. */
export function switchedOff(file: string, source: string): string[] {
  if (namedTests(file, source).length === 0) return [];
  return [...source.replace(COMMENT_LINE, '').matchAll(SWITCHED_OFF)].map(
    ([text]) => `${file} names rows and has a test that does not run: ${text.replace(/\s+/g, ' ')}.`,
  );
}

export function problemsOf(matrix: readonly Row[], tests: readonly NamedTest[]): string[] {
  const known = new Set(matrix.map((row) => row.id));
  const tested = new Set(tests.flatMap((test) => test.ids));
  const missing = matrix.filter((row) => !tested.has(row.id) && row.instead === undefined).map((row) => row.id);
  const double = matrix.filter((row) => tested.has(row.id) && row.instead !== undefined).map((row) => row.id);
  const unknown = tests.flatMap(({ file, title, ids }) =>
    ids.filter((id) => !known.has(id)).map((id) => `${file}: "${title}" names ${id}, which is no row of the matrix.`),
  );
  return [
    ...(missing.length === 0 ? [] : [`Rows without a test or an \`instead\`: ${missing.join(' ')}.`]),
    ...(double.length === 0 ? [] : [`Rows with tests and an \`instead\`: ${double.join(' ')}; take one away.`]),
    ...(known.size === matrix.length ? [] : ['A row is twice in rows.yaml.']),
    ...unknown,
    ...tests
      .filter(({ title }) => title === '')
      .map(({ file }) => `${file} has a title that is its table's values alone.`),
  ];
}

function render(matrix: readonly Row[], tests: readonly NamedTest[]): string {
  const lines = matrix.map((row) => {
    const own = tests.filter((test) => test.ids.includes(row.id));
    const proof = own.length > 0 ? own.map(link).join('<br>') : `Not tested here. ${row.instead ?? '**No test yet.**'}`;
    const needs = row.needs === undefined ? '' : `<br>Needs ${cell(row.needs)}.`;
    return `| ${row.id} | ${cell(row.fault)} | ${cell(row.expected)} | ${proof}${needs} |`;
  });
  const tested = matrix.filter((row) => tests.some((test) => test.ids.includes(row.id))).length;
  const summary =
    tested === matrix.length
      ? `All ${tested} rows have tests of their own.`
      : `${tested} of ${matrix.length} rows have tests of their own; the others say why not, and what was done instead.`;
  return `# The fault matrix

Written by \`npm run generate\` from \`rows.yaml\` and from the titles of the tests, which end with the ids of their rows.
A title is printed as Vitest prints it: the group, \`>\`, the test. \`…\` stands for each value of a table.
${summary}

| Row | Fault | Expected | Shown by |
|---|---|---|---|
${lines.join('\n')}
`;
}

function link({ file, title }: NamedTest): string {
  const from_here = file.startsWith('test/faults/')
    ? file.slice('test/faults/'.length)
    : `../${file.slice('test/'.length)}`;
  return `[${file.split('/').at(-1)}](${from_here}): ${cell(title)}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('__', '\\_\\_');
}

function sources(house: string, folder: string): string[] {
  return readdirSync(join(house, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort();
}
