/** Exchanges as they are read: one, or page after page; and the deleting of old ones. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PuenteError } from '../error.ts';
import type { CallSeen, ExchangeFilter } from '../proxy/records/evidence.ts';
import type { Store } from '../proxy/store.ts';
import type { Reader, Writer } from './engine.ts';
import { type ExchangeRow, exchangeOf } from './exchange-rows.ts';
import { filteredReads, whereOf } from './filtered.ts';
import type { Value } from './unit.ts';

/** Rows looked at in one go where the filter may pass few of them: some 10 ms, so that nothing waits longer for it. */
const SLICE_ROWS = 20_000;
/** As `place_exchanges` counts. */
const HOUR_MS = 60 * 60_000;

export function exchangeMethods(reader: Reader): Pick<Store, 'lastExchange' | 'exchange' | 'exchanges' | 'calls'> {
  const byId = reader.prepare<[string], ExchangeRow>('SELECT * FROM exchanges WHERE id = ?');
  const newest = reader.prepare<[], { last: number }>('SELECT coalesce(max(sequence), 0) AS last FROM exchanges');
  return {
    lastExchange: async () => (await newest.get())?.last ?? 0,
    exchange: async (id) => (await byId.all(id)).map(exchangeOf)[0] ?? null,
    exchanges: pageReader(reader, '*', exchangeOf),
    calls: pageReader<CallSeen, CallSeen>(
      reader,
      'sequence, at, merchant_id, lane, outcome, duration_ms',
      (row) => row,
    ),
  };
}

/** Where an exchange of a filter can be: sequences in (`after`, `last`]. */
interface Range {
  after: number;
  last: number;
}

function pageReader<Row, Kept>(
  reader: Reader,
  columns: string,
  keptOf: (row: Row) => Kept,
): (filter: ExchangeFilter, after: number, limit: number) => Promise<Kept[]> {
  const run = filteredReads(reader);
  const rangeOf = async (filter: ExchangeFilter): Promise<Range> => {
    const { where, values } = whereOf([
      ['hour >= ?', filter.since === undefined ? undefined : Math.floor(filter.since / HOUR_MS)],
      ['hour <= ?', filter.until === undefined ? undefined : Math.floor(filter.until / HOUR_MS)],
    ]);
    const sql = `SELECT coalesce(min(first_sequence) - 1, 0) AS after, coalesce(max(last_sequence), 0) AS last
      FROM exchange_hours WHERE ${where}`;
    return (await run<Range>(sql, values))[0] ?? { after: 0, last: 0 };
  };
  return async (filter, cursor, limit) => {
    const { sql, values, sparse } = queryOf(filter, columns);
    const range = await rangeOf(filter);
    const found: Kept[] = [];
    let after = Math.max(cursor, range.after);
    while (after < range.last && found.length < limit) {
      const last = sparse ? Math.min(range.last, after + SLICE_ROWS) : range.last;
      const rows = await run<Row>(sql, [...values, after, last, limit - found.length]);
      for (const row of rows) found.push(keptOf(row));
      after = last;
      if (sparse) await nextTurn();
    }
    return found;
  };
}

/**
 * The index is named, so that no statistics can ever talk SQLite into sorting: each of them is in the order of pages. Where
 * none fits, rows are looked at one after the other, and `sparse` says that few of them may pass.
 */
export function queryOf(filter: ExchangeFilter, columns = '*'): { sql: string; values: Value[]; sparse: boolean } {
  const { merchant_id, legacy_id, captured, operation, lane } = filter;
  const { where, values } = whereOf([
    ['legacy_id = ?', legacy_id],
    ['merchant_id = ?', merchant_id],
    ['at >= ?', filter.since],
    ['at < ?', filter.until],
    ['operation = ?', operation],
    ['lane = ?', lane],
  ]);
  const messages = captured === undefined ? 'true' : `messages IS ${captured ? 'NOT NULL' : 'NULL'}`;
  const sql = `SELECT ${columns} FROM exchanges ${indexFor(filter)} WHERE ${where} AND ${messages}
    AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`;
  const sparse = operation !== undefined || lane !== undefined || captured !== undefined;
  return { sql, values, sparse };
}

function indexFor({ legacy_id, merchant_id, captured }: ExchangeFilter): string {
  if (legacy_id !== undefined) return 'INDEXED BY exchanges_by_legacy';
  if (merchant_id === undefined) return 'NOT INDEXED';
  return `INDEXED BY ${captured === true ? 'exchanges_captured' : 'exchanges_by_merchant'}`;
}

/**
 * Deletes old exchanges, and blanks old messages.
 * @param rows what old exchanges are taken from, row by row.
 * @param messages `of kept`: what is older goes here in the same step; `of all`: it may stay for a while, without messages.
 */
export function tidierOf(
  reader: Reader,
  writer: Writer,
  { rows, messages }: { rows: string; messages: 'of kept' | 'of all' } = {
    rows: 'exchanges INDEXED BY exchanges_by_time',
    messages: 'of kept',
  },
): Store['tidyExchanges'] {
  const old = reader.prepare<[number, number], { sequence: number }>(
    `SELECT sequence FROM ${rows} WHERE at < (SELECT ?) ORDER BY at LIMIT ?`,
  );
  const captured = reader.prepare<[number, number, number], { sequence: number }>(
    `SELECT sequence FROM exchanges INDEXED BY exchanges_captured_by_time WHERE messages IS NOT NULL
       AND at >= (SELECT ?) AND at < (SELECT ?) ORDER BY at LIMIT ?`,
  );
  const list = (found: { sequence: number }[]) => JSON.stringify(found.map((row) => row.sequence));
  return async (exchanges_before, messages_before, limit) => {
    const gone = await old.all(exchanges_before, limit);
    const from = messages === 'of kept' ? exchanges_before : Number.MIN_SAFE_INTEGER;
    const going = new Set(gone.map((row) => row.sequence));
    const found = await captured.all(from, messages_before, limit);
    const erased = found.filter((row) => !going.has(row.sequence)).slice(0, limit - gone.length);
    if (gone.length + erased.length === 0) return 0;
    const result = await writer.commit({
      steps: [
        { write: 'delete_exchanges', values: [list(gone)] },
        { write: 'erase_messages', values: [list(erased)] },
      ],
    });
    if (result.kind !== 'done') throw new PuenteError('store_failed', `Old exchanges were not deleted: try again.`);
    return gone.length + erased.length;
  };
}
