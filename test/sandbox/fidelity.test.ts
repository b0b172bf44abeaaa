/** `puente fidelity`: nothing drifts against a sandbox of the same profile, and against the field exactly what differs there. */
import type { ChildProcess } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkFidelity } from '../../src/app/fidelity.ts';
import { listAssumptions, type Profile, profileSettings } from '../../src/sandbox/assumptions.ts';
import { openAccount, textAt } from '../../src/sandbox/fidelity/account.ts';
import { facts, notProbed } from '../../src/sandbox/fidelity/expected.ts';
import { chapters } from '../../src/sandbox/fidelity/probes.ts';
import { type FidelityOrder, type FidelityReport, runFidelity } from '../../src/sandbox/fidelity/run.ts';
import { listen } from '../listen.ts';
import { openForAll } from '../open.ts';
import { puente } from '../run-cli.ts';
import { type Folder, newFolder } from '../store/sqlite/kit.ts';
import { ARGENTINA, type Kit, PAX_TERMINAL, tokenOf, URUGUAY } from './kit.ts';
import { openQrKit, TILL } from './qr-kit.ts';

/** The person at the terminal is slow: the test moves the clock when the probe is not to come first. */
const STEP_MS = 200_000;
const QUARTER_MS = 93 * 24 * 3_600_000;
const settings = { simulated_step_ms: STEP_MS };
/** Beyond its profile, so that these probes show the other value too. */
const odd = {
  specification: { merchant_order_sort: 'oldest_first' },
  field: { action_required: 'moves_on', merchant_order_birth: 'payment' },
} as const;
const kits = {
  specification: openForAll(() => openQrKit({ ...settings, ...odd.specification }, 'specification')),
  field: openForAll(() => openQrKit({ ...settings, ...odd.field }, 'field')),
};
const order = (kit: Kit, change: Partial<FidelityOrder> = {}): FidelityOrder => ({
  ...{ against: kit.sandbox.url, token: tokenOf(ARGENTINA), profile: 'specification' },
  ...{ terminal: null, till: null, old_order: null, live: false },
  ...change,
});

/** Runs all probes, with a clock that moves where the vendor's simulator or the end of a lifetime is waited for. */
async function run(kit: Kit, change: Partial<FidelityOrder>): Promise<FidelityReport> {
  const { world } = kit.sandbox;
  let chapter = '';
  const mover = setInterval(() => {
    const all = [...world.orders.values()];
    const isAtTerminal = all.some(({ status }) => status === 'at_terminal');
    const isRefunding = all.some(({ refunds }) => refunds.some(({ status }) => status === 'processing'));
    const isEnding = all.some(({ status, expiration_time }) => status === 'created' && expiration_time === 'PT30S');
    if (chapter === 'a cancel at the terminal') world.clock.advance(1_000);
    // Two steps within the lifetime of the order, and time to read it between them.
    else if (chapter === 'an action of the buyer') world.clock.advance(STEP_MS / 10);
    else if (isAtTerminal || isRefunding) world.clock.advance(STEP_MS);
    else if (isEnding) world.clock.advance(30_000);
  }, 50);
  try {
    return await runFidelity(order(kit, change), (news) => {
      chapter = news.split(',')[0] ?? '';
    });
  } finally {
    clearInterval(mover);
  }
}

async function oldOrder(kit: Kit): Promise<string> {
  const id = await kit.order();
  await kit.call('POST', `/v1/orders/${id}/cancel`, { key: 'old' });
  kit.sandbox.world.clock.advance(QUARTER_MS);
  return id;
}

const named = (report: FidelityReport, result: string): string[] =>
  report.lines.filter((line) => line.result === result).map(({ name }) => name);

