/** Partitions of exchanges: created ahead, dropped whole, lossless with a wrong clock or a filled database. */
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import { migrate, postgresMigrations } from '../../../src/store/postgres/prepare.ts';
import { eventually } from '../../kit.ts';
import { newExchange } from '../contract/evidence-kit.ts';
import { DAY_MS, finished, MERCHANT, newNotice } from '../contract/harness.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

let server: Server;
let url: string;
let store: Store;
/** After the time that the migration leaves to rows: two days from the server's own today. */
const BEGIN = (Math.floor(Date.now() / DAY_MS) + 10) * DAY_MS;
let now: number;

beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server.remove());
beforeEach(async () => {
  now = BEGIN;
  url = await server.database();
  store = await openStore(url, { now: () => now });
});
afterEach(() => store.close());

/** As upkeep does it; exchanges are kept for 32 days, in partitions of two days. */
const tidy = (kept_ms = 32 * DAY_MS, limit = 100) => store.exchanges.tidyExchanges(now - kept_ms, now - kept_ms, limit);
const record = (...days: number[]) =>
  store.exchanges.recordExchanges(days.map((day) => newExchange({ at: BEGIN + day * DAY_MS + 1 })));
/** Partitions in days from `BEGIN`, with their rows; the last pair are rows outside of any. */
async function spans(): Promise<{ from: number; to: number; rows: number }[]> {
  const rows = await server.run(
    url,
    'SELECT name, since, until FROM exchange_spans WHERE since IS NOT NULL ORDER BY since',
  );
  return Promise.all(
    rows.map(async ({ name, since, until }) => ({
      from: (Number(since) - BEGIN) / DAY_MS,
      to: (Number(until) - BEGIN) / DAY_MS,
      rows: Number((await server.run(url, `SELECT count(*) AS rows FROM "${name}"`))[0]?.rows),
    })),
  );
}
const loose = async (table: 'before' | 'unplaced') =>
  Number((await server.run(url, `SELECT count(*) AS rows FROM exchanges_${table}`))[0]?.rows);

describe('spans of exchanges', () => {
  it('are there for now and two weeks, and go whole once their newest row is old', async () => {
    await tidy();
    await record(0, 1);
    expect((await spans()).slice(0, 2)).toEqual([
      { from: 0, to: 2, rows: 2 },
      { from: 2, to: 4, rows: 0 },
    ]);
    expect((await spans()).at(-1)).toEqual({ from: 14, to: 16, rows: 0 });
    now += 3 * DAY_MS;
    await tidy();
    await record(2, 3);
    expect((await spans()).slice(0, 3).map(({ from, rows }) => [from, rows])).toEqual([
      [0, 2],
      [2, 2],
      [4, 0],
    ]);
    now = BEGIN + 33 * DAY_MS;
    expect(await tidy()).toBe(0);
    // One day of it is not old enough.
    expect((await spans())[0]).toMatchObject({ from: 0, rows: 2 });
    now += DAY_MS;
    await tidy();
    expect((await store.exchanges.exchanges({}, 0, 10)).map(({ at }) => (at - 1 - BEGIN) / DAY_MS)).toEqual([2, 3]);
    expect(await loose('unplaced')).toBe(0);
    await record(34);
    expect(await store.exchanges.lastExchange()).toBe(5);
    expect(await store.evidence.traffic({})).toHaveLength(5);
  });

  it('begin behind rows that lie in none already, and those go by rows', async () => {
    // No partition was created for so long that none existed.
    await record(0, 1);
    expect(await loose('unplaced')).toBe(2);
    now += 1.5 * DAY_MS;
    await tidy();
    expect((await spans()).slice(0, 2)).toEqual([
      { from: 2, to: 3, rows: 0 },
      { from: 3, to: 5, rows: 0 },
    ]);
    await record(1, 2);
    expect((await spans())[0]).toMatchObject({ from: 2, rows: 1 });
    now = BEGIN + 33.5 * DAY_MS;
    expect(await tidy(undefined, 2)).toBe(2);
    expect(await tidy(undefined, 2)).toBe(1);
    expect(await loose('unplaced')).toBe(0);
    expect(await store.exchanges.exchanges({}, 0, 10)).toHaveLength(1);
  });

  it('are made by a clock that was wrong by years, and made anew by the right one', async () => {
    now = BEGIN + 20_000 * DAY_MS;
    await tidy();
    now = BEGIN;
    await tidy();
    await record(0, 1);
    expect((await spans())[0]).toEqual({ from: 0, to: 2, rows: 2 });
    expect((await store.exchanges.exchanges({}, 0, 10)).map(({ sequence }) => sequence)).toEqual([1, 2]);
  });

  it('are made once by many at the same time', async () => {
    const others = await Promise.all([1, 2, 3].map(() => openStore(url, { now: () => now, connections: 2 })));
    await Promise.all([store, ...others].map((one) => one.exchanges.tidyExchanges(now - 32 * DAY_MS, 0, 100)));
    expect(await spans()).toHaveLength(8);
    await Promise.all(others.map((one) => one.close()));
  });

  it('that somebody reads stay until the next time, and nobody waits for it for long', async () => {
    await tidy();
    await record(0);
    const reader = new Client({ connectionString: url });
    await reader.connect();
    await reader.query('BEGIN; SELECT count(*) FROM exchanges');
    now += 40 * DAY_MS;
    await tidy();
    expect((await spans())[0]).toMatchObject({ rows: 1 });
    await reader.query('COMMIT');
    await reader.end();
    await tidy();
    expect(await store.exchanges.exchanges({}, 0, 10)).toEqual([]);
  });

  it('keep an exchange once, whoever tells it again, and find it in any of them', async () => {
    await tidy();
    const [first, second] = [newExchange({ at: BEGIN + 1, legacy_id: 'a' }), newExchange({ at: BEGIN + 3 * DAY_MS })];
    await store.exchanges.recordExchanges([first, second]);
    const other = await openStore(url, { now: () => now });
    await Promise.all([
      store.exchanges.recordExchanges([second, first]),
      other.exchanges.recordExchanges([first, second]),
    ]);
    await other.close();
    expect(await store.exchanges.exchange(first.id)).toMatchObject({ sequence: 1 });
    expect(await store.exchanges.exchange(second.id)).toMatchObject({ sequence: 2 });
    expect(await store.exchanges.exchanges({ legacy_id: 'a' }, 0, 10)).toHaveLength(1);
    expect(await store.exchanges.exchanges({ merchant_id: MERCHANT, since: BEGIN + DAY_MS }, 0, 10)).toHaveLength(1);
    expect((await store.evidence.traffic({})).reduce((sum, { calls }) => sum + calls, 0)).toBe(2);
  });
});

