/** What `puente explain` reports of messages of upstream: answers, notices and errors; and what it can't explain. */
import { describe, expect, it } from 'vitest';
import { type ExplainAsk, explain } from '../../src/mapping/explain.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { tablesDirectory } from './kit.ts';

const tables = loadTables(tablesDirectory);
const given = { received_at: Date.parse('2026-01-31T17:10:37Z'), site: 'MLA', declined: 'error', voucher: 'refuse' };
const explained = (message: unknown, ask: ExplainAsk = {}, more: object = {}) =>
  explain(tables, typeof message === 'string' ? message : JSON.stringify(message), { ...given, ...more }, ask);

const ORDER = {
  id: 'ORD01K371WBFDS4MD3JG0K8ZMECBE',
  type: 'point',
  user_id: '700100200',
  external_reference: 'sale-1',
  status: 'processed',
  status_detail: 'accredited',
  created_date: '2026-01-31T17:10:37.000Z',
  last_updated_date: '2026-01-31T17:11:07.000Z',
  config: { point: { terminal_id: 'NEWLAND_N950__1' } },
  transactions: {
    payments: [
      {
        id: 'PAY01K371WBFDS4MD3JG0K8ZMECBE',
        amount: '15.00',
        status: 'processed',
        status_detail: 'accredited',
        reference_id: '12345678',
        payment_method: { id: 'visa', type: 'credit_card', installments: 1 },
      },
    ],
  },
};

describe('an answer', () => {
  it('is for the call that is named, and as HTTP has its status', () => {
    const http = `HTTP/1.1 201 Created\r\n\r\n${JSON.stringify(ORDER)}`;
    const told = explained(http, { operation: 'point.create_intent' });
    expect([told.operation, told.answer?.status, told.notes]).toEqual(['point.create_intent', 201, []]);
    expect(told.answer?.body).not.toHaveProperty('state');
    expect(explained(ORDER, { operation: 'point.last_status' }).answer?.body).toMatchObject({ status: 'FINISHED' });
  });

  it('of terminals, of a QR sale and of payments is explained too', () => {
    const terminals = {
      data: { terminals: [{ id: 'A__1', operating_mode: 'PDV' }] },
      paging: { total: 1, offset: 0, limit: 50 },
    };
    const listed = explained(terminals);
    expect([listed.operation, listed.answer?.body]).toMatchObject([
      'point.list_devices',
      { devices: [{ id: 'A__1', pos_id: 0, store_id: null, operating_mode: 'PDV' }] },
    ]);
    const qr = { ...ORDER, type: 'qr', config: {}, total_amount: '15.00', type_response: { qr_data: '000201' } };
    expect(explained(qr, { operation: 'qr.create_code' }).answer?.body).toMatchObject({ qr_data: '000201' });
    expect(explained(qr, { operation: 'merchant_orders.get' }).answer?.body).toMatchObject({ status: 'closed' });
  });
});
