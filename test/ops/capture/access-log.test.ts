/** Access logs of nginx and Apache are assessed as far as they go; calls to other hosts are left out. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { loadTables } from '../../../src/mapping/load.ts';
import { isLogLine } from '../../../src/ops/capture/access-log.ts';
import { assessmentOf } from '../../../src/ops/capture/assess.ts';
import { viewAssessment } from '../../../src/ops/capture/assessment.ts';
import { readCapture } from '../../../src/ops/capture/read.ts';
import { redactValue } from '../../../src/proxy/evidence/redact.ts';
import { puente } from '../../run-cli.ts';
import { entriesOf, lines } from './files.ts';

const tables = loadTables(join(import.meta.dirname, '../../../mappings'));
const NOW = Date.parse('2026-11-21T12:00:00Z');
const TOKEN = 'APP_USR-4004001-112026-0123456789abcdef0123456789abcd01-700100200';
const DEVICE = '/point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents';
const TIME = '[31/Jan/2026:09:00:00 -0300]';
const CREATE = `10.0.0.7 - - ${TIME} "POST ${DEVICE} HTTP/1.1" 201 512`;
const directory = mkdtempSync(join(tmpdir(), 'puente-log-'));

/** Of text or bytes, such as a packed file. */
async function assessed(file: string | Uint8Array, hosts: string[] = []) {
  const bytes = async function* () {
    yield Buffer.from(file);
  };
  const tools = { tables, redact: redactValue, clock: { now: () => 0 }, now: NOW };
  const options = { merchant_id: '9', site: null, voucher: 'refuse', min_sample: 1, hosts } as const;
  const assessment = await assessmentOf(readCapture(bytes()), tools, options);
  return { ...assessment, view: await viewAssessment(assessment, tables, NOW) };
}

