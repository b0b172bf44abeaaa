/** The proofs of `limitations.yaml`: its numbers only rise, and everything that a count hangs on is there. */
import { type Family, legacyError } from '../contract/legacy-errors.ts';
import { type Documents, rowIds } from './assemble.ts';
import type { Failure } from './check.ts';
import { type LimitationCondition, markedInCode, type WrittenLimitation } from './limitations.ts';
import type { WrittenTable } from './schema.ts';

/** Numbers are never used again, so they only rise; and whoever meets one calls an operation that there is. */
export function checkLimitations(documents: Documents): Failure[] {
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
    ...unheard(condition.errors ?? [], families).map(
      (name) => `${id} counts the error ${name}, which no till of its operations is told`,
    ),
  ];
}

function absent(wanted: readonly string[], there: readonly string[]): string[] {
  return wanted.filter((one) => !there.includes(one));
}

function unheard(names: readonly string[], families: readonly Family[]): string[] {
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

/** What code marks is counted, and what waits for a mark gets one. */
function markFaults(limitations: readonly WrittenLimitation[]): Failure[] {
  const noted = limitations
    .filter(({ counted }) => Array.isArray(counted) && counted.some((one) => one.noted === true))
    .map(({ id }) => id);
  return [
    ...absent(noted, markedInCode).map((id) => `${id} waits for a mark that no code makes`),
    ...absent(markedInCode, noted).map((id) => `${id} is marked by code, and no condition counts the mark`),
  ].map((message) => ({ file: FILE, row: null, message }));
}
