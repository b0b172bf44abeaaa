/** Tills of the sandbox: create, list, read, change, delete, and every refusal. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, type CallOptions, type Kit, openKit } from './kit.ts';
import { configure } from './payment-kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const whole = {
  name: 'Till 9',
  fixed_amount: true,
  category: 621102,
  store_id: 10_001,
  external_store_id: 'SUC001',
  external_id: 'SUC001POS009',
};
const create = (body: unknown = whole, options: CallOptions = {}) => kit.call('POST', '/pos', { body, ...options });
const list = async (query = '') => (await kit.call('GET', `/pos${query}`)).body;
const read = (id: number) => kit.call('GET', `/pos/${id}`);

describe('refusals', () => {
  test.each([
    [{}, 'MISSING_BODY'],
    [{ ...whole, colour: 'blue' }, 'UNKNOWN_FIELD_EXCEPTION'],
    [{ ...whole, name: 5 }, 'INVALID_NAME'],
    [{ store_id: 10_001 }, 'INVALID_NAME'],
    [{ ...whole, name: 'x'.repeat(46) }, 'NAME_TOO_LONG'],
    [{ ...whole, fixed_amount: 'yes' }, 'INVALID_FIXED_AMOUNT'],
    [{ ...whole, category: 'food' }, 'INVALID_CATEGORY'],
    [{ ...whole, store_id: 'one' }, 'POS_INVALID_STORE_ID'],
    [{ ...whole, store_id: 20_001 }, 'POS_INVALID_STORE_ID'],
    [{ name: 'Till 9' }, 'POS_INVALID_STORE_ID'],
    [{ ...whole, external_store_id: 5 }, 'INVALID_EXTERNAL_STORE_ID'],
    [{ ...whole, external_store_id: 'SUC999' }, 'INEXISTENT_EXTERNAL_STORE_ID'],
    [{ ...whole, external_store_id: 'SUC002' }, 'EXTERNAL_STORE_ID_NOT_MATCH'],
    [{ ...whole, external_id: 'POS-009' }, 'INVALID_EXTERNAL_ID'],
    [{ ...whole, external_id: 'x'.repeat(41) }, 'EXTERNAL_ID_TOO_LONG'],
    [{ ...whole, url: 'nowhere' }, 'INVALID_URL'],
    [{ ...whole, url: `https://shop.test/${'x'.repeat(300)}` }, 'URL_TOO_LONG'],
    [{ ...whole, url: 'https://shop.test/', fixed_amount: false }, 'FIXED_AMOUNT_FALSE'],
  ])('create with %j: 400 %s', async (body, error) => {
    const reply = await create(body);
    expect([reply.status, reply.body.error]).toEqual([400, error]);
    expect((await list()).paging.total).toBe(3);
  });

  test('an external id that another till has: 409', async () => {
    const reply = await create({ ...whole, external_id: 'SUC001POS001' });
    expect([reply.status, reply.body.error]).toEqual([409, 'point_of_sale_exists']);
  });

  test('an id that is no number: 400; an unknown till, and one of another merchant: 404', async () => {
    expect((await kit.call('GET', '/pos/SUC001POS001')).body.error).toBe('INVALID_POS_ID');
    expect((await read(1)).status).toBe(404);
    expect((await read(2_000_001)).status).toBe(404);
    expect((await kit.call('PUT', '/pos/1', { body: { name: 'New' } })).status).toBe(404);
    expect((await kit.call('DELETE', '/pos/1')).status).toBe(404);
  });

  test('without a token: 401', async () => {
    expect((await create(whole, { merchant: null })).status).toBe(401);
  });
});

describe('create', () => {
  test('answers with the whole till, which is then read alone', async () => {
    const reply = await create();
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        id: expect.any(Number),
        qr: {
          image: expect.stringContaining('https://'),
          template_document: expect.stringContaining('https://'),
          template_image: expect.stringContaining('https://'),
        },
        qr_code: expect.any(String),
        status: 'active',
        date_created: expect.stringMatching(/-04:00$/),
        date_last_updated: expect.stringMatching(/-04:00$/),
        uuid: expect.stringMatching(/^[0-9a-f]{32}$/),
        user_id: Number(ARGENTINA),
        name: 'Till 9',
        fixed_amount: true,
        category: 621102,
        store_id: '10001',
        external_store_id: 'SUC001',
        external_id: 'SUC001POS009',
        url: null,
      },
    ]);
    expect((await read(reply.body.id)).body).toEqual(reply.body);
  });

  test('without an external id: null', async () => {
    const { body } = await create({ name: 'Till 9', store_id: '10001' });
    expect(body.external_id).toBeNull();
    expect((await read(body.id)).body.external_id).toBeNull();
  });

  test('the store may be named by its external id alone', async () => {
    expect((await create({ name: 'Till 9', external_store_id: 'SUC002' })).body.store_id).toBe('10002');
  });

  test('a new till takes QR orders', async () => {
    await create();
    const reply = await kit.call('POST', `/mpmobile/instore/qr/${ARGENTINA}/SUC001POS009`, {
      body: { external_reference: 'A', items: [{ title: 'Tea', currency_id: 'ARS', unit_price: 100, quantity: 1 }] },
    });
    expect(reply.status).toBe(200);
  });

  test('setting store_create_status 201', async () => {
    await configure(kit, { store_create_status: 201 });
    expect((await create()).status).toBe(201);
  });
});

describe('list', () => {
  test.each([
    ['?external_id=SUC001POS002', [1_000_002]],
    ['?store_id=10001', [1_000_001, 1_000_002]],
    ['?store_id=10001&external_id=SUC002POS001', []],
    ['?external_store_id=SUC002', [1_000_003]],
    ['?limit=1&offset=1', [1_000_002]],
    ['?external_id=', [1_000_001, 1_000_002, 1_000_003]],
  ])('%s', async (query, ids) => {
    expect((await list(query)).results.map(({ id }: { id: number }) => id)).toEqual(ids);
  });

  test('paging counts own tills only', async () => {
    expect((await list()).paging).toEqual({ total: 3, limit: 50, offset: 0 });
  });

  test.each([
    ['?limit=x', 'INVALID_LIMIT'],
    ['?offset=x', 'INVALID_OFFSET'],
    ['?store_id=SUC001', 'INVALID_STORE_ID'],
  ])('%s: 400 %s', async (query, error) => {
    expect((await list(query)).error).toBe(error);
  });
});

describe('change and delete', () => {
  test('PUT changes what it names; the uuid stays', async () => {
    const before = (await read(1_000_001)).body;
    const reply = await kit.call('PUT', '/pos/1000001', { body: { name: 'First', category: 5812 } });
    expect([reply.status, reply.body]).toEqual([200, { ...before, name: 'First', category: 5812 }]);
  });

  test('PUT moves a till to another store, and takes its external id away', async () => {
    const body = { store_id: '10002', external_id: null };
    const reply = await kit.call('PUT', '/pos/1000001', { body });
    expect([reply.body.store_id, reply.body.external_store_id, reply.body.external_id]).toEqual([
      '10002',
      'SUC002',
      null,
    ]);
  });

  test('a refused PUT changes nothing', async () => {
    const before = (await read(1_000_001)).body;
    const reply = await kit.call('PUT', '/pos/1000001', { body: { name: 'First', external_id: 'SUC001POS002' } });
    expect(reply.status).toBe(409);
    expect((await read(1_000_001)).body).toEqual(before);
  });

  test('DELETE: 204, it is gone, and its terminal has no till', async () => {
    expect((await kit.call('DELETE', '/pos/1000002')).status).toBe(204);
    expect((await read(1_000_002)).status).toBe(404);
    const { terminals } = (await kit.call('GET', '/terminals/v1/list')).body.data;
    const left = terminals.find(({ id }: { id: string }) => id === 'NEWLAND_N950__SBX0000001');
    expect(left.pos_id).toBe(0);
  });

  test('another merchant keeps its till of the same name', async () => {
    await kit.call('DELETE', '/pos/1000001');
    const { body } = await kit.call('GET', '/pos?external_id=SUC001POS001', { merchant: BRAZIL });
    expect(body.results).toHaveLength(1);
  });
});
