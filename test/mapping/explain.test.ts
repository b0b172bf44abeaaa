/** What `puente explain` reports of a request, and how it answers input that is no request. */
import { describe, expect, it } from 'vitest';
import { explain } from '../../src/mapping/explain.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { tablesDirectory } from './kit.ts';

const tables = loadTables(tablesDirectory);
const received_at = Date.parse('2026-01-31T17:10:37Z');
const CREATE = [
  'POST /point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents HTTP/1.1',
  'Host: api.mercadopago.com',
  'X-platform-id: dev_1',
  '',
  '{"amount": 1500, "description": "Mesa 4"}',
];

describe('a request', () => {
  it('with a whole number in another spelling is explained like the plain one [F69]', () => {
    const told = (amount: string) =>
      explain(tables, [...CREATE.slice(0, 4), `{"amount": ${amount}}`].join('\n'), { site: 'MLA', received_at });
    expect(told('1.5E+3').upstream).toMatchObject({ body: { transactions: { payments: [{ amount: '15.00' }] } } });
    expect(told('1500.0').upstream).toEqual(told('1500').upstream);
    expect(told('1500.5').refusal?.status).toBe(400);
  });

  it('is read from JSON, with a query, a full address and a slash at the end', () => {
    const told = explain(
      tables,
      '{"method":"GET","path":"https://api.mercadopago.com/point/integration-api/devices/?limit=99"}',
      { received_at },
    );
    expect(told.upstream).toMatchObject({ method: 'GET', path: '/terminals/v1/list', query: { limit: '50' } });
    expect(told.text).toContain('GET /terminals/v1/list?limit=50');
    expect(told.assumed).toEqual({});
  });

  it('shows what stands in for the order', () => {
    const path = '/point/integration-api/payment-intents/3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77';
    const told = explain(tables, `DELETE ${path}`, { cancelable_status: 'at_terminal', received_at });
    expect(told.upstream).toMatchObject({
      path: '/v1/orders/ORD00000000000000000000000000/cancel',
      headers: { 'x-allow-cancelable-status': 'at_terminal' },
    });
    expect(told.text).toContain('x-allow-cancelable-status: at_terminal');
    expect(told.text).toContain('order_id = ORD00000000000000000000000000');
  });

  it('is told with what stands in for a till of v1 that is named by its number', () => {
    const body = '{"external_reference":"x","items":[{"title":"T","currency_id":"CLP","unit_price":990,"quantity":1}]}';
    const told = explain(tables, `POST /mpmobile/instore/qr/1000001\n\n${body}`, { site: 'MLC', received_at });
    expect(told.upstream?.body).toMatchObject({
      total_amount: '990',
      config: { qr: { external_pos_id: 'POS0', mode: 'static' } },
    });
    expect(told.assumed).toEqual({ reference: 'pnt0', external_pos_id: 'POS0' });
    expect(told.text).toContain('GET /pos/:pos_id');
  });

  it('counts a date of expiry from the time that it is given', () => {
    const item = { title: 'T', unit_price: 10, quantity: 1, unit_measure: 'unit', total_amount: 10 };
    const expiration_date = '2026-01-31T17:20:37Z';
    const body = { external_reference: 'x', title: 'T', total_amount: 10, expiration_date, items: [item] };
    const path = '/instore/orders/qr/seller/collectors/700100200/pos/SUC001POS001/qrs';
    const told = explain(tables, JSON.stringify({ method: 'POST', path, body }), { received_at });
    expect(told.upstream?.body).toMatchObject({ expiration_time: 'PT600S', config: { qr: { mode: 'dynamic' } } });
    const late = explain(tables, JSON.stringify({ method: 'PUT', path, body }), { received_at: received_at + 600_000 });
    expect(late.refusal?.error).toBe('invalid_expiration_date');
  });

  it.each([
    [
      '/point/integration-api/payment-intents/events?startDate=2026-01-01&endDate=2026-01-02',
      ['legacy GET /point/integration-api/payment-intents/events'],
    ],
    ['/instore/qr/seller/collectors/700100200/pos/SUC001POS001/orders', ['GET /v1/orders/:order_id']],
    ['/v1/payments/131313131313', ['GET /v1/orders/:order_id', 'GET /v1/payments/:payment_id']],
    ['/v1/payments/131313131313/refunds', ['GET /v1/orders/:order_id', 'GET /v1/payments/:payment_id']],
    ['/merchant_orders?external_reference=x', ['legacy GET /merchant_orders/search', 'GET /v1/orders/:order_id']],
  ])('without a request table is told with what its story asks: %s', (path, asks) => {
    const { text, upstream } = explain(tables, `GET ${path}`, { received_at });
    expect(upstream).toBeNull();
    expect(text).toContain('Nothing is translated');
    expect(text.split('\n').filter((line) => /^ {2}(?:legacy )?GET /.test(line))).toEqual(
      asks.map((one) => `  ${one}`),
    );
  });
});
