/** What an SQLite error means for the writes that met it, and the domain error that an unusable file becomes. */
import Database from 'better-sqlite3';
import { PuenteError } from '../../error.ts';
import type { Failure } from '../engine.ts';

/** READONLY_DBMOVED: the file was moved or replaced under the running process, so what is written would be lost. */
const FATAL = /^SQLITE_(?:IOERR|CORRUPT|NOTADB|READONLY_DBMOVED)/;

export function failureOf(error: unknown): Exclude<Failure, 'gone'> {
  if (!(error instanceof Database.SqliteError)) return 'failed';
  if (error.code.startsWith('SQLITE_CONSTRAINT')) return 'constraint';
  if (error.code.startsWith('SQLITE_FULL')) return 'full';
  if (error.code.startsWith('SQLITE_BUSY')) return 'busy';
  return FATAL.test(error.code) ? 'fatal' : 'failed';
}

/** The error's code and text in one line; statements carry parameters only, so it never holds a value. */
export function textOf(error: unknown): string {
  if (error instanceof Database.SqliteError) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}

/** A file that can't be used, as PuenteError store_unusable; `repair` is what the operator does next. */
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

/** What the driver's errors mean while a file is being opened, and the repair. */
const UNUSABLE: readonly (readonly [code: RegExp, wrong: string, repair: string])[] = [
  [/^SQLITE_NOTADB/, 'it is not an SQLite database', 'Name another file, or restore a backup'],
  [/^SQLITE_CORRUPT/, 'it is damaged', 'Restore a backup; nothing was changed'],
  [/^SQLITE_BUSY/, 'another program is writing to it', 'Stop that program first'],
  [/^SQLITE_(?:CANTOPEN|READONLY)/, 'it or its folder can not be written', 'Give this user the right to write there'],
];

/** Turns what the driver throws while a file is being opened into store_unusable; a PuenteError passes unchanged. */
export function unusableBecause(path: string, error: unknown): PuenteError {
  if (error instanceof PuenteError) return error;
  const code = error instanceof Database.SqliteError ? error.code : '';
  const [, wrong, repair] = UNUSABLE.find(([of]) => of.test(code)) ?? [
    null,
    textOf(error),
    'Check the disk and the file',
  ];
  return storeUnusable(path, wrong, repair, error);
}
