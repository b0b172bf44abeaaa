/** Files that are still there, and whole, after a power loss. */
import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Returns when all writes to a file, by any process, are on the disk.
 * @throws what Node raises when it can't be opened, or the disk refuses.
 */
export function synchronise(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** What was renamed or removed beside a file stays so. */
export function synchroniseFolderOf(path: string): void {
  synchronise(join(dirname(path), '.'));
}

/** Renames a finished file into place so that it is there whole after a power loss, or not at all. */
export function putInPlace(from: string, to: string): void {
  synchronise(from);
  renameSync(from, to);
  synchroniseFolderOf(to);
}
