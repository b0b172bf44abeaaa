/** Notices: due ones, the outcome of each attempt, and the log of their delivery; and the events that cause them. */

import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import { isOfEnd } from '../proxy/notices/request.ts';
import {
  type Attempt,
  type AttemptSum,
  type InboxEvent,
  LATE_AFTER_MS,
  type LoggedNotice,
  type Notice,
  type NoticeFilter,
  type NoticeSum,
} from '../proxy/records/notices.ts';
import { PARKED_FOR_MS } from '../proxy/store.ts';
import { merchantsIn, NOTICE } from './conditions.ts';
import {
  type Condition,
  type FirstOfEach,
  filteredReads,
  type HandOut,
  listOf,
  type Reader,
  type Step,
  type StoreMethods,
  type Unit,
  type Writer,
} from './engine.ts';
import { type EventRow, eventOf, noticesLock, readsOf } from './rows.ts';

const DUE = `state = 'pending' AND next_attempt_at <= (SELECT ?)`;
const OLDEST_FIRST = 'next_attempt_at, created_at, sequence';
const BY_MERCHANT = 'notices INDEXED BY notices_due_by_merchant';
const DUE_OF_MERCHANT = `SELECT ${NOTICE} FROM ${BY_MERCHANT} WHERE merchant_id = (SELECT ?) AND ${DUE}`;
/** A place in the order of notices before all of them. */
const BEFORE_ALL = { next_attempt_at: Number.MIN_SAFE_INTEGER, created_at: 0, sequence: 0, id: '' };

/** Each read names its index: by its own estimates SQLite reads and sorts the whole backlog every time. */
export function dueNoticeMethods(reader: Reader, handOut: HandOut, firstOfEach: FirstOfEach) {
  const due = handOut<[number], Notice>(
    'notice',
    `SELECT ${NOTICE} FROM notices INDEXED BY notices_due WHERE ${DUE}`,
    OLDEST_FIRST,
  );
  const waiting = reader.prepare<[string, string, number], { id: string }>(
    `${merchantsIn(BY_MERCHANT, `state = 'pending'`)} AND id NOT IN (SELECT value FROM json_each(?)) LIMIT (SELECT ?)`,
  );
  const oldest = firstOfEach<Notice>('notice', DUE_OF_MERCHANT, OLDEST_FIRST);
  const behind = handOut<[string, number, number, number, number, string], Notice>(
    'notice',
    `${DUE_OF_MERCHANT} AND (next_attempt_at, created_at, sequence, id) > ((SELECT ?), (SELECT ?), (SELECT ?), (SELECT ?))`,
    `${OLDEST_FIRST}, id`,
  );
  return {
    dueNotices: async (now, limit) => await due(now, limit),
    async dueNoticesInTurn({ now, after_merchant, merchants, each, except_merchants }) {
      const found = await waiting.all(after_merchant, JSON.stringify(except_merchants), merchants);
      const ids = found.map(({ id }) => id);
      return {
        notices: await oldest(ids, now, each),
        last_merchant: ids.length < merchants ? null : (ids.at(-1) ?? null),
      };
    },
    async dueNoticesBehind({ now, merchant_id, after, limit }) {
      const { next_attempt_at, created_at, sequence, id } = after ?? BEFORE_ALL;
      return await behind(merchant_id, now, next_attempt_at, created_at, sequence, id, limit);
    },
  } satisfies Partial<StoreMethods>;
}

/**
 * `recordAttempt` @throws PuenteError conflict when another attempt was recorded meanwhile. Lists are newest first;
 * times are epoch ms.
 */
