/** Opens SQLite stores in throw-away folders, and removes them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Store } from '../../../src/ops/ports.ts';
import { openSqliteStore, type SqliteStoreOptions } from '../../../src/store/sqlite/store.ts';
import type { Harness } from '../contract/harness.ts';

export interface Folder {
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

/** A store on a new file, which goes when it is closed. */
export async function openOwnStore(options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const folder = newFolder();
  const store = await openStore(folder.file('puente.db'), options);
  return {
    ...store,
    async close() {
      await store.close();
      folder.remove();
    },
  };
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
    async empty() {
      if (!harness.store.healthy()) await harness.reopen();
      deleteRows(path);
    },
    tells_free: false,
    async sql(text) {
      runSql(path, text);
    },
    async dispose() {
      await harness.store.close();
      folder.remove();
    },
  };
  return harness;
}

/** Beside the store that has the file open. */
export function runSql(path: string, text: string): void {
  const database = new Database(path, { timeout: 5_000 });
  try {
    database.exec(text);
  } finally {
    database.close();
  }
}

/** The store's own data, and the counts, which follow the rows by triggers. */
const OWN_TABLES = ['meta', 'link_counts'];

function deleteRows(path: string): void {
  const database = new Database(path, { timeout: 5_000 });
  try {
    for (const setting of ['foreign_keys = OFF', 'synchronous = OFF']) database.pragma(setting);
    const named = database.prepare<[string], { name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite_%'",
    );
    const full = named
      .all('table')
      .filter(({ name }) => !OWN_TABLES.includes(name))
      .filter(({ name }) => database.prepare(`SELECT 1 FROM ${name} LIMIT 1`).get() !== undefined);
    // A trigger forbids deletes in `audit`, so it is dropped meanwhile.
    const guards = full.some(({ name }) => name === 'audit')
      ? named.all('trigger').filter(({ name }) => name === 'audit_not_deleted')
      : [];
    database
      .transaction(() => {
        for (const { name } of guards) database.exec(`DROP TRIGGER ${name}`);
        for (const { name } of full) database.exec(`DELETE FROM ${name}`);
        // Event numbers continue: the store caches in memory how many it has given out.
        database.exec("DELETE FROM sqlite_sequence WHERE name <> 'events'");
        for (const { sql } of guards) database.exec(sql);
      })
      .immediate();
  } finally {
    database.close();
  }
}
