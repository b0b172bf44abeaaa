/** Notes beside a database file: a restore or a transfer is under way, so that nothing is served from it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { storeUnusable } from './failure.ts';
import { putInPlace, synchroniseFolderOf } from './synchronise.ts';

/** What the restore has begun. */
export interface Restoring {
  /** Where the database of before goes, with its log; null when there was none. */
  moved_to: string | null;
}

/** The note of a restore that is under way or was cut off; null for none. */
export function restoringNote(path: string): Restoring | null {
  try {
    // `noteRestoring` alone writes it, whole or not at all.
    const { moved_to } = JSON.parse(readFileSync(noteOf(path), 'utf8')) as Restoring;
    return { moved_to: moved_to === null ? null : join(dirname(path), moved_to) };
  } catch {
    return null;
  }
}

/** Without it a start in the middle would serve the database of before without its log, and so without its last sales. */
export function noteRestoring(path: string, restoring: Restoring): void {
  const note = noteOf(path);
  const { moved_to } = restoring;
  // By its name alone: the directory may be another one when the restore is repeated, in a container or on a new disk.
  const said: Restoring = { moved_to: moved_to === null ? null : basename(moved_to) };
  writeFileSync(`${note}.unfinished`, JSON.stringify(said), { mode: 0o600 });
  putInPlace(`${note}.unfinished`, note);
}

/** Gone for good, also after a power loss: a note that came back would have a later start refused. */
export function forgetRestoring(path: string): void {
  rmSync(noteOf(path), { force: true });
  synchroniseFolderOf(path);
}

/** @throws PuenteError store_unusable while a restore is not finished. */
export function refuseRestoring(path: string): void {
  const note = restoringNote(path);
  if (note === null) return;
  const before = note.moved_to === null ? '' : `; the database of before is kept as ${note.moved_to}, with its log`;
  throw storeUnusable(
    path,
    'a restore into it was cut off',
    `Repeat it: puente restore FILE --into DIR --replace${before}`,
  );
}

function noteOf(path: string): string {
  return `${path}.restoring`;
}

// The note that the rows of a file were carried to a server: what is sold from then on stands there, so no start
// serves the file.

export interface Transferred {
  /** Where the database is, without user and password. */
  to: string;
  /** Epoch ms. */
  at: number;
}

/** Null for a file that was not carried. */
export function transferredNote(path: string): Transferred | null {
  try {
    return JSON.parse(readFileSync(transferNoteOf(path), 'utf8')) as Transferred; // `noteTransferred` alone writes it, whole or not at all
  } catch {
    return null;
  }
}

/** There after a power loss, too. */
export function noteTransferred(path: string, transferred: Transferred): void {
  const note = transferNoteOf(path);
  writeFileSync(`${note}.unfinished`, JSON.stringify(transferred), { mode: 0o600 });
  putInPlace(`${note}.unfinished`, note);
}

/** @throws PuenteError store_unusable for a file whose rows were carried to a server. */
export function refuseTransferred(path: string): void {
  const note = transferredNote(path);
  if (note === null) return;
  throw storeUnusable(
    path,
    `its rows were carried to ${note.to} at ${new Date(note.at).toISOString()}`,
    `Set PUENTE_POSTGRES_URL to that database. Only if no Puente was started on it since, remove ${transferNoteOf(path)} and start again`,
  );
}

function transferNoteOf(path: string): string {
  return `${path}.transferred`;
}
