/** A database that is down, slow or replaced: errors before any call is sent, no false answers, recovery. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/ops/ports.ts';
import { steadyTime } from '../../../src/proxy/loop.ts';
import { startRelay } from '../../engines/relay.ts';
import { NOON, newEvent, newLink, opened } from '../contract/harness.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

const open = () => ({ kind: 'open' }) as const;
const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'puente' AND datname = current_database()`;

describe('a database that is in trouble', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.remove());

  it('whose connections break under load loses nothing that was told, and is used again by itself', async () => {
    const url = await server.database();
    const store = await openStore(url);
    const told: string[] = [];
    const refused: unknown[] = [];
    const sell = async (unit: string): Promise<void> => {
      for (let sale = 0; sale < 30; sale++) {
        const link = newLink({ unit: `${unit} ${sale}` });
        await store.links.openLink(link, open).then(
          () => told.push(link.legacy_id),
          (error: unknown) => refused.push(error),
        );
      }
    };
    const load = Promise.all(['A', 'B', 'C', 'D', 'E', 'F'].map(sell));
    for (let time = 0; time < 6; time++) {
      await server.run(url, TERMINATE);
      await pause(15);
    }
    await load;
    for (const error of refused) expect(error).toMatchObject({ code: 'store_failed', facts: { failure: 'gone' } });
    for (const legacy_id of told) expect(await store.links.link(legacy_id)).not.toBeNull();
    expect(told.length).toBeGreaterThan(0);
    expect((await store.links.openLink(newLink({ unit: 'after' }), open)).opening).toEqual({ kind: 'open' });
    expect(store.healthy()).toBe(true);
    await store.close();
  });

  it('that keeps every connection busy does not make its store look dead; nor does a beat whose connection broke', async () => {
    const url = await server.database();
    const store = await openStore(url, { connections: 2, connect_timeout_ms: 1_000, statement_timeout_ms: 60_000 });
    const seenAt = async (): Promise<string> =>
      String((await server.run(url, 'SELECT CAST(seen_at AS TEXT) AS at FROM lease_holders'))[0]?.at);
    const later = async (than: string): Promise<string> => {
      let at = than;
      const isLater = async (): Promise<boolean> => {
        at = await seenAt();
        return at !== than;
      };
      await until(isLater, `no beat after the one of ${than}`);
      return at;
    };
    const blocker = new Client(url);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE merchants IN ACCESS EXCLUSIVE MODE');
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FROM merchants%'
      AND datname = current_database()`;
    const stuck: Promise<unknown>[] = [];
    for (const id of ['1', '2']) {
      stuck.push(store.merchants.merchant(id));
      // Waits for each read: a read before it would share its connection.
      await until(async () => (await server.run(url, waiting)).length === stuck.length, 'a read does not wait');
    }
    await expect(store.merchants.merchant('3')).rejects.toMatchObject({ code: 'store_failed' });
    const before = await later(await seenAt());
    await server.run(url, `${TERMINATE} AND query LIKE '%INTO lease_holders%'`);
    await later(before);
    await expect(store.merchants.merchant('3')).rejects.toMatchObject({ code: 'store_failed' });
    await blocker.end();
    expect(await Promise.all(stuck)).toEqual([null, null]);
    await store.close();
    const left = `SELECT 1 FROM pg_stat_activity WHERE application_name = 'puente' AND datname = current_database()
      UNION ALL SELECT 1 FROM lease_holders`;
    await until(async () => (await server.run(url, left)).length === 0, 'a closed store left connections or its lease');
  });

  it('that does not answer a beat any more does not keep its store from closing', async () => {
    const direct = await server.database();
    const relay = await startRelay(server.port);
    const store = await openStore(relay.urlFor(direct), { connect_timeout_ms: 2_000, statement_timeout_ms: 2_000 });
    const blocker = new Client(direct);
    await blocker.connect();
    await blocker.query('BEGIN');
    await blocker.query('LOCK TABLE lease_holders IN ACCESS EXCLUSIVE MODE');
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INTO lease_holders%'
      AND datname = current_database()`;
    await until(async () => (await server.run(direct, waiting)).length > 0, 'no beat waits for the lock');
    relay.stall();
    await store.close();
    await blocker.end();
    await relay.close();
  });

  it('that stops refuses each write and read, is not healthy, and is healthy again when it is back', async () => {
    const store = await openStore(await server.database(), { connect_timeout_ms: 1_000 });
    const before = await opened(store);
    await server.stop();
    const late = newLink({ unit: 'late' });
    await expect(store.links.openLink(late, open)).rejects.toMatchObject({
      code: 'store_failed',
      facts: { failure: 'gone' },
    });
    await expect(store.links.link(before.legacy_id)).rejects.toMatchObject({ code: 'store_failed' });
    expect(store.healthy()).toBe(false);
    await server.start();
    await until(() => store.healthy(), 'the store is not healthy again');
    expect(await store.links.link(before.legacy_id)).toEqual(before);
    expect(await store.links.link(late.legacy_id)).toBeNull();
    expect((await store.links.openLink(late, open)).opening).toEqual({ kind: 'open' });
    await store.close();
  });

  it('that takes no writes any more, as a standby, refuses them, and takes them again', async () => {
    const url = await server.database();
    const store = await openStore(url);
    const name = new URL(url).pathname.slice(1);
    await server.run(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await server.run(url, TERMINATE);
    await refusedAtLast(store);
    expect(store.healthy()).toBe(false);
    await server.run(url, `BEGIN READ WRITE; ALTER DATABASE ${name} RESET default_transaction_read_only; COMMIT`);
    await server.run(url, TERMINATE);
    await until(() => store.healthy(), 'the store is not healthy again');
    expect((await store.links.openLink(newLink(), open)).opening).toEqual({ kind: 'open' });
    await store.close();
  });

  it('that is slow is not waited for longer than it may take, and then says nothing of what is written', async () => {
    const url = await server.database();
    const store = await openStore(url, { statement_timeout_ms: 300, connections: 2 });
    const link = await opened(store);
    const release = await holdTable(server, url);
    await expect(store.links.saveLink(link, { attempts: 1 })).rejects.toMatchObject({ code: 'store_failed' });
    await expect(store.links.openLink(newLink({ unit: 'B' }), open)).rejects.toMatchObject({
      facts: { failure: 'gone' },
    });
    await release();
    expect(await store.links.link(link.legacy_id)).toEqual(link);
    expect(await store.links.saveLink(link, { attempts: 1 })).toMatchObject({ attempts: 1, revision: 2 });
    await store.close();
  });

  it('that could not be read at the start does not keep old rows from being deleted once it can', async () => {
    const url = await server.database();
    const store = await openStore(url, { statement_timeout_ms: 300 });
    const release = await holdTable(server, url);
    const time = steadyTime({ store, clock: { now: () => NOON } });
    await expect(time()).rejects.toMatchObject({ code: 'store_failed' });
    await release();
    expect(await time()).toBe(NOON);
    await store.close();
  });

  it('whose tables another process has given a column is used on, whatever connection has which statement', async () => {
    const url = await server.database();
    const store = await openStore(url, { connections: 4 });
    const { merchant_id } = await opened(store);
    await store.merchants.acceptToken(
      { fingerprint: 'f', merchant_id, sealed_token: new Uint8Array(1), accepted_until: NOON, seen_at: NOON },
      'MLA',
    );
    await store.events.receiveEvent(newEvent());
    const seen = () => Promise.all([store.merchants.merchants(), store.merchants.merchant(merchant_id)]);
    for (let round = 0; round < 4; round++) await Promise.all(Array.from({ length: 4 }, seen));
    const due = await store.events.dueEvents(NOON, 1);
    for (const table of ['merchants', 'events']) await server.run(url, `ALTER TABLE ${table} ADD COLUMN later TEXT`);
    expect(await store.merchants.merchant(merchant_id)).toMatchObject({ id: merchant_id });
    expect(await store.merchants.merchants()).toHaveLength(1);
    expect(await store.events.dueEvents(NOON, 1)).toMatchObject(due);
    await store.close();
  });

  it('keeps what a killed process had taken, and another process finishes it', async () => {
    const url = await server.database();
    const store = await openStore(url);
    const EVENTS = 60;
    for (let index = 0; index < EVENTS; index++)
      await store.events.receiveEvent(newEvent({ reference: `ref ${index}` }));
    const child = spawn(process.execPath, [join(import.meta.dirname, 'sell-child.ts'), url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += String(chunk);
      if (said.split('done').length > 12) child.kill('SIGKILL');
    });
    await once(child, 'close');
    const numbers = (word: string) =>
      [...said.matchAll(new RegExp(`^${word} (\\d+)$`, 'gm'))].map(([, number]) => Number(number));
    const finished = new Set(numbers('done'));
    // Taken and unfinished events stay leased until the lease ends; the others are available at once.
    const rest = await store.events.dueEvents(NOON, EVENTS);
    expect(rest.filter(({ sequence }) => finished.has(sequence))).toEqual([]);
    await server.run(url, 'UPDATE leases SET until = clock_timestamp()');
    const all = await store.events.dueEvents(NOON, EVENTS);
    expect(all.length).toBeGreaterThanOrEqual(rest.length);
    for (const { sequence } of all) await store.events.saveEvent(sequence, { state: 'done' });
    expect(await server.run(url, `SELECT state, count(*)::int AS count FROM events GROUP BY state`)).toEqual([
      { state: 'done', count: EVENTS },
    ]);
    await store.close();
  });
});

/** The error after the old connections are closed, whose sessions could still write. */
async function refusedAtLast(store: Store): Promise<void> {
  await expect(store.links.openLink(newLink({ unit: 'refused' }), open)).rejects.toMatchObject({
    code: 'store_failed',
  });
}

/** Locks the table of links, as a careless schema change does. @returns waits for the release. */
async function holdTable(server: Server, url: string): Promise<() => Promise<void>> {
  const held = server.run(url, 'BEGIN; LOCK TABLE links IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(2); COMMIT');
  const isHeld = async (): Promise<boolean> => {
    const locks = await server.run(
      url,
      `SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted AND relation = 'links'::regclass`,
    );
    return locks.length > 0;
  };
  await until(isHeld, 'the table of links is not locked');
  return async () => void (await held);
}

/** Longer than a heartbeat's interval and a store's timeouts. */
const PATIENCE_MS = 20_000;

/** @throws Error with `otherwise`, after twenty seconds. */
async function until(isSo: () => boolean | Promise<boolean>, otherwise: string): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${otherwise}, after ${PATIENCE_MS / 1000} s`);
    await pause(50);
  }
}
