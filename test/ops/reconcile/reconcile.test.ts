/** Reconciliation where upstream and the store disagree: what it finds, repairs, and leaves unchanged. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { MerchantView } from '../../../src/ops/merchants.ts';
import type { ReconcileNews } from '../../../src/ops/reconcile/reconcile.ts';
import type { Report } from '../../../src/ops/report/report.ts';
import type { SalesView } from '../../../src/ops/trace/sales.ts';
import { ARGENTINA, BRAZIL, call, eventually, OPS_TOKEN, POINT, tokenOf } from '../../kit.ts';
import { openForEach } from '../../open.ts';
import { openFront, storedBy } from '../../proxy/http/front.ts';
import { idOf, LEFT_IN_DOUBT } from '../../proxy/http/till.ts';
import { puente } from '../../run-cli.ts';
import { runSql } from '../../store/sqlite/kit.ts';
import { command } from '../moves/command.ts';

const front = openForEach(() => openFront());

const device = (number: number) => `NEWLAND_N950__LOAD${String(number).padStart(7, '0')}`;
const REASON = { apply: true, reason: 'after the outage' };

async function sell(number: number, options: { merchant?: string; reference?: string } = {}): Promise<string> {
  const { merchant = ARGENTINA, reference } = options;
  const body = {
    amount: 1500,
    ...(reference === undefined ? {} : { additional_info: { external_reference: reference } }),
  };
  return idOf(await front.till(`${POINT}/devices/${device(number)}/payment-intents`, { body, merchant }));
}

async function giveName(): Promise<void> {
  const { revision } = (await front.ops(`/api/merchants/${ARGENTINA}`)).body as MerchantView; // the API's shape
  const body = { name: 'Café Sur', reason: 'as people call it', revision };
  expect((await front.ops(`/api/merchants/${ARGENTINA}`, { method: 'PUT', body })).status).toBe(200);
}

async function pay(number: number, id: string): Promise<void> {
  await front.atTerminal('pay', device(number));
  await eventually(
    () => front.ops(`/api/trace?id=${id}`),
    ({ text }) => text.includes('"state":"DONE"'),
  );
}

async function reconcile(body: object = {}): Promise<ReconcileNews[]> {
  const answer = await front.ops('/api/reconcile', { body });
  expect(answer.status, answer.text).toBe(200);
  const lines = answer.text.trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

const mismatches = (news: ReconcileNews[]) => news.filter((one) => one.news === 'mismatch');
const sums = (news: ReconcileNews[]) => news.at(-1);

async function lines(action: string): Promise<{ subject: string; detail: object }[]> {
  const { body } = await front.ops(`/api/audit?action=${encodeURIComponent(action)}`);
  return (body as { lines: { subject: string; detail: object }[] }).lines; // the API's shape
}

it.each([{ apply: true }, { all: true }])(
  'refuses %j: a repair without a reason, and an unknown field',
  async (body) => {
    expect((await front.ops('/api/reconcile', { body })).status).toBe(400);
  },
);

it('missing: an order that the service denies is told, in the audit once, and stays the till’s while it may live', async () => {
  const id = await sell(1);
  const denied = { kind: 'error', status: 404, code: 'order_not_found', times: 'always' };
  await front.control('/faults', { body: { method: 'GET', path: '/v1/orders/*', ...denied } });
  for (const _again of [1, 2])
    expect(mismatches(await reconcile(REASON))).toMatchObject([
      { mismatch: { kind: 'missing', legacy_id: id, repair: 'none' }, repaired: false },
    ]);
  expect(await lines('mismatch missing')).toMatchObject([{ subject: id }]);
});

it.each([
  // Upstream still processes it.
  ['all', null, { refund: 'open', refunded: null }, 'refunded'],
  ['a part', '5.00', { refund: 'part', refunded: '5.00' }, 'partially_refunded'],
] as const)(
  'stale: a refund of %s in the panel of the vendor, whose event was lost, is found, read and announced',
  async (_what, amount, shown, order_status) => {
    const id = await sell(1);
    await pay(1, id);
    await front.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
    const saleOf = async () => ((await front.ops('/api/sales')).body as SalesView).sales[0];
    const upstream = { token: tokenOf(ARGENTINA), headers: { 'x-idempotency-key': 'in-the-panel' } };
    const path = `${front.sandbox.url}/v1/orders/${(await saleOf())?.order_id}`;
    const { transactions } = (await call(path, upstream)).body as { transactions: { payments: [{ id: string }] } };
    const body = amount === null ? {} : { body: { transactions: [{ id: transactions.payments[0].id, amount }] } };
    expect((await call(`${path}/refund`, { method: 'POST', ...upstream, ...body })).status).toBe(201);
    const found = { kind: 'stale', legacy_id: id, repair: 'read', said: { facts: { order_status } } };
    expect(mismatches(await reconcile())).toMatchObject([{ mismatch: found, repaired: false }]);
    expect(await saleOf()).toMatchObject({ state: 'paid', refund: null, refunded: null });
    expect(mismatches(await reconcile(REASON))).toMatchObject([{ mismatch: found, repaired: true }]);
    expect(await saleOf()).toMatchObject({ state: 'paid', ...shown });
    const { notices } = (await front.ops('/api/notices?topic=payment')).body as { notices: object[] };
    expect(notices).toHaveLength(2);
    expect(sums(await reconcile())).toMatchObject({ checked: 1, mismatches: 0 });
  },
);

it('amount: told with both sums, and never mended', async () => {
  const id = await sell(1);
  await giveName();
  front.lie = (order) => ({ ...order, transactions: { payments: [{ id: 'PAY01', amount: '15.01' }] } });
  for (const ask of [{}, REASON, {}]) {
    const news = await reconcile(ask);
    expect(mismatches(news)).toMatchObject([
      { mismatch: { kind: 'amount', legacy_id: id, repair: 'none' }, repaired: false },
    ]);
    expect(news[0]).toMatchObject({
      mismatch: { merchant_name: 'Café Sur', what: expect.stringMatching(/1500 .* 1501/) },
    });
  }
});

it('state: a payment that the till counts on and the service took back is told, and the till keeps what it saw', async () => {
  const id = await sell(2);
  await pay(2, id);
  front.lie = (order) => ({ ...order, status: 'canceled', last_updated_date: '2036-01-01T00:00:00Z' });
  const news = await reconcile(REASON);
  expect(mismatches(news)).toMatchObject([{ mismatch: { kind: 'state', legacy_id: id }, repaired: false }]);
  expect((await front.till(`${POINT}/payment-intents/${id}`)).body).toMatchObject({ state: 'FINISHED' });
});

describe('a dry run', () => {
  it('finds every kind, and writes nothing', async () => {
    const paid = await sell(3);
    await pay(3, paid);
    const stale = await sell(4);
    await front.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
    await front.atTerminal('pay', device(4));
    front.lie = (order) =>
      order.status === 'processed' && order.id === paidOrder ? { ...order, status: 'canceled' } : order;
    const traced = await front.ops(`/api/trace?id=${paid}`);
    const [, paidOrder = ''] = /"order_id":"(\w+)"/.exec(traced.text) ?? [];
    await front.ops('/api/report'); // flushes earlier exchanges to the store
    const before = storedBy(front);
    const found = mismatches(await reconcile());
    expect(found.map(({ mismatch }) => [mismatch.kind, mismatch.legacy_id]).toSorted()).toEqual([
      ['stale', stale],
      ['state', paid],
    ]);
    expect(storedBy(front) === before, 'nothing was written').toBe(true);
  });
});

it('a repair is made once, says so in the audit trail, and changes nothing the second time', async () => {
  const id = await sell(5);
  await front.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
  await front.atTerminal('pay', device(5));
  const shows = async (legacy_state: string) =>
    expect((await front.ops(`/api/trace?id=${id}`)).body).toMatchObject({ traces: [{ sale: { legacy_state } }] });
  expect(mismatches(await reconcile())).toMatchObject([{ mismatch: { kind: 'stale' }, repaired: false }]);
  await shows('OPEN');
  expect(sums(await reconcile(REASON))).toMatchObject({ news: 'done', mismatches: 1, repaired: 1, unreadable: 0 });
  await shows('FINISHED');
  expect(sums(await reconcile(REASON))).toMatchObject({ mismatches: 0, repaired: 0 });
  expect((await lines('reconcile')).map(({ detail }) => detail)).toMatchObject([
    { repaired: 0, is_through: true },
    { repaired: 1, is_through: true },
  ]);
  const { unmatched } = (await front.ops('/api/report')).body as Report;
  expect(unmatched.filter((one) => one.id === id)).toMatchObject([
    { known_to: 'both', kind: 'stale', state: 'repaired', amount: '15.00' },
  ]);
});

it('with a merchant nobody else is looked at; what can’t be read is told, and is no agreement', async () => {
  const own = await sell(6);
  const other = await sell(7, { merchant: BRAZIL });
  await giveName();
  const before = front.reads();
  expect(sums(await reconcile({ merchant: BRAZIL }))).toMatchObject({ checked: 1, mismatches: 0 });
  expect(front.reads()).toBe(before + 1);
  const rule = { method: 'GET', path: '/v1/orders/*', kind: 'error', status: 503, times: 'always' };
  await front.control('/faults', { body: rule });
  const news = await reconcile();
  expect(sums(news)).toMatchObject({ checked: 2, unreadable: 2, mismatches: 0 });
  expect(news.filter((one) => one.news === 'unread')).toMatchObject([
    { merchant_id: ARGENTINA, merchant_name: 'Café Sur', legacy_id: own },
    { merchant_id: BRAZIL, merchant_name: null, legacy_id: other },
  ]);
});

describe('orphans', () => {
  it('are not what other systems made: an order with a reference of somebody else is passed over', async () => {
    await sell(8);
    const made = await call(`${front.sandbox.url}/v1/orders`, {
      token: tokenOf(ARGENTINA),
      headers: { 'x-idempotency-key': 'of-another-system' },
      body: {
        type: 'point',
        external_reference: 'theirs-1',
        transactions: { payments: [{ amount: '19.00' }] },
        config: { point: { terminal_id: device(9) } },
      },
    });
    expect(made.status, made.text).toBe(201);
    await front.atTerminal('pay', device(9));
    await eventually(
      () => front.ops('/metrics'),
      ({ text }) => /puente_events_total\{outcome="parked"\} [1-9]/.test(text),
    );
    expect(mismatches(await reconcile(REASON))).toEqual([]);
  });

  async function refused(): Promise<void> {
    const rule = { method: 'POST', path: '/v1/orders', kind: 'error', when: 'after' };
    await front.control('/faults', { body: { ...rule, status: 400, code: 'property_value' } });
    const body = { amount: 1500, additional_info: { external_reference: 'sale 7' } };
    expect((await front.till(`${POINT}/devices/${device(10)}/payment-intents`, { body })).status).toBe(400);
  }

  it('of a create that was answered as refused are adopted, once', async () => {
    await refused();
    expect(await onlyOrder()).not.toBe('');
    await front.atTerminal('pay', device(10));
    const parked = await eventually(
      () => reconcile(),
      (news) => mismatches(news).length > 0,
    );
    expect(mismatches(parked)).toMatchObject([{ mismatch: { kind: 'orphan', repair: 'adopt' }, repaired: false }]);
    expect(mismatches(await reconcile(REASON))).toMatchObject([{ repaired: true }]);
    expect(mismatches(await reconcile())).toEqual([]);
    const adopted = { traces: [{ sale: { legacy_state: 'FINISHED', state: 'DONE' } }] };
    expect((await front.ops('/api/trace?id=sale%207')).body).toMatchObject(adopted);
    for (const action of ['reconcile', 'mismatch orphan']) expect(await lines(action)).toHaveLength(1);
  });

  it('that may still be paid are left alone while their unit has another sale', async () => {
    await refused();
    await front.control('/faults', { body: LEFT_IN_DOUBT });
    const doubtful = await front.till(`${POINT}/devices/${device(10)}/payment-intents`, { body: { amount: 1600 } });
    expect(doubtful.status).toBeGreaterThanOrEqual(500);
    const hint = {
      action: 'order.created',
      type: 'order',
      user_id: Number(ARGENTINA),
      data: { id: await onlyOrder() },
    };
    expect((await call(`${front.app.public_url}/webhooks/orders`, { body: hint })).status).toBe(200);
    const found = await eventually(
      () => reconcile(REASON),
      (news) => mismatches(news).length > 0,
    );
    expect(mismatches(found)).toMatchObject([{ mismatch: { kind: 'orphan', repair: 'none' }, repaired: false }]);
    expect(mismatches(found)[0]?.mismatch.what).toContain('its unit has another sale');
    await front.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
    await front.atTerminal('pay', device(10));
    expect(mismatches(await reconcile(REASON))).toMatchObject([{ mismatch: { kind: 'orphan' }, repaired: true }]);
    expect(mismatches(await reconcile())).toEqual([]);
  });
});

async function onlyOrder(): Promise<string> {
  const { orders } = (await front.control('/state')).body as { orders: { id: string }[] }; // the sandbox's shape
  return orders[0]?.id ?? '';
}

it('the command tells what differs and how to repair it, with exit codes', async () => {
  const env = { PUENTE_OPS_URL: front.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
  const id = await sell(11);
  await front.control('/webhooks', { method: 'PUT', body: { mode: 'drop' } });
  await front.atTerminal('pay', device(11));
  const dry = await command(['reconcile', '--merchant', ARGENTINA], env);
  expect(dry.code).toBe(3);
  expect(dry.out).toContain(`Repair 1 of them: puente reconcile --merchant ${ARGENTINA} --apply --reason …`);
  expect(dry.out.replaceAll(/\s/g, '')).toContain('stale');
  const unasked = await command(['reconcile', '--apply'], env);
  expect(unasked).toMatchObject({ code: 1, out: '' });
  expect(unasked.err).toContain('reason: say why');
  const applied = await puente(['reconcile', '--apply', '--reason', 'after the outage', '--json'], { env });
  expect(applied).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(applied.out)).toMatchObject({
    done: { repaired: 1 },
    mismatches: [{ kind: 'stale', legacy_id: id, repaired: true }],
  });
  const rule = { method: 'GET', path: '/v1/orders/*', kind: 'error', status: 503, times: 'always' };
  await front.control('/faults', { body: rule });
  const unread = await command(['reconcile'], env);
  expect(unread).toMatchObject({
    code: 4,
    out: expect.stringContaining(`not answer (puente doctor tells which):\n  ${ARGENTINA} ${id}\n`),
  });
});

it('a repair asks legacy about its open sales, and ends those that ended there: an idle unit needs legacy no more', async () => {
  await sell(12);
  const rollback = { method: 'POST', body: { reason: 'sales on legacy' } };
  expect((await front.ops(`/api/merchants/${ARGENTINA}/rollback`, rollback)).status).toBe(200);
  await sell(13);
  await sell(14);
  await front.atTerminal('pay', device(13));
  const of = { merchant: ARGENTINA };
  for (const ask of [of, of]) expect(sums(await reconcile(ask))).toMatchObject({ open_on_legacy: 2 });
  const env = { PUENTE_OPS_URL: front.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
  expect((await command(['reconcile', '--merchant', ARGENTINA], env)).out).toContain(
    `\n2 sales on legacy are not known to have ended. Ask legacy: puente reconcile --merchant ${ARGENTINA} --apply --reason …`,
  );
  // Where new work is on legacy only the merchant that is named is asked about.
  expect(sums(await reconcile(REASON))).toMatchObject({ open_on_legacy: 0, ended_on_legacy: 0 });
  const after = { mismatches: 0, open_on_legacy: 1, ended_on_legacy: 1, not_asked: 0 };
  expect(sums(await reconcile({ ...of, ...REASON }))).toMatchObject(after);
  expect(await lines('reconcile')).toMatchObject([{ detail: after }, { detail: { ended_on_legacy: 0 } }]);
  const drain = (await front.ops(`/api/merchants/${ARGENTINA}/drain`)).body;
  expect(drain).toMatchObject({ legacy: { units: [{ unit: `point:${device(14)}` }] } });
});

it('a refund that has ended upstream counts as it ended, and is no mismatch', async () => {
  const id = await sell(1);
  await pay(1, id);
  // Upstream ends it within a moment; until `lie` is taken back no read shows that.
  front.lie = (order) =>
    JSON.parse(JSON.stringify(order).replaceAll(/("id":"REF[^}]*"status":)"\w+"/g, '$1"processing"'));
  const { payment } = (await front.till(`${POINT}/payment-intents/${id}`)).body as { payment: { id: string } }; // the door's form
  const refund = { method: 'POST', body: {}, headers: { 'x-idempotency-key': 'all-of-it' } };
  expect((await front.till(`/v1/payments/${payment.id}/refunds`, refund)).status).toBe(201);
  const refunds = async () => {
    const { sums } = (await front.ops('/api/report')).body as Report;
    return sums.filter(({ what }) => what === 'refund').map(({ outcome, amount }) => [outcome, amount]);
  };
  await eventually(refunds, (found) => found.length === 1);
  await eventually(
    () => front.control('/state'),
    ({ text }) => !text.includes('"processing"'),
  );
  expect(await refunds()).toEqual([['open', '15.00']]);
  const listed = async () => ((await front.ops('/api/sales')).body as SalesView).sales[0]; // the API's shape
  expect(await listed()).toMatchObject({ state: 'paid', refund: 'open', refunded: null });
  front.lie = null;
  // While it can't be stored, the run goes on, and the next one finds the same.
  const file = join(front.data_dir, 'puente.db');
  runSql(file, `CREATE TRIGGER not_now BEFORE UPDATE ON links BEGIN SELECT RAISE(ABORT, 'not now'); END`);
  expect(sums(await reconcile(REASON))).toMatchObject({ news: 'done', checked: 1, mismatches: 0 });
  expect(await refunds()).toEqual([['open', '15.00']]);
  runSql(file, 'DROP TRIGGER not_now');
  expect(sums(await reconcile(REASON))).toMatchObject({ checked: 1, mismatches: 0 });
  expect(await refunds()).toEqual([['refunded', '15.00']]);
  expect(await listed()).toMatchObject({ state: 'paid', refund: 'whole', refunded: '15.00' });
});
