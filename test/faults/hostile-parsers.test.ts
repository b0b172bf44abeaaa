/** Two hundred thousand inputs for the parsers of untrusted text: a value or a refusal, never a guess or a trace. */
import { readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { decodeUtf8, parseJson, stringifyJson } from '../../src/contract/json.ts';
import { PuenteError } from '../../src/error.ts';
import { redactValue } from '../../src/proxy/evidence/redact.ts';
import { maskCards, maskText, showsSecret } from '../../src/proxy/evidence/redact-text.ts';
import { headFault, parseBody, readToken, scrubbedTarget, singleQuery } from '../../src/proxy/http/request.ts';

/** Multiplies the inputs: `FUZZ_FACTOR=50` makes ten million (`docs/protocol.md` §5.1, both columns). */
const FACTOR = Number(process.env.FUZZ_FACTOR ?? 1);
/** Inputs of each kind; the cheapest kinds have the most. */
const INPUTS = { texts: 40_000, bytes: 40_000, bodies: 30_000, shapes: 20_000, targets: 30_000, heads: 40_000 };
const runsOf = (kind: keyof typeof INPUTS): { numRuns: number } => ({ numRuns: Math.ceil(INPUTS[kind] * FACTOR) });
const PROTOTYPE = Reflect.ownKeys(Object.prototype).length;

/** Nearly valid JSON, with words and characters that have broken parsers. */
const pieces = fc.constantFrom(
  ...'{}[]:,"\\ \n\t'.split(''),
  ...['"amount"', '"__proto__"', '"constructor"', '"\\u005f_proto__"', '"a"', '"a":1,"a":2', '\\ud83d', '\\u0000'],
  ...['1', '-0', '1.0', '1E400', '0.1', '9007199254740993', '1e-7', '01', '+1', '.5', '1.', 'NaN', '0x1', '١'],
  ...['true', 'null', 'undefined', '//', '/*', "'", '\ufeff', '\u2028', '💳', '\u0000', '[[[[[[[[[', '{"a":{"a":'],
);
const nearly = fc.array(pieces, { maxLength: 24 }).map((parts) => parts.join(''));
const exact = fc.json({ maxDepth: 4 });
const changed = fc
  .tuple(exact, fc.nat(), pieces)
  .map(([text, at, piece]) => text.slice(0, at % (text.length + 1)) + piece + text.slice((at % (text.length + 1)) + 1));
const texts = fc.oneof(nearly, exact, changed);

/** The value, or null for one of the expected errors. */
function attempt<Value>(work: () => Value, kinds: (new (...rest: never[]) => Error)[]): { value: Value } | null {
  try {
    return { value: work() };
  } catch (error) {
    if (kinds.some((kind) => error instanceof kind)) return null;
    throw error;
  }
}

function keysAndNumbers(value: unknown, seen: (key: string | null, value: unknown) => void): void {
  seen(null, value);
  if (value === null || typeof value !== 'object' || value instanceof LosslessNumber) return;
  for (const [key, inner] of Object.entries(value)) {
    seen(Array.isArray(value) ? null : key, inner);
    keysAndNumbers(inner, seen);
  }
}

/** A hundred times faster than `expect`, which matters in these loops. */
function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

it('the inputs with every change are as many as promised, whatever the other tests of texts and requests add', () => {
  expect(Object.values(INPUTS).reduce((sum, count) => sum + count)).toBeGreaterThanOrEqual(200_000);
});

describe('JSON', () => {
  it('of any text: it is read as the standard parser reads it, number for number, or refused [F68 F69 F71]', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const ours = attempt(() => parseJson(text), [SyntaxError]);
        if (ours === null) return;
        const standard = JSON.parse(text) as unknown; // the standard parser accepts every text that ours accepts
        const written = stringifyJson(ours.value);
        must(
          JSON.stringify(JSON.parse(written)) === JSON.stringify(standard),
          'another value than the standard parser',
        );
        must(stringifyJson(parseJson(written)) === written, 'written and read again it is another');
        keysAndNumbers(ours.value, (key, value) => {
          must(!['__proto__', 'constructor', 'prototype'].includes(key ?? ''), 'a key that leads to a prototype');
          must(typeof value !== 'number' || (Number.isSafeInteger(value) && !Object.is(value, -0)), 'a rounded number');
        });
        must(Reflect.ownKeys(Object.prototype).length === PROTOTYPE, 'every object has changed');
      }),
      runsOf('texts'),
    );
  });

  it('of any bytes: one that is no UTF-8 is refused, never mended [F72]', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      texts.map((text) => new Uint8Array(Buffer.from(text, 'latin1'))),
      texts.map((text) => new Uint8Array(Buffer.from(text, 'utf16le'))),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        const decoded = attempt(() => decodeUtf8(input), [TypeError]);
        if (decoded === null) return;
        const marked = input[0] === 0xef && input[1] === 0xbb && input[2] === 0xbf;
        must(Buffer.from(decoded.value).equals(marked ? input.slice(3) : input), 'bytes were mended');
      }),
      runsOf('bytes'),
    );
  });

  it('of a body with its type: accepted, 400 or 415 [F66 F72 F73 F74]', () => {
    const types = fc.constantFrom(
      ...['application/json', 'APPLICATION/JSON ; charset="UTF-8"', '', ' ', 'application/json;charset=utf-16'],
      ...[
        'application/json; charset=',
        'text/json',
        'application/jsonp',
        ';',
        'application/json;;',
        'a/b;charset=utf-8',
      ],
    );
    const encodings = fc.constantFrom(undefined, undefined, undefined, 'identity', 'gzip', ' ', 'x');
    fc.assert(
      fc.property(texts, types, encodings, (text, type, encoding) => {
        const headers = { 'content-type': type, ...(encoding === undefined ? {} : { 'content-encoding': encoding }) };
        const parsed = attempt(() => parseBody(Buffer.from(text), headers, 65_536), [PuenteError]);
        if (parsed === null) return;
        must(!/^(multipart|text\/xml)/.test(type) && /^(identity|\s*)$/.test(encoding ?? ''), 'another type');
      }),
      runsOf('bodies'),
    );
  });

  it('with half a surrogate pair is accepted, as legacy did; UTF-8 has none, so it shows as U+FFFD (LIM-57) [F72]', () => {
    expect(parseBody(Buffer.from(String.raw`{"title":"half \ud83d"}`), {}, 65_536)).toEqual({ title: 'half \ud83d' });
  });

  it('may nest thirty-two levels deep, and no deeper, in any shape [F67]', () => {
    fc.assert(
      fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 64 }), (isObject) => {
        const text = `${isObject.map((one) => (one ? '{"a":' : '[')).join('')}1`;
        const closed =
          text +
          isObject
            .map((one) => (one ? '}' : ']'))
            .toReversed()
            .join('');
        must((attempt(() => parseJson(closed), [SyntaxError]) !== null) === isObject.length <= 32, 'another depth');
      }),
      runsOf('shapes'),
    );
  });

  it('of a megabyte is read or refused in linear time, whatever it holds [F101]', () => {
    const million = 1_000_000;
    const keys = Array.from({ length: 50_000 }, (_, nth) => `"${nth}":${nth}`).join();
    const colliding = Array.from(
      { length: 30_000 },
      (_, nth) => `"${nth.toString(2).replaceAll('0', 'Aa').replaceAll('1', 'BB')}":0`,
    );
    for (const text of [
      '['.repeat(million),
      '"'.repeat(million),
      '\\'.repeat(million),
      `"${'\\\\'.repeat(million / 2)}"`,
      `"${'\\u0041'.repeat(million / 6)}"`,
      ' '.repeat(million),
      '9'.repeat(million),
      `1.${'0'.repeat(million)}1e${'9'.repeat(9)}`,
      `{${keys}}`,
      `{${colliding.join()}}`,
      `{${'"a":1,'.repeat(million / 6)}"a":1}`,
    ])
      attempt(() => parseBody(Buffer.from(text), {}, 65_536), [PuenteError]);
  });
});

