/** Outcomes that stay open after the call, and odd orders: held, adopted, never doubled (F11–F18, F25–F27). */
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startRelay } from '../journeys/sdk-relay.ts';
import { type Answer, ARGENTINA, call, clockOf, eventually, POINT, tokenOf } from '../kit.ts';
import { closing, openForAll } from '../open.ts';
import type { Row } from '../proxy/http/till.ts';
import type { Act, Heard } from './fault-server.ts';
import * as acts from './fault-server-acts.ts';
import { end, type Order, openTill, SHORT, startUpstream, type Twist } from './upstream-stand.ts';

const FRESH_TOKEN = `APP_USR-4004001-112026-00000000000000000000000000000b02-${ARGENTINA}`;
const refusal = (status: number, code: string) => acts.json(status, { errors: [{ code, message: 'said upstream' }] });

let clock_offset_ms = 0;
const upstream = openForAll(() => startUpstream());
const puente = openForAll(() =>
  openTill(upstream.url, SHORT, {
    clock: clockOf(() => Date.now() + clock_offset_ms),
  }),
);
beforeEach(() => {
  const honest: Twist = (act) => act;
  Object.assign(upstream, { onCreate: honest, onRead: honest, onCancel: honest });
});

function untilRow(device: string, holds: (row: Row) => boolean): Promise<Row> {
  return eventually(async () => puente.row(device), holds);
}

function triesOf(device: string): Heard[] {
  return upstream.creates(puente.row(device).idempotency_key);
}

/** Bodies of all creates for a terminal, under any key. */
function bodiesFor(device: string): Buffer[] {
  return upstream.creates().flatMap(({ body }) => (body.includes(device) ? [body] : []));
}

function orderOf(device: string): Order {
  const order = upstream.orders.get(puente.row(device).idempotency_key);
  if (order === undefined) throw new Error('no order was made for this terminal');
  return order;
}

async function sale(): Promise<{ device: string; id: string; order: Order }> {
  const device = puente.device();
  const told = await puente.create(device);
  expect({ status: told.status, text: told.text }).toMatchObject({ status: 201 });
  return { device, id: (told.body as { id: string }).id, order: orderOf(device) }; // a 201 has an id
}

function read(id: string): Promise<Answer> {
  return puente.till(`${POINT}/payment-intents/${id}`);
}

/** Sends the event of an order, signed as upstream signs it. */
function tell(order: Order): Promise<Answer> {
  const ts = Date.now();
  const v1 = createHmac('sha256', 'a webhook secret of the tests')
    .update(`id:${order.id.toLowerCase()};request-id:r-1;ts:${ts};`)
    .digest('hex');
  return call(`${puente.app.public_url}/webhooks/orders?data.id=${order.id}&type=order`, {
    headers: { 'x-request-id': 'r-1', 'x-signature': `ts=${ts},v1=${v1}` },
    body: {
      action: 'order.updated',
      type: 'order',
      user_id: ARGENTINA,
      data: { id: order.id, external_reference: order.external_reference },
    },
  });
}

function nextCheckAt(device: string): number {
  using database = closing(new Database(join(puente.data_dir, 'puente.db'), { readonly: true }));
  const found = database.prepare('SELECT next_check_at FROM links WHERE unit = ?').pluck().get(device);
  return Number(found);
}

