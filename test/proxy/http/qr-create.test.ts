/** A sale on a till's code, in each family: exact status and body of the answer, and the calls to the orders API. */
import { describe, expect, it } from 'vitest';
import { ARGENTINA } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import {
  CHILE,
  codePath,
  openQrShop,
  orderPath,
  preference,
  preferencePath,
  storeOrder,
  TILL,
  URUGUAY,
} from './qr-till.ts';

const shop = openForAll(() => openQrShop());

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}';

describe('refused', () => {
  it.each([
    ['v1', preferencePath, preference],
    ['v2', orderPath, storeOrder],
    ['a code', codePath, storeOrder],
  ])('%s: a path user that is not the owner of the token', async (_family, path, body) => {
    const method = path === orderPath ? 'PUT' : 'POST';
    const answer = await shop.till(path(TILL, CHILE), { method, body: body() });
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'bad_request', message: 'Collector ID and Caller ID must be the same', status: 400, causes: [] },
    ]);
  });

  it.each([
    ['v1', preferencePath, preference],
    ['v2', orderPath, storeOrder],
    ['a code', codePath, storeOrder],
  ])('%s: a till that does not exist, with plural causes', async (_family, path, body) => {
    const method = path === orderPath ? 'PUT' : 'POST';
    const answer = await shop.till(path('CAJA99'), { method, body: body() });
    expect([answer.status, answer.body]).toEqual([
      404,
      { error: 'pos_obtainment_error', message: 'Point of sale not found', status: 404, causes: [] },
    ]);
  });

  it('cents in Chile, in both families', async () => {
    const item = { title: 'Pan', currency_id: 'CLP', unit_price: 990.5, quantity: 1, unit_measure: 'unit' };
    const v1 = await shop.till(preferencePath(TILL, CHILE), {
      merchant: CHILE,
      body: { external_reference: 'x', items: [item] },
    });
    expect([v1.status, v1.body]).toEqual([
      400,
      { error: 'invalid_items', message: 'unit_price invalid', status: 400, causes: [] },
    ]);
    const v2 = await shop.till(orderPath(TILL, CHILE), {
      method: 'PUT',
      merchant: CHILE,
      body: storeOrder({ total_amount: 991, items: [{ ...item, total_amount: 991 }] }),
    });
    expect([v2.status, v2.body]).toMatchObject([400, { error: 'invalid_unit_price', causes: [] }]);
    expect(await shop.ordersAt(TILL, CHILE)).toEqual([]);
  });

  it('cash, by a seller without the agreement for it', async () => {
    const { external_id } = shop.freshTill();
    const body = storeOrder({ total_amount: 801, cash_out: { amount: 500 } });
    const answer = await shop.till(orderPath(external_id), { method: 'PUT', body });
    expect([answer.status, answer.body]).toMatchObject([400, { error: 'invalid_cash_out.amount', causes: [] }]);
  });

  it('a call without a token', async () => {
    const answer = await shop.till(orderPath(TILL), { method: 'PUT', body: storeOrder(), token: null });
    expect([answer.status, answer.body]).toEqual([
      401,
      { error: 'unauthorized', message: 'user not found', status: 401, causes: [] },
    ]);
  });
});

