/** Rows of tables in words, for people who follow one call. */
import type { Documents } from './assemble.ts';
import { printPath } from './path.ts';
import { sourceText, targetText } from './render.ts';
import { type Row, rowsOf } from './row.ts';

export interface RowWords {
  /** `table#row`. */
  row: string;
  /** From where to where. */
  says: string;
  why: string;
}

/** What `says` is made of, for whoever says it in another language. */
export interface RowParts {
  verb: Row['verb'];
  /** A path, the name of a fact of the context, or a constant as JSON. */
  source: string;
  /** Paths beside the source; null for none. */
  reads: string | null;
  policy: Row['policy'];
  target: string | null;
  converter: string | null;
  /** As JSON. */
  otherwise: string | null;
}

export interface RowDescription extends RowWords {
  parts: RowParts;
}

/** The rows with these ids, in their order; an id of another revision of the tables is left out. */
export function describeRows(documents: Pick<Documents, 'tables'>, fired: readonly string[]): RowDescription[] {
  const rows = documents.tables.flatMap((table) => flat(rowsOf(table.table, table.rows)));
  return fired.flatMap((id) => {
    const row = rows.find((one) => one.id === id);
    if (row === undefined) return [];
    const says = `${sourceText(row)} → ${targetText(row)}`.replaceAll('`', '');
    return [{ row: id, says, why: row.why, parts: partsOf(row) }];
  });
}

/** What a drop compares its source with is its converter's business. */
function partsOf({ verb, from, constant, reads, policy, to, converter, otherwise }: Row): RowParts {
  return {
    verb,
    source: verb === 'const' ? JSON.stringify(constant) : printPath(from),
    reads: verb === 'drop' || reads.length === 0 ? null : reads.map((path) => printPath(path)).join(', '),
    policy,
    target: to === null ? null : printPath(to),
    converter,
    otherwise: otherwise === null ? null : JSON.stringify(otherwise.value),
  };
}

function flat(rows: readonly Row[]): Row[] {
  return rows.flatMap((row) => [row, ...flat(row.rows)]);
}
