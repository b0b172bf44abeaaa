/** Events are hints: in any content and order, the order itself decides (`docs/protocol.md` §3.11, F103–F112). */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Answer,
  ARGENTINA,
  BRAZIL,
  call,
  eventually,
  INTENT,
  type Receiver,
  startReceiver,
  topicOf,
} from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { idOf, LEFT_IN_DOUBT, openShop } from './till.ts';

const SECRET = 'a webhook secret of the tests';
let receiver: Receiver;
/** Order ids in the current test's events; events of earlier tests may still arrive. */
const told = new Set<string>();
const shop = openForAll(() =>
  openShop({
    PUENTE_WEBHOOK_SECRET: SECRET,
    PUENTE_RECONCILE_POINT_INTERVAL_MS: '600000',
    PUENTE_RECONCILE_MAX_INTERVAL_MS: '600000',
    PUENTE_CREATE_SETTLE_AFTER_MS: '600000',
  }),
);
beforeEach(async () => {
  told.clear();
  await shop.clearFaults();
  await shop.upstreamSettings({ webhook_mode: 'normal', replay: 'saved' });
  receiver = await startReceiver();
  await shop.notify(ARGENTINA, { notice_url: receiver.url });
});
afterEach(() => receiver.close());

interface Told {
  id: string;
  action?: string;
  reference?: string;
  user_id?: string | number;
  type?: string;
  signed?: boolean;
  request_id?: string;
}

/** An event in upstream's form; `signed: false` signs with another secret. */
function tell(event: Told): Promise<Answer> {
  const {
    id,
    action = 'order.processed',
    reference,
    user_id = ARGENTINA,
    type = 'order',
    signed = true,
    request_id = 'r-1',
  } = event;
  told.add(id);
  const ts = Date.now();
  const v1 = createHmac('sha256', signed ? SECRET : 'not the secret')
    .update(`id:${id.toLowerCase()};request-id:${request_id};ts:${ts};`)
    .digest('hex');
  return call(`${shop.app.public_url}/webhooks/orders?data.id=${id}&type=${type}`, {
    headers: { 'x-request-id': request_id, 'x-signature': `ts=${ts},v1=${v1}` },
    body: {
      action,
      type,
      user_id,
      data: { id, ...(reference === undefined ? {} : { external_reference: reference }), status: action.slice(6) },
    },
  });
}

function hint(id: string): Promise<Answer> {
  told.add(id);
  return call(`${shop.app.public_url}/webhooks/orders`, { body: { type: 'order', data: { id } } });
}

interface InboxRow {
  order_id: string | null;
  verified: number;
  state: string;
}

function inbox(which: 'told' | 'all' = 'told'): InboxRow[] {
  const database = new Database(join(shop.data_dir, 'puente.db'), { readonly: true });
  try {
    const rows = database.prepare<[], InboxRow>('SELECT order_id, verified, state FROM events ORDER BY sequence').all();
    return which === 'all' ? rows : rows.filter(({ order_id }) => told.has(order_id ?? ''));
  } finally {
    database.close();
  }
}

let invented = 0;
const unknown = (): string => `ORD01K7Q2V5B8N4T6W9XJ3MEH0${String(++invented).padStart(3, '0')}`;

/** A live order whose own events are dropped, so that only the test sends some. */
async function silentOrder(device: string): Promise<{ id: string; order_id: string }> {
  await shop.upstreamSettings({ webhook_mode: 'drop' });
  const id = idOf(await shop.create(device));
  return { id, order_id: shop.rows(device)[0]?.order_id ?? '' };
}

function allHandled(): Promise<InboxRow[]> {
  return eventually(
    async () => inbox(),
    (rows) => rows.length > 0 && rows.every((row) => row.state !== 'pending'),
  );
}

