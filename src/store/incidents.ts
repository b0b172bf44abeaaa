/** Incidents, the conditions that they are made of, and their alerts. */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import {
  type Alert,
  type Condition,
  type ConditionLimits,
  type Incident,
  LONGEST_WAIT_MS,
  MOST_COUNTED,
  type PaidUnacknowledged,
} from '../proxy/records/incidents.ts';
import type { BulkItem } from '../proxy/records/routing.ts';
import type { Trip } from '../proxy/routing/merchant.ts';
import { ALERT, INCIDENT, LINES_PASSED, merchantsIn, oneOfThese } from './conditions.ts';
import {
  type Condition as Filter,
  filteredReads,
  type Reader,
  type Step,
  type StoreMethods,
  type Writer,
} from './engine.ts';
import { readsOf } from './rows.ts';

/**
 * `closeIncident` and `takeAlert` return false, and change nothing, when another process was first. Times are epoch ms.
 */
export function incidentMethods(reader: Reader, writer: Writer) {
  const run = filteredReads(reader);
  const { one } = readsOf(reader);
  const passed = one<[], { line: number }, number>(LINES_PASSED, ({ line }) => line);
  const paidUnacknowledged = one<[string, number, number], PaidUnacknowledged, PaidUnacknowledged>(
    PAID_UNACKNOWLEDGED.counted,
  );
  return {
    ...alertMethods(reader, writer),
    conditions: conditionReads(reader),
    paidUnacknowledgedOf: paidUnacknowledged,
    async incidents({ id, merchant_id, kind, is_open, since, until }, limit) {
      const filters: Filter[] = [
        ['id = ?', id],
        ['merchant_id = ?', merchant_id],
        ['kind = ?', kind],
        ['opened_at >= ?', since],
        ['opened_at < ?', until],
      ];
      const open = is_open === undefined ? 'true' : `closed_at IS ${is_open ? '' : 'NOT '}NULL`;
      const sql = (where: string) =>
        `SELECT ${INCIDENT} FROM incidents WHERE ${where} AND ${open} ORDER BY opened_at DESC, id DESC LIMIT ?`;
      return run<Incident>(filters, sql, limit);
    },
    async noteIncident({ id, kind, merchant_id, subject, opened_at, last_at, count, sample, reason, line }, receivers) {
      const noted = [id, kind, merchant_id, subject, opened_at, last_at, count, sample, reason, line];
      const key = [kind, merchant_id, subject];
      const known = Math.max(count, 1);
      const alerts = receivers.flatMap((receiver): Step[] => [
        { write: 'insert_alert', values: [`${id}-${receiver}`, receiver, last_at, last_at, id] },
        { write: 'insert_growth', values: [receiver, receiver, last_at, last_at, ...key, receiver, receiver] },
        { write: 'drop_alerts', values: [receiver] },
      ]);
      const steps: Step[] = [{ write: 'note_incident', values: [...noted, line, line] }, ...alerts];
      if (line === 0) steps.splice(1, 0, { write: 'lower_alerts', values: [known, ...key, known] });
      if (line > 0) steps.push({ write: 'pass_lines', values: [String(line)] });
      await writer.commit({ steps, locks: { alone: ['incidents'] } });
    },
    async closeIncident(id, at, by, audit, closing = { event: 'recovered' }) {
      const { event, reason = null, sample = null, count = null } = closing;
      const steps: Step[] = [
        { write: 'close_incident', values: [at, by, reason, sample, count, id], changes: 1 },
        { write: 'insert_closings', values: [event, event, at, at, id] },
      ];
      const unit = { steps, locks: { alone: ['incidents'] } };
      return (await writer.commit(audit === null ? unit : { ...unit, audit })).kind === 'done';
    },
    lastIncidentLine: async () => (await passed()) ?? 0,
    async passLines(sequence) {
      await writer.commit({
        steps: [{ write: 'pass_lines', values: [String(sequence)] }],
        locks: { alone: ['incidents'] },
      });
    },
  } satisfies Partial<StoreMethods>;
}

