/** Starting on a database: twenty processes at once, and refused databases. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Failpoint } from '../../../src/proxy/process-memory.ts';
import type { BulkItem } from '../../../src/proxy/records/routing.ts';
import { clientFor } from '../../../src/store/postgres/pool.ts';
import { migrate, postgresMigrations } from '../../../src/store/postgres/prepare.ts';
import { examineServer } from '../../../src/store/postgres/upkeep.ts';
import { eventually } from '../../kit.ts';
import { messages, newExchange } from '../contract/evidence-kit.ts';
import { NOON, newEvent, newLink, opened } from '../contract/harness.ts';
import { newBulk } from '../contract/moves.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

const CONNECT_TIMEOUT_MS = 5_000;
const newest = postgresMigrations().length;

/** Migrates to a schema with one more step. */
async function upgrade(url: string, sql: string, failpoint?: Failpoint): Promise<void> {
  const next = { version: newest + 1, name: 'next', sql };
  const client = clientFor(url, CONNECT_TIMEOUT_MS, 'test');
  await client.connect();
  await migrate(client, 'here', [...postgresMigrations(), next], NOON, failpoint).finally(() => client.end());
}

describe('a start on a database', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.remove());

  it('of twenty at once migrates it once', async () => {
    const url = await server.database();
    const stores = await Promise.all(Array.from({ length: 20 }, () => openStore(url, { connections: 2 })));
    const conditions = await Promise.all(stores.map((store) => store.upkeep.condition()));
    await Promise.all(stores.map((store) => store.close()));
    expect(new Set(conditions.map(({ schema }) => schema))).toEqual(new Set([newest]));
    expect(new Set(conditions.map(({ instance_id }) => instance_id)).size).toBe(1);
    expect(await server.run(url, 'SELECT version FROM puente_schema')).toHaveLength(newest);
  });

  it('of several processes at once does no harm', async () => {
    const url = await server.database();
    const start = () => promisify(execFile)(process.execPath, [join(import.meta.dirname, 'open-child.ts'), url]);
    const said = await Promise.all(Array.from({ length: 4 }, start));
    expect(new Set(said.map(({ stdout }) => stdout)).size).toBe(1);
    expect(said[0]?.stdout).toMatch(new RegExp(`^${newest} `));
  });

  it('that was ended in the middle of a migration is repeated by the next one', async () => {
    const url = await server.database();
    for (const name of ['migration.begun', 'migration.applied']) {
      const failing = openStore(url, {
        failpoint: (at) => {
          if (at === name) throw new Error('ended here');
        },
      });
      await expect(failing).rejects.toMatchObject({ code: 'store_unusable' });
      expect(await server.run(url, `SELECT 1 FROM pg_tables WHERE tablename = 'links'`)).toEqual([]);
    }
    const store = await openStore(url);
    expect((await store.upkeep.condition()).schema).toBe(newest);
    await store.close();
  });

  it('takes over bulk moves that run, which a process of the version before goes on reading, writing and starting', async () => {
    const url = await server.database();
    const older = clientFor(url, CONNECT_TIMEOUT_MS, 'older');
    await older.connect();
    const all = postgresMigrations();
    await migrate(
      older,
      'here',
      all.slice(
        0,
        all.findIndex(({ name }) => name.includes('bulk_items')),
      ),
      NOON,
    );
    // The statements of the version before, prepared before the migration.
    const columns = 'id, move, reason, who, per_day, items, ramp, state, detail, created_at, updated_at, revision';
    const parameters = columns.split(', ').map((_, index) => `$${index + 1}`);
    const guarded = (sql: string, last: number) =>
      `WITH step AS (${sql} RETURNING 1) SELECT must_be((SELECT count(*) FROM step), $${last})`;
    const INSERT = guarded(`INSERT INTO bulk_moves (${columns}) VALUES (${parameters.join(', ')})`, 13);
    const STEP = guarded(
      `UPDATE bulk_moves SET per_day = $1, items = $2, ramp = $3, state = $4, detail = $5, updated_at = $6,
       revision = revision + 1 WHERE id = $7 AND revision = $8`,
      9,
    );
    const ERASE = `WITH erased (merchant) AS (SELECT CAST($1 AS TEXT))
      UPDATE bulk_moves SET revision = revision + 1,
      items = (SELECT json_agg(CASE WHEN item.value ->> 'merchant_id' = merchant
        THEN (item.value::jsonb - 'own' - 'ramp' || '{"merchant_id":"erased","detail":""}')::json ELSE item.value END ORDER BY item.place)
        FROM json_array_elements(bulk_moves.items::json) WITH ORDINALITY AS item (value, place)),
      detail = CASE WHEN strpos(detail, $2) > 0 THEN 'It named a merchant that was erased.' ELSE detail END
      FROM erased WHERE id = $3 AND NOT (state IN ('proposed', 'running', 'paused') AND EXISTS (SELECT 1 FROM json_each(bulk_moves.items) AS item
      WHERE item.value ->> 'merchant_id' = $4 AND item.value ->> 'state' = 'waiting')) RETURNING 1`;
    const run = (name: string, text: string, values: unknown[]) => older.query({ name, text, values });
    const read = async (id: string) =>
      (await run('read', `SELECT ${columns} FROM bulk_moves WHERE id = $1`, [id])).rows[0];
    const lineOf = (merchant_id: string, state = 'waiting') => ({ merchant_id, state, detail: '', at: null });
    const begin = (id: string, items: unknown[] = [lineOf('700'), lineOf('701')], ramp: object | null = null) =>
      run('insert', INSERT, [
        ...[id, '{"stage":"shadow"}', 'wave 1', 'ana', 9, JSON.stringify(items), ramp && JSON.stringify(ramp)],
        ...['running', '', NOON, NOON, 1, 1],
      ]);
    const step = (id: string, items: unknown, revision: number) =>
      run('step', STEP, [9, JSON.stringify(items), null, 'running', 'a step', NOON, id, revision, 1]);
    await begin('before');
    await step('before', [lineOf('700', 'moved'), lineOf('701')], 1);
    const as_it_was = await read('before');
    const odd = { ...lineOf('703', 'refused'), detail: 'a till said \0\0\ud83d🛒 "\\u0000"' };
    await begin('odd', [odd, lineOf('704', 'moved')]);
    const store = await openStore(url);
    expect(await read('before')).toEqual(as_it_was);
    expect((await store.moves.bulkMove('odd'))?.items).toEqual([
      { ...odd, detail: 'a till said \ufffd\ufffd\ufffd🛒 "\\u0000"' },
      lineOf('704', 'moved'),
    ]);
    await begin('later');
    const taken = await Promise.all(['before', 'later'].map((id) => store.moves.bulkMove(id)));
    expect(taken).toMatchObject([
      { revision: 2, items: [lineOf('700', 'moved'), lineOf('701')] },
      { revision: 1, items: [lineOf('700'), lineOf('701')] },
    ]);
    const [before] = taken;
    if (before === undefined || before === null) throw new Error('it was not taken over');
    const items = before.items.with(1, { ...lineOf('701'), state: 'refused' });
    await store.moves.saveBulkMove({ ...before, items }, before, null);
    await expect(step('before', items, 2)).rejects.toThrow();
    expect(JSON.parse((await read('before')).items)).toEqual(items);
    await step('before', [lineOf('700', 'skipped'), items[1]], 3);
    expect(await store.moves.bulkMove('before')).toMatchObject({
      revision: 4,
      items: [lineOf('700', 'skipped'), { state: 'refused' }],
    });
    expect(await store.moves.bulkMoves({ states: ['running'], merchant_id: '701' }, 9)).toHaveLength(2);

    // Of steps that both versions make from one revision, one is stored, also where one waits for the commit of the other.
    for (let revision = 4; revision < 20; revision++) {
      const read_by_both = await store.moves.bulkMove('before');
      if (read_by_both === null) throw new Error('it is gone');
      const mine = read_by_both.items.with(0, { ...lineOf('700', 'proposed'), detail: `new ${revision}` } as BulkItem);
      const theirs = read_by_both.items.with(0, { ...lineOf('700', 'refused'), detail: `old ${revision}` } as BulkItem);
      const both = await Promise.allSettled([
        store.moves.saveBulkMove({ ...read_by_both, items: mine }, read_by_both, null),
        step('before', theirs, revision),
      ]);
      expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const written = both[0]?.status === 'fulfilled' ? mine : theirs;
      expect(await store.moves.bulkMove('before')).toMatchObject({ revision: revision + 1, items: written });
    }
    const holder = clientFor(url, CONNECT_TIMEOUT_MS, 'holder');
    await holder.connect();
    await holder.query(`BEGIN; UPDATE bulk_runs SET revision = revision + 1 WHERE id = 'before'`);
    const late = step('before', items, 20).catch((error: Error) => error.message);
    await eventually(
      () =>
        server.run(url, `SELECT 1 FROM pg_stat_activity WHERE application_name = 'older' AND wait_event_type = 'Lock'`),
      ({ length }) => length === 1,
    );
    await holder.query('COMMIT');
    expect([await late, (await store.moves.bulkMove('before'))?.revision]).toEqual(['another number of rows', 21]);

    const erase = (merchant: string, id: string) => run('erase', ERASE, [merchant, merchant, id, merchant]);
    expect((await erase('701', 'later')).rowCount).toBe(0); // it waits there
    expect((await erase('704', 'odd')).rowCount).toBe(1);
    expect((await store.moves.bulkMove('odd'))?.items[1]).toEqual(lineOf('erased', 'moved'));
    expect(await store.moves.bulkLines({ states: ['running'], merchant_id: '704' }, 9)).toEqual([]);

    const plan = { steps: [5, 100], soak_ms: 1, min_sales: 0, approved_by: null };
    await begin('ramp', [lineOf('705')], plan);
    expect(await store.moves.bulkMove('ramp')).toMatchObject({ ramp: plan, items: [lineOf('705')] });
    const one_more = store.moves.saveBulkMove(newBulk('one more', { ramp: plan }), null, null, '');
    await expect(one_more).rejects.toMatchObject({ said: [{ code: 'refusal.ramps_meanwhile' }] });
    await store.moves.saveBulkMove(newBulk('one more', { ramp: plan }), null, null, 'ramp');
    await Promise.all([store.close(), older.end(), holder.end()]);
  });

  it('that finds a table in use elsewhere, as by pg_dump, holds nobody up behind it, and changes nothing', async () => {
    const url = await server.database();
    await (await openStore(url)).close();
    const start = () => upgrade(url, 'ALTER TABLE audit ADD COLUMN more TEXT');
    const dump = clientFor(url, CONNECT_TIMEOUT_MS, 'test');
    await dump.connect();
    await dump.query('BEGIN; SELECT * FROM audit');
    await expect(start()).rejects.toThrow(/^The database here can't be used: 55P03: .*end what uses it/);
    expect(await server.run(url, 'SELECT version FROM puente_schema')).toHaveLength(newest);
    await dump.end();
    await start();
    expect(await server.run(url, 'SELECT more FROM audit')).toEqual([]);
  });

  it('that waits in vain for such a table tries again, and goes on once the use ends', async () => {
    const url = await server.database();
    await (await openStore(url)).close();
    const user = clientFor(url, CONNECT_TIMEOUT_MS, 'test');
    await user.connect();
    await user.query('BEGIN; SELECT * FROM audit');
    const waiting = () => server.run(url, `SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'audit'::regclass`);
    const upgraded = upgrade(url, 'ALTER TABLE audit ADD COLUMN more TEXT');
    await eventually(waiting, (found) => found.length > 0);
    await eventually(waiting, (found) => found.length === 0);
    await user.end();
    await upgraded;
    expect(await server.run(url, 'SELECT version FROM puente_schema')).toHaveLength(newest + 1);
  });

  it('is refused on a newer schema, which stays as it is', async () => {
    const url = await server.database();
    await (await openStore(url)).close();
    await server.run(url, `INSERT INTO puente_schema (version, name, applied_at) VALUES (${newest + 1}, 'later', 0)`);
    const refused = openStore(url);
    await expect(refused).rejects.toMatchObject({ code: 'store_unusable' });
    await expect(refused).rejects.toThrow(`it has schema ${newest + 1} and this build has up to ${newest}`);
  });

  it.each([
    ['synchronous_commit', 'off'],
    ['synchronous_commit', 'local'],
    ['default_transaction_isolation', 'serializable'],
    ['default_transaction_read_only', 'on'],
  ])('is refused where %s is %s', async (setting, value) => {
    const url = await server.database();
    await server.run(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting} = '${value}'`);
    await expect(openStore(url)).rejects.toMatchObject({ code: 'store_unusable' });
    await expect(openStore(url)).rejects.toThrow(/its setting \w+ is/);
    expect((await examineServer(url, CONNECT_TIMEOUT_MS)).wrong).toMatch(/its setting \w+ is/);
  });

  it('is foretold by a look that changes nothing', async () => {
    const url = await server.database();
    const { host, pathname } = new URL(url);
    expect(await examineServer(url, CONNECT_TIMEOUT_MS)).toEqual({
      location: `postgres://${host}${pathname}`,
      wrong: null,
    });
    expect(await server.run(url, `SELECT 1 FROM pg_tables WHERE schemaname = 'public'`)).toEqual([]);
    const { wrong } = await examineServer(`${url}_that_is_not_there`, CONNECT_TIMEOUT_MS);
    expect(wrong).toMatch(/_that_is_not_there can't be reached: /);
  });

  it('is refused with another key', async () => {
    const url = await server.database();
    await (await openStore(url, { key_mark: 'first' })).close();
    await (await openStore(url, { key_mark: 'first' })).close();
    await expect(openStore(url, { key_mark: 'second' })).rejects.toThrow('PUENTE_SECRET_KEY is not the key');
  });

  it('that can not reach the server says so, without the password', async () => {
    const url = 'postgres://puente:very-secret@127.0.0.1:1/puente';
    const refused = openStore(url, { connect_timeout_ms: 500 }).then(
      () => '',
      (error: Error) => `${error.message} ${error.stack}`,
    );
    expect(await refused).toContain('postgres://127.0.0.1:1/puente');
    expect(await refused).not.toContain('very-secret');
  });

  it('keeps text that the server would refuse, and finds it again', async () => {
    const store = await openStore(await server.database());
    const odd = 'mesa \0 4 \uFDD0';
    const link = await opened(store, { client_reference: odd, unit: 'PAX\0' });
    expect(await store.links.link(link.legacy_id)).toEqual(link);
    expect(await store.history.linksByClientReference(link.merchant_id, odd, 9)).toEqual([link]);
    const order = { id: 'ORD01', status: 'created', description: odd };
    const saved = await store.links.saveLink(link, { order });
    expect(await store.links.link(link.legacy_id)).toEqual(saved);
    expect((await store.history.linkHistory(link.legacy_id)).at(-1)).toMatchObject({ order_status: 'created' });
    await store.events.receiveEvent(newEvent({ reference: odd }));
    expect(await store.events.eventsOf(null, odd, 9)).toHaveLength(1);
    const name = 'body.\0 \\u0000 \uFDD0 \ud800';
    const said = { ...messages, answer: { status: 200, headers: {}, body: odd } };
    const exchange = newExchange({ unknown: [{ what: 'field', name }], error: odd, messages: said });
    await store.exchanges.recordExchanges([exchange]);
    expect(await store.exchanges.exchange(exchange.id)).toMatchObject({ error: odd, messages: said });
    expect((await store.evidence.unknowns())[0]?.name).toBe(name.replace('\ud800', '\uFFFD'));
    await store.close();
  });

  it('keeps text that is longer than an index takes', async () => {
    const store = await openStore(await server.database());
    const long = Array.from({ length: 3_000 }, (_, index) => ((index * 48_271) % 2_147_483_647).toString(36)).join(' ');
    const link = await opened(store, { client_reference: long, reference_sent: long });
    expect(await store.history.linksByClientReference(link.merchant_id, long, 9)).toEqual([link]);
    expect(await store.history.linksByClientReference(link.merchant_id, `${long}.`, 9)).toEqual([]);
    expect(await store.links.linkByReference(link.merchant_id, long)).toEqual(link);
    await store.events.receiveEvent(newEvent({ reference: long, received_at: NOON }));
    expect(await store.events.eventsOf(null, long, 9)).toHaveLength(1);
    await store.exchanges.recordExchanges([
      newExchange({ unknown: [{ what: 'field', name: long }], unit: long, legacy_id: long }),
    ]);
    expect(await store.evidence.unknowns()).toHaveLength(1);
    await store.close();
  });

  it('has no file of its own to back up, and says what to use', async () => {
    const store = await openStore(await server.database());
    await expect(store.upkeep.backup().next()).rejects.toMatchObject({ code: 'refused' });
    expect(await store.upkeep.backups()).toEqual([]);
    expect(await store.upkeep.trimBackups(1)).toEqual([]);
    expect(await store.upkeep.integrity()).toBe('ok');
    expect(store.upkeep.restoredGap()).toBeNull();
    expect(store.upkeep.room()).toMatchObject({ level: 'enough', free_bytes: null });
    expect((await store.links.openLink(newLink(), () => ({ kind: 'open' }))).opening.kind).toBe('open');
    await store.close();
  });
});

