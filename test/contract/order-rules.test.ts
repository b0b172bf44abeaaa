/** What the specification says of the seller and of several fields together, written out by hand (`docs/field-notes.md` Spec Order, Spec Errors, Spec Authentication): the sandbox and the shadow, which share one table, both keep to it. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { predict } from '../../src/proxy/shadow/predict.ts';
import { discountedQrOrder, type Json, pointOrder, qrOrder } from '../proxy/shadow/orders.ts';
import { ARGENTINA, type Kit, openKit } from '../sandbox/kit.ts';

let kit: Kit | undefined;
beforeEach(async () => {
  await kit?.close();
  kit = await openKit();
});
afterAll(() => kit?.close());

interface Seller {
  is_oauth: boolean;
  is_marketplace: boolean;
  may_hand_out_cash: boolean;
}

const nothing: Seller = { is_oauth: false, is_marketplace: false, may_hand_out_cash: false };
const cash = { ...nothing, may_hand_out_cash: true };
const marketplace = { ...nothing, is_oauth: true, is_marketplace: true };
const totals = (payment: string, withdrawal: string, total: string, discounted = payment): Json => ({
  ...discountedQrOrder('r', payment, total, withdrawal),
  discounts: { payment_methods: [{ type: 'debit_card', new_total_amount: discounted }] },
});
const installments = (payment_method: Json): Json => {
  const order = pointOrder('r', '150.00');
  return { ...order, config: { ...(order.config as Json), payment_method } };
};
const sponsored = (id: string): Json => ({ ...pointOrder('r', '150.00'), integration_data: { sponsor: { id } } });
const [point, qr] = [pointOrder('r', '150.00'), qrOrder('r', '150.00')];

describe.each<[rule: string, Json, Seller, expected: string]>([
  ['a total that is the sum', totals('150.00', '50.00', '200.00'), cash, 'taken'],
  ['a total that is the payment alone', totals('150.00', '50.00', '150.00'), cash, '400 property_value total_amount'],
  ['a total above the sum', { ...qr, total_amount: '150.01' }, nothing, '400 property_value total_amount'],
  ['no total', { ...qr, total_amount: undefined }, nothing, 'taken'],
  ['a discount to nothing but the cash', totals('150.00', '50.00', '200.00', '50.00'), cash, 'taken'],
  [
    'a discount of the cash',
    totals('150.00', '50.00', '200.00', '49.99'),
    cash,
    '400 property_value discounts.payment_methods[0].new_total_amount',
  ],
  [
    'a discount that makes it dearer',
    totals('150.00', '50.00', '200.00', '200.01'),
    cash,
    '400 property_value discounts.payment_methods[0].new_total_amount',
  ],
  [
    'discounts beside categories',
    { ...qr, discounts: { payment_methods: [{ type: 'debit_card', new_total_amount: '10.00' }] } },
    nothing,
    '400 bad_request discounts',
  ],
  [
    'cash without the agreement',
    totals('150.00', '50.00', '200.00'),
    nothing,
    '400 seller_configuration transactions.cash_outs',
  ],
  [
    'installments of a credit card',
    installments({ default_type: 'credit_card', default_installments: 3 }),
    nothing,
    'taken',
  ],
  [
    'installments of any card',
    installments({ default_installments: 3 }),
    nothing,
    '400 property_value config.payment_method.default_installments',
  ],
  ['a sponsor of 20 digits', sponsored('1'.repeat(20)), nothing, 'taken'],
  ['a sponsor of 21', sponsored('1'.repeat(21)), nothing, '400 sponsor_id_not_valid integration_data.sponsor.id'],
  ['a fee of a marketplace', { ...point, marketplace_fee: '1.00' }, marketplace, 'taken'],
  ['a fee without OAuth', { ...qr, marketplace_fee: '1.00' }, nothing, '400 marketplace_not_valid marketplace_fee'],
  [
    'a fee without a marketplace',
    { ...qr, marketplace_fee: '1.00' },
    { ...nothing, is_oauth: true },
    '404 marketplace_fee_not_allowed marketplace_fee',
  ],
])('%s', (_rule, order, seller, expected) => {
  it('in the shadow', () => {
    const found = predict(JSON.parse(JSON.stringify(order)), { site: 'MLA', exponent: 2, has_key: true, ...seller });
    const path = found?.path.replaceAll('[]', '[0]');
    expect(found === null ? 'taken' : `${found.status} ${found.code} ${path}`).toBe(expected);
  });

  it('in the sandbox', async () => {
    const { is_oauth, is_marketplace: has_marketplace, may_hand_out_cash } = seller;
    await kit?.control('PUT', `merchants/${ARGENTINA}`, { has_marketplace, may_hand_out_cash });
    await kit?.control('PUT', `merchants/${ARGENTINA}/token`, { oauth: is_oauth });
    const reply = await kit?.call('POST', '/v1/orders', { key: 'k', body: order });
    const [error] = reply?.body.errors ?? [];
    // What depends on the state of a terminal or a point of sale is judged last: its order was found right.
    const isTaken = error === undefined || /^(?:already_queued|forbidden|pos_not_found)/.test(error.code);
    expect(isTaken ? 'taken' : `${reply?.status} ${error.code} ${error.details}`).toBe(expected);
  });
});
