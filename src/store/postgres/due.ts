/** Rows that are due in PostgreSQL, each handed to one process only; and sales looked up by a reference alone. */

import type { LegacySale } from '../../proxy/records/routing.ts';
import type { Link } from '../../proxy/sales/link.ts';
import type { StoreMethods, Value, Writer } from '../engine.ts';
import { type EventRow, eventOf, type LinkRow, linkOf, type NoticeRow, noticeOf } from '../rows.ts';
import { LINK, NOTICE, SALE } from '../writes.ts';
import { claimOf, isFree } from './leases.ts';
import type { AwaitedRead, PostgresReader } from './reader.ts';

const IN_DOUBT = `state IN ('SENDING', 'IN_DOUBT')`;

export function dueLinkMethods(reader: PostgresReader, holder: string): Pick<StoreMethods, 'dueLinks'> {
  const reads = { inDoubt: dueWhere(reader, IN_DOUBT), others: dueWhere(reader, `NOT (${IN_DOUBT})`) };
  return {
    // Creates in doubt hold their terminals and go first; half of what is taken is left to the others, so that none starve.
    async dueLinks(at, limit, except_merchants = []) {
      const except = JSON.stringify(except_merchants);
      const find = async (which: keyof typeof reads, most: number): Promise<Link[]> =>
        most <= 0 ? [] : (await reads[which].all(at, except, holder, most, holder)).map(linkOf);
      const half = Math.ceil(limit / 2);
      const doubtful = await find('inDoubt', half);
      const others = await find('others', limit - doubtful.length);
      const room = limit - doubtful.length - others.length;
      const more = doubtful.length < half || room === 0 ? doubtful : await find('inDoubt', half + room);
      return [...more.slice(0, limit - others.length), ...others];
    },
  };
}

function dueWhere(reader: PostgresReader, which: string) {
  const chosen = `SELECT ${LINK} FROM links WHERE ${which} AND next_check_at IS NOT NULL AND next_check_at <= ?
    AND merchant_id NOT IN (SELECT value FROM json_each(?)) AND ${isFree('link', 'legacy_id')}
    ORDER BY next_check_at LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`;
  return reader.prepare<[number, string, string, number, string], LinkRow>(
    `${claimOf('link', 'legacy_id', chosen)} ORDER BY next_check_at`,
  );
}

// Notices that are due, each handed to one store only.

const WAITING = `state = 'pending'`;
/**
 * No other store is still telling an older one of the same topic and id, so that the newer one reaches its receiver last. Two
 * values: this store's name, as for each row that has to be free.
 */
const MAY_GO = `${isFree('notice', 'notices.id')} AND NOT EXISTS (SELECT 1 FROM notices AS older
  WHERE older.legacy_id = notices.legacy_id AND older.sequence < notices.sequence AND older.state = 'superseded'
  AND older.form = notices.form AND older.topic = notices.topic AND older.subject = notices.subject
  AND NOT ${isFree('notice', 'older.id')} OFFSET 0)`;
/** A place in the order of notices that is before all of them. */
const BEFORE_ALL = { next_attempt_at: Number.MIN_SAFE_INTEGER, created_at: 0, sequence: 0, id: '' };

type DueMethods = Pick<StoreMethods, 'dueNotices' | 'dueNoticesInTurn' | 'dueNoticesBehind'>;

export function dueNoticeMethods(reader: PostgresReader, holder: string): DueMethods {
  const reads = prepareReads(reader);
  return {
    dueNotices: async (now, limit) => (await reads.due.all(now, holder, holder, limit, holder)).map(noticeOf),
    async dueNoticesInTurn({ now, after_merchant, merchants, each, except_merchants }) {
      const asked = await reads.merchants.all(after_merchant, JSON.stringify(except_merchants), merchants);
      const ids = JSON.stringify(asked.map(({ id }) => id));
      return {
        notices: (await reads.first.all(ids, now, holder, holder, each, holder)).map(noticeOf),
        last_merchant: asked.length < merchants ? null : (asked.at(-1)?.id ?? null),
      };
    },
    async dueNoticesBehind({ now, merchant_id, after, limit }) {
      const { next_attempt_at, created_at, sequence, id } = after ?? BEFORE_ALL;
      const place = [next_attempt_at, created_at, sequence, id] as const;
      return (await reads.behind.all(merchant_id, now, ...place, holder, holder, limit, holder)).map(noticeOf);
    },
  };
}

