/** Deceptive bodies and queries: refused before any upstream call or row, never guessed at. */
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, OPS_TOKEN, POINT, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { codePath, openQrShop, orderPath, storeOrder } from '../proxy/http/qr-till.ts';
import { rawRequest, sendRaw } from '../proxy/http/raw.ts';
import { idOf, legacyErrorOf, openShop } from '../proxy/http/till.ts';

const told: string[] = [];
const note = (message: string, fields?: object): void => void told.push(message + JSON.stringify(fields ?? {}));
const shop = openForAll(() => openShop({}, { log: { debug: note, info: note, warn: note, error: note } }));
const qr = openForAll(() => openQrShop());
beforeAll(() => shop.create(shop.freshDevice())); // makes the token known, so upstream sees only the odd request

/** Requests that change something; background polls of the open order do not count. */
async function posts(): Promise<number> {
  return (await shop.requests('/')).filter(({ method }) => method !== 'GET').length;
}

const BEARER = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
const BOMB = Buffer.alloc(8 * 1024 * 1024, ' ');

/** Sends this body as a create and expects a refusal without any effect. */
async function refused(headers: string[], body: string | Buffer): Promise<number> {
  const device = shop.freshDevice();
  const before = await posts();
  const line = `POST ${POINT}/devices/${device}/payment-intents`;
  const answer = await sendRaw(shop.app.public_url, rawRequest(line, [BEARER, ...headers], body));
  const parsed = JSON.parse(answer.text.split('\r\n\r\n')[1] ?? '');
  legacyErrorOf({ status: answer.status, headers: {}, body: parsed, text: answer.text });
  expect(shop.rows(device)).toEqual([]);
  expect(await posts()).toBe(before);
  return answer.status;
}

describe('a compressed body [F66]', () => {
  it('is 413 or 415 on the ops door, and nothing of it is unpacked beyond the limit', async () => {
    for (const [encoding, bytes] of Object.entries({
      gzip: gzipSync(BOMB),
      br: brotliCompressSync(BOMB),
      zstd: zstdCompressSync(BOMB),
    })) {
      const head = [
        `PUT /api/merchants/${ARGENTINA} HTTP/1.1`,
        'Host: localhost',
        `Authorization: Bearer ${OPS_TOKEN}`,
        'Content-Type: application/json',
        `Content-Encoding: ${encoding}`,
        `Content-Length: ${bytes.length}`,
      ];
      const request = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
      expect([413, 415]).toContain((await sendRaw(shop.app.ops_url, request)).status);
    }
  });

  it('one that says it is not packed is taken', async () => {
    const line = `POST ${POINT}/devices/${shop.freshDevice()}/payment-intents`;
    const bytes = rawRequest(line, [BEARER, 'Content-Encoding: identity'], '{"amount":1500}');
    expect((await sendRaw(shop.app.public_url, bytes)).status).toBe(201);
  });
});

describe('keys and texts in a body', () => {
  it.each([
    ['__proto__ with a number [F71]', '{"amount":1500,"__proto__":1}'],
    ['__proto__ with a text, spelled by its numbers [F71]', '{"amount":1500,"\\u005f_pro\\u0074o__" : "x"}'],
    ['__proto__ three levels down [F71]', '{"amount":1500,"additional_info":{"a":[{"__proto__":null}]}}'],
    ['the same key in two spellings [F68]', '{"amount":1500,"\\u0061mount":1600}'],
    ['the same key twice within [F68]', '{"amount":1500,"additional_info":{"ticket_number":"1","ticket_number":"2"}}'],
    ['a surrogate in UTF-8 [F72]', Buffer.from('7b226465736372697074696f6e223a22eda080227d', 'hex')],
    ['a NUL byte [F72]', '{"amount":1500,"description":"a\0b"}'],
    ['an amount that is NaN [F70]', '{"amount":NaN}'],
    ['an amount in Arabic digits [F70]', '{"amount":١٥٠٠}'],
    ['an amount of many places [F70]', '{"amount":1e-7}'],
    ['an amount as text with a space [F70]', '{"amount":" 10"}'],
    ['an amount as a list [F70]', '{"amount":[1500]}'],
  ])('%s is refused', async (_name, body) => {
    expect(await refused(['Content-Type: application/json'], body)).toBe(400);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as Record<string, unknown>).toString).toBe(Object.prototype.toString); // of any object
  });

  it.each([
    ['a whole pair [F72]', '\\ud83d\\ude00'],
    ['an emoji of four bytes, and marks of direction [F72]', '💳\u202e\u200f'],
    ['a NUL by its number [F72]', 'a\\u0000b'],
    ['names of methods [F71]', 'toString'],
  ])('%s in a description makes one sale or none, and pollutes nothing', async (_name, text) => {
    const device = shop.freshDevice();
    const body = `{"amount":1500,"description":"${text}","toString":1,"hasOwnProperty":{"valueOf":null}}`;
    const line = `POST ${POINT}/devices/${device}/payment-intents`;
    const answer = await sendRaw(shop.app.public_url, rawRequest(line, [BEARER], Buffer.from(body)));
    expect(answer.status).toBeLessThan(500);
    expect(await shop.orders(device)).toHaveLength(answer.status === 201 ? 1 : 0);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it('an overlong UTF-8 slash is read as two Windows-1252 letters, never as a slash [F72]', async () => {
    const body = Buffer.from('7b22616d6f756e74223a313530302c226465736372697074696f6e223a22c0af227d', 'hex');
    const line = `POST ${POINT}/devices/${shop.freshDevice()}/payment-intents`;
    const answer = await sendRaw(shop.app.public_url, rawRequest(line, [BEARER], body));
    const text = Buffer.from(answer.text.split('\r\n\r\n')[1] ?? '', 'latin1').toString('utf8');
    expect([answer.status, JSON.parse(text)]).toMatchObject([201, { description: 'À¯' }]);
  });

  it.each(['1.005', '100.999', '"10,00"', '" 10"', '"٣"', '1e-7', '"NaN"', '-0.01', '1e400'])(
    'a total of %s is refused on a QR sale, and not rounded [F69 F70]',
    async (total) => {
      const { external_id } = qr.freshTill();
      const body = JSON.stringify(storeOrder()).replace(/"total_amount":[^,}]+/, `"total_amount":${total}`);
      for (const [method, path] of [
        ['PUT', orderPath(external_id)],
        ['POST', codePath(external_id)],
      ] as const) {
        expect((await qr.till(path, { method, body })).status).toBe(400);
      }
      expect(await qr.ordersAt(external_id)).toEqual([]);
    },
  );
});

