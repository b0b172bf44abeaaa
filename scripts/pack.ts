/** `prepack`: writes `dist/`, the sources without their types, because Node strips none below `node_modules`. */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
/** Relative paths of modules, in imports and in the URLs of threads. */
const MODULE = /(['"])(\.{1,2}\/[^'"\n]*)\.ts\1/g;

rmSync(DIST, { recursive: true, force: true });
cpSync(join(ROOT, 'src'), DIST, { recursive: true });
for (const file of globSync('**/*.ts', { cwd: DIST })) {
  const path = join(DIST, file);
  const code = stripTypeScriptTypes(readFileSync(path, 'utf8')).replaceAll(MODULE, '$1$2.js$1');
  writeFileSync(path.replace(/\.ts$/, '.js'), code);
  rmSync(path);
}
