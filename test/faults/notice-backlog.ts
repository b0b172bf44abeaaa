/** Writes a backlog of notices into a closed store, as an outage of every receiver would leave it. */
import Database from 'better-sqlite3';
import { uuidV7 } from '../../src/proxy/ids.ts';
import { slotOf } from '../../src/proxy/sales/link.ts';

export interface Backlog {
  merchant_id: string;
  notices: number;
}

/** As many bytes as a usual intent body, for realistic memory use. */
const BODY = JSON.stringify({ id: '', state: 'FINISHED', padding: 'x'.repeat(400) });

/** One terminal link per notice; all are due at `now` and were made a millisecond apart, in the order of `backlogs`. */
export function fillBacklog(path: string, now: number, backlogs: readonly Backlog[]): void {
  const database = new Database(path, { fileMustExist: true });
  const link = database.prepare(
    `INSERT INTO links (legacy_id, merchant_id, lane, family, unit, slot, fingerprint, reference_sent, held, amount_minor,
       idempotency_key, tables_revision, state, attempts, boot_id, client_answer, legacy_state, legacy_state_at, expires_at,
       created_at, updated_at, revision)
     VALUES (?, ?, 'orders', 'point', ?, ?, ?, ?, '{}', 1500, ?, 'r1', 'DONE', 1, 'boot', 'maybe', 'FINISHED', ?, ?, ?, ?, 1)`,
  );
  const notice = database.prepare(
    `INSERT INTO notices (id, legacy_id, merchant_id, topic, form, subject, body, created_at, next_attempt_at, state, attempts,
       sequence) VALUES (?, ?, ?, 'point', 'point', ?, ?, ?, ?, 'pending', 0, 1)`,
  );
  database.transaction(() => {
    const total = backlogs.reduce((sum, { notices }) => sum + notices, 0);
    let number = 0;
    for (const { merchant_id, notices } of backlogs) {
      for (let one = 0; one < notices; one++) {
        const at = now - total + number++;
        const id = uuidV7(at);
        const unit = `PAX_A910__${number}`;
        link.run(id, merchant_id, unit, slotOf('point', unit), id, id, id, at, at, at, at);
        notice.run(id, id, merchant_id, id, BODY, at, at);
      }
    }
  })();
  database.close();
}
