/** The delivery log in SQLite: which notices there are, what every attempt came to, and asking for some again. */
import type { Attempt, LoggedNotice, NoticeFilter, Store } from '../../core/store.ts';
import { PuenteError } from '../../error.ts';
import type { WriteQueue } from './queue.ts';
import type { Read, Reader } from './reader.ts';
import { type NoticeRow, noticeOf } from './rows.ts';
import type { Value } from './unit.ts';

type LogMethods = Pick<Store, 'notices' | 'notice' | 'countNotices' | 'replayNotices'>;

export function noticeLogMethods(reader: Reader, queue: WriteQueue): LogMethods {
  const prepared = new Map<string, Read<Value[], LogRow | CountRow>>();
  /** Every set of filters has its own statement, so that each gets the index that suits it. */
  function run<Row extends LogRow | CountRow>(sql: string, values: Value[]): Row[] {
    const known = prepared.get(sql) ?? reader.prepare<Value[], LogRow | CountRow>(sql);
    prepared.set(sql, known);
    return known.all(...values) as Row[]; // the caller names what its own SELECT lists
  }
  const attempts = reader.prepare<[string], Attempt>(
    'SELECT at, duration_ms, outcome, status, detail, url FROM notice_attempts WHERE notice_id = ? ORDER BY rowid',
  );
  return {
    async notices(filter, limit) {
      const { where, values } = conditionsOf(filter);
      return run<LogRow>(`${LOGGED} WHERE ${where} ORDER BY created_at DESC, notices.rowid DESC LIMIT ?`, [
        ...values,
        limit,
      ]).map(loggedOf);
    },
    async notice(id) {
      const [row] = run<LogRow>(`${LOGGED} WHERE id = ?`, [id]);
      return row === undefined ? null : { notice: loggedOf(row), attempts: attempts.all(id) };
    },
    async countNotices(filter) {
      const { where, values } = conditionsOf(filter);
      return run<CountRow>(`SELECT count(*) AS found FROM notices WHERE ${where}`, values)[0]?.found ?? 0;
    },
    async replayNotices(ids, now, audit) {
      const list = JSON.stringify(ids);
      const result = await queue.commit({
        steps: [
          { write: 'hasten_replayed', values: [now, now, list] },
          { write: 'replay_notices', values: [now, list] },
        ],
        audit,
      });
      if (result.kind === 'done') return;
      throw new PuenteError('store_failed', `The notices were not replayed (${result.kind}): try again.`);
    },
  };
}

interface CountRow {
  found: number;
}

interface LogRow extends NoticeRow {
  tries: number;
  /** All `last_` columns are null before the first attempt. */
  last_at: number | null;
  last_duration_ms: number;
  last_outcome: Attempt['outcome'];
  last_status: number | null;
  last_detail: string;
  last_url: string | null;
}

const LOGGED = `SELECT notices.*, (SELECT count(*) FROM notice_attempts WHERE notice_id = notices.id) AS tries,
  last.at AS last_at, last.duration_ms AS last_duration_ms, last.outcome AS last_outcome, last.status AS last_status,
  last.detail AS last_detail, last.url AS last_url
  FROM notices LEFT JOIN notice_attempts AS last
  ON last.rowid = (SELECT max(rowid) FROM notice_attempts WHERE notice_id = notices.id)`;

function loggedOf(row: LogRow): LoggedNotice {
  const { tries, last_at, last_duration_ms, last_outcome, last_status, last_detail, last_url, ...plain } = row;
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
  return { ...noticeOf(plain), replayed: row.replayed === 1, tries, last_attempt };
}

function conditionsOf(filter: NoticeFilter): { where: string; values: Value[] } {
  const { merchant_id, states, topic, since, until } = filter;
  const conditions: [string, Value | undefined][] = [
    ['merchant_id = ?', merchant_id],
    // A single state can use its index, which a list can't.
    states?.length === 1 ? ['state = ?', states[0]] : ['state IN (SELECT value FROM json_each(?))', listOf(states)],
    ['topic = ?', topic],
    ['created_at >= ?', since],
    ['created_at < ?', until],
  ];
  const named = conditions.filter((one): one is [string, Value] => one[1] !== undefined);
  return {
    where: named.map(([sql]) => sql).join(' AND ') || '1',
    values: named.map(([, value]) => value),
  };
}

function listOf(states: readonly string[] | undefined): string | undefined {
  return states === undefined ? undefined : JSON.stringify(states);
}
