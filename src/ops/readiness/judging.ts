/** Keeps the verdict of each merchant once a UTC day; whatever fails is logged and comes again. */

import type { Runtime } from '../../proxy/runtime.ts';
import { keepReadiness } from './readiness-days.ts';

/** Merchants that are new, or of a new day, are looked for this often. */
const LOOK_EVERY_MS = 10 * 60_000;

export interface Judging {
  /** Judges no further merchant, and waits until the last one is. */
  stop(): Promise<void>;
}

/** Looks by itself, for the first time after a pause: a start has enough to do. */
export function startJudging(runtime: Runtime, every_ms = LOOK_EVERY_MS): Judging {
  let stopped = false;
  let working: Promise<void> | null = null;
  const mayGoOn = (): boolean => !stopped && runtime.store.healthy();
  const round = async (): Promise<void> => {
    if (!mayGoOn()) return;
    await keepReadiness(runtime, mayGoOn).catch((error: unknown) =>
      runtime.log.warn('readiness of the day: left for later', { cause: String(error) }),
    );
  };
  const timer = setInterval(() => {
    // One round may take longer than the pause between two.
    working ??= round().finally(() => {
      working = null;
    });
  }, every_ms).unref();
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await working;
    },
  };
}
