/** Opens stores on a PostgreSQL database, and empties them. */
import { Client } from 'pg';
import type { Store } from '../../../src/ops/ports.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { openPostgresStore, type PostgresStoreOptions } from '../../../src/store/postgres/store.ts';
import type { Harness } from '../contract/harness.ts';
import { startServer } from './server.ts';

export function openStore(url: string, options: Partial<PostgresStoreOptions> = {}): Promise<Store> {
  return openPostgresStore({
    url: new Secret(url),
    now: Date.now,
    connections: 10,
    connect_timeout_ms: 60_000,
    statement_timeout_ms: 20_000,
    ...options,
  });
}

export async function openHarness(): Promise<Harness> {
  const server = await startServer();
  const url = await server.database();
  // One for all tests: a new one reads the server's catalogue again, which costs more than most tests.
  const connection = new Client({ connectionString: url });
  await connection.connect();
  const harness: Harness = {
    store: await openStore(url),
    async reopen() {
      await harness.store.close();
      harness.store = await openStore(url);
      return harness.store;
    },
    async empty() {
      if (!harness.store.healthy()) await harness.reopen();
      await connection.query(DELETE_ROWS);
    },
    tells_free: true,
    async sql(text) {
      await connection.query(text);
    },
    async dispose() {
      await harness.store.close();
      await connection.end();
      await server.remove();
    },
  };
  return harness;
}

/** Triggers are off meanwhile, so the counts are reset, and all sequences restart. */
const DELETE_ROWS = `DO $$
DECLARE
  one RECORD;
  found BOOLEAN;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR one IN SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'
    AND tablename NOT IN ('meta', 'puente_schema', 'tallies')
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', one.name) INTO found;
    IF found THEN EXECUTE format('DELETE FROM %I', one.name); END IF;
  END LOOP;
  UPDATE tallies SET rows = 0;
  PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, 1, false) FROM pg_sequences WHERE last_value IS NOT NULL;
END $$`;