describe.each([
  ['specification', 'specification'],
  ['field', 'field'],
  ['field', 'specification'],
] as const)('against a sandbox of the profile %s, with the assumptions of %s', (there, profile) => {
  let report: FidelityReport;
  beforeAll(async () => {
    const kit = kits[there];
    report = await run(kit, { profile, till: TILL, old_order: await oldOrder(kit) });
  }, 120_000);

  it('drifts exactly where the profiles differ', () => {
    const drift = report.lines.filter(({ result }) => result === 'drift');
    const differing = { ...(there === profile ? {} : profileSettings.field), ...odd[there] };
    const expected = Object.entries(differing).filter(([name]) => notProbed[name] === undefined);
    expect(Object.fromEntries(drift.map(({ name, seen }) => [name, seen]))).toEqual(
      Object.fromEntries(expected.map(([name, value]) => [name, String(value)])),
    );
    expect(drift).toHaveLength((there === profile ? 0 : 14) + Object.keys(odd[there]).length);
  });

  it('runs every probe but those of another country, and gives the reason of all that are not run', () => {
    const not_run = report.lines.filter(({ result }) => result === 'not_run');
    expect(not_run.map(({ name }) => name).filter((name) => notProbed[name] === undefined)).toEqual(
      // Without a merchant order before a payment, none can be sorted.
      there === 'field' ? ['qr_in_mexico', 'merchant_order_sort'] : ['qr_in_mexico'],
    );
    expect(not_run.every(({ why }) => (why ?? '').length > 10)).toBe(true);
    expect(report.lines).toHaveLength(Object.keys(facts).length + kits[there].sandbox.assumptions);
  });

  it('leaves no order open, and stays within its bounds', () => {
    const open = [...kits[there].sandbox.world.orders.values()].filter(({ status }) =>
      ['created', 'at_terminal', 'processed'].includes(status),
    );
    expect([open, report.left_open]).toEqual([[], []]);
    expect(report.calls).toBeLessThan(200);
  });
});

it('has a probe or a reason for each assumption, and not both', () => {
  const assumed = listAssumptions(kits.specification.sandbox.world.settings).map(({ name }) => name);
  const shown = chapters.flatMap(({ shows }) => shows);
  expect([...shown, ...Object.keys(notProbed)].toSorted()).toEqual([...assumed, ...Object.keys(facts)].toSorted());
});

it('leaves alone what nobody named: without a virtual terminal and a point of sale it only reads', async () => {
  const kit = kits.field;
  const before = kit.sandbox.world.orders.size;
  const report = await runFidelity(order(kit, { token: tokenOf(URUGUAY) }), () => undefined);
  expect([named(report, 'drift'), kit.sandbox.world.orders.size]).toEqual([
    ['order_id_letters', 'missing_token'],
    before,
  ]);
});

