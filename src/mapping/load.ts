/** Reads the table files, proves them, and returns the compiled tables; the only file here that uses the disk. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import type { z } from 'zod';
import { PuenteError } from '../error.ts';
import { assemble } from './assemble.ts';
import { check, printFailures } from './check.ts';
import type { Failure } from './check-rows.ts';
import { limitationsFile } from './limitations.ts';
import { type Documents, errorsTable, fieldTable, operationsFile, sitesFile, statesTable } from './schema.ts';
import type { LoadedTables } from './tables.ts';

/**
 * The tables of a directory: `operations.yaml`, `sites.yaml` and one folder per family.
 * @param proved_in directory of the cache of proved tables: a start takes a fifth less processor time with it (2.8 s to
 * 2.15); null for no cache.
 * @throws PuenteError bad_tables, with every proof that fails, its file and its row in the message.
 */
export function loadTables(directory: string, proved_in: string | null = null): LoadedTables {
  const written = readTexts(directory);
  const kept_in = proved_in === null ? null : keeping(proved_in, written.texts);
  const proved = kept_in?.read() ?? null;
  if (proved !== null) return assemble(proved);
  const { documents, failures } = documentsOf(written);
  if (failures.length === 0) failures.push(...check(documents));
  if (failures.length > 0) {
    throw new PuenteError('bad_tables', printFailures(failures), { facts: { failures: failures.length } });
  }
  kept_in?.write(documents);
  return assemble(documents);
}

/** The files parsed by the grammar, with a failure for each violation. */
export function readDocuments(directory: string): { documents: Documents; failures: Failure[] } {
  return documentsOf(readTexts(directory));
}

interface Written {
  /** File, relative to the directory, and its text; sorted by file. */
  texts: [string, string][];
  failures: Failure[];
}

function readTexts(directory: string): Written {
  const failures: Failure[] = [];
  const texts = tableFiles(directory, failures).map((file): [string, string] => [
    file,
    readFileSync(join(directory, file), 'utf8'),
  ]);
  return { texts, failures };
}

function documentsOf({ texts, failures }: Written): { documents: Documents; failures: Failure[] } {
  const documents: Documents = {
    revision: '',
    operations: [],
    carried: [],
    sites: [],
    limitations: [],
    tables: [],
    states: [],
    errors: [],
  };
  const hash = createHash('sha256');
  for (const [file, text] of texts) {
    // Limitations describe the tables and don't change what they do.
    if (file !== LIMITATIONS) hash.update(`${file}\n${text}\n`);
    readFile(documents, file, text, failures);
  }
  documents.revision = hash.digest('hex').slice(0, 12);
  return { documents, failures };
}

/** Beside Node's compile cache, and trusted as much as that cache. */
const PROVED = 'tables.json';
const PROVERS = ['../error.ts', '../contract', '../mapping'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);
/** `.ts` in a clone, `.js` in a package. */
const EXTENSION = extname(import.meta.filename);
const LIBRARIES = ['zod', 'yaml', 'lossless-json'];

interface Keeping {
  /** @returns null when other tables or other code were proved, or the file is damaged. */
  read(): Documents | null;
  /** Atomic; without write permission the next start proves again. */
  write(documents: Documents): void;
}

function keeping(directory: string, texts: Written['texts']): Keeping {
  const path = join(directory, PROVED);
  const key = proofKey(texts);
  const headOf = (json: string): string => `${key} ${createHash('sha256').update(json).digest('hex')}`;
  return {
    read() {
      try {
        const text = readFileSync(path, 'utf8');
        const end = text.indexOf('\n');
        const json = text.slice(end + 1);
        return text.slice(0, end) === headOf(json) ? (JSON.parse(json) as Documents) : null; // `write` has written it
      } catch {
        return null;
      }
    },
    write(documents) {
      const json = JSON.stringify(documents);
      const unfinished = `${path}.${process.pid}`;
      try {
        writeFileSync(unfinished, `${headOf(json)}\n${json}`, { mode: 0o600 });
        renameSync(unfinished, path);
      } catch {
        // A read-only installation only loses time.
      }
    },
  };
}

/** A hash over all inputs of a proof: the tables, the code that reads and proves them, and its libraries. */
function proofKey(texts: Written['texts']): string {
  const hash = createHash('sha256').update(JSON.stringify([process.version, texts]));
  for (const path of [...PROVERS.flatMap(sourcesOf), ...LIBRARIES.map(packageOf)]) hash.update(readFileSync(path));
  return hash.digest('hex');
}

function sourcesOf(path: string): string[] {
  if (path.endsWith(EXTENSION)) return [path];
  const entries = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  return entries.filter((entry) => entry.endsWith(EXTENSION)).map((entry) => join(path, entry));
}

/** The `package.json` of a library, which has its version. */
function packageOf(library: string): string {
  const entry = fileURLToPath(import.meta.resolve(library));
  const folder = join('node_modules', library);
  return join(entry.slice(0, entry.lastIndexOf(folder) + folder.length), 'package.json');
}

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
  const role = (content as { role?: unknown } | null)?.role; // any YAML value; only read
  if (file === 'operations.yaml')
    take(operationsFile, ({ operations, carried }) => {
      documents.operations.push(...operations);
      documents.carried.push(...carried);
    });
  else if (file === 'sites.yaml') take(sitesFile, ({ sites }) => documents.sites.push(...sites));
  else if (file === LIMITATIONS) take(limitationsFile, (found) => documents.limitations.push(...found.limitations));
  else if (role === 'states') take(statesTable, (table) => documents.states.push({ file, ...table }));
  else if (role === 'errors') take(errorsTable, (table) => documents.errors.push({ file, ...table }));
  else take(fieldTable, (table) => documents.tables.push({ file, ...table }));
}

const ROW_LISTS = /^(?:rows|operations|carried|sites|limitations|any|never|calls)$/;

/** The place in the file, with rows counted from 1. */
function grammarFailure(file: string, issue: z.core.$ZodIssue): Failure {
  const rest = issue.path.map((segment) => (typeof segment === 'number' ? segment + 1 : String(segment)));
  const row: string[] = [];
  while (ROW_LISTS.test(String(rest[0])) && rest.length > 1) {
    const [list, ...place] = rest.splice(0, rest[0] === 'calls' ? 3 : 2);
    row.push(list === 'any' || list === 'never' ? `${list} ${place.join(' ')}` : place.join(' '));
  }
  const message = rest.length === 0 ? issue.message : `${rest.join(' ')}: ${issue.message}`;
  return { file, row: row.length === 0 ? null : row.join('.'), message };
}
