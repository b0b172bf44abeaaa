/** The inbox: what became of an event. */

import { PARKED_FOR_MS } from '../proxy/store.ts';
import type { Reader, Step, StoreMethods, Unit, Writer } from './engine.ts';
import { type EventRow, eventOf } from './rows.ts';

export function eventMethods(writer: Writer): Pick<StoreMethods, 'saveEvent'> {
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

// The inbox as operators look at it: what was heard of an order, and what nobody could place.

export function eventLogMethods(reader: Reader): Pick<StoreMethods, 'eventsOf' | 'unmatchedEvents'> {
  const of = reader.prepare<[string | null, string | null, number], EventRow>(
    `SELECT * FROM events WHERE sequence IN (SELECT sequence FROM events WHERE order_id = ?
       UNION SELECT sequence FROM events WHERE reference = (SELECT cover(?))) ORDER BY sequence LIMIT ?`,
  );
  const unmatched = reader.prepare<[number], EventRow>(
    `SELECT * FROM events INDEXED BY events_unmatched WHERE state IN ('parked', 'expired') ORDER BY sequence DESC LIMIT ?`,
  );
  return {
    eventsOf: async (order_id, reference, limit) => (await of.all(order_id, reference, limit)).map(eventOf),
    unmatchedEvents: async (limit) => (await unmatched.all(limit)).map(eventOf),
  };
}
