/** A file of the third schema, brought to today's: its exchanges are kept, and says that nobody counted what they met. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { APPLICATION_ID, MIGRATIONS_DIRECTORY } from '../../../src/store/sqlite/file.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import { MERCHANT, NOON } from '../contract/harness.ts';
import { type Folder, newFolder, openStore } from './kit.ts';

let folder: Folder;
beforeEach(() => {
  folder = newFolder();
});
afterEach(() => folder.remove());

it('a file of the third schema keeps its exchanges, and takes new ones [F55]', async () => {
  const path = folder.file('puente.db');
  const old = newExchange({ id: 'exchange-of-before' });
  writeThirdSchema(path, old);
  const store = await openStore(path, { create: false, now: () => NOON });
  try {
    expect(await store.exchanges.exchange(old.id)).toMatchObject({
      sequence: 1,
      status: old.status,
      limitations: null,
    });
    const later = newExchange({ limitations: ['LIM-08'] });
    await store.exchanges.recordExchanges([later]);
    expect(
      (await store.exchanges.exchanges({ merchant_id: MERCHANT }, 0, 9)).map(({ limitations }) => limitations),
    ).toEqual([null, ['LIM-08']]);
  } finally {
    await store.close();
  }
});

/** The first three migrations run as their releases ran them, and an exchange as the third wrote it. */
function writeThirdSchema(path: string, old: ReturnType<typeof newExchange>): void {
  const database = new Database(path);
  for (const name of ['001_first.sql', '002_qr.sql', '003_moving.sql']) {
    database.exec(readFileSync(join(MIGRATIONS_DIRECTORY, name), 'utf8'));
  }
  database.pragma(`application_id = ${APPLICATION_ID}`);
  database.pragma('user_version = 3');
  database.prepare("INSERT INTO meta (name, value) VALUES ('instance_id', 'i')").run();
  const { id, at, merchant_id, operation, kind, lane, stage, unit, status, outcome, duration_ms, tables_revision } =
    old;
  const row = {
    id,
    at,
    merchant_id,
    operation,
    kind,
    lane,
    stage,
    unit,
    status,
    outcome,
    duration_ms,
    tables_revision,
  };
  const names = Object.keys(row);
  database
    .prepare(`INSERT INTO exchanges (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`)
    .run(row);
  database.close();
}
