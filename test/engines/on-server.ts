/** Rows on a PostgreSQL server: each data directory has its own database. */
import { createHash } from 'node:crypto';
import { Client, types } from 'pg';
import { openStore } from '../store/postgres/kit.ts';
import type { Keeping } from './keeping.ts';

/** @param server URL of any of its databases, with a user who may create others. */
export function onServer(server: string): Keeping {
  const urlOf = (data_dir: string): string => Object.assign(new URL(server), { pathname: nameOf(data_dir) }).href;
  return {
    async settings(data_dir) {
      const name = nameOf(data_dir);
      await withClient(server, async (client) => {
        const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
        if (rowCount === 0) await client.query(`CREATE DATABASE ${name}`);
      });
      // On a machine busy with other tests, a connection may take longer than a till waits.
      return { PUENTE_POSTGRES_URL: urlOf(data_dir), PUENTE_POSTGRES_CONNECT_TIMEOUT_MS: '15000' };
    },
    // The first start makes the tables: a copy of a database costs a server as much.
    make: async () => undefined,
    read: <Row>(data_dir: string, sql: string) =>
      withClient(urlOf(data_dir), async (client) => (await client.query(sql)).rows as Row[]), // the caller names their type
    integrity: (data_dir) => withClient(urlOf(data_dir), integrityOf),
    release: (data_dir) =>
      withClient(urlOf(data_dir), async (client) => {
        const { rowCount } = await client.query(`SELECT 1 WHERE to_regclass('leases') IS NOT NULL`);
        if (rowCount === 1) await client.query('UPDATE leases SET until = clock_timestamp()');
      }),
    open: (data_dir, cover_key) => openStore(urlOf(data_dir), { cover_key }),
    drop: (data_dir) =>
      withClient(server, async (client) => void (await client.query(`DROP DATABASE IF EXISTS ${nameOf(data_dir)}`))),
  };
}

function nameOf(data_dir: string): string {
  return `puente_${createHash('sha256').update(data_dir).digest('hex').slice(0, 16)}`;
}

const INT8 = 20;

async function withClient<Found>(url: string, work: (client: Client) => Promise<Found>): Promise<Found> {
  const getTypeParser: typeof types.getTypeParser = (type: number, format?: 'text' | 'binary') =>
    type === INT8 ? Number : types.getTypeParser(type, format as 'text');
  const client = new Client({ connectionString: url, types: { getTypeParser } });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Checks every row of every table, and that each B-tree index finds all rows. */
const DAMAGES = [
  `SELECT c.relname || ': ' || found.msg AS damage FROM pg_class c, LATERAL verify_heapam(c.oid) AS found
   WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace`,
  `SELECT c.relname || ': ' || bt_index_check(c.oid, true)::text AS damage FROM pg_class c
   JOIN pg_am ON pg_am.oid = c.relam AND amname = 'btree' WHERE c.relkind = 'i' AND c.relnamespace = 'public'::regnamespace`,
];

async function integrityOf(client: Client): Promise<string> {
  try {
    await client.query('CREATE EXTENSION IF NOT EXISTS amcheck');
    const damages: string[] = [];
    for (const sql of DAMAGES) {
      const { rows } = await client.query<{ damage: string }>(sql);
      damages.push(...rows.map(({ damage }) => damage).filter((damage) => !/: $/.test(damage)));
    }
    return damages.length === 0 ? 'ok' : damages.join('\n');
  } catch (error) {
    return String(error);
  }
}
