/** Where the Puentes of a test keep their rows, and how a test reads them beside the running process. */
import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import type { Store } from '../../src/ops/ports.ts';
import { openStore } from '../store/sqlite/kit.ts';
import { onServer } from './on-server.ts';

/** With the same data directory a Puente finds the same rows, after a restart, too. */
export interface Keeping {
  /** What a Puente is told of its store, as environment variables. */
  settings(data_dir: string): Promise<Record<string, string>>;
  /** Rows of a statement that both engines understand. */
  read<Row>(data_dir: string, sql: string): Promise<Row[]>;
  /** `ok`, or what the engine's own check of all that it keeps has found. */
  integrity(data_dir: string): Promise<string>;
  /** What a killed process had taken is free again, as it is a minute later by itself. */
  release(data_dir: string): Promise<void>;
  /** The store of a Puente that has closed. */
  open(data_dir: string, cover_key: KeyObject): Promise<Store>;
  /** Takes away what does not lie in the data directory itself. */
  drop(data_dir: string): Promise<void>;
}

/** The file of every test, unless it is run in the project `postgres` (`vitest.config.ts`), whose server this is. */
export function usualKeeping(): Keeping {
  const server = process.env.TEST_POSTGRES_URL;
  return server === undefined ? inFile : onServer(server);
}

const inFile: Keeping = {
  settings: async () => ({}),
  read: async <Row>(data_dir: string, sql: string) =>
    readFile(fileOf(data_dir), (database) => database.prepare<[], Row>(sql).all()),
  integrity: async (data_dir) =>
    readFile(fileOf(data_dir), (database) => String(database.pragma('integrity_check', { simple: true }))),
  open: (data_dir, cover_key) => openStore(fileOf(data_dir), { create: false, cover_key }),
  release: async () => undefined,
  drop: async () => undefined,
};

/** Reads a file as somebody else would, while the server runs or after it died. */
export function readFile<Found>(path: string, read: (database: Database.Database) => Found): Found {
  const database = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  try {
    return read(database);
  } finally {
    database.close();
  }
}

function fileOf(data_dir: string): string {
  return join(data_dir, 'puente.db');
}
