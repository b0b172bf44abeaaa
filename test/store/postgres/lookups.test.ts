/** Reads by a key that go to the server together: each is told its own rows as they are after it asked, whatever happens on the way. */
import { Client, type Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { noCover } from '../../../src/core/cover.ts';
import { statementOf } from '../../../src/store/postgres/dialect.ts';
import { createLookups, type Lookups } from '../../../src/store/postgres/lookups.ts';
import { openPool } from '../../../src/store/postgres/pool.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

const byId = statementOf('SELECT id, site FROM shops WHERE id = ?', noCover);
const bySite = statementOf('SELECT id, site FROM shops WHERE site = ?', noCover);
const LIMITS = { connections: 4, connect_timeout_ms: 5_000, statement_timeout_ms: 5_000 };

describe('lookups', () => {
  let server: Server;
  let url: string;
  let pool: Pool;
  let lookups: Lookups;
  let lent = 0;
  const asked = vi.spyOn(Client.prototype, 'query');

  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(async () => {
    asked.mockRestore();
    await server.remove();
  });
  beforeEach(async () => {
    url = await server.database();
    await server.run(url, `CREATE TABLE shops (id TEXT PRIMARY KEY, site TEXT)`);
    await server.run(
      url,
      `INSERT INTO shops SELECT CAST(n AS TEXT), 'site of ' || n FROM generate_series(1, 100) AS n`,
    );
    pool = openPool(url, LIMITS);
    lookups = createLookups(pool, (row) => row);
    lent = 0;
    pool.on('acquire', () => lent++);
    asked.mockClear();
  });
  afterEach(() => pool.end());

  const shop = (id: number): { id: string; site: string } => ({ id: String(id), site: `site of ${id}` });

  it('that are asked for in one turn go on one connection, and the same question once', async () => {
    const told = await Promise.all(['7', '8', '7', '7'].map((id) => lookups.ask(byId, [id])));
    expect(told).toEqual([[shop(7)], [shop(8)], [shop(7)], [shop(7)]]);
    expect(told[2]).toBe(told[0]);
    expect(lent).toBe(1);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it('of one value by two statements are two questions', async () => {
    await server.run(url, `INSERT INTO shops VALUES ('A', 'B'), ('B', 'C')`);
    const told = await Promise.all([byId, bySite].map((statement) => lookups.ask(statement, ['B'])));
    expect(told).toEqual([[{ id: 'B', site: 'C' }], [{ id: 'A', site: 'B' }]]);
  });

  it('that are more than go together are all told their own', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => index + 1);
    const told = await Promise.all(ids.map((id) => lookups.ask(byId, [String(id)])));
    expect(told).toEqual(ids.map((id) => [shop(id)]));
    expect(lent).toBe(4);
  });

  it('have rows that nobody can change, because others have the same', async () => {
    const [row] = await lookups.ask(byId, ['7']);
    expect(Object.isFrozen(row)).toBe(true);
  });

  it('are not told what was read before they were asked for', async () => {
    const blocker = new Client(url);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE shops IN ACCESS EXCLUSIVE MODE');
    const before = lookups.ask(byId, ['7']);
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await vi.waitUntil(async () => (await server.run(url, waiting)).length > 0, { timeout: 20_000 });
    asked.mockClear();
    const after = lookups.ask(byId, ['7']);
    await vi.waitUntil(() => asked.mock.calls.length > 0, { timeout: 20_000 });
    await blocker.query('COMMIT');
    await blocker.end();
    expect(await Promise.all([before, after])).toEqual([[shop(7)], [shop(7)]]);
  });

  it('without a connection are refused, every one of them, and so are those that come later', async () => {
    const unreachable = openPool(url.replace(/:\d+\//, ':1/'), LIMITS);
    const cut = createLookups(unreachable, (row) => row);
    const ids = Array.from({ length: 40 }, (_, index) => String(index));
    const told = await Promise.allSettled(ids.map((id) => cut.ask(byId, [id])));
    expect(told.map(({ status }) => status)).toEqual(ids.map(() => 'rejected'));
    await expect(cut.ask(byId, ['7'])).rejects.toMatchObject({ code: 'store_failed', facts: { failure: 'gone' } });
    await unreachable.end();
  });

  it('on a connection that breaks are refused, and later ones get another', async () => {
    await server.run(
      url,
      `CREATE FUNCTION leave(id TEXT) RETURNS TEXT LANGUAGE SQL AS
      $$ SELECT CAST(pg_terminate_backend(pg_backend_pid()) AS TEXT) WHERE id = '0' $$`,
    );
    const leaving = statementOf('SELECT leave(?) AS left', noCover);
    const told = await Promise.allSettled([lookups.ask(leaving, ['0']), lookups.ask(byId, ['7'])]);
    expect(told.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await lookups.ask(byId, ['7'])).toEqual([shop(7)]);
  });

  it('of which one is a fault leave the others theirs', async () => {
    const numbered = statementOf('SELECT CAST(? AS BIGINT) AS number', noCover);
    const told = await Promise.allSettled([
      lookups.ask(numbered, ['not a number']),
      lookups.ask(numbered, ['12']),
      lookups.ask(byId, ['7']),
    ]);
    expect(told[0]).toMatchObject({ status: 'rejected', reason: { code: '22P02' } });
    expect(told.slice(1)).toMatchObject([{ value: [{ number: 12 }] }, { value: [shop(7)] }]);
  });

  it('that can not be made readable are refused, and nobody waits for them', async () => {
    const strict = createLookups(pool, () => {
      throw new Error('covered by another key');
    });
    await expect(strict.ask(byId, ['7'])).rejects.toThrow('covered by another key');
  });

  it('whose statement failed for the one before them are asked once more', async () => {
    const own = await server.database();
    const store = await openStore(own, { statement_timeout_ms: 1_000 });
    const blocker = new Client(own);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE merchants IN ACCESS EXCLUSIVE MODE');
    const told = Promise.allSettled(['1', '2', '3'].map((id) => store.merchant(id)));
    const tries = (): number =>
      asked.mock.calls.filter(([query]) => JSON.stringify(query).includes('FROM merchants')).length;
    await vi.waitUntil(() => tries() === 6, { timeout: 20_000 });
    await blocker.query('COMMIT');
    expect(await told).toEqual(['1', '2', '3'].map(() => ({ status: 'fulfilled', value: null })));
    await blocker.end();
    await store.close();
  });
});
