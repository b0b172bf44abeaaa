/** The filter `merchant` of every list: a merchant by its id or name, and several by a tag, in API, commands and console. */
import { beforeAll, describe, expect, it } from 'vitest';
import { opsRoutes } from '../../src/ops/api/api.ts';
import { commandRows } from '../../src/ops/api/rows.ts';
import type { Ports } from '../../src/ops/ports.ts';
import { merchantsMeant, ofEach } from '../../src/ops/whose.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, CHILE, call, DEVICE, EVA, eventually, MEXICO, POINT, URUGUAY } from '../kit.ts';
import { openForAll } from '../open.ts';
import { FAST } from '../proxy/http/till.ts';
import { command as run } from './moves/command.ts';
import { messageOf, startMoves } from './moves/kit.ts';

const SETTINGS = {
  ...FAST,
  PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
  PUENTE_MOVES_GATE: 'advise',
  PUENTE_MOVES_SECOND_APPROVER: 'true',
  PUENTE_SAFETY_MIN_SAMPLE: '4',
  PUENTE_SAFETY_FAULT_SHARE: '50',
};
const LABELS: Record<string, { name: string; tags: string[] }> = {
  [ARGENTINA]: { name: 'Café Sur', tags: ['centro'] },
  [BRAZIL]: { name: 'Padaria Sol', tags: ['centro', 'norte'] },
  [MEXICO]: { name: 'Tacos Norte 042', tags: ['norte'] },
  // Safety stops are theirs alone: a move takes one away.
  [CHILE]: { name: 'Bazar Luz', tags: ['parado'] },
  [URUGUAY]: { name: 'Mercado Este', tags: ['parado'] },
};
const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;
const reason = 'a test lists it';

const bench = openForAll(() => startMoves(SETTINGS));
beforeAll(async () => {
  for (const [merchant, label] of Object.entries(LABELS)) {
    const own = { ...label, capture: true, safety_stop: 'armed', notice_url: 'http://127.0.0.1:9/' };
    expect((await bench.notify(merchant, own)).status).toBe(200);
  }
  // The one that the tag does not have is in the middle, so that pages of one skip it.
  for (const merchant of [ARGENTINA, MEXICO, BRAZIL]) await live(merchant);
  await fail([CHILE, URUGUAY]);
  await eventually(
    () => listed('/api/bulk'),
    (moves) => moves.every(({ state }) => state === 'done'),
  );
});

/** A paid sale on orders; on shadow a create, which orders would refuse in Brazil, and a call of no table; and what moves it. */
async function live(merchant: string): Promise<void> {
  const headers = { 'x-corporation-id': '9' };
  expect((await bench.till(INTENTS, { merchant, headers, body: { amount: 1500 } })).status).toBe(201);
  expect((await bench.atTerminal('pay', { merchant })).status).toBe(200);
  expect((await bench.move({ stage: 'shadow' }, BEN, merchant)).status).toBe(200);
  const payment = merchant === BRAZIL ? { payment: { type: 'voucher_card' } } : {};
  const created = await bench.till(INTENTS, { merchant, body: { amount: 1700, ...payment } });
  expect([merchant, created.status], created.text).toEqual([merchant, 201]);
  await bench.till(`${POINT}/of-no-table`, { merchant });
  const { status } = await bench.move({ stage: 'canary', share: 10 }, BEN, merchant);
  expect(status).toBe(200);
  const merchants = [merchant];
  const ramp = { merchants, steps: [50, 100], soak_ms: 60_000, min_sales: 0, reason };
  expect((await bench.as(BEN, 'POST', '/api/ramps', ramp)).status).toBe(200);
  const bulk = { merchants, target: { stage: 'legacy' }, per_day: 1, reason };
  expect((await bench.as(BEN, 'POST', '/api/bulk', bulk)).status).toBe(200);
  const window = { merchants, from: '2030-01-31T03:00:00Z', until: '2030-01-31T04:00:00Z', reason };
  expect((await bench.as(EVA, 'POST', '/api/brownouts', window)).status).toBe(200);
}

