/** The real tables with one thing broken, and what loading them says. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { PuenteError } from '../../src/error.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { tablesDirectory } from './kit.ts';

const made: string[] = [];

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true });
});

/** A directory with all tables, until the test is over. */
export function copyOfTables(): string {
  const directory = mkdtempSync(join(tmpdir(), 'puente-tables-'));
  made.push(directory);
  cpSync(tablesDirectory, directory, { recursive: true });
  return directory;
}

/** What loading says when `before` has become `after` in one file. */
export function broken(file: string, before: string | RegExp, after: string): string {
  const directory = copyOfTables();
  const text = readFileSync(join(directory, file), 'utf8');
  const changed = text.replace(before, after);
  expect(changed, `${file} no longer has ${before}`).not.toBe(text);
  writeFileSync(join(directory, file), changed);
  return messageOf(directory);
}

export function messageOf(directory: string): string {
  try {
    loadTables(directory);
  } catch (error) {
    if (error instanceof PuenteError && error.code === 'bad_tables') return error.message;
    throw error;
  }
  return 'the tables hold';
}
