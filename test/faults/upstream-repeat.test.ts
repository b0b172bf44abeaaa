/** A row in doubt survives a change of tables: Puente resends the stored bytes (F58). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import type { LoadedTables } from '../../src/mapping/tables.ts';
import { eventually } from '../kit.ts';
import * as acts from './fault-server-acts.ts';
import { openTill, startUpstream } from './upstream-stand.ts';

/** Tables of a newer version, which describe each order in other words. */
function newerTables(): LoadedTables {
  const tables = loadTables(join(import.meta.dirname, '..', '..', 'mappings'));
  const newer: LoadedTables = {
    ...tables,
    of: () => newer,
    request: (...asked) => {
      const translated = tables.request(...asked);
      const body = { ...(translated.value.body as object | undefined), description: 'in newer words' }; // a create has an object
      return { ...translated, value: { ...translated.value, body } };
    },
  };
  return newer;
}

it('a create is repeated after a restart with other tables: the same key and bytes, and one order [F58]', async () => {
  const upstream = await startUpstream();
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
  upstream.onCreate = (honest) => acts.unheard(honest, acts.reset);
  const older = await openTill(upstream.url, { PUENTE_DATA_DIR: data_dir });
  const device = older.device();
  expect((await older.create(device)).status).toBe(504);
  await older.close();
  const before = upstream.creates().length;
  upstream.onCreate = (honest) => honest;
  const newer = await openTill(upstream.url, { PUENTE_DATA_DIR: data_dir }, { tables: newerTables() });
  const row = await eventually(
    async () => newer.row(device),
    ({ state }) => state === 'LIVE',
  );
  const tries = upstream.creates(row.idempotency_key);
  expect(tries.length).toBeGreaterThan(before);
  expect(new Set(tries.map(({ body }) => body.toString('utf8'))).size).toBe(1);
  expect(upstream.orders.size).toBe(1);
  expect((await newer.create(newer.device())).status).toBe(201);
  expect(upstream.creates().at(-1)?.body.toString('utf8'), 'the control: a new sale is told in newer words').toContain(
    'in newer words',
  );
  await newer.close();
  await upstream.close();
  rmSync(data_dir, { recursive: true, force: true });
});
