/** Receivers of notifications that read inside their handler, answer too late, or do not exist. */
import { createServer } from 'node:http';
import { beforeEach, expect, it } from 'vitest';
import { listen, shut } from '../listen.ts';
import { openForEach } from '../open.ts';
import { startReceiver } from './legacy/kit.ts';
import { ARGENTINA, openShop, storeOrder, v2Path } from './legacy/qr-kit.ts';

const shop = openForEach(openShop);
const receiver = openForEach(startReceiver);
const seen: unknown[] = [];
beforeEach(() => {
  seen.length = 0;
});

const put = (query = '') =>
  shop.call('PUT', v2Path(), { body: storeOrder({ notification_url: receiver.url + query }) });
const account = (targets: object) => shop.control('PUT', `legacy/merchants/${ARGENTINA}/notifications`, targets);
const read = async (path: string) => (await shop.call('GET', path)).body;
const sent = async (): Promise<{ status: number | null; failure: string }[]> => {
  await shop.sandbox.world.settled();
  return (await shop.control('GET', 'state')).body.sent;
};

it('sees the state of an intent inside the handler', async () => {
  await account({ url: receiver.url });
  receiver.inside = async ({ body }) => {
    seen.push((await read(`/point/integration-api/payment-intents/${body.id}`)).state);
    seen.push((await read(`/v1/payments/${body.payment.id}`)).status);
    seen.push((await shop.control('GET', 'state')).body.merchants[0].terminals[1].holds);
  };
  const path = '/point/integration-api/devices/NEWLAND_N950__SBX0000001/payment-intents';
  await shop.call('POST', path, { body: { amount: 1500 } });
  await shop.atTerminal('pay');
  await sent();
  expect(seen).toEqual(['FINISHED', 'approved', null]);
});

it('sees the state of a merchant order and of its payment inside the handler', async () => {
  await put();
  await sent();
  receiver.inside = async ({ body }) => {
    const path = body.topic === 'payment' ? `/v1/payments/${body.resource}` : '/merchant_orders/40100000001';
    seen.push((await read(path)).status);
  };
  shop.buyer('pay');
  await sent();
  expect(seen.sort()).toEqual(['approved', 'closed']);
});

it('sees a chargeback and a payment of a subscription inside the handler', async () => {
  await put('?source_news=webhooks');
  shop.buyer('pay');
  await sent();
  const [payment] = [...shop.sandbox.world.payments.keys()];
  receiver.inside = async ({ body }) => {
    if (body.type === 'topic_chargebacks_wh') seen.push((await read(`/v1/chargebacks/${body.data.id}`)).status);
    if (body.resource !== undefined) seen.push((await read(`/v1/payments/${body.resource}`)).status);
  };
  for (const status of ['opened', 'lost']) {
    await shop.control('POST', `payments/${payment}/chargeback`, { status });
    await sent();
  }
  await account({ ipn_url: receiver.url });
  await shop.control('POST', `invoices/${ARGENTINA}`, { payment: { id: 19_800_000_777, status: 'rejected' } });
  await sent();
  expect(seen).toEqual(['opened', 'lost', 'rejected']);
});

it('that takes longer than the patience is tried again', async () => {
  expect(shop.sandbox.world.settings.webhook_timeout_ms).toBe(22_000);
  shop.sandbox.world.configure({ webhook_timeout_ms: 50 });
  receiver.inside = () => new Promise(() => {});
  await put();
  await shop.control('PUT', 'webhooks', { url: receiver.url });
  await shop.order();
  await shop.atTerminal('pay');
  expect(await sent()).toMatchObject(Array(2).fill({ status: null, failure: expect.stringContaining('timeout') }));
  receiver.inside = async () => {};
  shop.sandbox.world.configure({ webhook_timeout_ms: 10_000, legacy_qr_expiry_ms: 9_999_999 });
  await shop.control('POST', 'clock', { advance_ms: 15 * 60_000 });
  expect((await sent()).slice(2).filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2);
});

it('that is not there is tried again', async () => {
  const taken = createServer();
  const port = await listen(taken);
  await shut(taken);
  await shop.control('PUT', 'webhooks', { url: `http://127.0.0.1:${port}/` });
  await shop.order();
  await shop.atTerminal('pay');
  const refused = { status: null, failure: expect.stringContaining('ECONNREFUSED') };
  expect(await sent()).toMatchObject([refused]);
  await shop.control('POST', 'clock', { advance_ms: 15 * 60_000 });
  expect(await sent()).toMatchObject([refused, refused]);
});
