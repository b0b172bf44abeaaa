/** The inbox: what became of an event, and what keeps it from growing for ever. */
import { PARKED_FOR_MS, type Store } from '../core/store.ts';
import type { Writer } from './engine.ts';
import type { Step, Unit } from './unit.ts';

/** `reliability.md` §3.11.2. */
const KEPT_FOR_MS = 7 * 24 * 60 * 60_000;

export function eventMethods(writer: Writer): Pick<Store, 'saveEvent'> {
  return {
    async saveEvent(sequence, change) {
      const values = [change.state ?? null, change.attempts ?? null, change.next_attempt_at ?? null, sequence];
      const steps: Step[] = [{ write: 'update_event', values }];
      if (change.state === 'parked')
        steps.push({ write: 'drop_parked', values: [] }, { write: 'evict_parked', values: [] });
      if (change.state === 'done')
        steps.push({ write: 'thin_events', values: [sequence] }, { write: 'thin_references', values: [sequence] });
      await writer.commit({ steps });
    },
  };
}

/** What keeps the inbox from growing for ever: long parked events expire, and those that are over are deleted. */
export function tidyInbox(now: number): Unit {
  return {
    steps: [
      { write: 'expire_parked', values: [now - PARKED_FOR_MS] },
      { write: 'delete_old_events', values: [now - KEPT_FOR_MS] },
    ],
  };
}
