/** The inbox in SQLite: events are committed before they are acknowledged, and merged until they are handed out. */
import type { Store } from '../../proxy/store.ts';
import { type EventRow, eventOf } from '../rows.ts';
import type { WriteQueue } from './queue.ts';
import type { Reader } from './reader.ts';

export function inboxMethods(reader: Reader, queue: WriteQueue): Pick<Store, 'receiveEvent' | 'dueEvents'> {
  const due = reader.prepare<[number, number], EventRow>(
    `SELECT * FROM events INDEXED BY events_due WHERE state = 'pending' AND next_attempt_at <= (SELECT ?)
     ORDER BY next_attempt_at, sequence LIMIT (SELECT ?)`,
  );
  // A hint that was handed out may be under way upstream already: what happens now might not be in that answer any more,
  // so only a later one takes an identical hint in.
  let handedOut = 0;
  return {
    async receiveEvent(event) {
      const { received_at, order_id, reference, user_id, action } = event;
      const verified = event.verified ? 1 : 0;
      const row = [received_at, order_id, reference, user_id, verified, action, received_at];
      const same = [order_id, reference, user_id, verified, action, handedOut];
      await queue.commit({ steps: [{ write: 'receive_event', values: [...row, ...same] }] });
    },
    async dueEvents(now, limit) {
      const events = due.all(now, limit).map(eventOf);
      for (const { sequence } of events) handedOut = Math.max(handedOut, sequence);
      return events;
    },
  };
}
