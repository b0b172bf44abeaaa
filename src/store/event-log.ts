/** The inbox as operators look at it: what was heard of an order, and what nobody could place. */
import type { Store } from '../proxy/store.ts';
import type { Reader } from './engine.ts';
import { type EventRow, eventOf } from './rows.ts';

export function eventLogMethods(reader: Reader): Pick<Store, 'eventsOf' | 'unmatchedEvents'> {
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
