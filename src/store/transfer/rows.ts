/** One form of a row for both engines, in which equal means equal byte for byte. */
import { storable } from '../postgres/text.ts';

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
