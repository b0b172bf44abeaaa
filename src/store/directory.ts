/** Directories that this user can write to: made level by level, or only tried. */
import { accessSync, constants, mkdirSync, mkdtempSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Makes missing levels for this user alone. @throws Error with Node's text: not possible, or not writable. */
export function makeDirectory(path: string): void {
  makeLevels(resolve(path));
  accessSync(path, constants.W_OK | constants.X_OK);
}

/** One by one, because Node's recursive `mkdir` never ends where nothing can be made, as below `/proc`. */
function makeLevels(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  if (found !== undefined) throw new Error(`${path} is a file`);
  makeLevels(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process of this installation may have made it meanwhile.
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw error;
  }
}

/**
 * Why this user could not make a directory, or not write to it; null when it could. A directory is made beside it for
 * that, and removed: for root the mode of a directory says nothing, and some file systems can't be written by anybody.
 */
export function faultOfDirectory(path: string): string | null {
  try {
    rmdirSync(mkdtempSync(join(nearest(resolve(path)), '.puente-')));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/, mkdtemp .*/, '') : String(error);
  }
}

/** The directory, or the first one above it that exists. */
function nearest(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return path;
  if (found !== undefined) throw new Error(`${path} is a file`);
  return nearest(dirname(path));
}