describe('what was made is ended', () => {
  const kit = kits.specification;
  /** Stands between the run and the sandbox. @returns what to answer instead, after the sandbox has: null loses the answer. */
  let meddle: (ask: { method: string; url: string; headers: Record<string, string> }) => number | null | undefined;
  let server: Server;
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const ask = { method: request.method ?? '', url: request.url ?? '', headers: {} as Record<string, string> };
      for (const name of ['authorization', 'content-type', 'x-idempotency-key', 'x-allow-cancelable-status']) {
        const value = request.headers[name];
        if (typeof value === 'string') ask.headers[name] = value;
      }
      const sent = await new Response(Readable.toWeb(request) as ReadableStream).text(); // Node's stream is the DOM's
      const instead = meddle(ask);
      if (instead !== undefined && instead !== null) return response.writeHead(instead).end();
      const { method, headers } = ask;
      const answer = await fetch(kit.sandbox.url + ask.url, {
        method,
        headers,
        ...(sent === '' ? {} : { body: sent }),
      });
      const text = await answer.text();
      if (instead === null) return request.socket.destroy();
      return response.writeHead(answer.status, { 'content-type': 'application/json' }).end(text);
    });
    await listen(server);
  });
  beforeEach(() => {
    meddle = () => undefined;
  });
  afterAll(() => void server.close());
  const open = () =>
    [...kit.sandbox.world.orders.values()]
      .filter(({ status }) => ['created', 'at_terminal', 'processed'].includes(status))
      .map(({ id }) => id);
  const body = (external_reference: string) => ({
    ...{ type: 'point', external_reference, transactions: { payments: [{ amount: '100.00' }] } },
    config: { point: { terminal_id: PAX_TERMINAL } },
  });
  const account = (now = Date.now) => openAccount(url(), tokenOf(ARGENTINA), now, new AbortController().signal);

  it('when the answer to its create is lost', async () => {
    const run = account();
    meddle = () => null;
    await expect(run.create(body('lost-1'))).rejects.toMatchObject({ code: 'unreachable' });
    expect(open()).toHaveLength(1);
    meddle = () => undefined;
    expect([await run.endAll(), open()]).toEqual([[], []]);
    await run.close();
  });

  it('and is named by its reference when upstream does not say which order it is', async () => {
    const run = account();
    meddle = () => 502;
    await run.create(body('lost-2'));
    expect(await run.endAll()).toEqual([expect.stringContaining('lost-2')]);
    await run.close();
  });

  it('when the time of the run is over', async () => {
    let late_ms = 0;
    const run = account(() => Date.now() + late_ms);
    await run.create(body('late-1'));
    late_ms = 3_600_000;
    await expect(run.create(body('late-2'))).rejects.toMatchObject({ code: 'refused' });
    expect([await run.endAll(), open()]).toEqual([[], []]);
    await run.close();
  });

  it('or named: a cancel that the terminal never confirms', async () => {
    let late_ms = 0;
    const run = account(() => {
      late_ms += 4_000;
      return Date.now() + late_ms;
    });
    const { body: made } = await run.create(body('slow-1'));
    await kit.atTerminal('pick_up', {}, PAX_TERMINAL);
    meddle = ({ url: path }) => (path.endsWith('/cancel') ? 202 : undefined);
    expect(await run.endAll()).toEqual(open());
    expect(open()).toEqual([textAt(made, 'id')]);
    meddle = () => undefined;
    expect([await run.endAll().then(() => kit.sandbox.world.clock.advance(60_000)), open()]).toEqual([undefined, []]);
    await run.close();
  });

  it('a create without a key that upstream takes, and a legacy code whose answer is lost', async () => {
    const deletes: string[] = [];
    meddle = ({ method, url: path, headers }) => {
      if (path === '/v1/orders') headers['x-idempotency-key'] ??= 'made-up';
      if (method === 'DELETE') deletes.push(path);
      return path.startsWith('/mpmobile/') ? null : undefined;
    };
    const report = await run(kit, { against: url(), till: TILL });
    expect([report.left_open, open(), deletes]).toEqual([[], [], [expect.stringContaining(TILL)]]);
    expect(report.lines.find(({ name }) => name === 'fact.no_key')).toMatchObject({ seen: '201' });
  });

  it('at Ctrl-C, in a process of its own: another library of the test process may end that at a signal', async () => {
    const folder = newFolder();
    writeFileSync(folder.file('seller.token'), tokenOf(ARGENTINA), { mode: 0o600 });
    let before = -1;
    let child: ChildProcess | undefined;
    meddle = ({ method, url: path }) => {
      if (method !== 'GET' || !/^\/v1\/orders\/ORD(?!01K7Q2V5B8N4T6W9XJ3MEH0R)/.test(path) || before >= 0)
        return undefined;
      before = open().length;
      child?.kill('SIGINT');
      return undefined;
    };
    const words = ['--against', url(), '--token-file', folder.file('seller.token'), '--profile', 'field'];
    const ran = await puente(['fidelity', ...words], {
      started: (one) => {
        child = one;
      },
    });
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('Every order that it made was ended.')]);
    expect([before, open()]).toEqual([1, []]);
    folder.remove();
  });
});

describe('an upstream that echoes what it was sent', () => {
  const token = tokenOf(ARGENTINA);
  const [piece] = token.split('-').toSorted((one, other) => other.length - one.length);
  let server: Server;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const is_me = request.url === '/users/me';
      const code = `bad ${request.headers.authorization} or ${piece}\u001b[2J\n${'x'.repeat(5_000)}`;
      response.writeHead(is_me ? 200 : 400, { 'content-type': 'application/json' });
      const me = { id: Number(ARGENTINA), site_id: 'MLA', tags: ['test_user'] };
      response.end(JSON.stringify(is_me ? me : { errors: [{ code }], status: code }));
    });
    await listen(server);
  });
  afterAll(() => void server.close());

  it('shows neither the token nor a piece of it, no control characters, and little', async () => {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    const change = { against: `http://127.0.0.1:${port}`, terminal: 'PAX_A910__SMARTPOS0000000001', till: TILL };
    const { lines } = await runFidelity(order(kits.field, change), () => undefined);
    const shown = lines.flatMap((line) => [line.seen ?? '', line.why ?? '']);
    expect(shown.join('')).toContain('bad Bearer [token]');
    expect(shown.join('')).not.toContain(piece);
    expect(shown.filter((text) => /\p{Cc}/u.test(text) || text.length > 401)).toEqual([]);
  });
});

