/** Due rows in PostgreSQL, each handed to one store only; the inbox; and sales looked up by a reference alone. */

import type { LegacySale } from '../../proxy/records/routing.ts';
import type { HandOut, StoreMethods, Value, Writer } from '../engine.ts';
import { dueEventsRead } from '../events.ts';
import { type LinkRow, linkOf, type NoticeRow } from '../rows.ts';
import { LINK, SALE } from '../writes.ts';
import { claimOf, isFree } from './leases.ts';
import type { PostgresReader } from './reader.ts';

/**
 * What makes a row free, with the store's name as its values. A notice is held up while another store still delivers an older
 * one of the same topic and id, so that the newer one reaches its receiver last.
 */
const FREE = {
  link: { key: 'legacy_id', condition: isFree('link', 'legacy_id'), names: 1 },
  event: { key: 'sequence', condition: isFree('event', 'CAST(events.sequence AS TEXT)'), names: 1 },
  notice: {
    key: 'id',
    condition: `${isFree('notice', 'notices.id')} AND NOT EXISTS (SELECT 1 FROM notices AS older
  WHERE older.legacy_id = notices.legacy_id AND older.sequence < notices.sequence AND older.state = 'superseded'
  AND older.form = notices.form AND older.topic = notices.topic AND older.subject = notices.subject
  AND NOT ${isFree('notice', 'older.id')} OFFSET 0)`,
    names: 2,
  },
};

/** @param holder this store's name. */
export function handOutTo(reader: PostgresReader, holder: string): HandOut {
  return <Values extends Value[], Row>(what: keyof typeof FREE, select: string, order: string) => {
    const { key, condition, names } = FREE[what];
    const chosen = `${select} AND ${condition} ORDER BY ${order} LIMIT ? FOR NO KEY UPDATE SKIP LOCKED`;
    const read = reader.prepare<Value[], Row>(`${claimOf(what, key, chosen)} ORDER BY ${order}`);
    const holders = Array(names).fill(holder);
    return (...values: [...Values, limit: number]) =>
      read.all(...values.slice(0, -1), ...holders, values.at(-1) ?? 0, holder);
  };
}

/** The oldest due notices of each merchant, in one round trip. */
export function firstOfEachTo(reader: PostgresReader, holder: string, select: string, order: string) {
  const chosen = `SELECT first.* FROM json_array_elements_text(?::json) AS merchant (id) CROSS JOIN LATERAL (
    ${select.replace('merchant_id = (SELECT ?)', 'merchant_id = merchant.id')} AND ${FREE.notice.condition}
    ORDER BY ${order} LIMIT ? FOR NO KEY UPDATE SKIP LOCKED) AS first`;
  const read = reader.prepare<[string, number, string, string, number, string], NoticeRow>(
    `${claimOf('notice', 'id', chosen)} ORDER BY merchant_id, ${order}`,
  );
  return (ids: readonly string[], now: number, each: number) =>
    read.all(JSON.stringify(ids), now, holder, holder, each, holder);
}

// The inbox: events are committed before they are acknowledged, and merged until a store takes them.

export function inboxMethods(reader: PostgresReader, writer: Writer, holder: string) {
  return {
    async receiveEvent({ received_at, order_id, reference, user_id, verified, action }) {
      const same = [order_id, reference, user_id, verified ? 1 : 0, action];
      // Two that arrive at once would not see each other.
      const locks = { alone: [`event ${JSON.stringify(same)}`] };
      await writer.commit({ steps: [{ write: 'receive_event', values: [received_at, ...same] }], locks });
    },
    dueEvents: dueEventsRead(handOutTo(reader, holder)),
  } satisfies Partial<StoreMethods>;
}

// Sales of all merchants by a reference alone: one look into the index of each merchant, all in one round trip.

export function anyMerchantMethods(reader: PostgresReader) {
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
  } satisfies Partial<StoreMethods>;
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
