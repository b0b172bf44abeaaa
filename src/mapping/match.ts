/** Compares a legacy answer with the translated answer of orders, field by field, by the matchers of its rows. */
import { decimalOf } from '../contract/legacy-amount.ts';
import { type Path, printPath, reader } from './path.ts';
import { type Matcher, type Row, rowsOf } from './row.ts';
import type { Documents } from './schema.ts';
import { type ComparedField, OTHERS, type Tables } from './tables.ts';

/** The comparison for answer tables of operations with `double_read`; an empty list for any other answer table. */
export function compareAnswers({ operations, tables }: Pick<Documents, 'operations' | 'tables'>): Tables['compare'] {
  const wanted = operations.filter((one) => one.double_read);
  const fields = new Map(
    wanted.flatMap(({ answer }) => {
      const table = tables.find((one) => one.table === answer);
      return table ? [[table.table, fieldsOf(rowsOf(table.table, table.rows))] as const] : [];
    }),
  );
  return (operation, legacy, orders) => {
    const root = fields.get(operation.answer ?? '');
    if (root === undefined) return [];
    const differences: Compared = new Map();
    compareField(root, legacy, orders, '', differences);
    return [...differences.values()];
  };
}

/** A place in the answer that rows write: an object with fields, a list with elements, or a value. */
interface Field {
  matcher: Matcher;
  by: ((element: unknown) => unknown) | null;
  fields: Map<string, Field>;
  element: Field | null;
}

/** Fields of one answer that are compared by name: answers have some tens, but keys may be names that a till chose. */
const MOST_FIELDS = 200;

/** The result for each path; the first difference is kept. */
type Compared = Map<string, ComparedField>;

function fieldsOf(rows: readonly Row[], root: Field = blank('equal')): Field {
  for (const row of rows) {
    if (row.to === null) continue;
    const field = fieldAt(root, row.to[0] === 'body' ? row.to.slice(1) : row.to);
    field.matcher = row.matcher;
    field.by = row.by === null ? null : reader(row.by);
    if (row.verb === 'each') field.element = fieldsOf(row.rows);
  }
  return root;
}

function blank(matcher: Matcher): Field {
  return { matcher, by: null, fields: new Map(), element: null };
}

function fieldAt(root: Field, path: Path): Field {
  let at = root;
  for (const segment of path) {
    const key = printPath([segment]);
    const next = at.fields.get(key) ?? blank('equal');
    at.fields.set(key, next);
    at = next;
  }
  return at;
}

function compareField(field: Field, legacy: unknown, orders: unknown, path: string, differences: Compared): void {
  if (field.matcher === 'volatile' || (legacy === undefined && orders === undefined)) return;
  const both = legacy !== undefined && orders !== undefined;
  if (field.matcher === 'presence' || !both) {
    note(differences, path, differenceOfPresence(legacy, orders), legacy, orders);
  } else if (field.matcher === 'numeric') {
    note(differences, path, sameNumber(legacy, orders) ? null : 'value', legacy, orders);
  } else if (field.element !== null && Array.isArray(legacy) && Array.isArray(orders)) {
    compareLists(field, field.element, legacy, orders, path, differences);
  } else if (field.fields.size > 0 && isObject(legacy) && isObject(orders)) {
    compareObjects(field, legacy, orders, path, differences);
  } else {
    note(differences, path, differenceOf(legacy, orders), legacy, orders);
  }
}

/** Keys that no row writes are compared too: tills may read them. */
function compareObjects(field: Field, legacy: Keyed, orders: Keyed, path: string, differences: Compared): void {
  for (const key of new Set([...field.fields.keys(), ...Object.keys(legacy), ...Object.keys(orders)])) {
    const below = path === '' ? key : `${path}.${key}`;
    compareField(field.fields.get(key) ?? blank('equal'), legacy[key], orders[key], below, differences);
  }
}

function compareLists(
  field: Field,
  element: Field,
  legacy: readonly unknown[],
  orders: readonly unknown[],
  path: string,
  differences: Compared,
): void {
  const below = `${path}[]`;
  if (field.by === null) {
    note(differences, path, legacy.length === orders.length ? null : 'length', legacy.length, orders.length);
    for (const [index, one] of legacy.entries()) {
      if (index < orders.length) compareField(element, one, orders[index], below, differences);
    }
    return;
  }
  const left = new Map(orders.map((one) => [keyOf(field, one), one]));
  for (const one of legacy) {
    const key = keyOf(field, one);
    compareField(element, one, left.get(key), below, differences);
    left.delete(key);
  }
  for (const one of left.values()) note(differences, below, 'extra', undefined, one);
  if (legacy.length === 0 && orders.length === 0) note(differences, below, null, undefined, undefined);
}

function keyOf(field: Field, element: unknown): string {
  return canonical(field.by?.(element));
}

function note(
  differences: Compared,
  path: string,
  difference: ComparedField['difference'],
  legacy: unknown,
  orders: unknown,
): void {
  const name = differences.size < MOST_FIELDS || differences.has(path) ? path : OTHERS;
  const before = differences.get(name);
  if (before !== undefined && (before.difference !== null || difference === null)) return;
  differences.set(name, difference === null ? { path: name, difference } : { path: name, difference, legacy, orders });
}

/** Null counts as absent: typed clients read both as null. */
function differenceOfPresence(legacy: unknown, orders: unknown): ComparedField['difference'] {
  const has_legacy = legacy !== undefined && legacy !== null;
  if (has_legacy === (orders !== undefined && orders !== null)) return null;
  return has_legacy ? 'missing' : 'extra';
}

function differenceOf(legacy: unknown, orders: unknown): ComparedField['difference'] {
  if (canonical(legacy) === canonical(orders)) return null;
  return typeName(legacy) === typeName(orders) ? 'value' : 'type';
}

function sameNumber(legacy: unknown, orders: unknown): boolean {
  const one = decimalOf(legacy);
  const other = decimalOf(orders);
  return one !== null && other !== null && plain(one) === plain(other);
}

/** JSON text with sorted keys and plain numbers, so that equal values have equal texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const decimal = typeof value === 'string' ? null : decimalOf(value);
  if (decimal !== null) return plain(decimal);
  if (!isObject(value)) return JSON.stringify(value) ?? 'undefined';
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(',')}}`;
}

/** Without needless zeros: `01.50` is 1.5. */
function plain(decimal: string): string {
  const [whole = '', fraction = ''] = decimal.split('.');
  const tail = fraction.replace(/0+$/, '');
  return whole.replace(/^0+(?=\d)/, '') + (tail === '' ? '' : `.${tail}`);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  return typeof value !== 'string' && decimalOf(value) !== null ? 'number' : typeof value;
}

type Keyed = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Keyed {
  return value !== null && typeof value === 'object' && !Array.isArray(value) && decimalOf(value) === null;
}
