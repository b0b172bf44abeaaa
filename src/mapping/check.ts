/** The proofs that the tables must pass before the process may listen (`docs/architecture.md` Decision 3). */

import { type Family, legacyError } from '../contract/legacy-errors.ts';
import { upstreamErrorCodes, upstreamRoutes } from '../contract/upstream.ts';
import { rowIds } from './assemble.ts';
import { checkErrors, checkStates, checkTable, complaints, type Failure } from './check-rows.ts';
import { OTHER_SITE } from './compile.ts';
import { contextSchema } from './context.ts';
import { contractOf, findIn, shapeOf } from './contracts.ts';
import { converters } from './converters.ts';
import { detailConverters } from './errors.ts';
import { type LimitationCondition, markedInCode, type WrittenLimitation } from './limitations.ts';
import { whatFits } from './near.ts';
import { anyElement, printPath } from './path.ts';
import { type Row, rowsOf, wholeRows } from './row.ts';
import type { Documents, Filed, WrittenOperation, WrittenTable } from './schema.ts';
import { linkFamilies } from './tables.ts';

/** All proofs of the shipped tables. @returns each failure with its file and row; empty when every proof holds. */
export function check(documents: Documents): Failure[] {
  return [
    ...checkSites(documents),
    ...checkLimitations(documents),
    ...checkOperations(documents),
    ...checkRoles(documents),
    ...checkUse(documents),
    ...checkDoubleReads(documents),
    ...checkTables(
      documents,
      () => true,
      () => true,
    ),
  ];
}

/**
 * The proofs of tables that rows of one's own are laid over; all other proofs hold for the shipped tables, and their
 * operations, roles and names stay as they are. A table of headers is proved with the requests that read it.
 */
export function checkLaid(documents: Documents): Failure[] {
  const headers = documents.tables.filter((table) => table.role === 'headers' && isLaid(table)).map(familyOf);
  return checkTables(documents, isLaid, (table) => isLaid(table) || headers.includes(table.family));
}

function isLaid({ shipped }: Filed<object>): boolean {
  return shipped !== undefined;
}

/** @param isOfFields which tables of fields, beside the states and errors that are wanted. */
function checkTables(
  documents: Documents,
  isWanted: (table: Filed<object>) => boolean,
  isOfFields: (table: Filed<WrittenTable>) => boolean,
): Failure[] {
  const sites = documents.sites.map((site) => site.id);
  const headersOf = (table: WrittenTable) =>
    table.role === 'headers'
      ? null
      : (documents.tables.find((one) => one.role === 'headers' && one.family === table.family) ?? null);
  const tables = documents.tables.filter(isOfFields);
  return [
    ...tables.flatMap((table) => checkTable(table, sites, headersOf(table))),
    ...checkFacts({ operations: documents.operations, tables }),
    ...documents.states.filter(isWanted).flatMap(checkStates),
    ...documents.errors.filter(isWanted).flatMap((table) => checkErrors(table, documents.operations)),
  ];
}

/** @returns a line each: file, line and column where they are known, the row, and what is wrong. */
export function printFailures(failures: readonly Failure[]): string {
  const lines = failures.map(
    ({ file, row, message, line, column }) =>
      `  ${file}${line === undefined ? '' : `:${line}:${column}`}${row === null ? '' : ` row ${row}`}: ${message}`,
  );
  return `The mapping tables do not hold (${failures.length} ${failures.length === 1 ? 'proof fails' : 'proofs fail'}):\n${lines.join('\n')}`;
}

function checkSites(documents: Documents): Failure[] {
  const { failures, complain } = complaints({ file: 'sites.yaml' });
  const ids = documents.sites.map((site) => site.id);
  for (const id of repeated(ids)) complain(String(ids.lastIndexOf(id) + 1), `the site ${id} is given twice`);
  if (!ids.includes(OTHER_SITE)) complain(null, `has no row '${OTHER_SITE}' for a site that is not named or not known`);
  return failures;
}

