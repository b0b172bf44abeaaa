/** Rows of the specification about terminals and invoices that no other suite shows. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ARGENTINA, type Kit, openKit, PAX_TERMINAL, VIRTUAL_TERMINAL } from './kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

interface Listed {
  id: string;
  operating_mode: string;
}
const list = async (): Promise<Listed[]> => (await kit.call('GET', '/terminals/v1/list')).body.data.terminals;

describe('terminals', () => {
  test('the list shows every operating mode, UNDEFINED as well', async () => {
    await kit.control('PUT', `terminals/${ARGENTINA}/${PAX_TERMINAL}`, { operating_mode: 'UNDEFINED' });
    expect((await list()).map(({ operating_mode }) => operating_mode)).toEqual(['UNDEFINED', 'PDV', 'STANDALONE']);
  });

  test('an id is the type of the terminal and its serial, and an order names it', async () => {
    for (const { id } of await list()) expect(id).toMatch(/^[A-Z]+_[A-Z0-9]+__[A-Z0-9]+$/);
    const { body } = await kit.createOrder();
    expect(body.config.point.terminal_id).toBe(VIRTUAL_TERMINAL);
  });

  test.each([
    ['GET', '/terminals/v1/list', undefined],
    ['PATCH', '/terminals/v1/setup', { terminals: [{ id: VIRTUAL_TERMINAL, operating_mode: 'PDV' }] }],
  ])('%s %s: an unknown token is 401 unauthorized, one in the query is none', async (method, path, body) => {
    const headers = { authorization: 'Bearer APP_USR-unknown' };
    const stranger = await kit.call(method, path, { merchant: null, body, headers });
    expect([stranger.status, stranger.body.code]).toEqual([401, 'unauthorized']);
    const token = kit.sandbox.world.merchants.get(ARGENTINA)?.access_token;
    const inQuery = await kit.call(method, `${path}?access_token=${token}`, { merchant: null, body });
    expect([inQuery.status, inQuery.body.code]).toEqual([401, 'unauthorized']);
  });
});

describe('invoices', () => {
  test('another attempt moves last_modified, and date_created stays', async () => {
    const attempt = { id: 61, status: 'recycling', retry_attempt: 1, payment: { status: 'rejected' } };
    const first = (await kit.control('POST', `invoices/${ARGENTINA}`, attempt)).body;
    await kit.control('POST', 'clock', { advance_ms: 3_600_000 });
    const second = { ...attempt, status: 'processed', retry_attempt: 2, payment: { status: 'approved' } };
    await kit.control('POST', `invoices/${ARGENTINA}`, second);
    const { body } = await kit.call('GET', '/authorized_payments/61');
    expect([body.retry_attempt, body.status, body.payment.status]).toEqual([2, 'processed', 'approved']);
    expect(body.date_created).toBe(first.date_created);
    expect(Date.parse(body.last_modified) - Date.parse(first.last_modified)).toBe(3_600_000);
  });
});
