/** Prepares the database file before the first request: creates it, migrates it, or refuses it with the repair. */

import { randomUUID } from 'node:crypto';
import { accessSync, constants, realpathSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { type Failpoint, noFailpoint } from '../../proxy/process-memory.ts';
import { type Cover, noCover } from '../../proxy/vault.ts';
import { type Migration, readMigrations } from '../migrations.ts';
import { writes } from '../writes.ts';
import { failureOf, storeUnusable, unusableBecause } from './failure.ts';
import { logState, noteLogRead, recordLostLog } from './gap.ts';
import { teachCover } from './reader.ts';
import { applySettings, BUSY_TIMEOUT_MS, PAGE_BYTES } from './settings.ts';
import { putInPlace, refuseUnderWay } from './under-way.ts';

/** The numbered SQL files of this engine, beside this file. */
export const MIGRATIONS_DIRECTORY = join(import.meta.dirname, 'migrations');
/** `quick_check` reads the whole file; beyond this size a start would take longer than 2 s (`docs/protocol.md` P14). */
const QUICK_CHECK_LIMIT_BYTES = 512 * 1024 * 1024;

export interface FileOptions {
  path: string;
  /** Without it a missing file is refused, because every link would be lost. */
  create: boolean;
  /** Epoch ms. */
  now: () => number;
  migrations_directory: string;
  /** Keyed hash of a constant: a file whose values were sealed with another key is refused. */
  key_mark?: string | undefined;
  /** Encrypts texts that older schemas have in clear; without it they stay so. */
  cover?: Cover;
  /** Seals notice URLs that are in clear; without it they stay so. */
  sealNoticeUrl?: SealNoticeUrl | undefined;
  /** Called at named moments of opening and committing; a crash test may stop the process there. */
  failpoint?: Failpoint;
}

/**
 * Makes `path` a sound Puente database of the newest schema. The caller holds the instance lock.
 * @throws PuenteError store_unusable: missing, empty, foreign, damaged, newer, half restored, or not writable.
 */
export function prepareFile(options: FileOptions): void {
  const { path } = options;
  try {
    refuseUnderWay(path);
    if (sizeOf(path) === null) createFile(options);
    refuseUnlikelyFile(path);
    const log = logState(path);
    const database = new Database(path, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
    try {
      refuseForeign(database, path);
      noteLogRead(database, log);
      const migrations = readMigrations(options.migrations_directory);
      const newest = migrations.at(-1)?.version ?? 0;
      if (versionOf(database) < newest) copyBefore(database, path, newest, options.failpoint);
      applySettings(database, path);
      migrate(database, path, migrations, options.failpoint, options.cover);
      refuseDamaged(database, path);
      refuseOtherKey(database, path, options.key_mark);
      recordLostLog(database, log, options.now());
      if (options.sealNoticeUrl !== undefined) sealClearUrls(database, options.sealNoticeUrl);
    } finally {
      database.close();
    }
  } catch (error) {
    throw unusableBecause(path, error);
  }
}

/** Follows links: two names share one lock. @throws PuenteError store_unusable for a missing or read-only folder. */
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
  // Under another name first: a killed start must not leave an empty file, which the next start would refuse.
  const unfinished = `${path}.unfinished`;
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(unfinished + suffix, { force: true });
  const database = new Database(unfinished, { timeout: BUSY_TIMEOUT_MS });
  try {
    // Durability is not needed before the file has its name: `putInPlace` writes it to the disk at the end.
    database.pragma(`page_size = ${PAGE_BYTES}`);
    database.pragma('journal_mode = MEMORY');
    database.pragma('synchronous = OFF');
    migrate(database, path, readMigrations(options.migrations_directory), options.failpoint, options.cover);
    const remember = database.prepare('INSERT INTO meta (name, value) VALUES (?, ?)');
    remember.run('instance_id', randomUUID());
    remember.run('created_at', String(options.now()));
    if (options.key_mark !== undefined) remember.run('key_mark', options.key_mark);
  } finally {
    database.close();
  }
  putInPlace(unfinished, path);
}

function refuseUnlikelyFile(path: string): void {
  const facts = statSync(path);
  if (!facts.isFile()) throw storeUnusable(path, 'it is not a file', 'Name a file');
  if (facts.size === 0) {
    // SQLite opens an empty file as a sound empty database (`docs/protocol.md` §3.14): every link would be lost.
    throw storeUnusable(path, 'it is empty', 'Restore a backup; or remove it if nothing was ever stored in it');
  }
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw storeUnusable(path, 'it can not be read and written', 'Give this user the right to do so', error);
  }
}