function checkOperations({ operations, tables }: Documents): Failure[] {
  const { failures, complain: complainOf } = complaints({ file: 'operations.yaml' });
  const shapes: string[] = [];
  operations.forEach((operation, index) => {
    const complain = (message: string) => complainOf(String(index + 1), message);
    const shape = `${operation.method} ${operation.path.replaceAll(/:\w+/g, ':')}`;
    if (shapes.includes(shape)) complain(`${operation.method} ${operation.path} is already an operation`);
    const shadow = operations.slice(0, index).find((earlier) => shadows(earlier, operation));
    if (shadow)
      complain(`${operation.path} is never reached: ${shadow.name} stands before it and takes the same paths`);
    shapes.push(shape);
    if (operations.findIndex((one) => one.name === operation.name) < index)
      complain(`the name ${operation.name} is given twice`);
    if (operation.upstream !== null && !Object.hasOwn(upstreamErrorCodes, operation.upstream)) {
      complain(
        `no upstream call is named '${operation.upstream}'${whatFits(operation.upstream, Object.keys(upstreamErrorCodes))}`,
      );
    }
    for (const name of [operation.request, operation.answer]) {
      if (name !== null && !tables.some((table) => table.table === name))
        complain(
          `there is no table '${name}'${whatFits(
            name,
            tables.map(({ table }) => table),
          )}`,
        );
    }
  });
  return failures;
}

/** Express takes the first route that fits: an earlier parameter hides a literal in the same place. */
function shadows(earlier: { method: string; path: string }, later: { method: string; path: string }): boolean {
  const first = earlier.path.split('/');
  const second = later.path.split('/');
  if (earlier.method !== later.method || first.length !== second.length) return false;
  const fits = first.every((part, index) => part.startsWith(':') || part === second[index]);
  return fits && first.some((part, index) => part.startsWith(':') && !second[index]?.startsWith(':'));
}

/** Roles that exactly one table must have: some once, others once per family. */
function checkRoles({ tables, states, errors, operations }: Documents): Failure[] {
  const once = (role: string, found: { file: string }[], of = ''): Failure[] => {
    if (found.length === 1) return [];
    const message =
      found.length === 0 ? `no table has the role '${role}'${of}` : `the role '${role}' is given twice${of}`;
    return [{ file: found[1]?.file ?? '.', row: null, message }];
  };
  const withRole = (role: string) => tables.filter((table) => table.role === role);
  const inFamily = (role: string, found: { file: string; family: string }[], wanted: readonly string[]) => {
    const families = [...new Set([...wanted, ...found.map((table) => table.family)])];
    const ofFamily = (family: string) => found.filter((table) => table.family === family);
    return families.flatMap((family) => once(role, ofFamily(family), ` in ${family}`));
  };
  const readsHeaders = tables.filter((table) => table.role === undefined && hasHeaders(table)).map(familyOf);
  return [
    ...inFamily('headers', withRole('headers'), readsHeaders),
    ...['notice', 'payment', 'collection'].flatMap((role) => once(role, withRole(role))),
    ...inFamily('states', states, linkFamilies),
    ...inFamily('errors', errors, operations.filter((one) => one.upstream !== null).map(familyOf)),
  ];
}

function familyOf({ family }: { family: Family }): Family {
  return family;
}

function hasHeaders(table: WrittenTable): boolean {
  return contractOf(table.from)?.shape.properties.has('headers') === true && !table.to.endsWith('Answer');
}

function checkUse(documents: Documents): Failure[] {
  const { tables, operations, errors, states } = documents;
  const { failures, complain } = complaints({ file: '.' });
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
  const usedDetails = new Set(
    errors.flatMap((table) => [...Object.values(table.calls).flat(), ...table.any].map((row) => row.with)),
  );
  const idle = [
    ...Object.keys(converters).filter((name) => !usedConverters.has(name)),
    ...Object.keys(detailConverters).filter((name) => !usedDetails.has(name)),
  ];
  for (const name of idle) complain(null, `no row uses the converter '${name}'`);
  const usedKeys = new Set(tables.flatMap((table) => contextKeysOf(table.rows)));
  for (const key of shapeOf(contextSchema).properties.keys())
    if (!usedKeys.has(key) && !READ_BY_CODE.has(key)) complain(null, `no row uses the context key '${key}'`);
  return failures;
}