describe('a line', () => {
  const call = { method: 'POST', target: DEVICE, host: null, answer: { status: 201 }, is_logged: true };
  const at = Date.parse('2026-01-31T12:00:00Z');

  test.each([
    ['common', CREATE, { ...call, at }],
    ['combined', `${CREATE} "-" "Till/1.0"`, { ...call, at }],
    [
      'vhost_combined',
      `Tills.Example:443 ${CREATE} "-" "Till/1.0"`,
      { ...call, host: 'tills.example', duration_ms: null },
    ],
    ['of nginx with its request time', `${CREATE} "-" "Till/1.0" 0.123`, { ...call, duration_ms: 123 }],
    ['of nginx with names', `${CREATE} "-" "Till/1.0" rt=1.500 uct="0.001"`, { ...call, duration_ms: 1_500 }],
    ['with a user', CREATE.replace('- -', '- ana'), call],
    ['with a user of two words', CREATE.replace('- -', '- ana maria'), call],
    ['of a client with an IPv6 address', CREATE.replace('10.0.0.7', '2001:db8::1'), call],
    ['without bytes', CREATE.replace(' 512', ' -'), call],
    ['with quotes, as Apache writes them', CREATE.replace(DEVICE, '/a\\"b'), { target: '/a%22b' }],
    ['with quotes, as nginx writes them', CREATE.replace(DEVICE, '/a\\x22b'), { target: '/a%22b' }],
    ['of a proxy, with the whole URL', CREATE.replace(DEVICE, `http://a.example:81${DEVICE}`), { host: 'a.example' }],
    ['that nginx did not answer', CREATE.replace(' 201 ', ' 000 '), { answer: null }],
  ])('%s', async (_what, line, expected) => {
    expect(await entriesOf(line)).toMatchObject([{ kind: 'call', line: 1, call: expected }]);
  });

  test.each([
    ['a request that is none', CREATE.replace(`POST ${DEVICE} HTTP/1.1`, '\\x16\\x03\\x01')],
    ['no request', CREATE.replace(`POST ${DEVICE} HTTP/1.1`, '-')],
    ['another text', 'the server was started'],
    ['a day that is none', CREATE.replace('31/Jan', '31/Jun')],
    ['an hour that is none', CREATE.replace('09:00:00', '29:00:00')],
  ])('with %s is counted, and named by its number', async (_what, line) => {
    const { sums, unreadable } = await assessed(lines(CREATE, line));
    expect([sums.lines, sums.assessed, sums.unreadable]).toEqual([2, 1, 1]);
    expect(unreadable).toEqual([{ line: 2, why: expect.any(String) }]);
  });

  test('may be long: a first one of 24,000 characters is one too', async () => {
    const long = `${CREATE.replace('payment-intents', `payment-intents?q=${'x'.repeat(8_000)}`)} "${'r'.repeat(8_000)}" "${'a'.repeat(8_000)}"`;
    expect((await assessed(lines(long, CREATE))).sums).toMatchObject({ lines: 2, assessed: 2 });
  });

  test('is told from other text', () => {
    expect([CREATE, 'nonsense', '{"method":"GET"}', '[31/Jan/2026]'].map(isLogLine)).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('a log', () => {
  const log = lines(
    CREATE,
    CREATE,
    CREATE.replace(' 201 ', ' 400 '),
    CREATE.replace('POST', 'GET').replace('/payment-intents', ''),
    `10.0.0.7 - - ${TIME} "PUT /instore/qr/seller/collectors/55/stores/S1/pos/CAJA1/orders?access_token=${TOKEN} HTTP/1.1" 204 0`,
    `10.0.0.7 - - ${TIME} "PUT /instore/qr/seller/collectors/55/stores/S1/pos/CAJA1/orders HTTP/1.1" 204 0`,
    `10.0.0.7 - - ${TIME} "POST /v1/advanced_payments/123 HTTP/1.1" 200 2`,
  );

  test('tells operations, statuses, units, and what has no operation', async () => {
    const { sums, view } = await assessed(log);
    expect(sums).toMatchObject({ lines: 7, assessed: 5, no_operation: 2, unreadable: 0, shadowed: 0, logged: 7 });
    const [unknown, qr] = ['9', '55'].map((id) => view.merchants.find((one) => one.merchant_id === id));
    expect(unknown?.operations).toMatchObject([
      {
        operation: 'point.create_intent',
        calls: 3,
        statuses: [
          { status: 201, calls: 2 },
          { status: 400, calls: 1 },
        ],
      },
    ]);
    expect(unknown?.units).toEqual([{ unit: expect.stringContaining('SMARTPOS0000000001'), calls: 3, creates: 3 }]);
    expect(unknown?.unknowns.map(({ name }) => name)).toContain('POST /v1/advanced_payments/:id');
    expect(qr?.units).toEqual([{ unit: expect.stringContaining('CAJA1'), calls: 1, creates: 1 }]);
  });

  test('says what it can not tell, and is never enough for a verdict', async () => {
    const { view } = await assessed(lines(...Array.from({ length: 100 }, () => CREATE)));
    expect(view.verdict).toBe('inconclusive');
    expect(view.merchants).toMatchObject([{ losses: [], differences: [], verdicts: [] }]);
    // No field of a header or a body: whether there was one, a log does not say.
    const states = view.merchants.flatMap(({ coverage }) => coverage.map(({ field, state }) => `${field} ${state}`));
    expect(states).toEqual(['path.device_id seen']);
    expect(view.remarks).toEqual([expect.stringMatching(/^100 lines are of an access log, .* no bodies/)]);
  });

  test('shows no token, and knows the merchant by it', async () => {
    const { view, book } = await assessed(log);
    expect(view.merchants.map(({ merchant_id }) => merchant_id)).toContain('700100200');
    const kept = await book.exchanges.exchanges({}, 0, 100);
    expect(JSON.stringify([view, kept])).not.toContain('0123456789abcdef');
  });

  test('packed with gzip, in one piece or appended, is read as it is', async () => {
    const { sums } = await assessed(Buffer.concat([gzipSync(`${CREATE}\n`), gzipSync(`${CREATE}\n`)]));
    expect(sums).toMatchObject({ lines: 2, assessed: 2 });
    const cut = gzipSync(log).subarray(0, -20);
    await expect(assessed(cut)).rejects.toThrow('The file is packed with gzip and is cut off or damaged');
  });

  test('of any size is read in bounded memory, with a path for each line', { timeout: 240_000 }, () => {
    // The heap holds the program and its tables, and not a tenth of the lines.
    const child = spawnSync(
      process.execPath,
      ['--max-old-space-size=96', join(import.meta.dirname, 'access-log-child.ts'), '250000'],
      { encoding: 'utf8' },
    );
    expect(child.stderr).toBe('');
    const { bytes, sums, endpoints } = JSON.parse(child.stdout);
    expect(bytes).toBeGreaterThan(100_000_000);
    expect(sums).toMatchObject({ lines: 250_000, assessed: 125_000, no_operation: 125_000 });
    // Ten thousand names, one of them the terminal's, and `(others)`.
    expect(endpoints).toBe(10_000);
  });
});

describe('calls to other hosts', () => {
  const at = '2026-01-31T12:00:00Z';
  const create = (host: string) => ({ method: 'POST', url: `https://${host}${DEVICE}`, status: 201, at });
  const other = (host: string) => ({ method: 'GET', url: `https://${host}/banner.js`, status: 200, at });

  test('are left out, counted, and named', async () => {
    const given = [create('api.mercadopago.com'), other('cdn.example'), other('cdn.example'), other('shop.example')];
    const { sums, view, remarks } = await assessed(lines(...given, other('api.mercadolibre.com')));
    expect(sums).toMatchObject({ lines: 5, assessed: 1, no_operation: 1, foreign: 3, unreadable: 0 });
    expect(remarks).toContainEqual(
      expect.stringMatching(/^3 calls to other hosts were left out: cdn\.example \(2\), shop\.example \(1\)\..*--host/),
    );
    expect(view.merchants[0]?.unknowns).toMatchObject([{ name: 'GET /banner.js', count: 1 }]);
  });

  test('are not those to a proxy of the shop: an operation shows that it is one, and what came before counts too', async () => {
    const { sums } = await assessed(lines(other('tills.example'), create('tills.example'), other('tills.example')));
    expect(sums).toMatchObject({ lines: 3, assessed: 1, no_operation: 2, foreign: 0 });
  });

  test('are all but those that are named', async () => {
    const both = lines(create('tills.example'), create('api.mercadopago.com'));
    expect((await assessed(both, ['tills.example'])).sums).toMatchObject({ lines: 2, assessed: 1, foreign: 1 });
  });

  test('are known from the server of a log', async () => {
    const web = CREATE.replace(`POST ${DEVICE}`, 'GET /index.html');
    const { sums } = await assessed(lines(`tills.example:443 ${CREATE}`, `www.example:443 ${web}`, `_ ${web}`));
    expect(sums).toMatchObject({ lines: 3, assessed: 1, no_operation: 1, foreign: 1 });
  });
});

describe('a file that can not be read', () => {
  test.each([
    ['another text', 'Dear Ana,\nthe tills are slow.\n'],
    ['a table', 'time,path,status\n09:00,/users/me,200\n'],
    ['a JSON document of another kind', '{\n  "name": "puente"\n}\n'],
    ['nothing', ''],
  ])('%s: exit code 1, and the formats that are', async (name, text) => {
    const file = join(directory, `${name.replaceAll(' ', '-')}.txt`);
    writeFileSync(file, text);
    const { code, out, err } = await puente(['assess', file]);
    expect(err).toContain('access logs of nginx and Apache (common, combined, vhost_combined)');
    expect([code, out]).toEqual([1, '']);
  });

  test('a log by the command line: packed, its sums and lists, and no token', async () => {
    const file = join(directory, 'access.log.1.gz');
    writeFileSync(
      file,
      gzipSync(lines(CREATE, `${CREATE.replace(DEVICE, `${DEVICE}?access_token=${TOKEN}`)} "-" "-"`)),
    );
    const { code, out, err } = await puente(['assess', file, '--merchant', '9']);
    expect(out).toContain('Lines: 2 = 2 assessed + 0 of no operation + 0 to other hosts + 0 unreadable');
    expect(out).toMatch(/Its calls \(1\):\n/);
    expect(out).toContain('point.create_intent');
    expect(out + err).not.toContain('0123456789abcdef');
    expect(code).toBe(4);
  });
});
