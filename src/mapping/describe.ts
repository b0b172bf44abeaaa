/** Rows of the tables in words, for `explain`, `trace` and the generated page. */
import { legacyError } from '../contract/legacy-errors.ts';
import type { Said } from '../error.ts';
import { say } from '../locales/message.ts';
import { printPath } from './path.ts';
import { flat, type Row, rowsOf } from './row.ts';
import { type Documents, numberOf } from './schema.ts';
import type { RowDescription, RowParts, RowWords } from './tables.ts';

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

/** A row of any table that fired, in words: of fields, of states, of errors. */
export interface FiredRow extends RowWords {
  /** `says` for other languages. */
  said: Said;
}

/** In the order of the ids; ids of other revisions are left out. */
export function describeFired(
  documents: Pick<Documents, 'tables' | 'states' | 'errors'>,
  fired: readonly string[],
): FiredRow[] {
  const states = documents.states.flatMap(({ table, rows }) =>
    rows.map((row, index): FiredRow => {
      const { status, detail = null, shows, why } = row;
      const shown = typeof shows === 'string' ? shows : `${shows.error} / ${shows.finished}`;
      const { text, said } = say('rule_state', { status, detail, shows: shown });
      return { row: `${table}#${numberOf(row, index)}`, says: text, said, why };
    }),
  );
  const errors = documents.errors.flatMap(({ table, family, calls, any }) =>
    [...Object.entries(calls), ['any', any] as const].flatMap(([call, rows]) =>
      rows.map((row, index): FiredRow => {
        const { status = null, code = null, says: contains = null, property = null, error, why } = row;
        const entry = legacyError(family, error);
        const { text, said } = say('rule_error', {
          status: status === null ? null : String(status),
          code: code === '' ? null : code,
          contains,
          property,
          legacy: `${entry?.status} ${entry?.error} ${entry?.message}`,
        });
        return { row: `${table}#${call}.${numberOf(row, index)}`, says: text, said, why };
      }),
    ),
  );
  const others = new Map([...states, ...errors].map((one) => [one.row, one]));
  return fired.flatMap((id) => {
    const [field] = describeRows(documents, [id]);
    if (field !== undefined)
      return [{ row: id, says: field.says, why: field.why, said: say('rule', { ...field.parts }).said }];
    return others.get(id) ?? [];
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

/** A row's source with its verb, in Markdown, for the generated page. */
export function sourceText(row: Row): string {
  const from = `\`${printPath(row.from)}\``;
  const reads = row.reads.map((path) => `\`${printPath(path)}\``).join(', ');
  const beside = reads === '' ? '' : ` (reads ${reads})`;
  if (row.verb === 'const') return `constant \`${JSON.stringify(row.constant)}\``;
  if (row.verb === 'context') return `context ${from}${beside}`;
  if (row.verb === 'drop') return `drop ${from}${row.policy === null ? '' : `, ${row.policy}`}`;
  return `${row.verb === 'each' ? 'each ' : ''}${from}${beside}`;
}

/** A row's target and converter, in Markdown; `–` for a row that drops its source. */
export function targetText(row: Row): string {
  const to = row.to === null ? '–' : `\`${printPath(row.to)}\``;
  const converter = row.converter === null ? '' : ` by \`${row.converter}\``;
  const otherwise = row.otherwise === null ? '' : `, otherwise \`${JSON.stringify(row.otherwise.value)}\``;
  return `${to}${converter}${otherwise}`;
}