/** Context keys that converters or the engine read, beside the rows that name them. */
const READ_BY_CODE = new Set(['site', 'exponent', 'voucher', 'payment_state', 'received_at']);

function convertersOf(rows: WrittenTable['rows']): string[] {
  return rows.flatMap((row) => [...(row.with === undefined ? [] : [row.with]), ...convertersOf(row.rows ?? [])]);
}

function contextKeysOf(rows: WrittenTable['rows']): string[] {
  return rows.flatMap((row) => [row.context?.split('.')[0] ?? '', ...contextKeysOf(row.rows ?? [])]);
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}

// The proofs about evidence: matchers are where they can apply, and every loss has an advice for the maker of the till.

/** A double read must read on both sides, and needs tables for both directions. */
export function checkDoubleReads({ operations }: Documents): Failure[] {
  return operations.flatMap((operation, index) => {
    const reason = operation.double_read ? noDoubleRead(operation) : null;
    if (reason === null) return [];
    const message = `${operation.name} can't be read on both sides: ${reason}`;
    return [{ file: 'operations.yaml', row: String(index + 1), message }];
  });
}

function noDoubleRead({ method, upstream, request, answer }: WrittenOperation): string | null {
  if (method !== 'GET') return `legacy writes with ${method}`;
  const route = Object.entries(upstreamRoutes).find(([name]) => name === upstream)?.[1];
  if (route === undefined) return 'it has no upstream call';
  if (route.method !== 'GET') return `${upstream} writes with ${route.method}`;
  return request === null || answer === null ? 'it needs a request table and an answer table' : null;
}

/**
 * A matcher stands only where a double read compares the row's target and the target's type allows it. Advice stands
 * only where a row loses or refuses its source, and on every row of a request that may lose it.
 */
export function checkFacts({ operations, tables }: Pick<Documents, 'operations' | 'tables'>): Failure[] {
  const compared = new Set(operations.filter((one) => one.double_read).map((one) => one.answer));
  const requests = new Set(operations.map((one) => one.request));
  return tables.flatMap((table) => {
    const written = rowsOf(table.table, table.rows);
    const set = matchersSet(table.rows, written);
    const isRequest = requests.has(table.table) || table.role === 'headers';
    return wholeRows(written).flatMap((row) => {
      const messages = [
        ...(set.has(row.id) || row.by !== null ? matcherFaults(table, row, compared.has(table.table)) : []),
        ...adviceFaults(row, isRequest),
      ];
      return messages.map((message) => ({ file: table.file, row: row.id.slice(row.id.indexOf('#') + 1), message }));
    });
  });
}

/** Ids of the rows that name a matcher; a row without one compares as equal. */
function matchersSet(written: WrittenTable['rows'], rows: readonly Row[]): Set<string> {
  return new Set(
    written.flatMap((one, index) => {
      const row = rows[index] as Row; // made of the same list
      return [...(one.match === undefined ? [] : [row.id]), ...matchersSet(one.rows ?? [], row.rows)];
    }),
  );
}

function matcherFaults(table: Filed<WrittenTable>, row: Row, isCompared: boolean): string[] {
  if (!isCompared) return [`no double read compares ${table.table}, so a matcher means nothing here`];
  if (row.to === null) return ['a field that is dropped is not compared, so a matcher means nothing here'];
  const target = contractOf(table.to);
  const shape = target === null ? null : findIn(target.shape, row.to)?.shape;
  const faults: string[] = [];
  if (row.matcher === 'numeric' && shape?.kind !== 'leaf')
    faults.push(`${printPath(row.to)} is no number, so it can't match as numeric`);
  if (row.matcher === 'unordered' && row.verb !== 'each')
    faults.push('only the list of an each can match as unordered');
  if (row.matcher === 'unordered' && row.by === null) faults.push('unordered needs the key of its elements: by');
  if (row.matcher !== 'unordered' && row.by !== null) faults.push('only unordered has a key: by');
  const keys = row.rows.map((inner) => printPath(anyElement(inner.to ?? [])));
  if (row.by !== null && row.verb === 'each' && !keys.includes(printPath(row.by)))
    faults.push(`no row of this each writes its key ${printPath(row.by)}`);
  return faults;
}

