/** A look at the database of a Puente that is not running: nothing is changed, and nothing is assumed. */
import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import type { ExaminedFile } from '../../core/doctor/offline.ts';
import { PuenteError } from '../../error.ts';
import { checkFile } from './check.ts';
import { textOf } from './failure.ts';
import { MIGRATIONS_DIRECTORY } from './file.ts';
import { takeInstanceLock } from './lock.ts';
import { APPLICATION_ID, readMigrations, versionOf } from './migrate.ts';

/** @param path of the database. Never throws for what is wrong with it. */
export function examineFile(path: string): ExaminedFile {
  const newest_schema = readMigrations(MIGRATIONS_DIRECTORY).length;
  const facts = statSync(path, { throwIfNoEntry: false });
  const nothing = {
    path,
    newest_schema,
    is_there: false,
    is_in_use: false,
    schema: null,
    integrity: null,
    wrong: null,
  };
  if (facts === undefined) return nothing;
  const seen = { ...nothing, is_there: true };
  if (!facts.isFile() || facts.size === 0)
    return { ...seen, wrong: facts.isFile() ? 'it is empty' : 'it is not a file' };
  let lock: ReturnType<typeof takeInstanceLock> | null = null;
  try {
    lock = takeInstanceLock(path);
    return { ...seen, ...lookInto(path) };
  } catch (error) {
    const is_in_use = error instanceof PuenteError && error.message.includes('another Puente is using it');
    return { ...seen, is_in_use, wrong: is_in_use ? null : textOf(error) };
  } finally {
    lock?.release();
  }
}

function lookInto(path: string): Pick<ExaminedFile, 'schema' | 'integrity' | 'wrong'> {
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const is_ours = Number(database.pragma('application_id', { simple: true })) === APPLICATION_ID;
    if (!is_ours) return { schema: null, integrity: null, wrong: 'it is the database of another program' };
    return { schema: versionOf(database), integrity: checkFile(path), wrong: null };
  } finally {
    database.close();
  }
}
