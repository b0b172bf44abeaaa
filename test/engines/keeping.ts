/** Where the Puentes of a test store their rows, and how a test reads these beside the running process. */
import { type KeyObject, randomUUID } from 'node:crypto';
import { copyFileSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Store } from '../../src/ops/ports.ts';
import { closing } from '../open.ts';
import { openStore } from '../store/sqlite/kit.ts';
import { onServer } from './on-server.ts';

/** With the same data directory a Puente finds the same rows, even after a restart. */
export interface Keeping {
  settings(data_dir: string): Promise<Record<string, string>>;
  /** Makes an empty store as a first start does, but sooner. @param now epoch ms, when it was made. */
  make(data_dir: string, now: number): Promise<void>;
  /** Runs a statement that both engines understand. */
  read<Row>(data_dir: string, sql: string): Promise<Row[]>;
  /** `ok`, or the findings of the engine's own check of all data. */
  integrity(data_dir: string): Promise<string>;
  /** Frees the lease of a killed process, which otherwise expires a minute later. */
  release(data_dir: string): Promise<void>;
  /** The store of a Puente that has closed. */
  open(data_dir: string, cover_key: KeyObject): Promise<Store>;
  /** Removes what is not in the data directory. */
  drop(data_dir: string): Promise<void>;
}

/** A file; in the project `postgres` (`vitest.config.ts`), that project's server. */
export function usualKeeping(): Keeping {
  const server = process.env.TEST_POSTGRES_URL;
  return server === undefined ? inFile : onServer(server);
}

const inFile: Keeping = {
  settings: async () => ({}),
  make: (data_dir, now) => copyMigrated(fileOf(data_dir), now),
  read: async <Row>(data_dir: string, sql: string) =>
    readFile(fileOf(data_dir), (database) => database.prepare<[], Row>(sql).all()),
  integrity: async (data_dir) =>
    readFile(fileOf(data_dir), (database) => String(database.pragma('integrity_check', { simple: true }))),
  open: (data_dir, cover_key) => openStore(fileOf(data_dir), { create: false, cover_key }),
  release: async () => undefined,
  drop: async () => undefined,
};

export function readFile<Found>(path: string, read: (database: Database.Database) => Found): Found {
  using database = closing(new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 }));
  return read(database);
}

let migrated: string | undefined;

/**
 * A new file, as the store itself makes one, without 21 migrations at each start (a quarter of its processor time):
 * `test/store/sqlite` makes and migrates its own.
 */
async function copyMigrated(path: string, now: number): Promise<void> {
  if (migrated === undefined) {
    migrated = join(mkdtempSync(join(tmpdir(), 'puente-migrated-')), 'puente.db');
    await (await openStore(migrated)).close();
  }
  copyFileSync(migrated, path);
  using database = closing(new Database(path));
  database.pragma('synchronous = OFF');
  const remember = database.prepare('UPDATE meta SET value = ? WHERE name = ?');
  remember.run(randomUUID(), 'instance_id');
  remember.run(String(now), 'created_at');
}

function fileOf(data_dir: string): string {
  return join(data_dir, 'puente.db');
}
