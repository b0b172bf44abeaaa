/** Checks the server, and migrates the database to the newest schema, before the first request. */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, DatabaseError } from 'pg';
import { PuenteError } from '../../error.ts';
import { type Failpoint, noFailpoint } from '../../proxy/process-memory.ts';
import { type Migration, readMigrations } from '../migrations.ts';
import { clientFor, databaseUnusable, failureOf, textOf } from './pool.ts';

/** The statements need 12; 14 is the oldest maintained version. */
const OLDEST_VERSION = 140_000;

/** Settings that the guarantees need (`docs/protocol.md` §3.14), the accepted values, and the repair. */
const NEEDED: readonly (readonly [name: string, values: readonly string[], repair: string])[] = [
  ['synchronous_commit', ['on', 'remote_apply'], 'Set synchronous_commit to on for this user and database'],
  ['fsync', ['on'], 'Set fsync to on: with it off a power loss takes sales away that were answered'],
  ['full_page_writes', ['on'], 'Set full_page_writes to on'],
  ['server_encoding', ['UTF8'], 'Make a database with the encoding UTF8'],
  ['default_transaction_isolation', ['read committed'], 'Set default_transaction_isolation to read committed'],
  ['transaction_read_only', ['off'], 'Name the primary server, not a standby, and a user who may write'],
];

interface PrepareOptions {
  url: string;
  /** Shown to operators. */
  location: string;
  connect_timeout_ms: number;
  /** Epoch ms. */
  now: () => number;
  migrations: readonly Migration[];
  /** Keyed hash of a constant: shows whether the values were sealed with this key. */
  key_mark?: string | undefined;
  failpoint?: Failpoint | undefined;
  /** True for a transfer, which may find the database half filled. */
  is_transfer?: boolean;
}

