/** Background work: scheduled backups, and deletion of old records. */

import { z } from 'zod';
import { yieldToEventLoop } from '../../proxy/concurrency.ts';
import { steadyTime } from '../../proxy/loop.ts';
import type { BackupManifest, BackupNews, RetentionKind, RetentionLimits } from '../../proxy/records/upkeep.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, reason } from '../fields.ts';
import type { Ports, UpkeepStore } from '../ports.ts';

const TIDY_EVERY_MS = HOUR_MS;
/** How often due work is looked for; a backup schedule may be finer. */
const LOOK_EVERY_MS = MINUTE_MS;
/** A failed backup is tried again after this long, not at every look. */
const RETRY_MS = 15 * MINUTE_MS;

interface ChoreSettings {
  /** Null: no scheduled backup. */
  backup_every_ms: number | null;
  backup_keep: number;
  retention: RetentionSettings;
}

export interface Rounds {
  /** Starts no further round, and waits for the current one. */
  stop(): Promise<void>;
}

/** Rounds of background work; the first is after a pause, because a start has enough to do. A failed one is logged. */
export function startRounds(
  { log, name, every_ms }: { log: Ports['log']; name: string; every_ms: number },
  round: (isStopped: () => boolean) => Promise<unknown>,
): Rounds {
  let stopped = false;
  let working: Promise<unknown> | null = null;
  const timer = setInterval(() => {
    // A round may take longer than the interval.
    working ??= round(() => stopped)
      .catch((error: unknown) => log.warn(`${name} failed and will be retried`, { cause: String(error) }))
      .finally(() => {
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

type ChoreParts = Pick<Ports, 'store' | 'clock' | 'log' | 'count'>;

/** Backups when they are due, and the deletion of old rows; a failed backup is tried again after `RETRY_MS`. */
export function startChores(ports: ChoreParts, settings: ChoreSettings): Rounds {
  const { log, clock } = ports;
  const steady = steadyTime(ports);
  const state = { tidied_at: Number.NEGATIVE_INFINITY, tried_at: Number.NEGATIVE_INFINITY };
  const every_ms = Math.min(LOOK_EVERY_MS, settings.backup_every_ms ?? LOOK_EVERY_MS);
  return startRounds({ log, name: 'chores', every_ms }, async (isStopped) => {
    const now = clock.now();
    if (settings.backup_every_ms !== null && Math.abs(now - state.tried_at) >= RETRY_MS) {
      const due_at = await backupDue(ports, settings.backup_every_ms);
      if (due_at <= now) {
        state.tried_at = now;
        if (await backUp(ports, settings.backup_keep, isStopped)) state.tried_at = Number.NEGATIVE_INFINITY;
      }
    }
    // A clock that was set back must not stop the deletion.
    if (Math.abs(now - state.tidied_at) < TIDY_EVERY_MS) return;
    const rows = await tidyRound(ports.store.upkeep, limitsOf(settings.retention, await steady()), () => !isStopped());
    state.tidied_at = now;
    for (const [kind, count] of Object.entries(rows))
      if (count > 0) log.info('old records deleted', { action: kind, count });
  });
}

/** Counted from the newest backup, else from the creation of the database; a time in the future does not count. */
async function backupDue({ store, clock }: ChoreParts, every_ms: number): Promise<number> {
  const now = clock.now();
  const [newest] = await store.upkeep.backups();
  const { created_at } = await store.upkeep.condition();
  const last = [...(newest === undefined ? [] : [Date.parse(newest.made_at)]), created_at].find((at) => at <= now);
  return (last ?? Number.NEGATIVE_INFINITY) + every_ms;
}

/** @returns false when it was stopped or failed. */
async function backUp({ store, log, count }: ChoreParts, keep: number, isStopped: () => boolean): Promise<boolean> {
  try {
    const making = store.upkeep.backup();
    let step = await making.next();
    for (; step.done !== true; step = await making.next()) {
      if (!isStopped()) continue;
      await making.return(undefined as never); // the value of a generator that is ended is not read
      return false;
    }
    count('backups', 'made');
    log.info('backup made', { count: step.value.bytes });
  } catch (error) {
    count('backups', 'failed');
    log.error('no backup was made', { cause: String(error) });
    return false;
  }
  // The backup counts as made even if old ones can't be deleted; the next backup deletes them.
  await store.upkeep
    .trimBackups(keep)
    .catch((error: unknown) => log.warn('old backups were not deleted', { cause: String(error) }));
  return true;
}

// Retention: how long each kind of record is kept, and one round of deletion.

interface RetentionSettings {
  /** Terminal sales, with their notices and refunds. */
  links_ms: number;
  /** Delivered and given-up notices, with their attempts. */
  notices_ms: number;
  /** Sums of traffic by day. */
  sums_ms: number;
  /** Sealed tokens, which can't be used any more after it. */
  tokens_ms: number;
}

/** Terminal events: the vendor sends none again after it (`docs/protocol.md` §3.11, step 2). */
export const EVENTS_KEPT_MS = 7 * DAY_MS;

/** Rows of a kind per step: payments wait behind it for some milliseconds at most. */
const STEP_ROWS = 200;

/** @param now epoch ms, by `steadyTime`. */
export function limitsOf(settings: RetentionSettings, now: number): RetentionLimits {
  return {
    links_before: now - settings.links_ms,
    notices_before: now - settings.notices_ms,
    events_before: now - EVENTS_KEPT_MS,
    sums_before: now - settings.sums_ms,
    tokens_before: now - settings.tokens_ms,
  };
}

/** Deletes in steps until nothing old is left, or `mayGoOn` is false. @returns rows by kind. */
export async function tidyRound(
  store: Pick<UpkeepStore, 'tidyOld'>,
  limits: RetentionLimits,
  mayGoOn: () => boolean,
): Promise<Record<RetentionKind, number>> {
  const sums = { links: 0, notices: 0, events: 0, sums: 0, tokens: 0 };
  while (mayGoOn()) {
    const step = await store.tidyOld(limits, STEP_ROWS);
    for (const kind of Object.keys(sums) as RetentionKind[]) sums[kind] += step[kind]; // the keys of the line above
    if (Object.values(step).every((rows) => rows < STEP_ROWS)) break;
    await yieldToEventLoop();
  }
  return sums;
}

export const backupAsk = z.strictObject({
  reason: reason.default('requested'),
});

export type BackupProgress = ({ news: 'progress' } & BackupNews) | { news: 'done'; backup: BackupManifest };

/**
 * Makes one backup, and its audit line. A reader that stops ends it, and no file is left.
 * @throws PuenteError conflict while another one runs, store_failed when it could not be made.
 */
export async function* makeBackup(
  ports: Ports,
  ask: z.infer<typeof backupAsk>,
  who: string,
): AsyncGenerator<BackupProgress> {
  const making = ports.store.upkeep.backup();
  try {
    let step = await making.next();
    for (; step.done !== true; step = await making.next()) yield { news: 'progress', ...step.value };
    const { file, bytes, sha256 } = step.value;
    await ports.store.audit.appendAudit({
      at: ports.clock.now(),
      who,
      action: 'backup',
      subject: 'puente',
      reason: ask.reason,
      detail: { file, bytes, sha256 },
    });
    yield { news: 'done', backup: step.value };
  } finally {
    await making.return({} as BackupManifest); // the value of a generator that is ended is not read
  }
}
