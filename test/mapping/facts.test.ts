/** Facts in tables beside the translation: weights and advice for the loss ledger. */
import { describe, expect, it } from 'vitest';
import { rowIds } from '../../src/mapping/assemble.ts';
import { loadTables } from '../../src/mapping/load.ts';
import { rowsOf, wholeRows } from '../../src/mapping/row.ts';
import { operationOf, tablesDirectory } from './kit.ts';

const tables = loadTables(tablesDirectory);

describe('the facts of a field', () => {
  it.each([
    ['point.create.request', 'body.payment.installments', 'money', 'point.create.request#13'],
    ['point.create.request', 'body.amount', 'money', 'point.create.request#8'],
    ['point.create.request', 'body.additional_info.external_reference', 'identity', 'point.create.request#2'],
    ['point.headers', 'x-corporation-id', 'identity', 'point.headers#6'],
    ['qr.create.request', 'body.taxes', 'money', 'qr.create.request#17'],
    ['qr.create.request', 'body.items[3].sku_number', 'identity', 'qr.create.request#12.5'],
    ['qr.create.request', 'body.items[0].picture_url', 'other', 'qr.create.request#12.10'],
    ['qr.create.request', 'expiration_time', 'other', 'qr.create.request#5'],
  ])('%s %s', (table, path, weight, row) => {
    expect(tables.facts(table, path)).toMatchObject({ weight, row });
  });

  it.each([
    ['body.tip', 'money'],
    ['body.items[2].discount_rate', 'money'],
    ['body.payer.document', 'identity'],
    ['body.my reference', 'identity'],
    ['body.multiple', 'other'],
    ['body.colour', 'other'],
  ])('that no row knows are told by its name: %s', (path, weight) => {
    const facts = tables.facts('qr_v1.create.request', path);
    expect(facts).toMatchObject({ row: null, weight, path: path.replace('[2]', '[]') });
    expect(facts.advice).toMatch(/^\S.*\.$/);
  });

  it('of a loss are those of the row that lost it, where a field has rows for several sites', () => {
    const request = operationOf(tables, 'point.create_intent');
    const lossAt = (site: string) => {
      const path = { device_id: 'PAX_A910__1' };
      const body = { amount: 1500, description: 'x'.repeat(151) };
      const context = { site, exponent: 2, reference: 'r', voucher: 'refuse' };
      const [loss] = tables.request(request, { path, query: {}, headers: {}, body }, context).losses;
      if (loss === undefined) throw new Error('the description is lost');
      return tables.facts(loss.table, loss.path, loss.why).row;
    };
    expect([lossAt('MLB'), lossAt('MLA')]).toEqual(['point.create.request#4', 'point.create.request#6']);
  });
});

it('a refund has no table of headers, and none of its headers is lost', () => {
  const refund = operationOf(tables, 'payments.create_refund');
  const source = { path: { payment_id: '1' }, query: {}, headers: { 'x-platform-id': 'x' }, body: { amount: 1 } };
  const context = {
    site: 'MLA',
    exponent: 2,
    order_id: 'ORD01J49MMW3SSBK5PSV3DFR32959',
    transaction_id: 'PAY01J49MMW3SSBK5PSV3DFR32959',
    refund_minor: 100,
  };
  const { value, losses } = tables.request(refund, source, context);
  expect([value, losses]).toEqual([
    { path: { order_id: context.order_id }, body: { transactions: [{ id: context.transaction_id, amount: '1.00' }] } },
    [],
  ]);
});

describe('the facts of a row', () => {
  it('are there for every row of every field table, with the whole path', () => {
    const fieldRows = tables.documents.tables.flatMap((table) => wholeRows(rowsOf(table.table, table.rows)));
    expect(fieldRows.length).toBeGreaterThan(200);
    for (const { id, why } of fieldRows) {
      expect(rowIds(tables)).toContain(id);
      expect(tables.row(id)).toMatchObject({ row: id, why });
    }
    expect(tables.row('qr.create.request#12.10')?.path).toBe('body.items[].picture_url');
    expect(tables.row('point.create.request#99')).toBeNull();
  });
});
