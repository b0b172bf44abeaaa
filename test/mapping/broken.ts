/** Breaks one thing in the real tables, and returns the error of loading them. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect } from 'vitest';
import { PuenteError } from '../../src/error.ts';
import { check, printFailures } from '../../src/mapping/check.ts';
import { loadTables, readDocuments } from '../../src/mapping/load.ts';
import type { Documents } from '../../src/mapping/schema.ts';
import { tablesDirectory } from './kit.ts';

const made: string[] = [];

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true });
});

/** Removed at the end of the test. */
export function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'puente-tables-'));
  made.push(directory);
  return directory;
}

export function copyOfTables(): string {
  const directory = emptyDirectory();
  cpSync(tablesDirectory, directory, { recursive: true });
  return directory;
}

/** The error after `before` is replaced by `after` in one file; the other files are not read again. */
export function broken(file: string, before: string | RegExp, after: string): string {
  const text = readFileSync(join(tablesDirectory, file), 'utf8');
  const changed = text.replace(before, after);
  expect(changed, `${file} no longer has ${before}`).not.toBe(text);
  const directory = emptyDirectory();
  mkdirSync(dirname(join(directory, file)), { recursive: true });
  writeFileSync(join(directory, file), changed);
  const own = readDocuments(directory);
  const failures = own.failures.length > 0 ? own.failures : check(withFile(whole.documents, own.documents, file));
  return failures.length === 0 ? 'the tables hold' : printFailures(failures);
}

const whole = readDocuments(tablesDirectory);

function withFile(all: Documents, own: Documents, file: string): Documents {
  const others = <Filed extends { file: string }>(kept: Filed[], changed: Filed[]): Filed[] => {
    const at = kept.findIndex((one) => one.file === file);
    return at === -1 ? [...kept, ...changed] : kept.toSpliced(at, 1, ...changed);
  };
  return {
    revision: all.revision,
    proxied: all.proxied,
    operations: file === 'operations.yaml' ? own.operations : all.operations,
    sites: file === 'sites.yaml' ? own.sites : all.sites,
    limitations: file === 'limitations.yaml' ? own.limitations : all.limitations,
    tables: others(all.tables, own.tables),
    states: others(all.states, own.states),
    errors: others(all.errors, own.errors),
  };
}

export function messageOf(directory: string, proved_in: string | null = null): string {
  try {
    loadTables(directory, proved_in);
  } catch (error) {
    if (error instanceof PuenteError && error.code === 'bad_tables') return error.message;
    throw error;
  }
  return 'the tables hold';
}
