/** `POST /v1/orders` of the sandbox: every documented refusal, the shape of success, and the replay variants V1–V5. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ARGENTINA,
  BRAZIL,
  codeOf,
  type Kit,
  MEXICO,
  openKit,
  orderBody,
  PAX_TERMINAL,
  POINT_PRO,
  STANDALONE_TERMINAL,
  VIRTUAL_TERMINAL,
} from './kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const create = (body: unknown, key = 'k1', merchant = ARGENTINA) =>
  kit.call('POST', '/v1/orders', { body, key, merchant });

const payments = (...amounts: unknown[]) => ({ transactions: { payments: amounts.map((amount) => ({ amount })) } });
const config = (point: object, payment_method?: object) => ({
  config: { point: { terminal_id: VIRTUAL_TERMINAL, ...point }, ...(payment_method && { payment_method }) },
});
const method = (payment_method: object) => config({}, payment_method);

/** Name, changes to a good body, code, details. */
const bodyRefusals: [string, object, string, string[]][] = [
  ['reference missing', { external_reference: undefined }, 'required_properties', ['external_reference']],
  ['type missing', { type: undefined }, 'required_properties', ['type']],
  ['config missing', { config: undefined }, 'required_properties', ['config']],
  ['payment empty', { transactions: { payments: [{}] } }, 'minimum_properties', ['transactions.payments[0]']],
  [
    'amount misnamed',
    { transactions: { payments: [{ x: 1 }] } },
    'unsupported_properties',
    ['transactions.payments[0].x'],
  ],
  ['config.point is for Point', { type: 'qr', items: [] }, 'unsupported_properties', ['config.point']],
  ['type online', { type: 'online' }, 'property_value', ['type']],
  ['reference with a space', { external_reference: 'Pedido 002' }, 'property_value', ['external_reference']],
  ['reference of 65', { external_reference: 'a'.repeat(65) }, 'property_value', ['external_reference']],
  ['reference empty', { external_reference: '' }, 'property_value', ['external_reference']],
  ['description of 151', { description: 'a'.repeat(151) }, 'property_value', ['description']],
  ['expiration too short', { expiration_time: 'PT29S' }, 'property_value', ['expiration_time']],
  ['expiration too long', { expiration_time: 'PT3H1S' }, 'property_value', ['expiration_time']],
  ['expiration no duration', { expiration_time: '900' }, 'property_value', ['expiration_time']],
  ['amount with three decimals', payments('150.001'), 'property_value', ['transactions.payments[0].amount']],
  ['amount zero', payments('0'), 'property_value', ['transactions.payments[0].amount']],
  ['amount negative', payments('-15.00'), 'property_value', ['transactions.payments[0].amount']],
  ['amount a number', payments(150), 'property_type', ['transactions.payments[0].amount']],
  ['amount a decimal number', payments(150.5), 'property_type', ['transactions.payments[0].amount']],
  ['amount null', payments(null), 'property_type', ['transactions.payments[0].amount']],
  ['no payment', payments(), 'minimum_items', ['transactions.payments']],
  ['two payments', payments('150.00', '20.00'), 'maximum_items', ['transactions.payments']],
  ['payments an object', { transactions: { payments: {} } }, 'property_type', ['transactions.payments']],
  ['config text', { config: 'point' }, 'property_type', ['config']],
  ['integration_data empty', { integration_data: {} }, 'minimum_properties', ['integration_data']],
  ['notification_url', { notification_url: 'https://a.example' }, 'unsupported_properties', ['notification_url']],
  ['title', { title: 'T' }, 'unsupported_properties', ['title']],
  ['total_amount is for QR', { total_amount: '150.00' }, 'unsupported_properties', ['total_amount']],
  ['config.qr is for QR', { config: { qr: {} } }, 'unsupported_properties', ['config.qr']],
  ['ticket unknown', config({ print_on_terminal: 'both' }), 'property_value', ['config.point.print_on_terminal']],
  ['ticket a boolean', config({ print_on_terminal: true }), 'property_type', ['config.point.print_on_terminal']],
  ['terminal id malformed', config({ terminal_id: 'a b' }), 'property_value', ['config.point.terminal_id']],
  ['voucher', method({ default_type: 'voucher_card' }), 'property_value', ['config.payment_method.default_type']],
  [
    'installments without credit card',
    method({ default_type: 'debit_card', default_installments: 3 }),
    'property_value',
    ['config.payment_method.default_installments'],
  ],
  [
    'installments as text',
    method({ default_type: 'credit_card', default_installments: '3' }),
    'property_type',
    ['config.payment_method.default_installments'],
  ],
  [
    'installments cost unknown',
    { config: { point: { terminal_id: POINT_PRO }, payment_method: { default_installments_cost: 'bank' } } },
    'property_value',
    ['config.payment_method.default_installments_cost'],
  ],
  ['fee without a marketplace', { marketplace_fee: '1.00' }, 'marketplace_not_valid', ['marketplace_fee']],
  [
    'sponsor no user id',
    { integration_data: { sponsor: { id: 'me' } } },
    'sponsor_id_not_valid',
    ['integration_data.sponsor.id'],
  ],
];

