/** Faults of the process: a second instance, pauses, signals, no descriptors, little memory; one data directory. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readBacklog } from '../crash/books.ts';
import { finishChain, started } from '../crash/chain.ts';
import { type Child, killChildren, startChild } from '../crash/child.ts';
import { seeded } from '../crash/random.ts';
import { bundleSources, type Stand, startStand, usualBuild } from '../crash/stand.ts';
import { type Sale, startTill, type Till } from '../crash/till.ts';
import { type Answer, call, eventually, OPS_TOKEN, POINT, tokenOf } from '../kit.ts';
import { inTerminal } from '../ops/cli/terminal.ts';

const LIMIT_MS = 240_000;
const SEED = 46;
/** Lag that counts as a stall; the stand's creates have 800 ms per attempt and 2 s in all. */
const SETTINGS = { PUENTE_SHUTDOWN_GRACE_MS: '4000', PUENTE_LIMITS_LAG_MS: '600' };
/** A heap that the idle server fills by half. */
const SMALL_HEAP = '--max-old-space-size=128';
/** Calls with unknown ids or tokens; `test/proxy/remembered.test.ts` covers a hundred thousand. */
const STRANGE_CALLS = 3_000;
const AT_ONCE = 50;
/** An unhandled rejection, which no test can cause from outside. */
const MISHAP = `process.on('SIGUSR2', () => void Promise.reject(new Error('unheard ${tokenOf('700100200')}')))`;

let stand: Stand;
let till: Till;

beforeAll(async () => {
  await bundleSources();
  stand = await startStand(SETTINGS);
  till = startTill(stand, seeded(SEED));
  await started(stand);
}, LIMIT_MS);

afterAll(async () => {
  await stand.close();
  await killChildren();
});

