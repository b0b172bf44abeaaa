/** Names and tags of merchants: set, imported from a file, shown and searched; bulk moves and the fleet select by tag. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { PuenteError, type Said } from '../../src/error.ts';
import { say } from '../../src/locales/message.ts';
import { wordsOf } from '../../src/locales/words.ts';
import { type OpsParts, runRow } from '../../src/ops/api/route.ts';
import { choicesOf } from '../../src/ops/cli/rows.ts';
import { html, saysAll } from '../../src/ops/html.ts';
import { namedTwice, nearMerchants } from '../../src/ops/seen.ts';
import { ANA, ARGENTINA, BEN, BRAZIL, call, DEVICE, EVA, eventually, MEXICO, POINT, tokenOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { openConsole } from './console/browser.ts';
import { command } from './moves/command.ts';
import { startMoves } from './moves/kit.ts';

const bench = openForAll(() => startMoves());
const puente = (...argv: string[]) => command(argv, { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: BEN.token });
const why = ['--reason', 'a test names it'];
const fleet = async (query: string): Promise<string[]> => {
  const { body } = await bench.as(ANA, 'GET', `/api/fleet?sort=merchant&${query}`);
  return (body as { merchants: { merchant_id: string }[] }).merchants.map(({ merchant_id }) => merchant_id); // the API's shape
};

it.each([
  ['a tag of two words', { tags: ['two words'] }],
  ['a name of two lines', { name: 'one\ntwo' }],
  ['an empty name', { name: '' }],
])('refuses %s', async (_what, change) => {
  expect((await bench.notify(ARGENTINA, change)).status).toBe(400);
});

it('sets, shows and takes back', async () => {
  const set = ['merchants', 'set', ARGENTINA, '--new', '--name', 'Café Sur', '--tags', 'centro', 'wave-1', ...why];
  expect((await puente(...set)).out).toContain(`merchant ${ARGENTINA} (Café Sur), site`);
  expect((await puente('merchants', 'list')).out).toMatch(/Café Sur.*centro wave-1/);
  expect((await puente('fleet')).out).toContain('Café Sur');
  const { body } = await bench.as(ANA, 'GET', `/api/report?merchant=${ARGENTINA}`);
  expect(body).toMatchObject({ merchants: [{ merchant_id: ARGENTINA, name: 'Café Sur' }] });
  await puente('merchants', 'set', ARGENTINA, '--tags', 'default', ...why);
  const audit = await bench.as(ANA, 'GET', `/api/audit?subject=${ARGENTINA}`);
  for (const change of ['tags: the default → centro, wave-1', 'tags: centro, wave-1 → the default'])
    expect(audit.text).toContain(change);
  expect((await bench.as(ANA, 'GET', `/api/merchants/${ARGENTINA}`)).body).toMatchObject({
    name: 'Café Sur',
    tags: [],
  });
});

it('is shown beside the id in the lists of sales, notices, receivers and decommission', async () => {
  await bench.notify(ARGENTINA, { name: 'Café Sur', notice_url: 'http://127.0.0.1:9/' });
  expect((await bench.move({ stage: 'orders', override: true })).status).toBe(200);
  await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1500 } });
  await bench.atTerminal('pay');
  await eventually(
    () => puente('notices', 'receivers'),
    ({ out }) => out.includes(ARGENTINA),
  );
  const { page, go, close } = await openConsole(bench, BEN);
  for (const [list, place] of [
    ['sales', '/sales'],
    ['notices', '/notices'],
    ['notices/receivers', '/notices'],
    ['decommission', '/decommission'],
  ] as const) {
    expect((await bench.as(ANA, 'GET', `/api/${list}`)).text).toMatch(/"(?:merchant_)?name":"Café Sur"/);
    const { out } = await puente(...(list === 'notices' ? ['notices', 'list'] : list.split('/')));
    expect([list, out]).toEqual([list, expect.stringContaining('Café Sur')]);
    await go(place);
    expect([list, await page.locator('tbody').allTextContents()]).toEqual([
      list,
      expect.arrayContaining([expect.stringContaining(`${ARGENTINA} (Café Sur)`)]),
    ]);
  }
  expect(await page.locator('thead').innerText()).toContain('Units that may go');
  await close();
});

it('is shown beside the id in bulk moves, ramps, brown-outs and what they refused', async () => {
  const named = `${ARGENTINA} (Café Sur)`;
  await bench.move({ stage: 'legacy', override: true });
  const minute = (later: number): string => new Date(Date.now() + later * 60_000).toISOString();
  const window = { merchants: [ARGENTINA], from: minute(-1), until: minute(9), reason: 'drill one' };
  const { id } = (await bench.as(EVA, 'POST', '/api/brownouts', window)).body as { id: string };
  await bench.till(`${POINT}/devices/${DEVICE}/payment-intents`, { body: { amount: 1600 } });
  expect((await puente('brownout', 'abort', id, ...why)).code).toBe(0);
  const start = ['bulk', 'start', '--where', 'stage=legacy', '--stage', 'shadow', ...why, '--json', '--follow'];
  const bulk = JSON.parse((await puente(...start)).out) as { id: string };
  const ramp = ['ramp', ARGENTINA, '--steps', '100', '--soak', '1h', '--min-sales', '5', ...why, '--json'];
  const { id: ramp_id } = JSON.parse((await puente(...ramp)).out) as { id: string };
  const { page, go, close } = await openConsole(bench, BEN);
  for (const [place, ...argv] of [
    ['/brownouts', 'brownout', 'list'],
    [`/brownouts/${id}`, 'brownout', 'show', id],
    [`/bulk/${bulk.id}`, 'bulk', 'show', bulk.id],
    ['/ramps', 'ramps', 'list'],
    [`/ramps/${ramp_id}`, 'ramps', 'show', ramp_id],
  ] as const) {
    expect([argv, (await puente(...argv)).out]).toEqual([argv, expect.stringContaining('Café Sur')]);
    await go(place);
    const cells = (await page.locator('tbody').allTextContents()).filter((text) => text.includes(named));
    expect([place, cells.length]).toEqual([place, 1]);
    if (place === `/brownouts/${id}`)
      expect(await page.locator('dl.facts').innerText()).toMatch(/Calls refused\s+1\s+Units refused\s+1/);
  }
  await go(`/ramps?merchants=${ARGENTINA}&steps=100&soak_hours=1&min_sales=5`);
  expect(await page.locator('#start summary').first().innerText()).toContain(`${named}:`);
  await go(`/ramps/${ramp_id}`);
  expect(await page.locator('#ramp h2').innerText()).toContain(named);
  await go('/audit');
  expect(await page.locator('tbody').innerText()).toContain(named);
  await close();
  const preview = ['ramp', ARGENTINA, '--steps', '100', '--soak', '1h', '--min-sales', '5', '--dry-run'];
  for (const argv of [preview, ['ramps', 'show', ramp_id, ARGENTINA], ['audit', 'list']])
    expect([argv, (await puente(...argv)).out]).toEqual([argv, expect.stringContaining('Café Sur')]);
});

it('is shown in the sentences about a move, and last in each list of a report as CSV', async () => {
  const named = `${ARGENTINA} (Café Sur)`;
  for (const argv of [
    ['stage', ARGENTINA, 'legacy', '--dry-run'],
    ['safety', 'show', ARGENTINA],
    ['can-migrate', ARGENTINA],
    ['rollback', ARGENTINA, ...why],
    ['rollback', ARGENTINA, ...why],
    ['stage', ARGENTINA, 'shadow', ...why],
    ['stage', ARGENTINA, 'shadow', ...why],
  ])
    expect([argv, (await puente(...argv)).out]).toEqual([argv, expect.stringContaining(named)]);
  const lists: Record<string, boolean> = {};
  for (const part of choicesOf('report', 'part')) {
    const { text } = await bench.as(ANA, 'GET', `/api/report?format=csv&part=${part}`);
    const [head = '', ...rows] = text.trimEnd().split('\r\n');
    expect([part, head.endsWith(',"merchant_name"')]).toEqual([
      part,
      head.includes('"merchant_id"') && !head.includes('"name"'),
    ]);
    if (head.endsWith(',"merchant_name"')) lists[part] = rows.some((row) => row.endsWith(',"Café Sur"'));
  }
  expect(lists).toEqual({
    ...{ exchanges: true, move_sums: true, receivers: true, sales: true },
    ...{ approvals: false, differences: false, findings: false, unmatched: false },
  });
});

it('is shown in refusals, and their commands have the id alone', async () => {
  const named = `${ARGENTINA} (Café Sur)`;
  const refused = await puente('stage', ARGENTINA, 'orders', ...why);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(`${named} is not moved.`)]);
  expect(refused.err).toMatch(new RegExp(`\`puente [a-z ]+ ${ARGENTINA}[ \`]`));
  for (const argv of [
    ['safety', 'reset', ARGENTINA, '--kind', 'qr', ...why],
    ['differences', 'show', ARGENTINA, '0a1b2c3d4e5f6071'],
    ['trace', 'nothing-of-it', '--merchant', ARGENTINA],
    ['stage', ARGENTINA, 'canary', '--share', '5', '--unit-in', 'point:OTHER', ...why],
  ])
    expect([argv, (await puente(...argv)).err]).toEqual([argv, expect.stringContaining(named)]);
  const { revision } = await bench.stageOf();
  const ask = { kind: 'qr', revision, reason: 'a test' };
  const reset = await bench.as(BEN, 'POST', `/api/merchants/${ARGENTINA}/safety/reset`, ask);
  const facts = { kind: 'qr', merchant: ARGENTINA, merchant_name: 'Café Sur' };
  expect(reset.body).toMatchObject({ said: [{ code: 'refusal.no_stop', facts }] });
  const others = { credential: tokenOf(ARGENTINA), revision: 0, new: true, reason: 'a test' };
  const { text } = await bench.as(BEN, 'PUT', `/api/merchants/${BRAZIL}`, others);
  expect(text).toContain(`is of merchant ${named}, not of ${BRAZIL}, so`);
  const es = await openConsole(bench, BEN, { locale: 'es' });
  await es.go(`/trace?id=nothing-of-it&merchant=${ARGENTINA}`);
  expect(await es.page.getByRole('alert').innerText()).toContain(named);
  await es.close();
});

it('is shown in the answer of a rollback by alert, and in the title of each page about the merchant', async () => {
  const named = `${ARGENTINA} (Café Sur)`;
  const asked = { alert: 'TillsFail', merchants: [ARGENTINA] };
  const { body } = await bench.as(BEN, 'POST', '/api/rollback-by-alert', asked);
  expect(body).toMatchObject({ names: { [ARGENTINA]: 'Café Sur' } });
  expect((await puente('rollback-by-alert', 'TillsFail', ARGENTINA)).out).toContain(named);
  const { page, go, close } = await openConsole(bench, EVA);
  for (const below of ['', '/settings', '/lanes', '/decommission', '/charts', '/erase']) {
    expect([below, await go(`/merchants/${ARGENTINA}${below}`)]).toEqual([below, 200]);
    expect([below, await page.locator('h1').innerText()]).toEqual([
      below,
      expect.stringMatching(/700100200 · Café Sur$/),
    ]);
  }
  expect(await page.locator('main .target').first().innerText()).toContain(named);
  await page.getByRole('button', { name: 'Show what would be erased' }).click();
  await page.locator('#found').waitFor();
  expect(await page.locator('h1').innerText()).toMatch(/ · Café Sur$/);
  await go('/reports/sums');
  await page
    .getByRole('cell', { name: named })
    .or(page.getByRole('rowheader', { name: named }))
    .first()
    .waitFor();
  await close();
});

it('is shown in what a plan notes and leaves as it is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'puente-names-'));
  const file = join(folder, 'shops.yaml');
  writeFileSync(file, `merchants:\n  - id: "${ARGENTINA}"\n    notice_url: https://shop.example/in\n`);
  const as_viewer = { PUENTE_OPS_URL: bench.app.ops_url, PUENTE_OPS_TOKEN: ANA.token };
  const { out } = await command(['plan', file], as_viewer);
  expect(out).toContain(`${ARGENTINA} (Café Sur): notice URL: not compared`);
  expect(out).toMatch(/700100200 \(Café Sur\).*name: Café Sur/);
});

it.each([
  ['rollback', 'Cfae Sur', ...why],
  ['can-migrate', 'cafe sur'],
  ['merchants', 'show', 'cafe sur'],
  ['decommission', 'cafe sur'],
  ['differences', 'show', 'cafe sur', '0a1b2c3d4e5f6071'],
  ['report', 'cafe sur'],
  ['reconcile', '--merchant', 'cafe sur'],
  ['trace', 'nothing-of-it', '--merchant', 'Cfae Sur'],
  ['can-migrate', '700100200 (Café Sur)'],
  ['rollback-by-alert', 'TillsFail', 'Cfae_Sur'],
  ['bulk', 'start', 'Cafesur', '--stage', 'shadow', ...why],
  ['ramp', 'Cafesur', '--steps', '100', '--soak', '1h', '--min-sales', '5', ...why],
])('a name in place of an id names the merchant that it is near: %s %s', async (...argv) => {
  const { code, err } = await puente(...argv);
  expect([code, err]).toEqual([1, expect.stringMatching(/is not one\. Near it: 700100200 \(Café Sur\)/)]);
});

it('what was typed is repeated beside other wrong fields, in each language, and in a file of merchants', async () => {
  const wrong = { merchants: ['Cafesur', 'Zzz'], target: { stage: 'nowhere' }, reason: 'a test' };
  const { body } = await bench.as(BEN, 'POST', '/api/bulk', wrong);
  const { message, said } = body as { message: string; said: Said[] }; // the API's shape
  expect(message).toMatch(
    /^target\.stage: .*; merchants\.0: .*; 'Cafesur' is not one\. Near it: 700100200 \(Café Sur\); merchants\.1: .*; 'Zzz' is not one$/,
  );
  for (const language of ['es', 'pt'] as const)
    expect(String(html`${saysAll(wordsOf(language), message, said)}`)).toMatch(/“Cafesur” [^“]*Café Sur.*“Zzz”/);
  const drill = { ...wrong, from: '2030-01-31T03:00:00Z', until: '2030-01-31T04:00:00Z' };
  expect((await bench.as(EVA, 'POST', '/api/brownouts', drill)).text).toContain('Near it: 700100200 (Café Sur)');
  const text = 'merchants:\n  - id: Cafesur\n    stage: shadow\n';
  const file = await bench.as(BEN, 'POST', '/api/plan', { file: 'shops.yaml', text });
  expect(file.text).toContain("'Cafesur' is not one. Near it: 700100200 (Café Sur)");
});

it('a refusal stays as it is where the store does not answer', async () => {
  const refused = new PuenteError('refused', say('refusal.no_stop', { kind: 'qr', merchant: ARGENTINA }));
  const run = () => Promise.reject(refused);
  const row = { method: 'GET', path: '/', role: 'viewer', summary: '', answer: z.null(), command: '', run } as const;
  const person = { name: 'ana', role: 'viewer' } as const;
  const ask = { path: {}, query: {}, body: undefined, person, signal: new AbortController().signal };
  const merchantNames = () => Promise.reject(new PuenteError('store_failed', 'The store is gone.'));
  const parts = { ports: { store: { merchants: { merchantNames } } } } as unknown as OpsParts; // all that it reads
  await expect(runRow(row, parts, ask)).rejects.toBe(refused);
});

it('imports CSV and YAML, after a dry run that changes nothing, and refuses what was never seen', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'puente-names-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const csv = file(
    'shops.csv',
    `id,name,tags\n${ARGENTINA},,centro\n${BRAZIL},"Padaria ""Sol"", Centro",centro norte\n`,
  );
  const load = ['merchants', 'import', '--file', csv, ...why];
  expect((await puente(...load)).err).toContain(`The merchant ${BRAZIL} was never seen`);
  expect((await puente(...load, '--new', '--dry-run')).out).toContain('2 of 2 merchants would be changed');
  expect((await bench.as(ANA, 'GET', `/api/merchants/${BRAZIL}`)).body).toMatchObject({ name: null, tags: [] });
  expect((await puente(...load, '--new')).out).toContain('2 of 2 merchants are changed');
  expect((await puente(...load)).out).toBe('0 of 2 merchants are changed\n');
  const semicolons = file('lojas.csv', `id;name;tags\n${BRAZIL};Padaria Sol;centro,norte\n`);
  expect((await puente('merchants', 'import', '--file', semicolons, ...why)).out).toContain('1 of 1');
  const yaml = file('shops.yaml', `- id: ${MEXICO}\n  name: Tacos Norte\n  tags: [norte]\n`);
  expect((await puente('merchants', 'import', '--file', yaml, '--new', ...why)).out).toContain('1 of 1');
  const excel = file('excel.csv', '');
  writeFileSync(excel, `id;name\r\n${BRAZIL};Padaria São José\r\n`, 'latin1');
  expect((await puente('merchants', 'import', '--file', excel, ...why)).err).toContain('excel.csv is not UTF-8');
  const bad = file('bad.csv', 'merchant,name\n1,x\n');
  expect((await puente('merchants', 'import', '--file', bad, ...why)).err).toContain(
    'bad.csv: The first line must name the columns',
  );
  // What is not quoted as CSV has it would be cut, and its rest taken for tags.
  for (const [nth, row] of [`${BRAZIL},Padaria, Sol,centro`, `${BRAZIL},"Sol" Centro`, `${BRAZIL},"Sol`].entries()) {
    const cut = file(`cut${nth}.csv`, `id,name,tags\n\n${ARGENTINA},,\n${row}\n`);
    expect((await puente('merchants', 'import', '--file', cut, ...why)).err).toContain(
      `cut${nth}.csv: Line 4 has more cells than the first line names, or a quotation mark out of place`,
    );
  }
  const spaced = file('spaced.csv', `id, name, tags,\n${BRAZIL}, "Padaria, (Sol)" ,centro,\n`);
  const looked = await puente('merchants', 'import', '--file', spaced, '--dry-run', '--json', ...why);
  expect(JSON.parse(looked.out)).toMatchObject({ merchants: [{ name: 'Padaria, (Sol)', tags: ['centro'] }] });
  // An empty first cell, and what a spreadsheet leaves of deleted lines.
  const empty = file('empty.csv', `tags,id,name\n,${BRAZIL},"Padaria; (Sol)"\n,,\n;;\n`);
  const read = await puente('merchants', 'import', '--file', empty, '--dry-run', '--json', ...why);
  expect(JSON.parse(read.out)).toMatchObject({
    merchants: [{ merchant_id: BRAZIL, name: 'Padaria; (Sol)', tags: [] }],
  });
  expect(JSON.parse(read.out).merchants).toHaveLength(1);
  const lost = file('lost.csv', `id,name\n${ARGENTINA},\n${BRAZIL},Padaria S\uFFFDo Jos\uFFFD\n`);
  expect((await puente('merchants', 'import', '--file', lost, ...why)).err).toContain(
    'lost.csv: Line 3 has characters that were lost when it was read (\uFFFD): save the file as UTF-8',
  );
  const lost_plan = file('lost.yaml', `merchants:\n  - id: ${BRAZIL}\n    name: S\uFFFDo\n`);
  expect((await puente('plan', lost_plan)).err).toContain('lost.yaml: Line 3 has characters that were lost');
  const merchants = [{ merchant_id: ARGENTINA }, { merchant_id: BRAZIL, name: 'S\uFFFDo' }];
  expect((await bench.as(BEN, 'POST', '/api/merchants/import', { merchants, reason: 'names' })).body).toMatchObject({
    error: 'bad_request',
    message: expect.stringMatching(/merchants\.1\.name.*characters that were lost/),
  });
  expect((await puente('merchants', 'set', BRAZIL, '--tags', 'caf\uFFFD', ...why)).err).toContain(
    'characters that were lost',
  );
  const twice = file('twice.yaml', `- id: ${MEXICO}\n  name: Tacos\n  name: Tortas\n`);
  expect((await puente('merchants', 'import', '--file', twice, ...why)).err).toContain('twice.yaml:3:3: ');
  const none = file('none.yaml', 'id: 1\n');
  expect((await puente('merchants', 'import', '--file', none, ...why)).err).toContain('none.yaml: This is no list');
});

it('finds by name and tag, without case and accents, and selects by tag for a bulk move', async () => {
  const tagged = await eventually(
    () => fleet('tag=norte'),
    (found) => found.length > 1,
  );
  expect(tagged).toEqual([BRAZIL, MEXICO]);
  expect(await fleet('search=CAFE')).toEqual([ARGENTINA]);
  expect(await fleet('search=padaria')).toEqual([BRAZIL]);
  const listed = JSON.parse((await puente('merchants', 'list', '--search', 'NORTE', '--json')).out) as { id: string }[];
  expect(listed.map(({ id }) => id)).toEqual([BRAZIL, MEXICO]);
  const near = await puente('rollback', 'cafe sur', ...why);
  expect([near.code, near.err]).toEqual([1, expect.stringContaining(`Near it: ${ARGENTINA} (Café Sur).`)]);
  const bulk = ['bulk', 'start', '--where', 'tag=norte', '--stage', 'shadow', ...why, '--json'];
  const { items } = JSON.parse((await puente(...bulk)).out) as { items: { merchant_id: string }[] };
  expect(items.map(({ merchant_id }) => merchant_id)).toEqual([BRAZIL, MEXICO]);
});

it('the console shows names and tags, and its search finds merchants by name', async () => {
  const { ops_url } = bench.app;
  const door = await call(`${ops_url}/sign-in`, { headers: { accept: 'text/html' } });
  const form_token = /name="form_token" value="([0-9a-f]+)"/.exec(door.text)?.[1] ?? '';
  const sent = await call(`${ops_url}/sign-in`, {
    method: 'POST',
    body: new URLSearchParams({ form_token, token: BEN.token }).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: ops_url, 'sec-fetch-site': 'same-origin' },
  });
  const cookie = String([sent.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
  const page = async (path: string, more: Record<string, string> = {}): Promise<string> =>
    (await call(ops_url + path, { headers: { accept: 'text/html', cookie, ...more } })).text;
  expect(await page('/?tag=norte')).toMatch(/Padaria Sol[\s\S]*href="\/\?tag=centro"[\s\S]*Tacos Norte/);
  expect(await page(`/merchants/${BRAZIL}`)).toContain(`Merchant ${BRAZIL} · Padaria Sol`);
  // A part of it that htmx loads asks for no name.
  const part = await page(`/merchants/${BRAZIL}/lanes`, { 'hx-request': 'true' });
  expect(part).toContain(`<title>`);
  expect(part).not.toContain('Padaria Sol');
  expect(await page('/trace?id=tacos')).toContain(`<a href="/merchants/${MEXICO}">${MEXICO} (Tacos Norte)</a>`);
  expect(await page('/trace?id=nobody')).toContain('role="alert"');
});

it('a name that is alike is near', async () => {
  const known = [
    { id: '700100201', settings: { name: 'Café Sur', tags: null } },
    { id: '700100222', settings: { name: null, tags: ['norte 042'] } },
    { id: '700100303', settings: { name: '042', tags: null } },
    { id: '700100404', settings: { name: 'Tienda 7', tags: ['07'] } },
  ];
  expect(await nearMerchants('Cfae Sur', known)).toEqual(['700100201 (Café Sur)']);
  expect(await nearMerchants('sur', known)).toEqual(['700100201 (Café Sur)']);
  expect(await nearMerchants('700100223', known)).toEqual(['700100222']);
  expect(await nearMerchants('Oriente', known)).toEqual([]);
  // Digits are an id; a name or tag of digits is near it, a whole one before a part.
  expect(await nearMerchants('042', known)).toEqual(['700100303 (042)']);
  expect(await nearMerchants('07', known)).toEqual(['700100404 (Tienda 7)']);
  expect(await nearMerchants('norte', known)).toEqual(['700100222']);
  expect(await nearMerchants('.', known)).toEqual([]);
  // As this names it, and a longer text by its beginning.
  expect(await nearMerchants('700100201 (Café Sur)', known)).toEqual(['700100201 (Café Sur)']);
  const long = { id: '700100505', settings: { name: 'x'.repeat(80), tags: null } };
  expect(await nearMerchants('x'.repeat(100_000), [...known, long])).toEqual([`700100505 (${long.settings.name})`]);
});

it('compares what was typed with each merchant a bounded number of times, and looks at each id of a list once', async () => {
  let reads = 0;
  const known = Array.from({ length: 10_000 }, (_, nth) => ({
    get id() {
      reads++;
      return String(700_000_000 + nth);
    },
    settings: { name: `Shop ${nth}`, tags: null },
  }));
  const looked = nearMerchants('70000123', known);
  const reads_at: number[] = [];
  while (reads_at.at(-1) !== reads) {
    reads_at.push(reads);
    await new Promise((resolve) => setImmediate(resolve));
  }
  // Other work runs in between.
  expect(reads_at.length).toBeGreaterThan(40);
  expect(await looked).not.toEqual([]);
  expect(reads).toBeLessThan(3 * known.length);
  const ids = Array.from({ length: 10_000 }, (_, nth) => String(nth));
  let steps = 0;
  const counted = function* () {
    for (const id of [...ids, '9999', '1']) {
      steps++;
      yield id;
    }
  };
  expect([namedTwice(counted()), steps, namedTwice(ids)]).toEqual(['9999', 10_001, undefined]);
  // The array has no method that walks it again for every id.
  const walked = Object.assign([...ids], { indexOf: refuse, includes: refuse, lastIndexOf: refuse });
  expect(namedTwice(walked)).toBeUndefined();
});

function refuse(): never {
  throw new Error('the list is walked again');
}