/** Creates on orders that upstream fails, until the safety stop of each. */
async function fail(merchants: string[]): Promise<void> {
  const fault = { method: 'POST', path: '/v1/orders', kind: 'error', status: 500, code: 'internal_error' };
  await bench.control('/faults', { body: { ...fault, times: 'always' } });
  const creates = merchants.flatMap((merchant) =>
    [1, 2, 3, 4, 5].map((nth) => {
      const device = `NEWLAND_N950__LOAD000000${nth}`;
      return bench.till(`${POINT}/devices/${device}/payment-intents`, { merchant, body: { amount: 1500 + nth } });
    }),
  );
  await Promise.all(creates);
  await bench.control('/faults', { method: 'DELETE' });
}

type Line = Record<string, unknown>;

/** The rows of a list, as the API or a command answers them; whole where they are lines of a file. */
function linesIn(body: unknown): Line[] {
  const list = Array.isArray(body) ? body : Object.values(body as object).find((value) => Array.isArray(value)); // each answer has one list
  return list as Line[];
}

const listed = async (path: string, merchant?: string): Promise<Line[]> => {
  const query =
    merchant === undefined ? '' : `${path.includes('?') ? '&' : '?'}merchant=${encodeURIComponent(merchant)}`;
  const answer = await bench.as(ANA, 'GET', path + query);
  expect([path, merchant, answer.status], answer.text).toEqual([path, merchant, 200]);
  if (!path.startsWith('/api/exchanges')) return linesIn(answer.body);
  const exchanges = answer.text.trim().split('\n').slice(1, -1);
  return exchanges.map((line) => JSON.parse(line) as Line);
};

/** Fields that may change between two looks: verdicts are made, and ramps looked at, meanwhile. */
const still = (lines: readonly Line[]): string[] =>
  lines.map(({ merchants, ...line }) => JSON.stringify({ ...line, detail: null, summary: null, summary_said: null }));

/** Every list with the filter, and the rows that each of these merchants has in it at least. */
const LISTS: Record<string, string> = {
  '/api/audit': 'audit list',
  '/api/brownouts': 'brownout list',
  '/api/bulk': 'bulk list',
  '/api/captured': 'capture list',
  '/api/decommission': 'decommission',
  '/api/differences': 'differences list',
  '/api/exchanges': 'capture export',
  '/api/incidents': 'incidents list',
  '/api/losses': 'losses',
  '/api/moves': 'moves list',
  '/api/notices': 'notices list',
  '/api/notices/receivers': 'notices receivers',
  '/api/ramps': 'ramps list',
  '/api/safety': 'safety show',
  '/api/sales': 'sales',
  '/api/unknowns': 'unknowns',
  '/api/verdicts': 'verdicts',
};
/** Their field `merchant` is one merchant, by its id: files and stories of one, and what changes something. */
const OF_ONE = ['/api/report', '/api/report/compare', '/api/report/figures', '/api/report/sums', '/api/trace'];
/** Lists in which only these two, or the first alone, have rows. */
const OF_TWO = ['/api/safety', '/api/differences'];
const [ONE, OTHER, TAG] = [ARGENTINA, BRAZIL, 'centro'];
const sought = (path: string): [one: string, name: string, other: string, tag: string] =>
  path === '/api/safety'
    ? [CHILE, 'BAZAR', URUGUAY, 'Parado']
    : path === '/api/differences'
      ? [OTHER, 'padaria', ONE, TAG]
      : [ONE, 'cafe s', OTHER, TAG];

it('each list has it', () => {
  const filtered = commandRows.filter(({ method, properties }) => method === 'GET' && 'merchant' in properties);
  expect(
    filtered
      .map(({ path }) => path)
      .filter((path) => !OF_ONE.includes(path))
      .toSorted(),
  ).toEqual(Object.keys(LISTS).toSorted());
  // Rows without the filter are about no merchant, or about merchants themselves.
  const lists = opsRoutes.filter(({ method, path }) => method === 'GET' && !path.includes(':'));
  const others = lists.map(({ path }) => path).filter((path) => !(path in LISTS) && !OF_ONE.includes(path));
  expect(others.toSorted()).toMatchInlineSnapshot(`
    [
      "/api/alerts",
      "/api/assumptions",
      "/api/audit/verify",
      "/api/backup",
      "/api/doctor",
      "/api/fleet",
      "/api/limitations",
      "/api/merchants",
      "/api/openapi.json",
      "/api/plan/drift",
      "/api/plan/export",
      "/api/tables",
    ]
  `);
});

