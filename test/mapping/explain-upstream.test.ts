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
const rows = ({ fired }: ReturnType<typeof explain>) => fired.map(({ row }) => row);

describe('an answer', () => {
  it('is what the till gets for a read of the order, with the row of its state', () => {
    const told = explained(ORDER);
    expect([told.kind, told.operation, told.revision]).toEqual(['answer', 'point.get_intent', tables.revision]);
    expect(told.answer).toEqual({
      status: 200,
      body: {
        id: told.assumed.intent_id,
        state: 'FINISHED',
        amount: 1500,
        device_id: 'NEWLAND_N950__1',
        payment: { id: 12345678, type: 'credit_card', installments: 1 },
      },
    });
    expect(rows(told)).toEqual(expect.arrayContaining(['point.states#7', 'point.get.answer#2']));
    expect(told.fired.every(({ why, says }) => why.length > 0 && says.length > 0)).toBe(true);
    expect(told.notes).toEqual([expect.stringContaining('point.create_intent')]);
    expect(told.text).toContain('order status processed → FINISHED');
  });

  it('is for the call that is named, and as HTTP has its status', () => {
    const http = `HTTP/1.1 201 Created\r\n\r\n${JSON.stringify(ORDER)}`;
    const told = explained(http, { operation: 'point.create_intent' });
    expect([told.operation, told.answer?.status, told.notes]).toEqual(['point.create_intent', 201, []]);
    expect(told.answer?.body).not.toHaveProperty('state');
    expect(explained(ORDER, { operation: 'point.last_status' }).answer?.body).toMatchObject({ status: 'FINISHED' });
  });

  it('follows the merchant’s setting on declined payments', () => {
    const declined = { ...ORDER, status: 'failed', status_detail: 'failed' };
    const states = ['error', 'finished'].map((one) => explained(declined, {}, { declined: one }).answer?.body);
    expect(states).toMatchObject([{ state: 'ERROR' }, { state: 'FINISHED' }]);
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

describe('a notice', () => {
  it('is made from an order: whom it is about, and the rows of its body', () => {
    const told = explained(ORDER, { kind: 'notice' });
    expect(told.notices).toEqual([
      {
        topic: 'point',
        body: {
          id: told.assumed.intent_id,
          state: 'FINISHED',
          amount: 1500,
          caller_id: 700100200,
          created_at: '2026-01-31 17:10:37',
          payment: { id: 12345678, state: 'approved', type: 'credit_card' },
        },
      },
      { topic: 'payment', body: { topic: 'payment', id: 12345678 } },
    ]);
    expect(rows(told)).toEqual(expect.arrayContaining(['point.states#7', 'point.notice#3']));
    expect(told.assumed).toEqual({ intent_id: told.assumed.intent_id });
  });

  it('is made from an event, with the remark that the order is read', () => {
    const event = {
      type: 'order',
      action: 'order.canceled',
      user_id: 700100200,
      data: { id: ORDER.id, status: 'canceled' },
    };
    const told = explained(event);
    expect([told.kind, told.notices[0]]).toMatchObject(['notice', { topic: 'point', body: { state: 'CANCELED' } }]);
    expect(told.notes[0]).toContain('An event only causes a read of its order');
  });
});
