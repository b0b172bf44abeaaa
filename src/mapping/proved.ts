/** The cache of proved tables: a start that finds the same files and the same code proves nothing again. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { OwnFile } from './own-tables.ts';
import type { Documents } from './schema.ts';

/** Documents that hold, and the files of one's own that hold over them. */
type ProvedTables = Documents & { own_files: readonly OwnFile[] };

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
  read(): ProvedTables | null;
  /** Atomic; without write permission the next start proves again. */
  write(documents: ProvedTables): void;
}

/** @param texts each file and its text, those of one's own included. */
export function keeping(directory: string, texts: readonly (readonly [string, string])[]): Keeping {
  const path = join(directory, PROVED);
  const key = proofKey(texts);
  const headOf = (json: string): string => `${key} ${createHash('sha256').update(json).digest('hex')}`;
  return {
    read() {
      try {
        const text = readFileSync(path, 'utf8');
        const end = text.indexOf('\n');
        const json = text.slice(end + 1);
        return text.slice(0, end) === headOf(json) ? (JSON.parse(json) as ProvedTables) : null; // `write` has written it
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
function proofKey(texts: readonly (readonly [string, string])[]): string {
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
