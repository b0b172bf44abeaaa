/** Odd HTTP: accepted if legacy accepted it; ambiguous requests are refused (`docs/architecture.md` Decision 12). */
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, POINT, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { rawRequest, sendRaw } from './raw.ts';
import { idOf, legacyErrorOf, openShop } from './till.ts';

const shop = openForAll(() => openShop());
beforeAll(async () => {
  await shop.create(shop.freshDevice()); // so that the token is known, and upstream sees only the odd request
});

const AUTHORIZATION = `Authorization: Bearer ${tokenOf(ARGENTINA)}`;
const JSON_TYPE = 'Content-Type: application/json';

function creation(device: string): string {
  return `${POINT}/devices/${device}/payment-intents`;
}

async function raw(line: string, headers: string[], body: string | Buffer = '') {
  return sendRaw(shop.app.public_url, rawRequest(line, headers, body));
}

/** The body of an answer that was read as latin1. */
function utf8Body({ text }: { text: string }): string {
  return Buffer.from(text.split('\r\n\r\n')[1] ?? '', 'latin1').toString('utf8');
}

/** Number of upstream calls caused by tills; Puente also reads open orders in the background. */
async function asked(): Promise<number> {
  const isLook = ({ method, path }: { method: string; path: string }) =>
    method === 'GET' && path.startsWith('/v1/orders/');
  return (await shop.requests('/')).filter((line) => !isLook(line)).length;
}

async function expectUntouched(device: string, before: number): Promise<void> {
  expect(shop.rows(device)).toEqual([]);
  expect(await asked()).toBe(before);
}

