/** Rows of exchanges, and how they become what the core knows; empty lists are nulls, which cost nothing to read. */
import { parseJson, stringifyJson } from '../contract/json.ts';
import type { CapturedMessages } from '../proxy/evidence/exchange.ts';
import type { RecordedExchange, StoredExchange } from '../proxy/records/evidence.ts';
import { firedRows, firedText } from './fired-rows.ts';
import type { Step, Value } from './unit.ts';

const jsonColumns = [
  'upstream',
  'losses',
  'lost',
  'unknown',
  'shadow',
  'signatures',
  'messages',
  'limitations',
] as const;
type JsonColumn = (typeof jsonColumns)[number];

export type ExchangeRow = Omit<StoredExchange, JsonColumn | 'fired'> & Record<JsonColumn | 'fired', string | null>;

export function exchangeOf(row: ExchangeRow): StoredExchange {
  return {
    ...row,
    upstream: listIn(row.upstream),
    fired: firedRows(row.fired),
    losses: listIn(row.losses),
    lost: listIn(row.lost),
    unknown: listIn(row.unknown),
    signatures: listIn(row.signatures),
    limitations: row.limitations === null ? null : listIn(row.limitations),
    shadow: row.shadow === null ? null : JSON.parse(row.shadow),
    // Numbers of bodies keep their source text.
    messages: row.messages === null ? null : (parseJson(row.messages) as unknown as CapturedMessages), // the column holds nothing else
  };
}

/** Steps that write a batch's rows one by one, and at which sequences its hours lie. */
export function rowByRow(batch: readonly RecordedExchange[]): Step[] {
  const rows = batch.map((exchange): Step => ({ write: 'insert_exchanges', values: valuesOf(exchange) }));
  return [...rows, { write: 'place_exchanges', values: [batch.length] }];
}

/** A captured message may be long, and what a server is sent at once is held whole on both sides. */
const ROWS_AT_ONCE = 200;

/** Steps that write a batch's rows many at once, as one JSON array of rows each. */
export function manyAtOnce(batch: readonly RecordedExchange[]): Step[] {
  return Array.from({ length: Math.ceil(batch.length / ROWS_AT_ONCE) }, (_, group) => {
    const some = batch.slice(group * ROWS_AT_ONCE, (group + 1) * ROWS_AT_ONCE);
    return { write: 'insert_exchanges', values: [JSON.stringify(some.map(valuesOf))] };
  });
}

/** One row of `insert_exchanges`, in its order. */
function valuesOf(exchange: RecordedExchange): Value[] {
  return [
    exchange.id,
    exchange.at,
    exchange.merchant_id,
    exchange.operation,
    exchange.kind,
    exchange.lane,
    exchange.stage,
    exchange.unit,
    exchange.legacy_id,
    exchange.status,
    exchange.error,
    exchange.outcome,
    exchange.duration_ms,
    exchange.tables_revision,
    listAs(exchange.upstream),
    firedText(exchange.fired),
    listAs(exchange.losses),
    listAs(exchange.lost),
    listAs(exchange.unknown),
    exchange.shadow === null ? null : JSON.stringify(exchange.shadow),
    listAs([...new Set(exchange.differences.map((one) => one.signature))]),
    exchange.messages === null ? null : stringifyJson(exchange.messages),
    // An empty list says that they were counted.
    exchange.limitations === null ? null : JSON.stringify(exchange.limitations),
  ];
}

function listAs(list: readonly unknown[]): string | null {
  return list.length === 0 ? null : JSON.stringify(list);
}

/** The column holds what `listAs` wrote of a list of that type. */
function listIn<Item>(text: string | null): Item[] {
  return text === null ? [] : JSON.parse(text);
}
