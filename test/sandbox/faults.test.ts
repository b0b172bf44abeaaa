/** Faults of the sandbox, as a real client sees them. */
import { Agent, request } from 'undici';
import { beforeEach, describe, expect, test } from 'vitest';
import { openForAll } from '../open.ts';
import { BRAZIL, codeOf, openKit, orderBody, tokenOf } from './kit.ts';

const kit = openForAll(() => openKit());
beforeEach(() => kit.control('POST', 'reset'));

const fault = (rule: object) => kit.control('POST', 'faults', { method: 'POST', path: '/v1/orders', ...rule });
const create = (key = 'k1', merchant?: string) =>
  kit.call('POST', '/v1/orders', { key, body: orderBody(), ...(merchant !== undefined && { merchant }) });
const orders = () => kit.sandbox.world.orders.size;

describe('kinds', () => {
  test.each([['refuse'], ['reset']])('%s breaks the connection, and nothing happened', async (kind) => {
    await fault({ kind });
    await expect(create()).rejects.toThrow(/other side closed|ECONNRESET/);
    expect(orders()).toBe(0);
    expect((await create()).status).toBe(201);
  });

  test('reset after the effect breaks the connection, and the order exists', async () => {
    await fault({ kind: 'reset', when: 'after' });
    await expect(create()).rejects.toThrow(/other side closed|ECONNRESET/);
    expect(orders()).toBe(1);
    expect((await create()).status).toBe(201);
    expect(orders()).toBe(1);
  });

  test.each([
    ['before', 0],
    ['after', 1],
  ])('no answer, %s the effect', async (when, count) => {
    await fault({ kind: 'no_answer', when });
    const agent = new Agent({ headersTimeout: 100 });
    const call = request(`${kit.sandbox.url}/v1/orders`, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${tokenOf('700100200')}`, 'x-idempotency-key': 'k1' },
      body: JSON.stringify(orderBody()),
    });
    await expect(call).rejects.toThrow('Headers Timeout');
    await agent.destroy();
    expect(orders()).toBe(count);
  });

  test('a truncated answer promises more than it brings', async () => {
    await fault({ kind: 'truncate' });
    await expect(create()).rejects.toThrow(/other side closed|terminated|ECONNRESET/);
    expect(orders()).toBe(1);
  });

  test.each([
    ['before', 0],
    ['after', 1],
  ])('a 503 %s the effect', async (when, count) => {
    await fault({ kind: 'error', when, status: 503, code: 'unavailable', message: 'later', details: ['d'] });
    const reply = await create();
    expect([reply.status, reply.body]).toEqual([
      503,
      { errors: [{ code: 'unavailable', message: 'later', details: ['d'] }] },
    ]);
    expect(orders()).toBe(count);
  });

  test('HTML instead of JSON', async () => {
    await fault({ kind: 'html' });
    const reply = await create();
    expect([reply.status, reply.body, reply.text.startsWith('<html>')]).toEqual([502, null, true]);
    await fault({ kind: 'html', status: 200, when: 'after' });
    expect((await create()).status).toBe(200);
    expect(orders()).toBe(1);
  });

  test.each([['before'], ['after']])('a delay %s the effect ends in the true answer', async (when) => {
    await fault({ kind: 'delay', when, delay_ms: 20 });
    const reply = await create();
    expect([reply.status, reply.body.status]).toEqual([201, 'created']);
  });

  test('errors speak the envelope of their path', async () => {
    await fault({ method: '*', path: '*', kind: 'error', status: 500, code: '777', times: 'always' });
    const legacy = await kit.call('GET', '/point/integration-api/devices');
    expect(legacy.body).toEqual({ error: '777', message: expect.any(String), status: 500 });
    const payment = await kit.call('GET', '/v1/payments/1');
    expect(payment.body).toEqual({ error: '777', message: expect.any(String), status: 500, cause: [] });
    expect(codeOf(await kit.call('GET', '/terminals/v1/list'))).toBe('777');
  });

  test('a forced 401 is flat', async () => {
    await fault({ kind: 'error', status: 401, code: 'user_not_authorized' });
    expect((await create()).body).toEqual({ code: 'user_not_authorized', message: expect.any(String) });
  });
});

describe('matching', () => {
  test('the second and third of its kind, then never again', async () => {
    await fault({ path: '/v1/orders*', kind: 'error', nth: 2, times: 2 });
    const statuses = [];
    for (let index = 0; index < 5; index++) statuses.push((await create(`k${index}`)).status);
    expect(statuses).toEqual([201, 500, 500, 400, 400]); // 400: the reference is in use by then
    const { faults } = (await kit.control('GET', 'faults')).body;
    expect([faults[0].matched, faults[0].acted]).toEqual([5, 2]);
  });

  test('one merchant, one method, one path', async () => {
    await fault({ kind: 'error', merchant: BRAZIL, times: 'always' });
    expect((await create('k1')).status).toBe(201);
    expect((await create('k1', BRAZIL)).status).toBe(500);
    expect((await kit.call('GET', '/terminals/v1/list', { merchant: BRAZIL })).status).toBe(200);
  });

  test('rules add up, and are all taken away', async () => {
    await fault({ kind: 'error', status: 500 });
    await fault({ kind: 'error', status: 503 });
    expect([(await create()).status, (await create()).status, (await create()).status]).toEqual([500, 503, 201]);
    await fault({ kind: 'error' });
    await kit.control('DELETE', 'faults');
    expect((await kit.control('GET', 'faults')).body).toEqual({ faults: [] });
    expect((await create()).status).toBe(201);
  });

  test.each([[{ kind: 'burn' }], [{ kind: 'error', status: 99 }], [{ kind: 'error', often: true }]])(
    'rule %j is refused with a sentence',
    async (rule) => {
      const reply = await kit.call('POST', '/_sandbox/faults', { merchant: null, body: { path: '*', ...rule } });
      expect([reply.status, reply.body.error]).toEqual([400, 'bad_request']);
      expect(kit.sandbox.world.faults).toHaveLength(0);
    },
  );
});
