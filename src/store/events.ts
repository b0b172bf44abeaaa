/** The inbox: what became of an event. */
import { PARKED_FOR_MS, type Store } from '../proxy/store.ts';
import type { Writer } from './engine.ts';
import type { Step, Unit } from './unit.ts';

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

/** Long parked events expire; `tidyOld` deletes what is over. @param now epoch ms. */
export function tidyInbox(now: number): Unit {
  return { steps: [{ write: 'expire_parked', values: [now - PARKED_FOR_MS] }] };
}
