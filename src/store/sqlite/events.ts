/** The inbox in SQLite: events are committed before they are acknowledged, merged, parked and matched again. */
import { PARKED_FOR_MS, type Store } from '../../core/store.ts';
import type { WriteQueue } from './queue.ts';
import type { Reader } from './reader.ts';
import { type EventRow, eventOf } from './rows.ts';
import type { Step, Unit } from './unit.ts';

/** `reliability.md` §3.11.2. */
const KEPT_FOR_MS = 7 * 24 * 60 * 60_000;

type EventMethods = Pick<Store, 'receiveEvent' | 'dueEvents' | 'saveEvent'>;

export function eventMethods(reader: Reader, queue: WriteQueue): EventMethods {
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
    async saveEvent(sequence, change) {
      const values = [change.state ?? null, change.attempts ?? null, change.next_attempt_at ?? null, sequence];
      const steps: Step[] = [{ write: 'update_event', values }];
      if (change.state === 'parked')
        steps.push({ write: 'drop_parked', values: [] }, { write: 'evict_parked', values: [] });
      if (change.state === 'done')
        steps.push({ write: 'thin_events', values: [sequence] }, { write: 'thin_references', values: [sequence] });
      await queue.commit({ steps });
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
