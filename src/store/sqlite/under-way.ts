/** Durable files and notes beside a database; a note keeps a half restored or transferred one from being served. */
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { storeUnusable } from './failure.ts';

/** A running restore. Without the note a start would serve the old database without its log and last sales. */
interface Restoring {
  /** Where the old database goes, with its log; null when there was none. */
  moved_to: string | null;
}

/** The rows were moved to a server, which has all sales since then. */
interface Transferred {
  /** Where the database is, without user and password. */
  to: string;
  /** Epoch ms. */
  at: number;
}

const RESTORING = '.restoring';
const TRANSFERRED = '.transferred';

/** Null when no restore of the file is unfinished. */
export function restoringNote(path: string): Restoring | null {
  const note = readNote<Restoring>(path + RESTORING);
  return note?.moved_to ? { moved_to: join(dirname(path), note.moved_to) } : note;
}

/** Durable when it returns. */
export function noteRestoring(path: string, { moved_to }: Restoring): void {
  // The base name only: the directory may differ when the restore is repeated, in a container or on a new disk.
  writeNote(path + RESTORING, { moved_to: moved_to === null ? null : basename(moved_to) });
}

/** Durable, also after a power loss: a note that came back would make a later start refuse the file. */
export function forgetRestoring(path: string): void {
  rmSync(path + RESTORING, { force: true });
  synchroniseFolderOf(path);
}

/** Null when the rows were not moved to a server. */
export function transferredNote(path: string): Transferred | null {
  return readNote<Transferred>(path + TRANSFERRED);
}

/** Durable when it returns: from then on no start serves the file. */
export function noteTransferred(path: string, transferred: Transferred): void {
  writeNote(path + TRANSFERRED, transferred);
}

/** @throws PuenteError store_unusable for an unfinished restore, and for a file whose rows were moved to a server. */
export function refuseUnderWay(path: string): void {
  const restoring = restoringNote(path);
  if (restoring !== null) {
    const { moved_to } = restoring;
    const before = moved_to === null ? '' : `; the database of before is kept as ${moved_to}, with its log`;
    const repair = `Repeat it: puente restore FILE --into ${dirname(path)} --replace --reason …${before}`;
    throw storeUnusable(path, 'a restore into it was cut off', repair);
  }
  const transferred = transferredNote(path);
  if (transferred === null) return;
  throw storeUnusable(
    path,
    `its rows were copied to ${transferred.to} at ${new Date(transferred.at).toISOString()}`,
    `Set PUENTE_POSTGRES_URL to that database. Only if no Puente was started on it since, remove ${path + TRANSFERRED} and start again`,
  );
}

function readNote<Note>(file: string): Note | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Note; // only `writeNote` writes it, whole or not at all
  } catch {
    return null;
  }
}

function writeNote(file: string, note: Restoring | Transferred): void {
  writeFileSync(`${file}.unfinished`, JSON.stringify(note), { mode: 0o600 });
  putInPlace(`${file}.unfinished`, file);
}

// Files that exist, and are whole, after a power loss.

/** Returns when all writes to a file, by any process, are on the disk. @throws Node's errors of open and fsync. */
export function synchronise(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Makes renames and removals beside a file durable. */
function synchroniseFolderOf(path: string): void {
  synchronise(join(dirname(path), '.'));
}

/** Renames a finished file so that it exists whole after a power loss, or not at all. */
export function putInPlace(from: string, to: string): void {
  synchronise(from);
  renameSync(from, to);
  synchroniseFolderOf(to);
}