describe('a database from before there were spans', () => {
  it('keeps its exchanges and their numbers, and takes new ones', async () => {
    const filled = await server.database();
    const client = new Client({ connectionString: filled });
    await client.connect();
    const [first] = postgresMigrations();
    if (first === undefined) throw new Error('there are no migrations');
    await migrate(client, 'here', [first], BEGIN);
    const ids = Array.from({ length: 5 }, () => randomUUID());
    for (const [day, id] of ids.entries())
      await client.query(
        `INSERT INTO exchanges (id, at, lane, stage, status, outcome, duration_ms, tables_revision)
         VALUES ($1, $2, 'orders', 'orders', 200, 'ok', 1, 'r')`,
        [id, BEGIN - (40 - day) * DAY_MS],
      );
    // A clock that was wrong by years.
    await client.query('UPDATE exchanges SET at = $1 WHERE id = $2', [BEGIN + 4000 * DAY_MS, ids[3]]);
    // Its number must not be reused.
    await client.query('DELETE FROM exchanges WHERE id = $1', [ids.pop()]);
    await client.end();
    const later = await openStore(filled, { now: () => now });
    expect((await later.exchanges.exchanges({}, 0, 10)).map(({ id }) => id)).toEqual(ids);
    await later.exchanges.recordExchanges([newExchange({ at: now })]);
    expect(await later.exchanges.lastExchange()).toBe(6);
    expect(await later.exchanges.tidyExchanges(now - 38.5 * DAY_MS, 0, 10)).toBe(2);
    expect((await later.exchanges.exchanges({}, 0, 10)).map(({ sequence }) => sequence)).toEqual([3, 4, 6]);
    const made = `SELECT count(*) AS spans FROM exchange_spans WHERE since BETWEEN ${now} AND ${now + 14 * DAY_MS}`;
    expect(Number((await server.run(filled, made))[0]?.spans)).toBeGreaterThan(5);
    expect(await later.upkeep.integrity()).toBe('ok');
    await later.close();
  });
});

describe('old records of several processes', () => {
  it('go once, and the others leave them to whoever was first', async () => {
    for (let number = 0; number < 60; number++) {
      const sale = await finished(store, { slot: `point:${number}` });
      if (number % 20 === 0) await store.links.saveLink(sale, {}, { notices: [newNotice(sale, 'untold')] });
    }
    const others = await Promise.all([1, 2].map(() => openStore(url, { connections: 2 })));
    const before = BEGIN + DAY_MS;
    const limits = {
      links_before: before,
      notices_before: before,
      events_before: before,
      sums_before: before,
      tokens_before: before,
    };
    let gone = 0;
    for (let round = 0; round < 30 && gone < 57; round++) {
      const steps = await Promise.all([store, ...others].map((one) => one.upkeep.tidyOld(limits, 10)));
      gone += steps.reduce((sum, { links }) => sum + links, 0);
    }
    expect(gone).toBe(57);
    expect((await store.upkeep.counts()).links).toMatchObject({ DONE: 3 });
    await Promise.all(others.map((one) => one.close()));
  });
});

