/** The cache of read and checked tables: a later start loads the same tables, and never uses it for changed files. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { copyOfTables, emptyDirectory, messageOf } from './broken.ts';
import { tablesDirectory } from './kit.ts';

const KEPT = 'tables.json';
const TABLE = 'point/mode.request.yaml';

/** Changes the cached revision, so that a load shows whether it used the cache. */
function mark(proved_in: string, revision: string): void {
  const path = join(proved_in, KEPT);
  const [head = '', json = ''] = readFileSync(path, 'utf8').split('\n', 2);
  const changed = JSON.stringify({ ...JSON.parse(json), revision });
  writeFileSync(path, `${head.split(' ')[0]} ${createHash('sha256').update(changed).digest('hex')}\n${changed}`);
}

it('is what the files say, to the last value', () => {
  const proved_in = emptyDirectory();
  const fresh = loadTables(tablesDirectory, proved_in);
  expect(loadTables(tablesDirectory, proved_in).documents).toStrictEqual(fresh.documents);
  mark(proved_in, 'kept');
  expect(loadTables(tablesDirectory, proved_in).revision).toBe('kept');
  expect(readdirSync(proved_in)).toEqual([KEPT]);
  expect(statSync(join(proved_in, KEPT)).mode & 0o777, 'its owner alone reads it').toBe(0o600);
});

it('is left alone when a table was changed, and the changed one has to hold', () => {
  const [directory, proved_in] = [copyOfTables(), emptyDirectory()];
  loadTables(directory, proved_in);
  mark(proved_in, 'kept');
  const table = join(directory, TABLE);
  const text = readFileSync(table, 'utf8');
  writeFileSync(table, `${text}\n# one more line\n`);
  expect(loadTables(directory, proved_in).revision).not.toBe('kept');
  writeFileSync(table, text.replace('table:', 'tables:'));
  expect(messageOf(directory, proved_in)).toContain(TABLE);
  expect(messageOf(directory, proved_in), 'a refusal is not kept').toContain(TABLE);
});

it.each<[string, (text: string) => string]>([
  ['cut', (text) => text.slice(0, -9)],
  ['empty', () => ''],
  ['changed in one place', (text) => text.replace('"revision":"', '"revision":"x')],
])('is proved anew when what is kept is %s', (_, spoil) => {
  const proved_in = emptyDirectory();
  const { revision } = loadTables(tablesDirectory, proved_in);
  const path = join(proved_in, KEPT);
  const whole = readFileSync(path, 'utf8');
  writeFileSync(path, spoil(whole));
  expect(loadTables(tablesDirectory, proved_in).revision).toBe(revision);
  expect(readFileSync(path, 'utf8'), 'and kept again').toBe(whole);
});

it('is done without where nothing can be kept', () => {
  const nowhere = join(emptyDirectory(), 'not', 'there');
  expect(loadTables(tablesDirectory, nowhere).revision).toBe(loadTables(tablesDirectory).revision);
});
