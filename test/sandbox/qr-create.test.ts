/** `POST /v1/orders` with `type: qr`: every rule of every field, every refusal, and the shape of success. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, CHILE, codeOf, MEXICO, orderBody, URUGUAY, VIRTUAL_TERMINAL } from './kit.ts';
import { amount, mode, OTHER_TILL, openQrKit, type QrKit, qrBody, qrItem, TILL } from './qr-kit.ts';

let kit: QrKit;
beforeAll(async () => {
  kit = await openQrKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const create = (body: unknown, key = 'k1', merchant = ARGENTINA) =>
  kit.call('POST', '/v1/orders', { body, key, merchant });
const item = (changes: object) => ({ items: [qrItem(changes)] });
const payments = (...amounts: unknown[]) => ({ transactions: { payments: amounts.map((text) => ({ amount: text })) } });
const integration = (data: object) => ({ integration_data: data });
const methods = (...payment_methods: object[]) => ({ discounts: { payment_methods } });
const discount = (changes: object = {}) => ({ new_total_amount: '120.00', type: 'debit_card', ...changes });
const payment_method = (data: object) => ({ config: { qr: { external_pos_id: TILL }, payment_method: data } });
const cash = (text: unknown, paid?: string) => ({
  transactions: { ...(paid !== undefined && { payments: [{ amount: paid }] }), cash_outs: [{ amount: text }] },
});

/** Name, changes to a good body, code, details. */
const bodyRefusals: [string, object, string, string[]][] = [
  ['reference missing', { external_reference: undefined }, 'required_properties', ['external_reference']],
  ['reference with a space', { external_reference: 'Pedido 002' }, 'property_value', ['external_reference']],
  ['reference of 65', { external_reference: 'a'.repeat(65) }, 'property_value', ['external_reference']],
  ['description of 151', { description: 'a'.repeat(151) }, 'property_value', ['description']],
  ['expiration under 30 seconds', { expiration_time: 'PT29S' }, 'property_value', ['expiration_time']],
  ['expiration over 3600 hours', { expiration_time: 'PT3600H1S' }, 'property_value', ['expiration_time']],
  ['expiration over 150 days', { expiration_time: 'P151D' }, 'property_value', ['expiration_time']],
  ['expiration of half a year', { expiration_time: 'P6M' }, 'property_value', ['expiration_time']],
  ['transactions missing', { transactions: undefined }, 'required_properties', ['transactions']],
  ['neither payments nor cash', { transactions: {} }, 'minimum_properties', ['transactions']],
  ['no payment', payments(), 'minimum_items', ['transactions.payments']],
  ['two payments', payments('100.00', '50.00'), 'maximum_items', ['transactions.payments']],
  ['amount with one decimal', payments('150.5'), 'property_value', ['transactions.payments[0].amount']],
  ['amount with three decimals', payments('150.001'), 'property_value', ['transactions.payments[0].amount']],
  ['amount a number', payments(150), 'property_type', ['transactions.payments[0].amount']],
  ['total_amount a number', { total_amount: 150 }, 'property_type', ['total_amount']],
  ['total_amount with one decimal', { total_amount: '150.0' }, 'property_value', ['total_amount']],
  ['total_amount not the sum', { total_amount: '149.99' }, 'property_value', ['total_amount']],
  ['config missing', { config: undefined }, 'required_properties', ['config']],
  ['config.qr missing', { config: {} }, 'minimum_properties', ['config']],
  ['till missing', { config: { qr: { mode: 'static' } } }, 'required_properties', ['config.qr.external_pos_id']],
  ['till empty', { config: { qr: { external_pos_id: '' } } }, 'property_value', ['config.qr.external_pos_id']],
  ['mode unknown', mode('printed'), 'property_value', ['config.qr.mode']],
  ['print_on_terminal is for Point', { config: { point: {} } }, 'unsupported_properties', ['config.point']],
  [
    'payment_method is for Point',
    payment_method({ default_type: 'credit_card' }),
    'unsupported_properties',
    ['config.payment_method'],
  ],
  ['items no list', { items: {} }, 'property_type', ['items']],
  ['item without a title', item({ title: undefined }), 'required_properties', ['items[0].title']],
  ['item title of 151', item({ title: 'a'.repeat(151) }), 'property_value', ['items[0].title']],
  ['item without a price', item({ unit_price: undefined }), 'required_properties', ['items[0].unit_price']],
  ['item price a number', item({ unit_price: 150 }), 'property_type', ['items[0].unit_price']],
  ['item price with one decimal', item({ unit_price: '1.5' }), 'property_value', ['items[0].unit_price']],
  ['item without a quantity', item({ quantity: undefined }), 'required_properties', ['items[0].quantity']],
  ['item quantity as text', item({ quantity: '1' }), 'property_type', ['items[0].quantity']],
  ['item quantity a fraction', item({ quantity: 1.5 }), 'property_type', ['items[0].quantity']],
  ['item quantity zero', item({ quantity: 0 }), 'property_value', ['items[0].quantity']],
  ['item without a unit', item({ unit_measure: undefined }), 'required_properties', ['items[0].unit_measure']],
  ['item unit of 11', item({ unit_measure: 'a'.repeat(11) }), 'property_value', ['items[0].unit_measure']],
  ['item code a number', item({ external_code: 7 }), 'property_type', ['items[0].external_code']],
  [
    'item category without an id',
    item({ external_categories: [{ x: 1 }] }),
    'unsupported_properties',
    ['items[0].external_categories[0].x'],
  ],
  ['item total is not known', item({ total_amount: '150.00' }), 'unsupported_properties', ['items[0].total_amount']],
  ['discounts empty', { discounts: {} }, 'minimum_properties', ['discounts']],
  [
    'discount without a total',
    methods({ type: 'debit_card' }),
    'required_properties',
    ['discounts.payment_methods[0].new_total_amount'],
  ],
  [
    'discount total a number',
    methods(discount({ new_total_amount: 120 })),
    'property_type',
    ['discounts.payment_methods[0].new_total_amount'],
  ],
  [
    'discount total above the total',
    methods(discount({ new_total_amount: '150.01' })),
    'property_value',
    ['discounts.payment_methods[0].new_total_amount'],
  ],
  [
    'discount method unknown',
    methods(discount({ type: 'voucher_card' })),
    'property_value',
    ['discounts.payment_methods[0].type'],
  ],
  ['five discounts', methods(...Array(5).fill(discount())), 'maximum_items', ['discounts.payment_methods']],
  [
    'discounts together with categories',
    { ...methods(discount()), items: [qrItem(), qrItem({ external_categories: [{ id: 'c' }] })] },
    'bad_request',
    ['discounts', 'items[1].external_categories'],
  ],
  ['fee with one decimal', { marketplace_fee: '1.5' }, 'property_value', ['marketplace_fee']],
  ['fee a number', { marketplace_fee: 1 }, 'property_type', ['marketplace_fee']],
  ['fee with a token not from OAuth', { marketplace_fee: '1.00' }, 'marketplace_not_valid', ['marketplace_fee']],
  [
    'integrator without dev_',
    integration({ integrator_id: 'int_1' }),
    'property_value',
    ['integration_data.integrator_id'],
  ],
  ['platform a number', integration({ platform_id: 5 }), 'property_type', ['integration_data.platform_id']],
  ['sponsor without an id', integration({ sponsor: {} }), 'minimum_properties', ['integration_data.sponsor']],
  [
    'sponsor no user id',
    integration({ sponsor: { id: 'me' } }),
    'sponsor_id_not_valid',
    ['integration_data.sponsor.id'],
  ],
  ['cash without an agreement', cash('50.00', '150.00'), 'seller_configuration', ['transactions.cash_outs']],
  ['cash of nothing', cash('0.00', '150.00'), 'property_value', ['transactions.cash_outs[0].amount']],
  ['cash a number', cash(50, '150.00'), 'property_type', ['transactions.cash_outs[0].amount']],
  ['title', { title: 'T' }, 'unsupported_properties', ['title']],
  ['notification_url', { notification_url: 'https://a.example' }, 'unsupported_properties', ['notification_url']],
];

