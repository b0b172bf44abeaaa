/** Stores a world in a file between two starts of the sandbox. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { PuenteError } from '../error.ts';
import type { OpenWorld } from './open-world.ts';
import { restoreSnapshot, takeSnapshot } from './snapshot.ts';

/** Interval of the writes that were put off. */
const LOOK_MS = 1_000;
/**
 * A world of so many characters is written after each answer, so that a kill loses nothing that was answered: some
 * hundred sales, and some milliseconds. A larger one would delay calls: its writes take one part in `SHARE` of the time.
 */
const SMALL = 2_000_000;
const SHARE = 20;

/**
 * Reads the world from the file, if it exists, and writes it after answers and on close. Timers that fell due while the
 * sandbox was not running fire at once.
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
  let is_changed = false;
  let saved_at = 0;
  let took_ms = 0;
  let is_small = true;
  /** Renames a complete file into place, so that a kill leaves a whole one. It holds secrets that sign webhooks. */
  const save = (): void => {
    const began = performance.now();
    is_changed = false;
    const text = takeSnapshot(world, true);
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
    is_small = text.length <= SMALL;
    saved_at = performance.now();
    took_ms = saved_at - began;
  };
  const saveUnlessTooOften = (): void => {
    if (is_changed && (is_small || performance.now() - saved_at >= SHARE * took_ms)) save();
  };
  const timer = setInterval(saveUnlessTooOften, LOOK_MS);
  timer.unref();
  onAnswer(() => {
    is_changed = true;
    saveUnlessTooOften();
  });
  return {
    is_restored,
    close() {
      clearInterval(timer);
      save();
    },
  };
}
