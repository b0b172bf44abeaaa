/** Gaps in the tests of redaction: sealed texts, log lines, printed secrets, and the limits of the search. */
import { createSecretKey } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import {
  isOpaqueFine,
  kindOfName,
  redactLosses,
  redactMessages,
  redactName,
  redactValue,
} from '../../src/proxy/evidence/redact.ts';
import { hiddenIn, MASK, maskCards, maskText, maskWritten, showsSecret } from '../../src/proxy/evidence/redact-text.ts';
import type { LogFields } from '../../src/proxy/log.ts';
import { createLog } from '../../src/proxy/telemetry/telemetry.ts';
import { createCover, noCover, Secret } from '../../src/proxy/vault.ts';
import { anyText } from '../any-text.ts';

const TOKEN = 'APP_USR-4004001-112026-00000000000000000000000000000a01-700100200';
const CARD = '4509953566233704';

describe('a secret [F133]', () => {
  const secret = new Secret(TOKEN);

  it('is shown by no print, sum, copy or comparison', () => {
    const shown = [
      String(secret),
      `${secret}`,
      JSON.stringify({ secret }),
      inspect(secret),
      inspect({ secret }),
      secret.toString(),
      JSON.stringify(structuredClone({ ...secret })),
      `a${secret as unknown as string}`,
    ];
    expect(shown.join()).not.toContain('APP_USR');
    expect(shown.slice(0, 4)).toEqual(['[secret]', '[secret]', '{"secret":"[secret]"}', '[secret]']);
    expect(shown.slice(5)).toEqual(['[secret]', '{}', 'a[secret]']);
    expect(secret.reveal()).toBe(TOKEN);
    expect(Object.isFrozen(secret)).toBe(true);
  });
});