describe('refusals of the body', () => {
  test.each(bodyRefusals)('%s', async (_name, changes, code, details) => {
    const reply = await create(orderBody(changes));
    expect([reply.status, codeOf(reply), reply.body.errors[0].details]).toEqual([400, code, details]);
    expect(kit.sandbox.world.orders.size).toBe(0);
  });

  test('an empty object lacks its minimum of properties', async () => {
    expect(codeOf(await create({}))).toBe('minimum_properties');
  });

  test('a body that is no object', async () => {
    expect(codeOf(await create([1]))).toBe('bad_request');
  });

  test.each([['{"type":'], [''], ['{"type":"point","type":"qr"}']])('a body that is no JSON: %j', async (text) => {
    expect(codeOf(await create(text))).toBe('json_syntax_error');
  });

  test('several faults of one kind are named together', async () => {
    const reply = await create(orderBody({ title: 'T', config: { point: { terminal_id: VIRTUAL_TERMINAL, x: 1 } } }));
    expect(reply.body.errors[0].details).toEqual(['title', 'config.point.x']);
  });

  test.each([
    [ARGENTINA, '14.99', 'Must be greater than or equal to 15.00'],
    [MEXICO, '4.99', 'Must be greater than or equal to 5.00'],
    [BRAZIL, '0.00', 'Must be greater than or equal to 0.01'],
  ])('the minimum of %s refuses %s, by setting', async (merchant, amount, message) => {
    await kit.control('PUT', 'settings', { minimum_amounts: 'as_seen' });
    const reply = await create(orderBody(payments(amount)), 'k1', merchant);
    expect(reply.body.errors).toEqual([
      { code: 'property_value', message, details: ['transactions.payments[0].amount'] },
    ]);
  });
});

describe('refusals beside the body', () => {
  test('no authorization is unauthorized, or by setting stopped by the gateway', async () => {
    const nobody = await kit.call('POST', '/v1/orders', { merchant: null, key: 'k1', body: orderBody() });
    expect([nobody.status, nobody.body.code]).toEqual([401, 'unauthorized']);
    await kit.control('PUT', 'settings', { missing_token: 'gateway' });
    const reply = await kit.call('POST', '/v1/orders', { merchant: null, key: 'k1', body: orderBody() });
    expect([reply.status, reply.body.code]).toEqual([403, 'PA_UNAUTHORIZED_RESULT_FROM_POLICIES']);
  });

  test.each([
    ['Bearer APP_USR-1-112026-ffffffffffffffffffffffffffffffff-700100200', 'user not found'],
    ['Bearer something else', 'authorization value not present'],
    ['Bearer nonsense', 'authorization value not present'],
  ])('%s is unauthorized, in the flat envelope', async (authorization, message) => {
    const reply = await kit.call('POST', '/v1/orders', {
      merchant: null,
      headers: { authorization },
      body: orderBody(),
    });
    expect([reply.status, reply.body]).toEqual([401, { code: 'unauthorized', message }]);
  });

  test('a replaced token is unauthorized', async () => {
    await kit.control('PUT', `merchants/${ARGENTINA}/token`, { access_token: 'APP_USR-new' });
    expect((await create(orderBody())).status).toBe(401);
  });

  test.each([[undefined], ['']])('key %j', async (key) => {
    const reply = await kit.call('POST', '/v1/orders', { body: orderBody(), ...(key !== undefined && { key }) });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'empty_required_header']);
  });

  test.each([
    ['documented', 'forbidden_checking_terminal_owner'],
    ['live', 'forbidden_checking_device_owner'],
  ])('a terminal of nobody, %s spelling', async (error_codes, code) => {
    await kit.control('PUT', 'settings', { error_codes });
    const reply = await create(orderBody(config({ terminal_id: 'PAX_A910__NOBODY1' })));
    expect([reply.status, codeOf(reply)]).toEqual([403, code]);
  });

  test.each([
    ['documented', 'already_queued_order_for_terminal'],
    ['live', 'already_queued_order_on_terminal'],
  ])('a terminal with an order, %s spelling', async (error_codes, code) => {
    await kit.control('PUT', 'settings', { error_codes });
    await kit.order();
    const reply = await create(orderBody());
    expect([reply.status, codeOf(reply)]).toEqual([409, code]);
  });

  test('equal terminal ids of two merchants do not meet', async () => {
    await kit.order();
    expect((await create(orderBody(), 'k1', BRAZIL)).status).toBe(201);
  });

  test('a reference is used once, unless the setting says otherwise', async () => {
    await create(orderBody());
    await kit.atTerminal('pay');
    const again = await create(orderBody(), 'k2');
    expect([again.status, codeOf(again), again.body.errors[0].details]).toEqual([
      400,
      'property_value',
      ['external_reference'],
    ]);
    await kit.control('PUT', 'settings', { reference_unique: 'among_live' });
    expect((await create(orderBody(), 'k3')).status).toBe(201);
    expect(codeOf(await create(orderBody(config({ terminal_id: PAX_TERMINAL })), 'k4'))).toBe('property_value');
    await kit.control('PUT', 'settings', { reference_unique: 'not_checked' });
    expect((await create(orderBody(config({ terminal_id: PAX_TERMINAL })), 'k5')).status).toBe(201);
  });

  test.each([
    [400, 'unsupported_site'],
    [400, 'seller_configuration'],
    [404, 'pos_not_found'],
    [404, 'marketplace_fee_not_allowed'],
    [500, 'internal_error'],
    [500, 'idempotency_validation_failed'],
  ])('%i %s on demand', async (status, code) => {
    await kit.control('POST', 'faults', { method: 'POST', path: '/v1/orders', kind: 'error', status, code });
    const reply = await create(orderBody());
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
    expect((await create(orderBody())).status).toBe(201);
  });
});

