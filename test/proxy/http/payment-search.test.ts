/** The search that tills poll: one list of legacy's and Puente's results (`docs/field-notes.md` QR finding 18, §3). */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, BRAZIL, call, eventually, tokenOf } from '../../kit.ts';
import { freshReference, openPayments, payment, refund, search, sellAtTerminal, sellByQr } from './payment-sale.ts';
import { preference, preferencePath, type QrShop } from './qr-till.ts';
import { legacyErrorOf } from './till.ts';

const SEARCH = '/v1/payments/search';
const STEP_MS = 60_000;
const NEWEST_FIRST = { sort: 'date_created', criteria: 'desc' };

describe('a till that polls', () => {
  let shop: QrShop;
  beforeAll(async () => {
    shop = await openPayments({ PUENTE_READS_SEARCH_FRESH_MS: String(STEP_MS) });
  });
  afterAll(() => shop.close());

  it('costs no call for each poll, and sees the payment as soon as it was announced', async () => {
    const reference = freshReference();
    const till = shop.freshTill().external_id;
    await shop.till(preferencePath(till), { body: preference({ external_reference: reference }) });
    const before = (await shop.requests('/v1/')).length;
    for (let poll = 0; poll < 20; poll++) {
      const { paging, results } = await search(shop, { external_reference: reference, ...NEWEST_FIRST });
      expect([paging.total, results]).toEqual([0, []]);
    }
    const asked = (await shop.requests('/v1/')).slice(before).map((one) => one.path.split('?')[0]);
    // Once each within reads.search_fresh_ms: the search, and the order, which the create has just read.
    expect(asked.filter((path) => path === SEARCH)).toHaveLength(1);
    expect(asked.length).toBeLessThanOrEqual(2);
    await shop.buyer(till, 'pay');
    const found = await eventually(
      () => search(shop, { external_reference: reference, ...NEWEST_FIRST }),
      ({ results }) => results.length > 0,
    );
    expect(found.paging).toMatchObject({ total: 1, offset: 0 });
    expect(found.results[0]).toMatchObject({ status: 'approved', external_reference: reference });
  });

  it('costs no call for each poll either when each asks up to another moment', async () => {
    const reference = freshReference();
    const before = (await shop.requests(SEARCH)).length;
    // All polls are in one step of the cache, however long the test takes.
    const step_at = Math.ceil(Date.now() / STEP_MS + 1) * STEP_MS;
    const ends = Array.from({ length: 20 }, (_none, poll) => new Date(step_at + poll * 1000).toISOString());
    for (const end_date of ends) {
      const query = { external_reference: reference, range: 'date_created', begin_date: 'NOW-1DAY', end_date };
      expect((await search(shop, query)).results).toEqual([]);
    }
    expect((await shop.requests(SEARCH)).length - before).toBe(1);
    // A reference that looks like a time is still part of the cache key.
    const other = { external_reference: ends[0] ?? '', end_date: ends[0] ?? '' };
    await search(shop, other);
    await search(shop, { ...other, external_reference: ends[1] ?? '' });
    expect((await shop.requests(SEARCH)).length - before).toBe(3);
  });

  it('costs no call for each poll of a paid sale either, and sees a refund at once', async () => {
    const sale = await sellByQr(shop);
    const before = (await shop.requests('/v1/')).length;
    for (let poll = 0; poll < 20; poll++) {
      expect((await search(shop, { external_reference: sale.reference })).results).toHaveLength(1);
    }
    expect((await shop.requests('/v1/')).length - before).toBeLessThanOrEqual(2);
    await refund(shop, sale.payment);
    const { results } = await search(shop, { external_reference: sale.reference });
    expect(results).toMatchObject([{ id: sale.payment, status: 'refunded' }]);
  });
});

