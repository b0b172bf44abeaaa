/** Proofs about families: each has its own headers, errors and states, and nothing of another's. */
import { describe, expect, it } from 'vitest';
import { broken } from './broken.ts';

/** One proof: file, what is broken, and what is said about it. */
const cases: [name: string, file: string, before: string | RegExp, after: string, says: string][] = [
  [
    'a family whose requests have headers without a table for them',
    'qr_v1/headers.yaml',
    'role: headers\n',
    '',
    "no table has the role 'headers' in qr_v1",
  ],
  [
    'a family with two tables of headers',
    'qr_v1/headers.yaml',
    'family: qr_v1',
    'family: qr',
    "qr_v1/headers.yaml: the role 'headers' is given twice in qr",
  ],
  [
    'a header of another family without a row',
    'qr/headers.yaml',
    / {2}- drop: x-test-scope\n.*\n.*\n/,
    '',
    'qr/headers.yaml: the source field x-test-scope has no row',
  ],
  [
    'a family with upstream calls and no errors',
    'payments/errors.yaml',
    'family: payments',
    'family: merchant_orders',
    "no table has the role 'errors' in payments",
  ],
  [
    'a family with two tables of errors',
    'qr_v1/errors.yaml',
    'family: qr_v1',
    'family: qr',
    "the role 'errors' is given twice in qr",
  ],
  [
    'a family of links without states',
    'qr/states.yaml',
    'family: qr',
    'family: payments',
    "no table has the role 'states' in qr",
  ],
  [
    'a family of links with two tables of states',
    'qr/states.yaml',
    'family: qr',
    'family: point',
    "the role 'states' is given twice in point",
  ],
  [
    'no way to tell a payment from its order',
    'payments/of-order.yaml',
    'role: payment\n',
    '',
    "no table has the role 'payment'",
  ],
  [
    'two ways to tell a payment from its order',
    'payments/of-order.yaml',
    'role: payment',
    'role: notice',
    "point/notice.yaml: the role 'notice' is given twice",
  ],
  [
    'a status_detail after the row that always holds',
    'qr/states.yaml',
    /(- status: processed\n) {4}detail: partially_refunded\n([\s\S]*?- status: processed\n)/,
    '$1$2    detail: partially_refunded\n',
    'qr/states.yaml row 8: the order status processed has a row already',
  ],
  [
    'a status_detail given twice',
    'qr/states.yaml',
    /(- status: processed\n {4}detail: partially_refunded\n(?: {4}.*\n)+)/,
    '$1  $1',
    'qr/states.yaml row 8: the order status processed with partially_refunded has a row already',
  ],
  [
    'a status with rows for details alone',
    'qr/states.yaml',
    '- status: processed\n    shows',
    '- status: processed\n    detail: accredited\n    shows',
    'qr/states.yaml: the order status processed has no row',
  ],
  [
    "another family's state",
    'qr/states.yaml',
    'shows: paid',
    'shows: FINISHED',
    "qr/states.yaml row 8: qr knows no state 'FINISHED'",
  ],
  [
    'a state of another family that is never produced',
    'qr/states.yaml',
    'shows: partially_paid',
    'shows: PROCESSING',
    "qr/states.yaml row never 1: qr knows no state 'PROCESSING'",
  ],
  [
    'a state that is produced and called never produced',
    'qr/states.yaml',
    'shows: partially_paid',
    'shows: paid',
    'qr/states.yaml row never 1: a row does produce paid',
  ],
  [
    'an unknown status that looks final',
    'qr/states.yaml',
    /(- status: unknown\n(?: {4}.*\n){2} {4}final: )false/,
    '$1true',
    'qr/states.yaml row 10: a status nobody knows must not look final',
  ],
  [
    'errors of a call that no operation of the family makes',
    'qr_v1/errors.yaml',
    '  cancel:\n',
    '  refund:\n',
    "qr_v1/errors.yaml: no operation of qr_v1 calls 'refund'",
  ],
  [
    'a documented error that only another family has a row for',
    'qr_v1/errors.yaml',
    /.*code: sponsor_id_not_valid.*\n/,
    '',
    'qr_v1/errors.yaml: the error create 400 sponsor_id_not_valid has no row',
  ],
  [
    'an error of a refund without a row',
    'payments/errors.yaml',
    /.*code: refund_amount_exceeds.*\n/,
    '',
    'payments/errors.yaml: the error refund 400 refund_amount_exceeds has no row',
  ],
  [
    "another family's error",
    'payments/errors.yaml',
    'error: partial_unsupported',
    'error: device_in_pos',
    "payments/errors.yaml row refund 3: the legacy catalogue has no error 'device_in_pos'",
  ],
  [
    'a code whose detail nobody fills',
    'qr_v1/errors.yaml',
    'error: missing_property, with: property_name',
    'error: missing_property',
    'qr_v1/errors.yaml row create 1: the message of missing_property has a place for a detail',
  ],
  [
    'a field of a sale without a row',
    'qr/create.request.yaml',
    / {2}- drop: body\.description\n.*\n.*\n.*\n/,
    '',
    'qr/create.request.yaml: the source field body.description has no row',
  ],
  [
    'a topic nobody knows',
    'qr/states.yaml',
    'notices: [payment, merchant_order]',
    'notices: [payment, merchant_orders]',
    'qr/states.yaml row 8: notices 2: Invalid option',
  ],
  ['a family nobody knows', 'operations.yaml', 'family: qr_v1', 'family: qr_v0', 'row 11: family: Invalid option'],
  ['a kind nobody knows', 'operations.yaml', 'kind: qr', 'kind: qrs', 'row 11: kind: Invalid option'],
];

describe('the proofs of families', () => {
  it.each(cases)('%s', (_, file, before, after, says) => {
    expect(broken(file, before, after)).toContain(says);
  });
});
