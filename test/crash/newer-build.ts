/** A newer build of the server beside this one: the same code and one more migration, for kills during an upgrade. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildIn } from './bundle.ts';
import { type Build, ROOT } from './child.ts';

const MIGRATIONS = join('src', 'store', 'sqlite', 'migrations');
/** The schema of the newer build; migrations are numbered without a gap. */
export const NEWER_VERSION = readdirSync(join(ROOT, MIGRATIONS)).length + 1;
/** Rows that the migration writes: it takes long enough for a kill from outside to hit it. */
const ROWS = 10_000;

const MIGRATION = `-- Adds a column to every link and a table that takes a moment to fill.
ALTER TABLE links ADD COLUMN crash_note TEXT;
CREATE TABLE crash_filler (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
WITH RECURSIVE counted (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM counted WHERE number < ${ROWS})
INSERT INTO crash_filler (number, text) SELECT number, hex(randomblob(16)) FROM counted;
UPDATE links SET crash_note = 'migrated';
`;

/** @param usual is copied with rewritten paths, and reads tables, settings and migrations of the newer build. */
export function makeNewerBuild(usual: Build): { build: Build; remove(): void } {
  const root = mkdtempSync(join(tmpdir(), 'puente-newer-build-'));
  for (const part of ['src', 'mappings', 'config', 'package.json'])
    cpSync(join(ROOT, part), join(root, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  writeFileSync(join(root, MIGRATIONS, `${String(NEWER_VERSION).padStart(3, '0')}_crash_test.sql`), MIGRATION);
  const folder = join(root, 'bundle');
  mkdirSync(folder);
  for (const name of readdirSync(dirname(usual.entry)).filter((one) => one.endsWith('.cjs')))
    writeFileSync(join(folder, name), readFileSync(join(dirname(usual.entry), name), 'utf8').replaceAll(ROOT, root));
  return { build: buildIn(root, folder), remove: () => rmSync(root, { recursive: true, force: true }) };
}
