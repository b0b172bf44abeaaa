/** The rows of a transfer: every table, odd text, rows changed or deleted in between, and unsuitable databases. */
import { copyFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Secret } from '../../../src/proxy/vault.ts';
import { readMigrations } from '../../../src/store/migrations.ts';
import { MIGRATIONS_DIRECTORY } from '../../../src/store/sqlite/file.ts';
import { compareTable } from '../../../src/store/transfer/finish.ts';
import { COPIED } from '../../../src/store/transfer/rows.ts';
import { openSource } from '../../../src/store/transfer/source.ts';
import { openTarget } from '../../../src/store/transfer/target.ts';
import { shapesOf, type TransferOrder, transferStore } from '../../../src/store/transfer/transfer.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import { newEvent, opened } from '../contract/harness.ts';
import { type Folder, newFolder } from '../sqlite/kit.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';
import { change, EXCHANGES, fillFile, KEY_MARK, ODD } from './transfer-file.ts';

let server: Server;
let folder: Folder;
let path: string;
let url: string;
beforeAll(async () => {
  folder = newFolder();
  [server] = await Promise.all([startServer(), fillFile(folder.file('filled.db'))]);
});
afterAll(async () => {
  await server.remove();
  folder.remove();
});
beforeEach(async () => {
  path = join(mkdtempSync(folder.file('one-')), 'puente.db');
  copyFileSync(folder.file('filled.db'), path);
  url = await server.database();
});

const transfer = (order: Partial<TransferOrder> = {}) =>
  transferStore({
    file: path,
    url: new Secret(url),
    connect_timeout_ms: 5_000,
    key_mark: KEY_MARK,
    is_ahead: false,
    now: Date.now,
    report: () => undefined,
    ...order,
  });
const rowsOf = async (sql: string) => (await server.run(url, sql)) as Record<string, unknown>[];