describe.each(Object.keys(LISTS))('%s', (path) => {
  const [one, name, other, tag] = sought(path);

  it('is that of one merchant by its id and by a part of its name, and of several by a tag, in the order of all', async () => {
    const [of_one, of_other] = await eventually(
      () => Promise.all([listed(path, one), listed(path, other)]),
      ([first, second]) => first.length > 0 && (second.length > 0 || path === '/api/differences'),
    );
    expect(still(await listed(path, name))).toEqual(still(of_one));
    const own = new Set(still([...of_one, ...of_other]));
    const all = still(await listed(path));
    const found = still(await listed(path, tag));
    expect(found).toEqual(all.filter((line) => own.has(line)));
    expect(new Set(found)).toEqual(own);
    if (!OF_TWO.includes(path)) expect(found.length).toBeLessThan(all.length);
  });

  it('refuses a text that no name and no tag has, with those that are near it', async () => {
    const refused = await bench.as(ANA, 'GET', `${path}?merchant=Cfae%20Sur`);
    expect([refused.status, messageOf(refused)]).toEqual([
      404,
      `No merchant has Cfae Sur in its name or tags; see \`puente merchants list\`. Near it: ${ARGENTINA} (Café Sur).`,
    ]);
    // Digits are a whole id: a mistyped one never shows the rows of another merchant.
    const mistyped = await bench.as(ANA, 'GET', `${path}?merchant=${one.slice(0, -1)}`);
    expect([mistyped.status, messageOf(mistyped)]).toEqual([404, expect.stringContaining(one)]);
    const shop = await bench.as(ANA, 'GET', `${path}?merchant=042`);
    expect([shop.status, messageOf(shop)]).toEqual([
      404,
      expect.stringContaining(`Near it: ${MEXICO} (Tacos Norte 042).`),
    ]);
  });

  it('the command takes it, too', async () => {
    const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: ANA.token };
    const words = (LISTS[path] ?? '').split(' ');
    const by = (typed: string) => run([...words, '--merchant', typed, '--json'], env);
    const { out, code, err } = await by(tag);
    // A capture is sent away: it says whom it was made of.
    expect(err).toBe(
      path === '/api/exchanges' ? `It has calls of ${ONE} (Café Sur), ${OTHER} (Padaria Sol) alone.\n` : '',
    );
    if (path === '/api/exchanges') expect(out.split('\n').filter((line) => line.includes(`"${one}"`))).not.toEqual([]);
    else expect(still(linesIn(JSON.parse(out)))).toEqual(still(await listed(path, tag)));
    const long = 'x'.repeat(79);
    expect([code, await by('nobody'), (await by(`${long}ñ`)).err]).toEqual([
      0,
      { code: 1, out: '', err: 'No merchant has nobody in its name or tags; see `puente merchants list`.' },
      expect.stringContaining(`No merchant has ${long}ñ in its name or tags`),
    ]);
  });
});

it('a difference has the name of its merchant, shown and judged', async () => {
  const env = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: BEN.token };
  const [one] = await listed('/api/differences', OTHER);
  const difference = [OTHER, String(one?.signature)];
  const named = `${OTHER} (Padaria Sol)`;
  expect((await run(['differences', 'show', ...difference], env)).out).toContain(named);
  const judge = ['differences', 'judge', ...difference, 'explained', '--note', 'the till does not read it'];
  expect((await run(judge, env)).out).toContain(named);
  const { body } = await bench.as(BEN, 'GET', `/api/differences/${difference.join('/')}`);
  expect(body).toMatchObject({ merchant_id: OTHER, merchant_name: 'Padaria Sol', state: 'explained' });
});

it.each(['/api/ramps', '/api/bulk', '/api/sales'])('%s: pages keep it', async (path) => {
  const all = still(await listed(path, TAG));
  const found: string[] = [];
  for (let before = ''; ; ) {
    const { body } = await bench.as(ANA, 'GET', `${path}?merchant=${TAG}&limit=1${before}`);
    const page = linesIn(body);
    found.push(...still(page));
    const { next = page[0]?.id } = body as { next?: unknown };
    if (typeof next !== 'string') break;
    before = `&before=${next}`;
  }
  expect([path, found]).toEqual([path, all]);
});

it.each(['/api/notices', '/api/incidents', '/api/audit', '/api/captured'])(
  '%s: the newest of all come first',
  async (path) => {
    const [newest] = still(await listed(path, TAG));
    expect(still(await listed(`${path}?limit=1`, TAG))).toEqual([newest]);
  },
);

