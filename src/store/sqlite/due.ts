/** Rows that are due in SQLite: links, notices, events; and sales looked up by a reference alone. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { StoreMethods } from '../engine.ts';
import { type EventRow, eventOf, type LinkRow, linkOf, type NoticeRow, noticeOf } from '../rows.ts';
import { SALE } from '../writes.ts';
import type { WriteQueue } from './group-commit.ts';
import type { Reader } from './reader.ts';

const IN_DOUBT = `state IN ('SENDING', 'IN_DOUBT')`;

export function dueLinkMethods(reader: Reader): Pick<StoreMethods, 'dueLinks'> {
  const reads = prepareLinkReads(reader);
  return {
    dueLinks: async (at, limit, except_merchants = []) =>
      dueRows(reads, at, JSON.stringify(except_merchants), limit).map(linkOf),
  };
}

/** Creates in doubt hold their terminals and go first; half of what is taken is left to the others, so that none starve. */
function dueRows(reads: ReturnType<typeof prepareLinkReads>, at: number, except: string, limit: number): LinkRow[] {
  const doubtful = reads.inDoubt.all(at, except, limit);
  const others = reads.due.all(at, except, limit - Math.min(doubtful.length, Math.ceil(limit / 2)));
  return [...doubtful.slice(0, limit - others.length), ...others];
}

function prepareLinkReads(reader: Reader) {
  return {
    inDoubt: reader.prepare<[number, string, number], LinkRow>(
      `SELECT * FROM links INDEXED BY links_in_doubt WHERE ${IN_DOUBT} AND next_check_at <= (SELECT ?)
       AND merchant_id NOT IN (SELECT value FROM json_each(?)) ORDER BY next_check_at LIMIT (SELECT ?)`,
    ),
    due: reader.prepare<[number, string, number], LinkRow>(
      `SELECT * FROM links INDEXED BY links_due WHERE next_check_at <= (SELECT ?) AND NOT (${IN_DOUBT})
       AND merchant_id NOT IN (SELECT value FROM json_each(?)) ORDER BY next_check_at LIMIT (SELECT ?)`,
    ),
  };
}

// Notices in SQLite that are due.

export function dueNoticeMethods(
  reader: Reader,
): Pick<StoreMethods, 'dueNotices' | 'dueNoticesInTurn' | 'dueNoticesBehind'> {
  const reads = prepareNoticeReads(reader);
  return {
    dueNotices: async (now, limit) => reads.due.all(now, limit).map(noticeOf),
    async dueNoticesInTurn({ now, after_merchant, merchants, each, except_merchants }) {
      const asked = reads.merchants.all(after_merchant, JSON.stringify(except_merchants), merchants);
      return {
        notices: asked.flatMap(({ id }) => reads.first.all(id, now, each)).map(noticeOf),
        last_merchant: asked.length < merchants ? null : (asked.at(-1)?.id ?? null),
      };
    },
    async dueNoticesBehind({ now, merchant_id, after, limit }) {
      const { next_attempt_at, created_at, sequence, id } = after ?? BEFORE_ALL;
      const place = [next_attempt_at, created_at, sequence, id] as const;
      return reads.behind.all(merchant_id, now, ...place, limit).map(noticeOf);
    },
  };
}

/** A place in the order of notices that is before all of them. */
const BEFORE_ALL = { next_attempt_at: Number.MIN_SAFE_INTEGER, created_at: 0, sequence: 0, id: '' };