describe('refusals of the body', () => {
  test.each(bodyRefusals)('%s', async (_name, changes, code, details) => {
    const reply = await create(qrBody(changes));
    expect([reply.status, codeOf(reply), reply.body.errors[0].details]).toEqual([400, code, details]);
    expect(kit.sandbox.world.orders.size).toBe(0);
  });

  test('a body with config.qr and without a type is judged as QR', async () => {
    const reply = await create(qrBody({ type: undefined }));
    expect(reply.body.errors).toEqual([
      { code: 'required_properties', message: expect.any(String), details: ['type'] },
    ]);
  });

  test.each([
    [ARGENTINA, '14.99', 'Must be greater than or equal to 15.00'],
    [BRAZIL, '0.00', 'Must be greater than or equal to 0.01'],
    [CHILE, '0', 'Must be greater than or equal to 1'],
    [URUGUAY, '0.00', 'Must be greater than or equal to 0.01'],
  ])('the minimum of %s refuses %s, by setting', async (merchant, text, message) => {
    await kit.control('PUT', 'settings', { minimum_amounts: 'as_seen' });
    const reply = await create(qrBody({ ...amount(text), items: [] }), 'k1', merchant);
    expect(reply.body.errors).toEqual([
      { code: 'property_value', message, details: ['transactions.payments[0].amount'] },
    ]);
  });

  test('Chilean amounts have decimals that are zeros, or by setting none', async () => {
    const zeros = { ...amount('2500.00'), items: [qrItem({ unit_price: '2500.00' })] };
    const same = await create(qrBody({ ...zeros, external_reference: 'zeros', total_amount: '2500.00' }), 'k0', CHILE);
    expect([same.status, same.body.total_amount]).toEqual([201, '2500.00']);
    expect(codeOf(await create(qrBody({ ...zeros, ...amount('2500.50') }), 'k0', CHILE))).toBe('property_value');
    await kit.control('PUT', 'settings', { amounts: 'as_seen' });
    const items = [qrItem({ unit_price: '2500' })];
    const refused = await create(qrBody({ ...amount('2500.00'), items }), 'k1', CHILE);
    expect([refused.status, codeOf(refused), refused.body.errors[0].details]).toEqual([
      400,
      'property_value',
      ['transactions.payments[0].amount'],
    ]);
    const price = await create(qrBody({ ...amount('2500'), ...item({ unit_price: '2500.00' }) }), 'k1', CHILE);
    expect(price.body.errors[0].details).toEqual(['items[0].unit_price']);
    const taken = await create(qrBody({ ...amount('2500'), items }), 'k1', CHILE);
    expect([taken.status, taken.body.total_amount, taken.body.transactions.payments[0].amount]).toEqual([
      201,
      '2500',
      '2500',
    ]);
  });
});

