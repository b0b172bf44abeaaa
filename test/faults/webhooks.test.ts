/** Events that are forged, old, repeated a thousand times, malformed, or too many (F103–F105, F109–F111). */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ARGENTINA, call, eventually, startReceiver } from '../kit.ts';
import { closing, openForAll } from '../open.ts';
import { idOf, LEFT_IN_DOUBT, openShop } from '../proxy/http/till.ts';
import { allHandled, inboxOf, inventedOrder, SECRET, sendEvent, usualHeader } from './webhook-sender.ts';

const DAY_MS = 86_400_000;
/** Polls and the sweep are off, so only events change a sale. */
const QUIET = {
  PUENTE_WEBHOOK_SECRET: SECRET,
  PUENTE_RECONCILE_POINT_INTERVAL_MS: '600000',
  PUENTE_RECONCILE_MAX_INTERVAL_MS: '600000',
  PUENTE_RECONCILE_SWEEP_PER_SECOND: '0',
};

const shop = openForAll(() => openShop(QUIET));
const receiver = openForAll(() => startReceiver());
beforeAll(async () => {
  await shop.notify(ARGENTINA, { notice_url: receiver.url });
  await shop.upstreamSettings({ webhook_mode: 'drop' });
});
beforeEach(async () => {
  await allHandled(shop.data_dir);
});

interface Sale {
  id: string;
  order_id: string;
  device: string;
}

/** An open sale of which upstream sends no event. */
async function silentSale(): Promise<Sale> {
  const device = shop.freshDevice();
  const id = idOf(await shop.create(device));
  return { id, device, order_id: shop.rows(device)[0]?.order_id ?? '' };
}

/** A paid sale whose notice was acknowledged; resolves when that is stored. */
async function toldSale(): Promise<Sale> {
  const sale = await silentSale();
  await shop.atTerminal('pay', { device: sale.device });
  await sendEvent(shop.app.public_url, { id: sale.order_id });
  await eventually(
    async () => stored(sale),
    ({ known_by }) => known_by === 'notice',
  );
  expect(noticesOf(sale)).toBe(1);
  return sale;
}

function noticesOf({ id }: Sale): number {
  return receiver.received.filter(({ query }) => query.get('id') === id).length;
}

/** The stored row of a sale; equal rows before and after mean that nothing changed. */
function stored({ id }: Sale): Record<string, unknown> {
  using database = closing(new Database(join(shop.data_dir, 'puente.db'), { readonly: true }));
  return database
    .prepare<[string], Record<string, unknown>>(
      'SELECT state, legacy_state, order_version, known_by, revision FROM links WHERE legacy_id = ?',
    )
    .get(id) as Record<string, unknown>; // a sale of this test
}

describe('a forged event', () => {
  it('is a hint to read, and nothing more [F103]', async () => {
    const sale = await silentSale();
    const before = inboxOf(shop.data_dir).length;
    const answer = await sendEvent(shop.app.public_url, { id: sale.order_id, secret: 'not the secret' });
    expect(answer.status).toBe(200);
    expect((await allHandled(shop.data_dir)).slice(before)).toMatchObject([{ verified: 0, state: 'done' }]);
    expect((await shop.read(sale.id)).body).toMatchObject({ state: 'OPEN' });
    expect(noticesOf(sale)).toBe(0);
  });

  it('does not include one with upper-case hex under the right secret: that is verified [F103]', async () => {
    const sale = await silentSale();
    const before = inboxOf(shop.data_dir).length;
    await sendEvent(shop.app.public_url, {
      id: sale.order_id,
      action: 'order.at_terminal',
      header: (ts, digest) => usualHeader(ts, digest.toUpperCase()),
    });
    expect((await allHandled(shop.data_dir)).slice(before)).toMatchObject([{ verified: 1 }]);
  });
});

describe('an event, where unverified events are refused,', () => {
  const strict = openForAll(() => openShop({ ...QUIET, PUENTE_WEBHOOK_UNVERIFIED: 'refuse' }));

  it('under another secret is answered 401, and the genuine one is accepted [F103]', async () => {
    const id = inventedOrder(2);
    expect((await sendEvent(strict.app.public_url, { id, secret: 'not the secret' })).status).toBe(401);
    expect(inboxOf(strict.data_dir)).toEqual([]);
    expect((await sendEvent(strict.app.public_url, { id })).status).toBe(200);
    expect(inboxOf(strict.data_dir)).toMatchObject([{ order_id: id, verified: 1 }]);
  });
});

