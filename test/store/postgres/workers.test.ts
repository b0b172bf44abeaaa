/** Workers of one Puente on PostgreSQL: shared doors, replacement, and the stop of all. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childrenOf, parentOf } from '../../../bench/machine.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { type Child, killChildren, startChild } from '../../crash/child.ts';
import { bundleSources, usualBuild } from '../../crash/stand.ts';
import { type Answer, ARGENTINA, call, eventually, OPS_TOKEN, POINT, tokenOf } from '../../kit.ts';
import { freePorts } from '../../listen.ts';
import { type Server, startServer } from './server.ts';

const LIMIT_MS = 120_000;
const WORKERS = 2;

let server: Server;
let sandbox: Sandbox;
let settings: Record<string, string>;
let folder: string;
let file: string;
let puente: Child;
let sold = 0;

beforeAll(async () => {
  const [port = '', ops_port = ''] = await freePorts(2);
  server = await startServer();
  sandbox = await startSandbox({ port: 0, host: '127.0.0.1', settings: { extra_terminals: 5_000 } });
  folder = mkdtempSync(join(tmpdir(), 'puente-settings-'));
  file = join(folder, 'puente.yaml');
  writeFileSync(file, '{}');
  settings = {
    PUENTE_CONFIG: file,
    PUENTE_WORKERS: String(WORKERS),
    PUENTE_POSTGRES_URL: await server.database(),
    PUENTE_UPSTREAM: sandbox.url,
    PUENTE_LEGACY_UPSTREAM: sandbox.url,
    PUENTE_PUBLIC_PORT: port,
    PUENTE_OPS_PORT: ops_port,
    PUENTE_OPS_TOKEN: OPS_TOKEN,
    PUENTE_SECRET_KEY: 'c7'.repeat(32),
    PUENTE_WEBHOOK_SECRET: 'a webhook secret of the tests',
    PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
    PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    PUENTE_LIMITS_LAG_MS: '600000',
  };
  await bundleSources();
  puente = (await startChild(settings, usualBuild())) as Child; // nothing kills it while it starts
}, LIMIT_MS);

afterAll(async () => {
  await killChildren();
  await sandbox.close();
  await server.remove();
  rmSync(folder, { recursive: true, force: true });
}, LIMIT_MS);

/** A sale on its own terminal, and a read of it. @returns the statuses; null without an answer. */
async function sell(): Promise<(number | null)[]> {
  const device = `NEWLAND_N950__LOAD${String(++sold).padStart(7, '0')}`;
  const created = await ask(`${POINT}/devices/${device}/payment-intents`, { amount: 1500 });
  const { id } = (created?.body ?? {}) as { id?: unknown }; // of a successful create
  const seen = await ask(`${POINT}/payment-intents/${id}`);
  return [created?.status ?? null, seen?.status ?? null];
}
const SOLD = [201, 200]; // the create, and its read

function ask(path: string, body?: object): Promise<Answer | null> {
  const options = { token: tokenOf(ARGENTINA), ...(body === undefined ? {} : { body }) };
  return call(puente.public_url + path, options).catch(() => null);
}

async function created(): Promise<{ all: number; pages: string[] }> {
  const pages: string[] = [];
  for (let look = 0; look < 4; look++) {
    const { body } = await call(`${puente.ops_url}/metrics`, { token: OPS_TOKEN });
    pages.push(
      /^puente_http_request_duration_seconds_count\{.*operation="point\.create_intent",lane="orders",outcome="ok".*\} (\d+)$/m.exec(
        String(body),
      )?.[1] ?? '',
    );
  }
  return { all: Number(pages[0]), pages };
}

