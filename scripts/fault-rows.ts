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
  return [...source.replace(COMMENT_LINE, '').matchAll(TITLE)]
    .map(([, , title = '', ids = '']) => ({
      file,
      title: title.slice(0, title.lastIndexOf('[')).trim().replace(/\\(.)/g, '$1'),
      ids: ids.split(' ').filter((id) => id.startsWith('F')),
    }))
    .filter((test) => test.ids.length > 0);
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
    ...(known.size === matrix.length ? [] : ['A row stands twice in rows.yaml.']),
    ...unknown,
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
  return `# The fault matrix

Written by \`npm run generate\` from \`rows.yaml\` and from the titles of the tests, which end with the rows they show.
${tested} of ${matrix.length} rows have tests of their own; the others say why not, and what was done instead.

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
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

function sources(house: string, folder: string): string[] {
  return readdirSync(join(house, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort();
}