/** Each names its index: by its own estimates SQLite reads the whole backlog and sorts it, for every look. */
function prepareNoticeReads(reader: Reader) {
  const waiting = `state = 'pending'`;
  const by_merchant = 'notices INDEXED BY notices_due_by_merchant';
  return {
    due: reader.prepare<[number, number], NoticeRow>(
      `SELECT * FROM notices INDEXED BY notices_due WHERE ${waiting} AND next_attempt_at <= (SELECT ?)
       ORDER BY next_attempt_at, created_at, sequence LIMIT (SELECT ?)`,
    ),
    // From one merchant to the next through the index, never through its notices.
    merchants: reader.prepare<[string, string, number], { id: string }>(
      `WITH RECURSIVE merchant (id) AS (
         SELECT min(merchant_id) FROM ${by_merchant} WHERE ${waiting} AND merchant_id > (SELECT ?)
         UNION ALL
         SELECT (SELECT min(merchant_id) FROM ${by_merchant} WHERE ${waiting} AND merchant_id > merchant.id)
         FROM merchant WHERE id IS NOT NULL)
       SELECT id FROM merchant WHERE id IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?)) LIMIT (SELECT ?)`,
    ),
    first: reader.prepare<[string, number, number], NoticeRow>(
      `SELECT * FROM ${by_merchant} WHERE ${waiting} AND merchant_id = (SELECT ?) AND next_attempt_at <= (SELECT ?)
       ORDER BY next_attempt_at, created_at, sequence LIMIT (SELECT ?)`,
    ),
    behind: reader.prepare<[string, number, number, number, number, string, number], NoticeRow>(
      `SELECT * FROM ${by_merchant} WHERE ${waiting} AND merchant_id = (SELECT ?) AND next_attempt_at <= (SELECT ?)
       AND (next_attempt_at, created_at, sequence, id) > ((SELECT ?), (SELECT ?), (SELECT ?), (SELECT ?))
       ORDER BY next_attempt_at, created_at, sequence, id LIMIT (SELECT ?)`,
    ),
  };
}

// The inbox in SQLite: events are committed before they are acknowledged, and merged until they are handed out.

export function inboxMethods(reader: Reader, queue: WriteQueue): Pick<StoreMethods, 'receiveEvent' | 'dueEvents'> {
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

// Sales by a reference alone, whoever's they are: one look into the index for each merchant, and no index of their
// own.

/** Merchants looked at in one go: a few ms, so that nothing waits longer for it. */
const SELLERS_A_TURN = 200;

type AnyMerchantMethods = Pick<StoreMethods, 'linksByAnyReference' | 'legacySalesByAnyReference'>;

export function anyMerchantMethods(reader: Reader): AnyMerchantMethods {
  const linkPlaces = placesIn(reader, {
    sellers: 'links',
    places: `SELECT rowid AS place, created_at AS at FROM links WHERE merchant_id = (SELECT ?)
      AND client_reference = (SELECT cover(?)) ORDER BY created_at DESC LIMIT ?`,
  });
  const link = reader.prepare<[number], LinkRow>('SELECT * FROM links WHERE rowid = ?');
  const salePlaces = placesIn(reader, {
    sellers: 'legacy_sales INDEXED BY legacy_sales_by_reference',
    condition: 'client_reference IS NOT NULL',
    // Rows are written in the order in which sales begin.
    places: `SELECT sequence AS place, sequence AS at FROM legacy_sales WHERE merchant_id = (SELECT ?)
      AND client_reference = (SELECT cover(?)) ORDER BY sequence DESC LIMIT ?`,
  });
  const sale = reader.prepare<[number], LegacySale>(`SELECT ${SALE} FROM legacy_sales WHERE sequence = ?`);
  return {
    linksByAnyReference: async (reference, limit) =>
      (await linkPlaces(reference, limit)).flatMap((place) => link.all(place)).map(linkOf),
    legacySalesByAnyReference: async (reference, limit) =>
      (await salePlaces(reference, limit)).flatMap((place) => sale.all(place)),
  };
}

interface Place {
  place: number;
  /** Rises with time. */
  at: number;
}

interface Search {
  sellers: string;
  condition?: string;
  /** The newest of one merchant, from the index alone. */
  places: string;
}

/** Where the newest rows are. Each merchant is found by one step along an index; a DISTINCT would read every row. */
function placesIn(reader: Reader, { sellers, condition = '1', places }: Search) {
  const next = reader.prepare<[string], { seller: string | null }>(
    `SELECT min(merchant_id) AS seller FROM ${sellers} WHERE merchant_id > ? AND ${condition}`,
  );
  const newest = reader.prepare<[string, string, number], Place>(places);
  return async (reference: string, limit: number): Promise<number[]> => {
    const found: Place[] = [];
    let seller = next.get('')?.seller ?? null;
    for (let looked = 1; seller !== null; looked++) {
      found.push(...newest.all(seller, reference, limit));
      seller = next.get(seller)?.seller ?? null;
      if (looked % SELLERS_A_TURN === 0) await nextTurn();
    }
    return found
      .toSorted((first, second) => second.at - first.at)
      .slice(0, limit)
      .map(({ place }) => place);
  };
}
