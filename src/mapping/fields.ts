/** The source fields of an operation's request, row by row, for coverage and for fields that a till never sent. */

import { OTHER_SITE } from './compile.ts';
import { contractOf } from './contracts.ts';
import { anyElement, contains, type Path, printPath } from './path.ts';
import { type Row, rowsOf, type Weight, wholeRows } from './row.ts';
import type { Documents, WrittenTable } from './schema.ts';
import type { Operation, RowFacts, SourceField, Tables } from './tables.ts';

type TablesOf = Pick<Documents, 'tables' | 'sites'>;

/** Finds the fields of operation and site (null: the rows of all sites), and caches them. */
export function fieldFinder(
  documents: TablesOf,
): (operation: Operation, site: string | null) => readonly SourceField[] {
  const found = new Map<string, readonly SourceField[]>();
  return (operation, site) => {
    const known = site === null || documents.sites.some(({ id }) => id === site) ? site : OTHER_SITE;
    const key = `${operation.name} ${known}`;
    const fields = found.get(key) ?? fieldsOf(documents, operation, known);
    found.set(key, fields);
    return fields;
  };
}

function fieldsOf({ tables }: TablesOf, operation: Operation, site: string | null): SourceField[] {
  const request = tables.find((one) => one.table === operation.request);
  if (request === undefined) return [];
  const headers = tables.find((one) => one.role === 'headers' && one.family === request.family);
  const ofHeaders = readsHeaders(request) && headers !== undefined ? ownFields(headers, ['headers'], site) : [];
  const own = [...ofHeaders, ...ownFields(request, [], site)];
  const rows = wholeRows(rowsAt(request, site));
  const takes = rows.filter(isOwn);
  // A field that rows only read beside another one is a source field too, unless it has its own row at their sites.
  const beside = rows.flatMap((row) =>
    row.reads
      .map(anyElement)
      .filter((path) => isSent(operation, path) && !ofHeaders.some((one) => contains(one.path, path)))
      .filter((path) => !takes.some((one) => contains(anyElement(one.from), path) && isWherever(one, row)))
      .map((path) => ({ ...fieldOf(request.table, row, path), proves: path[0] === 'path', quiet: false })),
  );
  return [...own, ...beside];
}

function ownFields({ table, rows }: WrittenTable, at: Path, site: string | null): SourceField[] {
  return wholeRows(rowsAt({ table, rows }, site), at)
    .filter(isOwn)
    .map((row) => fieldOf(table, row, anyElement(row.from)));
}

/** The row takes a field of the source itself. */
function isOwn({ verb }: Row): boolean {
  return verb !== 'const' && verb !== 'context';
}

/** True when `row` applies at each site of `other`. */
function isWherever({ sites, elsewhere }: Row, other: Row): boolean {
  return sites === null || elsewhere !== null || (other.sites?.every((site) => sites.includes(site)) ?? false);
}

function fieldOf(table: string, row: Row, path: Path): SourceField {
  return {
    row: row.id,
    table,
    field: printPath(path),
    path,
    proves: row.otherwise === null,
    quiet: row.verb === 'drop' && row.converter !== null,
    refuses: row.verb === 'drop' || row.verb === 'context' ? row.policy === 'refuse' || row.converter !== null : true,
  };
}

/** The rows that apply at a site, also by `elsewhere`. */
function rowsAt({ table, rows }: Pick<WrittenTable, 'table' | 'rows'>, site: string | null): Row[] {
  return rowsOf(table, rows).filter(
    (row) => site === null || row.sites === null || row.sites.includes(site) || row.elsewhere !== null,
  );
}

function readsHeaders(table: WrittenTable): boolean {
  return contractOf(table.from)?.shape.properties.has('headers') === true;
}

/** Tables are shared: a parameter that the operation's own path doesn't have is never sent. */
function isSent({ path }: Operation, [part, name]: Path): boolean {
  return part !== 'path' || path.split('/').includes(`:${name}`);
}

// Facts of source fields: the weight of a loss, and the advice for the maker of the till.

/**
 * Facts of a source field by its table and path, and of a row by its id. For a field without a row the weight is
 * guessed from words in its name.
 */
export function factsFinder(tables: readonly WrittenTable[]): Pick<Tables, 'facts' | 'lossOf' | 'row'> {
  const rows = tables.flatMap((table) => wholeRows(rowsOf(table.table, table.rows)));
  const byId = new Map(rows.map((row) => [row.id, factsOf(row)]));
  const fields = new Map<string, Candidates>();
  for (const row of rows) {
    if (row.verb === 'const') continue;
    const table = row.id.slice(0, row.id.indexOf('#'));
    candidatesAt(fields, table, nameOf(row.from)).own.push(row);
    for (const read of row.reads) candidatesAt(fields, table, nameOf(read)).beside.push(row);
  }
  return {
    facts(table, path, why) {
      const name = path.replaceAll(/\[\d+\]/g, '[]');
      const row = bestRow(fields.get(`${table} ${name}`), why);
      return row === null ? unknownField(name) : factsOf(row);
    },
    lossOf(table, path) {
      const { own } = fields.get(`${table} ${path}`) ?? NOBODY;
      const [row, ...others] = own.filter(({ policy, converter }) => policy === 'note' || converter !== null);
      // A converter has sentences of its own.
      return row === undefined || row.converter !== null || others.length > 0 ? null : row.why;
    },
    row: (id) => byId.get(id) ?? null,
  };
}

/** The rows of one field: those that take it, and those that read it for another field. */
interface Candidates {
  own: Row[];
  beside: Row[];
}

function candidatesAt(fields: Map<string, Candidates>, table: string, path: string): Candidates {
  const key = `${table} ${path}`;
  const found = fields.get(key) ?? { own: [], beside: [] };
  fields.set(key, found);
  return found;
}

/** A field may have several rows for several sites; the reason of a loss selects one. */
function bestRow(candidates: Candidates | undefined, why: string | undefined): Row | null {
  const { own, beside } = candidates ?? NOBODY;
  const lost = own.find((row) => row.policy === 'note' && row.why === why);
  return lost ?? own.find((row) => row.advice !== null) ?? own[0] ?? beside[0] ?? null;
}

const NOBODY: Candidates = { own: [], beside: [] };

function nameOf(path: Path): string {
  return printPath(anyElement(path));
}

function factsOf(row: Row): RowFacts {
  const from = row.verb === 'context' ? (row.reads[0] ?? row.from) : row.from;
  return { row: row.id, path: nameOf(from), weight: row.weight, advice: row.advice, why: row.why };
}

/** Words in the names of fields that tills add: money that is not charged is the worst loss. */
const MONEY =
  /amount|price|discount|coupon|cash|installment|interest|(?:^|[_-])(?:tip|tax|taxes|fee|total)s?(?:$|[_-])/i;
const IDENTITY = /reference|payer|customer|client|document|identification|sponsor|operator|cashier|order/i;

function unknownField(path: string): RowFacts {
  const name = path.slice(path.lastIndexOf('.') + 1);
  const weight: Weight = MONEY.test(name) ? 'money' : IDENTITY.test(name) ? 'identity' : 'other';
  return {
    row: null,
    path,
    weight,
    advice: 'Leave this field out: no API that takes the payment reads it.',
    why: 'No row has the field.',
  };
}
