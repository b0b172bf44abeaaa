/** Stores a world in a file between two starts of the sandbox. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { PuenteError } from '../error.ts';
import type { OpenWorld } from './open-world.ts';
import { restoreSnapshot, takeSnapshot } from './snapshot.ts';

/** Interval of the checks, and the pause of calls before a write, because writing delays calls. */
const LOOK_MS = 1_000;
const PAUSE_MS = 500;

/**
 * Reads the world from the file, if it exists, and writes it when calls pause and on close. Timers that fell due while
 * the sandbox was not running fire at once.
 * @param path null stores nothing.
 * @throws PuenteError bad_setting, when the file does not hold a world.
 */
export function keepWorld(
  { world, onAnswer }: OpenWorld,
  path: string | null,
): { is_restored: boolean; close(): void } {
  if (path === null) return { is_restored: false, close: () => {} };
  const is_restored = existsSync(path);
  if (is_restored) {
    try {
      void restoreSnapshot(world, readFileSync(path, 'utf8'), 'goes_on'); // a new world has no work to wait for
    } catch (error) {
      if (!(error instanceof PuenteError)) throw error;
      throw new PuenteError(
        'bad_setting',
        `sandbox.data: ${path}: ${error.message} Move the file away to start empty.`,
      );
    }
  }
  let changed_at = 0;
  /** Renames a complete file into place, so that a kill leaves a whole one. It holds secrets that sign webhooks. */
  const save = (): void => {
    changed_at = 0;
    writeFileSync(`${path}.new`, takeSnapshot(world, true), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  const timer = setInterval(() => {
    if (changed_at !== 0 && Date.now() - changed_at >= PAUSE_MS) save();
  }, LOOK_MS);
  timer.unref();
  onAnswer(() => {
    changed_at = Date.now();
  });
  return {
    is_restored,
    close() {
      clearInterval(timer);
      save();
    },
  };
}
