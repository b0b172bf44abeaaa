/** `GET /v1/payments/search` of the sandbox: filters, ranges, sorting, paging. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseMoment } from '../../src/sandbox/dates.ts';
import { ARGENTINA, BRAZIL, type Kit, openKit, tokenOf } from './kit.ts';
import { advance, configure, DAY_MS, payIntent, payOrder, payQr } from './payment-kit.ts';

let kit: Kit;
let first: number;
let second: number;
let third: number;
beforeAll(async () => {
  kit = await openKit();
});
/** A rejected payment two days ago, an approved one by QR an hour ago, and one now. */
beforeEach(async () => {
  await kit.control('POST', 'reset');
  first = await payIntent(kit, 15_000, 'TICKET 1', 'decline');
  await advance(kit, 2 * DAY_MS - 3_600_000);
  second = await payQr(kit, 120.5, ARGENTINA, 'INV 0001 Ñandú');
  await advance(kit, 3_600_000);
  third = await payIntent(kit, 20_000, 'TICKET 3');
});
afterAll(() => kit.close());

const search = (query = '', options: object = {}) => kit.call('GET', `/v1/payments/search${query}`, options);
const idsOf = async (query: string) => (await search(query)).body.results.map(({ id }: { id: number }) => id);
const day = (offset_ms: number) => new Date(kit.sandbox.world.clock.now() + offset_ms).toISOString();

describe('refusals', () => {
  test.each([
    ['?limit=ten'],
    ['?offset=-1'],
    ['?sort=amount'],
    ['?criteria=up'],
    ['?range=date_paid'],
    ['?begin_date=yesterday'],
    ['?end_date=NOW-3WEEKS'],
    ['?begin_date=2026-13-01'],
  ])('%s: 400', async (query) => {
    const { status, body } = await search(query);
    expect([status, body.error, body.cause[0].code]).toEqual([400, 'bad_request', 1]);
  });

  test('without a token: 401', async () => {
    expect((await search('', { merchant: null })).status).toBe(401);
  });
});

describe('filters', () => {
  test('external_reference, byte for byte', async () => {
    expect(await idsOf(`?external_reference=${encodeURIComponent('INV 0001 Ñandú')}`)).toEqual([second]);
    expect(await idsOf('?external_reference=INV+0001')).toEqual([]);
  });

  test('status', async () => {
    expect(await idsOf('?status=rejected')).toEqual([first]);
    expect(await idsOf('?status=approved')).toEqual([third, second]);
  });

  test('id', async () => {
    expect(await idsOf(`?id=${second}`)).toEqual([second]);
  });

  test('store_id and pos_id', async () => {
    expect(await idsOf('?store_id=10001')).toEqual([third, second, first]);
    expect(await idsOf('?store_id=10001&pos_id=1000001')).toEqual([second]);
    expect(await idsOf('?store_id=10002')).toEqual([]);
  });

  test('an empty filter is none, and an unknown one changes nothing', async () => {
    expect(await idsOf('?status=&colour=blue')).toHaveLength(3);
    expect(await idsOf('?')).toHaveLength(3);
  });

  test('only payments of the caller', async () => {
    expect((await search('', { merchant: BRAZIL })).body).toEqual({
      paging: { total: 0, limit: 30, offset: 0 },
      results: [],
    });
  });

  test('a token in the query is no filter', async () => {
    const reply = await search(`?access_token=${tokenOf(ARGENTINA)}&status=rejected`, { merchant: null });
    expect(reply.body.results).toHaveLength(1);
  });

  test('setting order_payments hidden leaves payments of orders out', async () => {
    const { payment } = await payOrder(kit);
    expect(await idsOf('')).toContain(payment);
    await configure(kit, { order_payments: 'hidden' });
    expect(await idsOf('')).not.toContain(payment);
  });
});

describe('ranges', () => {
  test.each([
    ['NOW-30DAYS', 'NOW', 3],
    ['NOW-1DAY', 'NOW', 2],
    ['NOW-1HOUR', 'NOW', 2],
    ['NOW-59MINUTES', 'NOW', 1],
    ['NOW-1MONTH', 'NOW-1DAY', 1],
  ])('%s to %s', async (begin, end, count) => {
    expect(await idsOf(`?range=date_created&begin_date=${begin}&end_date=${end}`)).toHaveLength(count);
  });

  test('ISO dates with a zone, both ends included', async () => {
    expect(await idsOf(`?begin_date=${day(-3_600_000)}&end_date=${day(0)}`)).toEqual([third, second]);
    expect(await idsOf(`?end_date=${day(-3_600_000 - 1)}`)).toEqual([first]);
  });

  test('a payment that was never approved is in no range of date_approved', async () => {
    expect(await idsOf('?range=date_approved&begin_date=NOW-30DAYS')).toEqual([third, second]);
  });
});