describe('genuine events in every order of arrival', () => {
  it('processed, then at_terminal, then created: the terminal state stays [F106]', async () => {
    const sale = await silentSale();
    await shop.atTerminal('pay', { device: sale.device });
    for (const action of ['order.processed', 'order.at_terminal', 'order.created'])
      await sendEvent(shop.app.public_url, { id: sale.order_id, action });
    await allHandled(shop.data_dir);
    expect(stored(sale), 'by the events, before any till reads it').toMatchObject({ legacy_state: 'FINISHED' });
    expect((await shop.read(sale.id)).body).toMatchObject({ state: 'FINISHED' });
    await eventually(
      async () => noticesOf(sale),
      (count) => count === 1,
    );
  });

  it('before the answer of our own create: one order, and the late answer does not revert the payment [F107]', async () => {
    const device = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'delay', when: 'after', delay_ms: 300 });
    const creating = shop.create(device);
    const [order] = await eventually(
      () => shop.orders(device),
      (orders) => orders.length === 1,
    );
    await shop.atTerminal('pay', { device });
    await sendEvent(shop.app.public_url, { id: order?.id ?? '' });
    const created = await creating;
    expect(created.status).toBe(201);
    await eventually(
      async () => shop.rows(device)[0],
      (row) => row?.legacy_state === 'FINISHED',
    );
    expect((await shop.read(idOf(created))).body).toMatchObject({ state: 'FINISHED' });
    expect(await shop.orders(device)).toHaveLength(1);
  });
});

describe('a genuine event that is sent again', () => {
  it.each([
    ['a minute', 60_000],
    ['a day', DAY_MS],
    ['a year', 365 * DAY_MS],
  ])('%s later changes nothing and sends no notice [F104]', async (_name, age_ms) => {
    const sale = await toldSale();
    const before = stored(sale);
    const known = inboxOf(shop.data_dir).length;
    const answer = await sendEvent(shop.app.public_url, { id: sale.order_id, ts: Date.now() - age_ms });
    expect(answer.status).toBe(200);
    expect((await allHandled(shop.data_dir)).slice(known)).toMatchObject([{ verified: 1, state: 'done' }]);
    expect(stored(sale)).toEqual(before);
    expect(noticesOf(sale)).toBe(1);
  });

  it('a thousand times is one change, one notice, and few reads [F105]', async () => {
    const sale = await silentSale();
    await shop.atTerminal('pay', { device: sale.device });
    const reads = (await shop.requests(`/v1/orders/${sale.order_id}`)).length;
    const began = performance.now();
    for (let batch = 0; batch < 20; batch++)
      await Promise.all(Array.from({ length: 50 }, () => sendEvent(shop.app.public_url, { id: sale.order_id })));
    await allHandled(shop.data_dir);
    const seconds = (performance.now() - began) / 1_000;
    await eventually(
      async () => noticesOf(sale),
      (count) => count >= 1,
    );
    expect(stored(sale)).toMatchObject({ state: 'DONE', legacy_state: 'FINISHED' });
    expect(noticesOf(sale)).toBe(1);
    // One read immediately while the sale was open, then at most one a second.
    const after = (await shop.requests(`/v1/orders/${sale.order_id}`)).length;
    expect(after - reads).toBeLessThanOrEqual(Math.ceil(seconds) + 2);
  });
});

describe('a flood of events', () => {
  it('with random ids reads nothing, is capped, and does not affect creates and genuine events [F109]', async () => {
    await using small = closing(await openShop({ ...QUIET, PUENTE_WEBHOOK_WAITING_LIMIT: '500' }));
    const statuses = new Map<number, number>();
    const forge = async (from: number): Promise<void> => {
      // Pending events are counted once a second, so a fast machine accepts more before it refuses.
      for (let nth = from; nth < 50_000 && !statuses.has(503); nth += 20) {
        const { status } = await sendEvent(small.app.public_url, { id: inventedOrder(nth), header: () => null });
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const flood = Promise.all(Array.from({ length: 20 }, (_, from) => forge(from)));
    const created = [];
    for (let sale = 0; sale < 10; sale++) created.push((await small.create(small.freshDevice())).status);
    await flood;
    expect(created).toEqual(Array(10).fill(201));
    expect([...statuses.keys()].sort()).toEqual([200, 503]);
    const forged = inboxOf(small.data_dir).filter(({ order_id }) => order_id?.startsWith('ORD01K7FFD') === true);
    expect(forged).toHaveLength(statuses.get(200) ?? 0);
    expect((await small.requests('/v1/orders/ORD01K7FFD')).length).toBe(0);
    expect((await sendEvent(small.app.public_url, { id: inventedOrder(9_999) })).status).toBe(200);
    const refused = await sendEvent(small.app.public_url, { id: inventedOrder(9_998), header: () => null });
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '60' } });
  });

  it('for one order leaves a few rows, whatever the events hold [F109]', async () => {
    const sale = await silentSale();
    const told = Array.from({ length: 200 }, (_, nth) => `order.forged_${nth}`);
    await Promise.all(
      told.map((action) => sendEvent(shop.app.public_url, { id: sale.order_id, action, header: () => null })),
    );
    await allHandled(shop.data_dir);
    const rows = inboxOf(shop.data_dir).filter(({ order_id }) => order_id === sale.order_id);
    expect(rows.length).toBeLessThanOrEqual(20);
    expect(rows.length).toBeGreaterThan(0);
  });
});