function alertMethods(reader: Reader, writer: Writer) {
  const { one, list } = readsOf(reader);
  const waiting = one<[string], { waiting: number }, number>(
    `SELECT count(*) AS waiting FROM alerts WHERE receiver = ? AND state = 'pending'`,
    ({ waiting: count }) => count,
  );
  const last = one<[string], Alert, Alert>(
    `SELECT ${ALERT} FROM alerts WHERE receiver = ? AND attempts > 0 ORDER BY sequence DESC LIMIT 1`,
  );
  // In order within one incident: an alert that its receiver refuses must not hold back another incident.
  const due = list<[number, number], Alert, Alert>(
    `SELECT ${ALERT} FROM alerts WHERE sequence IN (
       SELECT min(sequence) FROM alerts AS due WHERE state = 'pending' AND (next_attempt_at <= ? OR next_attempt_at > ?)
       AND NOT EXISTS (SELECT 1 FROM alerts AS earlier WHERE earlier.incident_id = due.incident_id
         AND earlier.receiver = due.receiver AND earlier.state = 'pending' AND earlier.sequence < due.sequence)
       GROUP BY receiver) ORDER BY sequence`,
  );
  return {
    // One that a clock which ran ahead put off is due, too.
    dueAlerts: (now) => due(now, now + LONGEST_WAIT_MS),
    async takeAlert({ sequence, attempts }, next_attempt_at, count) {
      const values = [next_attempt_at, count, sequence, attempts];
      return (await writer.commit({ steps: [{ write: 'take_alert', values, changes: 1 }] })).kind === 'done';
    },
    async endAlert({ sequence, attempts, incident_id, receiver }, state, detail, at) {
      const steps: Step[] = [{ write: 'end_alert', values: [state, detail, sequence, attempts + 1] }];
      const values = [receiver, receiver, at, at, incident_id, receiver, receiver];
      // It may have grown while this one was under way. One that was given up waits for its next count.
      if (state === 'delivered') steps.push({ write: 'insert_late_growth', values });
      await writer.commit({ steps, locks: { alone: ['incidents'] } });
    },
    alertsOf: async (receiver) => ({ waiting: (await waiting(receiver)) ?? 0, last: await last(receiver) }),
  } satisfies Partial<StoreMethods>;
}

/** Paid sales that their till does not know, counted by merchant; `at` is epoch ms of the payment. */
export const PAID_UNACKNOWLEDGED = countedByMerchant({
  rows: 'links INDEXED BY links_paid_unacknowledged',
  indexed: `state = 'DONE' AND known_by IS NULL AND ${oneOfThese('legacy_state', ['FINISHED', 'paid'])}`,
  at: 'legacy_state_at',
  sample: 'legacy_id',
  // A till that shows declined payments as FINISHED was not paid: the order's own state decides. A value, because PostgreSQL may read
  // the whole table for an EXISTS.
  also: `(SELECT 1 FROM link_states WHERE link_states.legacy_id = links.legacy_id
    AND link_states.order_status = 'processed' LIMIT 1) IS NOT NULL`,
});
/** Undelivered notices, counted by merchant. Redelivered ones are old by nature and waited for by an operator: not counted. */
export const NOTICES_STUCK = countedByMerchant({
  rows: 'notices INDEXED BY notices_stuck',
  indexed: `state = 'pending' AND replayed = 0`,
  at: 'created_at',
  sample: 'NULL',
  also: 'true',
});

/** Reads of rows that may be very many. @param parts `indexed`: the condition of the partial index. `at`: epoch ms. */
function countedByMerchant(parts: Record<'rows' | 'indexed' | 'at' | 'sample' | 'also', string>) {
  const { rows, indexed, at, sample, also } = parts;
  const of = (merchant: string) =>
    `FROM ${rows} WHERE merchant_id = ${merchant} AND ${indexed} AND ${at} <= (SELECT ?) AND ${at} > (SELECT ?)`;
  return {
    /** Values: then or earlier, and after; merchants after this id, and how many. `oldest` is null for none. */
    merchants: `SELECT id, (SELECT ${at} ${of('listed.id')} ORDER BY ${at} LIMIT 1) AS oldest
      FROM (${merchantsIn(rows, indexed)} LIMIT (SELECT ?)) AS listed`,
    /** Values: a merchant; then or earlier, and after. No row for none. */
    counted: `SELECT count(*) AS count, min(at) AS since, min(sample) AS sample
      FROM (SELECT ${at} AS at, ${sample} AS sample ${of('(SELECT ?)')} AND ${also} ORDER BY ${at} LIMIT ${MOST_COUNTED}) AS counted
      HAVING count(*) > 0`,
  };
}

type Standing = Omit<Condition, 'why' | 'kind' | 'subject'>;