describe('a transfer', () => {
  it('copies every table, odd text among its keys, and numbers go on behind the last one ever given', async () => {
    change(path, (database) => {
      database.exec('DELETE FROM exchanges WHERE sequence > 2290');
      database.exec(`INSERT INTO meta (name, value) VALUES ('restored_from', '1000'), ('restored_at', '2000')`);
    });
    const { proved } = await transfer();
    expect(proved?.tables.map(({ table }) => table)).toEqual(COPIED.map(({ name }) => name));
    for (const { table, rows } of proved?.tables ?? []) expect(rows, table).toBeGreaterThan(0);
    expect(proved?.tables.find(({ table }) => table === 'refunds')?.sha256).toMatch(/^[0-9a-f]{64}$/);
    const store = await openStore(url, { key_mark: KEY_MARK });
    expect(store.upkeep.restoredGap()).toEqual({ from: 1000, until: 2000 });
    expect((await store.evidence.unknowns()).map(({ name }) => name).sort()).toEqual(ODD.toSorted());
    const link = await opened(store, { unit: 'fresh' });
    expect(await store.links.link(link.legacy_id)).toEqual(link);
    await store.events.receiveEvent(newEvent({ reference: 'fresh' }));
    await store.exchanges.recordExchanges([newExchange()]);
    await store.close();
    expect(await rowsOf('SELECT max(sequence)::int AS last FROM exchanges')).toEqual([{ last: EXCHANGES + 1 }]);
    expect(await rowsOf('SELECT sum(links)::int AS links FROM link_counts')).toEqual([{ links: ODD.length + 2 }]);
    expect(await rowsOf(`SELECT name FROM meta WHERE name LIKE 'transfer%'`)).toEqual([{ name: 'transferred_from' }]);
  });

  it('that was cut off goes on behind the last step that it had done', async () => {
    let steps = COPIED.findIndex(({ name }) => name === 'exchanges') + 1;
    const failpoint = () => {
      if (steps-- === 0) throw new Error('ended here');
    };
    await expect(transfer({ is_ahead: true, failpoint })).rejects.toThrow('ended here');
    expect(await rowsOf('SELECT count(*)::int AS rows FROM exchanges')).toEqual([{ rows: 2_000 }]);
    const copied: string[] = [];
    const report: TransferOrder['report'] = ({ step, table, rows }) =>
      void (step === 'copying' && copied.push(`${table} ${rows}`));
    const { is_resumed } = await transfer({ report });
    expect(is_resumed).toBe(true);
    expect(copied[0]).toBe(`exchanges ${EXCHANGES}`);
  });

  it('takes over what changed, came and went after it had gone ahead', async () => {
    const give = (database: Database.Database, order: string, other: string) =>
      database.exec(`UPDATE links SET order_id = NULL;
        UPDATE links SET order_id = '${order}' WHERE legacy_id = (SELECT min(legacy_id) FROM links WHERE state = 'SENDING');
        UPDATE links SET order_id = '${other}' WHERE legacy_id = (SELECT max(legacy_id) FROM links WHERE state = 'SENDING')`);
    change(path, (database) => give(database, 'ORD1', 'ORD2'));
    await transfer({ is_ahead: true });
    // Two rows swap a unique value: no order of writes can do that in one step.
    change(path, (database) => give(database, 'ORD2', 'ORD1'));
    change(path, changeMuch);
    const { proved } = await transfer();
    const links = proved?.tables.find(({ table }) => table === 'links');
    expect(links).toMatchObject({ changed: ODD.length, missing: 1, extra: 1 });
    expect(await rowsOf(`SELECT count(*)::int AS live FROM links WHERE state = 'SENDING'`)).toEqual([{ live: 1 }]);
    expect(await rowsOf(`SELECT count(*)::int AS sums FROM traffic WHERE calls = 77`)).not.toEqual([{ sums: 0 }]);
  });

  it('sees each row of the server that is changed, gone or too many, a sealed value among them, and puts it right', async () => {
    await transfer({ is_ahead: true });
    await server.run(
      url,
      `UPDATE exchanges SET duration_ms = duration_ms + 0.1 WHERE sequence = 2; DELETE FROM exchanges WHERE sequence = 3;
       UPDATE tokens SET sealed_token = '\\x00fe'; INSERT INTO shed VALUES (1, 'shadow', 1)`,
    );
    const equal = { changed: 0, missing: 0, extra: 0 };
    const source = openSource(path, true, KEY_MARK);
    const target = await openTarget(url, 'here', 5_000);
    const found: Record<string, object> = {};
    for (const [, shape] of await shapesOf(source, target)) {
      const { changed, missing, extra } = await compareTable(source, target, shape, {}, () => undefined);
      found[shape.table] = { changed, missing, extra };
    }
    await target.close();
    source.close();
    expect(found).toEqual({
      ...Object.fromEntries(COPIED.map(({ name }) => [name, equal])),
      exchanges: { changed: 1, missing: 1, extra: 0 },
      tokens: { ...equal, changed: 1 },
      shed: { ...equal, extra: 1 },
    });
    const { proved } = await transfer();
    for (const one of proved?.tables ?? []) expect(one).toMatchObject(found[one.table] ?? {});
  });

  it('is refused where the chain of decisions was broken in the file', async () => {
    change(path, (database) => {
      database.exec(`DROP TRIGGER audit_not_changed; UPDATE audit SET who = 'nobody'`);
    });
    await expect(transfer()).rejects.toThrow('the chain of decisions is broken: line 1 is not what was written');
  });

  it('is refused into a database with rows of its own, of another file, or with a Puente on it', async () => {
    const store = await openStore(url, { key_mark: KEY_MARK });
    await expect(transfer()).rejects.toThrow('a Puente is running on it');
    await opened(store);
    await expect(transfer()).rejects.toThrow('it has rows of its own, in links');
    await store.close();
    url = await server.database();
    await transfer({ is_ahead: true });
    change(path, (database) => database.exec(`UPDATE meta SET value = 'another' WHERE name = 'instance_id'`));
    await expect(transfer()).rejects.toThrow('another file is being copied into it');
  });

  it('is refused with another key, an older schema, a newer schema, and no file', async () => {
    await expect(transfer({ key_mark: 'other' })).rejects.toThrow('PUENTE_SECRET_KEY is not the key');
    await expect(transfer({ file: folder.file('none.db') })).rejects.toThrow('it does not exist');
    const newest = readMigrations(MIGRATIONS_DIRECTORY).length;
    for (const schema of [newest - 1, newest + 1]) {
      change(path, (database) => database.pragma(`user_version = ${schema}`));
      await expect(transfer()).rejects.toThrow(`it has schema ${schema}, and this build copies schema ${newest} alone`);
    }
    expect(await rowsOf(`SELECT 1 FROM pg_tables WHERE tablename = 'meta'`)).toEqual([]);
  });
});

/** A unit's live sale ends and another one replaces it; a sale is deleted with its dependent rows; sums change. */
function changeMuch(database: Database.Database): void {
  const pick = (sql: string) => database.prepare<[], string>(sql).pluck().get();
  const gone = pick(`SELECT legacy_id FROM links WHERE state = 'DONE'`);
  const live = pick(`SELECT legacy_id FROM links WHERE state = 'SENDING' ORDER BY legacy_id DESC`);
  database.pragma('foreign_keys = ON');
  database.transaction(() => {
    database
      .prepare('DELETE FROM notice_attempts WHERE notice_id IN (SELECT id FROM notices WHERE legacy_id = ?)')
      .run(gone);
    for (const table of ['notices', 'refunds', 'link_states', 'links'])
      database.prepare(`DELETE FROM ${table} WHERE legacy_id = ?`).run(gone);
    database.exec(`UPDATE links SET state = 'DONE', updated_at = updated_at + 1, revision = revision + 1`);
    const columns = database.prepare<[], string>(`SELECT name FROM pragma_table_info('links')`).pluck().all();
    // Copied before the row that it replaces.
    const values = columns.map(
      (name) => ({ legacy_id: `'00000000'`, state: `'SENDING'`, order_id: 'NULL' })[name] ?? name,
    );
    database.prepare(`INSERT INTO links (${columns}) SELECT ${values} FROM links WHERE legacy_id = ?`).run(live);
    database.exec(`UPDATE refunds SET state = 'DONE'`);
    database.exec('UPDATE traffic SET calls = 77');
  })();
}
