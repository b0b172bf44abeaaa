/** Every row of every table of the specification (`docs/field-notes.md` Spec) names tests that exist and run. */
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

/** The list by section of the specification; `tables.yaml` has the number of rows of each table. */
const folder = join(import.meta.dirname, 'interface');
const contents = z.record(z.string(), z.record(z.string(), z.int().positive()));
const tables = z.array(
  z.strictObject({
    section: z.string(),
    table: z.string(),
    /** Row to tests: "file > group > title" of the conformance table, or "file.test.ts > full name" of another test. */
    shown_by: z.record(z.string(), z.array(z.string()).min(1)),
  }),
);

const files = (await readdir(folder)).filter((name) => name.endsWith('.yaml') && name !== 'tables.yaml').sort();
const list = (await Promise.all(files.map(async (name) => tables.parse(await readYaml(name))))).flat();
const expected = Object.entries(contents.parse(await readYaml('tables.yaml'))).flatMap(([section, counts]) =>
  Object.entries(counts).map(([table, rows]): [string, number] => [`${section}: ${table}`, rows]),
);
const walked = list.map(({ section, table, shown_by }) => ({ name: `${section}: ${table}`, shown_by }));

async function readYaml(name: string): Promise<unknown> {
  return parse(await readFile(join(folder, name), 'utf8')); // refuses duplicate rows
}

describe('the list is whole', () => {
  test('every table is there, once, and no other', () => {
    expect(walked.map(({ name }) => name).sort()).toEqual(expected.map(([name]) => name).sort());
  });

  test.each(expected)('%s has %i rows', (name, rows) => {
    const table = walked.find((one) => one.name === name);
    expect(Object.keys(table?.shown_by ?? {})).toHaveLength(rows);
  });

  test('no row names a test twice', () => {
    for (const { shown_by } of walked) {
      for (const shown of Object.values(shown_by)) expect(new Set(shown).size, shown.join('\n')).toBe(shown.length);
    }
  });
});

describe('the tests are there', () => {
  let running: Set<string>;
  beforeAll(async () => {
    const named = list.flatMap(({ shown_by }) => Object.values(shown_by).flat()).map(fullName);
    running = await collect([...new Set(named.map((line) => line.split(' > ', 1).join()))]);
  });

  test.each(walked)('$name', ({ shown_by }) => {
    const missing = Object.entries(shown_by).flatMap(([row, shown]) =>
      shown.filter((line) => !running.has(fullName(line))).map((line) => `${row}: ${line}`),
    );
    expect(missing, 'no such test, or it is skipped').toEqual([]);
  });

  test('the collector sees the titles of table-driven tests filled in', () => {
    expect(running).toContain(fullName('invoices > the invoice > payment.status charged_back'));
    expect([...running].filter((line) => /> [^>]*%[sij]/.test(line))).toEqual([]);
  });
});

/** Cases of the conformance table are tests of its runner. */
function fullName(line: string): string {
  return /^\S+\.test\.ts > /.test(line) ? line : `conformance.test.ts > ${line}`;
}

/**
 * Lists tests without running them. Without static parsing, titles of table-driven tests are filled in, and skipped and
 * `todo` tests are left out. @param names files of this folder.
 */
async function collect(names: string[]): Promise<Set<string>> {
  const place = await mkdtemp(join(tmpdir(), 'interface-'));
  try {
    const output = join(place, 'tests.json');
    const runner = join(createRequire(import.meta.url).resolve('vitest/package.json'), '..', 'vitest.mjs');
    const paths = names.map((name) => `test/sandbox/${name}`);
    const options = ['--staticParse=false', '--no-isolate', '--maxWorkers=1', `--json=${output}`];
    // With this run's variables, the other run would take itself for a worker.
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')));
    const root = join(import.meta.dirname, '..', '..');
    await promisify(execFile)(process.execPath, [runner, 'list', ...paths, ...options], { cwd: root, env });
    const collected = z.array(z.object({ name: z.string(), file: z.string() }));
    const found = collected.parse(JSON.parse(await readFile(output, 'utf8')));
    return new Set(found.map(({ name, file }) => `${file.slice(import.meta.dirname.length + 1)} > ${name}`));
  } finally {
    await rm(place, { recursive: true });
  }
}
