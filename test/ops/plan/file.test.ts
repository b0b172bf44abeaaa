/** Reading a file of merchants: places of errors, ids with all their digits, and no secret in the file. */
import { describe, expect, it } from 'vitest';
import { PuenteError } from '../../../src/error.ts';
import { loadWords } from '../../../src/locales/words.ts';
import { html, saysAll } from '../../../src/ops/html.ts';
import { readMerchants } from '../../../src/ops/plan/file.ts';
import { referencesIn } from '../../../src/ops/plan/reference.ts';

const read = (text: string) => readMerchants('shops.yaml', text).wanted;
const words = loadWords();

function refusalOf(text: string): PuenteError {
  try {
    read(text);
  } catch (error) {
    if (error instanceof PuenteError) return error;
    throw error;
  }
  throw new Error('it was read');
}

const shop = (more: string): string => `merchants:\n  - id: 700100200\n${more.replaceAll(/^/gm, '    ')}\n`;

describe('what is wrong is said with its place and what would fit', () => {
  it.each<[string, string, string[]]>([
    [
      'an unknown field',
      shop('stge: shadow'),
      ['shops.yaml:3:5: stge is no field here; near it: stage; allowed is id', ', stage,'],
    ],
    [
      'an unknown field of a kind',
      shop('kinds:\n  qr: {stage: orders, shar: 5}'),
      ['shops.yaml:4:27: shar', 'near it: share; allowed is stage, share'],
    ],
    [
      'an unknown kind',
      shop('kinds:\n  qrs: {stage: orders}'),
      ['shops.yaml:4:7: qrs', 'allowed is devices, intents, qr'],
    ],
    [
      'an unknown section',
      'shops: []\n',
      ['shops.yaml:1:1: this is no field here; allowed is merchants', 'shops.yaml:1:1: merchants is missing'],
    ],
    [
      'an unknown stage',
      shop('name: Café\nstage: canry'),
      ['shops.yaml:4:12: merchants.0.stage: Invalid option: expected one of "legacy"|"shadow"|"canary"|"orders"'],
    ],
    ['an unknown policy', shop('unknown_field: drop'), ['shops.yaml:3:20:', '"allow"|"note"|"refuse"']],
    [
      'a share as text',
      shop('stage: canary\nshare: 5%'),
      ['shops.yaml:4:12: merchants.0.share: a share is a percentage from 0 to 100'],
    ],
    ['a share without a canary', shop('stage: orders\nshare: 5'), ['shops.yaml:4:12:', 'belong to stage canary alone']],
    [
      'a share of a kind without a canary',
      shop('kinds: {qr: {stage: shadow, share: 5}}'),
      ['shops.yaml:3:40:', 'belong to stage canary alone'],
    ],
    [
      'units without a canary',
      shop('stage: shadow\nunits_in: [point:A]'),
      ['shops.yaml:4:15:', 'belong to stage canary alone'],
    ],
    [
      'a wrong unit',
      shop('stage: canary\nunits_in:\n  - point:A\n  - till 7'),
      ['shops.yaml:6:9:', 'a unit is written point:'],
    ],
    ['an id of letters', 'merchants: [{id: shop-7}]\n', ['shops.yaml:1:18: merchants.0.id: the vendor']],
    ['no id', 'merchants:\n  - name: Café\n', ['shops.yaml:2:5: merchants.0.id is missing']],
    [
      'an id twice',
      `${shop('stage: shadow')}  - id: "700100200"\n`,
      ['shops.yaml:4:9: merchants.1.id: The merchant 700100200 is named twice.'],
    ],
    ['a key twice', shop('name: one\nname: two'), ['shops.yaml:4:5: this is not valid YAML (DUPLICATE_KEY)']],
    ['an alias of nothing', shop('credential: *token'), ['shops.yaml:3:17: this is not valid YAML (UNKNOWN_ALIAS)']],
    ['broken YAML', 'merchants: [\n', ['shops.yaml:2:1: this is not valid YAML']],
    [
      'a secret in the file',
      shop('credential: APP_USR-123-secret'),
      ['shops.yaml:3:17:', 'a secret is not written into the file', 'env:NAME'],
    ],
    [
      'a secret without a space before it',
      'merchants: [{id: 700100200, credential:APP_USR-123-secret}]',
      ['shops.yaml:1:29: a space is missing after credential:'],
    ],
    [
      'a secret in the place of a field',
      shop('"APP_USR-123-secret": env:A\nnotice_secrt:APP_USR-1: 1'),
      [
        'shops.yaml:3:5: this is no field here; allowed is',
        'shops.yaml:4:5: notice_secrt is no field here; near it: notice_secret',
      ],
    ],
    ['no date', shop('deprecation: {sunset_at: soon}'), ['shops.yaml:3:30:', 'an instant such as']],
    [
      'a sunset before the deprecation',
      shop('deprecation:\n  deprecated_at: 2026-06-30T00:00:00Z\n  sunset_at: 2026-01-01T00:00:00Z'),
      ['shops.yaml:4:7:', 'RFC 9745'],
    ],
    ['a card as a name', shop('name: 4509 9535 6623 3704'), ['shops.yaml:3:11:', 'it shows a password']],
    ['a token as a tag', shop('tags: [APP_USR-4004001-112026]'), ['shops.yaml:3:11:', 'it shows a password']],
    [
      'a link with a password',
      shop('deprecation: {link: "https://ana:pa55@shop.example/"}'),
      ['shops.yaml:3:18:', 'it shows a password'],
    ],
    ['an empty file', '', ['shops.yaml:1:1: ']],
    ['no merchants', 'merchants: []', ['shops.yaml:1:12: ']],
  ])('%s', (_what, text, sentences) => {
    const refusal = refusalOf(text);
    expect(refusal.code).toBe('bad_request');
    for (const sentence of sentences) expect(refusal.message).toContain(sentence);
    expect(refusal.message).not.toContain('APP_USR');
    for (const own of [words.es, words.pt]) {
      const said = String(html`${saysAll(own, refusal.message, refusal.said)}`);
      expect([said.includes('lang="en"'), said.length > 10]).toEqual([false, true]);
    }
  });

  it('all at once, and not more than a person repairs at once', () => {
    const wrong = Array.from({ length: 25 }, (_, nth) => `  - id: ${nth + 1}\n    stag: shadow\n`).join('');
    const lines = refusalOf(`merchants:\n${wrong}`).message.split('\n');
    expect(lines.length).toBe(21);
    expect(lines[19]).toContain('shops.yaml:41:5');
    expect(lines[20]).toBe('5 more errors.');
  });

  it('aliases that would expand without bound', () => {
    const bomb = ['a: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let nth = 1; nth < 9; nth++)
      bomb.push(
        `a${nth}: &a${nth} [${Array(10)
          .fill(`*a${nth - 1}`)
          .join(', ')}]`,
      );
    expect(refusalOf(`${bomb.join('\n')}\n`).message).toContain('would expand without bound');
  });
});

describe('what is right', () => {
  it('keeps each digit of an id, quoted or not, and texts that look like numbers', () => {
    const ids = ['700100200', '"700100200"', '0700100200', '98765432109876543210'];
    for (const id of ids)
      expect(read(`merchants: [{id: ${id}, name: 1e3, tags: [2026, 007, true]}]`)).toMatchObject([
        { id: id.replaceAll('"', ''), name: '1e3', tags: ['2026', '007', 'true'] },
      ]);
  });

  it('may be JSON, and says what is new', () => {
    const text = JSON.stringify({ merchants: [{ id: '1', new: true, kinds: { qr: { stage: 'follow' } } }] });
    expect(read(text)).toEqual([{ id: '1', new: true, kinds: { qr: { stage: 'follow' } } }]);
  });

  it('takes null for a default, and leaves out what it leaves out', () => {
    expect(read(shop('name: ~\ndialect: null'))).toEqual([{ id: '700100200', new: false, name: null, dialect: null }]);
  });
});

it('only fields of secrets refer to a variable or a file', () => {
  const text = shop(
    'name: file:/etc/passwd\ntags: [env:HOME]\ncredential: env:CAFE\nnotice_url: file:url.txt\nnotice_secret: env:CAFE',
  );
  expect(referencesIn(text)).toEqual(['env:CAFE', 'file:url.txt']);
  expect(referencesIn('merchants: [')).toEqual([]);
  const anchored = 'merchants:\n  - {id: 1, credential: &t env:CAFE}\n  - {id: 2, notice_secret: *t}\n';
  expect(referencesIn(anchored)).toEqual(['env:CAFE']);
  const elsewhere = 'merchants:\n  - {id: 1, name: &t env:CAFE}\n  - {id: 2, credential: *t}\n';
  expect(referencesIn(elsewhere)).toEqual(['env:CAFE']);
});
