/** Retention: deletes old rows that need no more work, kind by kind, a few at a time; no live row, no audit line. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { DAY_MS, HOUR_MS } from '../contract/duration.ts';
import { PuenteError } from '../error.ts';
import type { RetentionKind, RetentionLimits } from '../proxy/records/upkeep.ts';
import { LONGEST_EVENT_WAIT_MS } from '../proxy/store.ts';
import { OVER, unindexed } from './conditions.ts';
import { type Reader, type Step, type StoreMethods, storeFailed, type Writer } from './engine.ts';

/**
 * Limits are epoch ms. The counts leave out rows that belong to a deleted link or notice. @throws PuenteError
 * store_failed when a rule of the schema refuses a deletion; the next round tries it again.
 */
export function retentionMethods(reader: Reader, writer: Writer): Pick<StoreMethods, 'tidyOld'> {
  const reads = prepareReads(reader);
  /** @returns rows deleted: none when another process was first or a link is live again; the next round tries again. */
  const write = async (kind: RetentionKind, rows: number, steps: Step[]): Promise<number> => {
    if (rows === 0) return 0;
    const result = await writer.commit({ steps });
    if (result.kind === 'constraint')
      throw new PuenteError('store_failed', `Old ${kind} were not deleted (${result.text}): they are tried again.`);
    return result.kind === 'done' ? rows : 0;
  };
  return {
    async tidyOld(limits, limit) {
      const { links_before, notices_before, events_before, sums_before, tokens_before } = limits;
      const links = await reads.links(links_before, limit);
      const deleted = { links: await write('links', links.length, linkSteps(links, 'delete_links')) };
      const notices = keysOf(await reads.notices.all(notices_before, notices_before, notices_before, limit));
      const incidents = keysOf(await reads.incidents.all(notices_before, limit));
      const events = keysOf(await reads.events.all(events_before, limit));
      const sums = (await reads.sums.get(dayOf(sums_before), limit, dayOf(sums_before), limit))?.count ?? 0;
      const tokens = keysOf(await reads.tokens.all(tokens_before, limit));
      return {
        ...deleted,
        notices:
          (await write('notices', notices.length, noticeSteps(notices))) +
          (await write('notices', incidents.length, incidentSteps(incidents))),
        events: await write('events', events.length, [{ write: 'delete_events', values: [JSON.stringify(events)] }]),
        sums: await write('sums', sums, sumSteps(limits, limit)),
        tokens: await write('tokens', tokens.length, [
          { write: 'blank_tokens', values: [new Uint8Array(0), JSON.stringify(tokens), tokens_before] },
        ]),
      };
    },
  };
}

/**
 * The steps that delete links with everything of them, for one unit. @param last `delete_links` also refuses a link
 * with a check scheduled.
 */
export function linkSteps(legacy_ids: readonly string[], last: 'delete_links' | 'erase_links'): Step[] {
  const list = JSON.stringify(legacy_ids);
  return [
    { write: 'delete_events_of_links', values: [list, list] },
    { write: 'delete_attempts_of_links', values: [list] },
    { write: 'delete_notices_of_links', values: [list] },
    { write: 'delete_refunds_of_links', values: [list] },
    { write: 'delete_history_of_links', values: [list] },
    // All or none: a link that is live again keeps its notices, refunds and history.
    { write: last, values: [list], changes: legacy_ids.length },
  ];
}

function noticeSteps(ids: readonly string[]): Step[] {
  const list = JSON.stringify(ids);
  return [
    { write: 'delete_attempts_of_notices', values: [list] },
    { write: 'delete_notices', values: [list], changes: ids.length },
  ];
}

/** Closed incidents, with their alerts, are kept as long as notices. */
function incidentSteps(ids: readonly string[]): Step[] {
  const values = [JSON.stringify(ids)];
  return [
    { write: 'delete_alerts', values },
    { write: 'delete_incidents', values, changes: ids.length },
  ];
}

function sumSteps({ sums_before }: RetentionLimits, limit: number): Step[] {
  const day = dayOf(sums_before);
  return [
    { write: 'delete_traffic', values: [day, limit] },
    { write: 'delete_readiness', values: [day, limit] },
    { write: 'delete_shed', values: [day] },
    { write: 'delete_hours', values: [Math.floor(sums_before / HOUR_MS)] },
  ];
}

function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

interface Key<Type> {
  key: Type;
}

function keysOf<Type>(rows: readonly Key<Type>[]): Type[] {
  return rows.map(({ key }) => key);
}

