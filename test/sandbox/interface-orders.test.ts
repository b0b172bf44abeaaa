/** Rows of the specification about orders that no other suite shows: values at their limits, the whole order, and who calls. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ARGENTINA,
  BRAZIL,
  CHILE,
  codeOf,
  MEXICO,
  orderBody,
  POINT_PRO,
  UNKNOWN_ORDER,
  URUGUAY,
  VIRTUAL_TERMINAL,
} from './kit.ts';
import { amount, mode, openQrKit, type QrKit, qrBody, qrItem } from './qr-kit.ts';

let kit: QrKit;
beforeAll(async () => {
  kit = await openQrKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const create = (body: unknown, merchant = ARGENTINA) => kit.call('POST', '/v1/orders', { body, key: 'k1', merchant });
const atTerminal = (point: object, payment_method?: object) => ({
  config: { point: { terminal_id: VIRTUAL_TERMINAL, ...point }, ...(payment_method && { payment_method }) },
});

/** Every call on orders, with a body that would be taken. */
const calls = [
  ['POST', '/v1/orders'],
  ['GET', `/v1/orders/${UNKNOWN_ORDER}`],
  ['POST', `/v1/orders/${UNKNOWN_ORDER}/cancel`],
  ['POST', `/v1/orders/${UNKNOWN_ORDER}/refund`],
] as const;

describe('authentication', () => {
  test.each(calls)('%s %s: an unknown and an expired token are 401 unauthorized', async (method, path) => {
    const body = path === '/v1/orders' ? orderBody() : undefined;
    const unknown = { merchant: null, key: 'k1', body, headers: { authorization: 'Bearer APP_USR-unknown' } };
    const stranger = await kit.call(method, path, unknown);
    expect([stranger.status, stranger.body.code]).toEqual([401, 'unauthorized']);
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { access_token: 'APP_USR-new' });
    const expired = await kit.call(method, path, { key: 'k1', body });
    expect([expired.status, expired.body.code]).toEqual([401, 'unauthorized']);
  });

  test.each(calls)('%s %s: a token in the query is none', async (method, path) => {
    const token = kit.sandbox.world.merchants.get(ARGENTINA)?.access_token;
    const body = path === '/v1/orders' ? orderBody() : undefined;
    const reply = await kit.call(method, `${path}?access_token=${token}`, { merchant: null, key: 'k1', body });
    expect(reply.status).toBe(401);
    expect(kit.sandbox.world.orders.size).toBe(0);
  });

  test('the seller is the owner of the token', async () => {
    const body = orderBody();
    const seller = await create(body, BRAZIL);
    expect([seller.status, seller.body.user_id]).toEqual([201, BRAZIL]);
    expect(codeOf(await create({ ...body, user_id: BRAZIL }))).toBe('unsupported_properties');
  });

  test('x-test-scope changes nothing', async () => {
    const headers = { 'x-test-scope': 'sandbox' };
    const reply = await kit.call('POST', '/v1/orders', { key: 'k1', body: orderBody(), headers });
    expect([reply.status, reply.body.user_id]).toEqual([201, ARGENTINA]);
    expect((await kit.call('GET', `/v1/orders/${reply.body.id}`)).status).toBe(200);
  });
});

