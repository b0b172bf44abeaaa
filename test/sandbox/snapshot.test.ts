/** A whole world as one document: saved, restored, refused when invalid, and kept in a file between two starts. */
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { openForEach } from '../open.ts';
import { ARGENTINA, openKit, orderBody, PAX_TERMINAL, tokenOf, VIRTUAL_TERMINAL } from './kit.ts';
import { BASE, startReceiver } from './legacy/kit.ts';

const INTENTS = `${BASE}/devices/${PAX_TERMINAL}/payment-intents`;
const TILL = `/instore/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/orders`;
const SALE = {
  external_reference: 'sale-9',
  title: 'Coffee',
  total_amount: 12.5,
  items: [{ title: 'Coffee', unit_measure: 'unit', unit_price: 12.5, quantity: 1, total_amount: 12.5 }],
};

const kit = openForEach(() => openKit({ second_static_order: 'refused' }));
const receiver = openForEach(() => startReceiver());

const snapshot = async (): Promise<string> => (await kit.control('GET', 'snapshot')).text;
const restore = (text: string) => kit.call('POST', '/_sandbox/restore', { merchant: null, body: text });
const state = async () => (await kit.control('GET', 'state')).body;

async function fillWorld(): Promise<{ order: string; intent: string }> {
  await kit.control('PUT', 'webhooks', { url: receiver.url, secret: 'of-the-orders' });
  const notices = { url: receiver.url, topic: 'point_integration_wh', secret: 'of-the-merchant' };
  await kit.control('PUT', `legacy/merchants/${ARGENTINA}/notifications`, notices);
  const paid = await kit.order();
  receiver.statuses = [500]; // so that one webhook waits for its next attempt
  await kit.atTerminal('pay', { tip_minor: 500 });
  await kit.sandbox.world.settled();
  await kit.call('POST', `/v1/orders/${paid}/refund`, { key: 'refund-1' });
  const order = await kit.order();
  const made = await kit.call('POST', INTENTS, { body: { amount: 1500 }, key: 'intent-key' });
  await kit.call('PUT', TILL, { body: SALE });
  await kit.call('POST', '/pos', { body: { name: 'Terrace', store_id: 10001, external_id: 'TERRACE' } });
  const address = { street_name: 'Corrientes', latitude: -34.603722 };
  await kit.call('POST', `/users/${ARGENTINA}/stores`, { body: { name: 'North', location: address } });
  const grant = { grant_type: 'authorization_code', client_id: '4004001', client_secret: 'sandbox-client-secret' };
  await kit.call('POST', '/oauth/token', { body: { ...grant, code: `TG-0000000000000000000000c0-${ARGENTINA}` } });
  await kit.control('POST', 'faults', { path: '/users/me', kind: 'alter', set: { ratio: 0.5 }, times: 2 });
  return { order, intent: made.body.id };
}

describe('restored', () => {
  it('the world is as it was, and goes on as it would have', async () => {
    const { order, intent } = await fillWorld();
    const text = await snapshot();
    const before = await state();
    await kit.control('POST', 'reset');
    expect((await state()).orders).toEqual([]);
    expect((await restore(text)).status).toBe(204);
    expect(await state()).toEqual(before);
    expect(JSON.parse(await snapshot())).toEqual(JSON.parse(text));
    expect((await kit.call('GET', TILL)).text).toContain('"total_amount":12.5');
    expect((await kit.call('POST', INTENTS, { body: { amount: 1500 }, key: 'intent-key' })).body.id).toBe(intent);
    expect((await kit.call('GET', '/users/me')).body.ratio).toBe(0.5);
    await kit.atTerminal('pay');
    expect((await kit.call('GET', `/v1/orders/${order}`)).body.status).toBe('processed');
    expect((await kit.createOrder()).status).toBe(201);
  });

  it('a key is still known, and the next numbers are new ones', async () => {
    const body = orderBody({ external_reference: 'once' });
    const first = await kit.call('POST', '/v1/orders', { key: 'key-once', body });
    const text = await snapshot();
    await kit.control('POST', 'reset');
    await restore(text);
    expect((await kit.call('POST', '/v1/orders', { key: 'key-once', body })).text).toBe(first.text);
    await kit.atTerminal('pay');
    const twice = await kit.createOrder({ external_reference: 'once' });
    expect(twice.body.errors[0].details).toEqual(['external_reference']);
  });

  it('time stands where it stood, and timers fall due', async () => {
    const id = await kit.order({ expiration_time: 'PT30S' });
    await kit.control('POST', 'clock', { advance_ms: 10_000 });
    const text = await snapshot();
    await kit.control('POST', 'clock', { advance_ms: 3_600_000 });
    await restore(text);
    expect((await kit.call('GET', `/v1/orders/${id}`)).body.status).toBe('created');
    await kit.control('POST', 'clock', { advance_ms: 20_000 });
    expect((await kit.call('GET', `/v1/orders/${id}`)).body.status).toBe('canceled');
  });

  it('a notification that was not acknowledged is sent again, signed with the present secret', async () => {
    await kit.control('PUT', `legacy/merchants/${ARGENTINA}/notifications`, {
      url: receiver.url,
      topic: 'point_integration_wh',
      secret: 'of-the-merchant',
    });
    receiver.statuses = [500];
    await kit.call('POST', INTENTS, { body: { amount: 1500 } });
    await kit.atTerminal('pay', {}, PAX_TERMINAL);
    await kit.sandbox.world.settled();
    await restore(await snapshot());
    await kit.control('POST', 'clock', { advance_ms: 15 * 60_000 });
    const [first, second] = receiver.heard;
    expect(receiver.heard).toHaveLength(2);
    expect(second?.text).toBe(first?.text);
    expect(
      (await state()).sent.map(({ attempt, status }: { attempt: number; status: number }) => [attempt, status]),
    ).toEqual([
      [1, 500],
      [2, 200],
    ]);
    expect(kit.sandbox.world.notice_targets.get(ARGENTINA)?.secret).toBe('of-the-merchant');
  });
});

