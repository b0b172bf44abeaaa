/** Reports through the ops door and the command: sums that match the tills' calls, harmless in every form. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadTables } from '../../../src/mapping/load.ts';
import { figuresView } from '../../../src/ops/report/gather.ts';
import { type Report, reportParts } from '../../../src/ops/report/report.ts';
import { type Answer, ARGENTINA, BRAZIL, eventually, MEXICO, OPS_TOKEN, POINT, startReceiver } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { idOf, openShop } from '../../proxy/http/till.ts';
import { HOUSE, puente } from '../../run-cli.ts';
import { command } from '../moves/command.ts';

const EVIL = '=HYPERLINK("http://x.example")<script>alert(1)</script>\u001b[31m\u009b31m';
const SECRET_URL = 'hook-of-this-shop';
const tables = loadTables(join(HOUSE, 'mappings'));
/** The tills' calls: merchant, operation, lane and status of each. */
const ledger: { merchant: string; operation: string; lane: string; status: number }[] = [];

const shop = openForAll(() =>
  openShop({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy', PUENTE_RECONCILE_SWEEP_PER_SECOND: '0' }),
);
const receiver = openForAll(() => startReceiver(() => 500));
beforeAll(async () => {
  await shop.notify(ARGENTINA, { notice_url: `${receiver.url}/${SECRET_URL}?tenant=7`, declined: 'finished' });
  await move(ARGENTINA, 'orders', 'agreed with the shop');
  await move(MEXICO, 'shadow', EVIL);
  const device = shop.freshDevice();
  const sale = { additional_info: { external_reference: 'mesa 1' } };
  const id = idOf(note(ARGENTINA, 'point.create_intent', 'orders', await shop.create(device, sale, of(ARGENTINA))));
  note(ARGENTINA, 'point.create_intent', 'orders', await shop.create(device, { amount: 'x' }));
  note(ARGENTINA, 'point.create_intent', 'orders', await shop.create(device, { amount: 99_900 }));
  for (let turn = 0; turn < 3; turn++) note(ARGENTINA, 'point.get_intent', 'orders', await shop.read(id));
  note(ARGENTINA, '(no operation)', 'legacy', await shop.till('/v1/nothing/here'));
  for (const merchant of [BRAZIL, MEXICO]) {
    const options = of(merchant);
    const born = idOf(note(merchant, 'point.create_intent', 'legacy', await shop.create(device, sale, options)));
    note(merchant, 'point.get_intent', 'legacy', await shop.read(born, options));
    note(merchant, 'point.cancel_intent', 'legacy', await shop.cancel(device, born, options));
  }
  await shop.atTerminal('pay', { device });
  const at_register = shop.freshDevice();
  const paid = idOf(note(BRAZIL, 'point.create_intent', 'legacy', await shop.create(at_register, sale, of(BRAZIL))));
  await shop.atTerminal('pay', { device: at_register, merchant: BRAZIL });
  const { payment } = note(BRAZIL, 'point.get_intent', 'legacy', await shop.read(paid, of(BRAZIL))).body as {
    payment?: { id?: string }; // a finished intent has one
  };
  // The second one repeats the first, as SDKs do after a lost answer.
  for (const [key, body] of [
    ['1', { amount: 5 }],
    ['1', { amount: 5 }],
    ['2', {}],
    ['3', { amount: 2.5 }],
  ] as const) {
    const headers = { ...of(BRAZIL).headers, 'x-idempotency-key': key };
    const refund = await shop.till(`/v1/payments/${payment?.id}/refunds`, { merchant: BRAZIL, headers, body });
    note(BRAZIL, 'payments.create_refund', 'legacy', refund);
  }
  await receiver.waitFor(1);
  await eventually(
    () => report(),
    ({ exchanges, shadow }) => exchanges.count >= ledger.length && shadow.length > 0,
  );
});

const of = (merchant: string) => ({ merchant, headers: { 'x-corporation-id': '9' } });

function note(merchant: string, operation: string, lane: string, answer: Answer): Answer {
  ledger.push({ merchant, operation, lane, status: answer.status });
  return answer;
}

async function move(merchant: string, stage: string, reason: string): Promise<void> {
  const { revision = 0 } = (await shop.ops(`/api/merchants/${merchant}`)).body as { revision?: number }; // 404: unknown
  const path = `/api/merchants/${merchant}/stage`;
  const answer = await shop.ops(path, { method: 'PUT', body: { stage, reason, revision, new: true } });
  expect(answer.status, answer.text).toBe(200);
}

async function report(query = ''): Promise<Report> {
  const answer = await shop.ops(`/api/report?format=json${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as Report; // the API's shape
}

it('refunds that legacy made and refused have their amounts', async () => {
  const { sums } = await report(`&merchant=${BRAZIL}`);
  expect(sums.filter(({ what }) => what === 'refund')).toMatchObject([
    { lane: 'legacy', family: 'payments', outcome: 'refunded', count: 2, amount: '15.00' },
    { lane: 'legacy', family: 'payments', outcome: 'refused', count: 1, amount: '2.50' },
  ]);
});

it('a create that Puente refuses by itself is an error and no sale, and the page says so', async () => {
  const { sums, errors } = await report(`&merchant=${ARGENTINA}`);
  expect(sums.filter(({ outcome }) => outcome === 'refused')).toEqual([]);
  expect(errors).toContainEqual(
    expect.objectContaining({ operation: 'point.create_intent', lane: 'orders', status: 400 }),
  );
  for (const [language, says] of Object.entries({
    en: 'refused by itself',
    es: 'rechazó por sí mismo',
    pt: 'recusou por si mesmo',
  }))
    expect((await shop.ops(`/api/report?format=html&language=${language}`)).text).toContain(says);
});

it('a refund on legacy is traced by its id, with its call', async () => {
  const list = await shop.ops(`/api/report?format=csv&part=sales&merchant=${BRAZIL}`);
  const [head = [], ...lines] = list.text.split('\r\n').map((line) => line.replaceAll('"', '').split(','));
  const id = lines.find((cells) => cells.includes('refund'))?.[head.indexOf('id')];
  expect(await shop.ops(`/api/trace?id=${id}`)).toMatchObject({
    status: 200,
    text: expect.stringContaining('payments.create_refund'),
    body: {
      traces: [{ found_as: 'refund', sale: { family: 'payments', payment_id: expect.stringMatching(/^\d+$/) } }],
    },
  });
});

const countBy = <Item>(items: readonly Item[], key: (item: Item) => string): Record<string, number> =>
  Object.fromEntries([...Map.groupBy(items, key)].map(([name, group]) => [name, group.length]).toSorted());

describe('sums', () => {
  it('agree with what the tills did, fleet-wide and of each merchant', async () => {
    for (const merchant of [null, ARGENTINA, BRAZIL, MEXICO]) {
      const calls = ledger.filter((call) => merchant === null || call.merchant === merchant);
      const found = await report(merchant === null ? '' : `&merchant=${merchant}`);
      expect(found.exchanges.count).toBe(calls.length);
      const lines = found.traffic.map(({ operation, lane, calls }) => [`${operation} ${lane}`, calls] as const);
      expect(Object.fromEntries(lines.toSorted())).toEqual(countBy(calls, (one) => `${one.operation} ${one.lane}`));
      for (const { calls, outcomes } of found.traffic) {
        expect(Object.values(outcomes).reduce((sum, one) => sum + one, 0)).toBe(calls);
      }
      const refused = calls.filter(({ status }) => status >= 400);
      expect(found.errors.reduce((sum, one) => sum + one.calls, 0)).toBe(refused.length);
      expect(found.days.reduce((sum, { legacy, orders }) => sum + legacy + orders, 0)).toBe(calls.length);
      const whole = found.latency.filter(({ operation }) => operation === 'all');
      expect(Object.fromEntries(whole.map(({ lane, calls }) => [lane, calls]))).toEqual(
        countBy(calls, ({ lane }) => lane),
      );
    }
    const fleet = (await report()).merchants.map(({ merchant_id, calls }) => [merchant_id, calls]);
    expect(Object.fromEntries(fleet)).toEqual(countBy(ledger, ({ merchant }) => merchant));
  });

  it('agree with the rows of the store: losses and the revisions of the tables', async () => {
    const found = await report();
    const database = new Database(join(shop.data_dir, 'puente.db'), { readonly: true });
    const rows = database
      .prepare<[], { lost: string | null; tables_revision: string }>('SELECT * FROM exchanges')
      .all();
    const ledgers = database.prepare<[], { count: number; would_be_count: number }>('SELECT * FROM ledger').all();
    database.close();
    const lost = rows.flatMap((row): { would_be: boolean }[] => (row.lost === null ? [] : JSON.parse(row.lost)));
    const sum = (value: (one: Report['losses'][number]) => number) =>
      found.losses.reduce((total, one) => total + value(one), 0);
    expect(lost.length).toBeGreaterThan(1);
    expect(sum(({ count }) => count)).toBe(lost.filter(({ would_be }) => !would_be).length);
    expect(sum(({ would_be_count }) => would_be_count)).toBe(lost.filter(({ would_be }) => would_be).length);
    expect(lost.length).toBe(ledgers.reduce((total, { count }) => total + count, 0));
    expect(found.tables).toEqual([{ revision: found.tables_revision, calls: rows.length }]);
  });
});

it('tells of one merchant what it is to know: notices, decisions, assumptions, limitations, the verdict', async () => {
  const found = await report(`&merchant=${ARGENTINA}`);
  expect(found.notices).toMatchObject([
    { topic: 'point', made: 1, delivered: 0, pending: 1, stuck: 1 },
    { topic: 'payment', made: 1, delivered: 0, pending: 1, stuck: 1 },
  ]);
  expect(found.decisions.find(({ reason }) => reason === 'agreed with the shop')).toMatchObject({
    who: 'operator',
    action: 'stage',
    before: { stage: expect.any(String) },
    after: { stage: 'orders' },
    evidence: { evidence: { verdict: 'inconclusive', exchange_sequence: expect.any(Number) }, touched: {} },
  });
  expect(found.decisions.every(({ subject }) => subject === ARGENTINA)).toBe(true);
  expect(found.assumptions.find(({ name }) => name === 'merchants.declined')?.value).toContain('finished');
  expect(found.readiness).toMatchObject({ merchant_id: ARGENTINA, judged_at: expect.stringMatching(/^20.*Z$/) });
  expect(found.verdicts).toEqual({ ready: 0, blocked: 0, inconclusive: 1 });
  expect((await report(`&merchant=${BRAZIL}`)).limitations, 'nothing of it went to orders').toEqual([]);
});

it('counts the calls that met a limitation, and tells apart those that nobody can count', async () => {
  const { limitations } = await report(`&merchant=${ARGENTINA}`);
  const hits = limitations.flatMap(({ id, hits, calls }) => (hits === null ? [] : [[id, hits, calls]]));
  // Polls faster than `reads.fresh_ms` hit LIM-11, and these polls run without a pause.
  // No notice was delivered, so no receiver saw its sender (LIM-20).
  expect(hits.filter(([id]) => id !== 'LIM-11')).toEqual([['LIM-08', 1, 3]]);
  const called = ledger.filter(({ lane }) => lane === 'orders').map(({ operation }) => operation);
  const unseen = tables.limitations.filter(
    ({ counted, operations }) => 'unseen' in counted && operations.some((one) => called.includes(one)),
  );
  expect(unseen.map(({ id }) => id)).toEqual([
    ...['LIM-02', 'LIM-13', 'LIM-18', 'LIM-58'],
    ...['LIM-60', 'LIM-65', 'LIM-66', 'LIM-75', 'LIM-76', 'LIM-77', 'LIM-91'],
  ]);
  expect(new Set(limitations.flatMap(({ id, unseen: why }) => (why === null ? [] : [id])))).toEqual(
    new Set(unseen.map(({ id }) => id)),
  );
  const csv = await shop.ops('/api/report?format=csv&part=exchanges');
  expect(csv.text.split('\r\n').filter((line) => line.includes('"LIM-08"'))).toHaveLength(1);
});

it('hands out the figures of its charts by themselves, the same as in the report', async () => {
  for (const query of ['', `&merchant=${ARGENTINA}`]) {
    const answer = await shop.ops(`/api/report/figures?${query}`);
    const found = figuresView.parse(answer.body);
    expect(found, 'and nothing else').toEqual(answer.body);
    const { days, waits, notice_days, readiness_days, losses, merchant_id } = await report(query);
    const fields = losses.map(({ operation, path, count, would_be_count }) => {
      return { operation, path, count, would_be_count };
    });
    expect(found).toMatchObject({ merchant_id, days, waits, notice_days, readiness_days, losses: fields });
    expect(found.notice_days).toMatchObject([{ made: 2, stuck: 2 }]);
    expect(Date.parse(found.calls_since ?? '')).toBeLessThan(Date.now());
  }
  const refused = await shop.ops('/api/report/figures?since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z');
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(') must be later than since (')]);
});

describe('the period', () => {
  it.each([
    '?until=2100-01-01T00:00:00Z',
    '/figures?until=2100-01-01T00:00:00Z',
    '/sums?until=2100-01-01T00:00:00Z',
    '/compare?until=2100-01-01T00:00:00Z',
    '/compare?before_since=2100-01-01T00:00:00Z&before_until=2100-01-02T00:00:00Z',
    '/compare?before_until=2100-01-01T00:00:00Z',
  ])('is refused where it begins in the future, as of %s', async (query) => {
    const answer = await shop.ops(`/api/report${query}`);
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('the window begins in the future (')]);
  });

  it.each(['2026-01-01T00:00:00Z', '2025-12-31T00:00:00Z'])(
    'is refused where the earlier one ends on %s, before it begins',
    async (until) => {
      const answer = await shop.ops(`/api/report/compare?before_since=2026-01-01T00:00:00Z&before_until=${until}`);
      expect([answer.status, answer.text]).toEqual([400, expect.stringContaining(') must be later than since (')]);
    },
  );

  it('begins with its first instant and ends before its last', async () => {
    const csv = await shop.ops('/api/report?format=csv&part=exchanges');
    const at = csv.text.split('\r\n')[3]?.split(',')[2]?.replaceAll('"', '') ?? '';
    const later = new Date(Date.parse(at) + 1).toISOString();
    const same = csv.text.split('\r\n').filter((line) => line.includes(`"${at}"`)).length;
    expect((await report(`&since=${at}&until=${later}`)).exchanges.count).toBe(same);
    const [before, from] = [await report(`&until=${at}`), await report(`&since=${at}`)];
    expect(before.exchanges.count + from.exchanges.count).toBe(ledger.length);
  });

  it('of nothing is an honest report in every form', async () => {
    const period = 'since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z';
    expect(await report(`&${period}`)).toMatchObject({ exchanges: { count: 0 }, traffic: [], losses: [] });
    const csv = await shop.ops(`/api/report?format=csv&${period}`);
    expect(csv.text).toBe(
      '"what","lane","family","currency","outcome","count","without_amount","amount_minor","amount"\r\n',
    );
    const traffic = await shop.ops(`/api/report?format=csv&part=traffic&${period}`);
    expect(traffic.text).toBe('"operation","lane","calls","ok","business","auth","fault"\r\n');
    const html = await shop.ops(`/api/report?format=html&${period}`);
    expect(html.text.match(/None in this period/g)?.length).toBeGreaterThan(5);
  });

  it.each([
    ['since=yesterday', 'since'],
    ['until=2026-13-01T00:00:00Z', 'until'],
    ['since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z', ') must be later than since ('],
    ['merchant=abc', 'merchant'],
    ['format=pdf', 'format'],
    ['part=everything', 'part'],
    ['format=html&language=fr', 'language'],
    ['from=1', 'from'],
    ['format=csv&part=sales&currency=ars', 'currency: the three letters of a currency, such as ARS, are needed'],
    ['format=json&part=sales', 'part: read with format=csv alone'],
    ['format=html&outcome=paid', 'outcome: read with format=csv, part=sales alone'],
    ['format=csv&lane=orders&outcome=paid', 'lane, outcome: read with format=csv, part=sales alone'],
  ])('%s is refused, and named', async (query, named) => {
    const answer = await shop.ops(`/api/report?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(named);
  });
});

