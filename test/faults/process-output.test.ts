/** The log pipe is closed, or full because its reader is stuck; tills are served as before. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { killChildren } from '../crash/child.ts';
import { bundleSources, type Stand, startStand, usualBuild } from '../crash/stand.ts';
import { ARGENTINA, call, eventually, OPS_TOKEN, POINT, tokenOf } from '../kit.ts';
import { closing } from '../open.ts';
import { idOf } from '../proxy/http/till.ts';

const LIMIT_MS = 120_000;
/** Each call writes a line of 100 bytes; a pipe holds 64 KiB. */
const CALLS = 1_200;
const AT_ONCE = 20;

let stand: Stand;
let used = 0;

beforeAll(async () => {
  await bundleSources();
  stand = await startStand({ PUENTE_LOG_LEVEL: 'info', PUENTE_READS_FRESH_MS: '60000' });
}, LIMIT_MS);

afterAll(async () => {
  await stand.close();
  await killChildren();
});

it('shows a token of the ops door with the sandbox alone', { timeout: LIMIT_MS }, async () => {
  await using real = closing(await startStand({ PUENTE_OPS_TOKEN: '' }));
  const child = await real.start();
  expect(child?.output()).toMatch(/ops token +none is set, so that the ops door refuses every call/);
  for (const authorization of ['Bearer ', 'Bearer null', ''])
    expect((await fetch(`${child?.ops_url}/api/merchants`, { headers: { authorization } })).status).toBe(401);
});

/** Lines that are not of a call, such as a warning on a busy machine. */
const OWN_LINES = 1;

describe('standard output', { timeout: LIMIT_MS }, () => {
  it('is full because its reader hangs: every call is answered all the same [F63]', async () => {
    const server = await startOnPipe('stuck');
    try {
      await callAll(server);
      // Lines beyond the pipe's capacity wait in the server and are written when the reader continues.
      const taken = linesIn(readNow(server.end));
      expect(taken).toBeLessThan(CALLS);
      const rest = await eventually(readingFrom(server.end), (text) => taken + linesIn(text) >= CALLS);
      expect(taken + linesIn(rest)).toBeLessThanOrEqual(CALLS + OWN_LINES);
    } finally {
      await server.kill();
    }
  });

  it('is closed: calls are answered, and the lost lines are counted [F63]', async () => {
    const server = await startOnPipe('closed');
    try {
      closeSync(server.end);
      await callAll(server);
      const lost = await eventually(
        () => linesLost(server),
        (count) => count > 0,
      );
      expect(lost).toBeLessThanOrEqual(CALLS + OWN_LINES);
    } finally {
      await server.kill();
    }
  });
});

interface OnPipe {
  public_url: string;
  ops_url: string;
  end: number;
  kill(): Promise<void>;
}

/** A server that writes into a pipe, of which only the banner was read. */
async function startOnPipe(name: string): Promise<OnPipe> {
  const path = join(stand.data_dir, name);
  spawnSync('mkfifo', [path]);
  const end = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const other = openSync(path, constants.O_WRONLY);
  const { cwd, entry } = usualBuild();
  const env = { PATH: process.env.PATH ?? '', ...stand.environment };
  const child = spawn(process.execPath, [entry], { cwd, env, stdio: ['ignore', other, 'inherit'] });
  closeSync(other);
  const banner = await eventually(readingFrom(end), (text) => /new merchants.*\n/.test(text));
  const address = (door: string): string => new RegExp(`${door} +(http://\\S+)`).exec(banner)?.[1] ?? '';
  return { public_url: address('public door'), ops_url: address('ops door'), end, kill: () => kill(child) };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

function readingFrom(end: number): () => Promise<string> {
  let text = '';
  return async () => {
    text += readNow(end);
    return text;
  };
}

/** The pipe's current content; empty when there is none. */
function readNow(end: number): string {
  const buffer = Buffer.alloc(65_536);
  try {
    return buffer.toString('utf8', 0, readSync(end, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return ''; // errors of fs have a code
    throw error;
  }
}

/** One sale, then repeated reads of it. */
async function callAll(server: OnPipe): Promise<void> {
  const { id: device } = stand.sandbox.world.terminalsOf(ARGENTINA)[used++] ?? { id: '' };
  const token = tokenOf(ARGENTINA);
  const sale = await call(`${server.public_url}${POINT}/devices/${device}/payment-intents`, {
    token,
    body: { amount: 1500 },
  });
  expect(sale.status).toBe(201);
  const path = `${server.public_url}${POINT}/payment-intents/${idOf(sale)}`;
  for (let done = 0; done < CALLS; done += AT_ONCE) {
    const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => call(path, { token })));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
  }
}

function linesIn(text: string): number {
  return text.split('"msg":"call"').length - 1;
}

async function linesLost(server: OnPipe): Promise<number> {
  const { text } = await call(`${server.ops_url}/metrics`, { token: OPS_TOKEN });
  return Number(/^puente_dropped_log_lines_total (\d+)/m.exec(text)?.[1] ?? 0);
}