/** The fields that the readers of a request use. */
function requestOf(method: string, url: string, headers: [string, string][]): IncomingMessage {
  const single = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
  return { method, url, headers: single, rawHeaders: headers.flat(), httpVersion: '1.1' } as unknown as IncomingMessage; // only these are read
}

const words = fc.constantFrom(
  ...[
    'access_token',
    'access_token=',
    'ACCESS_TOKEN=x',
    '&access%5Ftoken=SECRET-TOKEN&',
    '=',
    '&',
    '?',
    '#',
    '%',
    '%zz',
    '%00',
    '%0d%0a',
    '%2e%2e',
    '+',
  ],
  ...['a', 'b=1', 'a[x]', '__proto__', 'constructor', '/', '//', '..', ';', '\\', '\u00e9', ' ', '\t', 'SECRET-TOKEN'],
);

describe('request lines and headers', () => {
  it('of any target: no token stays in it, and no parameter reaches a prototype [F76 F77 F84 F87]', () => {
    fc.assert(
      fc.property(fc.array(words, { maxLength: 16 }), (parts) => {
        const url = `/${parts.join('')}?access_token=SECRET-TOKEN&${parts.toReversed().join('')}`;
        const request = requestOf('GET', url, []);
        const [, query = ''] = scrubbedTarget(request).split('?', 2);
        const names = [...new URLSearchParams(query).keys()].map((name) => name.toLowerCase());
        must(!names.includes('access_token'), 'a token stays');
        const single = singleQuery(request) ?? {}; // null: a parameter is repeated
        must(Object.getPrototypeOf(single) === Object.prototype, 'another prototype');
        must(!Object.hasOwn(single, 'access_token'), 'a token is a parameter');
        must(/^[\x21-\x7e]{0,512}$/.test(readToken(request)?.reveal() ?? ''), 'no token');
        must(Reflect.ownKeys(Object.prototype).length === PROTOTYPE, 'every object has changed');
      }),
      runsOf('targets'),
    );
  });

  it('of any head: an accepted one has each deciding header once, plain framing and a known path [F78 F79 F81 F82 F88]', () => {
    const names = [
      'Host',
      'host',
      'Authorization',
      'Content-Type',
      'Content-Length',
      'Transfer-Encoding',
      'Connection',
    ];
    const others = ['X-Idempotency-Key', 'X-HTTP-Method-Override', 'Content_Length', 'X-A', 'Upgrade'];
    const values = [
      'chunked',
      'Chunked ',
      'xchunked',
      'gzip, chunked',
      'close',
      'close, te',
      'close, Host',
      'POST',
      'PUT',
      '',
      '1',
    ];
    const header = fc.tuple(fc.constantFrom(...names, ...others), fc.constantFrom(...values));
    const methods = fc.constantFrom('GET', 'POST', 'DELETE', 'TRACE', 'CONNECT', 'get', 'PRI', 'PROPFIND');
    const targets = fc.oneof(
      fc.constantFrom('/a', '//a', 'http://a/b', '*', '', 'a', '/a b', '/\u0001', '/\u00e9'),
      fc.string().map((text) => `/${text}`),
    );
    fc.assert(
      fc.property(methods, targets, fc.array(header, { maxLength: 8 }), (method, target, headers) => {
        const fault = headFault(requestOf(method, target, headers));
        if (fault !== null) return;
        // Node's parser already refuses words that are no HTTP method.
        must(!['TRACE'].includes(method), 'another method');
        must(/^\/[\x21-\xff]*$/.test(target), 'another target');
        const counted = [
          'host',
          'authorization',
          'content-type',
          'content-length',
          'transfer-encoding',
          'x-idempotency-key',
        ];
        for (const one of counted) must(headers.filter(([name]) => name.toLowerCase() === one).length <= 1, one);
        for (const [name, value] of headers)
          must(name !== 'Transfer-Encoding' || value.trim().toLowerCase() === 'chunked', 'another framing');
        const connection = headers.findLast(([name]) => name === 'Connection')?.[1] ?? '';
        must(!/host/i.test(connection), 'a host for one hop');
      }),
      runsOf('heads'),
    );
  });
});

