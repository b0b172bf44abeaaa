/** One bundle for all test files of a run, reused by later runs while the sources are unchanged. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { buildIn, writeBundle } from './bundle.ts';
import { type Build, ROOT } from './child.ts';

const KEPT = join(ROOT, 'node_modules', '.cache', 'puente-crash');
/** Files that a bundle depends on, beside this code. */
const MADE_OF = ['src', 'mappings', 'config', 'package-lock.json', join('test', 'crash', 'bundle.ts')];
/** Written last: a folder without it is in progress, or was left by a killed test file. */
const READY = 'ready';
/** Bundling takes some seconds; after this long, its process is gone. */
const MAKING_LIMIT_MS = 60_000;
/** Bundles older than this are of sources that changed since. */
const OLD_MS = 24 * 60 * 60_000;

/**
 * The bundle of these sources, made by the first caller.
 * @param warmUp runs a fresh bundle once, which fills its compile cache.
 */
export async function keptBundle(warmUp: (build: Build) => Promise<void>): Promise<Build> {
  const folder = join(KEPT, fingerprint());
  mkdirSync(KEPT, { recursive: true });
  while (!existsSync(join(folder, READY)))
    if (begin(folder)) {
      removeOld();
      await writeBundle(ROOT, folder);
      await warmUp(buildIn(ROOT, folder));
      writeFileSync(join(folder, READY), '');
    } else await untilMade(folder);
  return buildIn(ROOT, folder);
}

/** True for one caller only: mkdir is atomic. */
function begin(folder: string): boolean {
  try {
    mkdirSync(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false; // fs throws these
    throw error;
  }
}

async function untilMade(folder: string): Promise<void> {
  for (const limit = Date.now() + MAKING_LIMIT_MS; !existsSync(join(folder, READY)); await pause(50))
    if (Date.now() > limit) return rmSync(folder, { recursive: true, force: true });
}

function removeOld(): void {
  for (const name of readdirSync(KEPT)) {
    const folder = join(KEPT, name);
    if (Date.now() - statSync(folder).mtimeMs > OLD_MS) rmSync(folder, { recursive: true, force: true });
  }
}

/** Changes with every bundled file, with the path, and with Node, whose compile cache is beside the bundle. */
function fingerprint(): string {
  const hash = createHash('sha256').update(`${process.version} ${ROOT}`);
  for (const path of MADE_OF.flatMap(filesAt)) hash.update(`\n${path}\n`).update(readFileSync(join(ROOT, path)));
  return hash.digest('hex').slice(0, 16);
}

function filesAt(path: string): string[] {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  const entries = readdirSync(join(ROOT, path), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(ROOT.length + 1)).sort();
}
