/** The legacy API in the whole sandbox: one terminal for both APIs, the control door, and the payment of an intent. */
import { request } from 'undici';
import { expect, it } from 'vitest';
import { operateWork } from '../../../src/sandbox/legacy/lifecycle.ts';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { openForEach } from '../../open.ts';
import { BASE, MLA, PAX, startReceiver } from './kit.ts';

const sandbox = openForEach(() =>
  startSandbox({ port: 0, host: '127.0.0.1', settings: { local_notification_urls: 'called' } }),
);
const receiver = openForEach(() => startReceiver());

async function call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: object) {
  const answer = await request(sandbox.url + path, {
    method,
    headers: {
      authorization: `Bearer ${sandbox.world.merchants.get(MLA)?.access_token}`,
      'x-idempotency-key': `${method} ${path}`.slice(0, 64),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await answer.body.text();
  return { status: answer.statusCode, body: text === '' ? undefined : JSON.parse(text) };
}

const intents = `${BASE}/devices/${PAX}/payment-intents`;
const order = {
  type: 'point',
  external_reference: 'sale-77',
  transactions: { payments: [{ amount: '15.00' }] },
  config: { point: { terminal_id: PAX } },
};

it('refuses an intent while an order is queued, and an order while an intent is', async () => {
  const made = await call('POST', '/v1/orders', order);
  expect(made.status).toBe(201);
  expect(await call('POST', intents, { amount: 1500 })).toMatchObject({ status: 409, body: { error: '2205' } });
  await call('POST', `/_sandbox/terminals/${MLA}/${PAX}/cancel`);
  expect((await call('POST', intents, { amount: 1500 })).status).toBe(201);
  const refused = await call('POST', '/v1/orders', { ...order, external_reference: 'sale-78' });
  expect(refused.status).toBe(409);
});

it('pays an intent through the control door, tells the receiver, and shows the payment', async () => {
  await call('PUT', `/_sandbox/legacy/merchants/${MLA}/notifications`, { url: receiver.url });
  const { body: made } = await call('POST', intents, { amount: 1500 });
  const acted = await call('POST', `/_sandbox/terminals/${MLA}/${PAX}/pay`);
  expect(acted).toMatchObject({ status: 200, body: { kind: 'intent', id: made.id, queued: false } });
  await sandbox.world.settled();
  const [notice] = receiver.heard;
  expect(notice?.body).toMatchObject({ id: made.id, state: 'FINISHED', payment: { state: 'approved' } });
  const payment = await call('GET', `/v1/payments/${notice?.body.payment.id}`);
  expect(payment).toMatchObject({ status: 200, body: { status: 'approved', transaction_amount: 15 } });
  const { body: state } = await call('GET', '/_sandbox/state');
  expect(state.legacy.intents).toMatchObject([{ id: made.id, merchant_id: MLA, state: 'FINISHED', amount: 1500 }]);
});

it('refunds a payment of an order on the terminal that took it', async () => {
  await call('POST', '/v1/orders', order);
  await call('POST', `/_sandbox/terminals/${MLA}/${PAX}/pay`);
  const [payment_id] = [...sandbox.world.payments.keys()];
  const made = await call('POST', `${BASE}/devices/${PAX}/refund`, { payment_id: String(payment_id) });
  expect(made.status).toBe(200);
  await call('POST', `/_sandbox/terminals/${MLA}/${PAX}/pay`);
  expect((await call('GET', `/v1/payments/${payment_id}`)).body.status).toBe('refunded');
});

it('reads an id in upper case, and acts no more on an intent that is over', async () => {
  const { body: made } = await call('POST', intents, { amount: 1500 });
  const read = await call('GET', `${BASE}/payment-intents/${made.id.toUpperCase()}`);
  expect(read).toMatchObject({ status: 200, body: { id: made.id } });
  await call('POST', `/_sandbox/terminals/${MLA}/${PAX}/cancel`);
  const intent = sandbox.world.intents.get(made.id);
  expect(() => intent && operateWork(sandbox.world, intent, 'pay', {})).toThrow(/not possible/);
});

it('forgets intents and receivers at a reset', async () => {
  await call('PUT', `/_sandbox/legacy/merchants/${MLA}/notifications`, { url: receiver.url });
  const { body: made } = await call('POST', intents, { amount: 1500 });
  await call('POST', '/_sandbox/reset');
  expect((await call('GET', `${BASE}/payment-intents/${made.id}`)).status).toBe(404);
  const { body: state } = await call('GET', '/_sandbox/state');
  expect(state.legacy).toEqual({ counts: { intents: 0, refunds: 0 }, intents: [], refunds: [], notifications: [] });
});
