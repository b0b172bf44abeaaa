/** Merchant orders of sales on orders: who may read them, and each of their states (`docs/field-notes.md` QR §2). */
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import { ARGENTINA, BRAZIL, call, eventually, tokenOf } from '../../kit.ts';
import {
  ABOVE_REAL_ONES,
  code,
  freshReference,
  ITEM,
  made,
  NOTHING,
  openShop,
  PREFERENCE,
  SALE,
  STORE_ITEM,
  TILL,
  v1,
  v2,
} from './merchant-order-shop.ts';

const CHILE = '700100500';
const OFFSET_DATE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}-04:00$/;

describe('what is refused', () => {
  const shop = openShop();

  it.each([
    '?limit=ten',
    '?limit=-1',
    '?offset=1.5',
    '?date_created_from=yesterday',
    '?date_created_to=2026-02-30T25:00:00Z',
    '?last_updated_from=NOW-1FORTNIGHT',
    '?last_updated_to=1767225600000',
  ])('the search %s', async (query) => {
    const { status, body } = await shop.bench.till(`/merchant_orders/search${query}`);
    expect(status).toBe(400);
    expect(body).toEqual({ message: 'The search can not be read', error: 'ds_search_query', status: 400, cause: [] });
  });

  it.each(['/merchant_orders/abc', '/merchant_orders/40123456789', '/merchant_orders/8000000000000001'])(
    '%s is none of ours and is proxied',
    async (path) => {
      const direct = await call(shop.bench.sandbox.url + path, { token: tokenOf(ARGENTINA) });
      const told = await shop.bench.till(path);
      expect([told.status, told.body]).toEqual([direct.status, direct.body]);
      expect(told.status).toBeGreaterThanOrEqual(400);
    },
  );

  it("another merchant's is proxied, as one that nobody knows", async () => {
    const reference = freshReference();
    await made(shop.bench.till(v1(TILL), { body: { ...PREFERENCE, external_reference: reference } }));
    const { id } = await shop.only(reference);
    expect((await shop.bench.till(`/merchant_orders/${id}`, { merchant: BRAZIL })).status).toBe(400);
    expect(await shop.search({ external_reference: reference }, '/merchant_orders', BRAZIL)).toEqual(NOTHING);
  });

  it('a token that nobody knows', async () => {
    const answer = await shop.bench.till('/merchant_orders/search', { token: 'APP_USR-1-2-3-1' });
    expect([answer.status, answer.body]).toEqual([
      401,
      { message: 'invalid access token', error: 'invalid_token', status: 401, cause: [] },
    ]);
  });
});

