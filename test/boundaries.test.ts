/** The linter checks the import order: each forbidden direction is refused, each allowed one passes. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';

const house = fileURLToPath(new URL('..', import.meta.url));

/** Folders that each folder may import, besides itself and libraries (`docs/architecture.md` The parts). */
const maySee: Record<string, readonly string[]> = {
  contract: ['error'],
  locales: ['error'],
  mapping: ['error', 'contract', 'locales'],
  proxy: ['error', 'contract', 'locales', 'mapping'],
  ops: ['error', 'contract', 'locales', 'mapping', 'proxy'],
  store: ['error', 'contract', 'locales', 'mapping', 'proxy', 'ops'],
  sandbox: ['error', 'contract'],
  config: ['error', 'contract', 'locales', 'mapping', 'proxy', 'ops'],
  app: ['error', 'contract', 'locales', 'mapping', 'proxy', 'ops', 'store', 'sandbox', 'config'],
};
const files = ['error', 'main', 'cli'];
const folders = Object.keys(maySee);
const depths = ['here', 'deeper/here'];

interface Direction {
  from: string;
  to: string;
  allowed: boolean;
  /** Importing files under `src`, at both depths, and their imports. */
  imports: { file: string; specifier: string }[];
}

function directions(): Direction[] {
  const targets = [...folders.map((folder) => `${folder}/there.ts`), ...files.map((file) => `${file}.ts`)];
  return folders.flatMap((from) =>
    targets
      .filter((to) => to !== `${from}/there.ts` && to !== `${from}.ts`)
      .map((to) => ({
        from,
        to,
        allowed: maySee[from]?.includes(to.replace(/(\/there)?\.ts$/, '')) ?? false,
        imports: depths.map((depth) => ({
          file: `${from}/${depth}-${to.replace('/', '-')}`,
          specifier: `${depth === 'here' ? '..' : '../..'}/${to}`,
        })),
      })),
  );
}

/** Modules that decisions may not import. */
const inputAndOutput = ['node:fs', 'node:fs/promises', 'node:net', 'undici', 'express', 'better-sqlite3'];

describe('import order', () => {
  const directory = mkdtempSync(join(tmpdir(), 'puente-boundaries-'));
  const refusedIn = new Set<string>();

  beforeAll(async () => {
    cpSync(join(house, 'biome.json'), join(directory, 'biome.json'));
    const write = (file: string, specifier: string) => {
      mkdirSync(dirname(join(directory, 'src', file)), { recursive: true });
      writeFileSync(join(directory, 'src', file), `export type { there } from '${specifier}';\n`);
    };
    for (const { file, specifier } of directions().flatMap(({ imports }) => imports)) write(file, specifier);
    for (const specifier of inputAndOutput) {
      for (const folder of ['proxy/sales', 'ops/moves', 'contract', 'store'])
        write(ioFile(folder, specifier), specifier);
    }
    for (const folder of folders) write(`${folder}/neighbour.ts`, './there.ts');
    write('error.ts', './contract/there.ts');
    write('main.ts', './app/there.ts');
    for (const file of await refusedFiles(directory)) refusedIn.add(file);
  });

  test.each(directions().filter(({ allowed }) => !allowed))('$from may not import $to', ({ imports }) => {
    for (const { file } of imports) expect(refusedIn).toContain(file);
  });

  test.each(directions().filter(({ allowed }) => allowed))('$from may import $to', ({ imports }) => {
    for (const { file } of imports) expect(refusedIn).not.toContain(file);
  });

  test.each(inputAndOutput)('decisions may not do I/O with %s, stores may', (specifier) => {
    for (const folder of ['proxy/sales', 'ops/moves', 'contract'])
      expect(refusedIn).toContain(ioFile(folder, specifier));
    expect(refusedIn).not.toContain(ioFile('store', specifier));
  });

  test.each(folders)('%s may import its neighbours', (folder) => {
    expect(refusedIn).not.toContain(`${folder}/neighbour.ts`);
  });

  test('error knows nobody, main knows app', () => {
    expect(refusedIn).toContain('error.ts');
    expect(refusedIn).not.toContain('main.ts');
  });

  test('every folder of src has its row here', () => {
    const found = readdirSync(join(house, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders).toEqual(expect.arrayContaining(found.map(({ name }) => name)));
  });
});

function ioFile(folder: string, specifier: string): string {
  return `${folder}/io-${specifier.replaceAll(/[^a-z]/g, '-')}.ts`;
}

/** Lints `src` of the directory with the import rule only; returns the refused files, relative to `src`. */
async function refusedFiles(directory: string): Promise<string[]> {
  const biome = join(house, 'node_modules', '.bin', 'biome');
  const rule = '--only=style/noRestrictedImports';
  const { stdout } = await promisify(execFile)(
    biome,
    ['lint', rule, '--reporter=github', '--max-diagnostics=none', 'src'],
    {
      cwd: directory,
    },
  ).catch((failure: { stdout: string }) => failure); // biome exits with 1 for refusals, with the same output
  return [...stdout.matchAll(/noRestrictedImports,file=[^,]*\/src\/([^,]+),/g)].map((match) => match[1] ?? '');
}
