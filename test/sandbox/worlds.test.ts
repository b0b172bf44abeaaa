/** Parallel worlds share nothing; and the sandbox as a program of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openForAll } from '../open.ts';
import { toldBy } from '../ops/cli/golden.ts';
import { HOUSE, puente } from '../run-cli.ts';
import { ARGENTINA, PAX_TERMINAL, tokenOf } from './kit.ts';

const sandbox = openForAll(() => startSandbox({ port: 0, host: '127.0.0.1' }));

interface Told {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON came and asserts on it
  body: any;
}

async function ask(path: string, options: RequestInit = {}): Promise<Told> {
  const response = await fetch(`${sandbox.url}${path}`, options);
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

const orders = async (prefix: string): Promise<number> => (await ask(`${prefix}/_sandbox/state`)).body.orders.length;
const create = (prefix: string, key: string, headers: Record<string, string> = {}): Promise<Told> =>
  ask(`${prefix}/v1/orders`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${tokenOf(ARGENTINA)}`,
      'content-type': 'application/json',
      'x-idempotency-key': key,
      ...headers,
    },
    body: JSON.stringify({
      type: 'point',
      external_reference: 'WORLD1',
      transactions: { payments: [{ amount: '15.00' }] },
      config: { point: { terminal_id: PAX_TERMINAL } },
    }),
  });

describe('worlds', () => {
  it('are named by a path or a header, and share no order, key, clock or setting', async () => {
    expect((await create('/_world/one', 'key-1')).status).toBe(201);
    expect((await create('', 'key-1', { 'x-sandbox-world': 'two' })).status).toBe(201);
    expect([await orders(''), await orders('/_world/one'), await orders('/_world/two')]).toEqual([0, 1, 1]);
    await ask('/_world/one/_sandbox/clock', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ advance_ms: 3_600_000 }),
    });
    const ends = async (prefix: string) =>
      (await ask(`${prefix}/_sandbox/state`)).body.orders.map((one: { status: string }) => one.status);
    expect([await ends('/_world/one'), await ends('/_world/two')]).toEqual([['canceled'], ['created']]);
    expect((await ask('/_sandbox/worlds')).body).toEqual({ worlds: ['one', 'two'] });
  });

  it('are removed, and begin anew under the same name', async () => {
    await create('/_world/gone', 'key-2');
    expect((await ask('/_sandbox/worlds/gone', { method: 'DELETE' })).status).toBe(204);
    expect((await ask('/_sandbox/worlds/gone', { method: 'DELETE' })).status).toBe(404);
    expect(await orders('/_world/gone')).toBe(0);
  });

  it('have a name of their own, and are bounded', async () => {
    expect(await ask('/_world/-no/_sandbox/state')).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/1 to 64 letters/) },
    });
    for (let number = (await ask('/_sandbox/worlds')).body.worlds.length; number < 64; number++)
      await ask(`/_world/w${number}/_sandbox/settings`);
    expect(await ask('/_world/one-more/_sandbox/state')).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/64 worlds already; remove one/) },
    });
    expect((await ask('/_world/one/_sandbox/state')).status).toBe(200);
  });
});

describe('puente sandbox', () => {
  let child: ChildProcess | null = null;
  afterAll(() => child?.kill('SIGKILL'));

  it('serves by itself, prints a first call that works, stops when it is told to, and says what is wrong of an option', async () => {
    child = spawn(process.execPath, ['bin/puente.js', 'sandbox', '--port', '0'], {
      cwd: HOUSE,
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    });
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    for (let looks = 0; looks < 300 && !/Side by side/.test(text); looks++)
      await new Promise((resolve) => setTimeout(resolve, 100));
    const [, url = '', token = ''] = /curl -s (\S+) -H 'Authorization: (Bearer \S+)'/.exec(text) ?? [];
    const answer = await fetch(url, { headers: { authorization: token } });
    expect(await answer.json()).toMatchObject({ data: { terminals: expect.any(Array) } });
    child.kill('SIGTERM');
    const [code, signal] = await once(child, 'exit');
    expect([code, signal]).toEqual([0, null]);
    const served = { out: text, err: '', code };
    const port = String(sandbox.port);
    const folder = mkdtempSync(join(tmpdir(), 'puente-world-'));
    writeFileSync(join(folder, 'notes.txt'), 'no world\n');
    await toldBy(
      'sandbox',
      [
        ['sandbox', '--port', '0'],
        // Where the port is taken, the profile is none, or the file can't be the world's.
        ['sandbox', '--port', port],
        ['sandbox', '--port', '0', '--profile', 'real'],
        ['sandbox', '--port', '0', '--data', join(folder, 'notes.txt')],
      ],
      async (words) => (words.join(' ') === 'sandbox --port 0' ? served : puente(words)),
      [
        [/(?<=127\.0\.0\.1:)\d+/g, 'PORT'],
        [`--port ${port}`, '--port PORT'],
        [folder, 'FOLDER'],
      ],
    );
  });
});
