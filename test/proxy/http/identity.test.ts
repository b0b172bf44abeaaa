/** Only a verified token reads, cancels, creates or teaches (`docs/glossary.md` Merchant). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, POINT } from '../../kit.ts';
import { idOf, openShop, type Shop } from './till.ts';

/** Ends in the victim's id; upstream never issued it. */
const INVENTED = `APP_USR-9999-112026-ffffffffffffffffffffffffffffffff-${ARGENTINA}`;

describe('a token of another merchant', () => {
  let shop: Shop;
  let device: string;
  let id: string;
  beforeAll(async () => {
    shop = await openShop();
    device = shop.freshDevice();
    id = idOf(await shop.create(device, { additional_info: { external_reference: 'private 1' } }));
  });
  afterAll(() => shop.close());

  const calls: [string, string, (device: string, id: string) => string, unknown?][] = [
    ['reads nothing', 'GET', (_device, intent) => `/payment-intents/${intent}`],
    ['reads nothing by the device', 'GET', (unit, intent) => `/devices/${unit}/payment-intents/${intent}`],
    ['reads no last status', 'GET', (_device, intent) => `/payment-intents/${intent}/events`],
    ['cancels nothing', 'DELETE', (unit, intent) => `/devices/${unit}/payment-intents/${intent}`],
    ['cancels nothing without the device', 'DELETE', (_device, intent) => `/payment-intents/${intent}`],
    ['lists no events', 'GET', () => '/payment-intents/events?startDate=2026-01-01&endDate=2026-01-20'],
    ['lists no devices', 'GET', () => '/devices'],
    ['moves no device', 'PATCH', (unit) => `/devices/${unit}`, { operating_mode: 'STANDALONE' }],
    ['creates nothing', 'POST', (unit) => `/devices/${unit}/payment-intents`, { amount: 1500 }],
    ['refunds nothing', 'POST', (unit) => `/devices/${unit}/refund`, { payment_id: '16500000001' }],
  ];

  it.each(calls)("an invented token with the merchant's id %s", async (_name, method, path, body) => {
    const rows = shop.rows(device);
    const answer = await shop.till(POINT + path(device, id), {
      method,
      token: INVENTED,
      ...(body === undefined ? {} : { body }),
    });
    expect(answer.status).toBe(401);
    expect(answer.text).not.toContain('private 1');
    expect(shop.rows(device)).toEqual(rows);
    expect((await shop.orders(device)).map((order) => order.status)).toEqual(['created']);
  });

  it('the owner still reads and cancels it', async () => {
    expect((await shop.read(id)).body).toMatchObject({
      id,
      state: 'OPEN',
      additional_info: { external_reference: 'private 1' },
    });
    expect((await shop.cancel(device, id)).status).toBe(200);
  });
});

describe('a token that ends', () => {
  let shop: Shop;
  afterEach(() => shop.close());

  it('is asked about again when its acceptance is over, and refused when it was revoked', async () => {
    shop = await openShop({ PUENTE_TOKENS_ACCEPTED_FOR_MS: '1000' });
    const id = idOf(await shop.create(shop.freshDevice()));
    await shop.control(`/merchants/${ARGENTINA}/token`, {
      method: 'PUT',
      body: { access_token: 'APP_USR-new-token-of-the-merchant-1' },
    });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await shop.read(id)).status).toBe(401);
    expect((await shop.read(id, { token: 'APP_USR-new-token-of-the-merchant-1' })).body).toMatchObject({ id });
  });

  it.each([
    ['fails', { kind: 'error', status: 503 }],
    // As a content delivery network blocks an address for a while: it has not seen the token.
    ['is behind a page that forbids [F138]', { kind: 'html', status: 403 }],
    ['is behind a page that wants a login [F138]', { kind: 'html', status: 401 }],
  ])('is good while the upstream %s, for what the upstream judges anyway', async (_how, fault) => {
    shop = await openShop({ PUENTE_TOKENS_ACCEPTED_FOR_MS: '1000' });
    const id = idOf(await shop.create(shop.freshDevice()));
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await shop.fault({ path: '/users/me', times: 'always', ...fault });
    expect((await shop.read(id)).body).toMatchObject({ id });
    const stranger = await shop.read(id, { token: INVENTED });
    expect(stranger.status).toBe(503);
    expect(stranger.text).not.toContain(id);
  });
});
