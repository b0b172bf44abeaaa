/**
 * Rules of a create, written out by hand from the specification (`docs/field-notes.md` Spec Order, Spec Limits); the
 * sandbox and the shadow share one table, and both follow it.
 */
import { describe, expect, it } from 'vitest';
import { predict } from '../../src/proxy/shadow/predict.ts';
import { openForAll } from '../open.ts';
import { discountedQrOrder, type Json, pointOrder, qrOrder } from '../proxy/shadow/orders.ts';
import { openKit, PAX_TERMINAL } from '../sandbox/kit.ts';

const kit = openForAll(() => openKit());

/** A field, its valid values, and its invalid values by the error code of the refusal. */
type Fixture = [path: string, taken: unknown[], refused: Record<string, unknown[]>];

const text = (length: number): string => 'x'.repeat(length);
const both: Fixture[] = [
  ['type', [], { required_properties: [undefined] }],
  [
    'external_reference',
    ['A-b_9', text(64)],
    { required_properties: [undefined], property_type: [7], property_value: ['', text(65), 'a b', 'a.b', 'ñ'] },
  ],
  ['description', [undefined, text(150)], { property_type: [7], property_value: [text(151)] }],
  ['expiration_time', [undefined, 'PT30S', 'PT15M', 'PT3H'], { property_value: ['PT29S', '15M', ''] }],
  ['transactions', [], { required_properties: [undefined], minimum_properties: [{}], property_type: [[]] }],
  [
    'transactions.payments',
    [],
    {
      minimum_items: [[]],
      maximum_items: [[{ amount: '75.00' }, { amount: '75.00' }]],
      property_type: [{}, ['150.00']],
    },
  ],
  [
    'transactions.payments[0].amount',
    [],
    {
      minimum_properties: [undefined],
      property_type: [150],
      property_value: ['150.001', '1e3', '-150.00', '150,00', ''],
    },
  ],
  ['config', [], { required_properties: [undefined], minimum_properties: [{}] }],
  ['integration_data.sponsor.id', ['446566691'], { sponsor_id_not_valid: ['shop'], minimum_properties: [undefined] }],
  ['notification_url', [undefined], { unsupported_properties: ['https://shop.example'] }],
];
const point: Fixture[] = [
  ...both,
  ['expiration_time', [], { property_value: ['PT3H1S'] }],
  ['transactions.payments[0].amount', ['150', '150.00'], {}],
  ['total_amount', [undefined], { unsupported_properties: ['150.00'] }],
  ['items', [undefined], { unsupported_properties: [[]] }],
  ['config.point.terminal_id', [], { required_properties: [undefined], property_value: ['8701000000000001'] }],
  ['config.point.print_on_terminal', [undefined, 'seller_ticket', 'no_ticket'], { property_value: ['ticket'] }],
  ['config.payment_method', [{ default_type: 'debit_card' }, { default_type: 'qr' }], { minimum_properties: [{}] }],
  ['config.payment_method.default_type', ['credit_card'], { property_value: ['cash', 'debit_card'] }],
  ['config.payment_method.default_installments', [1, 12], { property_value: [0], property_type: ['3', 1.5] }],
  ['config.payment_method.default_installments_cost', ['seller', 'buyer'], { property_value: ['shop'] }],
  ['config.point.terminal_id', [], { property_value: [PAX_TERMINAL] }], // only Point Pro takes the cost of installments
  ['integration_data.integrator_id', ['i', 'dev_i'], {}],
];
const qr: Fixture[] = [
  ...both,
  ['expiration_time', ['PT3H1S', 'PT3600H', 'P150D'], { property_value: ['PT3600H1S'] }],
  ['transactions.payments[0].amount', [], { property_value: ['150.5'] }],
  ['total_amount', [undefined], { property_type: [150], property_value: ['150.01', '150.5'] }],
  ['config.qr.external_pos_id', [], { required_properties: [undefined], property_value: [''] }],
  ['config.qr.mode', [undefined, 'static', 'dynamic', 'hybrid'], { property_value: ['both'] }],
  ['config.point', [undefined], { unsupported_properties: [{ terminal_id: PAX_TERMINAL }] }],
  ['items[0].title', [text(150)], { required_properties: [undefined], property_value: ['', text(151)] }],
  ['items[0].unit_price', ['150', '150.00'], { required_properties: [undefined], property_value: ['150.5', '1e3'] }],
  ['items[0].quantity', [1, 7], { required_properties: [undefined], property_type: ['1', 1.5], property_value: [0] }],
  ['items[0].unit_measure', [text(10)], { required_properties: [undefined], property_value: ['', text(11)] }],
  ['items[0].external_code', [undefined, 'A1'], { property_type: [7] }],
  ['items[0].external_categories[0].id', ['food'], { minimum_properties: [undefined], property_type: [7] }],
  ['integration_data.integrator_id', ['dev_i'], { property_value: ['i'] }],
  [
    'discounts',
    [undefined],
    { bad_request: [{ payment_methods: [{ type: 'debit_card', new_total_amount: '100.00' }] }] },
  ],
];
const method = (type: string, new_total_amount = '100.00') => ({ type, new_total_amount });
const discounted: Fixture[] = [
  [
    'discounts.payment_methods',
    [['debit_card', 'credit_card', 'account_money', 'prepaid_card'].map((type) => method(type))],
    {
      maximum_items: [Array.from({ length: 5 }, () => method('debit_card'))],
      property_value: [[method('cash')], [method('debit_card', '0')], [method('debit_card', '200.01')]],
    },
  ],
];

describe.each<[string, Json, Fixture[]]>([
  ['an order on a terminal', pointOrder('r', '150.00'), point],
  ['an order by QR', qrOrder('r', '150.00'), qr],
  [
    'an order by QR with a discount',
    { ...discountedQrOrder('r', '150.00', '150.00', ''), transactions: { payments: [{ amount: '150.00' }] } },
    discounted,
  ],
])('%s', (_name, right, fixtures) => {
  it.each(fixtures)('%s', async (path, taken, refused) => {
    const expected = [
      ...taken.map((value) => ['taken', value] as const),
      ...Object.entries(refused).flatMap(([code, values]) => values.map((value) => [code, value] as const)),
    ];
    for (const [code, value] of expected) {
      const order = changed(right, path, value);
      expect([path, value, { shadow: shadow(order), sandbox: await sandbox(order) }]).toEqual([
        path,
        value,
        { shadow: code, sandbox: code },
      ]);
    }
  });
});

function changed(order: Json, path: string, value: unknown): Json {
  const copy = structuredClone(order);
  if (path !== 'external_reference') copy.external_reference = crypto.randomUUID();
  const way = path.split(/[.[\]]+/).filter((part) => part !== '');
  const last = way.pop() ?? '';
  const place = way.reduce<Json>((at, part) => at[part] as Json, copy); // each fixture names an existing path
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

function shadow(order: Json): string {
  const seller = {
    site: 'MLA',
    exponent: 2,
    has_key: true,
    is_oauth: null,
    is_marketplace: null,
    may_hand_out_cash: null,
  };
  return predict(order, seller)?.code ?? 'taken';
}

/** The state of a terminal or point of sale is judged last: 403, 404 and 409 mean that the fields were valid. */
async function sandbox(order: Json): Promise<string> {
  const reply = await kit.call('POST', '/v1/orders', { key: crypto.randomUUID(), body: order });
  const code = String(reply.body.errors?.[0]?.code ?? 'taken');
  return [403, 404, 409].includes(reply.status) ? 'taken' : code;
}
