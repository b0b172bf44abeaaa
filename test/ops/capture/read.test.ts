/** Captures are read line by line; unreadable lines are reported by number, and nothing is dropped silently. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../../src/contract/json.ts';
import { endLine, exchangeLine, headerLine } from '../../../src/ops/capture/format.ts';
import { MAX_LINE_CHARACTERS, readCapture } from '../../../src/ops/capture/read.ts';
import type { Exchange } from '../../../src/proxy/evidence/exchange.ts';
import { all, bytes, entriesOf, lines } from './files.ts';

const exchange: Exchange = {
  id: '0191d0a8-6a6e-7cc3-98c4-dc0c0c07398f',
  at: 1_795_273_537_357,
  merchant_id: '700100200',
  operation: 'qr.put_order',
  kind: 'qr',
  lane: 'legacy',
  stage: 'shadow',
  unit: 'qr:CAJA1',
  legacy_id: null,
  status: 204,
  error: null,
  outcome: 'ok',
  duration_ms: 4.25,
  tables_revision: '6e1020ff46c1',
  upstream: [{ name: 'legacy', status: 204, code: null, duration_ms: 3.5 }],
  fired: [],
  losses: [],
  unknown: [{ what: 'header', name: 'x-shop' }],
  limitations: ['LIM-27'],
  shadow: null,
  messages: {
    request: { method: 'PUT', target: '/x', headers: { accept: '*/*' }, body: parseJson('{"total_amount":10.50}') },
    answer: { status: 204, headers: {}, body: null },
    upstream: [{ method: 'GET', path: '/v1/orders/1', body: undefined, status: 200, answer: {} }],
  },
};
const merchants = { '700100200': { site: 'MLA', voucher: 'refuse', declined: 'error' } } as const;
const header = headerLine(1_795_273_537_357, '6e1020ff46c1', merchants);

describe("Puente's own capture", () => {
  test('gives back what was written, numbers with their source text', async () => {
    const file = header + exchangeLine({ ...exchange, sequence: 7 } as Exchange) + endLine(1);
    const [first, entry, ...rest] = await entriesOf(file);
    expect(first).toEqual({ kind: 'merchants', merchants });
    expect(rest).toEqual([]);
    if (entry?.kind !== 'exchange') throw new Error('there is no exchange');
    expect(entry.exchange).toEqual({ ...exchange, messages: expect.anything() });
    expect(stringifyJson(entry.exchange.messages?.request.body)).toBe('{"total_amount":10.50}');
    expect(exchangeLine(entry.exchange)).toBe(exchangeLine(exchange));
  });

  test.each([
    ['an export that broke off', header + exchangeLine(exchange), /last line of the capture is missing/],
    ['a last line that counts others', header + endLine(3), /says 3 exchanges, and there are 0/],
  ])('%s is told', async (_what, file, said) => {
    const last = (await entriesOf(file)).at(-1);
    expect(last).toEqual({ kind: 'remark', what: expect.stringMatching(said) });
  });

  test('two captures one after the other are both read', async () => {
    const one = header + exchangeLine(exchange) + endLine(1);
    const kinds = (await entriesOf(one + one)).map(({ kind }) => kind);
    expect(kinds).toEqual(['merchants', 'exchange', 'merchants', 'exchange']);
  });

  test('a line that is no exchange is told with its number, and not what it has in it', async () => {
    const file = `${header}{"id":"c4n4ry","at":"c4n4ry"}\n{"c4n4ry\n${endLine(2)}`;
    const entries = await entriesOf(file);
    expect(entries.slice(1)).toMatchObject([
      { kind: 'unreadable', line: 2 },
      { kind: 'unreadable', line: 3 },
    ]);
    expect(JSON.stringify(entries)).not.toContain('c4n4ry');
  });

  test('one of a newer version is refused', async () => {
    await expect(entriesOf('{"puente_capture":2}\n')).rejects.toThrow(/version 2 and this Puente reads version 1/);
  });
});

