/** A till's day on two Puentes with one database: each continues the other's work, and a receiver is notified once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type App, startApp } from '../../../src/app/app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import {
  ARGENTINA,
  type Bench,
  BRAZIL,
  call,
  DEVICE,
  eventually,
  INTENT,
  POINT,
  startBench,
  startReceiver,
  tables,
  tokenOf,
  topicOf,
} from '../../kit.ts';
import { type Server, startServer } from './server.ts';

const INTENTS = `${POINT}/devices/${DEVICE}/payment-intents`;

/** Upstream acts, and its answer is always lost. */
const LOST = { method: 'POST', kind: 'reset', when: 'after', times: 'always' };

describe('two Puentes on one database', () => {
  let server: Server;
  let url: string;
  let first: Bench;
  let second: App;
  let data_dir: string | undefined;
  beforeAll(async () => {
    server = await startServer();
    url = await server.database();
    const shared = {
      PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
      PUENTE_POSTGRES_URL: url,
      // How long a till waits for an unanswered create.
      PUENTE_CREATE_DEADLINE_MS: '4000',
      PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '1500',
      PUENTE_SECRET_KEY: 'c7'.repeat(32),
    };
    first = await startBench(shared);
    const upstream = first.sandbox.url;
    data_dir = mkdtempSync(join(tmpdir(), 'puente-test-'));
    const own = {
      PUENTE_DATA_DIR: data_dir,
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_LOG_LEVEL: 'silent',
    };
    const elsewhere = {
      PUENTE_UPSTREAM: upstream,
      PUENTE_LEGACY_UPSTREAM: upstream,
      PUENTE_LIMITS_LAG_MS: '600000',
      // As the first one on the sandbox: either of them may take a notice.
      PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    };
    second = await startApp(loadConfig({ env: { ...shared, ...own, ...elsewhere }, cwd: process.cwd() }), {
      tables: tables(),
    });
  });
  afterAll(async () => {
    await second?.close();
    await first?.close();
    await server?.remove();
    if (data_dir !== undefined) rmSync(data_dir, { recursive: true, force: true });
  });

  const at = (app: App, path: string, body?: unknown) =>
    call(`${app.public_url}${path}`, { token: tokenOf(ARGENTINA), ...(body === undefined ? {} : { body }) });

  it('sell, refuse a second sale of the terminal, show each other the state, and tell the shop once', async () => {
    const receiver = await startReceiver();
    await first.notify(ARGENTINA, { notice_url: receiver.url });
    const created = await at(first.app, INTENTS, { amount: 1500 });
    expect(created.status).toBe(201);
    const { id } = created.body as { id: string }; // the door's form
    expect((await at(second, `${POINT}/payment-intents/${id}`)).body).toMatchObject({
      id,
      state: 'OPEN',
      amount: 1500,
    });
    const busy = await at(second, INTENTS, { amount: 1900 });
    expect(busy.status).toBe(409);
    await first.atTerminal('pay');
    const [notice] = await receiver.waitFor(1, INTENT);
    expect(notice?.body).toMatchObject({ id, state: 'FINISHED', amount: 1500 });
    const shown = await eventually(
      async () => (await at(second, `${POINT}/payment-intents/${id}`)).body as { state: string },
      ({ state }) => state === 'FINISHED',
    );
    expect(shown).toMatchObject({ id, state: 'FINISHED' });
    expect((await at(second, INTENTS, { amount: 1900 })).status).toBe(201);
    // The receiver acknowledges before the delivery is recorded.
    const notices = await eventually(
      () => server.run(url, `SELECT state, attempts::int AS attempts FROM notices`),
      (rows) => rows.every(({ state }) => state === 'delivered'),
    );
    expect(notices).toEqual(Array(2).fill({ state: 'delivered', attempts: 1 }));
    expect(receiver.received.map(topicOf).sort()).toEqual(['payment', INTENT]);
    await receiver.close();
  });

  it.each([
    ['with its key', { 'x-idempotency-key': 'key-of-the-sale' }, 2100],
    ['without a key', {}, 2200],
  ])(
    'answer a create whose answer was lost at the other one with the sale that was paid, %s',
    async (_how, headers, amount) => {
      const device = 'NEWLAND_N950__SBX0000001';
      const create = (app: App) =>
        call(`${app.public_url}${POINT}/devices/${device}/payment-intents`, {
          token: tokenOf(ARGENTINA),
          body: { amount },
          headers,
        });
      await first.control('/faults', { body: { ...LOST, path: '/v1/orders' } });
      expect((await create(first.app)).status).toBe(504);
      await first.control('/faults', { method: 'DELETE' });
      expect((await first.control(`/terminals/${ARGENTINA}/${device}/pay`, { body: {} })).status).toBe(200);
      const repeated = await create(second);
      expect(repeated.status, repeated.text).toBe(201);
      const { id } = repeated.body as { id: string }; // the door's form
      expect((await at(first.app, `${POINT}/payment-intents/${id}`)).body).toMatchObject({ state: 'FINISHED', amount });
      expect(ordersOver(amount)).toEqual(['processed']);
      // The till has read it: an equal create is a second sale, whatever its key.
      expect((await create(second)).status).toBe(201);
      expect(ordersOver(amount)).toHaveLength(2);
      await first.control(`/terminals/${ARGENTINA}/${device}/pay`, { body: {} });
    },
  );

  it.each([
    ['with its key', { 'x-idempotency-key': 'key-of-the-quick-sale' }, 2510],
    ['without a key', {}, 2520],
  ])(
    'answer a create that its till repeats at the other one, while the first still waits for upstream, with one sale, %s',
    async (_how, headers, amount) => {
      const device = 'NEWLAND_N950__SBX0000001';
      const create = (app: App) =>
        call(`${app.public_url}${POINT}/devices/${device}/payment-intents`, {
          token: tokenOf(ARGENTINA),
          body: { amount },
          headers,
        });
      const slow = { method: 'POST', path: '/v1/orders', kind: 'delay', when: 'after', delay_ms: 1_000, times: 1 };
      await first.control('/faults', { body: slow });
      const waiting = create(first.app);
      await eventually(
        async () => first.sandbox.world.faults,
        ([one]) => one?.acted === 1,
      );
      const repeated = await create(second);
      const sold = await waiting;
      await first.control('/faults', { method: 'DELETE' });
      expect([repeated.status, repeated.body], repeated.text).toEqual([201, sold.body]);
      expect(sold.status).toBe(201);
      expect(ordersOver(amount)).toEqual(['created']);
      await first.control(`/terminals/${ARGENTINA}/${device}/pay`, { body: {} });
    },
  );

  it('answer a put whose answer was lost at the other one with the sale that was paid', async () => {
    const put = (app: App) => {
      const item = { title: 'Coffee', unit_price: 2300, quantity: 1, unit_measure: 'unit', total_amount: 2300 };
      const body = { external_reference: 'lost', title: 'Shop', description: 'Bar', total_amount: 2300, items: [item] };
      const path = `/instore/qr/seller/collectors/${ARGENTINA}/pos/SUC001POS001/orders`;
      return call(app.public_url + path, { method: 'PUT', token: tokenOf(ARGENTINA), body });
    };
    await first.control('/faults', { body: { ...LOST, path: '/v1/orders' } });
    expect((await put(first.app)).status).toBe(504);
    await first.control('/faults', { method: 'DELETE' });
    expect((await first.control(`/pos/${ARGENTINA}/SUC001POS001/pay`, { body: {} })).status).toBe(200);
    expect((await put(second)).status).toBe(204);
    expect(ordersOver(230_000)).toEqual(['processed']);
  });

  it('open no second sale for a create that waits at one while the other answers an equal one, and its notice is acknowledged', async () => {
    const receiver = await startReceiver();
    await first.notify(BRAZIL, { notice_url: receiver.url });
    const create = (app: App) =>
      call(`${app.public_url}${POINT}/devices/${DEVICE}/payment-intents`, {
        token: tokenOf(BRAZIL),
        body: { amount: 2400 },
      });
    const fault = {
      method: 'GET',
      path: '/users/me',
      kind: 'delay',
      when: 'before',
      delay_ms: 2_500,
      merchant: BRAZIL,
    };
    await first.control('/faults', { body: { ...fault, times: 1 } });
    const waiting = create(second);
    await eventually(
      async () => first.sandbox.world.faults,
      ([one]) => one?.acted === 1,
    );
    const sold = await create(first.app);
    expect(sold.status, sold.text).toBe(201);
    await first.atTerminal('pay', { merchant: BRAZIL, device: DEVICE });
    await eventually(
      () => server.run(url, `SELECT known_by FROM links WHERE merchant_id = '${BRAZIL}'`),
      ([one]) => one?.known_by === 'notice',
    );
    const repeated = await waiting;
    expect([repeated.status, repeated.body], repeated.text).toEqual([201, sold.body]);
    expect(ordersOver(2400)).toEqual(['processed']);
    await first.control('/faults', { method: 'DELETE' });
    await receiver.close();
  });

  const ordersOver = (amount_minor: number): string[] =>
    [...first.sandbox.world.orders.values()]
      .filter(({ transaction }) => transaction.amount_minor === amount_minor)
      .map(({ status }) => status);

  it('tell a till clearly that nothing was sent while the database is gone, and sell when it is back', async () => {
    const device = `${POINT}/devices/NEWLAND_N950__SBX0000001/payment-intents`;
    const before = first.sandbox.world.orders.size;
    await server.stop();
    const refused = await at(first.app, device, { amount: 1700 });
    expect(refused.status).toBe(503);
    expect(first.sandbox.world.orders.size).toBe(before);
    await server.start();
    const sold = await eventually(
      () => at(first.app, device, { amount: 1700 }),
      ({ status }) => status === 201,
    );
    expect(sold.body).toMatchObject({ amount: 1700 });
  });
});