describe('workers', { timeout: LIMIT_MS }, () => {
  it('sell at the same doors, and each tells the numbers of all', async () => {
    expect(childrenOf(puente.pid)).toHaveLength(WORKERS);
    const sales = await Promise.all(Array.from({ length: 20 }, sell));
    expect(sales).toEqual(sales.map(() => SOLD));
    expect(sandbox.world.orders.size).toBe(20);
    expect(await created()).toEqual({ all: 20, pages: ['20', '20', '20', '20'] });
  });

  it('are replaced one after the other without a failed call', async () => {
    const before = childrenOf(puente.pid);
    process.kill(puente.pid, 'SIGHUP');
    const sales: (number | null)[][] = [];
    const tills = Array.from({ length: 4 }, async () => {
      while (!puente.output().includes('All workers were replaced.')) {
        sales.push(await sell());
        await pause(20);
      }
    });
    await Promise.all(tills);
    expect(sales.length).toBeGreaterThan(10);
    expect(sales).toEqual(sales.map(() => SOLD));
    expect(sandbox.world.orders.size).toBe(sold);
    const after = childrenOf(puente.pid);
    expect(after).toHaveLength(WORKERS);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  });

  it('stay as many as they are when a new one does not get ready, as with a fault in a file of settings', async () => {
    const before = childrenOf(puente.pid);
    writeFileSync(file, 'nonsense: 1');
    process.kill(puente.pid, 'SIGHUP');
    await eventually(
      async () => puente.output(),
      (output) => output.includes('did not get ready'),
    );
    expect(puente.output()).not.toContain('another one starts');
    expect(childrenOf(puente.pid)).toEqual(before);
    writeFileSync(file, '{}');
    process.kill(puente.pid, 'SIGHUP');
    await eventually(
      async () => childrenOf(puente.pid),
      (pids) => pids.length === WORKERS && !pids.some((pid) => before.includes(pid)),
    );
    expect(await sell()).toEqual(SOLD);
  });

  it('go on when one is killed while it asks for the metrics of all', async () => {
    const [first = 0] = childrenOf(puente.pid);
    // Kept connections: a new one is accepted by the first process, which stands still below.
    const dispatcher = new Agent({ connections: 2 * WORKERS, keepAliveTimeout: LIMIT_MS });
    const pages = () => {
      const options = { dispatcher, headers: { authorization: `Bearer ${OPS_TOKEN}` } };
      const page = () => request(`${puente.ops_url}/metrics`, options).then(({ body }) => body.text());
      return Promise.allSettled(Array.from({ length: 2 * WORKERS }, page));
    };
    await pages();
    process.kill(puente.pid, 'SIGSTOP');
    const asked = pages();
    await pause(500);
    process.kill(first, 'SIGKILL');
    await pause(200);
    process.kill(puente.pid, 'SIGCONT');
    await eventually(
      async () => childrenOf(puente.pid),
      (pids) => pids.length === WORKERS && !pids.includes(first),
    );
    expect((await asked).map(({ status }) => status)).toContain('fulfilled');
    await dispatcher.destroy();
    await eventually(sell, (sale) => String(sale) === String(SOLD));
  });

  it('are replaced when one dies, and the other goes on', async () => {
    const [first = 0] = childrenOf(puente.pid);
    process.kill(first, 'SIGKILL');
    await eventually(
      async () => childrenOf(puente.pid),
      (pids) => pids.length === WORKERS && !pids.includes(first),
    );
    // Its line may arrive after the new worker, on a busy machine.
    await eventually(
      async () => puente.output(),
      (output) => output.includes('A worker ended (SIGKILL)'),
    );
    await eventually(sell, (sale) => String(sale) === String(SOLD));
  });

  it('end together, cleanly', async () => {
    const pids = childrenOf(puente.pid);
    await puente.stop();
    expect(puente.process.exitCode).toBe(0);
    expect(puente.output()).toContain('Puente has stopped.');
    await pause(50);
    expect(pids.map((pid) => parentOf(String(pid)))).toEqual(pids.map(() => null));
  });

  it.each([
    ['a file', { PUENTE_POSTGRES_URL: undefined }, 'set PUENTE_POSTGRES_URL'],
    ['the sandbox', { PUENTE_UPSTREAM: 'sandbox' }, 'name an upstream'],
    ['any port', { PUENTE_PUBLIC_PORT: '0' }, 'give public.port and ops.port one'],
  ])('are refused with %s', async (_what, change, words) => {
    const all = Object.entries({ ...settings, ...change }).filter(
      (pair): pair is [string, string] => pair[1] !== undefined,
    );
    await expect(startChild(Object.fromEntries(all), usualBuild())).rejects.toMatchObject({
      code: 1,
      message: expect.stringContaining(words),
    });
  });
});