describe('JSON lines', () => {
  const call = {
    method: 'post',
    url: 'https://legacy.test/x?a=1',
    headers: { 'X-A': 'b' },
    body: { amount: 1 },
    status: 201,
  };

  test('a call has the words of the door', async () => {
    const text = lines({ ...call, response: '{"id":"1"}', at: '2026-01-31T09:00:00Z', duration_ms: 12 });
    expect(await entriesOf(text)).toEqual([
      {
        kind: 'call',
        line: 1,
        call: {
          method: 'POST',
          host: 'legacy.test',
          target: '/x?a=1',
          headers: { 'x-a': 'b' },
          body: { amount: 1 },
          answer: { status: 201, headers: {}, body: { id: '1' } },
          at: Date.parse('2026-01-31T09:00:00Z'),
          duration_ms: 12,
          is_logged: false,
        },
      },
    ]);
  });

  test.each([
    ['no method', { path: '/x' }, /^method/],
    ['no path', { method: 'GET' }, /^path/],
    ['a URL that is none', { method: 'GET', url: 'http://[' }, /path or url is invalid/],
    ['no JSON', '{"method":"GET",', /not JSON/],
    ['a status that is none', { method: 'GET', path: '/x', status: 7 }, /^status/],
    ['a day that is none', { ...call, at: '2026-02-31T09:00:00Z' }, /^at is no time/],
    ['a time that is none', { ...call, at: -1 }, /^at is no time/],
  ])('%s is unreadable, with its line', async (_what, line, why) => {
    const entries = await entriesOf(`\n\r\n${lines(line, call)}\r\n\n`);
    expect(entries).toMatchObject([
      { kind: 'unreadable', line: 3, why: expect.stringMatching(why) },
      { kind: 'call', line: 4 },
    ]);
  });

  test('a byte order mark, blank lines and ends of Windows are no lines', async () => {
    expect(await entriesOf(`\uFEFF\r\n${lines(call)}\r\n\r\n`)).toMatchObject([{ kind: 'call', line: 2 }]);
  });

  test('chunks may end anywhere, in a letter too', async () => {
    const text = lines({ ...call, body: { title: 'Café, 2 €' } }, 'nothing', { ...call, path: '/ñ' });
    const whole = await entriesOf(text);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 200 }), async (size) => {
        expect(await entriesOf(text, size)).toEqual(whole);
      }),
      { numRuns: 40 },
    );
  });

  test('a line longer than any exchange is counted and not kept', async () => {
    const long = `{"method":"GET","path":"/${'x'.repeat(MAX_LINE_CHARACTERS)}"}`;
    const entries = await entriesOf(lines(call, long, call));
    expect(entries).toMatchObject([{ kind: 'call' }, { kind: 'unreadable', line: 2 }, { kind: 'call', line: 3 }]);
  });

  test('entries come while the file is still being read', async () => {
    let read = 0;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      for (;;) {
        read++;
        yield* bytes(`${lines(call)}\n`.repeat(100));
      }
    };
    let seen = 0;
    for await (const entry of readCapture(endless())) {
      expect(entry.kind).toBe('call');
      seen++;
      if (seen === 5_000) break;
    }
    expect(read).toBeLessThan(100);
  });

  test('an empty file is refused', async () => {
    await expect(entriesOf(' \n ')).rejects.toThrow(/empty/);
  });
});

describe('HAR', () => {
  const entry = {
    startedDateTime: '2026-01-31T09:00:00.000Z',
    time: 31.5,
    request: {
      method: 'PUT',
      url: 'https://legacy.test/instore/qr/x',
      headers: [
        { name: ':authority', value: 'legacy.test' },
        { name: 'Content-Type', value: 'application/json' },
      ],
      postData: { mimeType: 'application/json', text: '{"total_amount":10.50}' },
    },
    response: {
      status: 200,
      headers: [],
      content: { text: Buffer.from('{"id":7}').toString('base64'), encoding: 'base64' },
    },
  };
  const har = (...entries: unknown[]): string => JSON.stringify({ log: { version: '1.2', entries } }, null, 2);

  test('a call has its body with the source text of numbers, and its answer out of base64', async () => {
    const [found] = await entriesOf(har(entry));
    if (found?.kind !== 'call') throw new Error('there is no call');
    expect(stringifyJson(found.call.body)).toBe('{"total_amount":10.50}');
    expect(found.call).toMatchObject({
      method: 'PUT',
      target: '/instore/qr/x',
      headers: { 'content-type': 'application/json' },
      answer: { status: 200, body: { id: 7 } },
      duration_ms: 31.5,
    });
  });

  test.each([
    ['a body in base64', { text: Buffer.from('{"a":1}').toString('base64'), encoding: 'base64' }, { a: 1 }],
    ['a form in fields', { params: [{ name: 'a', value: 'b c' }] }, 'a=b+c'],
    ['no text', {}, undefined],
  ])('%s', async (_what, postData, body) => {
    const [found] = await entriesOf(har({ ...entry, request: { ...entry.request, postData } }));
    expect(found).toMatchObject({ kind: 'call' });
    expect(found?.kind === 'call' ? found.call.body : null).toEqual(body);
  });

  test('a call that was never answered has no answer', async () => {
    const [found] = await entriesOf(har({ ...entry, response: { status: 0, headers: [] } }));
    expect(found).toMatchObject({ call: { answer: null } });
  });

  test('an entry that is none is told with its number, and the others are read', async () => {
    expect(await entriesOf(har(entry, { request: 7 }, entry))).toMatchObject([
      { kind: 'call', line: 1 },
      { kind: 'unreadable', line: 2 },
      { kind: 'call', line: 3 },
    ]);
  });

  test('a document that was cut is refused', async () => {
    await expect(entriesOf(har(entry).slice(0, -9))).rejects.toThrow(/cut, or damaged/);
    await expect(entriesOf('{"log":{}}')).rejects.toThrow(/no log.entries/);
  });

  test('one that is larger than can be read as a whole is refused', async () => {
    const chunk = Buffer.alloc(8 * 1024 * 1024, 0x20);
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{"log":');
      for (;;) yield chunk;
    };
    await expect(all(readCapture(endless()))).rejects.toThrow(/larger than 256 MB/);
  });
});
