/** The list of sales on the ops door, as a command, and as a page: what was sold is found by what is known of it. */
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import type { MoneyLine } from '../../../src/ops/report/report.ts';
import { salePages } from '../../../src/ops/report/sales.ts';
import { type SalesView, viewSales } from '../../../src/ops/trace/sales.ts';
import { troubleOfLink } from '../../../src/ops/trace/trouble.ts';
import type { Refund } from '../../../src/proxy/records/refunds.ts';
import { ARGENTINA, BRAZIL, CHILE, DEVICE, eventually, OPS_TOKEN, POINT, SECOND_DEVICE, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { idOf, LEFT_IN_DOUBT, openShop } from '../../proxy/http/till.ts';
import { answerJson, orderFor, startOutside, startUnruly } from '../../proxy/http/unruly.ts';
import { portsAt, setMerchant } from '../../proxy/routing/lane-ports.ts';
import { newExchange } from '../../store/contract/evidence-kit.ts';
import {
  auditOf,
  finished,
  MERCHANT,
  NOON,
  newLink,
  newRefund,
  newSale,
  orderId,
} from '../../store/contract/harness.ts';
import { openHarness } from '../../store/sqlite/kit.ts';
import { command } from '../moves/command.ts';

const shop = openForAll(() => openShop());
const ids: Record<string, string> = {};

const sell = async (name: string, amount: number, merchant = ARGENTINA, device = shop.freshDevice()) => {
  const body = { amount, additional_info: { external_reference: name } };
  const answer = await shop.till(`${POINT}/devices/${device}/payment-intents`, { merchant, body });
  if (answer.status === 201) ids[name] = idOf(answer);
  return device;
};

async function listed(query: string): Promise<SalesView> {
  const answer = await shop.ops(`/api/sales?${query}`);
  expect(answer.text).toContain('"sales"');
  return answer.body as SalesView; // the API's shape
}
const names = async (query: string) => (await listed(query)).sales.map((sale) => sale.client_reference);

beforeAll(async () => {
  const device = await sell('paid', 150050);
  await shop.atTerminal('pay', { device });
  await sell('open', 150051);
  await sell('other', 9900, BRAZIL);
  const { revision } = (await shop.ops(`/api/merchants/${BRAZIL}`)).body as { revision: number }; // every view has one
  const stage = { stage: 'legacy', reason: 'a test moves it', revision };
  await shop.ops(`/api/merchants/${BRAZIL}/stage`, { method: 'PUT', body: stage });
  await sell('on legacy', 9900, BRAZIL);
  await shop.notify(ARGENTINA, { name: 'Café Sur', tags: ['Centro'] });
  await shop.notify(BRAZIL, { tags: ['Centro', 'norte'] });
  await shop.fault({ ...LEFT_IN_DOUBT, times: 100 });
  await sell('doubtful', 700);
});

it('a lost sale names its sendings, the last answer and why it was given up', () => {
  const link = newLink({ state: 'LOST', attempts: 3 });
  const exchange = {
    ...newExchange({}),
    sequence: 1,
    signatures: [],
    upstream: [{ name: 'create', status: null, code: null, duration_ms: 5_000 }],
  };
  const line = {
    ...auditOf('settle'),
    sequence: 1,
    reason: '{"code":"settled.lost","facts":{}}',
    previous: '',
    hash: '',
  };
  expect(troubleOfLink(link, [exchange], [line])?.sentence.text).toMatch(
    /^Lost: .* sent 3 times.* no complete answer after 5000 ms\. Given up: upstream showed no matching order before its lifetime ended\. /,
  );
  expect(troubleOfLink({ ...link, attempts: 1 }, [], [])?.sentence.text).toMatch(/sent once.*Z\. Search/);
  expect(troubleOfLink({ ...link, state: 'DONE' }, [exchange], [line])).toBe(null);
});

describe('the list of sales', () => {
  it.each([
    'state=gone',
    'lane=both',
    'family=payments',
    'currency=pesos',
    'amount_from=much',
    'amount_from=1.234',
    'amount_from=100&amount_to=99.99',
    'before=yesterday',
    'merchant=',
    'limit=501',
    'since=2026-02-01T00:00:00Z&until=2026-01-01T00:00:00Z',
    'order=asc',
  ])('refuses %s', async (query) => {
    expect(await shop.ops(`/api/sales?${query}`)).toMatchObject({ status: 400, body: { error: 'bad_request' } });
  });

  it('has both lanes, newest first, and pages that continue each other', async () => {
    const all = ['doubtful', 'on legacy', 'other', 'open', 'paid'];
    expect(await names('')).toEqual(all);
    const seen: unknown[] = [];
    for (let before: string | null = ''; before !== null; ) {
      const page: SalesView = await listed(`limit=2${before === '' ? '' : `&before=${before}`}`);
      seen.push(...page.sales.map((sale) => sale.client_reference));
      before = page.next;
    }
    expect(seen).toEqual(all);
  });

  it.each([
    [`merchant=${BRAZIL}`, ['on legacy', 'other']],
    ['state=paid', ['paid']],
    ['state=open', ['on legacy', 'other', 'open']],
    ['state=in_doubt', ['doubtful']],
    ['state=lost', []],
    ['reference=open', ['open']],
    [`reference=open&merchant=${BRAZIL}`, []],
    ['amount_from=1500.50&amount_to=1500.50', ['paid']],
    ['amount_from=1500.51', ['open']],
    ['amount_to=99', ['doubtful', 'on legacy', 'other']],
    ['lane=legacy', ['on legacy']],
    ['lane=orders&state=open', ['other', 'open']],
    ['family=point&currency=BRL', ['on legacy', 'other']],
    ['family=qr', []],
    ['search=cafe', ['doubtful', 'open', 'paid']],
    [`search=${BRAZIL.slice(2)}`, ['on legacy', 'other']],
    ['search=centro', ['doubtful', 'on legacy', 'other', 'open', 'paid']],
    ['tag=Centro', ['doubtful', 'on legacy', 'other', 'open', 'paid']],
    ['tag=Centro&state=open&lane=orders', ['other', 'open']],
    ['tag=Centro&search=caf%C3%A9&state=open', ['open']],
    [`tag=Centro&merchant=${BRAZIL}`, ['on legacy', 'other']],
    ['tag=centro', []],
    [`search=caf%C3%A9&merchant=${BRAZIL}`, []],
    ['until=2020-01-01T00:00:00Z', []],
  ])('finds by %s', async (query, found) => {
    expect(await names(query)).toEqual(found);
  });

  it('finds by unit, and tells of each its ids, amount and state', async () => {
    const [sale] = (await listed('reference=paid')).sales;
    expect(await names(`unit=${sale?.unit}`)).toEqual(['paid']);
    expect(sale).toMatchObject({ legacy_id: ids.paid, merchant: ARGENTINA, lane: 'orders', state: 'paid' });
    expect(sale).toMatchObject({ amount: '1500.50', currency: 'ARS', legacy_state: 'FINISHED' });
    const [legacy] = (await listed('reference=on%20legacy')).sales;
    expect(legacy).toMatchObject({ legacy_id: ids['on legacy'], lane: 'legacy', amount: '99.00', currency: 'BRL' });
  });

  it('is a table that fits 80 columns, with the command for the next page; JSON for scripts', async () => {
    const env = { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: shop.app.ops_url };
    const { out } = await command(['sales', '--merchant', ARGENTINA, '--limit', '2'], env);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(out).toMatch(/in_doubt[\s\S]+1500\.51 ARS/);
    expect(out).toMatch(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    expect(out).not.toMatch(/\dT\d/);
    const { next } = await listed(`merchant=${ARGENTINA}&limit=2`);
    expect(out).toContain(`--before ${next}`);
    const sought = await command(['sales', '--search', 'CAFÉ', '--tag', 'Centro', '--state', 'paid', '--json'], env);
    expect(JSON.parse(sought.out)).toMatchObject({ sales: [{ client_reference: 'paid' }] });
    const second = await command(['sales', '--merchant', ARGENTINA, '--before', String(next), '--json'], env);
    expect(JSON.parse(second.out)).toMatchObject({ sales: [{ client_reference: 'paid' }], next: null });
    expect((await command(['sales', '--state', 'lost', '--until', '2026-01-31 09:00:00 UTC'], env)).out).toBe(
      'No sale matches.\n',
    );
    expect((await command(['trace', 'doubtful'], env)).out).toMatch(/UTC\n.*[\s\S]*In doubt: this sale was sent/);
  });

  it('leads to a trace that says what is wrong, and why', async () => {
    const { body } = await shop.ops('/api/trace?id=doubtful');
    expect(body).toMatchObject({
      traces: [
        { trouble: { state: 'in_doubt', what: expect.stringMatching(/409 idempotency_key_already_used.*held/) } },
      ],
    });
    expect((await shop.ops('/api/trace?id=paid')).body).toMatchObject({ traces: [{ trouble: null }] });
  });
});

it('says how much of a sale was refunded: in the list, as a command, and in the file of the report', async () => {
  await shop.clearFaults();
  await shop.upstreamSettings({ total_refund_status: 'processed' });
  const env = { PUENTE_OPS_TOKEN: OPS_TOKEN, PUENTE_OPS_URL: shop.app.ops_url };
  const device = await sell('returned', 2000);
  await shop.atTerminal('pay', { device });
  const shown = async () => (await listed('reference=returned')).sales[0];
  const [sale] = [await eventually(shown, (found) => found?.state === 'paid')];
  expect(sale).toMatchObject({ refund: null, refunded: null });
  const refund = async (body: object): Promise<void> => {
    const headers = { 'x-idempotency-key': randomUUID() };
    const { status, text } = await shop.till(`/v1/payments/${sale?.payment_id}/refunds`, { body, headers });
    expect(status, text).toBe(201);
  };
  await refund({ amount: 5 });
  expect(await shown()).toMatchObject({ state: 'paid', refund: 'part', refunded: '5.00' });
  const { out } = await command(['sales', '--reference', 'returned'], env);
  expect(out).toMatch(/paid,[\s\S]+partly[\s\S]+refunded/);
  expect(out).toContain('refunded 5.00 ARS');
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect((await command(['trace', 'returned'], env)).out).toContain(
    'the till sees FINISHED, partly refunded 5.00 ARS\n',
  );
  await refund({});
  await eventually(shown, (found) => found?.refund === 'whole');
  expect(await shown()).toMatchObject({ state: 'paid', refunded: '20.00' });
  expect(await names('state=paid')).toContain('returned');
  const { text } = await shop.ops(`/api/report?format=csv&part=sales&merchant=${ARGENTINA}&what=sale&outcome=paid`);
  const [head = '', ...lines] = text.split('\r\n');
  const cells = lines.find((line) => line.includes(ids.returned ?? ''))?.split(',') ?? [];
  const places = head.split(',').map((name) => name.replaceAll('"', ''));
  expect(['outcome', 'amount', 'refund', 'refunded'].map((name) => cells[places.indexOf(name)])).toEqual([
    '"paid"',
    '"20.00"',
    '"whole"',
    '"20.00"',
  ]);
});

it('counts refunds as reports do: what was made and the order does not show yet, and nothing that failed', async () => {
  const harness = await openHarness();
  onTestFinished(() => harness.dispose());
  const { store } = harness;
  const ports = portsAt(store, () => NOON + 1);
  const shown = async (reference: string) => {
    const { sales } = await viewSales(ports, { reference, limit: 9 });
    return sales.map(({ state, refund, refunded }) => [state, refund, refunded]);
  };
  const paid = (nth: number, change: object = {}) => {
    const payments = [{ id: 'PAY1', status: 'processed', amount: '15.00' }];
    return { id: orderId(nth), status: 'processed', transactions: { payments }, ...change } as Order;
  };
  const link = await finished(store, { client_reference: 'lagging' });
  await store.links.saveLink(link, { order: paid(1) });
  const { refund } = await store.refunds.openRefund(newRefund(link), () => 'open');
  expect(await shown('lagging')).toEqual([['paid', 'open', null]]);
  const facts = { state: 'DONE', upstream_id: 'REF1', refunded_minor: 750 } as const;
  const made = await store.refunds.saveRefund(refund, { ...facts, upstream_status: 'processed' });
  expect(await shown('lagging')).toEqual([['paid', 'part', '7.50']]);
  await store.refunds.saveRefund(made, { upstream_status: 'failed' });
  expect(await shown('lagging')).toEqual([['paid', null, null]]);
  // An order may be refunded without a word about the amount.
  const whole = await finished(store, { client_reference: 'whole' });
  await store.links.saveLink(whole, { order: paid(2, { status: 'refunded' }) });
  expect(await shown('whole')).toEqual([['paid', 'whole', '15.00']]);
  for (const end_state of ['partially_reverted', 'reverted', 'paid']) {
    const ended = { state: 'ENDED', end_state, amount: '30', client_reference: end_state, slot: null } as const;
    await store.legacy_sales.openLegacySale(newSale({ family: 'qr', unit: 'TILL1', ...ended }));
  }
  expect(await shown('partially_reverted')).toEqual([['paid', 'part', null]]);
  expect(await shown('reverted')).toEqual([['paid', 'whole', '30.00']]);
  expect(await shown('paid')).toEqual([['paid', null, null]]);
});

const ONE = [{ id: 'PAY1', status: 'processed', amount: '15.00' }];
const TWO = [...ONE, { id: 'PAY2', status: 'processed', amount: '15.00' }];
const node = (status: string, amount?: string, transaction_id = 'PAY1') => ({
  ...{ id: 'REF1', status, transaction_id },
  ...(amount !== undefined && { amount }),
});
const done = (change: Partial<Refund>) =>
  ({ state: 'DONE', upstream_id: 'REF1', refunded_minor: 500, ...change }) as const;

describe('a sale is refunded in the list as its refunds are in the report', () => {
  it.each<[string, object, Partial<Refund> | null, (string | null)[], (string | null)[] | null]>([
    [
      'the second of two payments was refunded',
      {
        payments: [...ONE, { id: 'PAY2', status: 'refunded', amount: '15.00' }],
        refunds: [node('processed', '15.00', 'PAY2')],
      },
      null,
      ['part', '15.00'],
      null,
    ],
    [
      'the second was refunded, and says so by itself',
      { payments: [...ONE, { id: 'PAY2', status: 'refunded', amount: '15.00', refunded_amount: '15.00' }] },
      null,
      ['part', '15.00'],
      null,
    ],
    [
      'a refund of the second is being made',
      {
        payments: [{ ...ONE[0], refunded_amount: '5.00' }, TWO[1]],
        refunds: [{ ...node('processed', '5.00'), id: 'REF0' }, node('processing', '15.00', 'PAY2')],
      },
      null,
      ['open', '5.00'],
      null,
    ],
    [
      'both were refunded',
      {
        payments: TWO.map((one) => ({ ...one, status: 'refunded' })),
        refunds: [node('processed', '15.00'), { ...node('processed', '15.00', 'PAY2'), id: 'REF2' }],
        status: 'refunded',
      },
      null,
      ['whole', '30.00'],
      null,
    ],
    [
      'the first was refunded by a till, which the order of both does not show',
      { payments: TWO },
      done({ upstream_status: 'processed', refunded_minor: 1500 }),
      ['part', '15.00'],
      ['refunded', '15.00'],
    ],
    [
      'refunded, of which the one refund failed',
      { status: 'refunded', refunds: [node('failed', '15.00')] },
      null,
      [null, null],
      null,
    ],
    [
      'refunded, by a refund under way of no known amount',
      { status: 'refunded', refunds: [node('processing')] },
      null,
      ['open', null],
      null,
    ],
    [
      'refunded, by a refund of a till under way of no known amount',
      { status: 'refunded' },
      done({ upstream_status: 'processing', refunded_minor: null, amount_minor: null }),
      ['open', null],
      ['open', null],
    ],
    [
      'made, all of it, of no known amount',
      {},
      done({ upstream_status: 'processed', refunded_minor: null, amount_minor: null }),
      ['whole', null],
      ['refunded', null],
    ],
    [
      'made of the requested amount',
      {},
      done({ upstream_status: null, refunded_minor: null, amount_minor: 250 }),
      ['part', '2.50'],
      ['refunded', '2.50'],
    ],
    [
      'made of the requested amount, by an order that lists it without one',
      { refunds: [node('processed')] },
      done({ upstream_status: 'processing', refunded_minor: null, amount_minor: 250 }),
      ['part', '2.50'],
      ['refunded', '2.50'],
    ],
    [
      'under way, in the sum of the order and not in its list',
      { payments: [{ ...ONE[0], refunded_amount: '5.00' }] },
      done({ upstream_status: 'processing' }),
      ['open', null],
      ['open', '5.00'],
    ],
    [
      'failed by its answer, and under way by the order read before',
      { refunds: [node('processing', '5.00')] },
      done({ upstream_status: 'failed' }),
      [null, null],
      ['refused', '5.00'],
    ],
    [
      'answered without a status, and failed by the order',
      { refunds: [node('failed', '5.00')] },
      done({ upstream_status: null }),
      [null, null],
      ['refused', '5.00'],
    ],
    [
      'in a state that is not known',
      { refunds: [node('resting', '5.00')] },
      done({ upstream_status: 'processing' }),
      ['open', null],
      ['open', '5.00'],
    ],
  ])('%s', async (_what, { status = 'processed', ...shown }: { status?: string }, row, in_list, in_report) => {
    const harness = await openHarness();
    onTestFinished(() => harness.dispose());
    const { store } = harness;
    const ports = portsAt(store, () => NOON + 1);
    await setMerchant(store, MERCHANT, {});
    const link = await finished(store);
    const order = { id: orderId(1), status, transactions: { payments: ONE, ...shown } } as Order;
    await store.links.saveLink(link, { order, order_id: order.id });
    if (row !== null) {
      const { amount_minor = 500, ...change } = row;
      const { refund } = await store.refunds.openRefund(newRefund(link, { amount_minor }), () => 'open');
      await store.refunds.saveRefund(refund, change);
    }
    const [sale] = (await viewSales(ports, { limit: 9 })).sales;
    expect([sale?.refund, sale?.refunded]).toEqual(in_list);
    const ask = { merchant_id: MERCHANT, since: NOON - 1, until: NOON + 1 };
    const lines: MoneyLine[] = [];
    for await (const page of salePages(ports, ask, null)) lines.push(...page);
    const of_sale = lines.filter(({ what }) => what === 'sale');
    expect(of_sale.map(({ refund, refunded }) => [refund, refunded])).toEqual([in_list]);
    const of_refund = lines.filter(({ what }) => what === 'refund');
    expect(of_refund.map(({ outcome, amount }) => [outcome, amount])).toEqual(in_report === null ? [] : [in_report]);
  });
});

it('reads a Point amount alike on both lanes, also where the currency has no decimals', async () => {
  const upstream = await startUnruly((seen, response) => {
    if (seen.path === '/users/me') return answerJson(response, 200, { id: Number(CHILE), site_id: 'MLC' });
    if (seen.path === '/v1/orders') return answerJson(response, 201, orderFor(seen, { user_id: CHILE }));
    answerJson(response, 201, { id: randomUUID() });
  });
  const chilean = await startOutside(upstream.url, { PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' });
  try {
    const merchant = `/api/merchants/${CHILE}`;
    const set = async (path: string, change: object): Promise<void> => {
      const { revision = 0 } = (await chilean.ops(merchant)).body as { revision?: number }; // 404: not stored yet
      const body = { ...change, revision, reason: 'a test', new: true };
      const { status, text } = await chilean.ops(path, { method: 'PUT', body });
      expect([status, text]).toEqual([200, expect.any(String)]);
    };
    const sell = (device: string) =>
      chilean.till(`${POINT}/devices/${device}/payment-intents`, { merchant: CHILE, body: { amount: 1550 } });
    expect((await sell(DEVICE)).status).toBe(201); // while its site is not known yet
    await set(merchant, { credential: tokenOf(CHILE) });
    await set(`${merchant}/stage`, { stage: 'orders', override: true });
    expect((await sell(SECOND_DEVICE)).status).toBe(201);
    const [order] = upstream.seen.filter(({ path }) => path === '/v1/orders');
    expect(String(order?.body)).toContain('"amount":"1550"');
    const one = { family: 'point', amount: '1550', currency: 'CLP' };
    const both = [
      { ...one, lane: 'orders' },
      { ...one, lane: 'legacy' },
    ];
    const found = await chilean.ops(`/api/sales?merchant=${CHILE}&amount_from=1550&amount_to=1550`);
    expect(found.body).toMatchObject({ sales: both });
    const report = await chilean.ops(`/api/report?format=json&merchant=${CHILE}`);
    expect(report.body).toMatchObject({ sums: both.toReversed().map((line) => ({ ...line, amount_minor: '1550' })) });
  } finally {
    await chilean.close();
    await upstream.close();
  }
});

it('finds every sale with a reference that a till gives to all of them, page by page, of any merchant', async () => {
  const harness = await openHarness();
  onTestFinished(() => harness.dispose());
  const ports = portsAt(harness.store, () => NOON + 1);
  const made: string[] = [];
  for (let nth = 0; nth < 620; nth++) {
    const own = { client_reference: 'the same', slot: null, created_at: NOON - 1_000 + nth };
    const merchant_id = nth % 3 === 0 ? '700100299' : '700100200';
    const { link } = await harness.store.links.openLink(newLink({ ...own, merchant_id }), () => ({ kind: 'open' }));
    made.unshift(link.legacy_id);
  }
  const found: unknown[] = [];
  for (let before: string | null = ''; before !== null; ) {
    const asked = { reference: 'the same', limit: 100, ...(before === '' ? {} : { before }) };
    const page: SalesView = await viewSales(ports, asked);
    found.push(...page.sales.map(({ legacy_id }) => legacy_id));
    before = page.next;
  }
  expect(found).toEqual(made);
});
