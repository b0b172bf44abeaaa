/** The SQLite settings that the guarantees need (`docs/protocol.md` §3.14), set and checked on every open. */
import type Database from 'better-sqlite3';
import { storeUnusable } from './failure.ts';

/** The driver waits inside the event loop: a long timeout would stall everything else (`docs/protocol.md` §3.14). */
export const BUSY_TIMEOUT_MS = 100;
/** A log that once grew must not occupy the disk for ever. */
const JOURNAL_SIZE_LIMIT_BYTES = 64 * 1024 * 1024;
/** 16 MiB of log between checkpoints: half as many pages are written twice as with SQLite's own 4 MiB. */
const CHECKPOINT_BYTES = 16 * 1024 * 1024;
/**
 * Of new files; a file keeps the size that it was made with. A commit writes whole pages, and a sale changes a few bytes
 * on each of some sixty: with SQLite's own 4,096 it writes twice as much to the disk. With 512 it writes a quarter less, and
 * takes a sixth more processor time.
 */
export const PAGE_BYTES = 1_024;
/**
 * 16 MiB, for the writer: a sale reads as few pages from the file with 4 as with 64, at a million links. More costs: a
 * commit that splits a page scans every bucket of the cache once (3 % of a create at 64 MiB).
 */
const CACHE_KIB = 16_384;
/** The value in `meta` while a writer has the file open, and after a clean close. */
export const RUN = { name: 'run', open: 'open', closed: 'closed' } as const;
/** Older versions (3.7.0 to 3.51.2) could corrupt the file at a WAL reset. */
const OLDEST_VERSION = '3.51.3';

/** Name, statement that sets it, and the value that must be read back. */
function settingsOf(database: Database.Database) {
  const pages = CHECKPOINT_BYTES / Number(database.pragma('page_size', { simple: true }));
  return [
    ['journal_mode', 'journal_mode = WAL', 'wal'],
    ['synchronous', 'synchronous = FULL', 2],
    ['foreign_keys', 'foreign_keys = ON', 1],
    ['trusted_schema', 'trusted_schema = OFF', 0],
    ['cell_size_check', 'cell_size_check = ON', 1],
    ['secure_delete', 'secure_delete = ON', 1],
    ['mmap_size', 'mmap_size = 0', 0],
    ['journal_size_limit', `journal_size_limit = ${JOURNAL_SIZE_LIMIT_BYTES}`, JOURNAL_SIZE_LIMIT_BYTES],
    ['wal_autocheckpoint', `wal_autocheckpoint = ${pages}`, pages],
    ['cache_size', `cache_size = -${CACHE_KIB}`, -CACHE_KIB],
    ['busy_timeout', `busy_timeout = ${BUSY_TIMEOUT_MS}`, BUSY_TIMEOUT_MS],
  ] as const;
}

/** @throws PuenteError store_unusable when a setting does not hold, or SQLite is too old. */
export function applySettings(database: Database.Database, path: string): void {
  assertVersion(database, path);
  for (const [, statement] of settingsOf(database)) database.pragma(statement);
  assertSettings(database, path);
}

/**
 * Call it again after the first write: a fresh WAL file reads FULL and falls to NORMAL at its first write unless FULL
 * was set explicitly (`docs/protocol.md` §3.14).
 * @throws PuenteError store_unusable naming the setting.
 */
export function assertSettings(database: Database.Database, path: string): void {
  for (const [name, , wanted] of settingsOf(database)) {
    const found = database.pragma(name, { simple: true });
    if (found !== wanted) {
      const repair = 'Keep it on a local disk, and use the driver of package-lock.json';
      throw storeUnusable(path, `its setting ${name} is ${String(found)} where ${wanted} is needed`, repair);
    }
  }
}

function assertVersion(database: Database.Database, path: string): void {
  const version = String(database.prepare('SELECT sqlite_version()').pluck().get());
  if (version.localeCompare(OLDEST_VERSION, 'en', { numeric: true }) >= 0) return;
  const wrong = `SQLite ${version} is older than ${OLDEST_VERSION}, which can damage files`;
  throw storeUnusable(path, wrong, 'Install the driver of package-lock.json');
}