it('shows no secret, and no token but those of the cast', async () => {
  await fillWorld();
  const text = await snapshot();
  expect(text).not.toContain('of-the-orders');
  expect(text).not.toContain('of-the-merchant');
  const tokens = new Set(text.match(/APP_USR-[\w-]+/g));
  expect([...tokens].sort()).toEqual(['700100200', '700100300', '700100400', '700100500', '700100600'].map(tokenOf));
});

describe('a document that does not hold changes nothing', () => {
  /** Sets the value at the dotted path; undefined removes it. */
  it.each<[name: string, path: string, value: unknown, message: RegExp]>([
    ['no version', 'version', undefined, /has no version; this sandbox reads version 1/],
    ['another version', 'version', 2, /has version 2; this sandbox reads version 1/],
    ['a collection is missing', 'orders', undefined, /orders: Invalid input/],
    ['a collection too many', 'cats', [], /Unrecognized key: "cats"/],
    ['an unknown state', 'orders.0.status', 'lost', /orders\.0\.status: Invalid option/],
    ['an unknown timer', 'timers.0.job.kind', 'dance', /timers\.0\.job/],
    ['a merchant that is not there', 'orders.0.merchant_id', '1', /there is no merchant 1/],
    ['an order that is not there', 'orders', [], /terminals\.1: there is no order ORD/],
    ['an unknown setting', 'settings.mood', 'good', /Sandbox setting mood/],
  ])('%s', async (_name, path, value, message) => {
    await kit.order();
    const text = await snapshot();
    const document = JSON.parse(text);
    const names = path.split('.');
    const last = names.pop() ?? '';
    names.reduce((node, name) => node[name], document)[last] = value;
    const reply = await restore(JSON.stringify(document));
    expect([reply.status, reply.body.error]).toEqual([400, expect.stringMatching(/^bad_(?:request|setting)$/)]);
    expect(reply.body.message).toMatch(message);
    expect(await snapshot()).toBe(text);
  });

  it('no JSON', async () => {
    for (const text of ['', '{', '[]', 'null', '"text"']) expect((await restore(text)).status).toBe(400);
  });
});

describe('a file', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
    file = join(folder, 'world.json');
  });
  const start = (now_ms = Date.now()): Promise<Sandbox> =>
    startSandbox({ port: 0, host: '127.0.0.1', data: file, now: () => now_ms });
  const post = async (sandbox: Sandbox, path: string, body: object) =>
    fetch(sandbox.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${tokenOf(ARGENTINA)}`, 'x-idempotency-key': path },
      body: JSON.stringify(body),
    });

  it('keeps the world between two starts; time goes on meanwhile', async () => {
    const start_ms = Date.now();
    const first = await start(start_ms);
    expect(first.is_restored).toBe(false);
    await post(first, '/v1/orders', orderBody({ expiration_time: 'PT2M' }));
    await post(first, `/v1/orders/${[...first.world.orders.keys()][0]}/none`, {});
    first.world.configure({ webhook_secret: 'kept' });
    await first.close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const second = await start(start_ms + 60_000);
    expect([second.is_restored, second.world.settings.webhook_secret]).toEqual([true, 'kept']);
    expect([...second.world.orders.values()].map(({ status }) => status)).toEqual(['created']);
    expect(second.world.terminal(ARGENTINA, VIRTUAL_TERMINAL)?.occupation?.kind).toBe('order');
    await second.close();
    const third = await start(start_ms + 120_000);
    await expect.poll(() => [...third.world.orders.values()].map(({ status }) => status)).toEqual(['canceled']);
    await third.close();
  });

  it('is written when calls pause, so that a sandbox that is killed has lost little', async () => {
    const sandbox = await start();
    await post(sandbox, '/v1/orders', orderBody());
    await expect.poll(() => readFileSync(file, 'utf8'), { timeout: 10_000 }).toContain('"external_reference":"sale-0"');
    await sandbox.close();
  });

  it('that does not hold a world stops the start, and stays as it is', async () => {
    writeFileSync(file, '{"version":0}');
    await expect(start()).rejects.toThrow(
      /sandbox\.data: .*world\.json: The snapshot has version 0.* Move the file away/,
    );
    expect(readFileSync(file, 'utf8')).toBe('{"version":0}');
  });
});