describe('a text from a till', () => {
  // The largest text of a body. Each card found once split the rest anew, so one caller stopped all payments.
  it.each([
    ['cards one after the other', '4 1 1 1 '.repeat(8_192)],
    ['cards of sixteen digits', '4509 9535 6623 3704 '.repeat(3_277)],
    ['a card behind every number', '12 4509953566233704 '.repeat(3_277)],
    ['no card at all', '0 '.repeat(32_768)],
  ])('is searched for card numbers in one pass: %s [F101]', (_what, text) => {
    const looked = charactersLookedAt(() => [maskCards(text, false), showsSecret(text)]);
    expect(looked).toBeGreaterThan(text.length);
    expect(looked).toBeLessThan(100 * text.length);
  });

  it('of a quarter of a megabyte is masked in linear time, whatever it holds [F101]', () => {
    const quarter = 250_000;
    const parts = [
      'eyJ',
      'eyJabcdefgh.',
      'a.',
      'a@',
      '4 ',
      '%25',
      '\\u0041',
      '61',
      'aZ09',
      'TG-',
      'token=',
      '+1',
      'Bearer ',
    ];
    for (const part of [...parts, 'http://a', '-----BEGIN PRIVATE KEY', '{"a":', '[']) {
      const text = part.repeat(quarter / part.length);
      expect(typeof showsSecret(text)).toBe('boolean');
      expect(typeof maskText(text, false)).toBe('string');
      expect(typeof redactValue(text)).toBe('string');
    }
  });
});