describe('v1', () => {
  it('answers 200 with the object of a preference, and asks for a static order of ten minutes', async () => {
    const { external_id } = shop.freshTill();
    const answer = await shop.till(preferencePath(external_id), { body: preference({ sponsor_id: '445566' }) });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      id: expect.stringMatching(new RegExp(`^${ARGENTINA}-${UUID}$`)),
      collector_id: Number(ARGENTINA),
      collector: {},
      client_id: 4004001,
      sponsor_id: 445566,
      items: [
        {
          id: 'A1',
          title: 'Coffee',
          currency_id: 'ARS',
          unit_price: 120.5,
          quantity: 2,
          description: 'black',
          picture_url: '',
        },
        { id: '', title: 'Water', currency_id: 'ARS', unit_price: 60, quantity: 1, description: '', picture_url: '' },
      ],
      total_amount: 301,
      amount: 301,
      external_reference: 'Factura 0001',
      operation_type: 'regular_payment',
      notification_url: 'https://shop.example/ipn?tenant=7',
      payment_methods: {
        excluded_payment_methods: [{ id: '' }],
        excluded_payment_types: [{ id: 'ticket' }, { id: 'atm' }],
      },
      marketplace: 'NONE',
      marketplace_fee: 0,
      expires: false,
      additional_info: '',
      back_urls: { success: '', pending: '', failure: '' },
      payer: { id: 0, email: '', identification: { number: '', type: '' } },
      site_id: 'MLA',
      processing_modes: ['aggregator'],
      internal_metadata: {},
    });
    expect(await shop.ordersAt(external_id)).toMatchObject([
      {
        status: 'created',
        external_reference: expect.stringMatching(/^pnt[0-9a-f]{32}$/),
        description: 'Coffee',
        expiration_time: 'PT600S',
        total_amount: '301.00',
        config: { qr: { external_pos_id: external_id, mode: 'static' } },
        transactions: { payments: [{ amount: '301.00' }] },
        items: [
          { title: 'Coffee', unit_price: '120.50', quantity: 2, unit_measure: 'unit', external_code: 'A1' },
          { title: 'Water', unit_price: '60.00', quantity: 1, unit_measure: 'unit' },
        ],
        integration_data: { application_id: '4004001', sponsor: { id: '445566' } },
      },
    ]);
  });

  it('takes PUT as well, and amounts as they are written', async () => {
    const { external_id } = shop.freshTill();
    // A double would round sums like 0.1 + 0.2, so the text of the number counts.
    const items = '[{"title":"a","currency_id":"ARS","unit_price":1234567.10,"quantity":3}]';
    const body = `{"external_reference":"exact-1","items":${items}}`;
    const answer = await shop.till(preferencePath(external_id), { method: 'PUT', body });
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('"unit_price":1234567.1,');
    expect(answer.text).toContain('"total_amount":3703701.3,"amount":3703701.3,');
    const [order] = await shop.ordersAt(external_id);
    expect(order).toMatchObject({ external_reference: 'exact-1', total_amount: '3703701.30' });
  });

  it('finds the till by its internal number, and asks for it once', async () => {
    const { external_id, number } = shop.freshTill();
    const path = `/mpmobile/instore/qr/${number}`;
    expect((await shop.till(path, { body: preference() })).status).toBe(200);
    expect((await shop.till(path)).status).toBe(200);
    expect((await shop.till(path, { method: 'DELETE' })).status).toBe(204);
    expect((await shop.till(path, { method: 'PUT', body: preference() })).status).toBe(200);
    expect((await shop.ordersAt(external_id)).map(({ status }) => status)).toEqual(['canceled', 'created']);
    expect(await shop.asked(`/pos/${number}`)).toHaveLength(1);
  });

  it('asks once for tills that come together', async () => {
    const { number } = shop.freshTill();
    const path = `/mpmobile/instore/qr/${number}`;
    const answers = await Promise.all([1, 2, 3, 4].map(() => shop.till(path)));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
    expect(await shop.asked(`/pos/${number}`)).toHaveLength(1);
  });
});