function refuseForeign(database: Database.Database, path: string): void {
  if (!isOurs(database)) {
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

/** With another key no sealed value could be read: tokens, bodies in doubt, secrets of merchants. */
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

// Numbered SQL migrations: each runs in one transaction together with its version.

/** `Puen` in ASCII; marks the file for `file(1)`, and for the refusal of a foreign database. */
export const APPLICATION_ID = 0x5075656e;

/** Whether the file has Puente's application id. */
export function isOurs(database: Database.Database): boolean {
  return Number(database.pragma('application_id', { simple: true })) === APPLICATION_ID;
}

/** Each step is atomic: a killed start repeats it (C14). @throws PuenteError store_unusable when the file is newer. */
export function migrate(
  database: Database.Database,
  path: string,
  migrations: Migration[],
  failpoint: Failpoint = noFailpoint,
  cover: Cover = noCover,
): void {
  teachCover(database, cover);
  const current = versionOf(database);
  const newest = migrations.at(-1)?.version ?? 0;
  if (current > newest) {
    const wrong = `it has schema ${current} and this build has up to ${newest}`;
    const copy = copyPath(path, copyOf(database)?.newest ?? current);
    throw storeUnusable(path, wrong, `Start the newer build, or restore the copy ${copy}`);
  }
  for (const migration of migrations.slice(current)) {
    // A migration may change the text of a table (009), which the driver's defensive mode refuses.
    database.unsafeMode(true);
    try {
      apply(database, path, migration, failpoint);
    } finally {
      database.unsafeMode(false);
    }
    failpoint('migration.committed');
  }
}

function apply(
  database: Database.Database,
  path: string,
  { name, sql, version }: Migration,
  failpoint: Failpoint,
): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    failpoint('migration.begun');
    database.exec(sql);
    failpoint('migration.applied');
    database.pragma(`application_id = ${APPLICATION_ID}`);
    database.pragma(`user_version = ${version}`);
    database.exec('COMMIT');
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    if (failureOf(error) === 'full') throw unusableBecause(path, error);
    const copy = version === 1 ? null : copyOf(database);
    const repair =
      copy !== null && copy.version < version - 1
        ? `The copy ${copyPath(path, copy.newest)} has schema ${copy.version}: restore it, start the build that wrote it, and report this`
        : 'The file is as it was; start the build that wrote it, and report this';
    throw storeUnusable(path, `migration ${name} failed`, repair, error);
  }
}

/** 0 for a database that was never migrated. */
export function versionOf(database: Database.Database): number {
  return Number(database.pragma('user_version', { simple: true }));
}

function copyPath(path: string, newest: number): string {
  return `${path}.before-${newest}`;
}

/**
 * Name in `meta` of the copy before the last upgrade: the schema that this leads to, that of the copy, and when the
 * file was last opened to be written.
 */
const COPIED = 'copied_before';

/** The copy that is noted; null once the file was opened to be written again: it lacks what came since. */
function copyOf(database: Database.Database): { newest: number; version: number } | null {
  const [newest = 0, version = 0, opened_at = 0] = metaOf(database, COPIED)?.split(' ').map(Number) ?? [];
  return newest > 0 && opened_at === openedAt(database) ? { newest, version } : null;
}

/** Each start of each build notes it before its first write. */
function openedAt(database: Database.Database): number {
  return Number(metaOf(database, 'opened_at') ?? 0);
}

function metaOf(database: Database.Database, name: string): string | undefined {
  return database.prepare<[string], string>('SELECT value FROM meta WHERE name = ?').pluck().get(name);
}

/**
 * SQLite writes `<path>.before-<newest>`: a second open and close through `fs` would drop this process's locks. An upgrade
 * that was cut off between two migrations goes on, and keeps the copy of before the first.
 */
function copyBefore(
  database: Database.Database,
  path: string,
  newest: number,
  failpoint: Failpoint = noFailpoint,
): void {
  const version = versionOf(database);
  const copy = copyPath(path, newest);
  const kept = copyOf(database);
  if (kept?.newest === newest && kept.version < version && sizeOf(copy) !== null) return;
  const unfinished = `${copy}.unfinished`;
  rmSync(unfinished, { force: true });
  database.prepare('VACUUM INTO ?').run(unfinished);
  failpoint('copy.written');
  putInPlace(unfinished, copy);
  database.prepare(writes.remember.sql).run(COPIED, `${newest} ${version} ${openedAt(database)}`);
  failpoint('copy.in_place');
}

// The instance lock: one process per database file, released by the operating system when the process dies.

export type InstanceLock = ReturnType<typeof takeInstanceLock>;

/**
 * Locks `<path>.lock`, an empty SQLite file, exclusively for the life of the process: a killed process leaves nothing
 * to clean up. The lock file stays: after a removal two processes could lock two files.
 * @throws PuenteError store_unusable, with the fact `in_use`, when another process holds it.
 */
export function takeInstanceLock(path: string) {
  try {
    const connection = new Database(`${path}.lock`, { timeout: 0 });
    try {
      connection.pragma('journal_mode = MEMORY');
      connection.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      connection.close();
      throw error;
    }
    return { release: (): void => void connection.close() };
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

// Seals notice URLs that the first builds stored in clear: they contain keys of receivers.

/** Seals a URL as the merchant's own (`Merchant.sealed_notice_url`). */
type SealNoticeUrl = (url: string) => Uint8Array;

/** Repeatable. No numbered migration: SQL has no key. A URL saved sealed since then is newer and stays. */
function sealClearUrls(database: Database.Database, seal: SealNoticeUrl): void {
  const options = { directOnly: true };
  database.function('seal_notice_url', options, (url: unknown) => Buffer.from(seal(String(url))));
  database.exec(`UPDATE merchants SET
    sealed_notice_url = coalesce(sealed_notice_url, seal_notice_url(json_extract(settings, '$.notice_url'))),
    settings = json_set(settings, '$.notice_url', NULL)
    WHERE json_extract(settings, '$.notice_url') IS NOT NULL`);
}
