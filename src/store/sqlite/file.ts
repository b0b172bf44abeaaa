/** Judges the database file before anything is served from it: creates it, migrates it, or refuses it with the repair. */
import { randomUUID } from 'node:crypto';
import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Cover } from '../../proxy/cover.ts';
import type { Failpoint } from '../../proxy/failpoint.ts';
import { readMigrations } from '../migrations.ts';
import { type SealNoticeUrl, sealClearUrls } from './clear-urls.ts';
import { storeUnusable, unusableBecause } from './failure.ts';
import { logState, settleLog } from './gap.ts';
import { APPLICATION_ID, copyBefore, migrate, putInPlace, versionOf } from './migrate.ts';
import { refuseRestoring } from './restoring.ts';
import { applySettings, BUSY_TIMEOUT_MS } from './settings.ts';
import { refuseTransferred } from './transferred.ts';

export const MIGRATIONS_DIRECTORY = join(import.meta.dirname, 'migrations');
/** `quick_check` reads the whole file; beyond this size a start would take longer than 2 s (`reliability.md` P14). */
const QUICK_CHECK_LIMIT_BYTES = 512 * 1024 * 1024;

export interface FileOptions {
  path: string;
  create: boolean;
  /** Epoch ms. */
  now: () => number;
  migrations_directory: string;
  /** Keyed hash of a constant: tells another key from the one that this file's values were sealed with. */
  key_mark?: string;
  /** Covers what older schemas have in clear; nothing without. */
  cover?: Cover;
  /** Seals notice URLs that are in clear; without it they stay so. */
  sealNoticeUrl?: SealNoticeUrl;
  failpoint?: Failpoint;
}

/**
 * Makes sure that `path` is a sound database of ours at the newest schema. The caller holds the instance lock.
 * @throws PuenteError store_unusable: missing and not to be created, empty, foreign, damaged, newer, half restored, or not writable.
 */
export function prepareFile(options: FileOptions): void {
  const { path } = options;
  try {
    refuseRestoring(path);
    refuseTransferred(path);
    if (sizeOf(path) === null) createFile(options);
    refuseUnlikelyFile(path);
    const log = logState(path);
    const database = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      refuseForeign(database, path);
      const migrations = readMigrations(options.migrations_directory);
      const newest = migrations.at(-1)?.version ?? 0;
      if (versionOf(database) < newest) copyBefore(database, path, newest, options.failpoint);
      applySettings(database, path);
      migrate(database, path, migrations, options.failpoint, options.cover);
      refuseDamaged(database, path);
      refuseOtherKey(database, path, options.key_mark);
      settleLog(database, log, options.now());
      if (options.sealNoticeUrl !== undefined) sealClearUrls(database, options.sealNoticeUrl);
    } finally {
      database.close();
    }
  } catch (error) {
    throw unusableBecause(path, error);
  }
}

/**
 * The one spelling of a path, links followed, so that two names of a file share one lock.
 * @throws PuenteError store_unusable when its folder is missing or can't be written.
 */
export function realPathOf(path: string): string {
  const folder = dirname(path);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return sizeOf(path) === null ? join(realpathSync(folder), basename(path)) : realpathSync(path);
  } catch (error) {
    throw storeUnusable(
      path,
      `its folder ${folder} is missing or can not be written`,
      'Create it for this user',
      error,
    );
  }
}

function createFile(options: FileOptions): void {
  const { path } = options;
  if (!options.create) {
    throw storeUnusable(path, 'it does not exist', 'Name the right file, or restore a backup');
  }
  if ((sizeOf(`${path}-wal`) ?? 0) > 0) {
    throw storeUnusable(
      path,
      'it is gone but its write-ahead log is still there',
      `Restore it, or move ${path}-wal away`,
    );
  }
  // Made under another name first: a start that is killed here must not leave an empty file that the next one refuses.
  const unfinished = `${path}.unfinished`;
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(unfinished + suffix, { force: true });
  const database = new Database(unfinished, { timeout: BUSY_TIMEOUT_MS });
  try {
    applySettings(database, unfinished);
    migrate(database, unfinished, readMigrations(options.migrations_directory), options.failpoint, options.cover);
    const remember = database.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
    remember.run('instance_id', randomUUID());
    remember.run('created_at', String(options.now()));
    if (options.key_mark !== undefined) remember.run('key_mark', options.key_mark);
    // A close says nothing of pages that could not be written back, and the log would stay behind under the other name.
    database.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    database.close();
  }
  putInPlace(unfinished, path);
}

function refuseUnlikelyFile(path: string): void {
  const facts = statSync(path);
  if (!facts.isFile()) throw storeUnusable(path, 'it is not a file', 'Name a file');
  if (facts.size === 0) {
    // SQLite takes an empty file for a sound empty database (`reliability.md` §3.14), and every link would be gone.
    throw storeUnusable(path, 'it is empty', 'Restore a backup; or remove it if nothing was ever stored in it');
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw storeUnusable(path, 'it can not be read and written', 'Give this user the right to do so', error);
  }
}

function refuseForeign(database: Database.Database, path: string): void {
  const found = Number(database.pragma('application_id', { simple: true }));
  if (found !== APPLICATION_ID) {
    throw storeUnusable(
      path,
      'it is the database of another program',
      'Name another file; nothing was changed in this one',
    );
  }
}

function refuseDamaged(database: Database.Database, path: string): void {
  const instance = database.prepare("SELECT value FROM meta WHERE name = 'instance_id'").pluck().get();
  if (instance === undefined) throw storeUnusable(path, 'it has lost its instance id', 'Restore a backup');
  if ((sizeOf(path) ?? 0) > QUICK_CHECK_LIMIT_BYTES) return;
  const verdict = database.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok') throw storeUnusable(path, `it is damaged (${String(verdict)})`, 'Restore a backup');
}

/** With another key nothing sealed could be read: tokens, bodies in doubt, secrets of merchants. */
function refuseOtherKey(database: Database.Database, path: string, key_mark: string | undefined): void {
  const kept = database.prepare("SELECT value FROM meta WHERE name = 'key_mark'").pluck().get();
  if (key_mark === undefined || kept === undefined || kept === key_mark) return;
  throw storeUnusable(
    path,
    'PUENTE_SECRET_KEY is not the key that its values were sealed with',
    'Set that key again, or put back the file sandbox.key that the sandbox made of its own; nothing was changed',
  );
}

function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}
