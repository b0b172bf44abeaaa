/** Deleting what is old and over, kind by kind, a few rows at a time; never a live row, never an audit line. */
import type { RetentionKind, RetentionLimits, UpkeepStore } from '../core/records/upkeep.ts';
import { PuenteError } from '../error.ts';
import type { Reader, Writer } from './engine.ts';
import type { Step } from './unit.ts';
import { OVER } from './writes-upkeep.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** `coalesce` keeps the index of states away: it would read everything that is pending, for each link. */
export const OLD_LINKS = `SELECT legacy_id AS key FROM links INDEXED BY links_by_change
  WHERE updated_at < (SELECT ?) AND ${OVER} AND next_check_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM notices WHERE notices.legacy_id = links.legacy_id AND coalesce(notices.state, '') = 'pending')
  AND NOT EXISTS (SELECT 1 FROM refunds WHERE refunds.legacy_id = links.legacy_id
    AND refunds.state IN ('SENDING', 'IN_DOUBT'))
  ORDER BY updated_at, legacy_id LIMIT ?`;

export function retentionMethods(reader: Reader, writer: Writer): Pick<UpkeepStore, 'tidyOld'> {
  let prepared: ReturnType<typeof prepareReads> | null = null;
  const write = async (kind: RetentionKind, steps: Step[]): Promise<void> => {
    const result = await writer.commit({ steps });
    if (result.kind !== 'done') throw new PuenteError('store_failed', `Old ${kind} were not deleted: try again.`);
  };
  return {
    async tidyOld(limits, limit) {
      const { links_before, notices_before, sums_before, tokens_before } = limits;
      prepared ??= prepareReads(reader);
      const reads = prepared;
      const links = (await reads.links.all(links_before, limit)).map(({ key }) => key);
      if (links.length > 0) await write('links', linkSteps(links, 'delete_links'));
      const notices = await reads.notices.all('delivered', notices_before, 'dead', notices_before, limit);
      if (notices.length > 0) await write('notices', noticeSteps(notices.map(({ key }) => key)));
      const sums = (await reads.traffic.get(dayOf(sums_before), limit))?.count ?? 0;
      if (sums > 0) await write('sums', sumSteps(limits, limit));
      const tokens = (await reads.tokens.all(tokens_before, limit)).map(({ key }) => key);
      if (tokens.length > 0)
        await write('tokens', [{ write: 'blank_tokens', values: [JSON.stringify(tokens), tokens_before] }]);
      return { links: links.length, notices: notices.length, sums, tokens: tokens.length };
    },
  };
}

/** Everything of the links in one unit. @param last how the links themselves go. */
export function linkSteps(legacy_ids: readonly string[], last: 'delete_links' | 'erase_links'): Step[] {
  const list = JSON.stringify(legacy_ids);
  return [
    { write: 'delete_events_of_links', values: [list, list] },
    { write: 'delete_attempts_of_links', values: [list] },
    { write: 'delete_notices_of_links', values: [list] },
    { write: 'delete_refunds_of_links', values: [list] },
    { write: 'delete_history_of_links', values: [list] },
    // All or none: a link that is live again keeps what hangs on it.
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

function sumSteps({ sums_before }: RetentionLimits, limit: number): Step[] {
  const day = dayOf(sums_before);
  return [
    { write: 'delete_traffic', values: [day, limit] },
    { write: 'delete_shed', values: [day] },
    { write: 'delete_hours', values: [Math.floor(sums_before / HOUR_MS)] },
  ];
}

function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

interface Key {
  key: string;
}

function prepareReads(reader: Reader) {
  return {
    links: reader.prepare<[number, number], Key>(OLD_LINKS),
    notices: reader.prepare<[string, number, string, number, number], Key>(
      `SELECT id AS key FROM notices INDEXED BY notices_by_state WHERE state = (SELECT ?) AND created_at < (SELECT ?)
       UNION ALL
       SELECT id AS key FROM notices INDEXED BY notices_by_state WHERE state = (SELECT ?) AND created_at < (SELECT ?)
       LIMIT ?`,
    ),
    traffic: reader.prepare<[number, number], { count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 FROM traffic INDEXED BY traffic_by_day WHERE day < (SELECT ?) LIMIT ?) AS old`,
    ),
    tokens: reader.prepare<[number, number], Key>(
      `SELECT fingerprint AS key FROM tokens WHERE seen_at < ? AND length(sealed_token) > 0 LIMIT ?`,
    ),
  };
}