describe('a migration beside processes of the version before', () => {
  /** Waits until a session waits for a lock of another one. */
  const untilWaiting = async (pid: number): Promise<void> => {
    const waits = `SELECT cardinality(pg_blocking_pids(${pid})) > 0 AS waits`;
    await eventually(
      () => server.run(server.own, waits),
      ([row]) => row?.waits === true,
    );
  };
  const session = async (at: string): Promise<{ client: Client; pid: number }> => {
    const client = new Client({ connectionString: at });
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    return { client, pid: rows[0]?.pid ?? 0 };
  };

  it('waits for those that write exchanges, and those that read them for it, and none for each other', async () => {
    const filled = await server.database();
    const [migrating, writing, reading] = [await session(filled), await session(filled), await session(filled)];
    const all = postgresMigrations();
    const before = all.findIndex(({ name }) => name.includes('placed_at_once'));
    expect(before).toBeGreaterThan(0);
    await migrate(migrating.client, 'here', all.slice(0, before), BEGIN);
    await writing.client.query('BEGIN');
    await writing.client.query(
      `INSERT INTO exchanges (id, at, lane, stage, status, outcome, duration_ms, tables_revision)
       VALUES ('a', $1, 'orders', 'orders', 200, 'ok', 1, 'r')`,
      [Date.now()],
    );
    const migrated = migrate(migrating.client, 'here', all, BEGIN);
    await untilWaiting(migrating.pid);
    const read = reading.client.query('SELECT count(*) AS rows FROM exchanges');
    await untilWaiting(reading.pid);
    await writing.client.query('COMMIT');
    await migrated;
    expect((await read).rows).toEqual([{ rows: '1' }]);
    const deadlocks = `SELECT deadlocks FROM pg_stat_database WHERE datname = '${new URL(filled).pathname.slice(1)}'`;
    expect(await server.run(server.own, deadlocks)).toEqual([{ deadlocks: '0' }]);
    for (const { client } of [migrating, writing, reading]) await client.end();
  });

  it('waits for sales that are being written, and counts them once', async () => {
    const filled = await server.database();
    const [migrating, selling] = [await session(filled), await session(filled)];
    const all = postgresMigrations();
    const before = all.findIndex(({ name }) => name.includes('counts_of_ended'));
    expect(before).toBeGreaterThan(0);
    await migrate(migrating.client, 'here', all.slice(0, before), BEGIN);
    const columns =
      'legacy_id, merchant_id, lane, family, unit, slot, fingerprint, reference_sent, client_reference, held, amount_minor, idempotency_key, tables_revision, state, attempts, boot_id, client_answer, legacy_state, legacy_state_at, expires_at, created_at, updated_at, revision';
    await selling.client.query('BEGIN');
    await selling.client.query(`INSERT INTO links (${columns}) SELECT 'l' || n, '7', 'orders', 'point', 'u' || n, 'u' || n,
      'f', 'r' || n, '', '{}', 1, 'k' || n, 't', 'IN_DOUBT', 1, 'b', 'none', 'OPEN', 1, 1, 1, 1, 1 FROM generate_series(1, 3) AS n`);
    const migrated = migrate(migrating.client, 'here', all, BEGIN);
    await untilWaiting(migrating.pid);
    await selling.client.query('COMMIT');
    await migrated;
    const inDoubt = () => server.run(filled, "SELECT links::int FROM link_counts WHERE state = 'IN_DOUBT'");
    expect(await inDoubt()).toEqual([{ links: 3 }]);
    await selling.client.query("UPDATE links SET state = 'DONE', revision = 2");
    expect(await inDoubt()).toEqual([{ links: 0 }]);
    expect(await server.run(filled, "SELECT what FROM tallies WHERE what = 'IN_DOUBT' AND rows <> 0")).toEqual([]);
    for (const { client } of [migrating, selling]) await client.end();
  });

  it('is repeated where it was the one to end of two that waited for each other', async () => {
    const filled = await server.database();
    const [migrating, working] = [await session(filled), await session(filled)];
    const all = postgresMigrations();
    await migrate(migrating.client, 'here', all, BEGIN);
    const sql = 'LOCK TABLE merchants; LOCK TABLE exchange_hours; CREATE TABLE later (id TEXT)';
    // Only the first session checks for a deadlock soon, after three seconds, and is the one to fail.
    await migrating.client.query("SET deadlock_timeout = '3s'");
    await working.client.query("SET deadlock_timeout = '1min'");
    await working.client.query('BEGIN; LOCK TABLE exchange_hours');
    const migrated = migrate(
      migrating.client,
      'here',
      [...all, { version: all.length + 1, name: 'later', sql }],
      BEGIN,
    );
    await untilWaiting(migrating.pid);
    await working.client.query('LOCK TABLE merchants');
    await working.client.query('COMMIT');
    await migrated;
    expect(await server.run(filled, 'SELECT * FROM later')).toEqual([]);
    for (const { client } of [migrating, working]) await client.end();
  });
});
