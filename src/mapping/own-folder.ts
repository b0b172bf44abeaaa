/** A folder of tables of one's own: its files, for all merchants and in `merchants/<id>/` for one, and the sets they make. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { USER_ID } from '../contract/identifiers.ts';
import type { Failure } from './check-rows.ts';
import { whatFits } from './near.ts';
import { layOver, type OwnFile, ownGrammar } from './own-tables.ts';
import { byGrammar, readYaml } from './read-yaml.ts';
import type { Documents } from './schema.ts';
import type { Laid } from './tables.ts';

/** The shipped tables with those of one's own laid over them. */
export interface Sets {
  shipped: Documents;
  /** For every merchant without tables of its own; the shipped ones when nothing is laid over them. */
  common: LaidSet;
  /** By merchant, laid over the common set. */
  merchants: ReadonlyMap<string, LaidSet>;
  files: readonly OwnFile[];
}

interface LaidSet {
  documents: Documents;
  laid: Laid[];
  failures: Failure[];
}

/** Texts by whole path, sorted. */
export interface Folder {
  folder: string;
  texts: [string, string][];
  failures: Failure[];
}

const MERCHANTS = 'merchants';
/** `merchants/<id>/<family>/<table>.yaml`. */
const DEEPEST = 4;

/**
 * Every `.yaml` file of the folder. Links are followed, and names that begin with a dot left out, because Kubernetes
 * mounts files as links into a directory of its own.
 * @param folder null for none. An empty one is a failure: a mount that is missing looks like it.
 */
export function readFolder(folder: string | null): Folder {
  const found: Folder = { folder: folder ?? '', texts: [], failures: [] };
  if (folder === null) return found;
  const fail = (file: string, message: string): void => void found.failures.push({ file, row: null, message });
  const walk = (directory: string, depth: number): void => {
    for (const name of readdirSync(directory).sort()) {
      if (name.startsWith('.')) continue;
      const path = join(directory, name);
      if (statSync(path).isDirectory()) {
        if (depth < DEEPEST) walk(path, depth + 1);
        else fail(path, 'tables lie in <family>/<table>.yaml, or in merchants/<id>/<family>/<table>.yaml');
      } else if (name.endsWith('.yaml')) found.texts.push([path, readFileSync(path, 'utf8')]);
      else if (name.endsWith('.yml')) fail(path, 'tables end in .yaml: rename the file');
    }
  };
  try {
    walk(folder, 1);
    if (found.texts.length + found.failures.length === 0)
      fail(folder, 'has no table: is it mounted? Without tables of your own, unset mappings.folder');
  } catch (error) {
    fail(folder, `can't be read: ${(error as Error).message}; mount it, or unset mappings.folder`); // fs throws Errors
  }
  return found;
}

/** The files of a folder by the grammar of the shipped table below each. */
export function ownFiles(shipped: Documents, { folder, texts }: Folder): { files: OwnFile[]; failures: Failure[] } {
  const failures: Failure[] = [];
  const known = [...shipped.tables, ...shipped.states, ...shipped.errors].map(({ file }) => file);
  const files = texts.flatMap(([file, text]): OwnFile[] => {
    const place = placeOf(folder, file);
    const grammar = ownGrammar(shipped, place.shipped);
    const refusal = whyNot(place, grammar === null ? known : null);
    if (refusal !== null) failures.push({ file, row: null, message: refusal });
    const read = refusal === null ? readYaml(file, text, failures) : null;
    const written =
      read === null || grammar === null
        ? null
        : byGrammar<OwnFile['written']>(grammar, file, { text, ...read }, failures);
    return written === null ? [] : [{ file, ...place, written }];
  });
  return { files, failures };
}

interface FilePlace {
  /** Null: for all merchants. */
  merchant: string | null;
  shipped: string;
}

function placeOf(folder: string, file: string): FilePlace {
  const parts = relative(folder, file).split(sep);
  if (parts[0] !== MERCHANTS) return { merchant: null, shipped: parts.join('/') };
  const [merchant, ...rest] = parts.slice(1) as [string, ...string[]]; // files end in .yaml, so `merchants` is a folder
  return { merchant, shipped: rest.join('/') };
}

/** @param known the files that there are, where this is none of them. */
function whyNot({ merchant, shipped }: FilePlace, known: readonly string[] | null): string | null {
  if (merchant !== null && !USER_ID.test(merchant))
    return `${merchant} is no merchant id: one merchant's tables lie in merchants/<id>/<family>/<table>.yaml`;
  if (known === null) return null;
  const why = OF_THE_BUILD[shipped];
  if (why !== undefined)
    return `${shipped} belongs to the program: ${why}. Nothing can be laid over it; tables of fields, states and errors take rows of your own`;
  return `there is no shipped table ${shipped} for this file to be laid over${whatFits(shipped, known)}`;
}

/** Shipped files without a place for rows of one's own, and why. */
const OF_THE_BUILD: Readonly<Record<string, string>> = {
  'operations.yaml': 'each operation is code',
  'sites.yaml': 'the decimals of a currency are those of every stored amount',
  'limitations.yaml': 'its numbers are in reports, each with a test of the program',
};

/** Lays the common files, and each merchant's over these. @param texts those of the files, for the revisions. */
export function laidOver(
  shipped: Documents,
  files: readonly OwnFile[],
  texts: readonly (readonly [string, string])[],
): Sets {
  const textOf = new Map(texts);
  const lay = (below: Documents, of: string | null): LaidSet => {
    const mine = files.filter(({ merchant }) => merchant === of);
    if (mine.length === 0) return { documents: below, laid: [], failures: [] };
    const { documents, ...found } = layOver(below, mine, of === null ? 'own' : 'merchant');
    const hash = createHash('sha256').update(below.revision);
    for (const one of mine) hash.update(`${one.shipped}\n${textOf.get(one.file)}\n`);
    return { ...found, documents: { ...documents, revision: hash.digest('hex').slice(0, 12) } };
  };
  const common = lay(shipped, null);
  const ids = [...new Set(files.flatMap(({ merchant }) => merchant ?? []))];
  const merchants = new Map(ids.map((id) => [id, lay(common.documents, id)]));
  return { shipped, common, merchants, files };
}