describe('an encrypted text', () => {
  const cover = createCover(createSecretKey(Buffer.alloc(32, 7)));
  const other = createCover(createSecretKey(Buffer.alloc(32, 8)));

  it.each([
    CARD,
    '5031 7557 3453 0604',
    '5031-7557-3453-0604',
    `Mesa 4, tarjeta ${CARD}, gracias`,
    '4111111111111111',
    '378282246310005',
    '6304000000000000018',
    TOKEN,
    `Bearer ${TOKEN}`,
    'password=hunter22',
    '~covered1:',
    '~covered1:AAAA',
    'mesa '.repeat(205),
  ])('%s is unreadable, has the same ciphertext each time, and is decrypted again [F134]', (text) => {
    const stored = cover.text(text);
    expect(stored).toMatch(/^~covered1:[A-Za-z0-9+/]+=*$/);
    expect(cover.text(text)).toBe(stored);
    expect(cover.open(stored)).toBe(text);
    expect(stored).not.toBe(other.text(text));
    expect(() => other.open(stored)).toThrow(/PUENTE_SECRET_KEY/);
    expect(cover.text(`${text}a`)).not.toBe(cover.text(`${text}b`));
  });

  it('comes back whatever it is, and an order stays JSON with its status', () => {
    const digits = fc.stringMatching(/^(\d[ -]?){10,22}$/);
    const text = fc.oneof(anyText(), digits, fc.constant('~covered1:'));
    fc.assert(
      fc.property(text, text, (one, two) => {
        const said = JSON.stringify({ one, two, status: 'created' });
        expect(cover.open(cover.text(one))).toBe(one);
        expect(cover.open(cover.order(said))).toBe(said);
        expect(JSON.parse(cover.order(said))).toHaveProperty('status', 'created');
      }),
      { numRuns: 500 },
    );
  });

  it.each([0, 12, 20, 40])('is refused when a byte was changed: at %i [F133]', (at) => {
    const bytes = Buffer.from(cover.text(`card ${CARD}, of table 4`).slice('~covered1:'.length), 'base64');
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    expect(() => cover.open(`~covered1:${bytes.toString('base64')}`)).toThrow(/stored bytes were changed/);
  });

  it('is no other', () => {
    const plain = [
      'mesa 4',
      '',
      'x~covered1:',
      '{"covered":1}',
      'm'.repeat(1_024),
      'SUC001-0001-000042',
      '1767225600000',
    ];
    for (const text of [...plain, '5031755734530605', '0199d2a5-0000-7000-8000-000000000001']) {
      expect(cover.text(text)).toBe(text);
      expect(cover.open(text)).toBe(text);
    }
  });

  it.each<[string, unknown]>([
    [`{"status":"processed","note":"${CARD}"}`, 'processed'],
    [`{"note":"${TOKEN}"}`, null],
    [`["${TOKEN}"]`, null],
    [`"${TOKEN}"`, null],
    ['{"covered":"~covered1:mine","status":"created"}', 'created'],
  ])('of an order keeps its status readable: %s', (json, status) => {
    const covered = cover.order(json);
    expect(covered).not.toBe(json);
    expect(JSON.parse(covered)).toEqual({ covered: expect.stringMatching(/^~covered1:/), status });
    expect(cover.open(covered)).toBe(json);
  });

  it('of an order that shows nothing is the order', () => {
    const json = '{"status":"processed","covered":"no"}';
    expect([cover.order(json), cover.open(json)]).toEqual([json, json]);
  });

  it.each([
    ['another key', (text: string) => other.open(text)],
    ['changed bytes', (text: string) => cover.open(`${text.slice(0, -6)}AAAAAA`)],
    ['too few bytes', () => cover.open('~covered1:AAAA')],
  ])('is not opened with %s', (_how, open) => {
    expect(() => open(cover.text(TOKEN))).toThrow(
      expect.objectContaining({
        code: 'store_unusable',
        message: expect.stringMatching(/^A covered text can't be opened: .*PUENTE_SECRET_KEY/),
        cause: expect.anything(),
      }),
    );
  });

  it('without a key is the text', () => {
    expect([noCover.text(TOKEN), noCover.order(TOKEN), noCover.open('~covered1:')]).toEqual([
      TOKEN,
      TOKEN,
      '~covered1:',
    ]);
  });
});

describe('a text shows a secret', () => {
  it.each([
    [CARD, true],
    ['4509953566233705', false],
    ['450995356623', false],
    [TOKEN, true],
    ['token: abc', true],
    ['token: ab', false],
    ['"api_key" = "abcdef"', true],
    ['cvv=123', true],
    ['Bearer abcdefgh', true],
    ['Bearer abc', false],
    ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJl', true],
    ['{"note":"EYJhbGciOiJIUzI1NiJ9.eyJzdWIi.c2ln"}', true],
    ['keyjacket.eyj', false],
    ['mesa 4', false],
  ])('%s: %s', (text, expected) => {
    expect(showsSecret(text)).toBe(expected);
  });
});

describe("a person's sentence", () => {
  it.each([
    [`for ${TOKEN}, see https://tickets.example/INC-12?a=1`, `for ${MASK}, see https://tickets.example/INC-12?a=1`],
    [`the card ${CARD}`, 'the card 450995XXXXXX3704'],
    ['password: hunter2', `password: ${MASK}`],
    ['the token: expired, signature=wrong', 'the token: expired, signature=wrong'],
    ['at https://ana:pa55@shop.example/', `at https://${MASK}@shop.example/`],
    ['write to ana@shop.example', 'write to ana@shop.example'],
  ])('%s', (text, expected) => {
    expect(maskWritten(text)).toBe(expected);
    expect(maskWritten(expected)).toBe(expected);
  });
});

describe('cards', () => {
  const luhn = (digits: string): string => {
    const sum = [...`${digits}0`].reverse().reduce((total, digit, index) => {
      const twice = index % 2 === 1 ? Number(digit) * 2 : Number(digit);
      return total + (twice > 9 ? twice - 9 : twice);
    }, 0);
    return digits + String((10 - (sum % 10)) % 10);
  };

  it.each([
    [luhn('450995356623'), 13],
    [luhn('45099535662337041'), 18],
    [luhn('450995356623370412'), 19],
  ])('%s of %d digits is masked but for six and four', (card, length) => {
    expect(card).toHaveLength(length);
    expect(maskCards(card, true)).toBe(`${card.slice(0, 6)}${'X'.repeat(length - 10)}${card.slice(-4)}`);
  });

  it.each([
    ['twelve digits', luhn('45099535662'), false],
    ['zeros', '0000000000000000', false],
    ['epoch milliseconds', luhn('176761440000'), false],
    ['thirteen digits of another kind', luhn('276761440000'), true],
    ['fourteen that begin with one', luhn('1767614400001'), true],
    ['an id of ours', luhn('800000000000001'), false, true],
    ['an id like a card', luhn('600000000000001'), true, true],
    ['an id below', luhn('100000000000001'), false, true],
    ['twenty digits without a card', '10000000000000000000', false],
    ['a stripe with a card', `99999${CARD}99`, true],
  ])('%s', (_what, digits, expected, isId = false) => {
    expect(maskCards(digits, isId) !== digits).toBe(expected);
  });

  it('in groups keep their spelling, and what stands beside them', () => {
    expect(maskCards('4509 9535 6623 3704', false)).toBe('4509 95XX XXXX 3704');
    expect(maskCards('4509-9535-6623-3704', false)).toBe('4509-95XX-XXXX-3704');
    expect(maskCards('12 4509 9535 6623 3704', false)).toBe('12 4509 95XX XXXX 3704');
    expect(maskCards('4509 9535 6623 3704 12', false)).toBe('4509 95XX XXXX 3704 12');
    expect(maskCards('7 4509953566233704 7 4509953566233704', false)).toBe('7 450995XXXXXX3704 7 450995XXXXXX3704');
    expect(maskCards('1155550000 4509953566233704', false)).toBe('1155550000 450995XXXXXX3704');
    expect(maskCards('4509 9535 6623 3704 4509 9535 6623 3704', false)).toBe('4509 95XX XXXX 3704 4509 95XX XXXX 3704');
    expect(maskCards('4509-9535-6623-3704 7 8', false)).toBe('4509-95XX-XXXX-3704 7 8');
    expect(maskCards(`4509 9535 6623 3704 ${'1'.repeat(20)} 4509 9535 6623 3704`, false)).toBe(
      `4509 95XX XXXX 3704 ${'1'.repeat(20)} 4509 95XX XXXX 3704`,
    );
  });

  it('of a magnetic stripe go as a whole', () => {
    expect(maskCards(`id 99999${CARD}99 x`, false)).toBe(`id ${MASK} x`);
    expect(maskCards(`12345 99999${CARD}99`, false)).toBe(`12345 ${MASK}`);
  });
});

describe('a text', () => {
  it.each([
    [`Bearer ${'a'.repeat(8)}`, MASK],
    [`Basic ${'a'.repeat(8)}`, MASK],
    ['TG-abcdef', MASK],
    ['senha: 123', `senha: ${MASK}`],
    ['signature: abc', `signature: ${MASK}`],
    ['apikey: abc', `apikey: ${MASK}`],
    ['api_key: abc', `api_key: ${MASK}`],
    ['CURP AB12345', `CURP ${MASK}`],
    ['CNPJ 12345/6', `CNPJ ${MASK}`],
    ['CUIL 123456', `CUIL ${MASK}`],
    ['dsn TEST-123456-1234-abcdefgh end', `dsn ${MASK} end`],
    ['mail a@b.example now', `mail ${MASK} now`],
    ['call +54 11 5555-0000', `call ${MASK}`],
    ['CPF 123.456.789-09', `CPF ${MASK}`],
    ['cpf 12345678909', `cpf ${MASK}`],
    ['20-12345678-3 paid', `${MASK} paid`],
    ['password: hunter2 x', `password: ${MASK} x`],
    ['see https://u:p@shop.example/a?key=1#x now', 'see https://shop.example/ now'],
    ['see http://[ now', `see ${MASK} now`],
    ['see app:///x now', `see ${MASK} now`],
    ['mesa 4, 1500', 'mesa 4, 1500'],
    ['0199c0de-0000-7000-8000-000000000001', '0199c0de-0000-7000-8000-000000000001'],
    ['ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD', 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD'],
    ['', ''],
  ])('%s is %s', (text, expected) => {
    expect(maskText(text, true)).toBe(expected);
  });

  it.each([
    [`${'a'.repeat(28)}1234`, MASK],
    [`${'a'.repeat(27)}1234`, `${'a'.repeat(27)}1234`],
    [`${'a'.repeat(29)}123`, `${'a'.repeat(29)}123`],
    [`pnt0199c0de00007000800000000000000${'1'}`, `pnt0199c0de00007000800000000000000${'1'}`],
    ['mesa__1234_of_the_shop_on_the_corner', 'mesa__1234_of_the_shop_on_the_corner'],
    ['x ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD', 'x ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD'],
    ['id 0199c0de-0000-7000-8000-000000000001', 'id 0199c0de-0000-7000-8000-000000000001'],
  ])('%s where no key may stand is %s', (text, expected) => {
    expect(maskText(text, false)).toBe(expected);
    expect(maskText(text, true)).toBe(text);
  });

  const ENCODED: [string, string][] = [
    ['percent signs', encodeURIComponent(`a ${TOKEN}`).replaceAll('-', '%2D')],
    ['escapes', [...TOKEN].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')],
    ['short escapes', [...TOKEN].map((letter) => `\\x${letter.charCodeAt(0).toString(16)}`).join('')],
    ['zeros between', [...TOKEN].join('\0')],
    ['hexadecimal', Buffer.from(TOKEN).toString('hex')],
    ['shifted hexadecimal', `a${Buffer.from(TOKEN).toString('hex')}`],
    ['UTF-16', Buffer.from(TOKEN, 'utf16le').toString('hex')],
    ['base64', Buffer.from(TOKEN).toString('base64')],
    ['shifted base64', `xyz${Buffer.from(TOKEN).toString('base64')}`],
    ['base64 in base64', Buffer.from(Buffer.from(TOKEN).toString('base64')).toString('base64')],
  ];

  it.each(ENCODED)('that hides a token in %s is masked', (_how, text) => {
    expect(maskText(`id ${text}`, true)).toBe(MASK);
  });

  it('is looked into three times and no more', () => {
    const wrapped = (times: number): string => (times === 0 ? TOKEN : Buffer.from(wrapped(times - 1)).toString('hex'));
    const shows = (inner: string): boolean => inner.includes('APP_USR');
    expect([1, 2, 3, 4].map((times) => hiddenIn(wrapped(times), shows))).toEqual([true, true, true, false]);
    expect(hiddenIn(TOKEN, shows), 'as it stands it is not asked about').toBe(false);
  });

  it('of one size of letters is no base64, and short stretches are chance', () => {
    const seen: string[] = [];
    const note = (inner: string): boolean => {
      seen.push(inner);
      return false;
    };
    hiddenIn('abcdefghijklmnop', note);
    hiddenIn('ABCDEFGHIJKLMNOP', note);
    hiddenIn(Buffer.from([1, 65, 66, 67, 68, 69, 1, 2, 3]).toString('hex'), note);
    expect(seen).toEqual([]);
    hiddenIn(Buffer.from([1, 65, 66, 67, 68, 69, 70, 1, 2, 3]).toString('hex'), note);
    expect(seen).toContain('ABCDEF');
  });
});

describe('what a name says', () => {
  it.each([
    ['access_token', 'plain', 'secret'],
    ['PIN', 'plain', 'secret'],
    ['pincode', 'plain', 'plain'],
    ['anything', 'secret', 'secret'],
    ['anything', 'contact', 'contact'],
    ['card_number', 'plain', 'card'],
    ['email', 'plain', 'contact'],
    ['cpf', 'plain', 'contact'],
    ['identification_number', 'plain', 'contact'],
    ['payer', 'plain', 'person'],
    ['id', 'person', 'id'],
    ['entity_type', 'person', 'id'],
    ['nickname', 'person', 'person'],
    ['anything', 'url', 'url'],
    ['back_urls', 'plain', 'url'],
    ['init_point', 'plain', 'url'],
    ['order_id', 'plain', 'id'],
    ['orderId', 'plain', 'id'],
    ['ids', 'plain', 'id'],
    ['idea', 'plain', 'plain'],
    ['amount', 'plain', 'plain'],
  ] as const)('%s inside of %s is %s', (name, around, expected) => {
    expect(kindOfName(name, around)).toBe(expected);
  });

  it('of an id or a reference is that a long run is no key', () => {
    expect(['order_id', 'external_reference', 'device', 'note'].map(isOpaqueFine)).toEqual([true, true, true, false]);
  });
});

describe('a value', () => {
  it('keeps what is no text and no number', () => {
    for (const value of [null, undefined, true, false]) expect(redactValue(value)).toBe(value);
    expect(redactValue(() => 1)).toBe(MASK);
    expect(redactValue({ a: Symbol('x') })).toEqual({ a: MASK });
  });

  it('is looked into 26 levels deep', () => {
    const deep = (levels: number): unknown => (levels === 0 ? 'x' : [deep(levels - 1)]);
    expect(JSON.stringify(redactValue(deep(26)))).toContain('"x"');
    expect(JSON.stringify(redactValue(deep(27)))).toContain(MASK);
    const objects = (levels: number): unknown => (levels === 0 ? 'x' : { a: objects(levels - 1) });
    expect(JSON.stringify(redactValue(objects(27)))).toContain(MASK);
  });

  it('keeps numbers but those of cards and people', () => {
    expect(redactValue({ amount: 1500, cvv: 123, payer: { age: 5, id: 7 }, n: 12n })).toEqual({
      amount: 1500,
      cvv: MASK,
      payer: { age: MASK, id: 7 },
      n: 12n,
    });
    expect(redactValue(Number(CARD))).toBe('450995XXXXXX3704');
    const exact = new LosslessNumber('1.50');
    expect(redactValue({ price: exact })).toEqual({ price: exact });
    expect(redactValue({ secret_number: exact })).toEqual({ secret_number: MASK });
    expect(redactValue({ url: 5 })).toEqual({ url: 5 });
  });

  it('cuts a text of more than 16 KiB, once it is clean', () => {
    const page = 'so '.repeat(6_000);
    expect(redactValue(page)).toBe(`${page.slice(0, 16_384)}…`);
    expect(redactValue(page.slice(0, 16_384))).toBe(page.slice(0, 16_384));
  });

  it('looks into JSON that is a text', () => {
    expect(redactValue({ note: ` {"password":"x","a":[1]}` })).toEqual({ note: `{"password":"${MASK}","a":[1]}` });
    expect(redactValue({ note: '[1,' })).toEqual({ note: '[1,' });
    expect(redactValue({ note: '{no' })).toEqual({ note: '{no' });
  });

  it('keeps the origin of an address, with or without a scheme', () => {
    expect(redactValue({ url: 'https://u:p@shop.example:8443/x?k=1' })).toEqual({ url: 'https://shop.example:8443/' });
    expect(redactValue({ url: 'shop.example/x?k=1' })).toEqual({ url: 'shop.example/' });
    expect(redactValue({ url: 'http://[' })).toEqual({ url: MASK });
    expect(redactValue({ url: 'app:///x' })).toEqual({ url: MASK });
    expect(redactValue({ url: '' })).toEqual({ url: '' });
  });

  it('has names that are looked at as well', () => {
    expect(redactValue({ [TOKEN]: 1 })).toEqual({ [MASK]: 1 });
    expect(redactName(`x ${TOKEN}`)).toBe(`x ${MASK}`);
  });
});

describe('losses', () => {
  it('of unknown fields are told without what a till put into their names', () => {
    const known = { table: 't', path: `body.${TOKEN}`, why: 'known' };
    const unknown = { ...known, why: `no ${TOKEN}`, unknown: true as const };
    expect(redactLosses([known, unknown])).toEqual([known, { ...unknown, path: `body.${MASK}`, why: `no ${MASK}` }]);
  });
});

describe('messages', () => {
  const redacted = (change: Partial<Parameters<typeof redactMessages>[0]['request']>) =>
    redactMessages({
      request: { method: 'POST', target: '/x', headers: {}, body: null, ...change },
      answer: { status: 200, headers: { 'Content-Type': 'text/plain', 'Set-Cookie': 'a' }, body: TOKEN },
      upstream: [{ method: 'GET', path: `/v1/${TOKEN}`, body: { cvv: '1' }, status: 201, answer: { pin: 1 } }],
    });

  it('have an answer and calls like their request', () => {
    const { answer, upstream } = redacted({});
    expect(answer).toEqual({ status: 200, headers: { 'content-type': 'text/plain' }, body: MASK });
    expect(upstream).toEqual([
      { method: 'GET', path: `/v1/${MASK}`, body: { cvv: MASK }, status: 201, answer: { pin: MASK } },
    ]);
  });

  it.each([
    ['POST', 'POST'],
    ['PROPFINDXY', 'PROPFINDXY'],
    ['PROPFINDXYZ', MASK],
    ['', MASK],
    ['P0ST', MASK],
    ['GET /', MASK],
  ])('have a method: %s is %s', (method, expected) => {
    expect(redacted({ method }).request.method).toBe(expected);
  });

  it('keep the names of headers, and the values of those that the tables read', () => {
    const headers = {
      'X-Platform-Id': 'dev_1',
      'X-Shop': 'corner',
      Authorization: TOKEN,
      'x-idempotency-key': 'sale-1',
      'bad name': '1',
      [TOKEN.toLowerCase()]: '1',
      'user-agent': `till ${CARD}`,
    };
    expect(redacted({ headers }).request.headers).toEqual({
      'x-platform-id': 'dev_1',
      'x-shop': MASK,
      'x-idempotency-key': 'key-75891e53',
      'user-agent': 'till 450995XXXXXX3704',
    });
    const marked = redacted({ headers: { 'x-idempotency-key': 'key-0123abcd' } }).request.headers;
    expect(marked).toEqual({ 'x-idempotency-key': 'key-0123abcd' });
    const longer = redacted({ headers: { 'x-idempotency-key': 'xkey-0123abcd' } }).request.headers['x-idempotency-key'];
    expect(longer).toMatch(/^key-[0-9a-f]{8}$/);
  });

  it.each([
    ['/a/b', '/a/b'],
    ['', ''],
    [`/a/${TOKEN}/b`, `/a/${MASK}/b`],
    ['/a?b=1&c=d+e', '/a?b=1&c=d+e'],
    ['/a?b=1?2', '/a?b=1?2'],
    ['/a?b=c=d', '/a?b=c=d'],
    ['/a?flag&x=', '/a?flag&x='],
    ['/a?&&b=1', '/a?b=1'],
    [`/a?access_token=${TOKEN}`, '/a'],
    [`/a?${TOKEN}`, `/a?${encodeURIComponent(MASK)}`],
    [`/a?note=${TOKEN}`, `/a?note=${encodeURIComponent(MASK)}`],
    ['/a?email=x%40y.example', `/a?email=${encodeURIComponent(MASK)}`],
    ['/a?note=%zz', '/a?note=%zz'],
    ['/a?b%20c=1', '/a?b%20c=1'],
  ])('have a target: %s is %s', (target, expected) => {
    expect(redacted({ target }).request.target).toBe(expected);
  });
});

describe('a log line', () => {
  function lines(write: (log: ReturnType<typeof createLog>) => void): Record<string, unknown>[] {
    const written: string[] = [];
    write(createLog('debug', { write: (line) => void written.push(line) }));
    return written.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
  const fieldsOf = (fields: LogFields) => {
    const [{ level: _level, time: _time, msg: _msg, ...rest } = {}] = lines((log) => log.info('x', fields));
    return rest;
  };

  it('has its level and its message', () => {
    const written = lines((log) => {
      log.debug(`one ${TOKEN}`);
      log.info('two');
      log.warn('three', {});
      log.error('four', { count: 1 });
    });
    expect(written.map(({ level, msg, count }) => [level, msg, count])).toEqual([
      [20, `one ${MASK}`, undefined],
      [30, 'two', undefined],
      [40, 'three', undefined],
      [50, 'four', 1],
    ]);
    expect(Object.keys(written[1] ?? {}).toSorted()).toEqual(['level', 'msg', 'time']);
  });

  it('leaves the id of a sale as it is', () => {
    const legacy_id = '019b8e07-4600-7000-8000-000000000001';
    expect(fieldsOf({ legacy_id })).toEqual({ legacy_id });
  });

  it('has every field of the list, numbers and texts alone', () => {
    const all = {
      merchant: '700100200',
      operation: 'point.create_intent',
      request_id: 'r',
      legacy_id: 'l',
      order_id: 'o',
      unit: 'u',
      lane: 'orders',
      status: 1,
      code: 'c',
      cause: 'because',
      attempts: 2,
      duration_ms: 3,
      action: 'a',
      table: 't',
      path: 'p',
      count: 4,
    };
    expect(fieldsOf(all)).toEqual(all);
    expect(fieldsOf({ cause: { token: TOKEN } as unknown as string, unit: null as unknown as string })).toEqual({});
  });

  it('cuts after it has masked, and reads no further than it could ever show', () => {
    expect(fieldsOf({ cause: `${'so '.repeat(97)}${TOKEN}` }).cause).toBe(`${'so '.repeat(97)}${MASK}`);
    const long = `${'so '.repeat(2_000)}${TOKEN}`;
    expect(String(fieldsOf({ cause: long }).cause)).toHaveLength(300);
  });

  it('masks thirteen to nineteen digits, and neither fewer nor more', () => {
    const said = (digits: number) => fieldsOf({ cause: `n ${'1'.repeat(digits)}` }).cause;
    expect([said(12), said(13), said(19), said(20)]).toEqual([
      `n ${'1'.repeat(12)}`,
      'n [digits]',
      'n [digits]',
      `n ${'1'.repeat(20)}`,
    ]);
  });

  it.each(['\u007f', '\u009f', '\u2028', '\u2029', '\u202a', '\u202e', '\u2066', '\u2069'])(
    'has no %j',
    (character) => {
      expect(fieldsOf({ cause: `a${character}b` }).cause).toBe('a?b');
    },
  );

  it('says the same the second time, and when too many were said before', () => {
    for (let index = 0; index < 2_050; index++) fieldsOf({ unit: `unit ${index}` });
    expect(fieldsOf({ unit: 'unit 1', cause: TOKEN })).toEqual({ unit: 'unit 1', cause: MASK });
    expect(fieldsOf({ unit: 'unit 9999' })).toEqual({ unit: 'unit 9999' });
  });

  it('is not written below its level, and goes nowhere when nothing is wanted', () => {
    const written: string[] = [];
    createLog('error', { write: (line) => void written.push(line) }).warn('x');
    expect(written).toEqual([]);
    expect(() => createLog('silent').error('x')).not.toThrow();
  });
});

describe('every name of the lists', () => {
  const NAMES: [kind: string, names: string][] = [
    ['secret', 'auth cvc cvv cvv2 jwt pin pwd sign secret passwd senha authorization api_key access_key private_key'],
    ['secret', 'public_key signature cookie session_id credential security_code hmac bearer'],
    ['card', 'card_number pan track1 track2 track_data'],
    ['contact', 'ci cnpj cpf cuil cuit curp dni rfc rut tax_id mail phone telefono telefone celular whatsapp'],
    ['contact', 'doc document identification identificacion doc_number document_numero'],
    ['person', 'buyer buyer_name cardholder cardholder_name customer customer_name first_name full_name holder'],
    ['person', 'holder_name last_name payer payer_name receiver_address shopper surname'],
    ['url', 'url urls uri notification_url backurls callback href init_point link redirect webhook'],
    ['id', 'id ids order_id shop-id order_ids orderId orderIds'],
    ['plain', 'documents my_doc urlx links relink callbacks paid idx order_idx orderIdx pins cards'],
  ];

  it.each(NAMES)('is %s: %s', (kind, names) => {
    expect(names.split(' ').map((name) => `${name} ${kindOfName(name, 'plain')}`)).toEqual(
      names.split(' ').map((name) => `${name} ${kind}`),
    );
  });

  it('tells facts of a person from names', () => {
    const about = (name: string) => kindOfName(name, 'person');
    expect(['id', 'type', 'entity_type', 'operator_id', 'card_number', 'email'].map(about)).toEqual([
      'id',
      'id',
      'id',
      'id',
      'card',
      'contact',
    ]);
    const fine = 'collection device preference sku_number external_code terminal my_reference_1'.split(' ');
    expect(fine.filter((name) => !isOpaqueFine(name))).toEqual([]);
    expect(['devices', 'mydevice', 'terminals'].filter(isOpaqueFine)).toEqual([]);
  });
});

describe('every kind of secret in a text', () => {
  it.each([
    'APP_USR-abcdef',
    'TG-abcdef',
    'TEST-123456-1234-abcdefgh',
    'Bearer  abcdefgh==',
    'basic   abcdefgh=',
    'eyJabcdefgh.abcd.',
    'eyJabcd-_gh.ab-_.ab-_',
    'no_eyJ-eyJabcdefgh-eyJ.abcd.ab',
    'sk_abcdefghijkl',
    'pk-abcdefghijkl',
    'rk_abcdefghijkl',
    'whsec_abcdefghi-_l',
    'ghp_abcdefghijkl',
    'xoxa-abcdefghijkl',
    'xoxb-abcdefghijkl',
    'xoxp-abcdefghijkl',
    '-----BEGIN RSA PRIVATE KEY-----abc',
    '-----BEGIN PRIVATE KEY-----abc',
    'a.b+c@d-1.example',
    '123.456.789-09',
    '12.345.678/0001-99',
    '20-12345678-3',
    '27-12345678-3',
    '30-12345678-3',
    '33-12345678-3',
    '1.234.567-k',
    '12.345.678-9',
    '+5491155550000',
    '+54 (11) 5555-0000',
  ])('%s is masked whole', (text) => {
    expect(maskText(`x ${text}`, true)).toBe(`x ${MASK}`);
  });

  it.each([
    'APP_USR-abcde',
    'TEST-12345-1234-abcdefgh',
    'TEST-123456-123-abcdefgh',
    'TEST-123456-1234-abcdefg',
    'Bearer abcdefg',
    'eyJabcdefg.abcd.ab',
    'eyJabcdefgh.abc.ab',
    'eyJabcdefgh.abcd',
    'eyJ.abcdefgh.abcd',
    'eyjar.abcdefgh.eyJab',
    'sk_abcdefghijk',
    'xoxc-abcdefghijkl',
    '-----BEGIN rsa KEY-----abc',
    'a@b',
    '28-12345678-3',
    '1123.456.789-09',
    '+5491155',
    'PAY01K7Q2V5B8N4T6W9XJ3MEH0RC',
  ])('%s is none', (text) => {
    expect(maskText(`x ${text}`, true)).toBe(`x ${text}`);
  });

  const names = 'secret token password passwd senha authorization signature apikey api_key cvv pwd';
  it.each(names.split(' '))('%s is a name of one, however it is written', (name) => {
    for (const text of [`${name}=abc`, `"${name}" : "abc"`, `${name.toUpperCase()}:   'abc`]) {
      expect(maskText(text, true), text).toContain(MASK);
      expect(maskText(text, true), text).not.toContain('abc');
    }
    expect(maskText(`${name}=ab`, true)).toBe(`${name}=ab`);
  });

  it.each(['DNI', 'CPF', 'CNPJ', 'CUIT', 'CUIL', 'RUT', 'RFC', 'CURP'])('%s is a name of a document', (name) => {
    expect(maskText(`${name}: AB12345`, true)).toBe(`${name}: ${MASK}`);
    expect(maskText(`${name} 123456-7`, true)).toBe(`${name} ${MASK}`);
    expect(maskText(`my${name} 12345`, true)).toBe(`my${name} 12345`);
  });

  it.each([
    '0199c0de-0000-7000-8000-000000000001',
    'pnt0199c0de000070008000000000000001',
    'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD',
    'ORDTST01K7Q2V5B8N4T6W9XJ3MEH0RCD',
    'PAY01K7Q2V5B8N4T6W9XJ3MEH0RCD',
    'REF01K7Q2V5B8N4T6W9XJ3MEH0RCD',
  ])('%s is an id, and nothing beside it is', (id) => {
    expect(maskText(id, false)).toBe(id);
    expect(maskText(`${id} ${TOKEN}`, false)).toBe(`${id} ${MASK}`);
    expect(maskText(`${TOKEN} ${id}`, false)).toBe(`${MASK} ${id}`);
  });
});