/** Checks settings, migrates, compares the key. @throws PuenteError store_unusable, naming the fault and the repair. */
export async function prepareDatabase(options: PrepareOptions): Promise<void> {
  const { url, location, connect_timeout_ms, migrations, now, failpoint } = options;
  const client = clientFor(url, connect_timeout_ms, 'puente');
  try {
    await client.connect();
    await refuseSettings(client, location);
    await migrate(client, location, migrations, now(), failpoint);
    if (options.is_transfer !== true)
      await refuseHalfTransferred(location, async (sql) => (await client.query(sql)).rows);
    if (options.key_mark !== undefined) await refuseOtherKey(client, location, options.key_mark);
  } catch (error) {
    if (error instanceof PuenteError) throw error;
    throw databaseUnusable(
      location,
      textOf(error),
      'See that the server runs, that its address, user and password are right, and that this user may create tables',
      error,
    );
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** @throws PuenteError store_unusable, naming the setting and the repair. */
export async function refuseSettings(client: Client, location: string): Promise<void> {
  const names = [...NEEDED.map(([name]) => name), 'server_version_num'];
  const { rows } = await client.query<Record<string, string>>(
    `SELECT ${names.map((name) => `current_setting('${name}') AS ${name}`).join(', ')}`,
  );
  const found = rows[0] ?? {};
  if (Number(found.server_version_num) < OLDEST_VERSION) {
    throw databaseUnusable(location, `its server is version ${found.server_version_num}`, 'Use PostgreSQL 14 or newer');
  }
  for (const [name, values, repair] of NEEDED) {
    const value = found[name] ?? '';
    if (!values.includes(value)) throw databaseUnusable(location, `its setting ${name} is ${value}`, repair);
  }
}

/** Another key can't open sealed values: tokens, bodies in doubt, secrets. The first start stores the mark. */
async function refuseOtherKey(client: Client, location: string, key_mark: string): Promise<void> {
  await client.query(`INSERT INTO meta (name, value) VALUES ('key_mark', $1) ON CONFLICT DO NOTHING`, [key_mark]);
  const { rows } = await client.query<{ value: string }>(`SELECT value FROM meta WHERE name = 'key_mark'`);
  if (rows[0]?.value === key_mark) return;
  throw databaseUnusable(
    location,
    'PUENTE_SECRET_KEY is not the key that its values were sealed with',
    'Set the key that every process of this installation has; nothing was changed',
  );
}

/** The address without user, password and parameters. */
export function locationOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'PostgreSQL' : `postgres://${parsed.host}${parsed.pathname}`;
}

// Migrations: of processes that start at the same time one migrates; the others find it done.

const MIGRATIONS_DIRECTORY = join(import.meta.dirname, 'migrations');
/** Processes of the previous version may use tables that a step changes; a deadlock with them rolls the step back. */
const ATTEMPTS = 4;
/**
 * Whoever uses a table later waits behind a step that waits for it: a running `pg_dump` would stop all sales. Longer than the
 * server's `deadlock_timeout`, 1 s, after which it ends an autovacuum in the way.
 */
const LOCK_WAIT_MS = 2_000;
/** In which those go on. */
const LOCK_PAUSE_MS = 500;
const IN_USE = '55P03';
const END_IT =
  'A table that the upgrade changes is in use: end what uses it (a pg_dump, a VACUUM, an open psql), then start again; nothing was changed';
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('puente migrations', 0))`;

/** @throws PuenteError store_unusable as `readMigrations` does. */
export function postgresMigrations(): Migration[] {
  return readMigrations(MIGRATIONS_DIRECTORY);
}

/**
 * Each step is one transaction with its version, under a lock that ends with it: a killed start leaves the old schema
 * or the new one, and no lock.
 * @param now epoch ms.
 * @throws PuenteError store_unusable when the schema is newer than this build, or a table stays in use elsewhere.
 */
export async function migrate(
  client: Client,
  location: string,
  migrations: readonly Migration[],
  now: number,
  failpoint: Failpoint = noFailpoint,
): Promise<void> {
  for (let attempt = 1; ; ) {
    await client.query('BEGIN');
    try {
      await client.query(LOCK);
      const current = await versionOf(client);
      const next = migrations[current];
      refuseNewer(location, current, migrations.length);
      if (next === undefined) {
        await client.query('COMMIT');
        return;
      }
      failpoint('migration.begun');
      await client.query(`SET LOCAL lock_timeout = ${LOCK_WAIT_MS}`);
      await client.query(next.sql);
      if (current === 0) await nameDatabase(client, now);
      await client.query(`INSERT INTO puente_schema (version, name, applied_at) VALUES ($1, $2, $3)`, [
        next.version,
        next.name,
        now,
      ]);
      failpoint('migration.applied');
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      const is_in_use = error instanceof DatabaseError && error.code === IN_USE;
      const is_last = attempt++ === ATTEMPTS || !(is_in_use || failureOf(error) === 'again');
      if (is_last) throw is_in_use ? databaseUnusable(location, textOf(error), END_IT, error) : error;
      if (is_in_use) await pause(LOCK_PAUSE_MS);
      continue;
    }
    failpoint('migration.committed');
  }
}

/** 0 for a database that was never migrated. */
async function versionOf(client: Client): Promise<number> {
  await client.query(
    `CREATE TABLE IF NOT EXISTS puente_schema (version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`,
  );
  const { rows } = await client.query<{ version: string }>(
    'SELECT coalesce(max(version), 0) AS version FROM puente_schema',
  );
  return Number(rows[0]?.version ?? 0);
}

function refuseNewer(location: string, current: number, newest: number): void {
  if (current <= newest) return;
  throw databaseUnusable(
    location,
    `it has schema ${current} and this build has up to ${newest}`,
    'Start the newer build',
  );
}

async function nameDatabase(client: Client, now: number): Promise<void> {
  const facts = [
    ['instance_id', randomUUID()],
    ['created_at', String(now)],
  ];
  for (const fact of facts) await client.query('INSERT INTO meta (name, value) VALUES ($1, $2)', fact);
}

// Marks of a transfer in the database: while it runs, no Puente starts on it.

/** Names in `meta`; both hold the instance id of the file. */
export const TRANSFER = { under_way: 'transfer_under_way', done: 'transferred_from' } as const;

type Run = (sql: string) => Promise<Record<string, unknown>[]>;

const MARKS = `SELECT name, value FROM meta WHERE name IN ('${TRANSFER.under_way}', '${TRANSFER.done}')`;

/** @throws PuenteError store_unusable during a transfer. */
async function refuseHalfTransferred(location: string, run: Run): Promise<void> {
  const marks = await run(MARKS);
  if (!marks.some(({ name }) => name === TRANSFER.under_way)) return;
  throw databaseUnusable(
    location,
    'rows of the file are still being copied into it',
    'Finish that: puente migrate-store --from sqlite --to postgres; or name another database',
  );
}

/** Whether this transfer has begun. @throws PuenteError store_unusable when it is done, or another has begun. */
export async function refuseForeignTransfer(location: string, instance_id: string, run: Run): Promise<boolean> {
  for (const { name, value } of await run(MARKS)) {
    if (name === TRANSFER.done)
      throw databaseUnusable(
        location,
        value === instance_id ? 'the file was copied into it already' : 'another file was copied into it',
        value === instance_id ? 'Start Puente with this postgres.url' : 'Make an empty database and name it',
      );
    if (value !== instance_id)
      throw databaseUnusable(location, 'another file is being copied into it', 'Make an empty database and name it');
    return true;
  }
  return false;
}