describe('the process', { timeout: LIMIT_MS }, () => {
  it('is the only one on its file: a second one is refused with a sentence, and the first continues [F59]', async () => {
    const second = startChild(stand.environment, usualBuild());
    await expect(second).rejects.toMatchObject({
      code: 1,
      message: expect.stringContaining('another Puente is using it'),
    });
    expect(await sold()).toBe(true);
  });

  it('is paused in the middle of creates, and sends nothing twice when it resumes [F49]', async () => {
    const before = keysPosted().length;
    const { sales } = await underWay(3, 300);
    running().process.kill('SIGSTOP');
    await pause(3_500);
    running().process.kill('SIGCONT');
    await sales;
    heal();
    // After the deadline no call retries; later recovery uses the same key.
    await eventually(
      async () => openRows(),
      (open) => open === 0,
    );
    const keys = keysPosted().slice(before);
    expect(new Set(keys).size).toBe(3);
    expect(stand.sandbox.world.orders.size).toBe(new Set(keysPosted()).size);
  });

  it('stalls: reads are shed, a create is made, and its own lag does not count as an upstream failure [F50]', async () => {
    const known = till.sales.find(({ legacy_id }) => legacy_id !== null)?.legacy_id ?? '';
    const { sales } = await underWay(1, 100);
    running().process.kill('SIGSTOP');
    const reads = Promise.all([till.get(known), till.get(known), till.get(known)]);
    await pause(1_200);
    running().process.kill('SIGCONT');
    const answers = await reads;
    const [sale] = await sales;
    heal();
    expect(answers.map((answer) => answer?.status)).toContain(503);
    expect(answers.find((answer) => answer?.status === 503)?.headers).toHaveProperty('retry-after');
    expect(sale?.legacy_id).not.toBeNull();
    await eventually(
      () => till.get(known),
      (answer) => answer?.status === 200,
    );
    expect(await metrics()).not.toMatch(/puente_(?:breaker_changes|safety_stops)_total[^}]*} [1-9]/);
  });

  it('has no descriptor left: new connections wait or are closed, it continues, and leaks none [F46]', async () => {
    const { pid } = running();
    await sold();
    const before = descriptors(pid).length;
    // The limit applies to descriptor numbers, and lower numbers may be free.
    const limit = Math.max(...descriptors(pid)) + 5;
    limitDescriptors(pid, `${limit}:`);
    const { hostname, port } = new URL(running().public_url);
    const sockets = Array.from({ length: 60 }, () => connect(Number(port), hostname).on('error', () => undefined));
    await Promise.race([till.sell({ lost: 'retry' }), pause(1_000)]);
    expect(descriptors(pid).length).toBeLessThanOrEqual(limit);
    for (const socket of sockets) socket.destroy();
    limitDescriptors(pid, '4096:');
    await eventually(sold, (isSold) => isSold);
    await eventually(
      async () => descriptors(pid).length,
      (count) => count <= before + 4,
    );
    expect(running().alive()).toBe(true);
  });

  it('gets SIGTERM under load: not ready at once, the creates are answered, exit 0 [F53]', async () => {
    const child = running();
    const { sales } = await underWay(3, 500);
    child.process.kill('SIGTERM');
    // A new connection each time, as a balancer's probe has; a refused connection proves nothing.
    const told = await eventually(
      () => readiness(child),
      (status) => status !== 200,
    );
    expect([told, await readiness(child)]).toEqual([503, 503]);
    await expect(call(`${child.public_url}${POINT}/devices`, { token: tokenOf('700100200') })).rejects.toThrow();
    for (const sale of await sales) expect(sale.legacy_id).not.toBeNull();
    heal();
    expect(await endOf(child)).toBe(0);
  });

  it('gets SIGTERM twice: the second ends it at once, and calls under way are recovered [F54]', async () => {
    const child = await started(stand);
    const { sales } = await underWay(2, 1_500);
    child.process.kill('SIGTERM');
    await pause(100);
    child.process.kill('SIGTERM');
    expect(await endOf(child)).toBe(1);
    for (const sale of await sales) expect(sale.legacy_id).toBeNull();
    heal();
  });

  it('gets SIGHUP, as of a reload by systemd, which starts no process again that ends by it, or SIGPIPE, and goes on [F54]', async () => {
    const child = await started(stand);
    for (const signal of ['SIGPIPE', 'SIGHUP'] as const) {
      child.process.kill(signal);
      expect(await sold()).toBe(true);
    }
    expect(child.output()).toContain('settings are read at a start, so restart Puente');
    const { sales } = await underWay(2, 500);
    child.process.kill('SIGQUIT');
    expect(await endOf(child)).toBe('SIGQUIT');
    await sales;
    heal();
  });

  it.each([
    ['terminal', ''],
    ['file', '>"$LOG" 2>&1'],
    ['program', '2>&1 | tee "$LOG"'],
  ])('stops cleanly when its terminal is closed, with its output to the %s [F54]', async (_where, output) => {
    const data_dir = mkdtempSync(join(tmpdir(), 'puente-terminal-'));
    onTestFinished(() => rmSync(data_dir, { recursive: true, force: true }));
    const fileOf = (name: string): string => join(data_dir, name);
    const server = `sh -c 'echo $$ >"$PID"; exec "$NODE" src/main.ts' ${output}`;
    const terminal = inTerminal(['sh', '-c', server], {
      NODE: process.execPath,
      PID: fileOf('pid'),
      LOG: fileOf('log'),
      PUENTE_DATA_DIR: data_dir,
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_SANDBOX_PORT: '0',
    });
    await eventually(
      async () => (existsSync(fileOf('log')) ? readFileSync(fileOf('log'), 'utf8') : terminal.shown()),
      (text) => text.includes('new merchants'),
    );
    const pid = Number(readFileSync(fileOf('pid'), 'utf8'));
    onTestFinished(() => {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    expect(existsSync(fileOf('puente.db-wal'))).toBe(true);
    terminal.close();
    if (isRunning(pid)) process.kill(pid, 'SIGHUP'); // a shell tells its jobs, besides the kernel
    await eventually(
      async () => isRunning(pid),
      (is_running) => !is_running,
    );
    expect(existsSync(fileOf('puente.db-wal'))).toBe(false);
  });

  it('continues after an unhandled rejection, and logs it without the token in it [F52]', async () => {
    const options = ['--import', `data:text/javascript,${encodeURIComponent(MISHAP)}`, SMALL_HEAP];
    const child = await stand.start(undefined, { ...usualBuild(), node_options: options });
    expect(child).not.toBeNull();
    child?.process.kill('SIGUSR2');
    await eventually(
      async () => child?.output() ?? '',
      (said) => said.includes('goes on after an uncaught error'),
    );
    expect(child?.output()).not.toContain(tokenOf('700100200'));
    expect(await sold()).toBe(true);
  });

  it('has little memory: after three thousand tokens, devices and ids it runs, is no larger, and makes sales [F51]', async () => {
    const child = running();
    expect(child.process.spawnargs.join(' ')).toContain(SMALL_HEAP);
    const seen = new Set<number>();
    const sizes_kib: number[] = [];
    for (let number = 0; number < STRANGE_CALLS; number += AT_ONCE) {
      const calls = Array.from({ length: AT_ONCE }, (_, index) => strange(child, number + index));
      for (const { status } of await Promise.all(calls)) seen.add(status);
      if (number % (STRANGE_CALLS / 4) === 0) sizes_kib.push(residentKib(child.pid));
    }
    // 401: unknown token. 404: a merchant's token, unknown id. 429 and 503: shed. Any other 5xx is a fault.
    expect([...seen].filter((status) => ![401, 404, 429, 503].includes(status))).toEqual([]);
    expect([...seen]).toEqual(expect.arrayContaining([401, 404]));
    expect(residentKib(child.pid) - (sizes_kib[1] ?? 0), sizes_kib.join()).toBeLessThan(64 * 1024);
    expect(await sold()).toBe(true);
    child.process.kill('SIGINT');
    expect(await endOf(child)).toBe(0);
  });

  it('has lost, doubled or orphaned no sale in all these tests [F49 F53 F54]', async () => {
    await started(stand);
    const { violations } = await finishChain('process', SEED, stand, till);
    expect(violations).toEqual([]);
  });
});

