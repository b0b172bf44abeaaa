/**
 * The writer thread: has the one writing connection, and commits whole groups of units with one fsync. Its imports load
 * neither the messages nor zod: a start would take twice as long.
 */
import { flushCompileCache } from 'node:module';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';
import { createCover, noCover } from '../../proxy/vault.ts';
import type { Unit, UnitResult } from '../engine.ts';
import type { WriteName } from '../writes.ts';
import { type Connection, commitGroup, prepareCommits, unpack } from './commit.ts';
import { releaseBallast } from './disk.ts';
import { failureOf, textOf, unusableBecause } from './failure.ts';
import type { FromWriter, ToWriter, WriterSetup } from './group-commit.ts';
import { applySettings, assertSettings, BUSY_TIMEOUT_MS, RUN } from './settings.ts';

/** Long enough not to delay payments, short enough that the log does not stay large or keep erased bytes. */
const IDLE_BEFORE_CHECKPOINT_MS = 1_000;

/**
 * The statement journal: as a file it was three quarters of all bytes that a sale wrote, and its transaction alone
 * needs it. For the writer only, because the indexes that a migration sorts may be larger than memory.
 */
const UNDONE_IN_MEMORY = 'temp_store = MEMORY';
const UNDONE_BY_FILE = 'temp_store = FILE';
/** Writes that may change any number of rows: their statement journal, too, may be larger than memory. */
const WITHOUT_BOUND: ReadonlySet<WriteName> = new Set(['hasten_notices', 'pull_links', 'pull_events', 'pull_notices']);

/** @throws PuenteError store_unusable when a setting does not hold before or after the first write. */
function openConnection(setup: WriterSetup): Connection {
  const database = new Database(setup.path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  applySettings(database, setup.path);
  database.pragma(UNDONE_IN_MEMORY);
  if (setup.max_pages > 0) database.pragma(`max_page_count = ${setup.max_pages}`);
  const connection = prepareCommits(database, setup.cover_key === undefined ? noCover : createCover(setup.cover_key));
  connection.statements.remember.run('opened_at', String(setup.opened_at));
  connection.statements.remember.run(RUN.name, RUN.open);
  // Into the file itself: the log may be lost, and `RUN` must show that.
  database.pragma('wal_checkpoint(PASSIVE)');
  assertSettings(database, setup.path);
  return connection;
}

function commitAny(connection: Connection, units: Unit[], path: string): UnitResult[] {
  const has_bound = units.every(({ steps }) => steps.every(({ write }) => !WITHOUT_BOUND.has(write)));
  if (has_bound) return commitOnReserve(connection, units, path);
  connection.database.pragma(UNDONE_BY_FILE);
  try {
    return commitOnReserve(connection, units, path);
  } finally {
    connection.database.pragma(UNDONE_IN_MEMORY);
  }
}

/** Frees the reserve of a full disk, once, so that sales under way can be finished (F44). */
function commitOnReserve(connection: Connection, units: Unit[], path: string): UnitResult[] {
  const results = commitGroup(connection, units);
  const is_full = results.some((result) => result.kind === 'full');
  return is_full && releaseBallast(path) ? commitGroup(connection, units) : results;
}

/** A file that can't be written any more stays as after a kill. */
function leaveInOrder({ statements }: Connection): void {
  try {
    statements.remember.run(RUN.name, RUN.closed);
  } catch {
    // The next start finds `RUN` open.
  }
}

function serve(setup: WriterSetup, port: MessagePort, post: (message: FromWriter) => void): void {
  const connection = openConnection(setup);
  let idle: NodeJS.Timeout | undefined;
  const checkpoint = () => {
    try {
      connection.database.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      if (failureOf(error) === 'fatal') post({ kind: 'fatal', text: textOf(error) });
    }
  };
  port.on('message', (message: ToWriter) => {
    clearTimeout(idle);
    if (message.kind === 'close') {
      leaveInOrder(connection);
      checkpoint();
      connection.database.close();
      post({ kind: 'closed' });
      port.close();
      return;
    }
    const units = unpack(message.units);
    const results = commitAny(connection, units, setup.path);
    if (units.some((unit) => unit.checkpoint === true)) checkpoint();
    post({ kind: 'results', results });
    idle = setTimeout(checkpoint, IDLE_BEFORE_CHECKPOINT_MS);
  });
  // Each thread has its own compile cache (`main.ts`).
  flushCompileCache();
  post({ kind: 'ready' });
}

/** Serves one store through `port` until its `close` message; answers first that it is ready, or why it refuses the file. */
export function startWriter(port: MessagePort, setup: WriterSetup): void {
  const post = (message: FromWriter) => port.postMessage(message);
  try {
    serve(setup, port, post);
  } catch (error) {
    post({ kind: 'refused', message: unusableBecause(setup.path, error).message });
    port.close();
  }
}

// A thread without a setup serves no store by itself: tests hand it one after another (`test/engines/writer-threads.ts`).
if (parentPort !== null && workerData !== null) startWriter(parentPort, workerData);
