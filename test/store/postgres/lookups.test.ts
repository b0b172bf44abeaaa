/** Batched reads by key: each caller gets its own row, no older than its call, even after a failure. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Client, type Pool } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { noCover } from '../../../src/proxy/vault.ts';
import { unindexed } from '../../../src/store/conditions.ts';
import { statementOf } from '../../../src/store/postgres/dialect.ts';
import { openPool } from '../../../src/store/postgres/pool.ts';
import { createLookups, type Lookups, type LookupsOptions } from '../../../src/store/postgres/reader.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

const byId = statementOf('SELECT id, site FROM shops WHERE id = ?', noCover);
const bySite = statementOf('SELECT id, site FROM shops WHERE site = ?', noCover);
const LIMITS = { connections: 4, connect_timeout_ms: 5_000, statement_timeout_ms: 5_000 };
const LOOKUPS: LookupsOptions = { ...LIMITS, open: (row) => row };

it('an index that serves only the reads that name it serves no read of a row by its key', () => {
  const own = unindexed('state').slice(1, -1);
  for (const index of ['events_due', 'notices_due', 'notices_due_by_merchant', 'notices_stuck']) {
    const { text } = statementOf(`SELECT 1 FROM rows INDEXED BY ${index} WHERE state = 'pending'`, noCover);
    expect(text.slice(text.indexOf('WHERE'))).not.toContain(own);
  }
});

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
    (await pool.connect()).release(); // a new connection makes a query of its own
    lookups = createLookups(pool, LOOKUPS);
    lent = 0;
    pool.on('acquire', () => lent++);
    asked.mockClear();
  });
  afterEach(() => pool.end());

  const shop = (id: number): { id: string; site: string } => ({ id: String(id), site: `site of ${id}` });

  it('that are asked for in one turn go on one connection, and the same question once', async () => {
    const told = await Promise.all(['7', '8', '7', '7'].map((id) => lookups.read(byId, [id])));
    expect(told).toEqual([[shop(7)], [shop(8)], [shop(7)], [shop(7)]]);
    expect(told[2]).toBe(told[0]);
    expect(lent).toBe(1);
    expect(asked).toHaveBeenCalledTimes(2);
  });

  it('of one value by two statements are two questions', async () => {
    await server.run(url, `INSERT INTO shops VALUES ('A', 'B'), ('B', 'C')`);
    const told = await Promise.all([byId, bySite].map((statement) => lookups.read(statement, ['B'])));
    expect(told).toEqual([[{ id: 'B', site: 'C' }], [{ id: 'A', site: 'B' }]]);
  });

  it('that are more than go together are all told their own', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => index + 1);
    const told = await Promise.all(ids.map((id) => lookups.read(byId, [String(id)])));
    expect(told).toEqual(ids.map((id) => [shop(id)]));
    expect(lent).toBe(4);
  });

  it('have rows that nobody can change, because others have the same', async () => {
    const [row] = await lookups.read(byId, ['7']);
    expect(Object.isFrozen(row)).toBe(true);
  });

  it('are not told what was read before they were asked for', async () => {
    const blocker = new Client(url);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE shops IN ACCESS EXCLUSIVE MODE');
    const before = lookups.read(byId, ['7']);
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
    await vi.waitUntil(async () => (await server.run(url, waiting)).length > 0, { timeout: 20_000 });
    asked.mockClear();
    const after = lookups.read(byId, ['7']);
    await vi.waitUntil(() => asked.mock.calls.length > 0, { timeout: 20_000 });
    await blocker.query('COMMIT');
    await blocker.end();
    expect(await Promise.all([before, after])).toEqual([[shop(7)], [shop(7)]]);
  });

  it('without a connection are refused, every one of them, and so are those that come later', async () => {
    const unreachable = openPool(url.replace(/:\d+\//, ':1/'), LIMITS);
    const cut = createLookups(unreachable, LOOKUPS);
    const ids = Array.from({ length: 40 }, (_, index) => String(index));
    const told = await Promise.allSettled(ids.map((id) => cut.read(byId, [id])));
    expect(told.map(({ status }) => status)).toEqual(ids.map(() => 'rejected'));
    await expect(cut.read(byId, ['7'])).rejects.toMatchObject({ code: 'store_failed', facts: { failure: 'gone' } });
    await unreachable.end();
  });

  it('do not wait for a connection that never opens, while another becomes free', async () => {
    await using silent = await leadingOn(1);
    const relayed = openPool(silent.urlFor(url), { ...LIMITS, connect_timeout_ms: 60_000 });
    const held = await relayed.connect();
    const cut = createLookups(relayed, LOOKUPS);
    const early = cut.read(byId, ['7']);
    await vi.waitUntil(() => silent.met() === 2, { timeout: 20_000 });
    held.release();
    expect(await Promise.all([cut.read(byId, ['8']), early])).toEqual([[shop(8)], [shop(7)]]);
    silent.cut();
    await relayed.end();
  });

  it('of a server that says nothing are all refused when the first connection is given up, not in their turn', async () => {
    await using silent = await leadingOn(0);
    const relayed = openPool(silent.urlFor(url), { ...LIMITS, connect_timeout_ms: 300 });
    const cut = createLookups(relayed, LOOKUPS);
    const told = await Promise.allSettled(Array.from({ length: 200 }, (_, id) => cut.read(byId, [String(id)])));
    expect(told.filter(({ status }) => status === 'rejected')).toHaveLength(200);
    // The server of this process accepts them when it has the time.
    await vi.waitUntil(() => silent.met() >= LIMITS.connections, { timeout: 20_000 });
    expect(silent.met()).toBe(LIMITS.connections);
    await relayed.end();
  });

  it('that wait for others on their connection have the more time', async () => {
    const short = { ...LIMITS, statement_timeout_ms: 400 };
    const hurried = openPool(url, short);
    const together = createLookups(hurried, { ...LOOKUPS, ...short });
    const slow = statementOf('SELECT ? AS id, pg_sleep(0.1) IS NULL AS slept', noCover);
    const ids = Array.from({ length: 20 }, (_, index) => String(index));
    const told = await Promise.all(ids.map((id) => together.read(slow, [id])));
    expect(told.map((rows) => rows[0]?.id)).toEqual(ids);
    await hurried.end();
  });

  it('on a connection that breaks are refused, and later ones get another', async () => {
    await server.run(
      url,
      `CREATE FUNCTION leave(id TEXT) RETURNS TEXT LANGUAGE SQL AS
      $$ SELECT CAST(pg_terminate_backend(pg_backend_pid()) AS TEXT) WHERE id = '0' $$`,
    );
    const leaving = statementOf('SELECT leave(?) AS left', noCover);
    const told = await Promise.allSettled([lookups.read(leaving, ['0']), lookups.read(byId, ['7'])]);
    expect(told.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await lookups.read(byId, ['7'])).toEqual([shop(7)]);
  });

  it('of which one is a fault leave the others theirs', async () => {
    const numbered = statementOf('SELECT CAST(? AS BIGINT) AS number', noCover);
    const told = await Promise.allSettled([
      lookups.read(numbered, ['not a number']),
      lookups.read(numbered, ['12']),
      lookups.read(byId, ['7']),
    ]);
    expect(told[0]).toMatchObject({ status: 'rejected', reason: { code: '22P02' } });
    expect(told.slice(1)).toMatchObject([{ value: [{ number: 12 }] }, { value: [shop(7)] }]);
  });

  it('that can not be made readable are refused, and nobody waits for them', async () => {
    const open = (): never => {
      throw new Error('covered by another key');
    };
    const strict = createLookups(pool, { ...LOOKUPS, open });
    await expect(strict.read(byId, ['7'])).rejects.toThrow('covered by another key');
  });

  it('whose statement failed for the one before them are asked once more', async () => {
    const own = await server.database();
    const store = await openStore(own, { statement_timeout_ms: 1_000 });
    const blocker = new Client(own);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE merchants IN ACCESS EXCLUSIVE MODE');
    const told = Promise.allSettled(['1', '2', '3'].map((id) => store.merchants.merchant(id)));
    const tries = (): number =>
      asked.mock.calls.filter(([query]) => JSON.stringify(query).includes('FROM merchants')).length;
    await vi.waitUntil(() => tries() === 6, { timeout: 20_000 });
    await blocker.query('COMMIT');
    expect(await told).toEqual(['1', '2', '3'].map(() => ({ status: 'fulfilled', value: null })));
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE tokens IN ACCESS EXCLUSIVE MODE');
    const refused = await Promise.allSettled(['1', '2', '3'].map((fingerprint) => store.merchants.token(fingerprint)));
    // For any error code of the server.
    for (const one of refused)
      expect(one).toMatchObject({ reason: { code: 'store_failed', facts: { failure: 'gone' } } });
    await blocker.end();
    await store.close();
  });
});

interface Leading extends AsyncDisposable {
  urlFor(direct: string): string;
  /** Accepted connections. */
  met(): number;
  cut(): void;
}

/** Forwards the first connections to the server of the URL, and answers no other. */
async function leadingOn(count: number): Promise<Leading> {
  const sockets: Socket[] = [];
  let port = 0;
  const relay = createServer((incoming) => {
    sockets.push(incoming.on('error', () => undefined));
    if (sockets.length > count) return;
    const outgoing = connect(port, '127.0.0.1').on('error', () => undefined);
    incoming.pipe(outgoing).pipe(incoming);
  });
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    urlFor(direct) {
      const led = new URL(direct);
      port = Number(led.port);
      led.port = String((relay.address() as AddressInfo).port); // a listening TCP server has one
      return led.href;
    },
    met: () => sockets.length,
    cut,
    async [Symbol.asyncDispose]() {
      cut();
      relay.close();
      await once(relay, 'close');
    },
  };
}