it('an inbox that can not commit answers 503, and accepts the event when it is sent again [F110]', async () => {
  const id = inventedOrder(777);
  const other = new Database(join(shop.data_dir, 'puente.db'));
  other.exec('BEGIN IMMEDIATE');
  try {
    expect((await sendEvent(shop.app.public_url, { id })).status).toBe(503);
  } finally {
    other.exec('ROLLBACK');
    other.close();
  }
  expect(inboxOf(shop.data_dir).filter(({ order_id }) => order_id === id)).toEqual([]);
  expect((await sendEvent(shop.app.public_url, { id })).status).toBe(200);
  expect(inboxOf(shop.data_dir).filter(({ order_id }) => order_id === id)).toHaveLength(1);
});

describe('an event in another shape', () => {
  const shapes: [string, (id: string) => unknown][] = [
    ['a resource path', (id) => ({ topic: 'order', resource: `/v1/orders/${id}` })],
    ['the id one level deeper', (id) => ({ type: 'order', data: { order: { id } } })],
    ['the order itself', (id) => ({ id, status: 'processed' })],
    ['a list', (id) => [{ id }]],
    ['an envelope with text in it', (id) => ({ message: JSON.stringify({ data: { id } }) })],
  ];
  it.each(shapes)('(%s) is used as a hint all the same [F111]', async (_name, shape) => {
    const sale = await silentSale();
    await shop.atTerminal('pay', { device: sale.device });
    const body = shape(sale.order_id);
    const answer = await sendEvent(`${shop.app.public_url}`, { id: 'x', header: () => null, body });
    expect(answer.status).toBe(200);
    await eventually(
      async () => noticesOf(sale),
      (count) => count === 1,
    );
  });

  it.each([
    ['a version that is text', { version: '3' }],
    ['a status that is null', { status: null }],
    ['a status that is a number', { status: 7 }],
  ])('(%s) finds the sale whose create is in doubt by its reference all the same [F111]', async (_name, data) => {
    const device = shop.freshDevice();
    await shop.fault({ ...LEFT_IN_DOUBT, when: 'after', times: 'always' });
    expect((await shop.create(device)).status).toBe(504);
    const [order] = await shop.orders(device);
    const { id = '', external_reference } = order ?? {};
    const body = { type: 'order', user_id: ARGENTINA, data: { id, external_reference, ...data } };
    expect((await sendEvent(shop.app.public_url, { id, body })).status).toBe(200);
    await eventually(
      async () => shop.rows(device)[0],
      (row) => row?.order_id === id,
    );
    await shop.clearFaults();
  });

  it.each([
    ['a body that is no JSON', 400, '{"data":'],
    ['an empty body', 400, ''],
    ['a number', 400, '7'],
    ['depth', 400, '['.repeat(30_000)],
    ['a list', 400, '[]'],
    ['no id at all', 400, '{"type":"order","data":{}}'],
    ['an id of no form', 200, '{"type":"order","data":{"id":"../users/me"}}'],
    ["the vendor panel's test", 200, '{"action":"order.processed","type":"order","data":{"id":"123456"}}'],
    ['the same with a number', 200, '{"action":"order.processed","type":"order","data":{"id":123456}}'],
    ['bytes that are not UTF-8', 400, Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString('latin1')],
    ['another topic', 200, '{"type":"payment","data":{"id":"16500000001"}}'],
    ['more than 64 KiB', 413, JSON.stringify({ type: 'order', padding: 'x'.repeat(70_000) })],
  ])(
    '%s is answered %s and not kept; what can not be read is counted for operators [F111]',
    async (_name, status, body) => {
      const before = inboxOf(shop.data_dir).length;
      const answer = await call(`${shop.app.public_url}/webhooks/orders`, { body });
      expect(answer.status).toBe(status);
      expect(inboxOf(shop.data_dir)).toHaveLength(before);
      if (status === 400) {
        expect((await shop.ops('/metrics')).text).toMatch(/puente_events_total\{outcome="unreadable"\} [1-9]/);
      }
    },
  );
});
