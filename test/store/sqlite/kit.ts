/** Opens SQLite stores in throw-away folders, and takes them away again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/core/store.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../../../src/store/sqlite/store.ts';
import type { Harness } from '../contract/harness.ts';

export interface Folder {
  /** The path of a file in it. */
  file(name: string): string;
  remove(): void;
}

export function newFolder(): Folder {
  const directory = mkdtempSync(join(tmpdir(), 'puente-sqlite-'));
  return {
    file: (name) => join(directory, name),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

export function openStore(path: string, options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  return openSqliteStore({ path, create: true, now: Date.now, ...options });
}

export async function openHarness(): Promise<Harness> {
  const folder = newFolder();
  const path = folder.file('puente.db');
  const harness: Harness = {
    store: await openStore(path),
    async reopen() {
      await harness.store.close();
      harness.store = await openStore(path, { create: false });
      return harness.store;
    },
    async dispose() {
      await harness.store.close();
      folder.remove();
    },
  };
  return harness;
}
