/** Trace through the ops door: one sale as one story, found by any of its ids, for both lanes and both families. */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Trace } from '../../../src/ops/trace/trace.ts';
import { ARGENTINA, BRAZIL, CHILE, eventually, MEXICO, OPS_TOKEN, startReceiver, tokenOf, URUGUAY } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openQrShop, orderPath, preference, preferencePath, storeOrder, TILL } from '../../proxy/http/qr-till.ts';
import { idOf } from '../../proxy/http/till.ts';
import { puente } from '../../run-cli.ts';
import { command } from '../moves/command.ts';

const CARD = '4111111111111111';
const SECRET_URL = 'hook-of-this-shop';

const shop = openForAll(() => openQrShop({ PUENTE_ROUTING_DEFAULT_STAGE: 'legacy' }));
const receiver = openForAll(() => startReceiver(({ text }) => (text.includes('"topic":"payment"') ? 500 : 200)));
beforeAll(async () => {
  await stage(ARGENTINA, 'orders');
  await stage(CHILE, 'orders');
  await stage(MEXICO, 'shadow');
});

async function stage(merchant: string, name: string): Promise<void> {
  const path = `/api/merchants/${merchant}/stage`;
  const answer = await shop.ops(path, {
    method: 'PUT',
    body: { stage: name, reason: 'for the test', revision: 0, new: true },
  });
  expect(answer.status, answer.text).toBe(200);
}

async function traces(id: string, query = ''): Promise<Trace[]> {
  const answer = await shop.ops(`/api/trace?id=${encodeURIComponent(id)}${query}`);
  expect(answer.status, answer.text).toBe(200);
  return (answer.body as { traces: Trace[] }).traces; // the API's shape
}

async function trace(id: string): Promise<Trace> {
  const [found, ...more] = await traces(id);
  expect(more).toEqual([]);
  if (found === undefined) throw new Error(`nothing was found of ${id}`);
  return found;
}

/** The steps of a trace as `kind: first words`. */
const told = ({ steps }: Trace, words: number): string[] =>
  steps.map(({ kind, what }) => `${kind}: ${what.split(' ').slice(0, words).join(' ')}`);

const times = ({ steps }: Trace): number[] => steps.map(({ at }) => Date.parse(at));

function expectNoSecret(found: Trace): void {
  const text = JSON.stringify(found);
  for (const secret of [CARD, SECRET_URL, tokenOf(ARGENTINA), 'tenant=7']) expect(text).not.toContain(secret);
}

