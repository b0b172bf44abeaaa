/** Order webhooks of the sandbox at a real receiver: contents, signatures, retries and mishaps. */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, type Kit, openKit } from './kit.ts';

const SECRET = 'a-secret-of-the-test';
const QUARTER_MS = 15 * 60_000;

interface Received {
  url: URL;
  headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON came and asserts on it
  body: any;
}

let kit: Kit;
let receiver: Server;
let received: Received[] = [];
/** Answers of the receiver, one per delivery; null answers never; 200 when they run out. */
let answers: (number | null)[] = [];

beforeAll(async () => {
  kit = await openKit();
  receiver = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    received.push({ url: new URL(request.url ?? '', 'http://receiver'), headers: request.headers, body });
    const status = answers.length === 0 ? 200 : answers.shift();
    if (typeof status === 'number') response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve));
});
beforeEach(async () => {
  await kit.control('POST', 'reset');
  received = [];
  answers = [];
  const { port } = receiver.address() as AddressInfo; // a TCP server's address is never text
  await kit.control('PUT', 'webhooks', { url: `http://127.0.0.1:${port}/hooks?client=7`, secret: SECRET });
});
afterAll(async () => {
  await kit.close();
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

const advance = (advance_ms: number) => kit.control('POST', 'clock', { advance_ms });
const actions = async () => {
  await kit.sandbox.world.settled();
  return received.map(({ body }) => body.action);
};

function signatureOf({ url, headers }: Received): {
  ts: string;
  v1: string;
  over: (id: string, secret?: string) => string;
} {
  const [, ts = '', v1 = ''] = /^ts=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['x-signature'])) ?? [];
  expect(url.searchParams.get('type')).toBe('order');
  const over = (id: string, secret = SECRET) =>
    createHmac('sha256', secret).update(`id:${id};request-id:${headers['x-request-id']};ts:${ts};`).digest('hex');
  return { ts, v1, over };
}

async function onePaid(): Promise<{ id: string; event: Received }> {
  const id = await kit.order({ external_reference: 'sale-77' });
  await kit.atTerminal('pay');
  await kit.sandbox.world.settled();
  const [event] = received;
  if (event === undefined) throw new Error('no webhook came');
  return { id, event };
}

describe('what is not sent', () => {
  test('nothing without a URL, nothing in mode drop', async () => {
    await kit.control('PUT', 'webhooks', { url: '' });
    await kit.order();
    await kit.atTerminal('pay');
    const { port } = receiver.address() as AddressInfo;
    await kit.control('PUT', 'webhooks', { url: `http://127.0.0.1:${port}/`, mode: 'drop' });
    await kit.order();
    await kit.atTerminal('pay');
    expect(await actions()).toEqual([]);
  });

  test('nothing for created, at_terminal and a requested cancellation', async () => {
    await kit.control('PUT', 'settings', { cancel_confirmation: 'automatic' });
    const id = await kit.order();
    await kit.atTerminal('pick_up');
    const headers = { 'x-allow-cancelable-status': 'at_terminal' };
    await kit.call('POST', `/v1/orders/${id}/cancel`, { key: 'c', headers });
    expect(await actions()).toEqual([]);
    await advance(200);
    expect(await actions()).toEqual(['order.canceled']);
  });
});

describe('what is sent', () => {
  test.each([
    ['pay', 'order.processed'],
    ['decline', 'order.failed'],
    ['cancel', 'order.canceled'],
    ['confirm_needed', 'order.action_required'],
  ])('%s announces %s', async (action, announced) => {
    await kit.order();
    await kit.atTerminal(action);
    expect(await actions()).toEqual([announced]);
  });

  test('expiry and refunds', async () => {
    await kit.control('PUT', 'settings', { point_expiry: 'expired' });
    await kit.order({ expiration_time: 'PT30S' });
    await advance(30_000);
    const { body } = await kit.createOrder();
    await kit.atTerminal('pay');
    const transactions = [{ id: body.transactions.payments[0].id, amount: '10.00' }];
    await kit.call('POST', `/v1/orders/${body.id}/refund`, { key: 'r1', body: { transactions } });
    await kit.call('POST', `/v1/orders/${body.id}/refund`, { key: 'r2' });
    await kit.sandbox.world.settled();
    const told = received.map((event) => [event.body.action, event.body.data.status, event.body.data.version]);
    expect(told.toSorted((one, other) => one[2] - other[2])).toEqual([
      ['order.expired', 'expired', 2],
      ['order.processed', 'processed', 3],
      ['order.refunded', 'processed', 4],
      ['order.refunded', 'refunded', 5],
    ]);
  });

  test('address, headers and body as documented', async () => {
    const { id, event } = await onePaid();
    expect([event.url.pathname, [...event.url.searchParams]]).toEqual([
      '/hooks',
      [
        ['client', '7'],
        ['data.id', id],
        ['type', 'order'],
      ],
    ]);
    expect(event.headers).toMatchObject({
      'content-type': 'application/json',
      'x-retry': '0',
      'x-socket-timeout': '22000',
      'user-agent': 'restclient-node/4.15.3',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    const order = (await kit.call('GET', `/v1/orders/${id}`)).body;
    const [payment] = order.transactions.payments;
    expect(event.body).toEqual({
      action: 'order.processed',
      api_version: 'v1',
      application_id: '4004001',
      id: expect.stringMatching(/^\d{9}$/),
      date_created: expect.stringMatching(/\.\d{9}Z$/),
      live_mode: true,
      type: 'order',
      user_id: ARGENTINA,
      data: {
        id,
        type: 'point',
        version: 3,
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
              payment_method: { type: 'credit_card', id: 'master', installments: 1 },
            },
          ],
        },
      },
    });
  });

  test('other shapes by setting', async () => {
    await kit.control('PUT', 'settings', {
      webhook_amounts: 'two_decimals',
      webhook_user_id: 'number',
      order_ids: 'ORDTST',
    });
    const { event } = await onePaid();
    expect([event.body.user_id, event.body.live_mode, event.body.data.total_paid_amount]).toEqual([
      700100200,
      false,
      '150.00',
    ]);
  });
});

