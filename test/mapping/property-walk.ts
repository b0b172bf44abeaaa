/** Follows every value of a legacy request to its place in the order by the tables: no value is lost silently. */
import { LosslessNumber } from 'lossless-json';
import { anyElement, contains, type Path, printPath, reader } from '../../src/mapping/path.ts';
import { type Row, rowsOf } from '../../src/mapping/row.ts';
import type { LoadedTables, Translated } from '../../src/mapping/tables.ts';
import { exact, isNumber, sourceText } from './property-kit.ts';

export interface Walk {
  tables: LoadedTables;
  table: string;
  site: string | undefined;
  exponent: number;
  source: { headers: Record<string, string>; body: unknown };
  translated: Translated;
}

/**
 * @returns paths of values that are neither in the order, nor in the loss list, nor under a row that allows their loss.
 */
export function unaccounted(walk: Walk): string[] {
  const losses = walk.translated.losses.map(({ path }) => path);
  const rows = rowsFor(walk, walk.table);
  const body = leavesOf(walk.source.body, ['body'])
    .filter(({ path, value }) => !isAccounted(walk, rows, losses, path, value))
    .map(({ path }) => printPath(path));
  const headers = Object.entries(walk.source.headers)
    .filter(([name, value]) => !isHeaderAccounted(walk, rows, losses, name, value))
    .map(([name]) => name);
  return [...body, ...headers];
}

interface Leaf {
  path: Path;
  value: unknown;
}

/** Every value except null, which means the same as a missing key. */
function leavesOf(value: unknown, path: Path): Leaf[] {
  if (value === null || value === undefined) return [];
  if (typeof value !== 'object' || value instanceof LosslessNumber) return [{ path, value }];
  return Object.entries(value).flatMap(([key, inner]) =>
    leavesOf(inner, [...path, Array.isArray(value) ? Number(key) : key]),
  );
}

const rowsBySite = new Map<string, Row[]>();

function rowsFor(walk: Walk, name: string): Row[] {
  const key = `${name} ${walk.site}`;
  const rows = rowsBySite.get(key) ?? rowsAt(walk, name);
  rowsBySite.set(key, rows);
  return rows;
}

/** The rows for the site; a row for other sites becomes a drop by its `elsewhere`. */
function rowsAt(walk: Walk, name: string): Row[] {
  const { documents } = walk.tables;
  const table = documents.tables.find((one) => one.table === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  const known = documents.sites.some(({ id }) => id === walk.site) ? String(walk.site) : 'other';
  return rowsOf(table.table, table.rows).flatMap((row): Row[] => {
    if (row.sites === null || row.sites.includes(known)) return [row];
    return row.elsewhere === null ? [] : [{ ...row, verb: 'drop', policy: row.elsewhere, to: null, converter: null }];
  });
}

function isAccounted(walk: Walk, rows: Row[], losses: string[], path: Path, value: unknown): boolean {
  const written = printPath(path);
  if (losses.includes(written) || saysNothing(value)) return true;
  const covering = rows.filter((row) => covers(row, path));
  // A key without a row must be in the loss list, itself or by its parent.
  if (covering.length === 0) return losses.some((loss) => isInside(written, loss));
  return covering.some((row) => settles(walk, row, losses, path, value));
}

function covers(row: Row, path: Path): boolean {
  const sources = row.verb === 'context' ? row.reads : [row.from];
  return row.verb !== 'const' && sources.some((from) => contains(from, path) || contains(anyElement(from), path));
}

function settles(walk: Walk, row: Row, losses: string[], path: Path, value: unknown): boolean {
  const target = walk.translated.value;
  if (row.verb === 'each') return settlesElement(walk, row, losses, path, value);
  if (row.verb === 'drop') return settlesDrop(row, losses, path);
  // Values in the context are derived from this one: reference and lifetime, which have their own tests.
  if (row.verb === 'context') return true;
  if (row.from.length < path.length) return losses.some((loss) => isInside(printPath(path), loss));
  return row.to !== null && says(reader(row.to)(target), value, walk.exponent);
}

/** A dropping converter has compared the value with others of the request, or reported it as lost. */
function settlesDrop(row: Row, losses: string[], path: Path): boolean {
  if (row.policy === 'silent' || row.policy === null) return true;
  return losses.some((loss) => isInside(printPath(path), loss));
}

function settlesElement(walk: Walk, row: Row, losses: string[], path: Path, value: unknown): boolean {
  const made = reader(row.to ?? [])(walk.translated.value);
  const list: unknown[] = Array.isArray(made) ? made : [];
  const index = Number(path[row.from.length]);
  const all = reader(row.from)(walk.source) as unknown[]; // the source of the `each` row that was applied
  // The last element of a shortened list contains all elements beyond it.
  const is_folded = list.length < all.length && index >= list.length - 1;
  if (is_folded) return losses.includes(printPath(row.from));
  const inner = path.slice(row.from.length + 1);
  const element = printPath(path.slice(0, row.from.length + 1));
  const covering = row.rows.filter((one) => covers(one, inner));
  if (covering.length === 0)
    return losses.some((loss) => loss !== printPath(row.from) && isInside(printPath(path), loss));
  return covering.some((one) => {
    if (one.verb === 'drop') {
      const own = losses.filter((loss) => isInside(loss, element));
      return settlesDrop(one, own, path);
    }
    return one.to !== null && says(reader(one.to)(list[index]), value, walk.exponent);
  });
}

function isHeaderAccounted(walk: Walk, rows: Row[], losses: string[], name: string, value: string): boolean {
  if (losses.includes(name) || saysNothing(value)) return true;
  const family = walk.tables.documents.tables.find(({ table }) => table === walk.table)?.family;
  const headers = walk.tables.documents.tables.find((one) => one.role === 'headers' && one.family === family);
  const row = rowsFor(walk, headers?.table ?? '').find(({ from }) => printPath(from) === name);
  if (row === undefined) return false;
  if (row.verb === 'drop') return row.policy === 'silent';
  const taken = rows.find(({ verb, from }) => verb === 'context' && printPath(from) === printPath(row.to ?? []));
  if (taken === undefined || taken.to === null) return false;
  const target = reader(taken.to)(walk.translated.value);
  // Seconds in a header become a duration in the order, unless the body has a date, which takes precedence.
  const date = reader(taken.reads[0] ?? [])(walk.source);
  return target === value || target === `PT${Number(value)}S` || (taken.reads.length > 1 && typeof date === 'string');
}

/** True for the same text or the same number, at either scale; a boolean may have become a word. */
function says(target: unknown, value: unknown, exponent: number): boolean {
  if (target === undefined) return false;
  if (typeof value === 'boolean' || sourceText(target) === sourceText(value)) return true;
  if (!isNumber(target) || !isNumber(value)) return false;
  const [one, other] = [exact(target), exact(value)];
  return one === other || one * 10n ** BigInt(exponent) === other;
}

/** Tills send empty texts and zeros for missing values. */
function saysNothing(value: unknown): boolean {
  return value === '' || (isNumber(value) && exact(value) === 0n);
}

function isInside(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
}
