/** Follows every value of a legacy request to where the tables say it went, so that nothing is dropped in silence. */
import { LosslessNumber } from 'lossless-json';
import { anyElement, contains, type Path, printPath, reader } from '../../src/mapping/path.ts';
import { type Row, rowsOf } from '../../src/mapping/row.ts';
import type { LoadedTables, Translated } from '../../src/mapping/tables.ts';
import { exact, isNumber, sourceText } from './property-kit.ts';

export interface Walk {
  tables: LoadedTables;
  /** Name of the request table. */
  table: string;
  site: string | undefined;
  exponent: number;
  source: { headers: Record<string, string>; body: unknown };
  translated: Translated;
}

/**
 * The values that neither reached the order, nor stand in the loss list, nor fall under a row that says why they may go.
 * @returns their paths; empty when all are accounted for.
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

/** Every value that says something; null says what a missing key says. */
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

/** The rows that count at the site; a row for other sites leaves what its `elsewhere` says. */
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
  // A key that no row knows has to stand in the list itself, or to be inside of one that does.
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
  // What comes from the context was made of this value: the reference and the lifetime, which have tests of their own.
  if (row.verb === 'context') return true;
  if (row.from.length < path.length) return losses.some((loss) => isInside(printPath(path), loss));
  return row.to !== null && says(reader(row.to)(target), value, walk.exponent);
}

/** A converter that drops has compared the value with others of the request, or put it into the loss list. */
function settlesDrop(row: Row, losses: string[], path: Path): boolean {
  if (row.policy === 'silent' || row.policy === null) return true;
  return losses.some((loss) => isInside(printPath(path), loss));
}

function settlesElement(walk: Walk, row: Row, losses: string[], path: Path, value: unknown): boolean {
  const made = reader(row.to ?? [])(walk.translated.value);
  const list: unknown[] = Array.isArray(made) ? made : [];
  const index = Number(path[row.from.length]);
  const all = reader(row.from)(walk.source) as unknown[]; // an each of the table that has just been applied
  // The last one of a list that became shorter stands for all that are beyond it.
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
  // Seconds in a header are a duration in the order, unless the body has a date that counts more.
  const date = reader(taken.reads[0] ?? [])(walk.source);
  return target === value || target === `PT${Number(value)}S` || (taken.reads.length > 1 && typeof date === 'string');
}

/** True when both are the same text or the same number, at either scale; a boolean may have become a word. */
function says(target: unknown, value: unknown, exponent: number): boolean {
  if (target === undefined) return false;
  if (typeof value === 'boolean' || sourceText(target) === sourceText(value)) return true;
  if (!isNumber(target) || !isNumber(value)) return false;
  const [one, other] = [exact(target), exact(value)];
  return one === other || one * 10n ** BigInt(exponent) === other;
}

/** Tills send empty texts and zeros where they have nothing to say. */
function saysNothing(value: unknown): boolean {
  return value === '' || (isNumber(value) && exact(value) === 0n);
}

function isInside(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);
}