/** Of a process that is no child of this one: what has ended may be unread by its parent, and has no command line then. */
function isRunning(pid: number): boolean {
  const file = `/proc/${pid}/cmdline`;
  return existsSync(file) && readFileSync(file, 'utf8') !== '';
}

function running(): Child {
  if (stand.child === null) throw new Error('no server is running');
  return stand.child;
}

/** Status of `/readyz` on a new connection; null when the door is closed. */
async function readiness({ ops_url }: Child): Promise<number | null> {
  return request(`${ops_url}/readyz`, { reset: true, dispatcher: new Agent() }).then(
    ({ statusCode }) => statusCode,
    () => null,
  );
}

async function endOf(child: Child): Promise<number | string | null> {
  await child.gone;
  return child.process.exitCode ?? child.process.signalCode;
}

async function sold(): Promise<boolean> {
  return (await till.sell({ ending: 'leave' })).legacy_id !== null;
}

/** Creates that have reached upstream and whose answers are delayed. */
async function underWay(count: number, delay_ms: number): Promise<{ sales: Promise<Sale[]> }> {
  stand.fault({ method: 'POST', path: '/v1/orders', kind: 'delay', when: 'after', delay_ms, times: 'always' });
  const before = keysPosted().length;
  const sales = Promise.all(Array.from({ length: count }, () => till.sell({ lost: 'retry later' })));
  await eventually(
    async () => keysPosted().length,
    (posted) => posted >= before + count,
  );
  return { sales };
}

function heal(): void {
  stand.sandbox.world.faults.length = 0;
}

/** Keys of the order creates that have reached upstream. */
function keysPosted(): (string | null | undefined)[] {
  const lines = stand.sandbox.world.request_log.list();
  return lines
    .filter(({ method, path }) => method === 'POST' && path === '/v1/orders')
    .map((line) => line.idempotency_key);
}

async function openRows(): Promise<number> {
  const { in_doubt } = await readBacklog(stand);
  return in_doubt;
}

async function metrics(): Promise<string> {
  return (await call(`${running().ops_url}/metrics`, { token: OPS_TOKEN })).text;
}

function descriptors(pid: number): number[] {
  return readdirSync(`/proc/${pid}/fd`).map(Number);
}

function limitDescriptors(pid: number, limit: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--nofile=${limit}`], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`prlimit: ${stderr}`);
}

function residentKib(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** A call about an unknown id: every second one with a merchant's token, the others with an unknown token. */
function strange(child: Child, number: number): Promise<Answer> {
  const token = tokenOf(number % 2 === 0 ? '700100200' : String(800_000_000 + number));
  const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
  const path = number % 4 < 2 ? `payment-intents/${id}` : `devices/DEVICE__${number}/payment-intents/${id}`;
  return call(`${child.public_url}${POINT}/${path}`, { token, method: number % 4 < 2 ? 'GET' : 'DELETE' });
}
