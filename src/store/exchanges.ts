/** Exchanges: reads of one or of pages, and the deletion of old ones. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { HOUR_MS } from '../contract/duration.ts';
import { parseJson, stringifyJson } from '../contract/json.ts';
import { PuenteError } from '../error.ts';
import type { CapturedMessages } from '../proxy/evidence/redact.ts';
import type { CallSeen, ExchangeFilter, RecordedExchange, StoredExchange } from '../proxy/records/evidence.ts';
import { EXCHANGE } from './conditions.ts';
import {
  filteredReads,
  type Reader,
  type Step,
  type StoreMethods,
  type Value,
  type Writer,
  whereOf,
} from './engine.ts';
import { jsonOf, readsOf, valuesIn } from './rows.ts';

/** Rows read at once when few may pass the filter: some 10 ms between two event-loop ticks. */
const SLICE_ROWS = 20_000;

/** Pages are in the order of recording, each after the `sequence` of the row before. */
export function exchangeMethods(reader: Reader) {
  const newest = reader.prepare<[], { last: number }>('SELECT coalesce(max(sequence), 0) AS last FROM exchanges');
  return {
    lastExchange: async () => (await newest.get())?.last ?? 0,
    exchange: readsOf(reader).one('SELECT * FROM exchanges WHERE id = ?', exchangeOf),
    exchanges: pageReader(reader, '*', exchangeOf),
    calls: pageReader<CallSeen, CallSeen>(
      reader,
      'sequence, at, merchant_id, operation, legacy_id, lane, outcome, duration_ms',
      (row) => row,
    ),
  } satisfies Partial<StoreMethods>;
}

/** Sequences of the exchanges that a filter may match: (`after`, `last`]. */
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
  const rangeOf = async ({ since, until }: ExchangeFilter): Promise<Range> => {
    const [range] = await run<Range>(
      [
        ['hour >= ?', since === undefined ? undefined : Math.floor(since / HOUR_MS)],
        ['hour <= ?', until === undefined ? undefined : Math.floor(until / HOUR_MS)],
      ],
      (where) => `SELECT coalesce(min(first_sequence) - 1, 0) AS after, coalesce(max(last_sequence), 0) AS last
        FROM exchange_hours WHERE ${where}`,
    );
    return range ?? { after: 0, last: 0 };
  };
  return async (filter, cursor, limit) => {
    const { sql, values, sparse } = queryOf(filter, columns);
    const range = await rangeOf(filter);
    const found: Kept[] = [];
    let after = Math.max(cursor, range.after);
    while (after < range.last && found.length < limit) {
      const last = sparse ? Math.min(range.last, after + SLICE_ROWS) : range.last;
      const rows = await run<Row>([], () => sql, ...values, after, last, limit - found.length);
      for (const row of rows) found.push(keptOf(row));
      after = last;
      if (sparse) await yieldToEventLoop();
    }
    return found;
  };
}

/**
 * Names an index, each in the order of pages, so that statistics can't make SQLite sort. Without a fitting index rows
 * are read in sequence; `sparse`: few of them may pass.
 */
export function queryOf(filter: ExchangeFilter, columns = '*'): { sql: string; values: Value[]; sparse: boolean } {
  const { merchant_id, legacy_id, captured, operation, lane, outcome } = filter;
  const { where, values } = whereOf([
    ['legacy_id = ?', legacy_id],
    ['merchant_id = ?', merchant_id],
    ['at >= ?', filter.since],
    ['at < ?', filter.until],
    ['operation = ?', operation],
    ['lane = ?', lane],
    ['outcome = ?', outcome],
  ]);
  const messages = captured === undefined ? 'true' : `messages IS ${captured ? 'NOT NULL' : 'NULL'}`;
  const sql = `SELECT ${columns} FROM exchanges ${indexFor(filter)} WHERE ${where} AND ${messages}
    AND sequence > ? AND sequence <= ? ORDER BY sequence LIMIT ?`;
  const sparse = [operation, lane, outcome, captured].some((one) => one !== undefined);
  return { sql, values, sparse };
}

function indexFor({ legacy_id, merchant_id, captured }: ExchangeFilter): string {
  if (legacy_id !== undefined) return 'INDEXED BY exchanges_by_legacy';
  if (merchant_id === undefined) return 'NOT INDEXED';
  return `INDEXED BY ${captured === true ? 'exchanges_captured' : 'exchanges_by_merchant'}`;
}

/** @param messages `of kept`: expired exchanges are deleted at once; `of all`: they may stay, without messages. */
export function tidierOf(
  reader: Reader,
  writer: Writer,
  { rows, messages }: { rows: string; messages: 'of kept' | 'of all' } = {
    rows: 'exchanges INDEXED BY exchanges_by_time',
    messages: 'of kept',
  },
): StoreMethods['tidyExchanges'] {
  const old = reader.prepare<[number, number], { sequence: number }>(
    `SELECT sequence FROM ${rows} WHERE at < (SELECT ?) ORDER BY at LIMIT ?`,
  );
  const captured = reader.prepare<[number, number, number], { sequence: number }>(
    `SELECT sequence FROM exchanges INDEXED BY exchanges_captured_by_time WHERE messages IS NOT NULL
       AND at >= (SELECT ?) AND at < (SELECT ?) ORDER BY at LIMIT ?`,
  );
  const list = (found: { sequence: number }[]) => JSON.stringify(found.map((row) => row.sequence));
  return async (exchanges_before, messages_before, limit) => {
    const deleted = await old.all(exchanges_before, limit);
    const from = messages === 'of kept' ? exchanges_before : Number.MIN_SAFE_INTEGER;
    const deleted_sequences = new Set(deleted.map((row) => row.sequence));
    const found = await captured.all(from, messages_before, limit);
    const erased = found.filter((row) => !deleted_sequences.has(row.sequence)).slice(0, limit - deleted.length);
    if (deleted.length + erased.length === 0) return 0;
    const result = await writer.commit({
      steps: [
        { write: 'delete_exchanges', values: [list(deleted)] },
        { write: 'erase_messages', values: [list(erased)] },
      ],
    });
    if (result.kind !== 'done') throw new PuenteError('store_failed', `Old exchanges were not deleted: try again.`);
    return deleted.length + erased.length;
  };
}