describe('bodies that are refused', () => {
  it.each<[string, string | Buffer, number]>([
    ['nothing [F75]', '', 400],
    ['a list [F75]', '[]', 400],
    ['a text [F75]', '"amount"', 400],
    ['a number [F75]', '1500', 400],
    ['null', 'null', 400],
    ['an open brace', '{"amount":1500', 400],
    ['the same key with two amounts [F68]', '{"amount":1500,"amount":1600}', 400],
    ['a byte order mark and bad UTF-8 [F72]', Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0xff, 0x7d]), 400],
    ['UTF-16 [F72]', Buffer.from('\ufeff{"amount":1500}', 'utf16le'), 400],
    ['forty levels [F67]', `{"amount":1500,"additional_info":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`, 400],
    ['ten thousand levels [F67]', '['.repeat(10_000), 400],
    ['__proto__ [F71]', '{"amount":1500,"__proto__":{"polluted":true}}', 400],
    [
      'constructor.prototype [F71]',
      '{"amount":1500,"additional_info":{"constructor":{"prototype":{"polluted":true}}}}',
      400,
    ],
    ['an amount with decimals [F70]', '{"amount":15.50}', 400],
    ['an amount in another unit [F70]', '{"amount":12.34}', 400],
    ['an amount that is a hair from a whole one', '{"amount":1999.9999999999998}', 400],
    ['an exponent that leaves a fraction [F70]', '{"amount":1.2345E+3}', 400],
    ['an exponent beyond all amounts [F69]', '{"amount":15e9999}', 400],
    ['an amount in text', '{"amount":"1500"}', 400],
    ['an amount below nothing', '{"amount":-1500}', 400],
    ['an amount of minus nothing [F69]', '{"amount":-0}', 400],
    ['an amount of minus nothing with a fraction [F69]', '{"amount":-0.0}', 400],
    ['sixteen digits and a fraction [F69]', '{"amount":1500000000000000.0}', 400],
    ['an amount beyond 2^53 [F69]', '{"amount":9007199254740993}', 400],
    ['an amount of 1e400 [F69]', '{"amount":1e400}', 400],
    ['no amount', '{}', 400],
    ['a reference that is a number', '{"amount":1500,"additional_info":{"external_reference":42}}', 400],
    ['an amount that is null', '{"amount":null}', 400],
  ])('%s', async (_name, body, status) => {
    const device = shop.freshDevice();
    const before = await asked();
    const answer = await raw(
      `POST ${creation(device)}`,
      [AUTHORIZATION, JSON_TYPE, ...(body.length === 0 ? ['content-length: 0'] : [])],
      body,
    );
    expect([answer.status, answer.text.split('\r\n\r\n')[1]]).toEqual([status, expect.stringContaining('"message"')]);
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    await expectUntouched(device, before);
  });

  it.each([
    ['application/json; charset=utf-7', 415],
    ['application/json; charset="UTF-16LE"', 415],
    ['multipart/form-data; boundary=x', 415],
    ['text/xml', 415],
    ['application/soap+xml; charset=utf-8', 415],
  ])('of the type %s [F73 F74]', async (type, status) => {
    const device = shop.freshDevice();
    const before = await asked();
    const answer = await raw(`POST ${creation(device)}`, [AUTHORIZATION, `Content-Type: ${type}`], '{"amount":1500}');
    expect(answer.status).toBe(status);
    await expectUntouched(device, before);
  });

  it('a form that is one', async () => {
    const device = shop.freshDevice();
    const before = await asked();
    const form = 'Content-Type: application/x-www-form-urlencoded';
    const answer = await raw(`POST ${creation(device)}`, [AUTHORIZATION, form], 'amount=1500&description=x');
    expect(answer.status).toBe(400);
    await expectUntouched(device, before);
  });

  it.each<[string, string, Buffer, number]>([
    ['that unpacks to a gigabyte', 'gzip', gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), 413],
    ['that unpacks to one byte too much', 'gzip', gzipSync(`{"amount":1500}${' '.repeat(65_536)}`), 413],
    ['that is broken off', 'gzip', gzipSync('{"amount":1500}').subarray(0, 20), 400],
    ['that is none', 'gzip', Buffer.from('{"amount":1500}'), 400],
    ['packed twice', 'gzip, gzip', gzipSync(gzipSync('{"amount":1500}')), 415],
    ...['br', 'deflate', 'zstd', 'lzma'].map((way): [string, string, Buffer, number] => [
      `packed by ${way}`,
      way,
      Buffer.from('{"amount":1500}'),
      415,
    ]),
  ])('gzip %s [F66]', async (_name, encoding, body, status) => {
    const device = shop.freshDevice();
    const before = await asked();
    const held = process.memoryUsage().arrayBuffers;
    const headers = [AUTHORIZATION, JSON_TYPE, `Content-Encoding: ${encoding}`];
    const answer = await raw(`POST ${creation(device)}`, headers, body);
    expect(answer.status).toBe(status);
    expect(process.memoryUsage().arrayBuffers - held, 'unpacked bytes').toBeLessThan(16 * 1024 * 1024);
    await expectUntouched(device, before);
  });

  it('a declared length beyond 64 KiB: answered at once, without waiting for the body, and the connection ends [F65]', async () => {
    const device = shop.freshDevice();
    const before = await asked();
    const answer = await raw(
      `POST ${creation(device)}`,
      [AUTHORIZATION, JSON_TYPE, 'Content-Length: 1000000000'],
      '{"amount":',
    );
    expect(answer.status).toBe(413);
    expect(answer.closed).toBe(true);
    await expectUntouched(device, before);
  });

  it('more than 64 KiB in chunks [F65]', async () => {
    const device = shop.freshDevice();
    const before = await asked();
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const answer = await raw(
      `POST ${creation(device)}`,
      [AUTHORIZATION, JSON_TYPE, 'Transfer-Encoding: chunked'],
      chunk.repeat(6),
    );
    expect(answer.status).toBe(413);
    expect(answer.closed).toBe(true);
    await expectUntouched(device, before);
  });

  it('exactly 64 KiB is read', async () => {
    const device = shop.freshDevice();
    const rest = '{"amount":1500,"description":""}'.length;
    const body = `{"amount":1500,"description":"${'x'.repeat(65_536 - rest)}"}`;
    expect((await raw(`POST ${creation(device)}`, [AUTHORIZATION, JSON_TYPE], body)).status).toBe(201);
  });
});

describe('heads that are refused', () => {
  it.each([
    ['no token', [JSON_TYPE], 401],
    ['another scheme', ['Authorization: Basic dXNlcjpwYXNz'], 401],
    ['a token with a space', [`${AUTHORIZATION} more`], 401],
  ])('%s', async (_name, headers, status) => {
    const device = shop.freshDevice();
    const before = await asked();
    const answer = await raw(`POST ${creation(device)}`, headers, '{"amount":1500}');
    expect(answer.status).toBe(status);
    await expectUntouched(device, before);
  });

  it.each([
    ['an encoded slash', 'a%2Fb', 400],
    ['encoded dots', '%2e%2e', 400],
    ['a null byte', 'a%00b', 400],
    ['a line end', 'a%0d%0ab', 400],
    ['a doubly encoded slash', 'a%252fb', 400],
    ['a bad escape', 'a%zzb', 400],
    ['a semicolon', 'a;b', 400],
    ['five hundred characters', 'a'.repeat(500), 400],
    ['five thousand characters', 'a'.repeat(5_000), 400],
    ['dots and an encoded slash', '..%2f..', 400],
    ['an emoji', '%F0%9F%92%B3', 400],
  ])('a device id with %s [F76 F77]', async (_name, device, status) => {
    const before = await asked();
    const answer = await raw(`POST ${creation(device)}`, [AUTHORIZATION, JSON_TYPE], '{"amount":1500}');
    expect(answer.status).toBe(status);
    expect(answer.text).toContain('"status":400');
    expect(await asked()).toBe(before);
  });
});