describe('a create in doubt', () => {
  it('500 again and again, then an order: three tries in the call, then recovery, one key [F11]', async () => {
    upstream.onCreate = (honest, _heard, nth) => (nth <= 4 ? refusal(500, 'internal_error') : honest);
    const device = puente.device();
    expect((await puente.create(device)).status).toBe(504);
    expect(puente.row(device)).toMatchObject({ state: 'IN_DOUBT', attempts: 3 });
    const row = await untilRow(device, ({ state }) => state === 'LIVE');
    expect(triesOf(device)).toHaveLength(5);
    expect(bodiesFor(device), 'no other key').toHaveLength(5);
    expect(orderOf(device).id).toBe(row.order_id);
  });

  it.each<[string, (honest: Act) => Act]>([
    ['before its first byte', (honest) => acts.unheard(honest, acts.reset)],
    ['in its middle', (honest) => acts.cutAt(120, honest, 'reset')],
  ])('an order whose every answer is cut %s: the till’s repeat is answered with that sale', async (_where, cut) => {
    upstream.onCreate = cut;
    const device = puente.device();
    expect((await puente.create(device)).status).toBe(504);
    const { legacy_id } = puente.row(device);
    upstream.onCreate = (honest) => honest;
    const again = await puente.create(device);
    expect([again.status, (again.body as { id?: string }).id]).toEqual([201, legacy_id]);
    expect(puente.row(device)).toMatchObject({ state: 'LIVE', order_id: orderOf(device).id });
    expect(bodiesFor(device), 'no other key').toHaveLength(triesOf(device).length);
  });

  it('a till whose answer is cut on its way gets the same sale when it asks again', async () => {
    const relay = await startRelay();
    onTestFinished(() => relay.close());
    relay.target = Number(new URL(puente.app.public_url).port);
    const device = puente.device();
    const lost = relay.loseNextAnswer();
    const first = call(`http://127.0.0.1:${relay.port}${POINT}/devices/${device}/payment-intents`, {
      token: tokenOf(ARGENTINA),
      body: { amount: 1500 },
    });
    await expect(first).rejects.toThrow();
    await lost;
    const again = await puente.create(device);
    expect([again.status, (again.body as { id?: string }).id]).toEqual([201, puente.row(device).legacy_id]);
    expect(bodiesFor(device)).toHaveLength(1);
  });

  it('a repeat finds the terminal busy with our own order: busy for now, then adopted by its event [F17]', async () => {
    upstream.onCreate = (honest, _heard, nth) =>
      nth === 1 ? acts.unheard(honest, acts.reset) : refusal(409, 'already_queued_order_for_terminal');
    const device = puente.device();
    expect((await puente.create(device)).status).toBe(409);
    expect(puente.row(device)).toMatchObject({ state: 'IN_DOUBT', order_id: null });
    const order = orderOf(device);
    expect((await tell(order)).status).toBe(200);
    const row = await untilRow(device, ({ state }) => state === 'LIVE');
    expect(row.order_id).toBe(order.id);
    const again = await puente.create(device);
    expect([again.status, (again.body as { id?: string }).id], 'the retry gets the sale').toEqual([201, row.legacy_id]);
    expect(bodiesFor(device), 'no other key, and no create more').toHaveLength(triesOf(device).length);
  });

  it('a token that expires in the middle of the tries: the sale is held, and continued with a fresh one [F18]', async () => {
    upstream.onCreate = (honest, heard, nth) => {
      if (nth === 1) return acts.unheard(honest, acts.reset);
      return heard.headers.authorization === `Bearer ${FRESH_TOKEN}` ? honest : refusal(401, 'unauthorized');
    };
    const device = puente.device();
    expect((await puente.create(device)).status).toBe(504);
    const tries = triesOf(device).length;
    await eventually(
      async () => triesOf(device).length,
      (count) => count > tries,
    );
    expect(puente.row(device).state, 'a 401 on a repeat proves nothing').toBe('IN_DOUBT');
    await puente.till(`${POINT}/payment-intents/${puente.row(device).legacy_id}`, { token: FRESH_TOKEN });
    const row = await untilRow(device, ({ state }) => state === 'LIVE');
    expect(triesOf(device).at(-1)?.headers.authorization).toBe(`Bearer ${FRESH_TOKEN}`);
    expect(bodiesFor(device), 'no other key').toHaveLength(triesOf(device).length);
    expect(orderOf(device).id).toBe(row.order_id);
  });
});

