/** The control door: state, reset, settings, clock, and its refusals. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, test } from 'vitest';
import { listAssumptions } from '../../src/sandbox/assumptions.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { openForAll } from '../open.ts';
import { ARGENTINA, BRAZIL, CHILE, MEXICO, openKit, tokenOf, URUGUAY, VIRTUAL_TERMINAL } from './kit.ts';

const kit = openForAll(() => openKit());
beforeEach(() => kit.control('POST', 'reset'));

const control = (method: string, path: string, body?: unknown) =>
  kit.call(method, `/_sandbox/${path}`, { merchant: null, body });

describe('start', () => {
  test('a bad setting is named and nothing listens', async () => {
    const start = (settings: object) => startSandbox({ port: 0, host: '127.0.0.1', settings });
    await expect(start({ replay: 'sometimes' })).rejects.toThrow('Sandbox setting replay');
    await expect(start({ speed: 3 })).rejects.toThrow('Sandbox setting speed');
  });

  test('a taken port is named with its setting', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo; // a TCP server's address is never text
    await expect(startSandbox({ port, host: '127.0.0.1' })).rejects.toMatchObject({
      code: 'bad_setting',
      message: `sandbox.port: 127.0.0.1:${port} is in use; choose another port, or 0 for a free one`,
    });
    await new Promise((resolve) => taken.close(resolve));
  });
});

test('a setting may have a fraction', async () => {
  const { body } = await control('PUT', 'settings', { replay_forget_after_minutes: 0.5 });
  expect(body).toMatchObject({ settings: { replay_forget_after_minutes: 0.5 } });
});

describe('refusals', () => {
  test.each([
    ['PUT', 'settings', { replay: 'sometimes' }, 400, 'replay'],
    ['PUT', 'settings', { speed: 3 }, 400, 'speed'],
    ['PUT', 'settings', [], 400, ''],
    ['PUT', 'settings', '{', 400, 'JSON'],
    ['PUT', 'webhooks', { url: 'ftp://x' }, 400, 'webhook_url'],
    ['PUT', 'webhooks', { colour: 'red' }, 400, 'colour'],
    ['POST', 'clock', { advance_ms: -1 }, 400, 'advance_ms'],
    ['POST', 'clock', { now: '2020-01-01T00:00:00Z' }, 400, 'forward'],
    ['POST', 'clock', { mode: 'fast' }, 400, 'mode'],
    ['PUT', 'terminals/1/X', {}, 404, 'Merchant 1'],
    ['PUT', `terminals/${ARGENTINA}/X`, { pos_id: 2000001 }, 404, 'point of sale'],
    ['POST', `terminals/${ARGENTINA}/X/pay`, {}, 404, 'no such terminal'],
    ['POST', `terminals/${ARGENTINA}/${VIRTUAL_TERMINAL}/pay`, {}, 409, 'Nothing is queued'],
    ['PUT', `merchants/${ARGENTINA}/token`, { access_token: 'x' }, 400, 'access_token'],
  ])('%s %s %j', async (method, path, body, status, word) => {
    const reply = await control(method, path, body);
    expect([reply.status, reply.body.message]).toEqual([status, expect.stringContaining(word)]);
  });
});

describe('state', () => {
  test('the cast: five merchants with two stores and three points of sale each, three of them with terminals', async () => {
    const { merchants } = (await control('GET', 'state')).body;
    const seen = merchants.map((merchant: Record<string, unknown[]>) => [
      merchant.user_id,
      merchant.site_id,
      merchant.country,
      merchant.currency,
      merchant.access_token,
      merchant.stores?.length,
      merchant.points_of_sale?.length,
      (merchant.terminals as { operating_mode: string }[]).map(({ operating_mode }) => operating_mode), // as rendered
    ]);
    const modes = ['PDV', 'PDV', 'STANDALONE'];
    expect(seen).toEqual([
      [ARGENTINA, 'MLA', 'ARG', 'ARS', tokenOf(ARGENTINA), 2, 3, modes],
      [BRAZIL, 'MLB', 'BRA', 'BRL', tokenOf(BRAZIL), 2, 3, modes],
      [MEXICO, 'MLM', 'MEX', 'MXN', tokenOf(MEXICO), 2, 3, modes],
      [CHILE, 'MLC', 'CHL', 'CLP', tokenOf(CHILE), 2, 3, []],
      [URUGUAY, 'MLU', 'URY', 'UYU', tokenOf(URUGUAY), 2, 3, []],
    ]);
  });

  test('orders, payments, what a terminal holds, and the request log without tokens or bodies', async () => {
    const paid = await kit.order({}, { key: 'first' });
    await kit.atTerminal('pay');
    const open = await kit.order();
    const { text, body } = await control('GET', 'state');
    expect(body.counts).toEqual({ orders: 2, payments: 1 });
    expect(
      body.orders.map((order: { id: string; status: string; version: number }) => [
        order.id,
        order.status,
        order.version,
      ]),
    ).toEqual([
      [paid, 'processed', 3],
      [open, 'created', 1],
    ]);
    expect(body.payments[0].origin).toEqual({ kind: 'order', id: paid });
    expect(body.merchants[0].terminals[1].holds).toEqual({ kind: 'order', id: open });
    expect(body.requests[0]).toEqual({
      at: expect.any(String),
      method: 'POST',
      path: '/v1/orders',
      idempotency_key: 'first',
      status: 201,
    });
    expect(text.split(tokenOf(ARGENTINA))).toHaveLength(2); // once, with the merchant
  });

  test('reset puts everything back', async () => {
    await kit.order();
    await control('PUT', 'settings', { order_ids: 'ORDTST' });
    await control('PUT', `merchants/${BRAZIL}/token`, { access_token: 'APP_USR-other' });
    await control('POST', 'faults', { path: '*', kind: 'refuse' });
    expect((await control('POST', 'reset')).status).toBe(204);
    const { body } = await control('GET', 'state');
    expect([body.counts.orders, body.faults, body.requests]).toEqual([0, [], []]);
    expect(body.merchants[1].access_token).toBe(tokenOf(BRAZIL));
    expect((await kit.createOrder()).body.id).toMatch(/^ORD0/);
  });
});

describe('settings and clock', () => {
  test('every setting has a sentence; the secret is not listed', async () => {
    const { settings, assumptions } = (await control('GET', 'settings')).body;
    expect(assumptions).toEqual(listAssumptions(kit.sandbox.world.settings));
    const { webhook_secret, ...told } = kit.sandbox.world.settings;
    expect(settings).toEqual(told);
    expect((await control('GET', 'settings')).body.profile).toBe('specification');
    expect(JSON.stringify([settings, (await control('GET', 'state')).body])).not.toContain(webhook_secret);
    for (const { name, sentence } of assumptions)
      expect([name, sentence]).toEqual([name, expect.stringMatching(/^[A-Z].{15,}\.$/)]);
  });

  test('the clock shows its mode and goes where it is told', async () => {
    expect((await control('GET', 'clock')).body.mode).toBe('manual');
    const { body } = await control('POST', 'clock', { now: '2030-01-01T00:00:00Z' });
    expect(body).toEqual({ now: '2030-01-01T00:00:00.000Z', mode: 'manual' });
    expect((await kit.createOrder()).body.created_date).toBe('2030-01-01T00:00:00.000Z');
  });

  test('in real time a simulated state comes by itself', async () => {
    await kit.control('PUT', 'settings', { simulated_step_ms: 5 });
    await kit.control('POST', 'clock', { mode: 'real' });
    const path = `/v1/orders/${await kit.order()}`;
    await kit.call('POST', `${path}/events`, { body: { status: 'processed' } });
    await expect.poll(async () => (await kit.call('GET', path)).body.status).toBe('processed');
    await kit.control('POST', 'clock', { mode: 'manual' });
  });

  test('extra terminals come at reset', async () => {
    const busy = await openKit({ extra_terminals: 2 });
    const { body } = await busy.call('GET', '/terminals/v1/list');
    expect([body.paging.total, body.data.terminals[4].id]).toEqual([5, 'NEWLAND_N950__LOAD0000002']);
    await busy.close();
  });
});

describe('elsewhere', () => {
  test.each([
    ['GET', '/nowhere', 404],
    ['DELETE', '/v1/orders/x', 404],
    ['GET', '/_sandbox/nowhere', 404],
    ['GET', '/v1/orders/%E0%A4%A', 400],
  ])('%s %s answers %i in JSON', async (method, path, status) => {
    const reply = await kit.call(method, path, { body: {} });
    expect(reply.status).toBe(status);
    expect(reply.body).toBeTypeOf('object');
  });

  test('unknown legacy routes', async () => {
    const reply = await kit.call('GET', '/point/integration-api/devices/X');
    expect([reply.status, reply.body]).toEqual([404, { error: '111', message: 'Action not supported', status: 404 }]);
  });

  test('a body too large is refused and the connection goes on', async () => {
    const reply = await kit.call('POST', '/v1/orders', { key: 'k', body: 'x'.repeat(300_000) });
    expect(reply.status).toBe(413);
    expect((await kit.createOrder()).status).toBe(201);
  });
});
