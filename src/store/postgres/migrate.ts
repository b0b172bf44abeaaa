/** Brings a database to the newest schema, however many processes start at once: one migrates, the others find it done. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Client } from 'pg';
import { type Failpoint, noFailpoint } from '../../proxy/failpoint.ts';
import { type Migration, readMigrations } from '../migrations.ts';
import { databaseUnusable, failureOf } from './failure.ts';

const MIGRATIONS_DIRECTORY = join(import.meta.dirname, 'migrations');
/** Processes of the version before may be at work on what a step changes; a deadlock with them undoes the step wholly. */
const ATTEMPTS = 4;
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('puente migrations', 0))`;

export function postgresMigrations(): Migration[] {
  return readMigrations(MIGRATIONS_DIRECTORY);
}

/**
 * Each step is one transaction with the version it leads to, under a lock that ends with it, so that a killed start leaves the
 * old schema or the new one, and nobody locked out.
 * @param now epoch ms.
 * @throws PuenteError store_unusable when the schema is newer than this build, or a step failed.
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
      if (failureOf(error) !== 'again' || attempt === ATTEMPTS) throw error;
      attempt++;
      continue;
    }
    failpoint('migration.committed');
  }
}

/** Of the database, which may not have the table yet; 0 for one that was never migrated. */
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
    `it has schema ${current} and this build knows up to ${newest}`,
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
