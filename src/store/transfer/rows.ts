/** One form of rows for both engines, in which equal rows are equal byte for byte. */
import { storable } from '../postgres/dialect.ts';

/** Numbers are their shortest decimal text. */
export type Cell = string | Buffer | null;
export type Row = readonly Cell[];

export type ColumnType = 'bigint' | 'integer' | 'double precision' | 'text' | 'bytea';

export interface Column {
  name: string;
  type: ColumnType;
  /** The server numbers new rows from a sequence. */
  is_numbered: boolean;
  /** An identity column accepts given numbers only after an ALTER TABLE. */
  is_identity: boolean;
}

export interface Shape {
  table: string;
  columns: readonly Column[];
  /** Positions of the key's columns in a row. */
  key: readonly number[];
}

/** Identifies a row by the cells of its key, or a version of it by all cells. */
export function textOf(cells: Row): string {
  return JSON.stringify(cells.map((cell) => (Buffer.isBuffer(cell) ? cell.toString('base64') : cell)));
}

/** The cells of a row's key, in the order of the key's columns. */
export function keyOf({ key }: Shape, row: Row): Row {
  return key.map((at) => row[at] ?? null);
}

/** A list of SQL names, quoted, because one is an SQL keyword. @param prefix such as `new.` */
export function namesOf(names: readonly string[], prefix = ''): string {
  return names.map((name) => `${prefix}"${name}"`).join(', ');
}

/** Cells column by column, as `unnest` takes them. */
export function parametersOf(rows: readonly Row[], width: number): Cell[][] {
  return Array.from({ length: width }, (_, at) =>
    rows.map((row) => {
      const cell = row[at] ?? null;
      return typeof cell === 'string' ? storable(cell) : cell;
    }),
  );
}

/** `unnest($1::bigint[], …)` for columns in this order. */
export function unnestOf(columns: readonly Column[]): string {
  return `unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')})`;
}

// The tables of a transfer, parents before their children.

export interface CopiedTable {
  name: string;
  /** Columns that identify a row, in the order in which rows are read. */
  key: readonly string[];
  /** A row is inserted only when its parent exists: `column` refers to `key` of the other table. */
  parent?: { table: string; column: string; key: string };
  /** Clears unique values of a row before it is changed, so that it blocks no other row. */
  release?: string;
}

export const COPIED: readonly CopiedTable[] = [
  { name: 'merchants', key: ['id'] },
  { name: 'tokens', key: ['fingerprint'], parent: { table: 'merchants', column: 'merchant_id', key: 'id' } },
  { name: 'links', key: ['legacy_id'], release: `state = 'DONE', order_id = NULL, merchant_order_id = NULL` },
  { name: 'link_states', key: ['legacy_id', 'revision'] },
  { name: 'notices', key: ['id'], parent: { table: 'links', column: 'legacy_id', key: 'legacy_id' } },
  { name: 'notice_attempts', key: ['rowid'], parent: { table: 'notices', column: 'notice_id', key: 'id' } },
  { name: 'events', key: ['sequence'] },
  { name: 'audit', key: ['sequence'] },
  {
    name: 'refunds',
    key: ['id'],
    parent: { table: 'links', column: 'legacy_id', key: 'legacy_id' },
    release: `state = 'DONE'`,
  },
  { name: 'legacy_sales', key: ['sequence'] },
  { name: 'exchanges', key: ['sequence'] },
  { name: 'exchange_hours', key: ['hour'] },
  { name: 'traffic', key: ['merchant_id', 'day', 'operation', 'lane', 'outcome'] },
  { name: 'seen_units', key: ['merchant_id', 'slot'] },
  { name: 'ledger', key: ['merchant_id', 'operation', 'table', 'path'] },
  { name: 'coverage', key: ['merchant_id', 'operation', 'field'] },
  { name: 'differences', key: ['merchant_id', 'signature'] },
  { name: 'unknowns', key: ['merchant_id', 'what', 'name'] },
  { name: 'verdicts', key: ['merchant_id', 'operation', 'verdict', 'code', 'error', 'detail'] },
  { name: 'readiness_days', key: ['merchant_id', 'day'] },
  { name: 'shed', key: ['day', 'reason'] },
  { name: 'proposals', key: ['sequence'] },
  { name: 'bulk_runs', key: ['sequence'] },
  { name: 'bulk_items', key: ['bulk', 'place'] },
  { name: 'incidents', key: ['id'], release: 'closed_at = 0' },
  { name: 'alerts', key: ['sequence'] },
];

/** Tables of the file only: `meta`, of which `finish.ts` copies a part, and counts, which are computed again. */
export const OWN_OF_FILE: readonly string[] = ['meta', 'link_counts'];
