/** Stores of the sandbox: create, change, delete, search, read, and every refusal. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, BRAZIL, type CallOptions, type Kit, openKit } from './kit.ts';
import { configure } from './payment-kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const stores = `/users/${ARGENTINA}/stores`;
const whole = {
  name: 'Downtown',
  external_id: 'SUC003',
  business_hours: { monday: [{ open: '08:00', close: '12:00' }] },
  location: {
    street_number: '12',
    street_name: 'Long Street',
    city_name: 'Town',
    state_name: 'State',
    latitude: -32.8897322,
    longitude: -68.8443275,
    reference: 'By the bridge',
  },
};
const create = (body: unknown = whole, options: CallOptions = {}) => kit.call('POST', stores, { body, ...options });
const search = async (query = '') => (await kit.call('GET', `${stores}/search${query}`)).body;

describe('refusals', () => {
  test.each([
    [{}, 'MISSING_BODY'],
    [{ ...whole, colour: 'blue' }, 'UNKNOWN_FIELD'],
    [{ ...whole, name: 5 }, 'INVALID_NAME'],
    [{ ...whole, name: 'x'.repeat(46) }, 'NAME_TOO_LONG'],
    [{ ...whole, business_hours: [] }, 'INVALID_BUSINESS_HOURS'],
    [{ ...whole, business_hours: { someday: [] } }, 'INVALID_DAY'],
    [{ ...whole, external_id: 'SUC-003' }, 'INVALID_EXTERNAL_ID'],
    [{ ...whole, external_id: 'x'.repeat(61) }, 'EXTERNAL_ID_TOO_LONG'],
    [{ ...whole, location: 'here' }, 'INVALID_LOCATION'],
    [{ name: 'Downtown' }, 'VALIDATION_ERROR'],
    [{ location: {} }, 'VALIDATION_ERROR'],
    [{ ...whole, external_id: 'SUC001' }, 'VALIDATION_ERROR'],
    ['{"name":', 'bad_request'],
  ])('create with %j: 400 %s', async (body, error) => {
    const reply = await create(body);
    expect([reply.status, reply.body.error]).toEqual([400, error]);
    expect((await search()).paging.total).toBe(2);
  });

  test('a user id that is no number: 400; one that is not the token owner: 403', async () => {
    const named = await kit.call('POST', '/users/me/stores', { body: whole });
    expect([named.status, named.body.error]).toEqual([400, 'INVALID_USER_ID']);
    const foreign = await create(whole, { merchant: BRAZIL });
    expect([foreign.status, foreign.body.error]).toEqual([403, 'forbidden']);
    expect((await kit.call('GET', `${stores}/search`, { merchant: BRAZIL })).status).toBe(403);
  });

  test('an unknown store, and a store of another merchant: 404', async () => {
    expect((await kit.call('GET', '/stores/1')).status).toBe(404);
    expect((await kit.call('GET', '/stores/20001')).status).toBe(404);
    expect((await kit.call('PUT', `${stores}/1`, { body: { name: 'New' } })).status).toBe(404);
    expect((await kit.call('DELETE', `${stores}/1`)).status).toBe(404);
  });

  test('without a token: 401', async () => {
    expect((await create(whole, { merchant: null })).status).toBe(401);
  });

  test('a store with tills is not deleted', async () => {
    const reply = await kit.call('DELETE', `${stores}/10001`);
    expect([reply.status, reply.body.error]).toEqual([400, 'VALIDATION_ERROR']);
    expect((await kit.call('GET', '/stores/10001')).status).toBe(200);
  });
});

describe('create', () => {
  test('answers with the whole store, which is then read alone', async () => {
    const reply = await create();
    expect([reply.status, reply.body]).toEqual([
      200,
      {
        id: expect.any(Number),
        name: 'Downtown',
        date_creation: expect.stringMatching(/-04:00$/),
        business_hours: whole.business_hours,
        location: {
          address_line: 'Long Street 12, Town, State',
          reference: 'By the bridge',
          latitude: -32.8897322,
          longitude: -68.8443275,
        },
        external_id: 'SUC003',
      },
    ]);
    expect((await kit.call('GET', `/stores/${reply.body.id}`)).body).toEqual(reply.body);
  });

  test('without an external id: null, as often as wanted', async () => {
    const { external_id, ...nameless } = whole;
    expect(external_id).toBe('SUC003');
    for (let count = 0; count < 2; count++) expect((await create(nameless)).body.external_id).toBeNull();
  });

  test('setting store_create_status 201', async () => {
    await configure(kit, { store_create_status: 201 });
    expect((await create()).status).toBe(201);
  });
});

describe('change and delete', () => {
  test('PUT changes what it names', async () => {
    const { body } = await create();
    const reply = await kit.call('PUT', `${stores}/${body.id}`, { body: { name: 'Uptown' } });
    expect([reply.status, reply.body]).toEqual([200, { ...body, name: 'Uptown' }]);
  });

  test('a store of the cast can be renamed', async () => {
    await kit.call('PUT', `${stores}/10002`, { body: { external_id: 'SUC009' } });
    expect((await search('?external_id=SUC009')).results[0].id).toBe(10_002);
    expect((await search('?external_id=SUC002')).results).toEqual([]);
  });

  test('DELETE: 204, and it is gone', async () => {
    const { body } = await create();
    const reply = await kit.call('DELETE', `${stores}/${body.id}`);
    expect([reply.status, reply.text]).toEqual([204, '']);
    expect((await kit.call('GET', `/stores/${body.id}`)).status).toBe(404);
  });
});

describe('search', () => {
  test('own stores only, paged', async () => {
    const { paging, results } = await search('?limit=1&offset=1');
    expect(paging).toEqual({ total: 2, limit: 1, offset: 1 });
    expect(results.map(({ id }: { id: number }) => id)).toEqual([10_002]);
  });

  test('by external_id', async () => {
    expect((await search('?external_id=SUC001')).results[0]).toMatchObject({ id: 10_001, external_id: 'SUC001' });
    expect((await search('?external_id=SUC999')).results).toEqual([]);
  });

  test.each([
    ['?limit=x', 'INVALID_LIMIT'],
    ['?offset=x', 'INVALID_OFFSET'],
  ])('%s: 400 %s', async (query, error) => {
    expect((await search(query)).error).toBe(error);
  });
});
