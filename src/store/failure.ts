/** Writes and reads that could not be done, as the domain error that they become at the border of every engine. */

import { PuenteError } from '../error.ts';
import type { Failure } from '../locales/sentences/storage.ts';
import { say } from '../locales/sentences.ts';

/**
 * `constraint`: the statement alone was refused. `full`: nothing was written, and it heals when space returns.
 * `busy`: another process holds the write lock. `gone`: the server could not be reached, did not answer in time, or takes no
 * writes; what was being written may be there. `fatal`: the disk or the file can't be trusted any more; the process must
 * stop (`reliability.md` §3.3 a, §3.14). `failed`: anything else; nothing was written.
 */
export type { Failure };

/** A write or read that could not be done, as PuenteError store_failed. */
export function storeFailed(failure: Failure, text: string, cause?: unknown): PuenteError {
  return new PuenteError('store_failed', say('store.failed', { failure, detail: text }), { facts: { failure }, cause });
}
