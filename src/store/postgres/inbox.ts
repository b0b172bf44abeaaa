/** The inbox: events are committed before they are acknowledged, merged until somebody takes them, and each handed to one store only. */
import type { Store } from '../../proxy/store.ts';
import type { Writer } from '../engine.ts';
import { type EventRow, eventOf } from '../rows.ts';
import { claimOf, isFree } from './leases.ts';
import type { PostgresReader } from './reader.ts';

export function inboxMethods(
  reader: PostgresReader,
  writer: Writer,
  holder: string,
): Pick<Store, 'receiveEvent' | 'dueEvents'> {
  const chosen = `SELECT * FROM events WHERE state = 'pending' AND next_attempt_at <= ?
    AND ${isFree('event', 'CAST(events.sequence AS TEXT)')}
    ORDER BY next_attempt_at, sequence LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`;
  const due = reader.prepare<[number, string, number, string], EventRow>(
    `${claimOf('event', 'sequence', chosen)} ORDER BY next_attempt_at, sequence`,
  );
  return {
    async receiveEvent(event) {
      const { received_at, order_id, reference, user_id, action } = event;
      const verified = event.verified ? 1 : 0;
      const same = [order_id, reference, user_id, verified, action];
      const values = [received_at, ...same];
      // Two that come at once would not see each other.
      const locks = { alone: [`event ${JSON.stringify(same)}`] };
      await writer.commit({ steps: [{ write: 'receive_event', values }], locks });
    },
    dueEvents: async (now, limit) => (await due.all(now, holder, limit, holder)).map(eventOf),
  };
}
