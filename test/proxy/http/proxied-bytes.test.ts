/** Proxied calls with capture and shadow on: till and legacy see unchanged bytes, and Puente can parse the answer. */
import { createHash, randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, DEVICE, eventually, POINT, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { type Kept, keptExchanges, seed } from '../../ops/seed.ts';
import { rawRequest } from './raw.ts';
import { type Outside, startOutside, startUnruly } from './unruly.ts';

const CREATE = `${POINT}/devices/${DEVICE}/payment-intents`;
const INTENT = '019539a0-0000-7000-8000-00000000beef';
const INTENT_TEXT = JSON.stringify({ id: INTENT, amount: 1500, note: 'ñ'.repeat(500) });
const BIG = randomBytes(10 * 1024 * 1024);
/** A gzip stream that unpacks to far more than Puente's limit. */
const BOMB = gzipSync(Buffer.alloc(64 * 1024 * 1024));

/** Legacy's answers, by the name in the call's query. */
const answers: Record<string, { status: number; headers: Record<string, string>; body: Buffer; chunked?: boolean }> = {
  plain: { status: 201, headers: { 'content-type': 'application/json' }, body: Buffer.from(INTENT_TEXT) },
  chunked: { status: 201, headers: {}, body: Buffer.from(INTENT_TEXT), chunked: true },
  gzip: { status: 201, headers: { 'content-encoding': 'gzip' }, body: gzipSync(INTENT_TEXT), chunked: true },
  deflate: { status: 201, headers: { 'content-encoding': 'deflate' }, body: deflateSync(INTENT_TEXT) },
  'deflate-raw': { status: 201, headers: { 'content-encoding': 'deflate' }, body: deflateRawSync(INTENT_TEXT) },
  br: { status: 201, headers: { 'content-encoding': 'br' }, body: brotliCompressSync(INTENT_TEXT) },
  zstd: { status: 201, headers: { 'content-encoding': 'zstd' }, body: zstdCompressSync(INTENT_TEXT) },
  unknown: { status: 201, headers: { 'content-encoding': 'compress' }, body: randomBytes(3000) },
  lying: { status: 201, headers: { 'content-encoding': 'gzip' }, body: Buffer.from(INTENT_TEXT) },
  bomb: { status: 201, headers: { 'content-encoding': 'gzip' }, body: BOMB },
  binary: { status: 201, headers: { 'content-type': 'application/json' }, body: randomBytes(3000) },
  empty: { status: 204, headers: {}, body: Buffer.alloc(0) },
  big: { status: 201, headers: {}, body: BIG },
  'big-chunked': { status: 201, headers: {}, body: BIG, chunked: true },
  refusal: {
    status: 409,
    headers: { link: '<https://legacy.example>; rel="help"' },
    body: Buffer.from('{"error":"2205"}'),
  },
};
const READABLE = ['plain', 'chunked', 'gzip', 'deflate', 'deflate-raw', 'br', 'zstd'];

let puente: Outside;
let data_dir: string;
const legacy = openForAll(() =>
  startUnruly((seen, response) => {
    const name = new URL(seen.path, 'http://legacy').searchParams.get('answer') ?? 'plain';
    if (name === 'reset') return void response.socket?.destroy();
    if (name === 'silence') return;
    const answer = answers[name === 'half' ? 'plain' : name];
    if (answer === undefined) throw new Error(`no answer ${name}`);
    const length = answer.chunked || answer.status === 204 ? {} : { 'content-length': String(answer.body.length) };
    response.writeHead(answer.status, { ...answer.headers, ...length });
    if (name === 'half') return void response.write(answer.body.subarray(0, 100), () => response.destroy());
    response.end(seen.method === 'HEAD' ? undefined : answer.body);
  }),
);
beforeAll(async () => {
  const deprecation = { deprecated_at: 1_700_000_000_000, sunset_at: null, link: 'https://till.example/old' };
  const settings = await seed({ [ARGENTINA]: { stage: 'shadow', capture: true, deprecation } });
  data_dir = settings.PUENTE_DATA_DIR ?? '';
  puente = await startOutside(legacy.url, { ...settings, PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
  // Deprecation headers go only to tokens known as the merchant's: those that legacy has accepted once.
  const first = '/point/integration-api/devices?answer=plain';
  await exchange(puente.app.public_url, 'GET', first, null);
  await keptOne(first);
});
afterAll(async () => {
  await puente.close();
  rmSync(data_dir, { recursive: true, force: true });
});

/** The same call through either door: the request at legacy and the answer. */
async function exchange(base: string, method: string, target: string, body: Buffer | null, piece = 0) {
  const pieces = function* (whole: Buffer): Generator<Buffer> {
    for (let at = 0; at < whole.length; at += piece) yield whole.subarray(at, at + piece);
  };
  const answer = await request(base + target, {
    method: method as 'GET',
    headers: { authorization: `Bearer ${tokenOf(ARGENTINA)}`, 'accept-encoding': 'gzip, br', 'x-till': '1' },
    body: body === null ? null : piece === 0 ? body : Readable.from(pieces(body)),
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const { date: _date, connection: _connection, 'keep-alive': _keep, deprecation, ...headers } = answer.headers;
  // The shadow makes calls of its own: the owner of the token, and both sides of a list.
  const seen = legacy.seen.findLast(({ headers: sent }) => sent['x-till'] === '1');
  const { host: _host, connection: _hop, ...got } = seen?.headers ?? {};
  return {
    deprecation,
    told: { status: answer.statusCode, headers, length: bytes.length, digest: digestOf(bytes) },
    seen: { method: seen?.method, path: seen?.path, headers: got, digest: digestOf(seen?.body ?? Buffer.alloc(0)) },
  };
}

function digestOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

interface SaleRow {
  state: string;
  legacy_id: string | null;
  client_reference: string | null;
}

function sales(): SaleRow[] {
  const database = new Database(join(data_dir, 'puente.db'), { readonly: true });
  try {
    return database
      .prepare<[], SaleRow>('SELECT state, legacy_id, client_reference FROM legacy_sales ORDER BY sequence')
      .all();
  } finally {
    database.close();
  }
}

async function keptOne(target: string): Promise<Kept> {
  const isIt = ({ messages }: Kept): boolean => messages?.request.target === target;
  const kept = await eventually(
    async () => keptExchanges(data_dir).find(isIt),
    (found) => found !== undefined,
  );
  return kept as Kept; // waited for
}

describe('a proxied create', () => {
  it.each(Object.keys(answers))('answered %s: the same bytes with and without Puente', async (name) => {
    const body = Buffer.from(`{"amount":1500, "additional_info":{"external_reference":"${name}"}}`);
    const target = `${CREATE}?answer=${name}`;
    const direct = await exchange(legacy.url, 'POST', target, body);
    const proxied = await exchange(puente.app.public_url, 'POST', target, body);
    expect(proxied.seen).toEqual(direct.seen);
    const { link, ...own } = proxied.told.headers;
    expect({ ...proxied.told, headers: own }).toEqual({
      ...direct.told,
      headers: Object.fromEntries(Object.entries(direct.told.headers).filter(([key]) => key !== 'link')),
    });
    expect(link, 'an answer that has its own keeps it').toBe(
      direct.told.headers.link ?? '<https://till.example/old>; rel="deprecation"',
    );
    expect(proxied.deprecation).toBe('@1700000000');
    const kept = await keptOne(target);
    expect(kept).toMatchObject({
      lane: 'legacy',
      stage: 'shadow',
      status: direct.told.status,
      unit: `point:${DEVICE}`,
    });
    expect(kept.error).toBe(name === 'refusal' ? '2205' : null);
    expect(kept.legacy_id).toBe(READABLE.includes(name) ? INTENT : null);
    expect(kept.shadow?.verdict).toBe('accepted');
    const sale = sales().find((row) => row.client_reference === name);
    expect(sale?.state).toBe(READABLE.includes(name) ? 'OPEN' : name === 'refusal' ? 'REFUSED' : 'IN_DOUBT');
  });

  it.each([
    ['random bytes', 3_000, 0],
    ['random bytes in chunks', 3_000, 11],
    ['nothing', 0, 0],
    ['more than is looked at', 65_537, 0],
    ['more than is looked at, in chunks', 65_537, 5_000],
    ['10 MB', BIG.length, 0],
    ['10 MB in chunks', BIG.length, 64_000],
  ])('whose body is %s arrives as it was sent', async (_name, length, piece) => {
    const body = BIG.subarray(0, length);
    const direct = await exchange(legacy.url, 'POST', CREATE, body, piece);
    const proxied = await exchange(puente.app.public_url, 'POST', CREATE, body, piece);
    expect(proxied.seen).toEqual(direct.seen);
    expect(proxied.told.digest).toEqual(direct.told.digest);
  });

  it.each([
    ['HEAD', `${POINT}/devices?answer=big`],
    ['GET', `${POINT}/devices?answer=gzip`],
    ['DELETE', `${CREATE}/${INTENT}?answer=empty`],
    ['OPTIONS', '/anything?answer=empty'],
  ])('and %s %s are the same too', async (method, target) => {
    const direct = await exchange(legacy.url, method, target, null);
    const proxied = await exchange(puente.app.public_url, method, target, null);
    expect({ ...proxied.seen, headers: { ...proxied.seen.headers, 'content-length': '0' } }).toEqual({
      ...direct.seen,
      headers: { ...direct.seen.headers, 'content-length': '0' },
    });
    expect([proxied.told.status, proxied.told.digest, proxied.told.headers['content-length']]).toEqual([
      direct.told.status,
      direct.told.digest,
      direct.told.headers['content-length'],
    ]);
  });
});

describe('what a large body leaves behind', () => {
  let collections = 0;
  const collect = globalThis.gc;
  beforeAll(() => {
    globalThis.gc = ((options: NodeJS.GCOptions) => {
      if (options.type === 'minor') collections++;
      return collect?.(options);
    }) as NodeJS.GCFunction;
  });
  afterAll(() => {
    globalThis.gc = collect;
  });

  /** The digest of the body at its destination. */
  const proxyCall = async (target: string, body: Buffer | null, piece = 0): Promise<string> => {
    const { seen, told } = await exchange(puente.app.public_url, body === null ? 'GET' : 'POST', target, body, piece);
    return body === null ? told.digest : seen.digest;
  };

  it.each([
    ['it is sent', () => proxyCall('/v1/documents?answer=empty', BIG)],
    ['it is sent in chunks', () => proxyCall('/v1/documents?answer=empty', BIG, 64_000)],
    ['it is answered', () => proxyCall('/v1/documents?answer=big', null)],
    ['it is answered in chunks', () => proxyCall('/v1/documents?answer=big-chunked', null)],
  ])('is collected after each 8 MB, when %s', async (_when, once) => {
    const first = collections;
    for (let count = 0; count < 4; count++) expect(await once()).toBe(digestOf(BIG));
    // One collection per 10 MB, and the remainder of the call before; the first chunks may not be counted yet.
    expect(collections - first).toBeGreaterThanOrEqual(4);
    expect(collections - first).toBeLessThanOrEqual(5);
  });

  it('is nothing where bodies are small', async () => {
    const first = collections;
    for (let count = 0; count < 60; count++) await proxyCall('/v1/documents?answer=empty', BIG.subarray(0, 200_000));
    expect(collections).toBe(first);
  });
});

describe('a proxied create that nobody can say the end of', () => {
  it.each(['reset', 'half'])('after a %s it may exist, and holds its unit', async (name) => {
    const body = JSON.stringify({ amount: 1500, additional_info: { external_reference: name } });
    const target = `${CREATE}?answer=${name}`;
    const answer = request(puente.app.public_url + target, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenOf(ARGENTINA)}` },
      body,
    }).then(async ({ statusCode, body: stream }) => [statusCode, await stream.text()]);
    if (name === 'half') await expect(answer).rejects.toThrow();
    else expect((await answer)[0]).toBe(504);
    expect(await keptOne(target)).toMatchObject({ outcome: 'fault', legacy_id: null });
    expect(sales().find((row) => row.client_reference === name)?.state).toBe('IN_DOUBT');
  });

  it('after the till left, too', async () => {
    const target = `${CREATE}?answer=silence`;
    const body = '{"amount":1500,"additional_info":{"external_reference":"left"}}';
    const socket = connect(Number(new URL(puente.app.public_url).port), '127.0.0.1');
    socket.write(rawRequest(`POST ${target}`, [`Authorization: Bearer ${tokenOf(ARGENTINA)}`], body));
    await eventually(
      async () => legacy.seen.at(-1)?.path,
      (path) => path === target,
    );
    socket.destroy();
    expect(await keptOne(target)).toMatchObject({ outcome: 'fault', status: 499 });
    expect(sales().find((row) => row.client_reference === 'left')?.state).toBe('IN_DOUBT');
  });
});
