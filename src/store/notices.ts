/** Notices: what came of an attempt, and who is to be told at once. */

import { PuenteError } from '../error.ts';
import type { Store } from '../proxy/store.ts';
import type { Writer } from './engine.ts';
import { noticesLock } from './locks.ts';
import type { Step } from './unit.ts';

export function noticeMethods(writer: Writer): Pick<Store, 'hastenNotices' | 'recordAttempt'> {
  return {
    async hastenNotices(merchant_id, now) {
      await writer.commit({ steps: [{ write: 'hasten_notices', values: [now, merchant_id, now] }] });
    },
    async recordAttempt(notice, attempt, next) {
      const { at, duration_ms, outcome, status, detail, url } = attempt;
      // Our own faults must not lengthen the waiting for a receiver that was never asked.
      const counted = outcome === 'ours' ? 0 : 1;
      const delivered = next.state === 'delivered' ? 1 : 0;
      const steps: Step[] = [
        {
          write: 'update_notice',
          values: [counted, delivered, next.state, next.next_attempt_at, notice.id, notice.attempts],
          changes: 1,
        },
        { write: 'record_attempt', values: [notice.id, at, duration_ms, outcome, status, detail, url], changes: 1 },
      ];
      if (next.state === 'delivered') {
        steps.push({ write: 'hear_notice', values: [notice.legacy_id] });
        steps.push({ write: 'hear_refunds', values: [at, notice.legacy_id, notice.created_at - 1, 0] });
      }
      const result = await writer.commit({ steps, locks: { alone: [noticesLock(notice.legacy_id)] } });
      if (result.kind === 'done') return;
      throw new PuenteError('conflict', `The notice ${notice.id} was changed by another attempt: read it again.`);
    },
  };
}