describe('tokens and queries', () => {
  it.each([
    ['a request without a token [F84]', '', '{"amount":1500}'],
    ['an empty token [F84]', '?access_token=', '{"amount":1500}'],
    ['a token in the body [F84]', '', `{"amount":1500,"access_token":"${tokenOf(ARGENTINA)}"}`],
    ['a token with a line end [F84]', '?access_token=a%0d%0aX-A:%20b', '{"amount":1500}'],
    ['a token of nine hundred characters [F84]', `?access_token=${'a'.repeat(900)}`, '{"amount":1500}'],
  ])('%s is refused, and appears nowhere', async (_name, query, body) => {
    const device = shop.freshDevice();
    const before = await posts();
    const line = `POST ${POINT}/devices/${device}/payment-intents${query}`;
    const answer = await sendRaw(shop.app.public_url, rawRequest(line, ['Content-Type: application/json'], body));
    expect(answer.status).toBe(401);
    expect(await posts()).toBe(before);
    expect(JSON.stringify(told)).not.toContain(tokenOf(ARGENTINA));
  });

  it.each(['a[x]=1&a[x]=2', 'a=1&a=2', 'limit=1&limit=', '%6cimit=1&limit=2'])(
    'a parameter that comes twice, %s, is refused [F87]',
    async (query) => {
      expect((await shop.till(`${POINT}/devices?${query}`)).status).toBe(400);
    },
  );

  it('a parameter named a[x], once, is accepted [F87]', async () => {
    expect((await shop.till(`${POINT}/devices?a[x]=1&__proto__=1&constructor[prototype]=1`)).status).toBe(200);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it('three thousand parameters are answered [F101]', async () => {
    const query = Array.from({ length: 1_500 }, (_, nth) => `${nth}=`).join('&');
    expect((await shop.till(`${POINT}/devices?${query}`)).status).toBe(200);
  });

  it.each(['0', '-1', '1e9', 'abc', '29', '10801', '', ' 60', '60.5', '9'.repeat(400)])(
    'a time to live of "%s" is kept inside the limits, or refused [F85]',
    async (ttl) => {
      const device = shop.freshDevice();
      const answer = await shop.create(device, {}, { headers: { 'x-ttl-store-preference': ttl } });
      expect([201, 400]).toContain(answer.status);
      const { body } = await shop.control('/state');
      const sent = (body as { orders: { expiration_time?: string; config: { point: { terminal_id: string } } }[] })
        .orders;
      const order = sent.find(({ config }) => config.point.terminal_id === device); // the sandbox's shape
      if (answer.status === 201) expect(idOf(answer)).toMatch(/^[0-9a-f-]{36}$/);
      expect(order === undefined).toBe(answer.status === 400);
      const limit = order?.expiration_time ?? 'PT15M';
      expect(secondsOf(limit)).toBeGreaterThanOrEqual(30);
      expect(secondsOf(limit)).toBeLessThanOrEqual(10_800);
    },
  );
});

/** Seconds of an ISO 8601 duration of hours, minutes and seconds. */
function secondsOf(text: string): number {
  const [, hours = '0', minutes = '0', seconds = '0'] = /^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?$/.exec(text) ?? [];
  return Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
}
