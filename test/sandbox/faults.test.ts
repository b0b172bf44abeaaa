/** Faults that break the connection, with a real client; faults with answers are in `conformance/control.yaml`. */
import { Agent, request } from 'undici';
import { beforeEach, expect, test } from 'vitest';
import { openForAll } from '../open.ts';
import { openKit, orderBody, tokenOf } from './kit.ts';

const kit = openForAll(() => openKit());
beforeEach(() => kit.control('POST', 'reset'));

const fault = (rule: object) => kit.control('POST', 'faults', { method: 'POST', path: '/v1/orders', ...rule });
const create = () => kit.call('POST', '/v1/orders', { key: 'k1', body: orderBody() });
const orders = () => kit.sandbox.world.orders.size;

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