describe('what legacy tolerated', () => {
  it.each([
    ['', 201],
    ['http://till.example', 201],
    ['HTTPS://till.example:8443', 201],
    ['http://[::1]:8080', 201],
    ['http://other.example', 201],
  ])('a target in absolute form: %s… [F78]', async (origin, status) => {
    const device = shop.freshDevice();
    const made = await raw(`POST ${origin}${creation(device)}`, [AUTHORIZATION, JSON_TYPE], '{"amount":1500}');
    expect(made.status).toBe(status);
    expect(shop.rows(device)).toHaveLength(1);
    const read = await raw(`GET ${origin}${POINT}/payment-intents/${shop.rows(device)[0]?.legacy_id}?x=1`, [
      AUTHORIZATION,
    ]);
    expect(read.status).toBe(200);
  });

  it('an absolute form of the root is the root', async () => {
    const answers = [await raw('GET http://till.example', []), await raw('GET /', [])];
    expect(answers[0]?.status).toBe(answers[1]?.status);
  });

  it('a token in X-Access-Token alone; Authorization counts before it', async () => {
    const device = shop.freshDevice();
    const own = `X-Access-Token: ${tokenOf(ARGENTINA)}`;
    expect((await raw(`POST ${creation(device)}`, [own, JSON_TYPE], '{"amount":1500}')).status).toBe(201);
    expect(shop.rows(device)).toHaveLength(1);
    const read = `GET ${POINT}/payment-intents/${shop.rows(device)[0]?.legacy_id}`;
    expect((await raw(read, [own])).status).toBe(200);
    expect((await raw(read, [AUTHORIZATION, 'X-Access-Token: APP_USR-nobodys'])).status).toBe(200);
    expect((await raw(read, ['X-Access-Token: '])).status).toBe(401);
    expect((await raw(read, [own, own])).status, 'two of them are none').toBe(401);
  });

  it.each(['__proto__', ...Object.getOwnPropertyNames(Object.prototype)])(
    'an idempotency key that is called %s is a key like others',
    async (key) => {
      const device = shop.freshDevice();
      const named = [AUTHORIZATION, JSON_TYPE, `X-Idempotency-Key: ${key}`];
      const first = await raw(`POST ${creation(device)}`, named, '{"amount":1500}');
      const again = await raw(`POST ${creation(device)}`, named, '{"amount":1500}');
      expect([first.status, again.status]).toEqual([201, 201]);
      expect(utf8Body(again)).toBe(utf8Body(first));
      expect(shop.rows(device)).toHaveLength(1);
    },
  );

  it.each([
    ['no content type [F74]', []],
    ['an empty content type', ['Content-Type:']],
    ['a charset in capitals', ['Content-Type: Application/JSON; Charset="UTF-8"']],
  ])('%s', async (_name, headers) => {
    const answer = await raw(`POST ${creation(shop.freshDevice())}`, [AUTHORIZATION, ...headers], '{"amount":1500}');
    expect(answer.status).toBe(201);
  });

  it.each([
    ['as curl -d sends it', 'application/x-www-form-urlencoded'],
    ['as .NET sends a text', 'text/plain; charset=utf-8'],
    ['as Spring sends a text', 'text/plain;charset=ISO-8859-1'],
    ['in the code page of a machine', 'application/json; charset=windows-1252'],
    ['as Java sends bytes', 'application/octet-stream'],
    ['of a type that nobody knows', 'x'],
  ])('JSON %s', async (_name, type) => {
    const answer = await raw(
      `POST ${creation(shop.freshDevice())}`,
      [AUTHORIZATION, `Content-Type: ${type}`],
      '{"amount":1500}',
    );
    expect(answer.status).toBe(201);
  });

  it.each(['gzip', 'x-gzip', ' GZIP '])('a compressed body: %s [F66]', async (encoding) => {
    const device = shop.freshDevice();
    const headers = [AUTHORIZATION, JSON_TYPE, `Content-Encoding: ${encoding}`];
    const answer = await raw(`POST ${creation(device)}`, headers, gzipSync('{"amount":1500}'));
    expect(answer.status).toBe(201);
  });

  it.each(['1500', '1500.0', '1500.00000000', '15e2', '1.5E+3', '1.5000000000000000E+003', '150000e-2', '0.015e5'])(
    'a whole number spelled %s [F69]',
    async (amount) => {
      const device = shop.freshDevice();
      const body = `{"amount":${amount},"payment":{"installments":${amount}}}`;
      const answer = await raw(`POST ${creation(device)}`, [AUTHORIZATION, JSON_TYPE], body);
      expect([answer.status, JSON.parse(answer.text.split('\r\n\r\n')[1] ?? '')]).toMatchObject([
        201,
        { amount: 1500 },
      ]);
      expect(await shop.orders(device)).toMatchObject([{ transactions: { payments: [{ amount: '15.00' }] } }]);
      const retry = await raw(`POST ${creation(device)}`, [AUTHORIZATION, JSON_TYPE], body.replaceAll(amount, '1500'));
      expect(retry.text.split('\r\n\r\n')[1], 'the same sale').toBe(answer.text.split('\r\n\r\n')[1]);
    },
  );

  it.each([
    '{"amount":1500,"description":null,"additional_info":null,"payment":null}',
    '{"amount":1500,"additional_info":{"external_reference":null,"ticket_number":null}}',
  ])('null for an absent field: %s', async (body) => {
    const device = shop.freshDevice();
    const answer = await raw(`POST ${creation(device)}`, [AUTHORIZATION, JSON_TYPE], body);
    expect(answer.status).toBe(201);
    expect(await shop.orders(device)).toMatchObject([{ transactions: { payments: [{ amount: '15.00' }] } }]);
  });

  it.each([
    ['accents', 'Café com pão', Buffer.from('Café com pão', 'latin1')],
    [
      'signs that Latin-1 has not',
      '10 € – “ñ”',
      Buffer.from([...'10 \x80 \x96 \x93\xf1\x94'].map((one) => one.charCodeAt(0))),
    ],
    ['two bytes that are no UTF-8 together [F72]', 'Ã(', Buffer.from([0xc3, 0x28])],
  ])('a body in Windows-1252: %s', async (_name, text, bytes) => {
    const device = shop.freshDevice();
    const body = Buffer.concat([
      Buffer.from('{"amount":1500,"additional_info":{"external_reference":"'),
      bytes,
      Buffer.from('"}}'),
    ]);
    const answer = await raw(`POST ${creation(device)}`, [AUTHORIZATION, JSON_TYPE], body);
    expect([answer.status, JSON.parse(utf8Body(answer))]).toMatchObject([
      201,
      { additional_info: { external_reference: text } },
    ]);
  });

  it('the token in the query: lifted, and it never reaches the orders upstream [F84]', async () => {
    const device = shop.freshDevice();
    const answer = await raw(
      `POST ${creation(device)}?access_token=${tokenOf(ARGENTINA)}`,
      [JSON_TYPE],
      '{"amount":1500}',
    );
    expect(answer.status).toBe(201);
    const log = JSON.stringify((await shop.control('/state')).body);
    expect(log).not.toContain('access_token=');
    const header = await raw(`POST ${creation(device)}`, [AUTHORIZATION, JSON_TYPE], '{"amount":1500}');
    expect(
      JSON.parse(header.text.split('\r\n\r\n')[1] ?? ''),
      'a retry with the token elsewhere is the same request',
    ).toEqual(JSON.parse(answer.text.split('\r\n\r\n')[1] ?? ''));
  });

  it('a JSON body on GET and DELETE, as Odoo sends it', async () => {
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    const read = await raw(`GET ${POINT}/payment-intents/${id}`, [AUTHORIZATION, JSON_TYPE], '{}');
    expect(read.status).toBe(200);
    const canceled = await raw(`DELETE ${creation(device)}/${id}`, [AUTHORIZATION, JSON_TYPE], '{}');
    expect([canceled.status, canceled.text.split('\r\n\r\n')[1]]).toEqual([200, JSON.stringify({ id })]);
  });

  it('a bare question mark, and an id in capitals', async () => {
    const id = idOf(await shop.create(shop.freshDevice()));
    expect((await raw(`GET ${POINT}/payment-intents/${id}?`, [AUTHORIZATION])).status).toBe(200);
    const loud = await shop.read(id.toUpperCase());
    expect([loud.status, idOf(loud)]).toEqual([200, id]);
  });

  it('a client that goes away while it is served: the order is made all the same [F89]', async () => {
    const device = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'delay', delay_ms: 200 });
    const leaving = new AbortController();
    const gone = fetch(shop.app.public_url + creation(device), {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenOf(ARGENTINA)}`, 'content-type': 'application/json' },
      body: '{"amount":1500}',
      signal: leaving.signal,
    });
    while (shop.rows(device).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    leaving.abort();
    await expect(gone).rejects.toThrow();
    while (shop.rows(device)[0]?.state !== 'LIVE') await new Promise((resolve) => setTimeout(resolve, 20));
    const again = await shop.create(device);
    expect(idOf(again)).toBe(shop.rows(device)[0]?.legacy_id);
    legacyErrorOf(await shop.create(device, { amount: 1600 }));
    expect(await shop.orders(device)).toHaveLength(1);
  });
});

it("the sandbox's control door is not reachable through the public one", async () => {
  const { status, body } = await shop.till('/_sandbox/state');
  expect([status, body]).toEqual([404, { error: '111', message: 'Action not supported', status: 404 }]);
});