/** Merchants listed by one statement. */
const MERCHANTS_AT_ONCE = 500;

/** A merchant at a time: the embedded engine reads on the thread that answers tills, and 1,000 sales take it 5 ms. */
function readByMerchant(reader: Reader, { merchants, counted }: typeof PAID_UNACKNOWLEDGED) {
  const list = reader.prepare<[number, number, string, number], { id: string; oldest: number | null }>(merchants);
  const count = reader.prepare<[string, number, number], Omit<Standing, 'merchant_id'>>(counted);
  return async (before: number, since: number): Promise<Standing[]> => {
    const found: Standing[] = [];
    for (let after = ''; ; ) {
      const page = await list.all(before, since, after, MERCHANTS_AT_ONCE);
      for (const { id } of page.filter(({ oldest }) => oldest !== null)) {
        await yieldToEventLoop();
        const standing = await count.get(id, before, since);
        if (standing !== undefined) found.push({ merchant_id: id, ...standing });
      }
      const last = page.at(-1);
      if (last === undefined || page.length < MERCHANTS_AT_ONCE) return found;
      after = last.id;
      await yieldToEventLoop();
    }
  };
}

/** Each by an index of its rows; merchants are few, and hold their safety stops. */
function conditionReads(reader: Reader): StoreMethods['conditions'] {
  const grouped = (sql: string) => reader.prepare<number[], Standing>(`${sql} GROUP BY merchant_id`);
  const stopped = reader.prepare<[], { id: string; trips: string }>(
    `SELECT id, trips FROM merchants WHERE trips <> '{}'`,
  );
  const reads = {
    create_in_doubt: grouped(`SELECT merchant_id, count(*) AS count, min(created_at) AS since, min(legacy_id) AS sample
      FROM links WHERE next_check_at IS NOT NULL AND ${oneOfThese('state', ['SENDING', 'IN_DOUBT'])} AND created_at <= ?`),
    paid_unacknowledged: readByMerchant(reader, PAID_UNACKNOWLEDGED),
    notices_stuck: readByMerchant(reader, NOTICES_STUCK),
    move_waiting: grouped(`SELECT merchant_id, count(*) AS count, min(proposed_at) AS since, min(id) AS sample
      FROM proposals WHERE state = 'waiting' AND expires_at > ?`),
  };
  const ramps = reader.prepare<[number], { id: string; items: string; created_at: number }>(
    `SELECT id, items, created_at FROM bulk_moves WHERE state = 'proposed' AND ramp IS NOT NULL AND created_at > ?`,
  );
  return async ({ in_doubt_before, paid_before, paid_since, notices_before, ramps_since, now }: ConditionLimits) => {
    const standing = {
      create_in_doubt: () => reads.create_in_doubt.all(in_doubt_before),
      paid_unacknowledged: () => reads.paid_unacknowledged(paid_before, paid_since),
      notices_stuck: () => reads.notices_stuck(notices_before, 0),
      move_waiting: () => reads.move_waiting.all(now),
    };
    const found: Condition[] = [];
    for (const { id, trips } of await stopped.all())
      for (const [subject, { at, why, evidence }] of Object.entries(JSON.parse(trips) as Record<string, Trip>)) // as `saveTrips` wrote them
        found.push({
          kind: 'safety_stop',
          merchant_id: id,
          subject,
          count: 1,
          since: at,
          sample: evidence.exchanges?.[0] ?? evidence.sample ?? null,
          why,
        });
    for (const [kind, read] of Object.entries(standing) as [keyof typeof standing, () => Promise<Standing[]>][]) // its keys
      for (const one of await read()) found.push({ kind, subject: '', why: null, ...one });
    for (const { id, items, created_at: since } of await ramps.all(ramps_since))
      found.push(rampWaiting(id, items, since));
    return found;
  };
}

/** One ramp of many merchants is one condition, of the installation. @param items as `saveBulkMove` wrote them. */
function rampWaiting(id: string, items: string, since: number): Condition {
  const merchants = (JSON.parse(items) as Pick<BulkItem, 'merchant_id'>[]).map(({ merchant_id }) => merchant_id);
  const [only = ''] = merchants.length === 1 ? merchants : [];
  return {
    kind: 'move_waiting',
    merchant_id: only,
    subject: id,
    count: merchants.length,
    since,
    sample: id,
    why: null,
  };
}