describe('an event that is not about an order of ours', () => {
  it.each([
    ['a body that is no JSON', 400, '{"data":'],
    ['an empty body', 400, ''],
    ['a list', 400, '[]'],
    ['no id at all', 400, '{"type":"order","data":{}}'],
    ['an id of no form', 200, '{"type":"order","data":{"id":"../users/me"}}'],
    ["the vendor panel's test", 200, '{"action":"order.processed","type":"order","data":{"id":"123456"}}'],
    ['the same with a number', 200, '{"action":"order.processed","type":"order","data":{"id":123456}}'],
    ['bytes that are not UTF-8', 400, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString('latin1')],
    ['another topic', 200, '{"type":"payment","data":{"id":"16500000001"}}'],
    ['more than 64 KiB', 413, JSON.stringify({ type: 'order', padding: 'x'.repeat(70_000) })],
  ])('%s is answered %s and not kept [F111]', async (_name, status, body) => {
    const before = inbox('all');
    const answer = await call(`${shop.app.public_url}/webhooks/orders`, { body });
    expect(answer.status).toBe(status);
    expect(inbox('all')).toEqual(before);
  });

  it('about an unknown order is parked without an upstream call [F108 F109]', async () => {
    const id = unknown();
    expect((await tell({ id })).status).toBe(200);
    expect((await allHandled()).map((row) => row.state)).toEqual(['parked']);
    expect(await shop.requests(`/v1/orders/${id}`)).toEqual([]);
  });

  it("another merchant's event never attaches to our reference [F108]", async () => {
    const device = shop.freshDevice();
    await shop.fault(LEFT_IN_DOUBT);
    await shop.create(device, { additional_info: { external_reference: 'shared' } });
    await tell({ id: unknown(), reference: 'shared', user_id: BRAZIL });
    expect((await allHandled()).map((row) => row.state)).toEqual(['parked']);
    expect(shop.rows(device)).toMatchObject([{ state: 'IN_DOUBT', order_id: null }]);
  });

  it('that names another merchant for our order changes nothing [F108]', async () => {
    const { order_id } = await silentOrder(shop.freshDevice());
    await tell({ id: order_id, user_id: BRAZIL });
    expect((await allHandled()).map((row) => row.state)).toEqual(['parked']);
  });

  it('for an order that upstream does not know is tried a few times more, and changes nothing [F108]', async () => {
    const device = shop.freshDevice();
    await shop.fault(LEFT_IN_DOUBT);
    await shop.create(device, { additional_info: { external_reference: 'mine' } });
    const id = unknown();
    await tell({ id, reference: 'mine', signed: false });
    await eventually(
      () => shop.requests(`/v1/orders/${id}`),
      (reads) => reads.length > 0,
    );
    expect(inbox().map((row) => row.state)).toEqual(['pending']);
    expect(shop.rows(device)).toMatchObject([{ state: 'IN_DOUBT', order_id: null }]);
  });
});

describe('genuine events in every order of arrival', () => {
  it('processed, then at_terminal, then created: the terminal state stays [F106]', async () => {
    const device = shop.freshDevice();
    const { id, order_id } = await silentOrder(device);
    await shop.atTerminal('pay', { device });
    for (const action of ['order.processed', 'order.at_terminal', 'order.created'])
      await tell({ id: order_id, action });
    await receiver.waitFor(2);
    await allHandled();
    expect((await shop.read(id)).body).toMatchObject({ state: 'FINISHED' });
    expect(receiver.received.map(topicOf).sort()).toEqual(['payment', INTENT]);
  });

  it('before the answer of our own create: one order, and the late answer does not revert the payment [F107]', async () => {
    const device = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'delay', when: 'after', delay_ms: 300 });
    const creating = shop.create(device);
    await eventually(
      () => shop.orders(device),
      (orders) => orders.length === 1,
    );
    await shop.atTerminal('pay', { device });
    const created = await creating;
    expect(created.status).toBe(201);
    await receiver.waitFor(1, INTENT);
    expect((await shop.read(idOf(created))).body).toMatchObject({ state: 'FINISHED' });
    expect(await shop.orders(device)).toHaveLength(1);
  });

  it('for a create in doubt: the order is adopted by its reference [F107]', async () => {
    const device = shop.freshDevice();
    await shop.upstreamSettings({ replay: 'conflict' });
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'reset', when: 'after' });
    expect((await shop.create(device)).status).toBe(504);
    await shop.atTerminal('pay', { device });
    await receiver.waitFor(1, INTENT);
    const [order] = await shop.orders(device);
    expect(shop.rows(device)).toMatchObject([{ state: 'DONE', order_id: order?.id, legacy_state: 'FINISHED' }]);
  });

  it('parked by its order id alone, then applied when the create has its answer [F107]', async () => {
    const device = shop.freshDevice();
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'delay', when: 'after', delay_ms: 350 });
    const creating = shop.create(device);
    const [order] = await eventually(
      () => shop.orders(device),
      (orders) => orders.length === 1,
    );
    await shop.atTerminal('pay', { device });
    await hint(order?.id ?? '');
    await creating;
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ state: 'FINISHED' });
    expect((await allHandled()).map((row) => row.state)).toEqual(['done']);
  });

  it('while the order can not be read: tried again until it can', async () => {
    const device = shop.freshDevice();
    const { order_id } = await silentOrder(device);
    await shop.atTerminal('pay', { device });
    await shop.fault({ method: 'GET', path: '/v1/orders/*', kind: 'error', status: 503 });
    await tell({ id: order_id });
    await receiver.waitFor(1, INTENT);
    expect((await allHandled()).map((row) => row.state)).toEqual(['done']);
  });
});