describe('success', () => {
  test('the answer has the documented shape', async () => {
    const reply = await create(
      orderBody({
        description: 'Table 4',
        expiration_time: 'PT1H30M',
        ...payments('150'),
        ...config(
          { ticket_number: 'T1', print_on_terminal: 'no_ticket' },
          { default_type: 'credit_card', default_installments: 3 },
        ),
        integration_data: { platform_id: 'dev_1', integrator_id: 'i', sponsor: { id: '445566' } },
      }),
    );
    const created_date = new Date(kit.sandbox.world.clock.now()).toISOString();
    expect(reply.status).toBe(201);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^ORD[0-9A-HJKMNP-TV-Z]{26}$/),
      type: 'point',
      user_id: ARGENTINA,
      external_reference: 'sale-0',
      description: 'Table 4',
      expiration_time: 'PT1H30M',
      processing_mode: 'automatic',
      country_code: 'ARG',
      currency: 'ARS',
      integration_data: {
        application_id: '4004001',
        platform_id: 'dev_1',
        integrator_id: 'i',
        sponsor: { id: '445566' },
      },
      status: 'created',
      status_detail: 'created',
      created_date,
      last_updated_date: created_date,
      config: {
        point: { terminal_id: VIRTUAL_TERMINAL, print_on_terminal: 'no_ticket', ticket_number: 'T1' },
        payment_method: { default_type: 'credit_card', default_installments: 3 },
      },
      transactions: {
        payments: [{ id: expect.stringMatching(/^PAY[0-9A-HJKMNP-TV-Z]{26}$/), amount: '150.00', status: 'created' }],
      },
    });
  });

  test('what was not sent has its default', async () => {
    const { body } = await create(orderBody(), 'k1', MEXICO);
    expect([body.country_code, body.currency, body.expiration_time]).toEqual(['MEX', 'MXN', 'PT15M']);
    expect(body.config).toEqual({ point: { terminal_id: VIRTUAL_TERMINAL, print_on_terminal: 'seller_ticket' } });
  });

  test('settings change the form of ids, country and dates', async () => {
    await kit.control('PUT', 'settings', { order_ids: 'ORDTST', country_code: 'alpha2', date_fraction_digits: 9 });
    const { body } = await create(orderBody(), 'k1', BRAZIL);
    expect(body.id).toMatch(/^ORDTST[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(body.country_code).toBe('BR');
    expect(body.created_date).toMatch(/T\d\d:\d\d:\d\d\.\d{9}Z$/);
    expect((await kit.call('GET', `/v1/orders/${body.id}`, { merchant: BRAZIL })).status).toBe(200);
  });

  test('a STANDALONE terminal takes the order and never shows it', async () => {
    await kit.order(config({ terminal_id: STANDALONE_TERMINAL }));
    await expect(kit.atTerminal('pick_up', {}, STANDALONE_TERMINAL)).rejects.toThrow('not in PDV mode');
  });
});