describe('an order with unexpected values', () => {
  it('an unknown status and unknown fields: not final, counted, and the till goes on [F25]', async () => {
    const { id, order } = await sale();
    Object.assign(order, { surprise: { deep: [1, 2] }, config: { ...(order.config as object), new_thing: true } });
    end(order, 'held_for_review');
    const told = await read(id);
    expect(told.status).toBe(200);
    expect((told.body as { state?: string }).state).toBeOneOf(['OPEN', 'ON_TERMINAL', 'PROCESSING']);
    const metrics = await puente.ops('/metrics');
    expect(metrics.text).toMatch(/puente_(?:unknown_states|default_rows)_total[^ ]* [1-9]/);
    end(order, 'canceled');
    expect((await read(id)).body).toMatchObject({ state: 'CANCELED' });
  });

  it.each<[string, (text: string) => string]>([
    ['the merchant as a number', (text) => text.replace(`"user_id":"${ARGENTINA}"`, `"user_id":${ARGENTINA}`)],
    ['amounts as numbers', (text) => text.replace(/"amount":"([\d.]+)"/g, '"amount":$1')],
    ['a total as a number with decimals', (text) => text.replace(/^\{/, '{"total_amount":15.00,')],
    ['the application as a number', (text) => text.replace(/^\{/, '{"integration_data":{"application_id":4004001},')],
    ['a ticket number as a number', (text) => text.replace(/"point":\{/, '"point":{"ticket_number":77,')],
    [
      'null at the order',
      (text) => text.replace(/^\{/, '{"total_amount":null,"description":null,"type_response":null,'),
    ],
    ['null below it', (text) => text.replace(/"payments":\[\{/, '"refunds":null,"payments":[{"reference_id":null,')],
  ])('%s is accepted: nothing is lost [F26]', async (_name, rewrite) => {
    upstream.onCreate = (honest) => (socket, heard) => {
      acts.unheard(honest, acts.silence)(socket, heard);
      const text = JSON.stringify(upstream.orders.get(heard.headers['x-idempotency-key'] ?? ''));
      expect(rewrite(text)).not.toBe(text);
      acts.answer(201, rewrite(text), { 'content-type': 'application/json' })(socket, heard);
    };
    const { device } = await sale();
    expect(puente.row(device)).toMatchObject({ state: 'LIVE', attempts: 1 });
  });

  it.each<[string, object]>([
    ['an id that is a number', { id: 1 }],
    ['a status that is a number', { status: 5 }],
    ['a merchant that is half a number', { user_id: 7.5 }],
    ['payments that are no list', { transactions: { payments: 'many' } }],
  ])('%s is no success [F26]', async (_name, change) => {
    upstream.onCreate = (_honest, heard) => acts.json(201, { ...orderLike(heard.body), ...change });
    const device = puente.device();
    expect((await puente.create(device)).status).toBe(504);
    expect(puente.row(device).state).toBe('IN_DOUBT');
  });
});

describe('reads that are late or fail', () => {
  it('an older version than the stored one: the stored one is served [F27]', async () => {
    const { id, order } = await sale();
    const before = { ...order };
    end(order, 'at_terminal');
    expect((await read(id)).body).toMatchObject({ state: 'ON_TERMINAL' });
    upstream.onRead = () => acts.json(200, before);
    expect((await read(id)).body).toMatchObject({ state: 'ON_TERMINAL' });
    expect((await tell(order)).status).toBe(200);
    expect((await read(id)).body).toMatchObject({ state: 'ON_TERMINAL' });
    upstream.onRead = () => acts.json(200, { ...before, status: 'canceled' });
    expect((await read(id)).body, 'a terminal state, whatever its date').toMatchObject({ state: 'CANCELED' });
  });
});

describe('a create that is in doubt for minutes', () => {
  it('an endless 500: single tries at intervals that grow to half a minute, with the same bytes in all [F12]', async () => {
    upstream.onCreate = () => refusal(500, 'internal_error');
    const device = puente.device();
    expect((await puente.create(device)).status).toBe(504);
    const tries = (): number => triesOf(device).length;
    const gaps_ms: number[] = [];
    let last_at = Date.now() + clock_offset_ms;
    while (gaps_ms.length < 9) {
      const sent = tries();
      const due_at = await eventually(
        async () => nextCheckAt(device),
        (at) => at > Date.now() + clock_offset_ms,
      );
      clock_offset_ms += due_at - (Date.now() + clock_offset_ms);
      await eventually(
        async () => tries(),
        (count) => count > sent,
      );
      gaps_ms.push(due_at - last_at);
      last_at = due_at;
      await eventually(
        async () => nextCheckAt(device),
        (at) => at > due_at,
      );
      expect(tries(), 'one try, not three').toBe(sent + 1);
    }
    expect(Math.min(...gaps_ms.slice(6)), 'no loop hotter than 30 s').toBeGreaterThanOrEqual(29_000);
    expect(new Set(triesOf(device).map(({ body }) => body.toString('hex'))).size).toBe(1);
    expect(puente.row(device).state).toBe('IN_DOUBT');
  });
});

/** Upstream's answer to a create, built here so that a test can spoil it. */
function orderLike(body: Buffer): object {
  const sent = JSON.parse(body.toString('utf8')) as Record<string, unknown>; // Puente's JSON
  return { ...sent, id: 'ORD01K7Q2V5B8N4T6W9XJ3MEH0RCD', status: 'created', user_id: ARGENTINA };
}
