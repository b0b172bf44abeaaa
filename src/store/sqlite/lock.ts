/** The instance lock: one process per database file, released by the operating system when the process dies. */
import Database from 'better-sqlite3';
import { storeUnusable, unusableBecause } from './failure.ts';

export interface InstanceLock {
  release(): void;
}

/**
 * Takes the lock of `<path>.lock`: an empty SQLite file whose exclusive lock is held for as long as the process lives, so
 * that a killed process leaves nothing to clean up. The file itself stays: removing it would let two processes lock two files.
 * @throws PuenteError store_unusable, with the fact `in_use`, when another process holds it.
 */
export function takeInstanceLock(path: string): InstanceLock {
  try {
    const connection = new Database(`${path}.lock`, { timeout: 0 });
    try {
      connection.pragma('journal_mode = MEMORY');
      connection.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      connection.close();
      throw error;
    }
    return { release: () => void connection.close() };
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw storeUnusable(
        path,
        'another Puente is using it',
        'Stop that process first; one file serves one process',
        error,
        { in_use: true },
      );
    }
    throw unusableBecause(`${path}.lock`, error);
  }
}
