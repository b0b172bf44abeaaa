/** Judges the server and the database before anything is served from them. */
import { Client } from 'pg';
import { PuenteError } from '../../error.ts';
import type { Failpoint } from '../../proxy/failpoint.ts';
import type { Migration } from '../migrations.ts';
import { databaseUnusable, textOf } from './failure.ts';
import { migrate } from './migrate.ts';
import { refuseHalfTransferred } from './transferred.ts';

/** The first with everything that the statements use is 12; 14 is the oldest that its makers still look after. */
const OLDEST_VERSION = 140_000;

/** Settings that the promises rest on (`reliability.md` §3.14), the values that keep them, and the repair. */
const NEEDED: readonly (readonly [name: string, values: readonly string[], repair: string])[] = [
  ['synchronous_commit', ['on', 'remote_apply'], 'Set synchronous_commit to on for this user and database'],
  ['fsync', ['on'], 'Set fsync to on: with it off a power loss takes sales away that were answered'],
  ['full_page_writes', ['on'], 'Set full_page_writes to on'],
  ['server_encoding', ['UTF8'], 'Make a database with the encoding UTF8'],
  ['default_transaction_isolation', ['read committed'], 'Set default_transaction_isolation to read committed'],
  ['transaction_read_only', ['off'], 'Name the primary server, not a standby, and a user who may write'],
];

export interface PrepareOptions {
  url: string;
  /** Shown to people. */
  location: string;
  connect_timeout_ms: number;
  now: () => number;
  migrations: readonly Migration[];
  /** Keyed hash of a constant: tells another key from the one that the values were sealed with. */
  key_mark?: string;
  failpoint?: Failpoint;
  /** Rows are to be carried into it: then it may be half filled. */
  is_transfer?: boolean;
}

/**
 * Asserts the settings, migrates, and compares the key.
 * @throws PuenteError store_unusable, naming what is wrong and the repair.
 */
export async function prepareDatabase(options: PrepareOptions): Promise<void> {
  const { url, location, connect_timeout_ms, migrations, now, failpoint } = options;
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connect_timeout_ms,
    application_name: 'puente',
  });
  client.on('error', () => undefined);
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

/** With another key nothing sealed could be read: tokens, bodies in doubt, secrets of merchants. The first start notes it. */
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

/** Where the data lies, without user, password and parameters. */
export function locationOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? 'PostgreSQL' : `postgres://${parsed.host}${parsed.pathname}`;
}
