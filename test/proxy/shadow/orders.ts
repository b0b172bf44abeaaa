/** Raw orders for the differential test: valid ones of both types, and each with one thing broken. */

export type Json = Record<string, unknown>;

export interface Broken {
  says: string;
  order: unknown;
}

/** @param amount in the currency's own form. */
export function pointOrder(reference: string, amount: string): Json {
  return {
    type: 'point',
    external_reference: reference,
    description: 'Mesa 4',
    expiration_time: 'PT16M',
    transactions: { payments: [{ amount }] },
    config: {
      point: {
        terminal_id: 'GERTEC_MP35P__8701000000000001',
        print_on_terminal: 'no_ticket',
        ticket_number: '1',
      },
      payment_method: { default_type: 'credit_card', default_installments: 3, default_installments_cost: 'seller' },
    },
    integration_data: { platform_id: 'p', integrator_id: 'i', sponsor: { id: '446566691' } },
  };
}

export function qrOrder(reference: string, amount: string): Json {
  return {
    type: 'qr',
    external_reference: reference,
    description: 'Compra',
    expiration_time: 'PT1H',
    total_amount: amount,
    transactions: { payments: [{ amount }] },
    config: { qr: { external_pos_id: 'SUC001POS001', mode: 'dynamic' } },
    items: [
      {
        title: 'Café',
        unit_price: amount,
        quantity: 1,
        unit_measure: 'unit',
        external_code: 'A1',
        external_categories: [{ id: 'food' }],
      },
    ],
    integration_data: { platform_id: 'p', integrator_id: 'dev_1', sponsor: { id: '446566691' } },
  };
}

/** @param cash a cash-out beside the payment; `discounts` replace the categories. */
export function discountedQrOrder(reference: string, amount: string, total: string, cash: string): Json {
  const order = qrOrder(reference, amount);
  const [item] = order.items as Json[];
  delete item?.external_categories;
  return {
    ...order,
    total_amount: total,
    transactions: { payments: [{ amount }], cash_outs: [{ amount: cash }] },
    discounts: { payment_methods: [{ type: 'debit_card', new_total_amount: amount }] },
  };
}

/** Values that are wrong in some fields and valid in others. */
const VALUES: readonly unknown[] = [
  null,
  7,
  -1,
  1.5,
  '',
  'x'.repeat(11),
  'x'.repeat(31),
  'x'.repeat(65),
  'x'.repeat(151),
  'sale/7',
  '10',
  '10.5',
  '10.50',
  '10.505',
  '0.00',
  '-1.00',
  '14.99',
  'PT29S',
  'PT30S',
  'PT3H',
  'PT3H1S',
  'PT3600H',
  'PT3600H1S',
  'P1D',
  'credit_card',
  'point',
  'PAX__1',
  'dev_',
  '123',
  {},
  { id: '1' },
  [],
  [{}],
];

/** Breaks an order in one place: a missing value, each wrong value, an unknown key, more elements. */
export function brokenIn(order: Json): Broken[] {
  const found: Broken[] = [];
  const change = (says: string, edit: (copy: Json) => void) => {
    const copy = structuredClone(order);
    edit(copy);
    found.push({ says, order: copy });
  };
  for (const path of pathsOf(order)) {
    const name = path.join('.');
    change(`without ${name}`, (copy) => {
      const holder = at(copy, path.slice(0, -1));
      if (Array.isArray(holder)) holder.splice(Number(path.at(-1)), 1);
      else delete holder[String(path.at(-1))];
    });
    for (const value of VALUES) {
      change(`${name} = ${JSON.stringify(value).slice(0, 20)}`, (copy) => {
        at(copy, path.slice(0, -1))[String(path.at(-1))] = value;
      });
    }
    const inside = at(order, path);
    if (Array.isArray(inside)) {
      for (const count of [2, 10, 11]) {
        change(`${name} × ${count}`, (copy) => {
          const list = at(copy, path) as unknown as unknown[];
          while (list.length < count) list.push(structuredClone(list[0]));
        });
      }
    } else if (inside !== null && typeof inside === 'object') {
      change(`${name} with a strange key`, (copy) => {
        at(copy, path).strange = 1;
      });
    }
  }
  change('a strange key', (copy) => {
    copy.title = 'x';
  });
  change('a fee', (copy) => {
    copy.marketplace_fee = '1.00';
  });
  change('the words of the other type', (copy) => {
    copy.type = order.type === 'qr' ? 'point' : 'qr';
  });
  change('an installments cost in the other spelling', (copy) => {
    (copy.config as Json).payment_method = { installments_cost: 'buyer' };
  });
  change('installments without a card', (copy) => {
    (copy.config as Json).payment_method = { default_installments: 3 };
  });
  return found;
}

function pathsOf(value: unknown, path: (string | number)[] = []): (string | number)[][] {
  const own = path.length === 0 ? [] : [path];
  if (Array.isArray(value)) return [...own, ...value.flatMap((one, index) => pathsOf(one, [...path, index]))];
  if (value === null || typeof value !== 'object') return own;
  return [...own, ...Object.entries(value).flatMap(([key, one]) => pathsOf(one, [...path, key]))];
}

function at(order: Json, path: readonly (string | number)[]): Json {
  let value: unknown = order;
  for (const segment of path) value = (value as Json)[segment];
  return value as Json; // only used where the order has an object or a list
}
