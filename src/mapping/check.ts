/** The proofs: what must hold of the tables before the process may listen (DESIGN decision 3). */
import { upstreamErrorCodes } from '../contract/upstream.ts';
import type { Documents } from './assemble.ts';
import { checkDoubleReads, checkFacts } from './check-facts.ts';
import { checkLimitations } from './check-limitations.ts';
import { checkTable } from './check-rows.ts';
import { checkErrors, checkStates } from './check-rules.ts';
import { OTHER_SITE } from './compile.ts';
import { contextSchema } from './context.ts';
import { contractOf } from './contracts.ts';
import { converters } from './converters.ts';
import { detailConverters } from './detail.ts';
import type { WrittenTable } from './schema.ts';
import { shapeOf } from './shape.ts';
import { linkFamilies } from './states.ts';

export interface Failure {
  /** Relative to the directory of the tables. */
  file: string;
  /** As people count, from 1; null when the whole file is meant. */
  row: string | null;
  message: string;
}

/** Every proof that fails; empty when the tables hold. */
export function check(documents: Documents): Failure[] {
  const sites = documents.sites.map((site) => site.id);
  const headersOf = (table: WrittenTable) =>
    table.role === 'headers'
      ? null
      : (documents.tables.find((one) => one.role === 'headers' && one.family === table.family) ?? null);
  return [
    ...checkSites(documents),
    ...checkLimitations(documents),
    ...checkOperations(documents),
    ...checkRoles(documents),
    ...checkUse(documents),
    ...documents.tables.flatMap((table) => checkTable(table, sites, headersOf(table))),
    ...checkDoubleReads(documents),
    ...checkFacts(documents),
    ...documents.states.flatMap(checkStates),
    ...documents.errors.flatMap((table) => checkErrors(table, documents.operations)),
  ];
}

/** The failures as lines for people: file, row, sentence. */
export function printFailures(failures: readonly Failure[]): string {
  const lines = failures.map(({ file, row, message }) => `  ${file}${row === null ? '' : ` row ${row}`}: ${message}`);
  return `The mapping tables do not hold (${failures.length} ${failures.length === 1 ? 'proof fails' : 'proofs fail'}):\n${lines.join('\n')}`;
}

function checkSites(documents: Documents): Failure[] {
  const ids = documents.sites.map((site) => site.id);
  const failures = repeated(ids).map((id) => ({
    file: 'sites.yaml',
    row: String(ids.lastIndexOf(id) + 1),
    message: `the site ${id} is given twice`,
  }));
  if (ids.includes(OTHER_SITE)) return failures;
  return [
    ...failures,
    { file: 'sites.yaml', row: null, message: `has no row '${OTHER_SITE}' for a site that is not named or not known` },
  ];
}

function checkOperations({ operations, tables }: Documents): Failure[] {
  const failures: Failure[] = [];
  const shapes: string[] = [];
  operations.forEach((operation, index) => {
    const complain = (message: string) => failures.push({ file: 'operations.yaml', row: String(index + 1), message });
    const shape = `${operation.method} ${operation.path.replaceAll(/:\w+/g, ':')}`;
    if (shapes.includes(shape)) complain(`${operation.method} ${operation.path} is already an operation`);
    const shadow = operations.slice(0, index).find((earlier) => shadows(earlier, operation));
    if (shadow)
      complain(`${operation.path} is never reached: ${shadow.name} stands before it and takes the same paths`);
    shapes.push(shape);
    if (operations.findIndex((one) => one.name === operation.name) < index)
      complain(`the name ${operation.name} is given twice`);
    if (operation.upstream !== null && !Object.hasOwn(upstreamErrorCodes, operation.upstream)) {
      complain(`no upstream call is named '${operation.upstream}'`);
    }
    for (const name of [operation.request, operation.answer]) {
      if (name !== null && !tables.some((table) => table.table === name)) complain(`there is no table '${name}'`);
    }
  });
  return failures;
}

/** Express takes the first route that fits: a parameter before a literal of the same place hides it. */
function shadows(earlier: { method: string; path: string }, later: { method: string; path: string }): boolean {
  const first = earlier.path.split('/');
  const second = later.path.split('/');
  if (earlier.method !== later.method || first.length !== second.length || !earlier.path.includes(':')) return false;
  const fits = first.every((part, index) => part.startsWith(':') || part === second[index]);
  return fits && first.some((part, index) => part.startsWith(':') && !second[index]?.startsWith(':'));
}

