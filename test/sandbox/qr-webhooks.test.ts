/** Order webhooks about QR orders, at a real receiver. */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, CHILE } from './kit.ts';
import { amount, openQrKit, type QrKit, TILL } from './qr-kit.ts';

const SECRET = 'a-secret-of-the-test';

interface Received {
  url: URL;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON came and asserts on it
  body: any;
}

let kit: QrKit;
let receiver: Server;
let received: Received[] = [];

beforeAll(async () => {
  kit = await openQrKit();
  receiver = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    received.push({ url: new URL(request.url ?? '', 'http://receiver'), headers: request.headers, body });
    response.writeHead(200).end();
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
});
beforeEach(async () => {
  await kit.control('POST', 'reset');
  received = [];
  const { port } = receiver.address() as AddressInfo; // a TCP server's address is never text
  await kit.control('PUT', 'webhooks', { url: `http://127.0.0.1:${port}/hooks`, secret: SECRET });
});
afterAll(async () => {
  await kit.close();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

const told = async () => {
  await kit.sandbox.world.settled();
  return received.map(({ body }) => [body.action, body.data.type, body.data.status]);
};

async function onePaid(): Promise<{ id: string; event: Received }> {
  const id = await kit.qrOrder({ external_reference: 'sale-77' });
  await kit.atTill('pay', { payment_method_type: 'debit_card' });
  await kit.sandbox.world.settled();
  const [event] = received;
  if (event === undefined) throw new Error('no webhook came');
  return { id, event };
}

/** Whether the signature fits the id in either casing. */
function isSigned({ headers }: Received, id: string): boolean {
  const [, ts, v1] = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-signature'])) ?? [];
  return [id, id.toLowerCase()].some((signed) => {
    const manifest = `id:${signed};request-id:${headers['x-request-id']};ts:${ts};`;
    return createHmac('sha256', SECRET).update(manifest).digest('hex') === v1;
  });
}

describe('actions', () => {
  test('order.processed', async () => {
    await onePaid();
    expect(await told()).toEqual([['order.processed', 'qr', 'processed']]);
  });

  test('order.canceled', async () => {
    const id = await kit.qrOrder();
    await kit.call('POST', `/v1/orders/${id}/cancel`, { key: 'c' });
    expect(await told()).toEqual([['order.canceled', 'qr', 'canceled']]);
  });

  test('order.expired', async () => {
    await kit.qrOrder({ expiration_time: 'PT30S' });
    await kit.advance(30_000);
    expect(await told()).toEqual([['order.expired', 'qr', 'expired']]);
  });

  test('order.refunded', async () => {
    const { id } = await onePaid();
    await kit.call('POST', `/v1/orders/${id}/refund`, { key: 'r' });
    expect((await told()).at(-1)).toEqual(['order.refunded', 'qr', 'refunded']);
  });

  test('none for created, a buyer who looks, and a rejected attempt', async () => {
    await kit.qrOrder();
    for (const action of ['lock', 'unlock', 'decline', 'abandon']) await kit.atTill(action, {});
    await kit.atTill('lock', { in_review: true });
    expect(await told()).toEqual([]);
  });
});

describe('contents', () => {
  test('the address carries the reference too', async () => {
    const { id, event } = await onePaid();
    expect([...event.url.searchParams]).toEqual([
      ['data.id', id],
      ['type', 'order'],
      ['data.external_reference', 'sale-77'],
    ]);
  });

  test('the body is formed as for Point', async () => {
    const { id, event } = await onePaid();
    const [payment] = (await kit.get(id)).transactions.payments;
    expect(event.body).toMatchObject({
      action: 'order.processed',
      api_version: 'v1',
      type: 'order',
      user_id: ARGENTINA,
    });
    expect(event.body.data).toEqual({
      id,
      type: 'qr',
      version: 2,
      external_reference: 'sale-77',
      status: 'processed',
      status_detail: 'accredited',
      total_paid_amount: '150',
      transactions: {
        payments: [
          {
            id: payment.id,
            amount: '150',
            paid_amount: '150',
            status: 'processed',
            status_detail: 'accredited',
            reference: { id: payment.reference_id },
            payment_method: { type: 'debit_card', id: 'debmaster', installments: 1 },
          },
        ],
      },
    });
  });

  test.each([['plain'], ['two_decimals']])('Chilean amounts with webhook_amounts %s', async (webhook_amounts) => {
    await kit.control('PUT', 'settings', { webhook_amounts });
    await kit.qrOrder({ ...amount('2500'), items: undefined }, { merchant: CHILE });
    await kit.atTill('pay', {}, TILL, CHILE);
    await kit.sandbox.world.settled();
    expect(received[0]?.body.data.total_paid_amount).toBe('2500');
  });

  test('an amount with cents has two decimals', async () => {
    await kit.qrOrder({ ...amount('20.50'), items: undefined });
    await kit.atTill('pay');
    await kit.sandbox.world.settled();
    expect(received[0]?.body.data.total_paid_amount).toBe('20.50');
  });

  test('cash is listed beside the payment', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const transactions = { payments: [{ amount: '150.00' }], cash_outs: [{ amount: '50.00' }] };
    await kit.qrOrder({ transactions });
    await kit.atTill('pay');
    await kit.sandbox.world.settled();
    const { data } = received[0]?.body ?? {};
    expect([data.total_paid_amount, data.transactions.cash_outs]).toEqual([
      '200',
      [expect.objectContaining({ amount: '50', status: 'processed', reference: { id: expect.any(String) } })],
    ]);
  });
});

describe('signature', () => {
  test('never validates by default', async () => {
    const { id, event } = await onePaid();
    expect(event.headers['x-signature']).toBeDefined();
    expect(isSigned(event, id)).toBe(false);
  });

  test('validates with setting as_point', async () => {
    await kit.control('PUT', 'settings', { qr_signature: 'as_point' });
    const { id, event } = await onePaid();
    expect(isSigned(event, id)).toBe(true);
  });

  test('of Point is not touched by the setting', async () => {
    const id = await kit.order();
    await kit.atTerminal('pay');
    await kit.sandbox.world.settled();
    const [event] = received;
    if (event === undefined) throw new Error('no webhook came');
    expect(isSigned(event, id)).toBe(true);
  });
});