describe('all formats of a report', () => {
  it('CSV: every list, and every exchange', async () => {
    const json = await report();
    for (const part of reportParts) {
      const answer = await shop.ops(`/api/report?format=csv&part=${part}`);
      expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
      expect(answer.headers['content-disposition']).toContain(`puente-report-all-merchants-${part}.csv`);
      const [head = '', ...rows] = recordsOf(answer.text);
      const listed: object[] = [json[part]].flat();
      expect(rows.length, part).toBe(listed.length);
      const [first] = listed;
      const flat = Object.keys(first ?? {}).flatMap((name) =>
        name === 'outcomes' ? Object.keys({ ...json.traffic[0]?.outcomes }) : [name],
      );
      expect(
        flat.filter((name) => !head.includes(`"${name}"`)),
        `${part} has all columns`,
      ).toEqual([]);
    }
    expect(recordsOf((await shop.ops('/api/report?format=csv&part=exchanges')).text)).toHaveLength(ledger.length + 1);
  });

  it('HTML: whole tags, headed tables, nothing from outside, and a style for paper', async () => {
    const { text, headers } = await shop.ops('/api/report?format=html');
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(unbalanced(text)).toEqual([]);
    for (const [, before = ''] of text.matchAll(/([\s\S]*?)<table>/g))
      expect(before).toMatch(/<h2>[^<]+<\/h2><p>[^<]+<\/p>(?!.*<h2>)/);
    expect(text.match(/<th(?! scope="(col|row)")[ >]/g)).toBeNull();
    const tags = text.match(/<[a-z][^>]*>/g) ?? [];
    for (const tag of tags)
      expect(tag.replace(/"[^"]*"/g, '""')).not.toMatch(/\s(src|href|action|on\w+)=|<(script|link|img|iframe)/);
    expect(text).not.toMatch(/url\(|@import/);
    expect(text).toContain('@media print');
    expect(text).toContain("default-src 'none'");
    // The fleet's verdict stands before its sums: how many merchants stand where.
    const { verdicts } = await report('');
    const stands = text.indexOf(`<p>Where each merchant stands: ${verdicts.ready} ready, `);
    expect(stands).toBeGreaterThan(0);
    expect(stands).toBeLessThan(text.indexOf('<h2>Sales and refunds'));
  });

  it('HTML is in the language that is asked for, English without; what programs read has one', async () => {
    const period = 'since=2026-01-01T00:00:00Z&until=2100-01-01T00:00:00Z';
    const titles = { es: 'Informe de migración: todos los comercios', pt: 'Relatório de migração: todos os lojistas' };
    for (const [language, title] of Object.entries(titles)) {
      const { text, headers } = await shop.ops(`/api/report?format=html&language=${language}&${period}`);
      expect(text).toContain(`<html lang="${language}">`);
      expect(text).toContain(`<h1>${title}</h1>`);
      expect(unbalanced(text)).toEqual([]);
      // The advice for the maker of the till is translated too.
      expect(text).toContain({ es: 'Su caja envía', pt: 'Seu caixa envia' }[language]);
      expect(text).not.toContain('Your till sends');
      expect(headers['content-disposition']).toContain(`puente-report-all-merchants-${language}.html`);
      const csv = await shop.ops(`/api/report?format=csv&part=losses&language=${language}&${period}`);
      expect(csv.text).toBe((await shop.ops(`/api/report?format=csv&part=losses&${period}`)).text);
      const json = (await shop.ops(`/api/report?language=${language}&${period}`)).body as Report; // the API's shape
      expect(json).toEqual({ ...(await report(`&${period}`)), made_at: json.made_at });
    }
    const { text, headers } = await shop.ops(`/api/report?format=html&${period}`);
    expect(text).toContain('<html lang="en">');
    expect(text).toContain('Your till sends');
    expect(headers['content-disposition']).toContain('puente-report-all-merchants.html');
  });

  it('show texts of operators without formulas, markup or control characters [F126 F129 F132]', async () => {
    const decisions = await shop.ops('/api/report?format=csv&part=decisions');
    expect(decisions.text).toContain(`"'=HYPERLINK(""http://x.example"")`);
    const html = await shop.ops('/api/report?format=html');
    expect(html.text).toContain('=HYPERLINK(&quot;http://x.example&quot;)&lt;script&gt;');
    const json = await shop.ops('/api/report');
    expect((json.body as Report).decisions.map(({ reason }) => reason)).toContain(EVIL);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    for (const { text } of [decisions, html, json]) expect(text).not.toMatch(/[\u001b\u009b]/);
  });

  it('show no notice URL and no token [F133]', async () => {
    for (const form of ['json', 'html', 'csv&part=exchanges', 'csv&part=assumptions', 'csv&part=decisions']) {
      const { text } = await shop.ops(`/api/report?format=${form}`);
      for (const secret of [SECRET_URL, 'tenant=7', 'APP_USR', OPS_TOKEN]) expect(text, form).not.toContain(secret);
    }
  });
});

describe('the command', () => {
  const env = () => ({ PUENTE_OPS_URL: shop.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN });
  const folder = mkdtempSync(join(tmpdir(), 'puente-report-'));

  it('writes a file that is whole, or standard output', async () => {
    const file = join(folder, 'report.html');
    const written = await puente(['report', ARGENTINA, '--format', 'html', '--output', file], { env: env() });
    expect(written).toMatchObject({ code: 0, out: '' });
    expect(written.err).toContain('report.html is written.');
    expect(readFileSync(file, 'utf8')).toMatch(/^<!doctype html>[\s\S]+<\/html>\n$/);
    const spanish = await command(['report', ARGENTINA, '--format', 'html', '--language', 'es'], env());
    expect(spanish).toMatchObject({ code: 0, err: '' });
    expect(spanish.out).toContain(`<h1>Informe de migración: comercio ${ARGENTINA}</h1>`);
    const unknown = await command(['report', '--format', 'html', '--language', 'fr'], env());
    expect(unknown).toMatchObject({ code: 2, out: '' });
    const csv = await command(['report', '--format', 'csv', '--part', 'traffic', '--language', 'pt'], env());
    expect(csv).toMatchObject({ code: 0, err: '' });
    expect(csv.out).toContain('"point.create_intent","orders",3,');
    const refused = await command(['report', '--since', 'yesterday'], env());
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('since');
  });

  it('diff tells what changed between two, with the decisions in between', async () => {
    const [before, after] = [join(folder, 'before.json'), join(folder, 'after.json')];
    writeFileSync(before, JSON.stringify(await report()));
    await move(BRAZIL, 'shadow', 'two weeks of good numbers');
    note(BRAZIL, 'point.list_devices', 'legacy', await shop.till(`${POINT}/devices`, { merchant: BRAZIL }));
    await eventually(
      () => report(),
      ({ exchanges }) => exchanges.count >= ledger.length,
    );
    writeFileSync(after, JSON.stringify(await report()));
    const people = await command(['report', 'diff', before, after]);
    expect(people).toMatchObject({ code: 0, err: '' });
    expect(people.out).toMatch(/point\.list_devices legacy\s*│ none\s*│ 1/);
    expect(people.out).toContain('operator: stage of 700100300, legacy → shadow, because: two weeks of good numbers');
    const scripts = await command(['report', 'diff', before, after, '--json']);
    expect(JSON.parse(scripts.out)).toMatchObject({ decisions: [{ reason: 'two weeks of good numbers' }] });
    writeFileSync(before, '{"schema":"puente-report/1","made_at":"","merchant_id":null}');
    const broken = await command(['report', 'diff', before, after]);
    expect(broken).toMatchObject({ code: 1, out: '' });
    expect(broken.err).toContain('is no report of the form');
  });
});

/** RFC 4180: line breaks inside quotes are part of a cell. */
function recordsOf(csv: string): string[] {
  return csv.match(/(?:[^"\r\n]|"(?:[^"]|"")*")+/g) ?? [];
}

/** Tags that are not closed where they must be. */
function unbalanced(html: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, end, name = '', self] of html
    .replace(/<!doctype[^>]*>/, '')
    .matchAll(/<(\/?)([a-z0-9]+)[^>]*?(\/?)>/g)) {
    if (self === '/' || ['meta', 'br'].includes(name)) continue;
    if (end === '') open.push(name);
    else if (open.pop() !== name) wrong.push(name);
  }
  return [...wrong, ...open];
}
