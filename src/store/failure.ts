/** Writes and reads that could not be done, as the domain error that they become at the border of every engine. */
import { PuenteError } from '../error.ts';

/**
 * `constraint`: the statement alone was refused. `full`: nothing was written, and it heals when space returns.
 * `busy`: another process holds the write lock. `gone`: the server could not be reached, did not answer in time, or takes no
 * writes; what was being written may be there. `fatal`: the disk or the file can't be trusted any more; the process must
 * stop (`reliability.md` §3.3 a, §3.14). `failed`: anything else; nothing was written.
 */
export type Failure = 'constraint' | 'full' | 'busy' | 'gone' | 'fatal' | 'failed';

const repairs: Record<Failure, string> = {
  constraint: 'this is a fault of Puente; report it',
  full: 'free disk space; Puente recovers by itself',
  busy: 'another process is writing to the file; stop it',
  gone: 'see that the database server runs, can be reached and takes writes; Puente recovers by itself',
  fatal: 'Puente stops; check the disk, then start again or restore a backup',
  failed: 'nothing was written; try again',
};

/** A write or read that could not be done, as PuenteError store_failed. */
export function storeFailed(failure: Failure, text: string, cause?: unknown): PuenteError {
  return new PuenteError('store_failed', `The store could not do its work (${text}): ${repairs[failure]}.`, {
    facts: { failure },
    cause,
  });
}