describe('what is found', () => {
  let shop: QrShop;
  beforeAll(async () => {
    shop = await openPayments({ PUENTE_READS_FRESH_MS: '0', PUENTE_READS_SEARCH_FRESH_MS: '0' });
  });
  afterAll(() => shop.close());
  afterEach(() => shop.clearFaults());

  /** A payment made on legacy, past Puente. */
  async function sellOnLegacy(reference: string, unit_price = 50): Promise<void> {
    const till = shop.freshTill().external_id;
    const items = [{ title: 'Old coffee', currency_id: 'ARS', unit_price, quantity: 1 }];
    const created = await call(`${shop.sandbox.url}${preferencePath(till)}`, {
      token: tokenOf(ARGENTINA),
      body: { external_reference: reference, items },
    });
    expect(created.status, created.text).toBe(200);
    await shop.buyer(till, 'pay');
  }

  it('is the same payment as its own path shows', async () => {
    const sale = await sellByQr(shop);
    const { results } = await search(shop, { external_reference: sale.reference });
    expect(results).toEqual([await payment(shop, sale.payment)]);
  });

  it('is found by a reference that went upstream as it was, once', async () => {
    const reference = `plain-${freshReference().slice(4)}`;
    const sale = await sellByQr(shop, { reference });
    const { paging, results } = await search(shop, { external_reference: reference });
    expect([paging.total, results.map((one) => one.id)]).toEqual([1, [sale.payment]]);
    expect(results[0]?.order?.type).toBe('mercadopago');
  });

  it('is one list with what legacy has, sorted and paged as one', async () => {
    const reference = freshReference();
    await sellOnLegacy(reference, 50);
    await sellByQr(shop, { reference });
    await sellOnLegacy(reference, 60);
    const first = (await sellAtTerminal(shop)).reference;
    expect(first).not.toBe(reference);
    const amounts = async (query: Record<string, string>): Promise<unknown[]> => {
      const { paging, results } = await search(shop, { external_reference: reference, ...query });
      return [paging.total, ...results.map((one) => one.transaction_amount)];
    };
    expect(await amounts(NEWEST_FIRST)).toEqual([3, 60, 301, 50]);
    expect(await amounts({ sort: 'date_created', criteria: 'asc' })).toEqual([3, 50, 301, 60]);
    expect(await amounts({ sort: 'id', criteria: 'asc' })).toEqual([3, 50, 301, 60]);
    expect(await amounts({ ...NEWEST_FIRST, limit: '2' })).toEqual([3, 60, 301]);
    expect(await amounts({ ...NEWEST_FIRST, limit: '2', offset: '1' })).toEqual([3, 301, 50]);
    expect(await amounts({ ...NEWEST_FIRST, limit: '2', offset: '3' })).toEqual([3]);
    const { paging } = await search(shop, { external_reference: reference, limit: '2', offset: '1' });
    expect(paging).toEqual({ total: 3, limit: 2, offset: 1 });
  });

  it.each([
    [{ status: 'approved' }, 1],
    [{ status: 'refunded' }, 0],
    [{ status: '' }, 1],
    [{ range: 'date_created', begin_date: 'NOW-30DAYS', end_date: 'NOW+1DAY' }, 1],
    [{ range: 'date_created', begin_date: 'NOW-2DAYS', end_date: 'NOW-1DAY' }, 0],
    [{ range: 'date_approved', begin_date: '2026-01-01T00:00:00.000-04:00' }, 1],
    [{ begin_date: '2099-01-01T00:00:00Z' }, 0],
    [{ id: '1' }, 0],
    [{ store_id: '4711' }, 0],
    [{ pos_id: '4711' }, 0],
  ])('is chosen by %j', async (filter, count) => {
    const sale = await sellByQr(shop);
    const { paging, results } = await search(shop, { external_reference: sale.reference, ...filter });
    expect([paging.total, results.length]).toEqual([count, count]);
  });

  it('is found at its own store and till', async () => {
    const sale = await sellByQr(shop);
    const { pos_id, store_id } = (await shop.till(`/v1/payments/${sale.payment}`)).body as Record<string, string>;
    const query = { external_reference: sale.reference, pos_id: pos_id ?? '', store_id: store_id ?? '' };
    expect((await search(shop, query)).results).toHaveLength(1);
  });

  it('is told from its order where the service hides it, at whatever till', async () => {
    const sale = await sellByQr(shop);
    await shop.upstreamSettings({ order_payments: 'hidden' });
    try {
      // Changes the order, so that it is read again.
      await refund(shop, sale.payment, { amount: 1 });
      const { results } = await search(shop, { external_reference: sale.reference, pos_id: '4711' });
      expect(results).toMatchObject([{ id: sale.payment, status: 'approved', external_reference: sale.reference }]);
    } finally {
      await shop.upstreamSettings({ order_payments: 'readable' });
    }
  });

  it('is ours alone while legacy fails, and its failure where there is nothing of ours', async () => {
    const sale = await sellByQr(shop);
    await shop.fault({ path: SEARCH, kind: 'error', status: 503, code: 'away', times: 'always' });
    const { paging, results } = await search(shop, { external_reference: sale.reference, limit: '5' });
    expect([paging, results.length]).toEqual([{ total: 1, limit: 5, offset: 0 }, 1]);
    const other = await shop.till(`${SEARCH}?external_reference=nothing`);
    expect([other.status, other.text]).toEqual([503, expect.stringContaining('away')]);
    await shop.clearFaults();
    await shop.fault({ path: SEARCH, kind: 'reset', times: 'always' });
    expect((await search(shop, { external_reference: sale.reference })).results).toHaveLength(1);
    expect((await shop.till(`${SEARCH}?external_reference=nothing`)).status).toBe(502);
  });

  it('is nobody else’s, and while the service breaks off its own path says so', async () => {
    const path = `/v1/payments/${(await sellByQr(shop)).payment}`;
    expect((await shop.till(path, { merchant: BRAZIL })).status).toBe(404);
    await shop.fault({ method: 'GET', path, kind: 'reset' });
    expect((await shop.till(path)).status).toBe(200);
    await shop.fault({ method: 'GET', path, kind: 'reset', times: 2 });
    const answer = await shop.till(path);
    expect(legacyErrorOf(answer)).toMatchObject({ status: 503 });
    expect(answer.body).toMatchObject({ cause: [{ code: 503 }] });
  });

  it('is what legacy answers for a merchant who was never on orders', async () => {
    const empty = await shop.till(`${SEARCH}/?external_reference=nothing`, { merchant: '700100400' });
    expect(empty.body).toEqual({ paging: { total: 0, limit: 30, offset: 0 }, results: [] });
  });

  it('still shows the sales of a merchant who went back to legacy', async () => {
    const sale = await sellByQr(shop);
    const { revision } = (await shop.ops(`/api/merchants/${ARGENTINA}`)).body as { revision: number }; // every view has one
    await shop.ops(`/api/merchants/${ARGENTINA}/stage`, {
      method: 'PUT',
      body: { stage: 'legacy', reason: 'back again', revision },
    });
    expect((await search(shop, { external_reference: sale.reference })).results).toHaveLength(1);
    expect(await payment(shop, sale.payment)).toMatchObject({ external_reference: sale.reference });
    expect((await refund(shop, sale.payment)).status).toBe(201);
  });
});
