/** The server as a few files instead of hundreds: a start costs a third of the CPU, so kills can be many. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { parse } from 'yaml';
import { loadTables } from '../../src/mapping/load.ts';
import type { Build } from './child.ts';

/** Native, or looking for files of its own beside its own: these stay where they are. */
const APART = ['better-sqlite3', 'pino'];
/** How the store names its writer thread, which is an entry of its own here. */
const WRITER = /new URL\('\.\/writer\.ts', import\.meta\.url\)/;

export interface Bundle extends Build {
  remove(): void;
}

/** Bundles the server whose sources are in `root`; it reads tables, settings and migrations there, as the sources do. */
export async function bundleServer(root: string): Promise<Bundle> {
  const folder = mkdtempSync(join(tmpdir(), 'puente-crash-bundle-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const loader = join(root, 'src', 'mapping', 'load.ts');
  let isWriterApart = false;
  const plugin: Plugin = {
    name: 'places-of-the-sources',
    resolveId: (id, importer) => (importer === loader ? (STAND_INS[id] ?? null) : null),
    load(id) {
      if (id === PARSED) return parsedTables(join(root, 'mappings'));
      return id === PROVED ? provedTables(join(root, 'mappings'), join(root, 'src', 'mapping', 'check.ts')) : null;
    },
    transform(code, id) {
      if (!id.startsWith(join(root, 'src'))) return null;
      isWriterApart ||= WRITER.test(code);
      return inItsOldPlace(code, id);
    },
  };
  const build = await rolldown({
    cwd: root,
    input: { main: 'src/main.ts', writer: 'src/store/sqlite/writer.ts' },
    platform: 'node',
    external: (id) => APART.includes(id),
    plugins: [plugin],
    // Warnings of packages about themselves are not ours to mend.
    logLevel: 'silent',
  });
  const names = { entryFileNames: '[name].mjs', chunkFileNames: '[name].mjs' };
  // Shorter text is quicker to read and to look up in the compile cache.
  await build.write({ dir: folder, format: 'esm', minify: true, keepNames: true, ...names });
  await build.close();
  if (!isWriterApart) throw new Error('no module starts the writer thread as bundle.ts expects it');
  return { cwd: root, entry: join(folder, 'main.mjs'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Half of a start is parsing and proving the same tables again, so where they are read other modules stand in. */
const PARSED = 'parsed-tables';
const PROVED = 'proved-tables';
const STAND_INS: Readonly<Record<string, string>> = { yaml: PARSED, './check.ts': PROVED };

/** The texts as they are now with what `yaml` makes of them; a text that has changed since is parsed as ever. */
function parsedTables(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));
  const texts = files.map((name) => readFileSync(join(folder, name), 'utf8'));
  const known = JSON.stringify(texts.map((text) => [text, parse(text)]));
  return `import { parse as read } from 'yaml';
const known = new Map(JSON.parse(${JSON.stringify(known)}));
export const parse = (text) => known.get(text) ?? read(text);`;
}

/** Proves the tables here, once, as each start of the sources does. */
function provedTables(folder: string, proofs: string): string {
  loadTables(folder);
  return `export { printFailures } from ${JSON.stringify(proofs)};
export const check = () => [];`;
}

/** What a module says of its own place is written out, before it loses that place. */
function inItsOldPlace(code: string, path: string): string {
  const [beforeWriter = '', ...afterWriter] = code.split(WRITER);
  const placed = (text: string): string =>
    text
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
      .replaceAll('import.meta.filename', JSON.stringify(path))
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href));
  return [beforeWriter, ...afterWriter].map(placed).join(`new URL('./writer.mjs', import.meta.url)`);
}
