/** Restores a backup while Puente is stopped: checked first, atomic, and the gap that it leaves is stored. */
import { chmodSync, copyFileSync, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { PuenteError } from '../../error.ts';
import type { RestoreOrder, RestoreOutcome } from '../../ops/cli/store.ts';
import { type Failpoint, noFailpoint } from '../../proxy/process-memory.ts';
import type { BackupManifest } from '../../proxy/records/upkeep.ts';
import { makeDirectory } from '../directory.ts';
import { readMigrations } from '../migrations.ts';
import { readManifest } from './backup.ts';
import { digestOf } from './backup-thread.ts';
import { textOf, unusableBecause } from './failure.ts';
import { isOurs, MIGRATIONS_DIRECTORY, realPathOf, takeInstanceLock, versionOf } from './file.ts';
import { writeGap } from './gap.ts';
import { applySettings, BUSY_TIMEOUT_MS } from './settings.ts';
import { forgetRestoring, noteRestoring, putInPlace, restoringNote } from './under-way.ts';

const DATABASE = 'puente.db';
/** Files of a database that must not be left beside another one. */
const COMPANIONS = ['-wal', '-shm', '-journal'];
/**
 * The old file keeps its name until the copy is checked, and a file exists at every moment: without one a start would
 * make a new, empty one. Repeat an interrupted restore; until then no start serves the file.
 * @throws PuenteError store_unusable: a running Puente, a damaged or foreign or newer file; conflict when a database
 * exists.
 */
export async function restoreBackup(order: RestoreOrder, failpoint: Failpoint = noFailpoint): Promise<RestoreOutcome> {
  const file = resolve(order.file);
  const manifest = await readManifest(file);
  makeTarget(resolve(order.into));
  // A running Puente holds the same lock, also where the database is a link to another place.
  const path = realPathOf(join(resolve(order.into), DATABASE));
  const lock = takeInstanceLock(path);
  const unfinished = `${path}.unfinished`;
  try {
    const is_there = statSync(path, { throwIfNoEntry: false }) !== undefined;
    if (is_there && !order.replace) {
      throw new PuenteError(
        'conflict',
        `${path} exists already: restore into another directory, or use --replace, which moves it aside.`,
      );
    }
    const from = madeAt(file, manifest);
    const { schema, links } = prepareCopy(file, unfinished, manifest, order, from);
    failpoint('restore.proved');
    const moved_to = exchange(unfinished, path, is_there ? asideName(path, order.now) : null, failpoint);
    return { path, moved_to, schema, links, from, is_proved: manifest !== null };
  } catch (error) {
    for (const suffix of ['', ...COMPANIONS]) rmSync(unfinished + suffix, { force: true });
    throw unusableBecause(file, error);
  } finally {
    lock.release();
  }
}

function makeTarget(into: string): void {
  try {
    makeDirectory(into);
  } catch (error) {
    throw new PuenteError(
      'store_unusable',
      `${into} can't be used as a data directory (${textOf(error)}). Name another with --into, or give this user the right to write there; nothing was changed.`,
      { cause: error },
    );
  }
}

/** A copy with the same bytes, checked, and then marked as restored. */
function prepareCopy(
  file: string,
  unfinished: string,
  manifest: BackupManifest | null,
  order: RestoreOrder,
  from: number,
): { schema: number; links: number } {
  for (const suffix of ['', ...COMPANIONS]) rmSync(unfinished + suffix, { force: true });
  copyFileSync(file, unfinished);
  chmodSync(unfinished, 0o600);
  if (manifest !== null && digestOf(unfinished) !== manifest.sha256)
    throw refused(file, 'it is not the file of its manifest: its bytes have changed', 'Take another backup');
  const copy = new Database(unfinished, { fileMustExist: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const schema = prove(copy, file);
    applySettings(copy, file);
    const { now, reason } = order;
    writeGap(copy, { from, until: now, action: 'restored', reason, detail: { backup: basename(file) } });
    const links = Number(copy.prepare('SELECT sum(links) FROM link_counts').pluck().get());
    // `close` reports no page that could not be written back, and the log would remain under the other name.
    copy.pragma('wal_checkpoint(TRUNCATE)');
    return { schema, links };
  } finally {
    copy.close();
  }
}

function prove(copy: Database.Database, file: string): number {
  if (!isOurs(copy)) throw refused(file, 'it is no database of Puente', 'Name a backup');
  const schema = versionOf(copy);
  const newest = readMigrations(MIGRATIONS_DIRECTORY).length;
  if (schema > newest)
    throw refused(
      file,
      `it has schema ${schema} and this build has up to ${newest}`,
      'Restore it with the newer build',
    );
  const verdict = copy.pragma('integrity_check(1)', { simple: true });
  if (verdict !== 'ok') throw refused(file, `it is damaged (${String(verdict)})`, 'Take another backup');
  return schema;
}

/** When the copy was made, by its manifest, or else by the time of the file; epoch ms. */
function madeAt(file: string, manifest: BackupManifest | null): number {
  const facts = statSync(file, { throwIfNoEntry: false });
  if (facts === undefined) throw refused(file, 'it does not exist', 'See the backups there are: puente backups list');
  if (!facts.isFile()) throw refused(file, 'it is not a file', 'Name a backup');
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw refused(file, 'a write-ahead log is beside it, so it is no backup and not whole', 'Name a backup');
  return manifest === null ? Math.floor(facts.mtimeMs) : Date.parse(manifest.made_at);
}

/**
 * The copy takes the name, and the old database is moved aside with its log. A failure is undone; a kill leaves the
 * note, because a log can't be renamed in the same instant as its database.
 * @returns where the old database is; an interrupted restore may have put it there.
 */
function exchange(unfinished: string, path: string, aside: string | null, failpoint: Failpoint): string | null {
  const cut_off = restoringNote(path);
  const moved_to = cut_off?.moved_to ?? aside;
  if (cut_off === null) noteRestoring(path, { moved_to });
  try {
    if (aside !== null && moved_to !== null) keepAside(path, moved_to);
    // SQLite would take the log of the old database for that of the new one.
    for (const suffix of COMPANIONS) rmSync(path + suffix, { force: true });
    failpoint('restore.aside');
    putInPlace(unfinished, path);
    failpoint('restore.in_place');
  } catch (error) {
    const is_undone = cut_off === null && statSync(unfinished, { throwIfNoEntry: false }) !== undefined;
    if (is_undone) {
      if (moved_to !== null) putBack(path, moved_to);
      forgetRestoring(path);
    }
    throw error;
  }
  forgetRestoring(path);
  return moved_to;
}

function asideName(path: string, now: number): string {
  return `${path}.replaced-${new Date(now).toISOString().replace(/[-:.]/g, '')}`;
}

/** Gives the old database a second name; it keeps the first until the copy takes it. May be repeated. */
function keepAside(path: string, aside: string): void {
  if (statSync(aside, { throwIfNoEntry: false }) === undefined) {
    try {
      linkSync(path, aside);
    } catch {
      copyFileSync(path, `${aside}.unfinished`); // a file system without links
      putInPlace(`${aside}.unfinished`, aside);
    }
  }
  for (const suffix of COMPANIONS) {
    if (statSync(path + suffix, { throwIfNoEntry: false }) !== undefined) renameSync(path + suffix, aside + suffix);
  }
}

function putBack(path: string, aside: string): void {
  for (const suffix of COMPANIONS) {
    if (statSync(aside + suffix, { throwIfNoEntry: false }) !== undefined) renameSync(aside + suffix, path + suffix);
  }
  rmSync(aside, { force: true });
}

function refused(file: string, wrong: string, repair: string): PuenteError {
  return new PuenteError('store_unusable', `${file} can't be restored: ${wrong}. ${repair}; nothing was changed.`);
}