describe('refusals beside the body', () => {
  test('no idempotency key', async () => {
    const reply = await kit.call('POST', '/v1/orders', { body: qrBody() });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'empty_required_header']);
  });

  test('broken JSON', async () => {
    expect(codeOf(await create('{"type":"qr"'))).toBe('json_syntax_error');
  });

  test('an unknown token', async () => {
    const headers = { authorization: 'Bearer APP_USR-unknown' };
    const reply = await kit.call('POST', '/v1/orders', { merchant: null, headers, key: 'k', body: qrBody() });
    expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
  });

  test('pos_not_found: a till that is not there', async () => {
    const reply = await create(qrBody(mode('static', 'NOBODY')));
    expect([reply.status, codeOf(reply), reply.body.errors[0].details]).toEqual([
      404,
      'pos_not_found',
      ['config.qr.external_pos_id'],
    ]);
  });

  test('pos_not_found: a till of another merchant, and the internal number of an own one', async () => {
    const tills = [...kit.sandbox.world.points_of_sale.values()];
    for (const till of tills.filter(({ merchant_id }) => merchant_id === BRAZIL)) till.external_id = `B${till.id}`;
    expect(codeOf(await create(qrBody(mode('static', 'B2000001'))))).toBe('pos_not_found');
    expect(codeOf(await create(qrBody(mode('static', '1000001'))))).toBe('pos_not_found');
  });

  test('unsupported_site: no terminals in Uruguay, no QR in Mexico', async () => {
    const point = await create(orderBody(), 'k1', URUGUAY);
    expect([point.status, codeOf(point)]).toEqual([400, 'unsupported_site']);
    const qr = await create(qrBody(), 'k1', MEXICO);
    expect([qr.status, codeOf(qr)]).toEqual([400, 'unsupported_site']);
    await kit.control('PUT', 'settings', { qr_in_mexico: 'accepted' });
    const taken = await create(qrBody(), 'k1', MEXICO);
    expect([taken.status, taken.body.currency]).toEqual([201, 'MXN']);
  });

  test('Point has terminals in Chile, where by setting amounts have no decimals either', async () => {
    await kit.control('PUT', 'settings', { amounts: 'as_seen' });
    const config = { point: { terminal_id: VIRTUAL_TERMINAL } };
    await kit.control('PUT', `terminals/${CHILE}/${VIRTUAL_TERMINAL}`, { operating_mode: 'PDV' });
    expect(codeOf(await create(orderBody({ config, ...amount('2500.00') }), 'k1', CHILE))).toBe('property_value');
    const reply = await create(orderBody({ config, ...amount('2500') }), 'k1', CHILE);
    expect([reply.status, reply.body.transactions.payments[0].amount]).toEqual([201, '2500']);
  });

  test.each([
    [{ default_type: 'credit_card' }, 'unsupported_properties', 'default_type'],
    [{ default_installments: 0 }, 'property_value', 'default_installments'],
    [{ default_installments: '3' }, 'property_type', 'default_installments'],
    [{ default_installments_cost: 'bank' }, 'property_value', 'default_installments_cost'],
  ])('config.payment_method %j is refused where by setting it is known', async (wanted, code, name) => {
    await kit.control('PUT', 'settings', { qr_installments: 'accepted' });
    const reply = await create(qrBody(payment_method(wanted)));
    expect([codeOf(reply), reply.body.errors[0].details]).toEqual([code, [`config.payment_method.${name}`]]);
  });

  test('discounts do not go together with an installments cost, where by setting it is known', async () => {
    await kit.control('PUT', 'settings', { qr_installments: 'accepted', installments_cost: 'as_seen' });
    const reply = await create(qrBody({ ...methods(discount()), ...payment_method({ installments_cost: 'seller' }) }));
    expect([codeOf(reply), reply.body.errors[0].details]).toEqual([
      'discounts_not_allowed_with_installments',
      ['discounts', 'config.payment_method.installments_cost'],
    ]);
  });

  test.each([
    ['eleven items', { items: Array.from({ length: 11 }, () => qrItem()) }, 'maximum_items', 'items'],
    ['a code of 31', item({ external_code: 'a'.repeat(31) }), 'property_value', 'items[0].external_code'],
    [
      'eleven categories',
      item({ external_categories: Array(11).fill({ id: 'c' }) }),
      'maximum_items',
      'items[0].external_categories',
    ],
  ])('%s: taken, and by setting refused', async (_name, changes, code, path) => {
    expect((await create(qrBody({ ...changes, external_reference: 'many' }), 'k0')).status).toBe(201);
    await kit.control('PUT', 'settings', { item_limits: 'as_seen' });
    const reply = await create(qrBody(changes));
    expect([codeOf(reply), reply.body.errors[0].details]).toEqual([code, [path]]);
  });

  test('a used reference', async () => {
    await create(qrBody(), 'k1');
    const reply = await create(qrBody(), 'k2');
    expect([codeOf(reply), reply.body.errors[0].details]).toEqual(['property_value', ['external_reference']]);
  });

  test('another body under the same key, and the same body again', async () => {
    const first = await create(qrBody());
    const other = await create(qrBody({ description: 'other' }));
    expect([other.status, codeOf(other)]).toEqual([409, 'idempotency_key_already_used']);
    const again = await create(qrBody());
    expect([again.status, again.text]).toEqual([201, first.text]);
  });

  test.each([
    [500, 'internal_error'],
    [500, 'idempotency_validation_failed'],
  ])('%i %s on demand', async (status, code) => {
    await kit.control('POST', 'faults', { method: 'POST', path: '/v1/orders', kind: 'error', status, code });
    const reply = await create(qrBody());
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });
});

