/** Examines the database file for `puente doctor`, and checks its pages; changes nothing. */
import { accessSync, constants, rmSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { PuenteError } from '../../error.ts';
import type { ExaminedFile } from '../../ops/doctor/doctor.ts';
import { faultOfDirectory } from '../directory.ts';
import { readMigrations } from '../migrations.ts';
import { textOf } from './failure.ts';
import { isOurs, MIGRATIONS_DIRECTORY, takeInstanceLock, versionOf } from './file.ts';
import { logState } from './gap.ts';
import { RUN } from './settings.ts';
import { restoringNote, transferredNote } from './under-way.ts';

/** Never throws for a fault of the file or its directory. */
export function examineFile(path: string): ExaminedFile {
  const newest_schema = readMigrations(MIGRATIONS_DIRECTORY).length;
  const nothing = {
    path,
    newest_schema,
    is_there: false,
    is_in_use: false,
    schema: null,
    integrity: null,
    is_log_lost: false,
    transferred_to: null,
    directory_wrong: null,
    wrong: null,
  };
  if (restoringNote(path) !== null) return { ...nothing, wrong: 'a restore into it was cut off, or is under way' };
  const transferred = transferredNote(path);
  if (transferred !== null) return { ...nothing, transferred_to: transferred.to };
  const facts = factsOf(path);
  if (typeof facts === 'string') return { ...nothing, directory_wrong: facts };
  if (facts === null) return { ...nothing, directory_wrong: faultOfDirectory(dirname(path)) };
  const examined = { ...nothing, is_there: true };
  if (!facts.isFile() || facts.size === 0)
    return { ...examined, wrong: facts.isFile() ? 'it is empty' : 'it is not a file' };
  let lock: ReturnType<typeof takeInstanceLock> | null = null;
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    accessSync(dirname(path), constants.W_OK | constants.X_OK);
  } catch (error) {
    return { ...examined, directory_wrong: textOf(error) };
  }
  try {
    lock = takeInstanceLock(path);
    return { ...examined, ...lookInto(path) };
  } catch (error) {
    const is_in_use = error instanceof PuenteError && error.facts.in_use === true;
    return { ...examined, is_in_use, wrong: is_in_use ? null : textOf(error) };
  } finally {
    lock?.release();
  }
}

/** Null: there is no file; a text: why that can't be seen. */
function factsOf(path: string): Stats | string | null {
  try {
    return statSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    return textOf(error);
  }
}

type Looked = Pick<ExaminedFile, 'schema' | 'integrity' | 'is_log_lost' | 'wrong'>;

/** Removes the files that SQLite makes for reading: an empty log would hide from the next start that a log was lost. */
function lookInto(path: string): Looked {
  const log = logState(path);
  const made = ['-wal', '-shm'].filter((suffix) => statSync(path + suffix, { throwIfNoEntry: false }) === undefined);
  const database = new Database(path, { readonly: true, fileMustExist: true });
  try {
    const nothing = { schema: null, integrity: null, is_log_lost: false };
    if (!isOurs(database)) return { ...nothing, wrong: 'it is the database of another program' };
    const run = database.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck().get(RUN.name);
    const is_log_lost = run === RUN.open && log !== 'sound';
    return { schema: versionOf(database), integrity: checkFile(path), is_log_lost, wrong: null };
  } finally {
    database.close();
    for (const suffix of made) rmSync(path + suffix, { force: true });
  }
}

/** Reads every page. @returns `ok`, or the fault of the file. */
export function checkFile(path: string): string {
  try {
    const database = new Database(path, { readonly: true, fileMustExist: true });
    try {
      return String(database.pragma('quick_check(1)', { simple: true }));
    } finally {
      database.close();
    }
  } catch (error) {
    return textOf(error);
  }
}

/** The same in a thread, because it would block the main thread for too long. */
export function checkInThread(path: string): Promise<string> {
  return new Promise((resolve) => {
    const thread = new Worker(new URL('./check-thread.ts', import.meta.url), { workerData: { path }, execArgv: [] });
    thread.once('message', (verdict: string) => resolve(verdict));
    thread.once('error', (error) => resolve(error.message));
    thread.once('exit', () => resolve('the check did not end'));
  });
}
