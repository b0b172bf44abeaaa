/** Peeking at a body of any length and chunking loses no byte of it. */
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { peekUpTo } from '../../../src/proxy/http/request.ts';
import { listen, shut } from '../../listen.ts';

const LIMIT = 65_536;
let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer(async (incoming, response) => {
    const times = Number(incoming.headers['x-times']);
    const peeked: (number | null)[] = [];
    for (let time = 0; time < times; time++) peeked.push((await peekUpTo(incoming, LIMIT))?.length ?? null);
    const hash = createHash('sha256');
    let length = 0;
    for await (const chunk of incoming) {
      hash.update(chunk);
      length += chunk.length;
    }
    response.end(JSON.stringify({ peeked, length, digest: hash.digest('hex') }));
  });
  url = `http://127.0.0.1:${await listen(server)}`;
});
afterAll(() => shut(server));

function* inPieces(body: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < body.length; at += size) yield body.subarray(at, at + size);
}

describe.each([1, 2])('looked at %d times', (times) => {
  it.each([
    ['nothing', 0, 0],
    ['one byte', 1, 0],
    ['the limit', LIMIT, 0],
    ['one byte more than the limit', LIMIT + 1, 0],
    ['10 MB', 10 * 1024 * 1024, 0],
    ['one byte in a chunk', 1, 1],
    ['small chunks', 3_000, 7],
    ['the limit in chunks', LIMIT, 4_096],
    ['one byte more than the limit in chunks', LIMIT + 1, 1_000],
    ['10 MB in chunks', 10 * 1024 * 1024, 100_000],
  ])('%s', async (_name, length, piece) => {
    const body = randomBytes(length);
    const answer = await request(url, {
      method: 'POST',
      headers: { 'x-times': String(times) },
      body: piece === 0 ? body : Readable.from(inPieces(body, piece)),
    });
    expect(await answer.body.json()).toEqual({
      peeked: Array(times).fill(length > LIMIT ? null : length),
      length,
      digest: createHash('sha256').update(body).digest('hex'),
    });
  });
});
