/** What `puente explain` tells of a request, and how it takes what is none. */
import { describe, expect, it } from 'vitest';
import { PuenteError } from '../../src/error.ts';
import { explain } from '../../src/mapping/explain.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { tablesDirectory } from './kit.ts';

const tables = loadTables(tablesDirectory);
const CREATE = [
  'POST /point/integration-api/devices/PAX_A910__SMARTPOS0000000001/payment-intents HTTP/1.1',
  'Host: api.mercadopago.com',
  'X-platform-id: dev_1',
  '',
  '{"amount": 1500, "description": "Mesa 4"}',
];

describe('what is no request', () => {
  it.each([
    ['hello', 'the first line must be like'],
    ['', 'the first line must be like'],
    ['{"path": "/x"}', 'the JSON needs method and path'],
    ['{"path": ', 'the body is not JSON'],
    ['GET /x HTTP/1.1\nno colon', "the header line 'no colon' has no name"],
    ['POST /x HTTP/1.1\n\n{"a":1,"a":2}', 'the body is not JSON'],
    ['GET http://[ HTTP/1.1', 'is no path'],
  ])('%j', (text, says) => {
    expect(() => explain(tables, text, {})).toThrowError(PuenteError);
    expect(() => explain(tables, text, {})).toThrowError(says);
  });
});

describe('a request', () => {
  it('is told with its rows and losses', () => {
    const told = explain(tables, CREATE.join('\r\n'), { site: 'MLA', reference: 'sale77' });
    expect(told.operation).toBe('point.create_intent');
    expect(told.upstream).toMatchObject({ method: 'POST', path: '/v1/orders', body: { external_reference: 'sale77' } });
    expect(told.losses.map((loss) => loss.path)).toEqual(['body.description']);
    expect(told.fired.map((row) => row.row)).toContain('point.headers#1');
    expect(told.assumed).toEqual({ voucher: 'refuse' });
    expect(told.text).toContain('"amount": "15.00"');
    expect(told.text).toContain('body.description: Legacy took a description in Brazil only and ignored it elsewhere.');
    expect(told.text).toContain('body.amount → body.transactions.payments[0].amount by amount_text');
  });

  it('is told with the row that refuses it', () => {
    const told = explain(tables, CREATE.join('\n'), { site: 'MLM' });
    expect(told.refusal).toEqual({
      status: 400,
      error: '400',
      message: 'Additional property description is not allowed',
    });
    expect(told.refused_by).toEqual({ row: 'point.create.request#5', why: 'Mexico answers 400 to a description.' });
    expect(told.upstream).toBeNull();
    expect(told.text).toContain('Mexico answers 400 to a description.');
  });

  it('is told when the legacy contract refuses it', () => {
    const told = explain(
      tables,
      '{"method":"post","path":"/point/integration-api/devices/A/payment-intents","body":{"amount":12.5}}',
      {},
    );
    expect(told.refusal?.message).toBe('amount is not valid');
    expect(told.refused_by).toBeNull();
  });

  it('is read from JSON, with a query, a full address and a slash at the end', () => {
    const told = explain(
      tables,
      '{"method":"GET","path":"https://api.mercadopago.com/point/integration-api/devices/?limit=99"}',
      {},
    );
    expect(told.upstream).toMatchObject({ method: 'GET', path: '/terminals/v1/list', query: { limit: '50' } });
    expect(told.text).toContain('GET /terminals/v1/list?limit=50');
    expect(told.assumed).toEqual({});
  });

  it('shows what stands in for the order', () => {
    const path = '/point/integration-api/payment-intents/3f0e6a52-9f0b-4c3e-8a51-0d5f1f0c9a77';
    const told = explain(tables, `DELETE ${path}`, { cancelable_status: 'at_terminal' });
    expect(told.upstream).toMatchObject({
      path: '/v1/orders/ORD00000000000000000000000000/cancel',
      headers: { 'x-allow-cancelable-status': 'at_terminal' },
    });
    expect(told.text).toContain('x-allow-cancelable-status: at_terminal');
    expect(told.text).toContain('order_id = ORD00000000000000000000000000');
  });

  it('is carried where there is no operation, and answered without translation where there is no table', () => {
    expect(explain(tables, 'GET /v1/customers/1', {}).text).toContain('carried to the legacy upstream untouched');
    const history = explain(
      tables,
      'GET /point/integration-api/payment-intents/events?startDate=2026-01-01&endDate=2026-01-02',
      {},
    );
    expect(history.operation).toBe('point.list_events');
    expect(history.text).toContain('Nothing is translated');
  });
});
