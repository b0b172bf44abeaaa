/** Rows of tables in words, for people who follow one call. */
import type { Documents } from './assemble.ts';
import { sourceText, targetText } from './render.ts';
import { type Row, rowsOf } from './schema.ts';

export interface RowWords {
  /** `table#row`. */
  row: string;
  /** From where to where. */
  says: string;
  why: string;
}

/** The rows with these ids, in their order; an id of another revision of the tables is left out. */
export function describeRows(documents: Pick<Documents, 'tables'>, fired: readonly string[]): RowWords[] {
  const rows = documents.tables.flatMap((table) => flat(rowsOf(table.table, table.rows)));
  return fired.flatMap((id) => {
    const row = rows.find((one) => one.id === id);
    return row ? [{ row: id, says: `${sourceText(row)} → ${targetText(row)}`.replaceAll('`', ''), why: row.why }] : [];
  });
}

function flat(rows: readonly Row[]): Row[] {
  return rows.flatMap((row) => [row, ...flat(row.rows)]);
}