export function noticeMethods(reader: Reader, writer: Writer) {
  const run = filteredReads(reader);
  const logged = readsOf(reader).one<[string], LogRow, LoggedNotice>(`${LOGGED} WHERE id = ?`, loggedOf);
  const attempts = reader.prepare<[string], Attempt>(
    'SELECT at, duration_ms, outcome, status, detail, url FROM notice_attempts WHERE notice_id = ? ORDER BY rowid',
  );
  return {
    async hastenNotices(merchant_id, now) {
      await writer.commit({ steps: [{ write: 'hasten_notices', values: [now, merchant_id, now] }] });
    },
    async recordAttempt(notice, attempt, next) {
      const { at, duration_ms, outcome, status, detail, url } = attempt;
      // Failures of Puente itself must not lengthen the wait for a receiver that was never called.
      const counted = outcome === 'ours' ? 0 : 1;
      const delivered = next.state === 'delivered' ? 1 : 0;
      const steps: Step[] = [
        {
          write: 'update_notice',
          values: [counted, delivered, next.state, next.next_attempt_at, notice.id, notice.attempts],
          changes: 1,
        },
        { write: 'record_attempt', values: [notice.id, at, duration_ms, outcome, status, detail, url], changes: 1 },
      ];
      if (next.state === 'delivered') {
        if (isOfEnd(notice)) steps.push({ write: 'mark_known_by_notice', values: [notice.legacy_id] });
        const any_sum = Number.MAX_SAFE_INTEGER;
        steps.push({ write: 'mark_refunds_known', values: [at, notice.legacy_id, notice.created_at - 1, 0, any_sum] });
      }
      const result = await writer.commit({ steps, locks: { alone: [noticesLock(notice.legacy_id)] } });
      if (result.kind === 'done') return;
      throw new PuenteError('conflict', `The notice ${notice.id} was changed by another attempt: read it again.`);
    },
    async notices(filter, limit) {
      const sql = (where: string) => `${LOGGED} WHERE ${where} ORDER BY created_at DESC, notices.rowid DESC LIMIT ?`;
      return (await run<LogRow>(conditionsOf(filter), sql, limit)).map(loggedOf);
    },
    async notice(id) {
      const notice = await logged(id);
      return notice === null ? null : { notice, attempts: await attempts.all(id) };
    },
    async countNotices(filter) {
      const sql = (where: string) => `SELECT count(*) AS found FROM notices WHERE ${where}`;
      const [row] = await run<{ found: number }>(conditionsOf(filter), sql);
      return row?.found ?? 0;
    },
    async sumNotices(filter) {
      // Without the hint SQLite may read all notices in the order of the groups, to save the sort of a few of them.
      const index = filter.merchant_id === undefined ? 'notices_by_time' : 'notices_by_merchant';
      return run<NoticeSum>(
        conditionsOf(filter),
        (
          where,
        ) => `SELECT topic, form, state, ${UP_TO_TWO} AS attempts, count(*) AS count FROM notices INDEXED BY ${index}
           WHERE ${where} AND state <> 'superseded' GROUP BY topic, form, state, ${UP_TO_TWO}`,
      );
    },
    async sumAttempts(filter) {
      const index = filter.merchant_id === undefined ? 'notices_by_time' : 'notices_by_merchant';
      return run<AttemptSum>(
        conditionsOf(filter),
        (where) => `SELECT merchant_id, url, outcome, count(*) AS count, max(at) AS last_at,
             count(*) FILTER (WHERE at - created_at > ${LATE_AFTER_MS} AND NOT EXISTS (SELECT 1 FROM notice_attempts AS earlier
               WHERE earlier.notice_id = notices.id AND earlier.outcome = 'delivered' AND earlier.at < notice_attempts.at)) AS late
           FROM notices INDEXED BY ${index} JOIN notice_attempts ON notice_attempts.notice_id = notices.id
           WHERE ${where} GROUP BY merchant_id, url, outcome`,
      );
    },
    async redeliverNotices(ids, now, audit) {
      const list = JSON.stringify(ids);
      const result = await writer.commit({
        steps: [
          { write: 'hasten_redelivered', values: [now, now, list] },
          { write: 'redeliver_notices', values: [now, list] },
        ],
        audit,
      });
      if (result.kind === 'done') return;
      throw new PuenteError('store_failed', say('store.not_redelivered', { detail: result.kind }));
    },
  } satisfies Partial<StoreMethods>;
}

interface LogRow extends Notice {
  replayed: number;
  tries: number;
  /** All `last_` columns are null before the first attempt. */
  last_at: number | null;
  last_duration_ms: number;
  last_outcome: Attempt['outcome'];
  last_status: number | null;
  last_detail: string;
  last_url: string | null;
}

/** Scalar `min` has another name in every engine. */
const UP_TO_TWO = 'CASE WHEN attempts < 2 THEN attempts ELSE 2 END';

const LOGGED = `SELECT ${NOTICE}, replayed, (SELECT count(*) FROM notice_attempts WHERE notice_id = notices.id) AS tries,
  last.at AS last_at, last.duration_ms AS last_duration_ms, last.outcome AS last_outcome, last.status AS last_status,
  last.detail AS last_detail, last.url AS last_url
  FROM notices LEFT JOIN notice_attempts AS last
  ON last.rowid = (SELECT max(rowid) FROM notice_attempts WHERE notice_id = notices.id)`;

function loggedOf(row: LogRow): LoggedNotice {
  const { last_at, last_duration_ms, last_outcome, last_status, last_detail, last_url, ...notice } = row;
  const last_attempt: Attempt | null =
    last_at === null
      ? null
      : {
          at: last_at,
          duration_ms: last_duration_ms,
          outcome: last_outcome,
          status: last_status,
          detail: last_detail,
          url: last_url,
        };
  return { ...notice, replayed: row.replayed === 1, last_attempt };
}

function conditionsOf(filter: NoticeFilter): Condition[] {
  const { legacy_id, merchant_id, states, topic, since, until, min_attempts } = filter;
  return [
    ['legacy_id = ?', legacy_id],
    ['merchant_id = ?', merchant_id],
    // A single state can use its index, which a list can't.
    states?.length === 1 ? ['state = ?', states[0]] : ['state IN (SELECT value FROM json_each(?))', listOf(states)],
    ['topic = ?', topic],
    ['created_at >= ?', since],
    ['created_at < ?', until],
    ['attempts >= ?', min_attempts],
  ];
}

// The inbox: changes of an event, and events for operators.

/**
 * `saveEvent` also keeps the inbox within its limits: parked events (`PARKED_EVENTS_LIMIT`), and unverified events of
 * one order that are done (`UNVERIFIED_KEPT`).
 */
export function eventMethods(reader: Reader, writer: Writer) {
  const { list } = readsOf(reader);
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
    eventsOf: list(
      `SELECT * FROM events WHERE sequence IN (SELECT sequence FROM events WHERE order_id = ?
         UNION SELECT sequence FROM events WHERE reference = (SELECT cover(?))) ORDER BY sequence LIMIT ?`,
      eventOf,
    ),
    unmatchedEvents: list(
      `SELECT * FROM events INDEXED BY events_unmatched WHERE state IN ('parked', 'expired')
       ORDER BY sequence DESC LIMIT ?`,
      eventOf,
    ),
  } satisfies Partial<StoreMethods>;
}

/** Marks an event as done in the commit of what its read has changed; of its order, only unverified ones are thinned out. */
export function endOfEvent({ sequence, attempts, verified, order_id }: InboxEvent): Step[] {
  const end: Step = { write: 'update_event', values: ['done', attempts + 1, null, sequence] };
  return verified ? [end] : [end, { write: order_id === null ? 'thin_references' : 'thin_events', values: [sequence] }];
}

/** Pending events whose `next_attempt_at` has passed (epoch ms), oldest first, each for one store only. */
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
