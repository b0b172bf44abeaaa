/** Errors of server and network are failures of the database; defects of this program are not. */
import { connect, createServer } from 'node:net';
import { Client, Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../../../src/store/postgres/pool.ts';
import { NOON, newLink, opened } from '../contract/harness.ts';
import { openStore } from './kit.ts';
import { type Server, startServer } from './server.ts';

let server: Server;
let url: string;
beforeAll(async () => {
  server = await startServer();
  url = await server.database();
});
afterAll(() => server.remove());

async function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => 'was not refused',
    (error: unknown) => error,
  );
}

describe('is gone', () => {
  it('what the system says of a connection', async () => {
    const refused = new Client({ connectionString: 'postgres://postgres@127.0.0.1:1/none' });
    expect(failureOf(await refusal(refused.connect()))).toBe('gone');
    const nowhere = new Client({ connectionString: 'postgres://postgres@nowhere.invalid/none' });
    expect(failureOf(await refusal(nowhere.connect()))).toBe('gone');
    const both = await refusal(
      new Promise((_, reject) => connect({ host: 'localhost', port: 1 }).once('error', reject)),
    );
    expect(failureOf(both)).toBe('gone');
    expect(failureOf(new AggregateError([both, new TypeError('a fault')]))).toBeNull();
  });

  it('a connection that ends, before its start, under a query and after it', async () => {
    const hangsUp = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await new Promise((resolve) => hangsUp.once('listening', resolve));
    const { port } = hangsUp.address() as { port: number }; // a listening TCP server has one
    const cut = new Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/none` });
    expect(failureOf(await refusal(cut.connect()))).toBe('gone');
    hangsUp.close();
    const client = new Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const sleeping = refusal(client.query('SELECT pg_sleep(60)'));
    await server.run(url, `SELECT pg_terminate_backend(${rows[0]?.pid})`);
    expect(failureOf(await sleeping)).toBe('gone');
    expect(failureOf(await refusal(client.query('SELECT 1')))).toBe('gone');
    await client.end();
    expect(failureOf(await refusal(client.query('SELECT 1')))).toBe('gone');
  });

  it('a connection that the other side has ended, which the system tells without a call', async () => {
    const leaves = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await new Promise((resolve) => leaves.once('listening', resolve));
    const { port } = leaves.address() as { port: number }; // as above
    const socket = connect({ host: '127.0.0.1', port }).resume();
    await new Promise((resolve) => socket.once('end', resolve));
    await new Promise((resolve) => setImmediate(resolve));
    const told = await new Promise((resolve) => {
      socket.once('error', resolve);
      socket.write('late', (error) => resolve(error));
    });
    expect(told).not.toHaveProperty('syscall');
    expect(failureOf(told)).toBe('gone');
    leaves.close();
  });

  it('no answer in time, no connection in time, and a pool that was closed', async () => {
    const pool = new Pool({ connectionString: url, max: 1, connectionTimeoutMillis: 2_000, query_timeout: 50 });
    const client = await pool.connect();
    client.on('error', () => undefined);
    expect(failureOf(await refusal(pool.connect()))).toBe('gone');
    expect(failureOf(await refusal(client.query('SELECT pg_sleep(60)')))).toBe('gone');
    client.release(true);
    await pool.end();
    expect(failureOf(await refusal(pool.connect()))).toBe('gone');
  });
});

describe('stays what it is', () => {
  it.each([
    ['a fault in our own words', new TypeError('x is not a function')],
    ["one that Node's own library names", Object.assign(new TypeError('bad'), { code: 'ERR_INVALID_ARG_TYPE' })],
    ['one of how the driver is used', new Error('Query values must be an array')],
    ['nothing that is thrown as an error', 'a word'],
  ])('%s', (_, error) => {
    expect(failureOf(error)).toBeNull();
  });

  it('from a read and from a write, and the store goes on', async () => {
    const store = await openStore(url, { connections: 1 });
    const faulty = {
      toPostgres() {
        throw new RangeError('made wrong');
      },
    };
    const link = await opened(store);
    await expect(store.links.link(faulty as never)).rejects.toThrow(RangeError);
    await expect(store.links.saveLink(link, { next_check_at: faulty as never })).rejects.toThrow(RangeError);
    // Inside a transaction, which must not stay open for the next statement.
    const opening = store.links.openLink(newLink({ unit: 'B', created_at: faulty as never }), () => ({ kind: 'open' }));
    await expect(opening).rejects.toThrow(RangeError);
    expect(store.healthy()).toBe(true);
    expect(await store.links.link(link.legacy_id)).toEqual(link);
    expect(await store.links.saveLink(link, { next_check_at: NOON })).toMatchObject({ revision: 2 });
    await store.close();
  });
});