/** What exactly one table must say: some roles once, others once for each family that has them. */
function checkRoles({ tables, states, errors, operations }: Documents): Failure[] {
  const once = (role: string, found: { file: string }[], of = ''): Failure[] => {
    if (found.length === 1) return [];
    const message =
      found.length === 0 ? `no table has the role '${role}'${of}` : `the role '${role}' is given twice${of}`;
    return [{ file: found[1]?.file ?? '.', row: null, message }];
  };
  const withRole = (role: string) => tables.filter((table) => table.role === role);
  const inFamily = (role: string, found: { file: string; family: string }[], wanted: Iterable<string>) =>
    [...new Set([...wanted, ...found.map((table) => table.family)])].flatMap((family) =>
      once(
        role,
        found.filter((table) => table.family === family),
        ` in ${family}`,
      ),
    );
  const readsHeaders = tables.filter((table) => table.role === undefined && hasHeaders(table));
  return [
    ...inFamily(
      'headers',
      withRole('headers'),
      readsHeaders.map((table) => table.family),
    ),
    ...once('notice', withRole('notice')),
    ...once('payment', withRole('payment')),
    ...once('collection', withRole('collection')),
    ...inFamily('states', states, linkFamilies),
    ...inFamily(
      'errors',
      errors,
      operations.filter((one) => one.upstream !== null).map((one) => one.family),
    ),
  ];
}

function hasHeaders(table: WrittenTable): boolean {
  return contractOf(table.from)?.shape.properties.has('headers') === true && !table.to.endsWith('Answer');
}

/** Nothing stands in the tables, the converters or the context without being used. */
function checkUse(documents: Documents): Failure[] {
  const { tables, operations, errors, states } = documents;
  const failures: Failure[] = [];
  const named = operations.flatMap((operation) => [operation.request, operation.answer]);
  for (const table of tables) {
    if (table.role === undefined && !named.includes(table.table)) {
      failures.push({ file: table.file, row: null, message: `no operation uses the table ${table.table}` });
    }
  }
  const filed = [...tables, ...states, ...errors];
  const again = repeated(filed.map((table) => table.table));
  const last = new Map(filed.map((table) => [table.table, table.file]));
  for (const [name, file] of last) {
    if (again.includes(name)) failures.push({ file, row: null, message: `the table name ${name} is given twice` });
  }
  const usedConverters = new Set(tables.flatMap((table) => convertersOf(table.rows)));
  for (const name of Object.keys(converters)) {
    if (!usedConverters.has(name))
      failures.push({ file: '.', row: null, message: `no row uses the converter '${name}'` });
  }
  const usedDetails = new Set(
    errors.flatMap((table) => [...Object.values(table.calls).flat(), ...table.any].map((row) => row.with)),
  );
  for (const name of Object.keys(detailConverters)) {
    if (!usedDetails.has(name)) failures.push({ file: '.', row: null, message: `no row uses the converter '${name}'` });
  }
  return [...failures, ...checkContextUse(tables)];
}

/** Context keys that converters or the engine read by themselves, beside the rows that name them. */
const READ_BY_CODE = new Set(['site', 'exponent', 'voucher', 'payment_state', 'received_at']);

function checkContextUse(tables: Documents['tables']): Failure[] {
  const used = new Set(tables.flatMap((table) => contextKeysOf(table.rows)));
  return [...shapeOf(contextSchema).properties.keys()]
    .filter((key) => !used.has(key) && !READ_BY_CODE.has(key))
    .map((key) => ({ file: '.', row: null, message: `no row uses the context key '${key}'` }));
}

function convertersOf(rows: WrittenTable['rows']): string[] {
  return rows.flatMap((row) => [...(row.with === undefined ? [] : [row.with]), ...convertersOf(row.rows ?? [])]);
}

function contextKeysOf(rows: WrittenTable['rows']): string[] {
  return rows.flatMap((row) => [row.context?.split('.')[0] ?? '', ...contextKeysOf(row.rows ?? [])]);
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
