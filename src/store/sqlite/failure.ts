/** The meaning of an SQLite error for the failed write, and the domain error for an unusable file. */
import Database from 'better-sqlite3';
import { codeOf, PuenteError } from '../../error.ts';
import type { Failure } from '../engine.ts';

/** READONLY_DBMOVED: the file was moved or replaced under the running process, so writes would be lost. */
const FATAL = /^SQLITE_(?:IOERR|CORRUPT|NOTADB|READONLY_DBMOVED)/;

/** Errors that are not of SQLite are `failed`. */
export function failureOf(error: unknown): Exclude<Failure, 'gone'> {
  if (!(error instanceof Database.SqliteError)) return 'failed';
  // A value of the wrong type is a defect of this program; other constraints are rules that a unit may break.
  if (error.code === 'SQLITE_CONSTRAINT_DATATYPE') return 'failed';
  if (error.code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  if (error.code.startsWith('SQLITE_FULL')) return 'full';
  if (error.code.startsWith('SQLITE_BUSY')) return 'busy';
  return FATAL.test(error.code) ? 'fatal' : 'failed';
}

/** Code and text in one line; statements have parameters only, so it never holds a value. */
export function textOf(error: unknown): string {
  if (error instanceof Database.SqliteError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

/** @param repair the next step of the operator. */
export function storeUnusable(
  path: string,
  wrong: string,
  repair: string,
  cause?: unknown,
  facts: Record<string, boolean> = {},
): PuenteError {
  return new PuenteError('store_unusable', `The database ${path} can't be used: ${wrong}. ${repair}.`, {
    cause,
    facts,
  });
}

/** Meaning of the driver's and the system's errors on opening a file, and the repair. */
const UNUSABLE: readonly (readonly [code: RegExp, wrong: string, repair: string])[] = [
  [/^SQLITE_NOTADB/, 'it is not an SQLite database', 'Name another file, or restore a backup'],
  [/^SQLITE_CORRUPT/, 'it is damaged', 'Restore a backup; nothing was changed'],
  [/^(?:SQLITE_FULL|ENOSPC|EDQUOT)/, 'the disk is full', 'Make room on it'],
  [/^SQLITE_BUSY/, 'another program is writing to it', 'Stop that program first'],
  [/^SQLITE_(?:CANTOPEN|READONLY)/, 'it or its folder can not be written', 'Give this user the right to write there'],
  [/^(?:EACCES|EPERM|EROFS)/, 'it or its folder can not be read or written', 'Give this user the right to do so'],
];

/** An error of the driver or the system on opening a file as store_unusable; a PuenteError passes unchanged. */
export function unusableBecause(path: string, error: unknown): PuenteError {
  if (error instanceof PuenteError) return error;
  const code = codeOf(error, '');
  const [, wrong, repair] = UNUSABLE.find(([of]) => of.test(code)) ?? [
    null,
    textOf(error),
    'Check the disk and the file',
  ];
  return storeUnusable(path, wrong, repair, error);
}
