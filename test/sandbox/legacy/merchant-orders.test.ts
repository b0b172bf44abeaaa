/** Merchant orders: `docs/field-notes.md` QR §2, rule by rule. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { merchantOrderAnswer, merchantOrderSearch } from '../../../src/contract/merchant-orders.ts';
import {
  ARGENTINA,
  BRAZIL,
  CHILE,
  codePath,
  OTHER_TILL,
  openShop,
  preference,
  type Shop,
  storeItem,
  storeOrder,
  v1Path,
  v2Path,
} from './qr-kit.ts';

let shop: Shop;
beforeEach(async () => {
  shop = await openShop();
});
afterEach(() => shop.close());

const FIRST_ID = 40_100_000_001;
const put = (changes: object = {}, till?: string) => shop.call('PUT', v2Path(till), { body: storeOrder(changes) });
const get = (id: number | string = FIRST_ID, merchant = ARGENTINA) =>
  shop.call('GET', `/merchant_orders/${id}`, { merchant });
const search = async (query = '') => (await shop.call('GET', `/merchant_orders/search${query}`)).body;
const foundIds = async (query: string) => (await search(query)).elements?.map(({ id }: { id: number }) => id) ?? null;
const refund = (body?: object) => shop.call('POST', '/v1/payments/131000000001/refunds', { body });

describe('one merchant order', () => {
  it('400 invalid_format for an id that is no number', async () => {
    const reply = await get('abc');
    expect(reply).toMatchObject({ status: 400, body: { error: 'invalid_format', status: 400, cause: [] } });
  });

  it('404 for an id that nobody has', async () => {
    expect(await get(1)).toMatchObject({ status: 404, body: { error: 'not_found', cause: [] } });
  });

  it('401 invalid_token for a token that nobody has, and without one', async () => {
    expect(await get(1, '1')).toMatchObject({ status: 401, body: { error: 'invalid_token', cause: [] } });
    expect((await shop.call('GET', '/merchant_orders/1', { merchant: null })).status).toBe(401);
  });

  it("401 invalid_caller_id for another merchant's", async () => {
    await put();
    expect(await get(FIRST_ID, BRAZIL)).toMatchObject({ status: 401, body: { error: 'invalid_caller_id' } });
  });

  it('is born with its order, in the full shape, every list a list', async () => {
    shop.sandbox.world.clock.advance(Date.UTC(2030, 0, 5, 14) - shop.sandbox.world.clock.now());
    const items = [{ ...storeItem, description: 'hot', picture_url: 'https://shop.test/a.png' }];
    await put({ items, sponsor: { id: 888 }, notification_url: 'http://127.0.0.1:9/ipn' });
    const reply = await get();
    expect(reply.status).toBe(200);
    expect(merchantOrderAnswer.safeParse(reply).success).toBe(true);
    const [order] = await shop.orders();
    expect(reply.body).toEqual({
      id: FIRST_ID,
      status: 'opened',
      external_reference: 'INV 0002',
      preference_id: `700100200-${order.id}`,
      payments: [],
      shipments: [],
      payouts: [],
      collector: { id: 700100200, email: '', nickname: 'TESTSELLER1' },
      marketplace: 'NONE',
      notification_url: 'http://127.0.0.1:9/ipn',
      date_created: '2030-01-05T10:00:00.000-04:00',
      last_updated: '2030-01-05T10:00:00.000-04:00',
      sponsor_id: '888',
      shipping_cost: 0,
      total_amount: 241,
      site_id: 'MLA',
      paid_amount: 0,
      refunded_amount: 0,
      payer: null,
      items: [
        {
          id: 'A1',
          title: 'Coffee',
          description: 'hot',
          category_id: 'food',
          picture_url: 'https://shop.test/a.png',
          currency_id: 'ARS',
          quantity: 2,
          unit_price: 120.5,
        },
      ],
      cancelled: false,
      additional_info: '',
      application_id: '4004001',
      is_test: false,
      order_status: 'payment_required',
    });
  });

  it('is born at the payment where the setting says so', async () => {
    shop.sandbox.world.configure({ merchant_order_birth: 'payment' });
    await put();
    expect(await search()).toEqual({ elements: null, next_offset: 0, total: 0 });
    shop.buyer('decline');
    expect(await get()).toMatchObject({ status: 200, body: { status: 'opened', payments: [{ status: 'rejected' }] } });
    shop.buyer('pay');
    expect((await get()).body).toMatchObject({ status: 'closed', payments: [{}, { status: 'approved' }] });
    expect(await foundIds('')).toEqual([FIRST_ID]);
  });

  it('paid: closed and paid, with the payment in its whole shape', async () => {
    await shop.call('POST', v1Path(), { body: preference() });
    shop.sandbox.world.clock.advance(5000);
    shop.buyer('pay');
    const reply = await get();
    expect(merchantOrderAnswer.safeParse(reply).success).toBe(true);
    const { body } = reply;
    expect(body).toMatchObject({ status: 'closed', order_status: 'paid', paid_amount: 241, payer: { email: '' } });
    expect(body.payments).toEqual([
      {
        id: 131_000_000_001,
        transaction_amount: 241,
        total_paid_amount: 241,
        shipping_cost: 0,
        currency_id: 'ARS',
        status: 'approved',
        status_detail: 'accredited',
        operation_type: 'regular_payment',
        date_approved: body.last_updated,
        date_created: body.last_updated,
        last_modified: body.last_updated,
        amount_refunded: 0,
      },
    ]);
    expect(Date.parse(body.last_updated) - Date.parse(body.date_created)).toBe(5000);
  });

  it('refunded in parts: closed and partially_reverted, then reverted', async () => {
    await put();
    shop.buyer('pay');
    shop.sandbox.world.clock.advance(60_000);
    expect((await refund({ amount: 41 })).status).toBe(201);
    const { body } = await get();
    expect(body).toMatchObject({
      status: 'closed',
      order_status: 'partially_reverted',
      paid_amount: 241,
      refunded_amount: 41,
      payments: [{ status: 'approved', amount_refunded: 41 }],
    });
    expect(Date.parse(body.last_updated) - Date.parse(body.date_created)).toBe(60_000);
    expect((await refund()).status).toBe(201);
    expect((await get()).body).toMatchObject({
      status: 'closed',
      order_status: 'reverted',
      refunded_amount: 241,
      payments: [{ status: 'refunded', amount_refunded: 241 }],
    });
  });

  it('over without a payment: expired, and cancelled only after DELETE', async () => {
    await put();
    await put();
    await shop.call('DELETE', v2Path());
    await shop.call('POST', codePath(), { body: storeOrder() });
    shop.sandbox.world.clock.advance(600_000);
    const expired = { status: 'expired', order_status: 'expired' };
    expect((await get(FIRST_ID)).body).toMatchObject({ ...expired, cancelled: false });
    expect((await get(FIRST_ID + 1)).body).toMatchObject({ ...expired, cancelled: true });
    expect((await get(FIRST_ID + 2)).body).toMatchObject({ ...expired, cancelled: false });
  });

  it('has whole pesos in Chile', async () => {
    const item = { ...storeItem, unit_price: 995, total_amount: 1990 };
    const body = storeOrder({ items: [item], total_amount: 1990 });
    await shop.call('PUT', v2Path(undefined, CHILE), { merchant: CHILE, body });
    shop.buyer('pay');
    const reply = await get(FIRST_ID, CHILE);
    expect(reply.body).toMatchObject({ total_amount: 1990, paid_amount: 1990, items: [{ currency_id: 'CLP' }] });
  });
});

describe('search', () => {
  it('has elements null and zeros when nothing is found, in every spelling', async () => {
    for (const path of ['/merchant_orders/search', '/merchant_orders', '/merchant_orders/', '/merchant_orders?']) {
      const reply = await shop.call('GET', path);
      expect(reply).toMatchObject({ status: 200, text: '{"elements":null,"next_offset":0,"total":0}' });
      expect(merchantOrderSearch.safeParse(reply.body).success).toBe(true);
    }
  });

  it('finds by reference in every spelling, spaces as plus or %20', async () => {
    await put();
    await put({ external_reference: 'other' }, OTHER_TILL);
    for (const path of ['/merchant_orders/search', '/merchant_orders', '/merchant_orders/']) {
      for (const reference of ['INV%200002', 'INV+0002']) {
        const { body } = await shop.call('GET', `${path}?external_reference=${reference}`);
        expect(body).toMatchObject({ elements: [{ id: FIRST_ID, payments: [] }], next_offset: 1, total: 1 });
      }
    }
  });

  it('finds its own merchant orders only', async () => {
    await put();
    const { body } = await shop.call('GET', '/merchant_orders', { merchant: BRAZIL });
    expect(body.elements).toBeNull();
  });

  it('evaluates every filter, and joins them', async () => {
    const { clock } = shop.sandbox.world;
    const created = new Date(clock.now()).toISOString();
    await put({ sponsor: { id: 888 } });
    shop.buyer('pay');
    clock.advance(60_000);
    await put({ external_reference: 'other', items: [{ ...storeItem, sku_number: 'B2' }] });
    const preference_id = (await get()).body.preference_id;
    const payer_id = (await get()).body.payer.id;
    const [first, second] = [[FIRST_ID], [FIRST_ID + 1]];
    const between = new Date(clock.now() - 1).toISOString();
    const cases: [string, number[] | null][] = [
      ['status=closed', first],
      ['status=opened', second],
      ['status=unheard', null],
      ['order_status=paid', first],
      ['order_status=payment_required', second],
      ['external_reference=other', second],
      [`preference_id=${preference_id}`, first],
      ['marketplace=NONE', [FIRST_ID + 1, FIRST_ID]],
      ['marketplace=OTHER', null],
      ['sponsor_id=888', first],
      ['site_id=MLA', [FIRST_ID + 1, FIRST_ID]],
      ['site_id=MLB', null],
      [`payer_id=${payer_id}`, first],
      ['payer_id=1', null],
      ['items=B2', second],
      ['application_id=4004001', [FIRST_ID + 1, FIRST_ID]],
      ['application_id=1', null],
      [`date_created_from=${between}`, second],
      [`date_created_to=${between}`, first],
      [`date_created_from=${created}&date_created_to=${created}`, first],
      [`last_updated_from=${between}`, second],
      [`last_updated_to=${between}`, first],
      ['status=closed&external_reference=other', null],
      ['status=', [FIRST_ID + 1, FIRST_ID]],
      ['unknown=1', [FIRST_ID + 1, FIRST_ID]],
    ];
    for (const [query, ids] of cases) expect([query, await foundIds(`?${query}`)]).toEqual([query, ids]);
  });

  it('pages with limit and offset, newest first unless the setting says oldest', async () => {
    for (let count = 0; count < 3; count++) await put();
    const page = await search('?limit=2');
    expect(page).toMatchObject({ next_offset: 2, total: 3, elements: [{ id: FIRST_ID + 2 }, { id: FIRST_ID + 1 }] });
    expect(await search('?limit=2&offset=2')).toMatchObject({ next_offset: 3, total: 3, elements: [{ id: FIRST_ID }] });
    expect(await search('?offset=3')).toEqual({ elements: null, next_offset: 0, total: 0 });
    shop.sandbox.world.configure({ merchant_order_sort: 'oldest_first' });
    expect(await foundIds('?limit=1')).toEqual([FIRST_ID]);
  });

  it.each(['limit=x', 'offset=-1', 'date_created_from=yesterday', 'last_updated_to=2026-13-45'])(
    '400 ds_search_query for %s',
    async (query) => {
      const reply = await shop.call('GET', `/merchant_orders/search?${query}`);
      expect(reply).toMatchObject({ status: 400, body: { error: 'ds_search_query', cause: [] } });
    },
  );
});
