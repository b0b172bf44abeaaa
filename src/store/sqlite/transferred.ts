/** The note that the rows of a file were carried to a server: what is sold from then on stands there, so no start serves the file. */
import { readFileSync, writeFileSync } from 'node:fs';
import { storeUnusable } from './failure.ts';
import { putInPlace } from './migrate.ts';

export interface Transferred {
  /** Where the database is, without user and password. */
  to: string;
  /** Epoch ms. */
  at: number;
}

/** Null for a file that was not carried. */
export function transferredNote(path: string): Transferred | null {
  try {
    return JSON.parse(readFileSync(noteOf(path), 'utf8')) as Transferred; // `noteTransferred` alone writes it, whole or not at all
  } catch {
    return null;
  }
}

/** There after a power loss, too. */
export function noteTransferred(path: string, transferred: Transferred): void {
  const note = noteOf(path);
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
    `Set PUENTE_POSTGRES_URL to that database. Only if no Puente was started on it since, remove ${noteOf(path)} and start again`,
  );
}

function noteOf(path: string): string {
  return `${path}.transferred`;
}
