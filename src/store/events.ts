/** The inbox: what became of an event, and events as operators look at them. */

import { PARKED_FOR_MS } from '../proxy/store.ts';
import type { HandOut, Reader, Step, StoreMethods, Unit, Writer } from './engine.ts';
import { type EventRow, eventOf } from './rows.ts';

export function eventMethods(reader: Reader, writer: Writer) {
  const of = reader.prepare<[string | null, string | null, number], EventRow>(
    `SELECT * FROM events WHERE sequence IN (SELECT sequence FROM events WHERE order_id = ?
       UNION SELECT sequence FROM events WHERE reference = (SELECT cover(?))) ORDER BY sequence LIMIT ?`,
  );
  const unmatched = reader.prepare<[number], EventRow>(
    `SELECT * FROM events INDEXED BY events_unmatched WHERE state IN ('parked', 'expired') ORDER BY sequence DESC LIMIT ?`,
  );
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
    eventsOf: async (order_id, reference, limit) => (await of.all(order_id, reference, limit)).map(eventOf),
    unmatchedEvents: async (limit) => (await unmatched.all(limit)).map(eventOf),
  } satisfies Partial<StoreMethods>;
}

export function dueEventsRead(handOut: HandOut): StoreMethods['dueEvents'] {
  const due = handOut<[number], EventRow>(
    'event',
    `SELECT * FROM events INDEXED BY events_due WHERE state = 'pending' AND next_attempt_at <= (SELECT ?)`,
    'next_attempt_at, sequence',
  );
  return async (now, limit) => (await due(now, limit)).map(eventOf);
}

/** Events that were parked for too long expire; `tidyOld` deletes them. @param now epoch ms. */
export function tidyInbox(now: number): Unit {
  return { steps: [{ write: 'expire_parked', values: [now - PARKED_FOR_MS] }] };
}
