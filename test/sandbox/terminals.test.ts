/** `/terminals/v1` of the sandbox: list, paging, and every documented refusal of setup. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  ARGENTINA,
  BRAZIL,
  codeOf,
  type Kit,
  MEXICO,
  openKit,
  PAX_TERMINAL,
  STANDALONE_TERMINAL,
  URUGUAY,
  VIRTUAL_TERMINAL,
} from './kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const setup = (body: unknown, merchant = ARGENTINA) => kit.call('PATCH', '/terminals/v1/setup', { body, merchant });
const list = (query = '') => kit.call('GET', `/terminals/v1/list${query}`);
const idsOf = async (query = '') => (await list(query)).body.data.terminals.map(({ id }: { id: string }) => id);
const one = (changes: object = {}) => ({
  terminals: [{ id: VIRTUAL_TERMINAL, operating_mode: 'STANDALONE', ...changes }],
});

describe('list', () => {
  test.each([
    [null, {}],
    [null, { authorization: 'Bearer TEST-unknown' }],
    [null, { authorization: 'Basic x' }],
  ])('merchant %s with %j is 401', async (merchant, headers) => {
    const reply = await kit.call('GET', '/terminals/v1/list', { merchant, headers });
    expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
  });

  test('internal_error on demand', async () => {
    await kit.control('POST', 'faults', { path: '/terminals/v1/list', kind: 'error' });
    const reply = await list();
    expect([reply.status, codeOf(reply)]).toEqual([500, 'internal_error']);
  });

  test('the cast', async () => {
    const { body } = await list();
    expect(body.paging).toEqual({ total: 3, offset: 0, limit: 50 });
    expect(body.data.terminals).toEqual([
      { id: PAX_TERMINAL, pos_id: 1000001, store_id: '10001', external_pos_id: 'SUC001POS001', operating_mode: 'PDV' },
      {
        id: VIRTUAL_TERMINAL,
        pos_id: 1000002,
        store_id: '10001',
        external_pos_id: 'SUC001POS002',
        operating_mode: 'PDV',
      },
      {
        id: STANDALONE_TERMINAL,
        pos_id: 1000003,
        store_id: '10002',
        external_pos_id: 'SUC002POS001',
        operating_mode: 'STANDALONE',
      },
    ]);
  });

  test('filters, and pages clamped to 1..50', async () => {
    expect(await idsOf('?store_id=10002')).toEqual([STANDALONE_TERMINAL]);
    expect(await idsOf('?pos_id=1000002')).toEqual([VIRTUAL_TERMINAL]);
    expect(await idsOf('?store_id=10001&pos_id=1000003')).toEqual([]);
    expect(await idsOf('?limit=1&offset=1')).toEqual([VIRTUAL_TERMINAL]);
    expect((await list('?limit=99&offset=2')).body.paging).toEqual({ total: 3, offset: 2, limit: 50 });
    expect((await list('?limit=0')).body.paging.limit).toBe(1);
    expect((await list('?limit=x&offset=-1')).body.paging).toEqual({ total: 3, offset: 0, limit: 50 });
  });
});

describe('setup', () => {
  test('401 without a token', async () => {
    const reply = await kit.call('PATCH', '/terminals/v1/setup', { merchant: null, body: one() });
    expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
  });

  test.each([
    ['{"terminals"', 'invalid_payload'],
    ['', 'invalid_payload'],
    [[], 'invalid_payload'],
    [{ terminals: [] }, 'invalid_payload'],
    [{ terminals: {} }, 'invalid_payload'],
    [{ terminals: ['x'] }, 'invalid_payload'],
    [{ terminals: [...one().terminals, ...one().terminals] }, 'invalid_payload'],
    [{}, 'required_properties'],
    [{ terminals: [{ id: VIRTUAL_TERMINAL }] }, 'required_properties'],
    [{ terminals: [{ operating_mode: 'PDV' }] }, 'required_properties'],
    [{ ...one(), mode: 'PDV' }, 'unsupported_properties'],
    [one({ pos_id: 1 }), 'unsupported_properties'],
    [one({ operating_mode: 'UNDEFINED' }), 'property_value'],
    [one({ operating_mode: 'pdv' }), 'property_value'],
    [one({ id: 'a b' }), 'property_value'],
    [one({ id: 7 }), 'property_value'],
  ])('body %j', async (body, code) => {
    const reply = await setup(body);
    expect([reply.status, codeOf(reply)]).toEqual([400, code]);
  });

  test('unsupported_site: no terminals in Uruguay, so the list is empty', async () => {
    const reply = await setup(one(), URUGUAY);
    expect([reply.status, codeOf(reply)]).toEqual([400, 'unsupported_site']);
    const { status, body } = await kit.call('GET', '/terminals/v1/list', { merchant: URUGUAY });
    expect([status, body.data.terminals]).toEqual([200, []]);
  });

  test('an unknown terminal', async () => {
    const reply = await setup(one({ id: 'PAX_A910__NOBODY1' }));
    expect([reply.status, codeOf(reply)]).toEqual([404, 'not_found']);
  });

  test('a terminal without a point of sale', async () => {
    await kit.control('PUT', `terminals/${ARGENTINA}/${VIRTUAL_TERMINAL}`, { pos_id: null });
    const reply = await setup(one());
    expect([reply.status, codeOf(reply)]).toEqual([403, 'store_pos_not_found']);
    expect((await list()).body.data.terminals[1]).toMatchObject({ pos_id: 0, store_id: '', external_pos_id: '' });
  });

  test.each([
    [ARGENTINA, 1000003, 403],
    [BRAZIL, 2000003, 200],
    [MEXICO, 3000003, 403],
  ])('a GERTEC model at %s', async (merchant, pos_id, status) => {
    await kit.control('PUT', `terminals/${merchant}/GERTEC_MP35P__X1`, { pos_id });
    const reply = await setup(one({ id: 'GERTEC_MP35P__X1', operating_mode: 'PDV' }), merchant);
    expect(reply.status).toBe(status);
    if (status === 403) expect(codeOf(reply)).toBe('terminal_not_allowed_action');
  });

  test('a second terminal in PDV at one point of sale: 412 without a code', async () => {
    await kit.control('PUT', `terminals/${ARGENTINA}/${STANDALONE_TERMINAL}`, { pos_id: 1000002 });
    const reply = await setup(one({ id: STANDALONE_TERMINAL, operating_mode: 'PDV' }));
    expect([reply.status, reply.body]).toEqual([
      412,
      { errors: [{ message: 'Only one pos-store with PDV mode ON or SUSPENDED is allowed' }] },
    ]);
  });

  test.each([
    [400, 'unsupported_site'],
    [500, 'internal_error'],
  ])('%i %s on demand', async (status, code) => {
    await kit.control('POST', 'faults', { path: '/terminals/v1/setup', kind: 'error', status, code });
    const reply = await setup(one());
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
  });

  test('the mode changes, and back', async () => {
    for (const operating_mode of ['STANDALONE', 'PDV', 'PDV']) {
      const reply = await setup(one({ operating_mode }));
      expect([reply.status, reply.body]).toEqual([200, { terminals: [{ id: VIRTUAL_TERMINAL, operating_mode }] }]);
      expect((await list()).body.data.terminals[1].operating_mode).toBe(operating_mode);
    }
  });
});
