/** Rows of the tables in words, for `explain`, `trace` and the generated page. */
import { printPath } from './path.ts';
import { flat, type Row, rowsOf } from './row.ts';
import type { Documents } from './schema.ts';
import type { RowDescription, RowParts } from './tables.ts';

/** In the order of the ids; an id of another revision of the tables is left out. */
export function describeRows(documents: Pick<Documents, 'tables'>, fired: readonly string[]): RowDescription[] {
  const rows = documents.tables.flatMap((table) => flat(rowsOf(table.table, table.rows)));
  return fired.flatMap((id) => {
    const row = rows.find((one) => one.id === id);
    if (row === undefined) return [];
    const says = `${sourceText(row)} → ${targetText(row)}`.replaceAll('`', '');
    return [{ row: id, says, why: row.why, parts: partsOf(row) }];
  });
}

/** Without the `reads` of a drop, which only its converter needs. */
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

export function sourceText(row: Row): string {
  const from = `\`${printPath(row.from)}\``;
  const reads = row.reads.map((path) => `\`${printPath(path)}\``).join(', ');
  const beside = reads === '' ? '' : ` (reads ${reads})`;
  if (row.verb === 'const') return `constant \`${JSON.stringify(row.constant)}\``;
  if (row.verb === 'context') return `context ${from}${beside}`;
  if (row.verb === 'drop') return `drop ${from}${row.policy === null ? '' : `, ${row.policy}`}`;
  return `${row.verb === 'each' ? 'each ' : ''}${from}${beside}`;
}

export function targetText(row: Row): string {
  const to = row.to === null ? '–' : `\`${printPath(row.to)}\``;
  const converter = row.converter === null ? '' : ` by \`${row.converter}\``;
  const otherwise = row.otherwise === null ? '' : `, otherwise \`${JSON.stringify(row.otherwise.value)}\``;
  return `${to}${converter}${otherwise}`;
}
