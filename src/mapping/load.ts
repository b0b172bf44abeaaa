/** Reads the table files, proves them, and returns the compiled tables. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { parse } from 'yaml';
import type { z } from 'zod';
import { PuenteError } from '../error.ts';
import { assembleAll } from './assemble.ts';
import { check, checkLaid, printFailures } from './check.ts';
import type { Failure } from './check-rows.ts';
import { limitationsFile } from './limitations.ts';
import { type Folder, laidOver, ownFiles, readFolder, type Sets } from './own-folder.ts';
import { keeping } from './proved.ts';
import { byGrammar, pathOfRow, placesIn, readYaml } from './read-yaml.ts';
import { type Documents, errorsTable, fieldTable, operationsFile, sitesFile, statesTable } from './schema.ts';
import type { LoadedTables } from './tables.ts';

/**
 * The tables of a directory (`operations.yaml`, `sites.yaml` and one folder per family), with those of one's own laid
 * over them (`own-tables.ts`).
 * @param proved_in directory of the cache of proved tables: a start takes a fifth less processor time with it (2.8 s to
 * 2.15); null for no cache.
 * @param folder tables of one's own; null for none.
 * @throws PuenteError bad_tables, with every proof that fails: its file, its place and its row.
 */
export function loadTables(
  directory: string,
  proved_in: string | null = null,
  folder: string | null = null,
): LoadedTables {
  const written = readTexts(directory);
  const own = readFolder(folder);
  const kept_in = proved_in === null ? null : keeping(proved_in, [...written.texts, ...own.texts]);
  const kept = kept_in?.read() ?? null;
  if (kept !== null && own.failures.length === 0) {
    const { own_files, ...documents } = kept;
    return assembleAll(laidOver(documents, own_files, own.texts));
  }
  const { sets, failures } = proveOwn(proveShipped(written), own);
  if (failures.length > 0)
    throw new PuenteError('bad_tables', printFailures(failures), { facts: { failures: failures.length } });
  kept_in?.write({ ...sets.shipped, own_files: sets.files });
  return assembleAll(sets);
}

export interface Proved {
  sets: Sets;
  failures: Failure[];
}

/**
 * The proofs for `puente check`: of the shipped tables, once, and of each folder of one's own over them.
 * @returns a function of the folder, null for none: the sets of tables, also when proofs fail, and each failure with
 * its place.
 */
export function proverOf(directory: string): (folder: string | null) => Proved {
  const shipped = proveShipped(readTexts(directory));
  return (folder) => proveOwn(shipped, readFolder(folder));
}

/** The files parsed by the grammar, with a failure for each violation. */
export function readDocuments(directory: string): { documents: Documents; failures: Failure[] } {
  return documentsOf(readTexts(directory));
}

interface Shipped extends Written {
  documents: Documents;
}

function proveShipped(written: Written): Shipped {
  const { documents, failures } = documentsOf(written);
  return { ...written, documents, failures: failures.length > 0 ? failures : check(documents) };
}

function proveOwn({ texts, documents, failures }: Shipped, own: Folder): Proved {
  // Files of one's own are judged by the shipped tables, which must hold first.
  const found = failures.length > 0 ? { files: [], failures: [] } : ownFiles(documents, own);
  const sets = laidOver(documents, found.files, own.texts);
  const ofSets = [sets.common, ...sets.merchants.values()].flatMap((set) =>
    set.failures.length > 0 ? set.failures : checkLaid(set.documents),
  );
  const all = placed([...failures, ...own.failures, ...found.failures, ...ofSets], texts, false);
  return { sets, failures: placed(all, own.texts, true) };
}

/** Adds line and column to failures of these files. A failure of a common file, found in several sets, is kept once. */
function placed(failures: readonly Failure[], texts: Written['texts'], are_own: boolean): Failure[] {
  const open = new Map<string, { placeOf: ReturnType<typeof placesIn>; content: unknown }>();
  const all = failures.map((failure) => {
    const text = texts.find(([file]) => file === failure.file)?.[1];
    if (text === undefined || failure.line !== undefined) return failure;
    const { key, ...rest } = failure;
    const { placeOf, content } = open.get(failure.file) ?? { placeOf: placesIn(text), content: parse(text) };
    open.set(failure.file, { placeOf, content });
    return { ...rest, ...placeOf(pathOfRow(content, failure.row, key, are_own)) };
  });
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

interface Written {
  /** File and its text, sorted by file: relative to the directory; in a folder of one's own the whole path. */
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
    proxied: [],
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
  const read = readYaml(file, text, failures);
  if (read === null) return;
  const take = <Out>(schema: z.ZodType<Out>, keep: (document: Out) => void): void => {
    const document = byGrammar(schema, file, { text, ...read }, failures);
    if (document !== null) keep(document);
  };
  const role = (read.content as { role?: unknown } | null)?.role; // any YAML value; only read
  if (file === 'operations.yaml')
    take(operationsFile, ({ operations, proxied }) => {
      documents.operations.push(...operations);
      documents.proxied.push(...proxied);
    });
  else if (file === 'sites.yaml') take(sitesFile, ({ sites }) => documents.sites.push(...sites));
  else if (file === LIMITATIONS) take(limitationsFile, (found) => documents.limitations.push(...found.limitations));
  else if (role === 'states') take(statesTable, (table) => documents.states.push({ file, ...table }));
  else if (role === 'errors') take(errorsTable, (table) => documents.errors.push({ file, ...table }));
  else take(fieldTable, (table) => documents.tables.push({ file, ...table }));
}