it('makes the key of each row once, whatever the limit, and ends when nobody waits any more', async () => {
  const whose = Array.from({ length: 50 }, (_, nth) => String(nth));
  const read = async (id?: string) => Array.from({ length: 10 }, (_, nth) => 10 * Number(id) + nth).toReversed();
  let keys = 0;
  const newest = (row: number): number => {
    keys++;
    return row;
  };
  expect(await ofEach(whose, read, null, { limit: 3, newest })).toEqual([499, 498, 497]);
  expect(keys).toBe(500);
  const gone = new AbortController();
  let reads = 0;
  const all = ofEach(
    whose,
    (id) => {
      if (++reads === 2) gone.abort();
      return read(id);
    },
    gone.signal,
  );
  await expect(all).rejects.toThrow('aborted');
  expect(reads).toBe(2);
});

it('a whole name or tag means those that have it, a part of one all that contain it, accents alone nobody', async () => {
  const known = { 1: ['Sol', 'a'], 2: ['Consolidado', 'SOL'], 3: ['Café Sur', 'b'], 4: ['Cafe sur 2', 'b 2'] };
  const merchants = Object.entries(known).map(([id, [name = null, tag = '']]) => ({
    id,
    settings: { name, tags: [tag] },
  }));
  const ports = {
    store: { merchants: { merchants: async () => merchants }, exchanges: { calledMerchants: async () => [] } },
  } as unknown as Ports; // what is read
  const meant = (typed: string) => merchantsMeant(ports, typed);
  expect(await meant('sól')).toEqual(['1', '2']);
  expect(await meant('so')).toEqual(['1', '2']);
  expect(await meant('CAFE SUR')).toEqual(['3']);
  expect(await meant('caf')).toEqual(['3', '4']);
  expect(await meant('B')).toEqual(['3']);
  for (const typed of ['\u0301', '\u0301 \u0308']) await expect(meant(typed)).rejects.toThrow('No merchant has');
  expect(await meant('7\u030100')).toEqual(['700']);
});

it('an id is looked up nowhere', async () => {
  const store = new Proxy({} as Ports['store'], {
    get: () => expect.unreachable('the store is read'),
  });
  expect(await merchantsMeant({ store } as Ports, ARGENTINA)).toEqual([ARGENTINA]); // the rest is not read, either
});

describe('the console', () => {
  let cookie = '';
  beforeAll(async () => {
    const { ops_url } = bench.app;
    const door = await call(`${ops_url}/sign-in`, { headers: { accept: 'text/html' } });
    const form_token = /name="form_token" value="([0-9a-f]+)"/.exec(door.text)?.[1] ?? '';
    const sent = await call(`${ops_url}/sign-in`, {
      method: 'POST',
      body: new URLSearchParams({ form_token, token: ANA.token }).toString(),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: ops_url,
        'sec-fetch-site': 'same-origin',
      },
    });
    cookie = String([sent.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
  });
  const page = async (path: string): Promise<string> =>
    (await call(bench.app.ops_url + path, { headers: { accept: 'text/html', cookie } })).text;
  const links = (text: string): number => new Set(text.match(/href="\/bulk\/[0-9a-f-]+"/g)).size;

  it.each(['/audit', '/brownouts', '/bulk', '/decommission', '/incidents', '/notices', '/ramps', '/sales'])(
    '%s has the rows of a tag, keeps the filter, and says what is near',
    async (path) => {
      const text = await page(`${path}?merchant=Centro`);
      expect(text).toContain('name="merchant" value="Centro"');
      if (path === '/bulk') expect([links(text), links(await page(path))]).toEqual([2, 3]);
      else {
        for (const named of [`${ARGENTINA} (Café Sur)`, `${BRAZIL} (Padaria Sol)`]) expect(text).toContain(named);
        expect(text).not.toContain('(Tacos Norte 042)');
      }
      const none = await page(`${path}?merchant=Cfae%20Sur`);
      expect(none).toContain('value="Cfae Sur"');
      expect(none).toContain(`Near it: ${ARGENTINA} (Café Sur).`);
    },
  );

  it('/captures has the merchants of a tag alone', async () => {
    const text = await page('/captures?merchant=Centro');
    for (const named of [`${ARGENTINA} (Café Sur)`, `${BRAZIL} (Padaria Sol)`]) expect(text).toContain(named);
    expect(text).not.toContain('(Tacos Norte 042)');
    expect(await page('/captures')).toContain('(Tacos Norte 042)');
  });
});