describe('marketplace fee', () => {
  const fee = qrBody({ marketplace_fee: '1.50' });

  test('with a token from OAuth', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { oauth: true });
    const reply = await create(fee);
    expect([reply.status, reply.body.marketplace_fee]).toEqual([201, '1.50']);
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { oauth: false });
    expect(codeOf(await create({ ...fee, external_reference: 'other' }, 'k2'))).toBe('marketplace_not_valid');
  });

  test('with a new token from OAuth, which the old one is not', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { access_token: 'APP_USR-oauth', oauth: true });
    const headers = { authorization: 'Bearer APP_USR-oauth' };
    const reply = await kit.call('POST', '/v1/orders', { merchant: null, headers, key: 'k', body: fee });
    expect(reply.status).toBe(201);
    expect((await create(fee)).status).toBe(401);
  });

  test('with a token from OAuth whose application is no marketplace', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { oauth: true });
    await kit.control('PUT', `merchants/${ARGENTINA}`, { has_marketplace: false });
    const reply = await create(fee);
    expect([reply.status, codeOf(reply)]).toEqual([404, 'marketplace_fee_not_allowed']);
  });

  test('Point takes it too', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { oauth: true });
    expect((await create(orderBody({ marketplace_fee: '1.50' }))).body.marketplace_fee).toBe('1.50');
  });

  test('reset takes the right away', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { oauth: true });
    await kit.control('POST', 'reset');
    expect(codeOf(await create(fee))).toBe('marketplace_not_valid');
  });
});