function prepareReads(reader: Reader) {
  return {
    links: oldLinks(reader),
    notices: reader.prepare<[number, number, number, number], Key<string>>(
      `${['delivered', 'dead', 'superseded'].map(oldNotices).join(' UNION ALL ')} LIMIT ?`,
    ),
    incidents: reader.prepare<[number, number], Key<string>>(
      'SELECT id AS key FROM incidents WHERE closed_at < (SELECT ?) ORDER BY closed_at LIMIT ?',
    ),
    events: reader.prepare<[number, number], Key<number>>(
      `SELECT sequence AS key FROM events INDEXED BY events_over WHERE state IN ('done', 'expired') AND received_at < (SELECT ?)
       ORDER BY received_at LIMIT ?`,
    ),
    sums: reader.prepare<[number, number, number, number], { count: number }>(
      `SELECT (SELECT count(*) FROM (SELECT 1 FROM traffic INDEXED BY traffic_by_day WHERE day < (SELECT ?) LIMIT ?) AS old)
         + (SELECT count(*) FROM (SELECT 1 FROM readiness_days INDEXED BY readiness_by_day WHERE day < (SELECT ?) LIMIT ?) AS old)
         AS count`,
    ),
    tokens: reader.prepare<[number, number], Key<string>>(
      `SELECT fingerprint AS key FROM tokens WHERE seen_at < ? AND length(sealed_token) > 0 LIMIT ?`,
    ),
  };
}

function oldNotices(state: string): string {
  return `SELECT id AS key FROM notices INDEXED BY notices_by_state WHERE state = '${state}' AND created_at < (SELECT ?)`;
}

// Old links without more work, oldest first; links with a pending notice or an open refund are skipped for a round.

/** Read between two event-loop ticks. */
const PAGE_ROWS = 200;

export const OLD_LINKS = `SELECT legacy_id, updated_at,
  CASE WHEN EXISTS (SELECT 1 FROM notices WHERE notices.legacy_id = links.legacy_id AND ${unindexed('notices.state')} = 'pending')
  OR EXISTS (SELECT 1 FROM refunds WHERE refunds.legacy_id = links.legacy_id AND refunds.state IN ('SENDING', 'IN_DOUBT'))
  THEN 1 ELSE 0 END AS is_held FROM links INDEXED BY links_by_change
  WHERE updated_at < (SELECT ?) AND (updated_at, legacy_id) > ((SELECT ?), (SELECT ?)) AND ${OVER} AND next_check_at IS NULL
  ORDER BY updated_at, legacy_id LIMIT ?`;

interface OldLink {
  legacy_id: string;
  updated_at: number;
  /** 1 when a notice is pending or a refund is open. */
  is_held: number;
}

const BEFORE_ALL = { updated_at: Number.MIN_SAFE_INTEGER, legacy_id: '' };

/**
 * Each call continues after the one before, and restarts at the oldest after the last. All sales of a merchant without
 * a notice URL are held: a round that began with them each time would not end.
 * @returns at most `limit` links to delete, fewer only at the end.
 */
function oldLinks(reader: Reader): (before: number, limit: number) => Promise<string[]> {
  const page = reader.prepare<[number, number, string, number], OldLink>(OLD_LINKS);
  let place = BEFORE_ALL;
  return async (before, limit) => {
    const free: string[] = [];
    while (free.length < limit) {
      const wanted = Math.min(PAGE_ROWS, limit - free.length);
      const found = await page.all(before, place.updated_at, place.legacy_id, wanted);
      free.push(...found.filter(({ is_held }) => is_held === 0).map(({ legacy_id }) => legacy_id));
      const last = found.at(-1);
      place = last === undefined || found.length < wanted ? BEFORE_ALL : last;
      if (place === BEFORE_ALL) break;
      await yieldToEventLoop();
    }
    return free;
  };
}

// Corrects times written by a clock that ran ahead.

const EVERYTHING = ['pull_links', 'pull_events', 'pull_notices'] as const;

/** Times are epoch ms, and `newestMoment` is 0 for an empty store. `pullForward` @throws PuenteError store_failed. */
export function scheduleMethods(reader: Reader, writer: Writer) {
  const newest = reader.prepare<[], { at: number | null }>(
    `SELECT max(moment.at) AS at FROM (SELECT max(updated_at) AS at FROM links
       UNION ALL SELECT max(created_at) FROM notices
       UNION ALL SELECT max(received_at) FROM events WHERE state = 'pending'
       UNION ALL SELECT max(next_attempt_at) - ${LONGEST_EVENT_WAIT_MS} FROM events WHERE state = 'pending'
       UNION ALL SELECT at + duration_ms FROM notice_attempts WHERE rowid = (SELECT max(rowid) FROM notice_attempts)
       UNION ALL SELECT at FROM exchanges WHERE sequence = (SELECT max(sequence) FROM exchanges)) AS moment`,
  );
  return {
    newestMoment: async () => Math.max((await newest.get())?.at ?? 0, 0),
    async pullForward(now) {
      const result = await writer.commit({ steps: EVERYTHING.map((write) => ({ write, values: [now] })) });
      if (result.kind !== 'done') throw storeFailed('failed', 'what waits could not be moved');
    },
  } satisfies Partial<StoreMethods>;
}