describe('the life of a sale', () => {
  const shop = openShop();

  it('v1: opened, paid, a part given back, all given back', async () => {
    const reference = freshReference();
    await made(
      shop.bench.till(v1(TILL), { body: { ...PREFERENCE, external_reference: reference, sponsor_id: 700100201 } }),
    );
    const opened = await shop.only(reference);
    expect(opened.id).toBeGreaterThan(ABOVE_REAL_ONES);
    expect(Number.isSafeInteger(opened.id)).toBe(true);
    expect(opened).toEqual({
      id: opened.id,
      status: 'opened',
      external_reference: reference,
      preference_id: expect.stringMatching(/^700100200-[0-9a-f-]{36}$/),
      payments: [],
      shipments: [],
      payouts: [],
      collector: { id: 700100200, email: '', nickname: shop.bench.sandbox.world.merchants.get(ARGENTINA)?.nickname },
      marketplace: 'NONE',
      notification_url: 'https://shop.test/ipn?tenant=7',
      date_created: expect.stringMatching(OFFSET_DATE),
      last_updated: expect.stringMatching(OFFSET_DATE),
      sponsor_id: '700100201',
      shipping_cost: 0,
      total_amount: 241,
      site_id: 'MLA',
      paid_amount: 0,
      refunded_amount: 0,
      payer: null,
      items: [{ ...ITEM, description: '', category_id: '', picture_url: null }],
      cancelled: false,
      additional_info: '',
      application_id: '4004001',
      is_test: false,
      order_status: 'payment_required',
    });

    await shop.buyer('pay');
    const paid = await shop.read(opened.id);
    const [payment] = paid.payments;
    const numbers = [...shop.bench.sandbox.world.payments.keys()];
    expect(numbers).toContain(payment?.id);
    const changed = { last_updated: paid.last_updated, payments: paid.payments };
    expect(paid).toEqual({ ...opened, ...changed, status: 'closed', order_status: 'paid', paid_amount: 241 });
    expect(payment).toEqual({
      id: payment?.id,
      transaction_amount: 241,
      total_paid_amount: 241,
      shipping_cost: 0,
      currency_id: 'ARS',
      status: 'approved',
      status_detail: 'accredited',
      operation_type: 'regular_payment',
      date_approved: paid.last_updated,
      date_created: paid.last_updated,
      last_modified: paid.last_updated,
      amount_refunded: 0,
    });

    await shop.refund('40.50');
    const less = await eventually(
      () => shop.read(opened.id),
      ({ refunded_amount }) => refunded_amount !== 0,
    );
    expect(less).toMatchObject({
      status: 'closed',
      order_status: 'partially_reverted',
      paid_amount: 241,
      refunded_amount: 40.5,
    });
    expect(less.payments).toEqual([
      expect.objectContaining({
        id: payment?.id,
        status: 'approved',
        status_detail: 'partially_refunded',
        amount_refunded: 40.5,
      }),
    ]);

    await shop.refund(null);
    const none = await eventually(
      () => shop.read(opened.id),
      ({ refunded_amount }) => refunded_amount === 241,
    );
    expect(none).toMatchObject({ status: 'closed', order_status: 'reverted', paid_amount: 241, cancelled: false });
    expect(none.payments).toEqual([
      expect.objectContaining({ id: payment?.id, status: 'refunded', status_detail: 'refunded', amount_refunded: 241 }),
    ]);
  });

  it('v2: the fields of its items, and canceled by the till', async () => {
    const reference = freshReference();
    await made(
      shop.bench.till(v2(TILL), {
        method: 'PUT',
        body: { ...SALE, external_reference: reference, sponsor: { id: 700100201 } },
      }),
    );
    const opened = await shop.only(reference);
    const { unit_measure: _measure, total_amount: _total, sku_number: id, category: category_id, ...same } = STORE_ITEM;
    expect(opened.items).toEqual([
      { ...same, id, category_id, description: '', picture_url: null, currency_id: 'ARS' },
    ]);
    expect(opened).toMatchObject({ status: 'opened', notification_url: null, sponsor_id: '700100201' });
    await made(shop.bench.till(v2(TILL), { method: 'DELETE' }));
    expect(await shop.read(opened.id)).toMatchObject({
      status: 'expired',
      order_status: 'expired',
      cancelled: true,
      payments: [],
    });
  });

  it('dynamic: paid, and all given back at once', async () => {
    const reference = freshReference();
    await made(shop.bench.till(code(TILL), { body: { ...SALE, external_reference: reference } }));
    const { id, status } = await shop.only(reference);
    expect(status).toBe('opened');
    await made(shop.bench.control(`/payables/${(await shop.newestOrder()).id}/pay`, { body: {} }));
    expect(await shop.read(id)).toMatchObject({
      status: 'closed',
      order_status: 'paid',
      paid_amount: 241,
      refunded_amount: 0,
    });
    await shop.refund(null);
    const none = await eventually(
      () => shop.read(id),
      ({ order_status }) => order_status !== 'paid',
    );
    expect(none).toMatchObject({ status: 'closed', order_status: 'reverted', paid_amount: 241, refunded_amount: 241 });
  });

  it('dynamic: not paid in time', async () => {
    const reference = freshReference();
    await made(shop.bench.till(code(TILL), { body: { ...SALE, external_reference: reference } }));
    const { id } = await shop.only(reference);
    await made(shop.bench.control('/clock', { body: { advance_ms: 48 * 3_600_000 } }));
    const over = await eventually(
      () => shop.read(id),
      ({ status }) => status !== 'opened',
    );
    expect(over).toMatchObject({
      status: 'expired',
      order_status: 'expired',
      cancelled: false,
      payments: [],
      paid_amount: 0,
    });
  });

  it('a declined attempt and one under way leave no trace (LIM-35, LIM-36)', async () => {
    const reference = freshReference();
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } }));
    const opened = await shop.only(reference);
    await shop.buyer('decline');
    expect(await shop.read(opened.id)).toEqual(opened);
    await shop.buyer('lock');
    expect(await shop.read(opened.id)).toEqual(opened);
    await shop.buyer('pay');
    expect(await shop.read(opened.id)).toMatchObject({ status: 'closed', payments: [{ status: 'approved' }] });
  });

  it('one that the till replaced shows as cancelled (LIM-40), and the next one is its own', async () => {
    const [reference, next_reference] = [freshReference(), freshReference()];
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } }));
    const { id } = await shop.only(reference);
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: next_reference } }));
    expect(await shop.read(id)).toMatchObject({ status: 'expired', order_status: 'expired', cancelled: true });
    const next = await shop.only(next_reference);
    expect(next).toMatchObject({ status: 'opened', cancelled: false });
    expect(next.id).toBeGreaterThan(id);
  });

  it('Chile: amounts without decimals', async () => {
    const reference = freshReference();
    const items = [{ ...ITEM, currency_id: 'CLP', unit_price: 1990, quantity: 3 }];
    await made(shop.bench.till(v1(TILL, CHILE), { merchant: CHILE, body: { external_reference: reference, items } }));
    await shop.buyer('pay', TILL, CHILE);
    const paid = await eventually(
      () => shop.only(reference, CHILE),
      ({ status }) => status === 'closed',
    );
    expect(paid).toMatchObject({
      site_id: 'MLC',
      total_amount: 5970,
      paid_amount: 5970,
      items: [{ unit_price: 1990, quantity: 3 }],
    });
    expect(paid.payments).toMatchObject([{ transaction_amount: 5970, currency_id: 'CLP' }]);
  });

  it('the other host name is the same door', async () => {
    const reference = freshReference();
    await made(shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } }));
    const { id } = await shop.only(reference);
    const answer = await request(
      `${shop.bench.app.public_url}/merchant_orders/${id}?access_token=${tokenOf(ARGENTINA)}`,
      {
        headers: { host: 'api.mercadolibre.com' },
      },
    );
    expect(answer.statusCode).toBe(200);
    expect(await answer.body.json()).toMatchObject({ id, external_reference: reference });
  });

  it('a sale whose create was refused has none', async () => {
    const reference = freshReference();
    await shop.bench.control('/faults', {
      body: { method: 'POST', path: '/v1/orders', kind: 'error', status: 400, code: 'bad_request' },
    });
    const answer = await shop.bench.till(v2(TILL), { method: 'PUT', body: { ...SALE, external_reference: reference } });
    expect(answer.status).toBe(400);
    expect(await shop.search({ external_reference: reference })).toEqual(NOTHING);
  });
});