/** Counts the characters that split, replaceAll and join handle: a measure of work that no machine changes. */
function charactersLookedAt(work: () => unknown): number {
  const { split, replaceAll } = String.prototype;
  const { join } = Array.prototype;
  let looked = 0;
  const counting = (of: (...rest: never[]) => unknown) =>
    function (this: unknown, ...rest: unknown[]): unknown {
      const made = Reflect.apply(of, this, rest);
      looked += typeof this === 'string' ? this.length : String(made).length;
      return made;
    };
  Object.assign(String.prototype, { split: counting(split), replaceAll: counting(replaceAll) });
  Object.assign(Array.prototype, { join: counting(join) });
  try {
    work();
    return looked;
  } finally {
    Object.assign(String.prototype, { split, replaceAll });
    Object.assign(Array.prototype, { join });
  }
}

it('no regular expression of ours has nested repeats, so none is slow on any text [F101]', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const literal =
    /(?<=[=(,:!&|?[{}\s])\/(?![/*])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/[dgimsuvy]*(?=[\s.,;)\]}])/g;
  const found = sources.flatMap((name) =>
    [
      ...readFileSync(join('src', name), 'utf8')
        .replaceAll(/^\s*(\/\/|\*|\/\*\*).*$/gm, '')
        .matchAll(literal),
    ].map(([, source = '']) => ({ name, source })),
  );
  expect(found.length).toBeGreaterThan(100);
  expect(['(a+)+$', '(?:a*b?)*', '^(?:[a-z]+_?)*$', '(\\d+|x)+'].filter(repeatsRepeated)).toHaveLength(4);
  expect(found.filter(({ source }) => repeatsRepeated(source)).map(({ name, source }) => `${name}: ${source}`)).toEqual(
    [],
  );
});

const TOKEN = /\\.|\[(?:\\.|[^\]\\])*\]|./gs;
const ENDLESS = /^(?:[*+]|\{\d+,\})/;

/**
 * A group with an unbounded repeat inside that is itself repeated without bound can match one text in many ways, unless
 * each repetition begins with a character that nothing else in the group matches.
 */
function repeatsRepeated(source: string): boolean {
  const open: { tokens: string[]; endless: boolean }[] = [{ tokens: [], endless: false }];
  for (const { 0: token, index } of source.matchAll(TOKEN)) {
    const repeats = ENDLESS.test(source.slice(index + token.length));
    if (token === '(') open.push({ tokens: [], endless: false });
    else if (token === ')') {
      const group = open.pop() ?? { tokens: [], endless: false };
      if (group.endless && repeats && !isMarked(group.tokens)) return true;
      const around = open.at(-1);
      around?.tokens.push(...group.tokens);
      if (around !== undefined) around.endless ||= group.endless || repeats;
    } else {
      const around = open.at(-1);
      around?.tokens.push(token);
      if (around !== undefined) around.endless ||= repeats;
    }
  }
  return false;
}

/** Begins with one character that no later class or escape matches. */
function isMarked([mark = '', ...rest]: string[]): boolean {
  const [first = '', ...others] = mark === '?' && rest[0] === ':' ? rest.slice(1) : [mark, ...rest];
  const sign = first.replace(/^\\(?=\W)/, '');
  if (/^[*+?{]$/.test(others[0] ?? '')) return false;
  if (sign.length !== 1 || (sign === first && /[.^$|()]/.test(sign))) return false;
  return !others.some((token) => !/^[?*+{},:|^$\d]$/.test(token) && new RegExp(`^${token}$`).test(sign));
}