describe('the server by itself', () => {
  let server: Server;
  let url: string;
  const ROWS = 20_000;
  beforeAll(async () => {
    server = await startServer(['autovacuum_naptime=1']);
    url = await server.database();
    await (await openStore(url)).close();
    await server.run(
      url,
      `ALTER TABLE legacy_sales SET (autovacuum_enabled = false);
      INSERT INTO legacy_sales (id, merchant_id, family, work, unit, state, ends_at, created_at, updated_at)
        SELECT 'sale ' || n, '700100200', 'point', 'sale', 'PAX_A910__1', 'ENDED', 0, 0, 0 FROM generate_series(1, ${ROWS}) AS n;
      SELECT pg_stat_force_next_flush()`,
    );
    await server.run(url, 'ANALYZE legacy_sales; ALTER TABLE legacy_sales RESET (autovacuum_enabled)');
  });
  afterAll(() => server?.remove());

  it('renews the statistics of tables with few open rows after 1,000 changes, not after a tenth of the table', async () => {
    const set = await server.run(
      url,
      `SELECT relname AS table FROM pg_class WHERE reloptions @> '{autovacuum_analyze_scale_factor=0,autovacuum_analyze_threshold=1000}'
      ORDER BY relname`,
    );
    expect(set.map(({ table }) => table)).toEqual(['events', 'legacy_sales', 'links', 'notices', 'refunds']);
    const renewed = async () =>
      Number(
        (await server.run(url, `SELECT pg_stat_get_autoanalyze_count('legacy_sales'::regclass) AS times`))[0]?.times,
      );
    expect(await renewed()).toBe(0);
    await server.run(url, 'UPDATE legacy_sales SET ends_at = 1 WHERE sequence <= 1100');
    expect(await eventually(renewed, (times) => times > 0)).toBe(1);
  });

  it('ends its vacuum of a table that a migration changes: the first try succeeds', async () => {
    // Less than a page a second: without end for this test.
    await server.run(
      url,
      `ALTER TABLE legacy_sales SET (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1,
        autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50);
      UPDATE legacy_sales SET ends_at = 2`,
    );
    const vacuum = () =>
      server.run(url, `SELECT 1 FROM pg_stat_progress_vacuum WHERE relid = 'legacy_sales'::regclass`);
    await eventually(vacuum, (found) => found.length > 0);
    let tries = 0;
    await upgrade(url, 'ALTER TABLE legacy_sales ADD COLUMN more TEXT', (at) => {
      if (at === 'migration.begun') tries++;
    });
    expect(tries).toBe(1);
  });
});