describe('sorting and paging', () => {
  test('newest first when nothing is said', async () => {
    expect(await idsOf('')).toEqual([third, second, first]);
  });

  test.each(['date_created', 'date_approved', 'date_last_updated', 'id'])('sort=%s, both ways', async (sort) => {
    expect(await idsOf(`?sort=${sort}&criteria=asc`)).toEqual([first, second, third]);
    expect(await idsOf(`?sort=${sort}&criteria=desc`)).toEqual([third, second, first]);
  });

  test('a refund moves a payment by date_last_updated', async () => {
    await advance(kit, 1000);
    await kit.call('POST', `/v1/payments/${second}/refunds`);
    expect(await idsOf('?sort=date_last_updated&criteria=desc&limit=1')).toEqual([second]);
  });

  test('limit and offset, with the total of all', async () => {
    const { body } = await search('?criteria=asc&limit=1&offset=1');
    expect(body.paging).toEqual({ total: 3, limit: 1, offset: 1 });
    expect(body.results[0].id).toBe(second);
  });

  test('a result is the payment as it is read alone', async () => {
    const { body } = await search(`?id=${second}`);
    expect(body.results[0]).toEqual((await kit.call('GET', `/v1/payments/${second}`)).body);
  });

  test('a larger page than the largest is cut, and says so', async () => {
    expect((await search('?limit=5000')).body.paging.limit).toBe(1000);
  });
});

describe('moments', () => {
  const now_ms = Date.UTC(2026, 2, 31, 12);
  test.each([
    ['NOW', '2026-03-31T12:00:00.000Z'],
    ['NOW-30DAYS', '2026-03-01T12:00:00.000Z'],
    ['NOW-1DAY+1HOUR', '2026-03-30T13:00:00.000Z'],
    ['NOW 1HOUR', '2026-03-31T13:00:00.000Z'],
    ['NOW-2YEARS', '2024-03-31T12:00:00.000Z'],
    ['NOW-90SECONDS', '2026-03-31T11:58:30.000Z'],
    ['2026-01-05T10:00:00.000-04:00', '2026-01-05T14:00:00.000Z'],
    ['2026-01-05T10:00:00.000 03:00', '2026-01-05T07:00:00.000Z'],
    ['2026-01-05T10:00:00-0300', '2026-01-05T13:00:00.000Z'],
    ['2026-01-05T10:00', '2026-01-05T10:00:00.000Z'],
    ['2026-01-05', '2026-01-05T00:00:00.000Z'],
  ])('%s', (text, iso) => {
    expect(new Date(parseMoment(text, now_ms) ?? 0).toISOString()).toBe(iso);
  });

  test.each(['', 'now', 'NOW-', 'NOW-DAYS', 'NOW-1', '05/01/2026', '2026-02-30T99:00:00Z'])('%j is none', (text) => {
    expect(parseMoment(text, now_ms)).toBeNull();
  });
});

describe('the paths of the oldest SDKs', () => {
  test.each(['', '/sandbox'])('%s/collections: the search, and one payment by both paths', async (prefix) => {
    const found = await kit.call('GET', `${prefix}/collections/search?status=approved`);
    expect(found.body.paging).toEqual({ total: 2, limit: 30, offset: 0 });
    const [newest] = found.body.results;
    expect(newest.collection).toMatchObject({
      id: third,
      status: 'approved',
      site_id: 'MLA',
      payment_type: expect.any(String),
    });
    for (const path of ['notifications/', '']) {
      expect((await kit.call('GET', `${prefix}/collections/${path}${third}`)).body).toEqual(newest);
    }
    expect((await kit.call('GET', `${prefix}/collections/9`)).status).toBe(404);
  });

  test('the merchant order of a QR payment is a number there', async () => {
    const { merchant_order_id, order, order_id } = (await kit.call('GET', `/collections/${second}`)).body.collection;
    expect([order_id, String(merchant_order_id)]).toEqual([order.id, order.id]);
  });
});