describe('signature', () => {
  test('over the lower-cased id, in milliseconds', async () => {
    const { id, event } = await onePaid();
    const { ts, v1, over } = signatureOf(event);
    expect([ts.length, v1]).toEqual([13, over(id.toLowerCase())]);
  });

  test('over the id as it is, in seconds', async () => {
    await kit.control('PUT', 'webhooks', { casing: 'verbatim', ts_unit: 's' });
    const { id, event } = await onePaid();
    const { ts, v1, over } = signatureOf(event);
    expect([ts.length, v1]).toEqual([10, over(id)]);
  });

  test('bad, and none', async () => {
    await kit.control('PUT', 'webhooks', { casing: 'bad' });
    const { id, event } = await onePaid();
    const { v1, over } = signatureOf(event);
    expect([over(id), over(id.toLowerCase())]).not.toContain(v1);
    await kit.control('PUT', 'webhooks', { casing: 'none' });
    await kit.order();
    await kit.atTerminal('pay');
    await kit.sandbox.world.settled();
    expect(received.at(-1)?.headers['x-signature']).toBeUndefined();
  });
});

describe('delivery', () => {
  test('resent every 15 minutes three times, then ever later, until 200 or 201', async () => {
    answers = [500, 404, 204, 302, 503, 201];
    await onePaid();
    for (const [wait_ms, count] of [
      [QUARTER_MS - 1, 1],
      [1, 2],
      [QUARTER_MS, 3],
      [QUARTER_MS, 4],
      [2 * QUARTER_MS - 1, 4],
      [1, 5],
      [4 * QUARTER_MS - 1, 5],
      [1, 6],
      [100 * QUARTER_MS, 6],
    ] as const) {
      await advance(wait_ms);
      expect(received).toHaveLength(count);
    }
    expect(received.map(({ headers }) => headers['x-retry'])).toEqual(['0', '1', '2', '3', '4', '5']);
    const sent = (await kit.control('GET', 'state')).body.sent;
    expect(sent.map((line: { status: number }) => line.status)).toEqual([500, 404, 204, 302, 503, 201]);
  });

  test('one long advance fires the retries one after the other', async () => {
    answers = [500, 500, 200];
    await onePaid();
    await advance(10 * QUARTER_MS);
    expect(received).toHaveLength(3);
  });

  test('a receiver that does not answer in time, and one that is not there', async () => {
    await kit.control('PUT', 'settings', { webhook_timeout_ms: 50 });
    answers = [null];
    await onePaid();
    const taken = createServer();
    await new Promise<void>((resolve) => void taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    await new Promise((resolve) => taken.close(resolve));
    await kit.control('PUT', 'webhooks', { url: `http://127.0.0.1:${port}/` });
    await kit.order();
    await kit.atTerminal('pay');
    await kit.sandbox.world.settled();
    const { sent } = (await kit.control('GET', 'state')).body;
    expect(sent.map((line: { status: null; failure: string }) => [line.status, line.failure])).toEqual([
      [null, expect.stringContaining('timeout')],
      [null, expect.stringContaining('ECONNREFUSED')],
    ]);
  });

  test('duplicate', async () => {
    await kit.control('PUT', 'webhooks', { mode: 'duplicate' });
    await onePaid();
    expect(await actions()).toEqual(['order.processed', 'order.processed']);
    expect(received[0]?.body).toEqual(received[1]?.body);
  });

  test('late', async () => {
    await kit.control('PUT', 'webhooks', { mode: 'late', late_ms: 5000 });
    await kit.order();
    await kit.atTerminal('pay');
    await advance(4999);
    expect(await actions()).toEqual([]);
    await advance(1);
    expect(await actions()).toEqual(['order.processed']);
  });

  test('forged: a false claim under a false signature', async () => {
    await kit.control('PUT', 'webhooks', { mode: 'forge' });
    const id = await kit.order();
    await kit.atTerminal('decline');
    expect(await actions()).toEqual(['order.processed']);
    const [event] = received;
    if (event === undefined) throw new Error('no webhook came');
    const { v1, over } = signatureOf(event);
    expect(v1).not.toBe(over(id.toLowerCase()));
    expect([event.body.data.status, (await kit.call('GET', `/v1/orders/${id}`)).body.status]).toEqual([
      'processed',
      'failed',
    ]);
  });

  test('a reset forgets what was still to be resent', async () => {
    answers = [500];
    await onePaid();
    await kit.control('POST', 'reset');
    await advance(10 * QUARTER_MS);
    expect(received).toHaveLength(1);
  });
});