describe('request', () => {
  test.each([
    ['point', () => orderBody()],
    ['qr', () => qrBody()],
  ])('type %s: the longest reference and description are taken', async (_type, good) => {
    const texts = { external_reference: `-_${'a1Z'.repeat(20)}aa`, description: 'd'.repeat(150) };
    expect(texts.external_reference).toHaveLength(64);
    const reply = await create({ ...good(), ...texts });
    expect([reply.status, reply.body]).toEqual([201, expect.objectContaining(texts)]);
  });

  test.each([
    ['PT30S', 30_000],
    ['PT3H', 3 * 3_600_000],
  ])('Point: %s is respected', async (expiration_time, lifetime_ms) => {
    const { body } = await create(orderBody({ expiration_time }));
    expect(body.expiration_time).toBe(expiration_time);
    await kit.advance(lifetime_ms - 1);
    expect((await kit.get(body.id)).status).toBe('created');
  });

  test.each([['seller_ticket'], ['no_ticket']])('print_on_terminal %s', async (print_on_terminal) => {
    const { status, body } = await create(orderBody(atTerminal({ print_on_terminal })));
    expect([status, body.config.point.print_on_terminal]).toEqual([201, print_on_terminal]);
  });

  test.each([['credit_card'], ['debit_card'], ['qr']])('default_type %s', async (default_type) => {
    const { status, body } = await create(orderBody(atTerminal({}, { default_type })));
    expect([status, body.config.payment_method]).toEqual([201, { default_type }]);
    await kit.atTerminal('pay');
    expect((await kit.get(body.id)).transactions.payments[0].payment_method.type).toBe(default_type);
  });

  test.each([['seller'], ['buyer']])('default_installments_cost %s', async (default_installments_cost) => {
    const wanted = { default_type: 'credit_card', default_installments: 6, default_installments_cost };
    await kit.control('PUT', `terminals/${BRAZIL}/${POINT_PRO}`, { operating_mode: 'PDV' });
    const taken = await create(orderBody(atTerminal({ terminal_id: POINT_PRO }, wanted)), BRAZIL);
    expect([taken.status, taken.body.config.payment_method]).toEqual([201, wanted]);
    const refused = await create(orderBody(atTerminal({}, wanted)));
    expect([refused.status, codeOf(refused), refused.body.errors[0].details]).toEqual([
      400,
      'property_value',
      ['config.payment_method.default_installments_cost'],
    ]);
  });

  test.each([['debit_card'], ['credit_card'], ['account_money'], ['prepaid_card']])(
    'a discount for %s',
    async (type) => {
      const discounts = { payment_methods: [{ type, new_total_amount: '120.00' }] };
      const { body } = await create(qrBody({ discounts }));
      expect(body.discounts).toEqual(discounts);
      await kit.atTill('pay', { payment_method_type: type });
      const [payment] = (await kit.get(body.id)).transactions.payments;
      expect([payment.paid_amount, payment.discounts]).toEqual(['120.00', { type }]);
    },
  );

  test.each([
    [ARGENTINA, 'ARS'],
    [BRAZIL, 'BRL'],
    [CHILE, 'CLP'],
    [URUGUAY, 'UYU'],
  ])('the currency of %s is %s', async (merchant, currency) => {
    const items = [qrItem({ unit_price: '150' })];
    const { body } = await create(qrBody({ ...amount('150'), items, ...mode('static') }), merchant);
    expect([body.currency, body.processing_mode]).toEqual([currency, 'automatic']);
  });

  test('Mexico has a currency beyond that list, for Point', async () => {
    expect((await create(orderBody(), MEXICO)).body.currency).toBe('MXN');
  });
});

describe('answer', () => {
  test('last_updated_date moves with each change, created_date never', async () => {
    const made = (await create(orderBody())).body;
    expect(made.last_updated_date).toBe(made.created_date);
    await kit.advance(5000);
    await kit.atTerminal('pay');
    const paid = await kit.get(made.id);
    expect(paid.created_date).toBe(made.created_date);
    expect(Date.parse(paid.last_updated_date) - Date.parse(made.created_date)).toBe(5000);
  });

  test('GET shows payment, method, card and refunds', async () => {
    const id = await kit.order();
    await kit.atTerminal('pay', { payment_method_type: 'credit_card', payment_method_id: 'visa', installments: 3 });
    const [{ id: transaction_id }] = (await kit.get(id)).transactions.payments;
    const part = { transactions: [{ id: transaction_id, amount: '50.00' }] };
    expect((await kit.call('POST', `/v1/orders/${id}/refund`, { key: 'r1', body: part })).status).toBe(201);
    const order = await kit.get(id);
    expect([order.status, order.status_detail, order.transactions]).toEqual([
      'processed',
      'partially_refunded',
      {
        payments: [
          {
            id: transaction_id,
            amount: '150.00',
            paid_amount: '150.00',
            refunded_amount: '50.00',
            status: 'processed',
            status_detail: 'accredited',
            reference_id: expect.stringMatching(/^\d{12}$/),
            payment_method: { type: 'credit_card', id: 'visa', installments: 3 },
            card: { first_digits: '503175', last_digits: '0604' },
          },
        ],
        refunds: [
          {
            id: expect.stringMatching(/^REF/),
            transaction_id,
            reference_id: expect.stringMatching(/^\d+$/),
            amount: '50.00',
            status: 'processed',
          },
        ],
      },
    ]);
  });
});