describe('v2', () => {
  it('answers exactly 204 without a body', async () => {
    const { external_id } = shop.freshTill();
    const answer = await shop.till(orderPath(external_id), { method: 'PUT', body: storeOrder() });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers['content-type']).toBeUndefined();
    expect(await shop.ordersAt(external_id)).toMatchObject([
      { description: 'Shop', total_amount: '301.00', config: { qr: { mode: 'static' } } },
    ]);
  });

  it('has a path with the store', async () => {
    const { external_id } = shop.freshTill();
    const path = orderPath(external_id).replace('/pos/', '/stores/SUC002/pos/');
    expect((await shop.till(path, { method: 'PUT', body: storeOrder() })).status).toBe(204);
    expect(await shop.till(path)).toMatchObject({ status: 200, body: storeOrder() });
    expect((await shop.till(path, { method: 'DELETE' })).status).toBe(204);
    expect(await shop.ordersAt(external_id)).toMatchObject([{ status: 'canceled' }]);
  });

  it('makes a duration of the date', async () => {
    const { external_id } = shop.freshTill();
    const expiration_date = new Date(Date.now() + 3_600_000).toISOString().replace('Z', '+00:00');
    const answer = await shop.till(orderPath(external_id), { method: 'PUT', body: storeOrder({ expiration_date }) });
    expect(answer.status).toBe(204);
    const [order] = await shop.ordersAt(external_id);
    const seconds = Number(/^PT(\d+)S$/.exec(order?.expiration_time ?? '')?.[1]);
    expect(seconds).toBeGreaterThan(3500);
    expect(seconds).toBeLessThanOrEqual(3600);
  });

  it('works in Uruguay', async () => {
    const body = storeOrder();
    const answer = await shop.till(orderPath(TILL, URUGUAY), { method: 'PUT', merchant: URUGUAY, body });
    expect(answer.status).toBe(204);
    expect(await shop.ordersAt(TILL, URUGUAY)).toMatchObject([{ currency: 'UYU', total_amount: '301.00' }]);
  });

  it('writes no decimals in Chile', async () => {
    const items = [{ title: 'Pan', unit_price: 990, quantity: 3, unit_measure: 'unit', total_amount: 2970 }];
    const body = storeOrder({ total_amount: 2970.0, items });
    const answer = await shop.till(orderPath(TILL, CHILE), { method: 'PUT', merchant: CHILE, body });
    expect(answer.status).toBe(204);
    expect(await shop.ordersAt(TILL, CHILE)).toMatchObject([
      { total_amount: '2970', items: [{ unit_price: '990' }], transactions: { payments: [{ amount: '2970' }] } },
    ]);
  });
});

describe('codes', () => {
  it.each([
    ['POST', 'dynamic', 'collectors'],
    ['PUT', 'hybrid', 'collectors'],
    ['POST', 'dynamic', 'collector'],
    ['PUT', 'hybrid', 'collector'],
  ])('%s answers 201 with a text to render, in %s mode, by the path %s', async (method, mode, word) => {
    const { external_id } = shop.freshTill();
    const path = codePath(external_id).replace('collectors', word);
    const answer = await shop.till(path, { method, body: storeOrder() });
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        in_store_order_id: expect.stringMatching(new RegExp(`^${UUID}$`)),
        qr_data: expect.stringMatching(/^000201.{20,}/),
      },
    ]);
    expect(await shop.ordersAt(external_id)).toMatchObject([{ status: 'created', config: { qr: { mode } } }]);
  });

  it('a dynamic one holds nothing: another sale gets a code of its own, and the till none of both', async () => {
    const { external_id } = shop.freshTill();
    const first = await shop.till(codePath(external_id), { body: storeOrder() });
    const second = await shop.till(codePath(external_id), { body: storeOrder({ external_reference: 'Factura 0003' }) });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(first.body).not.toEqual(second.body);
    expect((await shop.ordersAt(external_id)).map(({ status }) => status)).toEqual(['created', 'created']);
    expect((await shop.till(orderPath(external_id))).status).toBe(404);
    expect((await shop.till(orderPath(external_id), { method: 'DELETE' })).status).toBe(204);
    expect((await shop.ordersAt(external_id)).map(({ status }) => status)).toEqual(['created', 'created']);
  });

  it('a hybrid one shows on the till, where v2 reads and deletes it', async () => {
    const { external_id } = shop.freshTill();
    expect((await shop.till(codePath(external_id), { method: 'PUT', body: storeOrder() })).status).toBe(201);
    expect(await shop.till(orderPath(external_id))).toMatchObject({ status: 200, body: storeOrder() });
    expect((await shop.till(orderPath(external_id), { method: 'DELETE' })).status).toBe(204);
    expect(await shop.ordersAt(external_id)).toMatchObject([{ status: 'canceled' }]);
  });
});
