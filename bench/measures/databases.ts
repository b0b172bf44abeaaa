/** The database of each measured Puente: a file, or a database on one PostgreSQL server. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import Database from 'better-sqlite3';
import { Client } from 'pg';
import { startServerProcess } from '../../test/store/postgres/server-process.ts';
import { besideIn, isTranslation, PUENTE_BESIDE, translationDatabaseOf } from '../contestants/contestants.ts';
import { databaseOf } from '../contestants/puente.ts';
import { childrenOf, familyCpuSeconds, TASKSET } from '../machine.ts';

export type Engine = 'SQLite' | 'PostgreSQL';

export interface Databases {
  /** The `PUENTE_POSTGRES_URL` of a contestant; null for a file. */
  addressOf(puente: string): Promise<string | null>;
  /**
   * Analyzes the databases once they have rows, as the server does by itself within minutes. Plans for empty tables
   * would read all sales of a merchant for each sale.
   */
  settle(): Promise<void>;
  /** The server's processor time for all databases, s; 0 without a server, null where it is unknown. */
  serverSeconds(): number | null;
  /** One number from a stopped contestant's rows. */
  count(contestant: string, question: string): Promise<number>;
  stop(): Promise<void>;
}

/** @param directory of the stand. */
export function files(directory: string): Databases {
  return {
    addressOf: async () => null,
    settle: async () => undefined,
    serverSeconds: () => 0,
    count: async (contestant, question) => countIn(fileOf(directory, contestant), question),
    stop: async () => undefined,
  };
}

/** @param core of the contestants, for whom the server works; null leaves it to the system. */
export async function onServer(directory: string, core: number | null): Promise<Databases> {
  const server = await startServerProcess();
  // Processes that the server starts later, one per connection, inherit the core.
  if (core !== null)
    for (const pid of [server.pid, ...childrenOf(server.pid)]) spawnSync(TASKSET, ['-cp', String(core), String(pid)]);
  const nameOf = (puente: string): string => puente.replaceAll(' ', '_');
  const addressOf = (puente: string): string => Object.assign(new URL(server.url), { pathname: nameOf(puente) }).href;
  const made: string[] = [];
  return {
    async addressOf(puente) {
      await askServer(server.url, `CREATE DATABASE ${nameOf(puente)}`);
      made.push(addressOf(puente));
      return addressOf(puente);
    },
    async settle() {
      for (const url of made) await askServer(url, LOOK_AT_ALL);
    },
    serverSeconds: () => familyCpuSeconds(server.pid),
    count: async (contestant, question) =>
      isTranslation(contestant)
        ? countIn(translationDatabaseOf(contestant, directory), question)
        : Number(await askServer(addressOf(contestant), question)),
    stop: server.stop,
  };
}

/** Also discards the sessions' earlier plans. */
export const LOOK_AT_ALL = 'ANALYZE';

function fileOf(directory: string, contestant: string): string {
  if (isTranslation(contestant)) return translationDatabaseOf(contestant, directory);
  return databaseOf(contestant === PUENTE_BESIDE ? besideIn(directory) : directory);
}

export function countIn(path: string, question: string): number {
  if (!existsSync(path)) return 0;
  const database = new Database(path, { readonly: true });
  try {
    return Number(database.prepare(question).pluck().get());
  } finally {
    database.close();
  }
}

/**
 * One statement on a PostgreSQL server, outside the measurement. @returns the first value, or undefined. @throws Error
 * of the server.
 */
export async function askServer(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' });
    return rows[0]?.[0];
  } finally {
    await client.end();
  }
}
