/** Streamed answers at the command line: text and lines as they arrive, and a file that is complete or absent. */
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callOps, linesOfOps, streamOps } from '../../../src/ops/cli/ops-client.ts';
import { save, startProgress } from '../../../src/ops/cli/output.ts';
import { listen, shut } from '../../listen.ts';

let address: { ops: string };
const directory = mkdtempSync(join(tmpdir(), 'puente-stream-'));
const answers: Record<string, (response: ServerResponse) => void> = {
  '/lines': (response) => {
    response.write('{"n":1}\n{"n":');
    response.write('2}\n\n');
    response.end('{"word":"ñandú"}');
  },
  '/split': (response) => {
    const bytes = Buffer.from('ñandú €\n');
    for (const byte of bytes) response.write(Buffer.of(byte));
    response.end();
  },
  '/broken': (response) => {
    response.write('half of it');
    setImmediate(() => response.destroy());
  },
  '/refused': (response) => {
    response.writeHead(409, { 'content-type': 'application/json' });
    response.end('{"error":"conflict","message":"It is at revision 7; look again.","revision":7}');
  },
  '/taken': (response) => response.destroy(),
  '/page': (response) => response.writeHead(502).end('<html>'),
};
const server = createServer((request, response) => answers[request.url ?? '']?.(response));

beforeAll(async () => {
  process.env.PUENTE_OPS_TOKEN = 'ops-token-of-the-tests';
  address = { ops: `http://127.0.0.1:${await listen(server)}/` };
});
afterAll(async () => {
  delete process.env.PUENTE_OPS_TOKEN;
  await shut(server);
});

const silent = () => startProgress({ json: true }, 'reading');

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('a streamed answer', () => {
  it('is read as lines of JSON, wherever the pieces end', async () => {
    expect(await all(linesOfOps(address, { method: 'GET', path: '/lines' }))).toEqual([
      { n: 1 },
      { n: 2 },
      { word: 'ñandú' },
    ]);
  });

  it('keeps characters whole that come in parts', async () => {
    expect((await all(streamOps(address, { method: 'GET', path: '/split' }))).join('')).toBe('ñandú €\n');
  });

  it('goes to a file, which is there once it is whole', async () => {
    const file = join(directory, 'whole.csv');
    expect(await save(streamOps(address, { method: 'GET', path: '/split' }), file, silent())).toBe(8);
    expect(readFileSync(file, 'utf8')).toBe('ñandú €\n');
  });

  it('that breaks off is an error, and leaves no file', async () => {
    const file = join(directory, 'broken.csv');
    await expect(save(streamOps(address, { method: 'GET', path: '/broken' }), file, silent())).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringContaining('incomplete'),
    });
    expect(readdirSync(directory).filter((name) => name.startsWith('broken'))).toEqual([]);
  });

  it('to a place that can not be written is refused with the place', async () => {
    const file = join(directory, 'no', 'such', 'directory.csv');
    await expect(save(streamOps(address, { method: 'GET', path: '/split' }), file, silent())).rejects.toMatchObject({
      code: 'bad_request',
      message: expect.stringContaining('ENOENT'),
    });
  });
});

describe('a refusal', () => {
  it('is told with the door’s sentence and facts, streamed or not', async () => {
    const refusal = {
      code: 'refused',
      message: 'It is at revision 7; look again.',
      facts: { error: 'conflict', revision: 7, status: 409 },
    };
    await expect(callOps(address, { method: 'GET', path: '/refused' })).rejects.toMatchObject(refusal);
    await expect(all(streamOps(address, { method: 'GET', path: '/refused' }))).rejects.toMatchObject(refusal);
  });

  it('of a connection that ends without an answer names --ops, and of a change says that it may be done', async () => {
    const taken = `${new URL(address.ops).origin} has taken the request and not answered it (socket hang up).`;
    const door = 'If that is not the ops door of Puente, name it with --ops, its http:// or https:// included.';
    const said = [
      [{ method: 'GET', path: '/taken' }, `${taken} ${door}`],
      [
        { method: 'POST', path: '/taken', body: {} },
        `${taken} It may be under way, or done: look before you repeat it. ${door}`,
      ],
    ] as const;
    for (const [ask, message] of said)
      await expect(callOps(address, ask)).rejects.toMatchObject({ code: 'unreachable', message });
  });

  it('without a body of ours is told by its status', async () => {
    await expect(callOps(address, { method: 'GET', path: '/page' })).rejects.toMatchObject({
      message: 'The ops door answered 502.',
    });
  });
});
