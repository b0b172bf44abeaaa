/** Whether a database file is sound: every page is read, which takes too long for the thread that answers tills. */
import { Worker } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { textOf } from './failure.ts';

/** @returns `ok`, or what is wrong with the file. */
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

/** The same in a thread of its own. */
export function checkInThread(path: string): Promise<string> {
  return new Promise((resolve) => {
    const thread = new Worker(new URL('./check-thread.ts', import.meta.url), { workerData: { path }, execArgv: [] });
    thread.once('message', (verdict: string) => resolve(verdict));
    thread.once('error', (error) => resolve(error.message));
    thread.once('exit', () => resolve('the check did not end'));
  });
}
