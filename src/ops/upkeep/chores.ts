/** What is done when nobody asks: backups by their schedule, and deleting what is old. */

import { steadyTime } from '../../proxy/clock.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { limitsOf, type RetentionSettings, tidyRound } from './retention.ts';

/** Old records are looked for this often. */
const TIDY_EVERY_MS = 60 * 60_000;
/** How often it is looked whether something is due; a schedule may be finer than that. */
const LOOK_EVERY_MS = 60_000;
/** A backup that failed is tried again after so long, not at every look. */
const RETRY_MS = 15 * 60_000;

export interface ChoreSettings {
  /** Null: no backup by itself. */
  backup_every_ms: number | null;
  backup_keep: number;
  retention: RetentionSettings;
}

export interface Chores {
  /** Ends what is being done, and waits until it has ended. */
  stop(): Promise<void>;
}

type ChoreParts = Pick<Runtime, 'store' | 'clock' | 'log' | 'count'>;

/** Looks by itself, for the first time after a pause: a start has enough to do. Whatever fails is logged and comes again. */
export function startChores(runtime: ChoreParts, settings: ChoreSettings): Chores {
  const { log, clock } = runtime;
  const steady = steadyTime(runtime);
  const state = { stopped: false, tidied_at: Number.NEGATIVE_INFINITY, tried_at: Number.NEGATIVE_INFINITY };
  const round = async (): Promise<void> => {
    const now = clock.now();
    if (settings.backup_every_ms !== null && now - state.tried_at >= RETRY_MS) {
      const due_at = await backupDue(runtime, settings.backup_every_ms);
      if (due_at <= now) {
        state.tried_at = now;
        if (await backUp(runtime, settings.backup_keep, () => state.stopped)) state.tried_at = Number.NEGATIVE_INFINITY;
      }
    }
    // A clock that was set back must not silence it.
    if (Math.abs(now - state.tidied_at) < TIDY_EVERY_MS) return;
    const rows = await tidyRound(runtime.store, limitsOf(settings.retention, await steady()), () => !state.stopped);
    state.tidied_at = now;
    for (const [kind, count] of Object.entries(rows))
      if (count > 0) log.info('old records deleted', { action: kind, count });
  };
  const guarded = (): Promise<void> =>
    round().catch((error: unknown) => log.warn('chores: left for later', { cause: causeOf(error) }));
  let working = Promise.resolve();
  const pause_ms = Math.min(LOOK_EVERY_MS, settings.backup_every_ms ?? LOOK_EVERY_MS);
  const timer = setInterval(() => {
    working = working.then(() => (state.stopped ? Promise.resolve() : guarded()));
  }, pause_ms).unref();
  return {
    async stop() {
      state.stopped = true;
      clearInterval(timer);
      await working;
    },
  };
}

/** Counted from the newest backup, or else from when the database was made; a time that is still to come counts for neither. */
async function backupDue({ store, clock }: ChoreParts, every_ms: number): Promise<number> {
  const now = clock.now();
  const [newest] = await store.backups();
  const { created_at } = await store.condition();
  const last = [...(newest === undefined ? [] : [Date.parse(newest.made_at)]), created_at].find((at) => at <= now);
  return (last ?? Number.NEGATIVE_INFINITY) + every_ms;
}

/** @returns false when it was ended before it was through, or failed. */
async function backUp(runtime: ChoreParts, keep: number, isStopped: () => boolean): Promise<boolean> {
  const { store, log, count } = runtime;
  try {
    const making = store.backup();
    for (let step = await making.next(); ; step = await making.next()) {
      if (step.done === true) {
        count('backups', 'made');
        log.info('backup made', { count: step.value.bytes });
        break;
      }
      if (!isStopped()) continue;
      await making.return(undefined as never); // nobody reads what a generator that is told to end returns
      return false;
    }
  } catch (error) {
    count('backups', 'failed');
    log.error('no backup was made', { cause: causeOf(error) });
    return false;
  }
  await trim(runtime, keep);
  return true;
}

/** The backup is made whatever becomes of the old ones; they are looked for again after the next one. */
async function trim({ store, log }: ChoreParts, keep: number): Promise<void> {
  try {
    await store.trimBackups(keep);
  } catch (error) {
    log.warn('old backups were not deleted', { cause: causeOf(error) });
  }
}

function causeOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown';
}
