/** Reading an intent: few upstream calls; never an older state, even with upstream down (`docs/protocol.md` §3.12). */
import { afterEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/proxy/clock.ts';
import { ARGENTINA, eventually, POINT, startReceiver } from '../../kit.ts';
import { idOf, openShop, type Shop } from './till.ts';

let shop: Shop;
afterEach(() => shop.close());

const SLOW_LOOKS = { PUENTE_RECONCILE_POINT_INTERVAL_MS: '600000', PUENTE_RECONCILE_MAX_INTERVAL_MS: '600000' };

function reads(): Promise<unknown[]> {
  return shop.requests('/v1/orders/ORD');
}

describe('nothing to read', () => {
  it.each([
    ['an id nobody knows', '019539a0-0000-7000-8000-00000000dead', 404],
    ['an id of no form', 'not-an-id', 404],
  ])('%s is proxied to legacy', async (_name, id, status) => {
    shop = await openShop();
    expect((await shop.read(id)).status).toBe(status);
    expect((await shop.requests(`${POINT}/payment-intents/${id}`)).length).toBe(1);
  });

  it('a refused create has no intent', async () => {
    shop = await openShop();
    const device = shop.freshDevice();
    await shop.fault({ method: 'POST', path: '/v1/orders', kind: 'error', status: 400, code: 'bad_request' });
    await shop.create(device);
    const answer = await shop.read(shop.rows(device)[0]?.legacy_id ?? '');
    expect([answer.status, answer.body]).toEqual([
      404,
      { error: '404', message: "Payment intent doesn't exist", status: 404 },
    ]);
  });

  it.each([
    '',
    '?startDate=2026-01-01',
    '?startDate=2026-01-02&endDate=2026-01-01',
    '?startDate=2026-01-01&endDate=2026-02-01',
    '?startDate=2026-02-30&endDate=2026-03-01',
    '?startDate=1&endDate=2',
    '?',
  ])('an events list for %j is refused', async (query) => {
    shop = await openShop();
    expect((await shop.till(`${POINT}/payment-intents/events${query}`)).status).toBe(400);
  });
});

describe('a till that polls', () => {
  it('every 50 ms causes about one upstream read for each time of freshness', async () => {
    shop = await openShop({ ...SLOW_LOOKS, PUENTE_READS_FRESH_MS: '500' });
    const id = idOf(await shop.create(shop.freshDevice()));
    const started = performance.now();
    let polls = 0;
    while (performance.now() - started < 2_000) {
      expect((await shop.read(id)).body).toMatchObject({ id, state: 'OPEN' });
      polls++;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const spans = (performance.now() - started) / 500;
    expect(polls).toBeGreaterThan(10);
    expect((await reads()).length).toBeLessThanOrEqual(Math.ceil(spans) + 1);
    expect((await reads()).length).toBeGreaterThan(1);
  });

  it('twenty at once cause one upstream read', async () => {
    shop = await openShop({ ...SLOW_LOOKS, PUENTE_READS_FRESH_MS: '5000' });
    const id = idOf(await shop.create(shop.freshDevice()));
    await Promise.all(Array.from({ length: 20 }, () => shop.read(id)));
    expect((await reads()).length).toBe(1);
  });

  it('of a final intent causes none', async () => {
    shop = await openShop({ ...SLOW_LOOKS, PUENTE_READS_FRESH_MS: '0' });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('pay', { device });
    await eventually(
      async () => shop.rows(device)[0],
      (row) => row?.state === 'DONE',
    );
    const before = (await reads()).length;
    for (let poll = 0; poll < 5; poll++) expect((await shop.read(id)).body).toMatchObject({ state: 'FINISHED' });
    expect((await shop.till(`${POINT}/payment-intents/${id}/events`)).body).toMatchObject({ status: 'FINISHED' });
    expect((await reads()).length).toBe(before);
  });

  it('sees the payment by the read alone when no event came', async () => {
    shop = await openShop({ ...SLOW_LOOKS, PUENTE_READS_FRESH_MS: '100' });
    await shop.upstreamSettings({ webhook_mode: 'drop' });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('pay', { device });
    const body = await eventually(
      async () => (await shop.read(id)).body,
      (seen) => (seen as { state: string }).state === 'FINISHED',
    );
    expect(body).toMatchObject({ payment: { id: expect.any(Number), type: 'credit_card', installments: 1 } });
  });

  it.each([
    ['is away', { kind: 'reset' }],
    ['answers 500', { kind: 'error', status: 500 }],
    ['no longer knows the order', { kind: 'error', status: 404, code: 'order_not_found' }],
    ['answers HTML', { kind: 'html', status: 200 }],
  ])('gets the last state while upstream %s', async (_name, fault) => {
    shop = await openShop({ ...SLOW_LOOKS, PUENTE_READS_FRESH_MS: '0' });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('pick_up', { device });
    expect((await shop.read(id)).body).toMatchObject({ state: 'ON_TERMINAL' });
    await shop.fault({ method: 'GET', path: '/v1/orders/*', ...fault, times: 'always' });
    const answer = await shop.read(id);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({ state: 'ON_TERMINAL' });
  });
});

describe('an outcome that has to be confirmed', () => {
  it('is held at the terminal, then shows as CONFIRMATION_REQUIRED and is announced without a payment', async () => {
    let ahead_ms = 0;
    const clock: Clock = {
      now: () => Date.now() + ahead_ms,
      sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
    };
    shop = await openShop(
      { PUENTE_READS_FRESH_MS: '0', PUENTE_RECONCILE_ACTION_REQUIRED_GRACE_MS: '60000' },
      { clock },
    );
    const receiver = await startReceiver();
    await shop.notify(ARGENTINA, { notice_url: receiver.url });
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await shop.atTerminal('confirm_needed', { device });
    await eventually(
      async () => (await shop.read(id)).body,
      (body) => (body as { state: string }).state === 'ON_TERMINAL',
    );
    ahead_ms = 30_000; // within the grace period
    expect((await shop.read(id)).body).toMatchObject({ state: 'ON_TERMINAL' });
    expect(receiver.received).toEqual([]);
    ahead_ms = 90_000;
    const [notice] = await receiver.waitFor(1);
    expect(notice?.body).toMatchObject({ id, state: 'CONFIRMATION_REQUIRED', payment: { state: '', type: '' } });
    expect((await shop.read(id)).body).toMatchObject({ state: 'CONFIRMATION_REQUIRED' });
    expect((await shop.till(`${POINT}/payment-intents/${id}/events`)).body).toMatchObject({
      status: 'CONFIRMATION_REQUIRED',
    });
    await receiver.close();
  });
});

describe("Puente's own history", () => {
  it('lists final states of the merchant, newest first', async () => {
    shop = await openShop();
    const [one, other] = [shop.freshDevice(), shop.freshDevice()];
    const paid = idOf(await shop.create(one));
    const canceled = idOf(await shop.create(other));
    const open = idOf(await shop.create(shop.freshDevice()));
    await shop.atTerminal('pay', { device: one });
    await eventually(
      async () => shop.rows(one)[0],
      (row) => row?.state === 'DONE',
    );
    await shop.cancel(other, canceled);
    const today = new Date().toISOString().slice(0, 10);
    const list = await shop.till(`${POINT}/payment-intents/events?startDate=${today}&endDate=${today}`);
    const events = (list.body as { events: { payment_intent_id: string; status: string; created_on: string }[] })
      .events;
    expect(events.map((event) => [event.payment_intent_id, event.status])).toEqual([
      [canceled, 'CANCELED'],
      [paid, 'FINISHED'],
    ]);
    expect(events.map((event) => event.payment_intent_id)).not.toContain(open);
    expect(Date.parse(events[0]?.created_on ?? '')).not.toBeNaN();
  });
});
