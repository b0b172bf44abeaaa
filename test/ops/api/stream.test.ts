/** Streamed answers of the ops API: made at the reader's pace, stopped when the reader leaves, never silently cut. */
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import express from 'express';
import { afterEach, describe, expect, it } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import { createSignIn, membersOf } from '../../../src/ops/api/access.ts';
import { opsRouter } from '../../../src/ops/api/door.ts';
import { tellError } from '../../../src/ops/api/errors.ts';
import { type OpsCall, type OpsParts, opsRoute } from '../../../src/ops/api/route.ts';
import type { Streamed } from '../../../src/ops/api/stream.ts';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { Secret } from '../../../src/proxy/vault.ts';
import { call, eventually, OPS_TOKEN } from '../../kit.ts';
import { listen, shut } from '../../listen.ts';

const PART = 'x'.repeat(64 * 1024);
/** Far more than all buffers between server and client hold. */
const MANY = 4_000;

let server: Server | null = null;
const lines: string[] = [];
afterEach(async () => {
  if (server !== null) await shut(server);
  server = null;
  lines.length = 0;
});

/** A door with one row, which answers with these parts. */
async function open(parts: (call: OpsCall) => AsyncIterable<string>, file_name: string | null = null): Promise<string> {
  const row = opsRoute('viewer', 'GET /api/parts/:id', {
    summary: 'Parts.',
    answer: { streams: ['text/csv'] },
    command: 'parts',
    run: async (_parts, asked): Promise<Streamed> => {
      return { streamed: true, content_type: 'text/csv; charset=utf-8', file_name, parts: parts(asked) };
    },
  });
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const members = membersOf({ token: new Secret(OPS_TOKEN), tokens: {} });
  const app = express();
  const handed = { ports: { log } } as OpsParts; // a streamed answer uses only the log
  app.use(opsRouter([row], handed, createSignIn(members, { now: Date.now }, log)));
  app.use(tellError(log));
  server = createServer(app);
  return `http://127.0.0.1:${await listen(server)}/api/parts/1`;
}

/** Counts the parts made, and records whether the generator ended. */
function endless() {
  const seen = { made: 0, ended: false, aborted: false };
  return {
    seen,
    async *parts({ signal }: OpsCall): AsyncGenerator<string> {
      signal.addEventListener('abort', () => {
        seen.aborted = true;
      });
      try {
        for (; seen.made < MANY; seen.made += 1) yield PART;
      } finally {
        seen.ended = true;
      }
    },
  };
}

describe('a streamed answer', () => {
  it('comes whole, with its type and its file name', async () => {
    const url = await open(async function* () {
      yield 'a;b\n';
      yield '';
      yield '1;2\n';
    }, '../re port"\r\n.csv');
    const answer = await call(url, { token: OPS_TOKEN });
    expect([answer.status, answer.text]).toEqual([200, 'a;b\n1;2\n']);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename=re-port-.csv',
    });
  });

  it('may be empty', async () => {
    const answer = await call(await open(async function* () {}), { token: OPS_TOKEN });
    expect([answer.status, answer.text, answer.headers['content-disposition']]).toEqual([200, '', undefined]);
  });

  it('is produced no faster than it is read, and no further once the client disconnects [F130]', async () => {
    const { seen, parts } = endless();
    const { port } = new URL(await open(parts));
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET /api/parts/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${OPS_TOKEN}\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.pause();
    let before = -1;
    // The client does not read, so the count of parts stops growing.
    await eventually(
      async () => seen.made,
      (made) => {
        const stands = made === before;
        before = made;
        return stands;
      },
    );
    expect(seen.made).toBeLessThan(MANY);
    expect(seen.ended).toBe(false);
    socket.destroy();
    await eventually(
      async () => seen,
      ({ ended, aborted }) => ended && aborted,
    );
    expect(seen.made).toBeLessThan(MANY);
    expect(lines.filter((line) => line.includes('was cut off'))).toEqual([]);
  });

  it('ends what makes it, also where the client left while the first part was made', async () => {
    const seen = { begun: false, ended: false };
    const url = await open(async function* ({ signal }) {
      try {
        seen.begun = true;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        yield 'first';
        yield 'second';
      } finally {
        seen.ended = true;
      }
    });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(`GET /api/parts/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${OPS_TOKEN}\r\n\r\n`);
    await eventually(
      async () => seen,
      ({ begun }) => begun,
    );
    socket.destroy();
    await eventually(
      async () => seen,
      ({ ended }) => ended,
    );
  });

  it('that fails before its first part is an error like any other', async () => {
    const url = await open(async function* () {
      yield* [];
      throw new PuenteError('not_found', 'There is no such merchant.');
    });
    const answer = await call(url, { token: OPS_TOKEN });
    expect([answer.status, answer.body]).toEqual([404, { error: 'not_found', message: 'There is no such merchant.' }]);
  });

  it('that fails by an internal fault has the same id in the log and in the answer, and no internals [F136]', async () => {
    const url = await open(async function* () {
      yield* [];
      throw new Error('the disk is gone');
    });
    const { status, body, headers } = await call(url, { token: OPS_TOKEN });
    const said = [{ code: 'refusal.internal', facts: {} }];
    expect([status, body]).toEqual([500, { error: 'internal', message: 'Internal error; the log says more', said }]);
    const told = lines.map((line) => JSON.parse(line) as { request_id?: string; cause?: string }); // lines of our log
    expect(told).toMatchObject([{ request_id: headers['x-request-id'], cause: 'Error: the disk is gone' }]);
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('that fails later is cut off, so that nobody takes it for the whole', async () => {
    const url = await open(async function* () {
      yield PART;
      throw new Error('the disk is gone');
    });
    await expect(call(url, { token: OPS_TOKEN })).rejects.toThrow();
    await eventually(
      async () => lines,
      (told) => told.some((line) => line.includes('was cut off') && line.includes('the disk is gone')),
    );
  });
});