describe('success', () => {
  test('a static order has the documented shape', async () => {
    const items = [
      qrItem({ external_code: 'a'.repeat(30), title: 'a'.repeat(150), unit_measure: 'a'.repeat(10) }),
      qrItem({ external_categories: [{ id: 'coffee' }] }),
    ];
    const integration_data = { platform_id: 'dev_1', integrator_id: 'dev_2', sponsor: { id: '445566' } };
    const reply = await create(qrBody({ description: 'Table 4', total_amount: '150', items, integration_data }));
    const created_date = new Date(kit.sandbox.world.clock.now()).toISOString();
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ORD[0-9A-HJKMNP-TV-Z]{26}$/),
        type: 'qr',
        user_id: ARGENTINA,
        external_reference: 'qr-0',
        description: 'Table 4',
        expiration_time: 'PT15M',
        total_amount: '150',
        processing_mode: 'automatic',
        country_code: 'ARG',
        currency: 'ARS',
        integration_data: { application_id: '4004001', ...integration_data },
        status: 'created',
        status_detail: 'created',
        created_date,
        last_updated_date: created_date,
        config: { qr: { external_pos_id: TILL, mode: 'static' } },
        transactions: {
          payments: [
            {
              id: expect.stringMatching(/^PAY[0-9A-HJKMNP-TV-Z]{26}$/),
              amount: '150.00',
              status: 'created',
              status_detail: 'ready_to_process',
            },
          ],
        },
        items,
      },
    ]);
    expect((await kit.call('GET', `/v1/orders/${reply.body.id}`)).body).toEqual(reply.body);
  });

  test('type, reference, transactions and till are all that is needed', async () => {
    const reply = await create(qrBody({ items: undefined }));
    expect([reply.status, reply.body.total_amount, reply.body.items, reply.body.config.qr.mode]).toEqual([
      201,
      '150.00',
      undefined,
      'static',
    ]);
  });

  test.each([['dynamic'], ['hybrid']])('%s has a code of its own', async (wanted) => {
    const { body } = await create(qrBody(mode(wanted)));
    expect(body.config.qr).toEqual({ external_pos_id: TILL, mode: wanted });
    expect(body.type_response.qr_data).toMatch(/^000201.*6304[0-9A-F]{4}$/);
    expect((await kit.call('GET', `/v1/orders/${body.id}`)).body.type_response).toEqual(body.type_response);
  });

  test.each([
    [BRAZIL, 'BRA', 'BRL', '150.00'],
    [CHILE, 'CHL', 'CLP', '150'],
    [URUGUAY, 'URY', 'UYU', '150.00'],
  ])('the site of %s', async (merchant, country, currency, total) => {
    const items = [qrItem({ unit_price: '150' })];
    const { body } = await create(qrBody({ ...amount('150'), items }), 'k1', merchant);
    expect([body.country_code, body.currency, body.total_amount]).toEqual([country, currency, total]);
  });

  test.each([['PT30S'], ['PT3600H'], ['P150D'], ['P1DT2H3M4S']])(
    'expiration %s is respected',
    async (expiration_time) => {
      expect((await create(qrBody({ expiration_time }))).body.expiration_time).toBe(expiration_time);
    },
  );

  test('ten items and four discounts', async () => {
    const items = Array.from({ length: 10 }, () => qrItem());
    const discounts = {
      payment_methods: ['debit_card', 'credit_card', 'account_money', 'prepaid_card'].map((type) => discount({ type })),
    };
    const { status, body } = await create(qrBody({ items, discounts }));
    expect([status, body.items, body.discounts]).toEqual([201, items, discounts]);
  });

  test('installments are echoed, where by setting they are known', async () => {
    await kit.control('PUT', 'settings', { qr_installments: 'accepted' });
    const wanted = { default_installments: 3, default_installments_cost: 'seller' };
    expect((await create(qrBody(payment_method(wanted)))).body.config.payment_method).toEqual(wanted);
  });

  test('a payment with a cash withdrawal; the total is the sum of both', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const wrong = await create(qrBody({ ...cash('50.00', '150.00'), total_amount: '150.00' }));
    expect([codeOf(wrong), wrong.body.errors[0].details]).toEqual(['property_value', ['total_amount']]);
    const { status, body } = await create(qrBody({ ...cash('50.00', '150.00'), total_amount: '200.00' }));
    expect([status, body.total_amount, body.transactions.payments[0].amount, body.transactions.cash_outs]).toEqual([
      201,
      '200.00',
      '150.00',
      [{ id: expect.any(String), amount: '50.00', status: 'created', status_detail: 'ready_to_process' }],
    ]);
  });

  test('a cash withdrawal without a sale', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const { status, body } = await create(qrBody({ ...cash('50.00'), items: undefined }));
    expect([status, body.total_amount, body.transactions.payments, body.transactions.cash_outs[0].amount]).toEqual([
      201,
      '50.00',
      undefined,
      '50.00',
    ]);
  });

  test('a discount never takes off the cash', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}`, { may_hand_out_cash: true });
    const wanted = { ...cash('50.00', '150.00'), ...methods(discount({ new_total_amount: '49.99' })) };
    const reply = await create(qrBody(wanted));
    expect([codeOf(reply), reply.body.errors[0].details]).toEqual([
      'property_value',
      ['discounts.payment_methods[0].new_total_amount'],
    ]);
  });
});

describe('a second order on a till', () => {
  test('both stay open, and the code of the till shows the newest', async () => {
    const [first, second] = [await kit.qrOrder(), await kit.qrOrder(mode('hybrid'))];
    expect((await kit.atTill('pay')).body).toEqual({ kind: 'order', id: second, open: false });
    expect((await kit.get(first)).status).toBe('created');
    expect((await kit.atTill('pay')).body.id).toBe(first);
  });

  test.each([
    ['static', 'hybrid', 409],
    ['hybrid', 'static', 409],
    ['static', 'dynamic', 201],
    ['dynamic', 'static', 201],
  ])('with setting refused: %s, then %s answers %i', async (one, two, status) => {
    await kit.control('PUT', 'settings', { second_static_order: 'refused' });
    await kit.qrOrder(mode(one));
    const reply = await kit.createQr(mode(two));
    expect(reply.status).toBe(status);
    if (status === 409) expect(codeOf(reply)).toBe('already_queued_order_for_terminal');
    expect((await kit.createQr(mode(two, OTHER_TILL))).status).toBe(201);
  });

  test('with setting refused the till is free again once the first is over', async () => {
    await kit.control('PUT', 'settings', { second_static_order: 'refused' });
    await kit.qrOrder();
    await kit.atTill('pay');
    expect((await kit.createQr()).status).toBe(201);
  });

  test('the merchants of equal tills do not meet', async () => {
    await kit.control('PUT', 'settings', { second_static_order: 'refused' });
    await kit.qrOrder();
    expect((await kit.createQr({}, { merchant: BRAZIL })).status).toBe(201);
  });
});