// Rows of exchanges and their records; empty lists are stored as null, which costs nothing to read.

const LISTS = ['upstream', 'losses', 'lost', 'unknown', 'signatures'] as const;
type JsonColumn = (typeof LISTS)[number] | 'fired' | 'shadow' | 'messages' | 'limitations';

type ExchangeRow = Omit<StoredExchange, JsonColumn> & Record<JsonColumn, string | null>;

function exchangeOf(row: ExchangeRow): StoredExchange {
  const lists = LISTS.map((name) => [name, JSON.parse(row[name] ?? '[]')]);
  return {
    ...row,
    ...(Object.fromEntries(lists) as Pick<StoredExchange, (typeof LISTS)[number]>), // as `valuesOf` wrote them
    fired: firedRows(row.fired),
    limitations: row.limitations === null ? null : JSON.parse(row.limitations),
    shadow: row.shadow === null ? null : JSON.parse(row.shadow),
    // Numbers of bodies keep their source text.
    messages: row.messages === null ? null : (parseJson(row.messages) as unknown as CapturedMessages), // the column holds nothing else
  };
}

/** Steps that insert a batch's rows one by one, and record the sequences of its hours. */
export function rowByRow(batch: readonly RecordedExchange[]): Step[] {
  const rows = batch.map((exchange): Step => ({ write: 'insert_exchanges', values: valuesOf(exchange) }));
  return [...rows, { write: 'place_exchanges', values: [batch.length] }];
}

/** A captured message may be long, and both sides hold a whole statement in memory. */
const ROWS_AT_ONCE = 200;

/** Steps that insert a batch's rows many at once, each as one JSON array of rows. */
export function manyAtOnce(batch: readonly RecordedExchange[]): Step[] {
  return Array.from({ length: Math.ceil(batch.length / ROWS_AT_ONCE) }, (_, group) => {
    const some = batch.slice(group * ROWS_AT_ONCE, (group + 1) * ROWS_AT_ONCE);
    return { write: 'insert_exchanges', values: [JSON.stringify(some.map(valuesOf))] };
  });
}

const exchangeValues = valuesIn(EXCHANGE);

function valuesOf(exchange: RecordedExchange): Value[] {
  return exchangeValues({
    ...exchange,
    upstream: listAs(exchange.upstream),
    fired: firedText(exchange.fired),
    losses: listAs(exchange.losses),
    lost: listAs(exchange.lost),
    unknown: listAs(exchange.unknown),
    shadow: jsonOf(exchange.shadow),
    signatures: listAs([...new Set(exchange.differences.map((one) => one.signature))]),
    messages: exchange.messages === null ? null : stringifyJson(exchange.messages),
    // An empty list means that limitations were counted.
    limitations: jsonOf(exchange.limitations),
  });
}

function listAs(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}

// Fired rows in a short form, `point.get.answer#1-4,6`: a list of them is more than half of an exchange.

/** Ids with a short form: no blank, and in the row no `-`, which means a range. */
const SHORT = /^[\w.-]+#[\w.]+$/;
const NUMBER = /^[1-9]\d{0,5}$/;

/** @param fired rows as `table#row`, in order. @returns the short form, else JSON; null for no row. */
export function firedText(fired: readonly string[]): string | null {
  if (fired.length === 0) return null;
  if (!fired.every((row) => SHORT.test(row))) return JSON.stringify(fired);
  let text = '';
  let table = '';
  let first = 0;
  let last = 0;
  for (const one of fired) {
    const mark = one.indexOf('#');
    const row = one.slice(mark + 1);
    const number = NUMBER.test(row) ? Number(row) : 0;
    if (number > 0 && number === last + 1 && one.startsWith(table) && mark === table.length) {
      last = number;
      continue;
    }
    if (last > first) text += `-${last}`;
    if (mark === table.length && one.startsWith(table)) text += `,${row}`;
    else {
      table = one.slice(0, mark);
      text += text === '' ? one : ` ${one}`;
    }
    first = number;
    last = number === 0 ? NONE : number;
  }
  return last > first ? `${text}-${last}` : text;
}

/** After a row that is no number. */
const NONE = -1;

/** Reads what `firedText` stored, and the JSON lists of earlier versions. */
export function firedRows(text: string | null): string[] {
  if (text === null) return [];
  if (text.startsWith('[')) return JSON.parse(text) as string[]; // the column holds nothing else
  return text.split(' ').flatMap((part) => {
    const mark = part.indexOf('#') + 1;
    const table = part.slice(0, mark);
    return part
      .slice(mark)
      .split(',')
      .flatMap(numbersIn)
      .map((row) => table + row);
  });
}

function numbersIn(rows: string): string[] {
  const [first = '', last] = rows.split('-');
  if (last === undefined) return [first];
  const count = Number(last) - Number(first) + 1;
  return Array.from({ length: count }, (_, index) => String(Number(first) + index));
}
