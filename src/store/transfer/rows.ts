/** One form of a row for both engines, in which equal means equal byte for byte. */
import { storable } from '../postgres/dialect.ts';

/** Numbers stand as their shortest decimal text. */
export type Cell = string | Buffer | null;
export type Row = readonly Cell[];

export type ColumnType = 'bigint' | 'integer' | 'double precision' | 'text' | 'bytea';

export interface Column {
  name: string;
  type: ColumnType;
  /** The server gives it to new rows, from a sequence. */
  is_numbered: boolean;
  /** So that it must be told to take another. */
  is_identity: boolean;
}

/** The table as both engines have it. */
export interface Shape {
  table: string;
  columns: readonly Column[];
  /** Where the key's columns stand in a row. */
  key: readonly number[];
}

/** What tells rows of a table apart, and what tells two versions of one apart, depending on the cells that are handed in. */
export function textOf(cells: Row): string {
  return JSON.stringify(cells.map((cell) => (Buffer.isBuffer(cell) ? cell.toString('base64') : cell)));
}

export function keyOf({ key }: Shape, row: Row): Row {
  return key.map((at) => row[at] ?? null);
}

/** A list of SQL names, quoted: one of them is a word of SQL. @param prefix such as `new.` */
export function namesOf(names: readonly string[], prefix = ''): string {
  return names.map((name) => `${prefix}"${name}"`).join(', ');
}

/** Cells column by column, as the server takes them for `unnest`. */
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

// The tables that a transfer carries, parents before their children, and what is particular about each.

export interface CarriedTable {
  name: string;
  /** Columns that name a row, in the order in which rows are walked. */
  key: readonly string[];
  /** A row goes only where its parent is: `column` refers to `key` of the other table. */
  parent?: { table: string; column: string; key: string };
  /** Lets a row that is going to change go of what only one row may hold, so that it is in no other's way. */
  release?: string;
}

export const CARRIED: readonly CarriedTable[] = [
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
  { name: 'bulk_moves', key: ['sequence'] },
];

/** Of the file alone: what it says of itself, of which `finish.ts` carries what stays true, and counts, which are made anew. */
export const OWN_OF_FILE: readonly string[] = ['meta', 'link_counts'];
