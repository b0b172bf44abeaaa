/** Reads for operators: past links, open work, and the audit. */
import { PuenteError } from '../error.ts';
import { say } from '../locales/message.ts';
import type { AuditLine } from '../proxy/audit.ts';
import { FINAL, HOLDING, LIVE, NEWEST_FIRST, OF_CLIENT_REFERENCE } from './conditions.ts';
import { type Condition, filteredReads, type Reader, type StoreMethods, type Writer } from './engine.ts';
import { BY_ID, linkReads } from './links.ts';
import { type PageValues, pageOf, parsing, readsOf } from './rows.ts';

/** Times are epoch ms; periods include their first moment and not their last. */
export function historyMethods(reader: Reader) {
  const { link, links } = linkReads(reader);
  const byId = link<[string]>(BY_ID);
  const live = links<[number]>(`${LIVE} ${OLDEST_FIRST}`);
  const liveOf = links<[string, number]>(`merchant_id = ? AND ${LIVE} ${OLDEST_FIRST}`);
  const changed = links<[number, number, string, number]>(
    `updated_at >= (SELECT ?) AND (updated_at, legacy_id) > ((SELECT ?), (SELECT ?))
     ORDER BY updated_at, legacy_id LIMIT (SELECT ?)`,
  );
  const made = links<PageValues>(pageOf('legacy_id'));
  const past: StoreMethods['linkHistory'] = readsOf(reader).list(
    'SELECT at, state, legacy_state, order_status FROM link_states WHERE legacy_id = ? ORDER BY revision',
  );
  return {
    linksByClientReference: links(OF_CLIENT_REFERENCE),
    linksOf: links(`merchant_id = (SELECT ?) AND created_at >= (SELECT ?) AND created_at < (SELECT ?) ${NEWEST_FIRST}`),
    finishedLinks: links(FINISHED),
    liveLinks: (merchant_id, limit) => (merchant_id === null ? live(limit) : liveOf(merchant_id, limit)),
    linksChangedSince: (since, after, limit) =>
      changed(since, after?.updated_at ?? since, after?.legacy_id ?? '', limit),
    linksMade: ({ merchant_id, since, until, after, limit }) =>
      made(merchant_id, until, after?.created_at ?? since, after?.id ?? '', limit),
    async linkHistory(legacy_id) {
      const known = await past(legacy_id);
      if (known.length > 0) return known;
      // A link from before the history table has its present state only.
      const present = await byId(legacy_id);
      if (present === null) return [];
      const { updated_at: at, state, legacy_state, order } = present;
      return [{ at, state, legacy_state, order_status: order?.status ?? null }];
    },
  } satisfies Partial<StoreMethods>;
}

const OLDEST_FIRST = 'ORDER BY created_at, legacy_id LIMIT ?';

export const FINISHED = `merchant_id = ? AND ${FINAL} AND legacy_state_at >= ? AND legacy_state_at < ?
  ORDER BY legacy_state_at DESC, created_at DESC LIMIT (SELECT ?)`;

/** Each part reads an index of open rows, which are few. */
const OPEN_COUNTS = `SELECT merchant_id, count(*) FILTER (WHERE what = 'orders') AS orders,
    count(*) FILTER (WHERE what = 'legacy') AS legacy, count(*) FILTER (WHERE state = 'IN_DOUBT') AS in_doubt,
    count(*) FILTER (WHERE what = 'notice') AS notices_pending
  FROM (SELECT merchant_id, 'orders' AS what, state FROM links WHERE ${LIVE}
    UNION ALL SELECT merchant_id, 'legacy', state FROM legacy_sales
      WHERE slot IS NOT NULL AND ${HOLDING} AND ends_at > (SELECT ?)
    UNION ALL SELECT merchant_id, 'notice', state FROM notices WHERE state = 'pending') AS open
  GROUP BY merchant_id ORDER BY merchant_id`;

/**
 * Counts by state, and each merchant's open work, from sums and indexes of open rows: the cost does not grow with past
 * sales.
 */
export function countMethods(reader: Reader): Pick<StoreMethods, 'counts' | 'openCounts'> {
  const links = reader.prepare<[], { state: string; links: number }>('SELECT state, links FROM link_counts');
  const backlog = reader.prepare<[], { notices_pending: number; events_waiting: number }>(
    `SELECT (SELECT count(*) FROM notices WHERE state = 'pending') AS notices_pending,
       (SELECT count(*) FROM events WHERE state = 'pending') + (SELECT count(*) FROM events WHERE state = 'parked')
       AS events_waiting`,
  );
  return {
    counts: async () => ({
      links: Object.fromEntries((await links.all()).map((row) => [row.state, row.links])),
      ...((await backlog.get()) ?? { notices_pending: 0, events_waiting: 0 }),
    }),
    openCounts: readsOf(reader).list(OPEN_COUNTS),
  };
}

// The audit: the writer chains each line and writes it in the unit that it belongs to.

/**
 * `appendAudit` @throws PuenteError conflict when its subject has a newer line than `newest_seen`, and store_failed
 * when the line was not written.
 */
export function auditMethods(reader: Reader, writer: Writer) {
  const run = filteredReads(reader);
  const { list } = readsOf(reader);
  return {
    async appendAudit(audit, newest_seen) {
      const result = await writer.commit({ steps: [], audit, ...(newest_seen === undefined ? {} : { newest_seen }) });
      if (result.kind === 'done') return;
      if (result.kind === 'conflict')
        throw new PuenteError('conflict', say('refusal.audit_moved', { id: audit.subject }));
      throw new PuenteError('store_failed', `The audit line ${audit.action} was not written: try again.`);
    },
    audits: list('SELECT * FROM audit ORDER BY sequence DESC LIMIT ?', lineOf),
    auditsAfter: list('SELECT * FROM audit WHERE sequence > (SELECT ?) ORDER BY sequence LIMIT ?', lineOf),
    async auditsOf(filter, limit) {
      const conditions: Condition[] = [
        ['subject = ?', filter.subject],
        ['action = ?', filter.action],
        ['at >= ?', filter.since],
        ['at < ?', filter.until],
        ['sequence > ?', filter.after],
        ['sequence < ?', filter.before],
      ];
      const sql = (where: string) => `SELECT * FROM audit WHERE ${where} ORDER BY sequence DESC LIMIT ?`;
      return (await run<Parameters<typeof lineOf>[0]>(conditions, sql, limit)).map(lineOf);
    },
  } satisfies Partial<StoreMethods>;
}

const lineOf = parsing<AuditLine>('detail');
