/** Backups as operators ask for them: made while payments go on, told as they grow, and written down. */

import { z } from 'zod';
import type { BackupManifest, BackupNews } from '../../proxy/records/upkeep.ts';
import type { Runtime } from '../../proxy/runtime.ts';
import { reason } from '../api/reason.ts';

/** The body of `POST /api/backup`. */
export const backupAsk = z.strictObject({
  reason: reason.default('asked for'),
});
export type BackupAsk = z.infer<typeof backupAsk>;

export type BackupProgress = ({ news: 'progress' } & BackupNews) | { news: 'done'; backup: BackupManifest };

/**
 * Makes one backup, and the audit line of it. Whoever stops reading ends it, and nothing is left of it.
 * @throws PuenteError conflict while another one runs, store_failed when it could not be made.
 */
export async function* makeBackup(runtime: Runtime, ask: BackupAsk, who: string): AsyncGenerator<BackupProgress> {
  const making = runtime.store.backup();
  try {
    for (;;) {
      const step = await making.next();
      if (step.done !== true) {
        yield { news: 'progress', ...step.value };
        continue;
      }
      const { file, bytes, sha256 } = step.value;
      await runtime.store.appendAudit({
        at: runtime.clock.now(),
        who,
        action: 'backup',
        subject: 'puente',
        reason: ask.reason,
        detail: { file, bytes, sha256 },
      });
      yield { news: 'done', backup: step.value };
      return;
    }
  } finally {
    await making.return({} as BackupManifest); // nobody reads what a generator that is told to end returns
  }
}