describe('an account that is not for tests', () => {
  let server: Server;
  let asked: string[] = [];
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  const live = (change: Partial<FidelityOrder> = {}) =>
    runFidelity({ ...order(kits.field), against: url(), ...change }, () => undefined);
  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const is_me = request.url === '/users/me';
      response.writeHead(is_me ? 200 : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(is_me ? { id: 700100200, site_id: 'MLA', tags: ['normal'] } : { errors: [] }));
    });
    await listen(server);
  });
  afterAll(() => void server.close());

  it('is refused after one call, unless --live is said; then nothing is made that nobody named', async () => {
    await expect(live()).rejects.toMatchObject({ code: 'refused', message: expect.stringContaining('--live') });
    expect(asked).toEqual(['GET /users/me']);
    asked = [];
    const report = await live({ live: true, till: TILL });
    // A till that was named gets orders of its own; what it has already is left alone.
    expect(asked.filter((line) => !line.startsWith('GET '))).toEqual(['POST /v1/orders']);
    expect(report.lines.find(({ name }) => name === 'legacy_qr_code_status')?.why).toContain('of somebody else');
    const reasons = new Set(report.lines.filter(({ result }) => result === 'not_run').map(({ why }) => why));
    expect([...reasons].join('\n')).toContain('it needs a person with a card at the terminal');
  });

  it('is one by its token that begins with TEST-', async () =>
    expect(await live({ token: 'TEST-4004001' })).toMatchObject({ merchant_id: '700100200' }));
});

describe('the command', () => {
  const folder: Folder = newFolder();
  const file = (name: string, text: string, mode = 0o600): string => {
    writeFileSync(folder.file(name), text);
    chmodSync(folder.file(name), mode);
    return folder.file(name);
  };
  const fidelity = (kit: Kit, token_file: string, ...more: string[]) =>
    puente(['fidelity', '--against', kit.sandbox.url, '--token-file', token_file, ...more]);
  const token = tokenOf(URUGUAY);
  afterAll(() => folder.remove());

  it.each<[Profile, number]>([
    ['specification', 0],
    ['field', 1],
  ])('against %s exits with %i, and never prints the token', async (there, code) => {
    const ran = await fidelity(kits[there], file('seller.token', `${token}\n`));
    expect(ran.code, ran.err).toBe(code);
    const golden = join(import.meta.dirname, 'golden', `fidelity-${there}.txt`);
    const text = `$ puente fidelity --against URL --token-file seller.token\n${ran.out}`;
    await expect(text.replaceAll(kits[there].sandbox.url, 'URL')).toMatchFileSnapshot(golden);
    expect(ran.out + ran.err).not.toContain(token);
  });

  it('prints JSON', async () => {
    const { out } = await fidelity(kits.field, file('seller.token', token), '--profile', 'field', '--json');
    const report = JSON.parse(out) as FidelityReport; // as the command prints it
    expect(report).toMatchObject({ site: 'MLU', profile: 'field', sums: { drift: 0 } });
  });

  it('refuses a token file that every user may read, a missing one, one of two lines, and a wrong token', async () => {
    const files = [
      file('open.token', token, 0o644),
      folder.file('none.token'),
      file('two.token', `${token}\n${token}\n`),
      file('wrong.token', 'APP_USR-1-010100-0-1'),
    ];
    let told = '';
    for (const one of files) {
      const { code, out, err } = await fidelity(kits.field, one);
      told += `${one}: exit code ${code}\n${out}${err}\n`;
    }
    const golden = join(import.meta.dirname, 'golden', 'fidelity-refused.txt');
    await expect(told.replaceAll(dirname(folder.file('x')), 'FOLDER')).toMatchFileSnapshot(golden);
    expect(told).not.toContain(token);
  });

  it.each([
    ['none', 'api'],
    ['one in the clear to another machine', 'http://api.example'],
    ['one with credentials', 'https://user:pass@api.example'],
    ['one with a query', 'https://api.example/?to=other'],
  ])('refuses as URL %s', async (_name, against) => {
    const options = { against, tokenFile: file('seller.token', token), profile: 'field' };
    await expect(checkFidelity('/', options, () => undefined)).rejects.toMatchObject({ code: 'bad_request' });
  });
});
