/** Numbered SQL migrations: each runs in one transaction together with the version it leads to. */
import { renameSync, rmSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { type Cover, noCover } from '../../proxy/cover.ts';
import { type Failpoint, noFailpoint } from '../../proxy/failpoint.ts';
import type { Migration } from '../migrations.ts';
import { teachCover } from './cover.ts';
import { storeUnusable } from './failure.ts';
import { synchronise, synchroniseFolderOf } from './synchronise.ts';

/** `Puen` in ASCII; marks the file as ours for `file(1)` and for the refusal of a foreign database. */
export const APPLICATION_ID = 0x5075656e;

/**
 * Brings a database to the newest version; each step is wholly done or not at all, so a killed start repeats it (C14).
 * @throws PuenteError store_unusable when the file is newer than this build.
 */
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
    const wrong = `it has schema ${current} and this build knows up to ${newest}`;
    throw storeUnusable(path, wrong, `Start the newer build, or restore the copy ${path}.before-${current}`);
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
    const repair = 'The file is as it was; start the build that wrote it, and report this';
    throw storeUnusable(path, `migration ${name} failed`, repair, error);
  }
}

/** Schema version of an open database; 0 for one that was never migrated. */
export function versionOf(database: Database.Database): number {
  return Number(database.pragma('user_version', { simple: true }));
}

/**
 * Keeps a copy of a database as `<path>.before-<version>`. Copied by SQLite itself: opening the file a second time
 * through `fs` and closing it would drop this process's locks on it.
 */
export function copyBefore(
  database: Database.Database,
  path: string,
  version: number,
  failpoint: Failpoint = noFailpoint,
): void {
  const copy = `${path}.before-${version}`;
  const unfinished = `${copy}.unfinished`;
  rmSync(unfinished, { force: true });
  database.prepare('VACUUM INTO ?').run(unfinished);
  failpoint('copy.written');
  putInPlace(unfinished, copy);
  failpoint('copy.in_place');
}

/** Renames a finished file into place so that it is there whole after a power loss, or not at all. */
export function putInPlace(from: string, to: string): void {
  synchronise(from);
  renameSync(from, to);
  synchroniseFolderOf(to);
}
