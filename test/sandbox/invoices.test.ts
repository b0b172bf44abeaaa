/** Subscription invoices of the sandbox: search by its four filters, paging, every status, and the contradictory forms. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { invoicePaymentStatuses, invoiceStatuses, summaries } from '../../src/sandbox/records.ts';
import { ARGENTINA, BRAZIL, type Kit, openKit } from './kit.ts';
import { CHILE, configure } from './payment-kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const search = (query = '', options: object = {}) => kit.call('GET', `/authorized_payments/search${query}`, options);
const make = async (fields: object = {}, merchant = ARGENTINA) =>
  (await kit.control('POST', `invoices/${merchant}`, fields)).body;
const OFFSET_DATE = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/);

describe('refusals', () => {
  test.each([['?id=abc'], ['?payment_id=1.5'], ['?payer_id=-1'], ['?limit=many'], ['?offset=x']])(
    '%s: 400',
    async (query) => {
      const { status, body } = await search(query);
      expect([status, body.error, body.status]).toEqual([400, 'bad_request', 400]);
    },
  );

  test('without a token, or with an unknown one: 401', async () => {
    expect((await search('', { merchant: null })).status).toBe(401);
    expect((await search('', { merchant: '999' })).status).toBe(401);
  });

  test('500 on demand', async () => {
    await kit.control('POST', 'faults', { path: '/authorized_payments/search', kind: 'error', status: 500 });
    expect((await search()).status).toBe(500);
  });

  test('one invoice: 400 for no number, 404 for an unknown or foreign one', async () => {
    const { id } = await make({}, BRAZIL);
    expect((await kit.call('GET', '/authorized_payments/abc')).status).toBe(400);
    expect((await kit.call('GET', '/authorized_payments/1')).status).toBe(404);
    expect((await kit.call('GET', `/authorized_payments/${id}`)).status).toBe(404);
  });
});

describe('search', () => {
  test.each([
    ['id', (invoice: { id: number }) => invoice.id],
    ['preapproval_id', (invoice: { preapproval_id: string }) => invoice.preapproval_id],
    ['payment_id', (invoice: { payment: { id: number } }) => invoice.payment.id],
    ['payer_id', (invoice: { payer_id: number }) => invoice.payer_id],
  ])('by %s', async (name, read) => {
    const invoice = await make({ preapproval_id: 'sub-1', payer_id: 42, payment: { id: 777 } });
    const { body } = await search(`?${name}=${read(invoice)}`);
    expect(body).toEqual({ paging: { offset: 0, limit: 20, total: 1 }, results: [invoice] });
    expect((await search(`?${name}=999`)).body.results).toEqual([]);
  });

  test('all filters must hold together', async () => {
    const { id } = await make({ payer_id: 42 });
    expect((await search(`?id=${id}&payer_id=42`)).body.paging.total).toBe(1);
    expect((await search(`?id=${id}&payer_id=43`)).body.paging.total).toBe(0);
  });

  test('offset and limit', async () => {
    const all = (await search()).body;
    const page = (await search('?offset=1&limit=2')).body;
    expect(page.paging).toEqual({ offset: 1, limit: 2, total: all.paging.total });
    expect(page.results).toEqual(all.results.slice(1, 3));
  });

  test('every merchant starts with one invoice of each status', async () => {
    for (const merchant of [ARGENTINA, BRAZIL, CHILE]) {
      const { results } = (await search('', { merchant })).body;
      expect(results.map(({ status }: { status: string }) => status).sort()).toEqual([...invoiceStatuses].sort());
    }
  });
});

describe('the invoice', () => {
  test('has every field of the table', async () => {
    const made = await make({ reason: 'Gym', external_reference: '2301', amount_minor: 150_050, retry_attempt: 2 });
    const { body } = await kit.call('GET', `/authorized_payments/${made.id}`);
    expect(body).toEqual({
      id: expect.any(Number),
      type: 'scheduled',
      date_created: OFFSET_DATE,
      last_modified: OFFSET_DATE,
      preapproval_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      reason: 'Gym',
      external_reference: '2301',
      currency_id: 'ARS',
      transaction_amount: 1500.5,
      debit_date: OFFSET_DATE,
      retry_attempt: 2,
      status: 'processed',
      summarized: 'done',
      payer_id: expect.any(Number),
      payment: { id: expect.any(Number), status: 'approved', status_detail: 'accredited' },
    });
  });

  test.each(invoiceStatuses.map((status) => [status]))('status %s', async (status) => {
    const { id } = await make({ status });
    expect((await search(`?id=${id}`)).body.results[0].status).toBe(status);
  });

  test.each(summaries.map((summarized) => [summarized]))('summarized %s', async (summarized) => {
    const { id } = await make({ summarized });
    expect((await search(`?id=${id}`)).body.results[0].summarized).toBe(summarized);
  });

  test.each(invoicePaymentStatuses.map((status) => [status]))('payment.status %s', async (status) => {
    const { id } = await make({ payment: { status, status_detail: 'some_detail' } });
    expect((await search(`?id=${id}`)).body.results[0].payment).toMatchObject({ status, status_detail: 'some_detail' });
  });

  test('has no payment before the first attempt', async () => {
    expect(await make({ status: 'scheduled', payment: null })).not.toHaveProperty('payment');
  });

  test('has no decimals in Chile', async () => {
    expect((await make({ amount_minor: 15_990 }, CHILE)).transaction_amount).toBe(15_990);
  });
});

describe('settings', () => {
  test('invoice_external_reference number: digits become a number, other text stays', async () => {
    await configure(kit, { invoice_external_reference: 'number' });
    expect((await make({ external_reference: '2301' })).external_reference).toBe(2301);
    expect((await make({ external_reference: 'A-1' })).external_reference).toBe('A-1');
  });

  test('invoice_amount text: a decimal string', async () => {
    await configure(kit, { invoice_amount: 'text' });
    expect((await make({ amount_minor: 150_050 })).transaction_amount).toBe('1500.50');
  });

  test('invoice_canceled cancelled: two l, in both statuses', async () => {
    await configure(kit, { invoice_canceled: 'cancelled' });
    const { status, payment } = await make({ status: 'canceled', payment: { status: 'canceled' } });
    expect([status, payment.status]).toEqual(['cancelled', 'cancelled']);
  });
});

describe('the control door', () => {
  test('refuses unknown merchants, fields and values', async () => {
    await expect(make({}, '999')).rejects.toThrow('404');
    await expect(make({ colour: 'blue' })).rejects.toThrow('400');
    await expect(make({ status: 'paid' })).rejects.toThrow('400');
  });
});