describe('a Point sale on orders', () => {
  const device = 'NEWLAND_N950__LOAD0000101';
  let id: string;
  let payment: string;
  let whole: Trace;
  beforeAll(async () => {
    // One notice per sale: two notices of one commit have no fixed order.
    const notice_url = `${receiver.url}/${SECRET_URL}?tenant=7`;
    await shop.notify(ARGENTINA, { notice_url, point_payment_notices: 'off' });
    const body = { additional_info: { external_reference: `mesa 4 ${CARD}` }, tip: 100 };
    id = idOf(await shop.create(device, body, { headers: { 'x-corporation-id': '9' } }));
    await shop.atTerminal('pay', { device });
    const read = await eventually(
      () => shop.read(id),
      ({ body: intent }) => (intent as { state?: string }).state === 'FINISHED',
    );
    payment = String((read.body as { payment: { id: number } }).payment.id);
    await eventually(
      () => trace(id),
      ({ steps }) => steps.some(({ what }) => what.startsWith('Delivered')),
    );
    const refund = await shop.till(`/v1/payments/${payment}/refunds`, { body: { amount: 5 } });
    expect(refund.status, refund.text).toBe(201);
    whole = await eventually(
      () => trace(id),
      ({ steps }) => steps.some(({ what }) => what.startsWith('The refund is done')),
    );
  });

  it('is told in the order in which it happened: causes before what came of them', () => {
    const reads = /point\.get_intent|for get:/;
    const story = { ...whole, steps: whole.steps.filter(({ what }) => !reads.test(what)) };
    expect(told(story, 5).filter((line) => !line.includes('order.refunded'))).toEqual([
      'till: The till called point.create_intent (stage',
      expect.stringMatching(/^loss: (x-corporation-id|body\.tip) did not reach the/),
      expect.stringMatching(/^loss: (x-corporation-id|body\.tip) did not reach the/),
      'upstream: Called upstream for users_me: the',
      'state: The sale is being sent;',
      'upstream: Called upstream for create: the',
      'state: The sale is open on',
      'event: Upstream sent event order.processed (signed);',
      'state: The sale has ended, the',
      'notice: A point notice was committed;',
      'notice: Delivered: The receiver answered 200.',
      'till: The till called payments.create_refund (stage',
      'upstream: Called upstream for users_me: the',
      'refund: A refund of 5.00 ARS',
      'upstream: Called upstream for refund: the',
      'refund: The refund is done, 5.00',
    ]);
    expect(times(whole)).toEqual(times(whole).toSorted((a, b) => a - b));
    expect(whole.sale).toMatchObject({ lane: 'orders', state: 'DONE', legacy_state: 'FINISHED', amount: '15.00' });
    expect(whole.promise).toContain('created on orders');
    expect(whole.rules.find(({ row }) => row.startsWith('point.create.request#'))?.why).not.toBe('');
  });

  it('says durations to a tenth of a millisecond, and no secret', () => {
    for (const { what } of whole.steps) expect(what).not.toMatch(/\d\.\d{2,} ms/);
    expect(whole.sale?.client_reference).toBe('mesa 4 411111XXXXXX1111');
    expectNoSecret(whole);
  });

  it('is found by every id that it goes by', async () => {
    const { order_id, reference_sent } = whole.sale ?? {};
    const idOfStep = (kind: string) => whole.steps.find((step) => step.kind === kind)?.id ?? '';
    const refund = whole.steps.findLast(({ kind }) => kind === 'refund')?.what ?? '';
    const [, number = '', reference = ''] = /number (\d+), (REF\w+)/.exec(refund) ?? [];
    const ids: [string, string][] = [
      [id, 'legacy id'],
      [id.toUpperCase(), 'legacy id'],
      [` ${id} `, 'legacy id'],
      [order_id ?? '', 'order'],
      [payment, 'payment'],
      [`mesa 4 ${CARD}`, 'reference'],
      [reference_sent ?? '', 'reference'],
      [idOfStep('refund'), 'refund'],
      [number, 'refund'],
      [reference, 'refund'],
      [idOfStep('notice'), 'notice'],
      [idOfStep('till'), 'exchange'],
    ];
    for (const [text, found_as] of ids) {
      expect(await trace(text), `${found_as} ${text}`).toMatchObject({ found_as, sale: { legacy_id: id } });
    }
  });

  it('is no other merchant’s', async () => {
    expect(await traces(id, `&merchant=${ARGENTINA}`)).toHaveLength(1);
    const other = await shop.ops(`/api/trace?id=${id}&merchant=${BRAZIL}`);
    expect(other.status).toBe(404);
    expect(other.text).toContain(`of merchant ${BRAZIL}`);
  });

  it('is a table for people and JSON for scripts', async () => {
    const env = { PUENTE_OPS_URL: shop.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
    const people = await command(['trace', id, '--rules'], env);
    expect(people).toMatchObject({ code: 0, err: '' });
    expect(people.out).toContain('Found as legacy id: merchant 700100200');
    expect(people.out).toContain('point.create.request#');
    const scripts = await command(['trace', `mesa 4 ${CARD}`, '--json'], env);
    expect(JSON.parse(scripts.out)).toMatchObject([{ found_as: 'reference', sale: { legacy_id: id } }]);
    const none = await command(['trace', 'nothing'], env);
    expect(none.code).toBe(1);
    expect(none.err).toContain('Nothing is known of nothing. Give a legacy id, order');
    expect(none.err).not.toContain('As a merchant');
  });

  it('names the merchant that a name or an id is of', async () => {
    const env = { PUENTE_OPS_URL: shop.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN };
    await shop.notify(ARGENTINA, { name: 'Kiosco Sol' });
    for (const asked of ['kiosco', ARGENTINA]) {
      const named = await command(['trace', asked], env);
      expect(named.code).toBe(1);
      expect(named.err).toContain(`As a merchant it may be ${ARGENTINA} (Kiosco Sol): \`puente sales --merchant …\``);
    }
  });
});

it('a QR sale on orders: by its merchant order and its payment, with each notice and its attempts', async () => {
  const { external_id } = shop.freshTill();
  const body = preference({
    external_reference: 'Factura 77',
    notification_url: `${receiver.url}/${SECRET_URL}?tenant=7`,
  });
  const sold = await shop.till(preferencePath(external_id), { body });
  expect(sold.status, sold.text).toBe(200);
  await shop.buyer(external_id, 'pay');
  const failed = await eventually(
    () => trace('Factura 77'),
    ({ steps }) => steps.some(({ what }) => what.startsWith('Not delivered, the receiver failed')),
  );
  const { merchant_order_id, payment_id, order_id, legacy_id } = failed.sale ?? {};
  for (const [text, found_as] of [
    [String(merchant_order_id), 'merchant order'],
    [payment_id ?? '', 'payment'],
    [order_id ?? '', 'order'],
    [legacy_id ?? '', 'legacy id'],
  ] as const) {
    expect(await trace(text), text).toMatchObject({
      found_as,
      sale: { client_reference: 'Factura 77', amount: '301.00' },
    });
  }
  const story = told(failed, 3);
  expect(story).toContain('state: The sale has');
  expect(story.indexOf('state: The sale has')).toBeLessThan(story.indexOf('notice: A payment notice'));
  expect(story.filter((line) => line.startsWith('notice: A'))).toEqual(
    expect.arrayContaining(['notice: A merchant_order notice', 'notice: A payment notice']),
  );
  expectNoSecret(failed);
});

describe('a sale created on legacy', () => {
  it('of a merchant that nobody has set up: by its id and by its reference, with what was proxied', async () => {
    const device = 'NEWLAND_N950__LOAD0000102';
    const options = { merchant: BRAZIL };
    const id = idOf(await shop.create(device, { additional_info: { external_reference: 'mesa 5' } }, options));
    await shop.read(id, options);
    await shop.cancel(device, id, options);
    const found = await eventually(
      () => trace('mesa 5'),
      ({ sale, steps }) => sale?.state === 'ENDED' && steps.length >= 8,
    );
    expect(found).toMatchObject({
      found_as: 'reference',
      sale: { merchant: BRAZIL, lane: 'legacy', legacy_id: id, order_id: null, client_reference: 'mesa 5' },
      rules: [],
    });
    expect(found.promise).toContain('created on legacy');
    expect(told(found, 4)).toEqual([
      'till: The till called point.create_intent',
      'state: The sale was stored',
      expect.stringMatching(/^upstream: Proxied to legacy: the/),
      'till: The till called point.get_intent',
      expect.stringMatching(/^upstream: Proxied to legacy: the/),
      'till: The till called point.cancel_intent',
      expect.stringMatching(/^upstream: Proxied to legacy: the/),
      'state: Known as ended',
    ]);
    expect(await trace(id.toUpperCase())).toMatchObject({ found_as: 'legacy id', sale: { legacy_id: id } });
    expect(await trace(found.steps[0]?.id ?? '')).toMatchObject({ found_as: 'exchange', sale: { legacy_id: id } });
  });

  it('that legacy gave no id (QR v2): by its reference, with the calls on its point of sale', async () => {
    const body = storeOrder({ external_reference: 'Factura 88', notification_url: undefined });
    expect((await shop.till(orderPath(TILL, URUGUAY), { method: 'PUT', merchant: URUGUAY, body })).status).toBe(204);
    // The sale is written after its answer; the till's next call may arrive before that.
    await eventually(
      () => trace('Factura 88'),
      ({ sale }) => sale?.state === 'OPEN',
    );
    await shop.till(orderPath(TILL, URUGUAY), { merchant: URUGUAY });
    const found = await eventually(
      () => trace('Factura 88'),
      ({ steps }) => steps.length >= 6,
    );
    expect(found.sale).toMatchObject({ lane: 'legacy', family: 'qr', legacy_id: null, state: 'OPEN' });
    expect(told(found, 4)).toEqual([
      'till: The till called qr.put_order',
      'state: The sale was stored',
      expect.stringMatching(/^upstream: Proxied to legacy: the/),
      'state: Known as open on',
      'till: The till called qr.get_order',
      expect.stringMatching(/^upstream: Proxied to legacy: the/),
    ]);
  });

  it('in shadow: with what orders would have made of it', async () => {
    const device = 'NEWLAND_N950__LOAD0000103';
    const body = { additional_info: { external_reference: 'mesa 6' } };
    await shop.create(device, body, { merchant: MEXICO, headers: { 'x-corporation-id': '9' } });
    const found = await eventually(
      () => trace('mesa 6'),
      ({ steps }) => steps.some(({ kind }) => kind === 'shadow'),
    );
    expect(told(found, 6)).toContain('shadow: On paper, orders would have accepted');
    expect(told(found, 5)).toContain('loss: x-corporation-id would not have reached');
    expect(found.rules.length).toBeGreaterThan(0);
  });

  it('in shadow, without an id of its own (QR v2): the same, of the call on its point of sale', async () => {
    const body = storeOrder({ external_reference: 'Factura 89', notification_url: undefined, pictures: [] });
    const options = { method: 'PUT', merchant: MEXICO, body };
    expect((await shop.till(orderPath(TILL, MEXICO), options)).status).toBe(204);
    const found = await eventually(
      () => trace('Factura 89'),
      ({ steps }) => steps.some(({ kind }) => kind === 'shadow'),
    );
    expect(found.sale).toMatchObject({ lane: 'legacy', legacy_id: null, state: 'OPEN' });
    expect(told(found, 2)).toContain('shadow: On paper,');
    expect(found.steps.some(({ kind, what }) => kind === 'loss' && what.includes('would not have reached'))).toBe(true);
  });
});

it('two merchants with one reference have a story each, and neither has the other’s events', async () => {
  const made = await Promise.all(
    [ARGENTINA, CHILE].map(async (merchant) => {
      const { external_id } = merchant === ARGENTINA ? shop.freshTill() : { external_id: TILL };
      const body = preference({ external_reference: 'BOTH1', notification_url: undefined });
      const options = { merchant, body: merchant === CHILE ? inPesos(body) : body };
      const sold = await shop.till(preferencePath(external_id, merchant), options);
      expect(sold.status, sold.text).toBe(200);
      await shop.buyer(external_id, 'pay', merchant);
      return merchant;
    }),
  );
  const found = await eventually(
    () => traces('BOTH1'),
    (all) => all.length === 2 && all.every(({ sale }) => sale?.state === 'DONE'),
  );
  expect(found.map(({ sale }) => sale?.merchant).toSorted()).toEqual(made.toSorted());
  for (const one of found) {
    expect(one.steps.filter(({ kind, what }) => kind === 'event' && what.includes('order.processed'))).toHaveLength(1);
  }
  expect(await traces('BOTH1', `&merchant=${CHILE}`)).toHaveLength(1);
});

function inPesos(body: Record<string, unknown>): Record<string, unknown> {
  return { ...body, items: [{ title: 'Coffee', currency_id: 'CLP', unit_price: 1200, quantity: 1 }] };
}

it('a call that belongs to no sale is told by itself', async () => {
  const refused = await shop.create('NEWLAND_N950__LOAD0000104', { amount: 'x' });
  expect(refused.status).toBe(400);
  const csv = await eventually(
    () => shop.ops('/api/report?format=csv&part=exchanges'),
    ({ text }) => text.includes('LOAD0000104'),
  );
  const line = csv.text.split('\r\n').find((one) => one.includes('LOAD0000104')) ?? '';
  const [, id = ''] = /^\d+,"([^"]+)"/.exec(line) ?? [];
  const found = await trace(id);
  expect(found).toMatchObject({ found_as: 'exchange', sale: null });
  expect(found.steps[0]?.what).toContain('was answered 400');
  const shown = await puente(['trace', id], {
    env: { PUENTE_OPS_URL: shop.app.ops_url, PUENTE_OPS_TOKEN: OPS_TOKEN },
  });
  expect(shown).toMatchObject({ code: 0, err: '' });
  expect(shown.out).toContain('belong to no sale');
});
