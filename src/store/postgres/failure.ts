/** What an error of the server or of the way to it means, and the domain error that an unusable database becomes. */
import { DatabaseError } from 'pg';
import { PuenteError } from '../../error.ts';
import type { Failure } from '../failure.ts';

/** Raised by `must_be`: a step changed another number of rows. */
const OTHER_ROWS = 'PU001';
/** Deadlock, serialisation: wholly undone, and it may be done again. */
const AGAIN = /^40(?:001|P01)$/;
/** Disk full, out of memory, configuration limit. */
const FULL = /^53(?:000|100|200|400)$/;
/** Connection exceptions, too many connections, no answer in time, shut down, starting, not the primary, system errors. */
const GONE = /^(?:08...|53300|57014|57P0[1-5]|25006|58...|25P03|55P03)$/;
const INTEGRITY = /^23/;

/** As `Failure`; `conflict` and `again` are no failures of the store. */
export function failureOf(error: unknown): Exclude<Failure, 'busy' | 'fatal'> | 'conflict' | 'again' {
  if (!(error instanceof DatabaseError)) return 'gone';
  const code = error.code ?? '';
  if (code === OTHER_ROWS) return 'conflict';
  if (AGAIN.test(code)) return 'again';
  if (INTEGRITY.test(code)) return 'constraint';
  if (FULL.test(code)) return 'full';
  return GONE.test(code) ? 'gone' : 'failed';
}

/** Code and text in one line; the detail, which may hold values, is left out, and so is what the address would show. */
export function textOf(error: unknown): string {
  if (error instanceof DatabaseError) {
    const rule = error.constraint === undefined ? '' : ` (${error.constraint})`;
    return `${error.code ?? 'no code'}: ${error.message}${rule}`;
  }
  if (error instanceof AggregateError) return error.errors.map(textOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message;
}

/** A database that can't be used, as PuenteError store_unusable; `repair` is what the operator does next. */
export function databaseUnusable(location: string, wrong: string, repair: string, cause?: unknown): PuenteError {
  return new PuenteError('store_unusable', `The database ${location} can't be used: ${wrong}. ${repair}.`, { cause });
}