describe('idempotency', () => {
  test('another body under the same key is refused', async () => {
    await create(orderBody());
    const reply = await create(orderBody({ description: 'other' }));
    expect([reply.status, codeOf(reply)]).toEqual([409, 'idempotency_key_already_used']);
  });

  test('V1: the saved answer comes back byte for byte, even when the order has moved on', async () => {
    const first = await create(orderBody());
    await kit.atTerminal('pay');
    const again = await create(orderBody());
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(kit.sandbox.world.orders.size).toBe(1);
  });

  test('a replay may answer 200', async () => {
    await kit.control('PUT', 'settings', { replay_status: 200 });
    expect((await create(orderBody())).status).toBe(201);
    expect((await create(orderBody())).status).toBe(200);
  });

  test('V2: the current order comes back', async () => {
    await kit.control('PUT', 'settings', { replay: 'current' });
    const first = await create(orderBody());
    await kit.atTerminal('pay');
    const again = await create(orderBody());
    expect([again.status, again.body.id, again.body.status]).toEqual([201, first.body.id, 'processed']);
  });

  test('V3: even the same body conflicts', async () => {
    await kit.control('PUT', 'settings', { replay: 'conflict' });
    await create(orderBody());
    expect(codeOf(await create(orderBody()))).toBe('idempotency_key_already_used');
  });

  test.each([['before'], ['after']])('V4: a 500 %s the effect is replayed for ever', async (when) => {
    await kit.control('PUT', 'settings', { replay: 'saved_500' });
    await kit.control('POST', 'faults', { method: 'POST', path: '/v1/orders', kind: 'error', status: 500, when });
    for (let attempt = 0; attempt < 3; attempt++) {
      const reply = await create(orderBody());
      expect([reply.status, codeOf(reply)]).toEqual([500, 'internal_error']);
    }
    expect(kit.sandbox.world.orders.size).toBe(when === 'after' ? 1 : 0);
  });

  test('a 500 after the effect heals on replay unless it is saved', async () => {
    await kit.control('POST', 'faults', { path: '/v1/orders', kind: 'error', status: 500, when: 'after' });
    expect((await create(orderBody())).status).toBe(500);
    expect((await create(orderBody())).status).toBe(201);
    expect(kit.sandbox.world.orders.size).toBe(1);
  });

  test('V5: the key is forgotten early, and a second order is made', async () => {
    await kit.control('PUT', 'settings', {
      replay: 'forgets',
      replay_forget_after_minutes: 2,
      reference_unique: 'not_checked',
    });
    const first = await create(orderBody());
    await kit.atTerminal('pay');
    await kit.control('POST', 'clock', { advance_ms: 119_999 });
    expect((await create(orderBody())).body.id).toBe(first.body.id);
    await kit.control('POST', 'clock', { advance_ms: 1 });
    expect((await create(orderBody())).body.id).not.toBe(first.body.id);
  });

  test('a key is remembered for 24 hours and then forgotten', async () => {
    await kit.control('PUT', 'settings', { reference_unique: 'not_checked' });
    const first = await create(orderBody());
    await kit.control('POST', 'clock', { advance_ms: 24 * 3_600_000 - 1 });
    expect((await create(orderBody())).body.id).toBe(first.body.id);
    await kit.control('POST', 'clock', { advance_ms: 1 });
    expect((await create(orderBody())).body.id).not.toBe(first.body.id);
  });

  test('keys belong to their merchant', async () => {
    const first = await create(orderBody());
    const other = await create(orderBody(), 'k1', BRAZIL);
    expect([other.status, other.body.id === first.body.id]).toEqual([201, false]);
  });

  test('the queue may be checked before the key', async () => {
    await create(orderBody());
    await kit.control('PUT', 'settings', { key_check: 'after_queue' });
    expect(codeOf(await create(orderBody()))).toBe('already_queued_order_for_terminal');
  });

  test.each([
    [false, 201],
    [true, 409],
  ])(
    'with remember_refusals %s a refused create answers %i once the way is free',
    async (remember_refusals, status) => {
      await kit.control('PUT', 'settings', { remember_refusals });
      await kit.order();
      expect((await create(orderBody())).status).toBe(409);
      await kit.atTerminal('cancel');
      expect((await create(orderBody())).status).toBe(status);
    },
  );
});
