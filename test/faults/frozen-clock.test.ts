/** A clock that stands still: order follows the sequence, never the time (F48). */
import { expect, it } from 'vitest';
import { eventually, INTENT, POINT, startReceiver, topicOf } from '../kit.ts';
import { openForAll } from '../open.ts';
import { type Order, openTill, startUpstream } from './upstream-stand.ts';
import { sendEvent } from './webhook-sender.ts';

/** The time of everything in this file; later than upstream's dates of a new order. */
const NOW = Date.now() + 60_000;

/** Advanced by one test only: a terminal order is read once a second at most. */
let passed_ms = 0;
/** Set while the receiver delays its first notice. */
let hold: Promise<void> | null = null;
const receiver = openForAll(() =>
  startReceiver(async () => {
    await hold;
    return 200;
  }),
);
const upstream = openForAll(() => startUpstream());
const puente = openForAll(() =>
  openTill(
    upstream.url,
    { PUENTE_MERCHANTS_NOTICE_URL: receiver.url },
    { clock: { now: () => NOW + passed_ms, sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)) } },
  ),
);

/** Changes the order without changing its timestamp, and sends its event. */
async function change(order: Order, status: string): Promise<void> {
  Object.assign(order, { status, status_detail: status, last_updated_date: new Date(NOW).toISOString() });
  const request_id = `${order.id} ${status}`;
  const action = `order.${status}`;
  expect((await sendEvent(puente.app.public_url, { id: order.id, action, request_id, ts: NOW })).status).toBe(200);
}

async function sale(): Promise<{ device: string; id: string; order: Order }> {
  const device = puente.device();
  const { id } = (await puente.create(device)).body as { id: string };
  const order = upstream.orders.get(puente.row(device).idempotency_key);
  if (order === undefined) throw new Error('no order was made');
  return { device, id, order };
}

async function untilShown(device: string, state: string): Promise<void> {
  await eventually(
    async () => puente.row(device).legacy_state,
    (shown) => shown === state,
  );
}

it('changes with equal times are all applied, and notified in the order of arrival [F48]', async () => {
  const { device, id, order } = await sale();
  const held = Promise.withResolvers<void>();
  hold = held.promise;
  await change(order, 'at_terminal');
  await untilShown(device, 'ON_TERMINAL');
  await change(order, 'canceled');
  await untilShown(device, 'CANCELED');
  await eventually(
    async () => receiver.received.length,
    (told) => told === 1,
  );
  await change(order, 'processed');
  passed_ms += 1_000;
  await untilShown(device, 'FINISHED');
  await new Promise((resolve) => setTimeout(resolve, 300)); // time for a notice sent out of order
  held.resolve();
  await receiver.waitFor(2, INTENT);
  expect(receiver.received.filter((one) => topicOf(one) === INTENT).map(({ body }) => body)).toMatchObject([
    { id, state: 'CANCELED' },
    { id, state: 'FINISHED' },
  ]);
});

it('a late read with the same time reverts nothing [F48]', async () => {
  const { device, id, order } = await sale();
  await change(order, 'at_terminal');
  await untilShown(device, 'ON_TERMINAL');
  await change(order, 'created');
  await eventually(
    async () => upstream.heard.filter(({ method, path }) => method === 'GET' && path === `/v1/orders/${order.id}`),
    (reads) => reads.length >= 2,
  );
  expect((await puente.till(`${POINT}/payment-intents/${id}`)).body).toMatchObject({ state: 'ON_TERMINAL' });
});