function adviceFaults(row: Row, isRequest: boolean): string[] {
  // A converter that does not exist has no further checks.
  if (row.converter !== null && !Object.hasOwn(converters, row.converter)) return [];
  const loses = canLose(row);
  if (row.advice !== null && !loses && !refuses(row)) return ['nothing is lost here, so the advice has no use'];
  if (isRequest && loses && row.advice === null)
    return ['what is lost here is reported to the maker of the till: give the row an advice'];
  return [];
}

function canLose(row: Row): boolean {
  if (row.policy === 'note' || row.elsewhere === 'note') return true;
  return row.converter !== null && converters[row.converter]?.loses === true;
}

function refuses(row: Row): boolean {
  return row.policy === 'refuse' || row.elsewhere === 'refuse' || (row.verb === 'drop' && row.converter !== null);
}

// The proofs of `limitations.yaml`: its numbers only rise, and all names in its conditions exist.

function checkLimitations(documents: Documents): Failure[] {
  const { limitations, operations } = documents;
  const names = operations.map(({ name }) => name);
  const rows = new Set(rowIds({ documents }));
  const failures = limitations.flatMap((entry, index) => {
    const { id, operations: met } = entry;
    const before = limitations[index - 1]?.id;
    const risen = before === undefined || numberOf(before) < numberOf(id);
    const messages = [
      ...(risen ? [] : [`${id} must have a higher number than ${before}`]),
      ...absent(met, names).map((name) => `${id} names the operation ${name}, which does not exist`),
      ...(Array.isArray(entry.counted)
        ? entry.counted.flatMap((one) => conditionFaults(documents, rows, entry, one))
        : []),
    ];
    return messages.map((message) => ({ file: FILE, row: String(index + 1), message }));
  });
  return [...failures, ...markFaults(limitations)];
}

const FILE = 'limitations.yaml';

function numberOf(id: string): number {
  return Number(id.slice('LIM-'.length));
}

function conditionFaults(
  documents: Documents,
  rows: ReadonlySet<string>,
  { id, operations: met }: WrittenLimitation,
  condition: LimitationCondition,
): string[] {
  const operations = documents.operations.filter(({ name }) => met.includes(name));
  const families = [...new Set(operations.map(({ family }) => family))];
  const requests = new Set(operations.map(({ request }) => request));
  const sources = documents.tables
    .filter(({ table, role, family }) => requests.has(table) || (role === 'headers' && families.includes(family)))
    .flatMap((table) => sourcesOf(table.rows));
  const named = [...(condition.rows ?? []), ...(condition.without ?? [])];
  return [
    ...absent(named, [...rows]).map((row) => `${id} counts the row ${row}, which does not exist`),
    ...absent(condition.losses ?? [], sources).map(
      (path) => `${id} counts the loss of ${path}, which no request of its operations has`,
    ),
    ...unanswered(condition.errors ?? [], families).map(
      (name) => `${id} counts the error ${name}, which no till of its operations is answered`,
    ),
  ];
}

function absent(wanted: readonly string[], there: readonly string[]): string[] {
  return wanted.filter((one) => !there.includes(one));
}

function unanswered(names: readonly string[], families: readonly Family[]): string[] {
  return names.filter((name) => families.every((family) => legacyError(family, name) === null));
}

/** Source paths as losses name them, with `[]` for any element. */
function sourcesOf(rows: WrittenTable['rows'], parent = ''): string[] {
  return rows.flatMap((row) => {
    const from = row.copy ?? row.context ?? row.drop ?? row.each;
    if (from === undefined) return [];
    return [parent + from, ...sourcesOf(row.rows ?? [], `${parent}${from}[].`)];
  });
}

/** A condition counts each mark of the code, and each condition with `noted` has a mark. */
function markFaults(limitations: readonly WrittenLimitation[]): Failure[] {
  const noted = limitations
    .filter(({ counted }) => Array.isArray(counted) && counted.some((one) => one.noted === true))
    .map(({ id }) => id);
  return [
    ...absent(noted, markedInCode).map((id) => `${id} waits for a mark that no code makes`),
    ...absent(markedInCode, noted).map((id) => `${id} is marked by code, and no condition counts the mark`),
  ].map((message) => ({ file: FILE, row: null, message }));
}
