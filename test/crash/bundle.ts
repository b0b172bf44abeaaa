/** Bundles the server into a few files: a start costs a quarter of the CPU, so that more kills are affordable. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { parse } from 'yaml';
import { loadTables, readDocuments } from '../../src/mapping/load.ts';
import type { Build } from './child.ts';

/** Not bundled: native, or reading files relative to their own. */
const APART = ['better-sqlite3', 'pino'];
/** A module that starts a thread names its file so; the bundle has an entry for each. */
const THREAD = /new URL\('\.\/([a-z-]+)\.ts', import\.meta\.url\)/g;

/** The last line of the main module: top-level await, which CommonJS does not allow. */
const START = 'if (import.meta.main) await serve(process.env)';

export function buildIn(root: string, folder: string): Build {
  return { cwd: root, entry: join(folder, 'main.cjs'), compiled: join(folder, 'compiled') };
}

/**
 * Bundles the server whose sources are in `root`; it reads tables, settings and migrations there.
 * @param folder under `root`, so that packages resolve as from the sources.
 */
export async function writeBundle(root: string, folder: string): Promise<void> {
  const standIns = standInsOf(root);
  const unused = new Set(standIns.map(({ name }) => name));
  const plugin: Plugin = {
    name: 'places-of-the-sources',
    resolveId: (id, importer = '') => standIns.find(({ stands }) => stands(id, importer))?.name,
    load(id) {
      unused.delete(id);
      return standIns.find(({ name }) => name === id)?.code;
    },
    transform: (code, id) => (id.startsWith(join(root, 'src')) ? inItsOldPlace(code, id) : null),
  };
  const build = await rolldown({
    cwd: root,
    input: { main: 'src/main.ts', ...threadsOf(join(root, 'src')) },
    platform: 'node',
    external: (id) => APART.includes(id),
    plugins: [plugin],
    logLevel: 'silent',
  });
  const names = { entryFileNames: '[name].cjs', chunkFileNames: '[name].cjs' };
  // CommonJS, because an import of `node:http` loads every export, WebSockets too; minified text is faster to parse.
  await build.write({ dir: folder, format: 'cjs', minify: true, keepNames: true, ...names });
  await build.close();
  if (unused.size > 0) throw new Error(`no module is replaced any more by ${[...unused].join(', ')} of bundle.ts`);
}

/** Entry files of all threads, by name. */
function threadsOf(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const threads = files.flatMap((file) =>
    [...readFileSync(join(folder, file), 'utf8').matchAll(THREAD)].map(([, name = '']) => [
      name,
      join(folder, dirname(file), `${name}.ts`),
    ]),
  );
  if (!threads.some(([name]) => name === 'writer'))
    throw new Error('no module starts the writer thread as bundle.ts expects it');
  return Object.fromEntries(threads);
}

interface StandIn {
  name: string;
  stands(id: string, importer: string): boolean;
  code: string;
}

/** Half of a start is reading and checking these files, so the bundle has the results; the sandbox stays outside. */
function standInsOf(root: string): StandIn[] {
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const { documents } = readDocuments(join(root, 'mappings'));
  loadTables(join(root, 'mappings'));
  const defaults = read('config/default.yaml');
  return [
    {
      name: 'proved-tables',
      stands: (id) => id.endsWith('/mapping/load.ts'),
      code: `import { assemble } from ${JSON.stringify(join(root, 'src', 'mapping', 'assemble.ts'))};
const documents = ${JSON.stringify(JSON.stringify(documents))};
export const loadTables = () => assemble(JSON.parse(documents));`,
    },
    {
      name: 'parsed-defaults',
      stands: (id, importer) => id === 'yaml' && importer.endsWith('/config/config.ts'),
      code: `import { LineCounter, parseDocument as read, visit as visitAll } from 'yaml';
const defaults = { errors: [], warnings: [], toJS: () => (${JSON.stringify(parse(defaults))}) };
export const parseDocument = (text, options) => (text === ${JSON.stringify(defaults)} ? defaults : read(text, options));
export const visit = (document, visitor) => document === defaults || visitAll(document, visitor);
export { LineCounter };`,
    },
    {
      name: 'no-sandbox',
      stands: (id) => id.endsWith('/sandbox/server.ts'),
      code: `export const startSandbox = () => Promise.reject(new Error('this bundle has no sandbox'));`,
    },
  ];
}

/** Replaces a module's references to its own path by literals, because bundling moves the code. */
function inItsOldPlace(code: string, path: string): string {
  return code
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
    .replaceAll('import.meta.filename', JSON.stringify(path))
    .replaceAll(/(?<!\.ts', )import\.meta\.url/g, JSON.stringify(pathToFileURL(path).href))
    .replaceAll(THREAD, `new URL('./$1.cjs', 'file://' + __filename)`)
    .replace(START, 'void serve(process.env)');
}