function prepareReads(reader: PostgresReader) {
  return {
    due: claiming<[number, string, string, number, string]>(
      reader,
      `SELECT ${NOTICE} FROM notices WHERE ${WAITING} AND next_attempt_at <= ? AND ${MAY_GO}
       ORDER BY next_attempt_at, created_at, sequence LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`,
      'next_attempt_at, created_at, sequence',
    ),
    // From one merchant to the next through the index, never through its notices.
    merchants: reader.prepare<[string, string, number], { id: string }>(
      `WITH RECURSIVE merchant (id) AS (
         SELECT min(merchant_id) FROM notices WHERE ${WAITING} AND merchant_id > ?
         UNION ALL
         SELECT (SELECT min(merchant_id) FROM notices WHERE ${WAITING} AND merchant_id > merchant.id)
         FROM merchant WHERE id IS NOT NULL)
       SELECT id FROM merchant WHERE id IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?)) LIMIT ?`,
    ),
    first: claiming<[string, number, string, string, number, string]>(
      reader,
      `SELECT first.* FROM json_array_elements_text(?::json) AS merchant (id) CROSS JOIN LATERAL (
         SELECT ${NOTICE} FROM notices WHERE ${WAITING} AND merchant_id = merchant.id AND next_attempt_at <= ?
         AND ${MAY_GO}
         ORDER BY next_attempt_at, created_at, sequence LIMIT ? FOR NO KEY UPDATE SKIP LOCKED) AS first`,
      'merchant_id, next_attempt_at, created_at, sequence',
    ),
    behind: claiming<[string, number, number, number, number, string, string, string, number, string]>(
      reader,
      `SELECT ${NOTICE} FROM notices WHERE ${WAITING} AND merchant_id = ? AND next_attempt_at <= ?
       AND (next_attempt_at, created_at, sequence, id) > (?, ?, ?, ?) AND ${MAY_GO}
       ORDER BY next_attempt_at, created_at, sequence, id LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`,
      'next_attempt_at, created_at, sequence, chosen.id',
    ),
  };
}

function claiming<Values extends Value[]>(
  reader: PostgresReader,
  chosen: string,
  order: string,
): AwaitedRead<Values, NoticeRow> {
  return reader.prepare<Values, NoticeRow>(`${claimOf('notice', 'id', chosen)} ORDER BY ${order}`);
}

// The inbox: events are committed before they are acknowledged, merged until somebody takes them, and each handed to
// one store only.

export function inboxMethods(
  reader: PostgresReader,
  writer: Writer,
  holder: string,
): Pick<StoreMethods, 'receiveEvent' | 'dueEvents'> {
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

// Sales by a reference alone, whoever's they are: one look into the index for each merchant, all in one round trip.

type AnyMerchantMethods = Pick<StoreMethods, 'linksByAnyReference' | 'legacySalesByAnyReference'>;

export function anyMerchantMethods(reader: PostgresReader): AnyMerchantMethods {
  const links = reader.prepare<[string, number, number], LinkRow>(
    newestOfAll('links', LINK, 'created_at DESC, legacy_id DESC'),
  );
  const sales = reader.prepare<[string, number, number], LegacySale & { sequence: number }>(
    newestOfAll('legacy_sales', `${SALE}, sequence`, 'sequence DESC'),
  );
  return {
    linksByAnyReference: async (reference, limit) => (await links.all(reference, limit, limit)).map(linkOf),
    legacySalesByAnyReference: async (reference, limit) =>
      (await sales.all(reference, limit, limit)).map(({ sequence, ...sale }) => sale),
  };
}

/** From one merchant to the next through the index; a DISTINCT would read every row. */
function newestOfAll(table: string, columns: string, order: string): string {
  const next = (after: string) =>
    `SELECT min(merchant_id) FROM ${table} WHERE client_reference IS NOT NULL AND merchant_id > ${after}`;
  return `WITH RECURSIVE seller (id) AS (${next("''")} UNION ALL SELECT (${next('seller.id')}) FROM seller WHERE id IS NOT NULL)
    SELECT found.* FROM seller CROSS JOIN LATERAL (SELECT ${columns} FROM ${table}
      WHERE merchant_id = seller.id AND client_reference = cover(?) ORDER BY ${order} LIMIT ?) AS found
    ORDER BY ${order} LIMIT ?`;
}
