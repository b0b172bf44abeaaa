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

/** What the driver says in words alone of a connection that it lost, closed, or got no answer from in time. */
const LOST =
  /^(?:Connection terminated|Query read timeout|timeout (?:expired|exceeded when trying to connect)|Client (?:has encountered a connection error|was closed) and is not queryable|Cannot use a pool after calling end|Received unexpected \w+ message from backend)/;
/** An encryption that broke, and a socket that the other side has closed: the system names no call for either. */
const BROKEN =
  /^(?:ERR_(?:SSL|TLS)_|E(?:PIPE|CONNRESET|CONNABORTED|CONNREFUSED|TIMEDOUT|NOTCONN|HOSTUNREACH|NETUNREACH)$|ERR_(?:STREAM_DESTROYED|STREAM_WRITE_AFTER_END|SOCKET_CLOSED)$)/;

/**
 * As `Failure`; `conflict` and `again` are no failures of the store. Null for what neither the server nor the way to it has
 * done: a fault of this program, which stays what it is.
 */
export function failureOf(error: unknown): Exclude<Failure, 'busy' | 'fatal'> | 'conflict' | 'again' | null {
  if (!(error instanceof DatabaseError)) return isLost(error) ? 'gone' : null;
  const code = error.code ?? '';
  if (code === OTHER_ROWS) return 'conflict';
  if (AGAIN.test(code)) return 'again';
  if (INTEGRITY.test(code)) return 'constraint';
  if (FULL.test(code)) return 'full';
  return GONE.test(code) ? 'gone' : 'failed';
}

/** The server never heard the statement's text, because it failed for whoever sent it with theirs before on the same connection. */
export function isUnprepared(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '26000';
}

/** The system's own errors name the call that failed. */
function isLost(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isLost);
  if (!(error instanceof Error)) return false;
  return 'syscall' in error || ('code' in error && BROKEN.test(String(error.code))) || LOST.test(error.message);
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
