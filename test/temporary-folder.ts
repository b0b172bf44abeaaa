/** The folder of a run's temporary files, removed as a whole at its end, so that no test has to remove its own small ones. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const PREFIX = 'puente-run-';

/** Projects of one run share a folder: the first one makes it, and removes it. */
export function setup(): (() => void) | undefined {
  if (basename(tmpdir()).startsWith(PREFIX)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // The PostgreSQL server of the tests runs as a user of its own, and its files are in here.
  chmodSync(folder, 0o711);
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
