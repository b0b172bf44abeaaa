/** Reads the table files, proves them, and hands out the compiled tables; the only file here that touches the disk. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import type { z } from 'zod';
import { PuenteError } from '../error.ts';
import { assemble, type Documents, type LoadedTables } from './assemble.ts';
import { check, type Failure, printFailures } from './check.ts';
import { limitationsFile } from './limitations.ts';
import { errorsTable, fieldTable, operationsFile, sitesFile, statesTable } from './schema.ts';

/**
 * The compiled tables of a directory: `operations.yaml`, `sites.yaml` and one folder per family.
 * @throws PuenteError bad_tables, with every proof that fails, its file and its row in the message.
 */
export function loadTables(directory: string): LoadedTables {
  const { documents, failures } = readDocuments(directory);
  if (failures.length === 0) failures.push(...check(documents));
  if (failures.length > 0) {
    throw new PuenteError('bad_tables', printFailures(failures), { facts: { failures: failures.length } });
  }
  return assemble(documents);
}

/** The files as the grammar reads them, with a failure for everything it doesn't understand. */
export function readDocuments(directory: string): { documents: Documents; failures: Failure[] } {
  const failures: Failure[] = [];
  const documents: Documents = {
    revision: '',
    operations: [],
    sites: [],
    limitations: [],
    tables: [],
    states: [],
    errors: [],
  };
  const hash = createHash('sha256');
  for (const file of tableFiles(directory, failures)) {
    const text = readFileSync(join(directory, file), 'utf8');
    // What is only said about the tables doesn't change what they do.
    if (file !== LIMITATIONS) hash.update(`${file}\n${text}\n`);
    readFile(documents, file, text, failures);
  }
  documents.revision = hash.digest('hex').slice(0, 12);
  return { documents, failures };
}

/** What the tables can't do, in words. */
const LIMITATIONS = 'limitations.yaml';

function tableFiles(directory: string, failures: Failure[]): string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.yaml'))
      .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .sort();
  } catch (error) {
    failures.push({ file: directory, row: null, message: `the tables can't be read: ${(error as Error).message}` }); // fs throws Errors
    return [];
  }
}

function readFile(documents: Documents, file: string, text: string, failures: Failure[]): void {
  let content: unknown;
  try {
    content = parse(text);
  } catch (error) {
    failures.push({ file, row: null, message: `is not YAML: ${(error as Error).message.split('\n')[0]}` }); // yaml throws Errors
    return;
  }
  const take = <Out>(schema: z.ZodType<Out>, keep: (document: Out) => void): void => {
    const parsed = schema.safeParse(content);
    if (parsed.success) keep(parsed.data);
    else failures.push(...parsed.error.issues.map((issue) => grammarFailure(file, issue)));
  };
  const role = (content as { role?: unknown } | null)?.role; // any YAML value; only looked at
  if (file === 'operations.yaml') take(operationsFile, ({ operations }) => documents.operations.push(...operations));
  else if (file === 'sites.yaml') take(sitesFile, ({ sites }) => documents.sites.push(...sites));
  else if (file === LIMITATIONS) take(limitationsFile, (found) => documents.limitations.push(...found.limitations));
  else if (role === 'states') take(statesTable, (table) => documents.states.push({ file, ...table }));
  else if (role === 'errors') take(errorsTable, (table) => documents.errors.push({ file, ...table }));
  else take(fieldTable, (table) => documents.tables.push({ file, ...table }));
}

/** The lists whose elements people call rows. */
const ROW_LISTS = new Set<PropertyKey | undefined>([
  'rows',
  'operations',
  'sites',
  'limitations',
  'any',
  'never',
  'calls',
]);

/** Where in the file, counting rows from 1 as people do. */
function grammarFailure(file: string, issue: z.core.$ZodIssue): Failure {
  const rest = issue.path.map((segment) => (typeof segment === 'number' ? segment + 1 : String(segment)));
  const row: string[] = [];
  while (ROW_LISTS.has(rest[0]) && rest.length > 1) {
    const [list, ...place] = rest.splice(0, rest[0] === 'calls' ? 3 : 2);
    row.push(list === 'any' || list === 'never' ? `${list} ${place.join(' ')}` : place.join(' '));
  }
  const message = rest.length === 0 ? issue.message : `${rest.join(' ')}: ${issue.message}`;
  return { file, row: row.length === 0 ? null : row.join('.'), message };
}
