/** Due rows in SQLite, where one process has them all; the inbox; and sales looked up by a reference alone. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { LegacySale } from '../../proxy/records/routing.ts';
import type { HandOut, StoreMethods, Value } from '../engine.ts';
import { dueEventsRead } from '../events.ts';
import { type LinkRow, linkOf, type NoticeRow } from '../rows.ts';
import { SALE } from '../writes.ts';
import type { WriteQueue } from './group-commit.ts';
import type { Reader } from './reader.ts';

export function handOutFrom(reader: Reader): HandOut {
  return <Values extends Value[], Row>(_what: string, select: string, order: string) =>
    reader.prepare<[...Values, number], Row>(`${select} ORDER BY ${order} LIMIT (SELECT ?)`).all;
}

/** The oldest due notices of each merchant. */
export function firstOfEachFrom(reader: Reader, select: string, order: string) {
  const first = reader.prepare<[string, number, number], NoticeRow>(`${select} ORDER BY ${order} LIMIT (SELECT ?)`);
  return (ids: readonly string[], now: number, each: number) => ids.flatMap((id) => first.all(id, now, each));
}

// The inbox: events are committed before they are acknowledged, and merged until they are handed out.

export function inboxMethods(reader: Reader, queue: WriteQueue) {
  const due = dueEventsRead(handOutFrom(reader));
  // An event that was handed out may have been read upstream already: what happens now might not be in that answer any more,
  // so an identical event is merged only into a later one.
  let handedOut = 0;
  return {
    async receiveEvent({ received_at, order_id, reference, user_id, verified: is_verified, action }) {
      const verified = is_verified ? 1 : 0;
      const row = [received_at, order_id, reference, user_id, verified, action, received_at];
      const same = [order_id, reference, user_id, verified, action, handedOut];
      await queue.commit({ steps: [{ write: 'receive_event', values: [...row, ...same] }] });
    },
    async dueEvents(now, limit) {
      const events = await due(now, limit);
      for (const { sequence } of events) handedOut = Math.max(handedOut, sequence);
      return events;
    },
  } satisfies Partial<StoreMethods>;
}

// Sales of all merchants by a reference alone: one look into the index of each merchant, and no index of their own.

/** Merchants looked at in one go: a few ms, so that nothing waits longer for it. */
const SELLERS_A_TICK = 200;

export function anyMerchantMethods(reader: Reader) {
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
  } satisfies Partial<StoreMethods>;
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
      if (looked % SELLERS_A_TICK === 0) await yieldToEventLoop();
    }
    return found
      .toSorted((first, second) => second.at - first.at)
      .slice(0, limit)
      .map(({ place }) => place);
  };
}
