/** One thing at a time per key: work on one link never overlaps with other work on it (`reliability.md` §3.3 c). */
import { createPassing } from './passing.ts';

export interface Serial {
  /** Runs `work` after everything that was queued for `key` before; a failure doesn't stop what comes after. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
  /** True while work for the key is queued or running. */
  busy(key: string): boolean;
}

export function createSerial(): Serial {
  const tails = createPassing<Promise<unknown>>();
  return {
    run(key, work) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      tails.set(key, mine);
      const clean = (): void => {
        if (tails.get(key) === mine) tails.delete(key);
      };
      mine.then(clean, clean);
      return mine;
    },
    busy: (key) => tails.has(key),
  };
}
