/** Cached answers: used only for the same source and context, and only where these can't change. */
import { expect, it } from 'vitest';
import { loadTables } from '../../src/mapping/load.ts';
import { operationOf, tablesDirectory } from './kit.ts';

const tables = loadTables(tablesDirectory);
const get = operationOf(tables, 'point.get_intent');
const last = operationOf(tables, 'point.last_status');
const order = {
  type: 'point',
  status: 'processed',
  transactions: { payments: [{ id: 'PAY01', amount: '15.00', reference_id: '7001' }] },
};
const context = {
  site: 'MLA',
  exponent: 2,
  intent_id: '019539a0-0000-7000-8000-00000000dead',
  device_id: 'PAX_A910__SMARTPOS0000000001',
  state: 'FINISHED',
  state_at: 1_767_225_600_000,
  held: { additional_info: { external_reference: 'mesa 4' } },
  amount_minor: 1500,
};

it('the same source and a frozen context have the same answer', () => {
  const frozen = Object.freeze({ ...context });
  const first = tables.answer(get, order, frozen);
  expect(tables.answer(get, order, frozen)).toBe(first);
  expect(first).toEqual(tables.answer(get, order, { ...context }));
  expect(first.value.body).toMatchObject({ state: 'FINISHED', payment: { id: 7001 } });
});

it('another source, and another operation, have their own', () => {
  const frozen = Object.freeze({ ...context });
  const first = tables.answer(get, order, frozen);
  const other = { ...order, transactions: { payments: [{ ...order.transactions.payments[0], reference_id: '7002' }] } };
  expect(tables.answer(get, other, frozen).value.body).toMatchObject({ payment: { id: 7002 } });
  expect(tables.answer(last, order, frozen).value.body).toMatchObject({ status: 'FINISHED' });
  expect(tables.answer(get, order, frozen)).toEqual(first);
});

it('a context that may still change is looked at each time', () => {
  const open = { ...context };
  tables.answer(get, order, open);
  open.state = 'CANCELED';
  expect(tables.answer(get, order, open).value.body).toMatchObject({ state: 'CANCELED' });
});

it('nobody can change an answer that is given again, down to what the till had written', () => {
  const { value } = tables.answer(get, order, Object.freeze({ ...context }));
  const body = value.body as { payment: object; additional_info: object };
  for (const part of [value, body, body.payment, body.additional_info]) expect(Object.isFrozen(part)).toBe(true);
});
