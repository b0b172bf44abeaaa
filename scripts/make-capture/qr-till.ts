/** A till with QR codes: every spelling of the legacy in-store API, buyers who pay or leave, and mistakes of tills. */
import type { Answer } from '../http.ts';
import type { Chance } from './chance.ts';
import type { Connection } from './counter.ts';
import { afterPayment } from './payments.ts';

export interface QrTill {
  external_id: string;
  number: number;
  currency: string;
  /** Decimals of its currency. */
  exponent: number;
}

/** One sale with its surrounding calls. @param number of the sale, for its reference. */
export async function sellByCode(connection: Connection, chance: Chance, till: QrTill, number: number): Promise<void> {
  const reference = chance.pick([`Q-${number}`, `Factura ${number}`, `Mesa ${number} / barra`]);
  const sale = chance.pick(SALES)(connection, till, chance);
  const wrong = chance.is(0.12);
  const body = sale.v1 ? preferenceBody(till, chance, reference) : orderBody(till, chance, reference);
  const headers = chance.is(0.2) ? { 'x-ttl-store-preference': '300' } : {};
  const told = await connection.call(sale.operation, sale.method, sale.target, {
    body: wrong ? wrongly(body, chance) : body,
    headers,
  });
  if (told.status >= 300) return;
  connection.counts.made.qr++;
  if (sale.look !== null && chance.is(0.4)) await connection.call(sale.look, 'GET', sale.target);
  await settle(connection, chance, till, sale, told);
  const query = `external_reference=${encodeURIComponent(reference)}`;
  const { body: found } = await connection.call('merchant_orders.search', 'GET', `/merchant_orders/search?${query}`);
  const { elements } = found as { elements?: { id: number }[] | null }; // the sandbox's shape
  const [order] = elements ?? [];
  if (order !== undefined) await connection.call('merchant_orders.get', 'GET', `/merchant_orders/${order.id}`);
  await afterPayment(connection, chance, reference, null);
  if (chance.is(0.04))
    await connection.call('', 'POST', '/v1/customers', { body: { email: 'marta.canary@buyers.example.test' } });
}

interface Spelling {
  operation: string;
  method: 'POST' | 'PUT';
  target: string;
  v1: boolean;
  /** Targets that read and clear the till; null for a dynamic code. */
  look: string | null;
  clear: string | null;
}

const SALES: readonly [Spell, ...Spell[]] = [
  ({ merchant }, { external_id }, chance) => {
    const [operation, method] = chance.pick([
      ['qr_v1.create', 'POST'],
      ['qr_v1.replace', 'PUT'],
    ] as const);
    const target = `/mpmobile/instore/qr/${merchant}/${external_id}`;
    return { operation, method, target, v1: true, look: 'qr_v1.get', clear: 'qr_v1.cancel' };
  },
  (_connection, { number }) => ({
    operation: 'qr_v1.create_by_number',
    method: 'POST',
    target: `/mpmobile/instore/qr/${number}`,
    v1: true,
    look: 'qr_v1.get_by_number',
    clear: 'qr_v1.cancel_by_number',
  }),
  ({ merchant }, { external_id }) => ({
    operation: 'qr.put_order',
    method: 'PUT',
    target: `/instore/qr/seller/collectors/${merchant}/pos/${external_id}/orders`,
    v1: false,
    look: 'qr.get_order',
    clear: 'qr.cancel_order',
  }),
  ({ merchant }, { external_id }) => ({
    operation: 'qr.put_order_of_store',
    method: 'PUT',
    target: `/instore/qr/seller/collectors/${merchant}/stores/SUC001/pos/${external_id}/orders`,
    v1: false,
    look: 'qr.get_order_of_store',
    clear: 'qr.cancel_order_of_store',
  }),
  ({ merchant }, { external_id }, chance) => {
    const [operation, method] = chance.pick([
      ['qr.create_code', 'POST'],
      ['qr.put_code', 'PUT'],
    ] as const);
    const target = `/instore/orders/qr/seller/collectors/${merchant}/pos/${external_id}/qrs`;
    return { operation, method, target, v1: false, look: null, clear: null };
  },
];
type Spell = (connection: Connection, till: QrTill, chance: Chance) => Spelling;

async function settle(
  connection: Connection,
  chance: Chance,
  till: QrTill,
  { clear, target }: Spelling,
  told: Answer,
): Promise<void> {
  const { in_store_order_id } = Object(told.body) as { in_store_order_id?: string }; // only dynamic codes have one
  const buyer =
    in_store_order_id === undefined
      ? `/pos/${connection.merchant}/${till.external_id}`
      : `/payables/${in_store_order_id}`;
  const plan = chance.between(1, 10);
  if (plan <= 6) await connection.act(`${buyer}/pay`);
  else if (plan === 7) await connection.act(`${buyer}/decline`);
  else if (plan <= 9 && clear !== null) await connection.call(clear, 'DELETE', target);
}

function preferenceBody(till: QrTill, chance: Chance, external_reference: string): Record<string, unknown> {
  return {
    external_reference,
    notification_url: 'https://shop.example.test/ipn/c4n4ry?key=c4n4ry',
    items: [
      {
        id: 'A1',
        title: chance.pick(['Coffee', 'Café con leche', `Menu ${'largo '.repeat(40)}`.trim()]),
        currency_id: till.currency,
        unit_price: price(till, chance),
        quantity: chance.between(1, 3),
        ...(chance.is(0.5) ? { description: 'black', picture_url: 'https://shop.example.test/a.png' } : {}),
      },
    ],
    ...(chance.is(0.1) ? { table: 4 } : {}),
  };
}

function orderBody(till: QrTill, chance: Chance, external_reference: string): Record<string, unknown> {
  const items = Array.from({ length: chance.pick([1, 1, 2, 3, 12]) }, (_, index) => {
    const unit_price = price(till, chance);
    return {
      sku_number: `SKU-${index}`,
      category: 'food',
      title: `Item ${index}`,
      unit_price,
      quantity: 1,
      unit_measure: 'unit',
      total_amount: unit_price,
      ...(chance.is(0.2) ? { description: 'of the day' } : {}),
    };
  });
  const total = items.reduce((sum, item) => sum + Math.round(item.total_amount * 100), 0) / 100;
  return {
    external_reference,
    title: chance.pick(['Shop', 'Tienda centro']),
    description: 'Table 4',
    total_amount: total,
    items,
    notification_url: 'https://shop.example.test/ipn/c4n4ry?key=c4n4ry',
    ...(chance.is(0.3) ? { cash_out: { amount: 0 } } : {}),
    ...(chance.is(0.1) ? { waiter: 'marta.canary@buyers.example.test' } : {}),
  };
}

/** A price with the decimals of the currency, within the allowed sums. */
function price({ exponent }: QrTill, chance: Chance): number {
  return exponent === 0 ? chance.between(20, 900) * 10 : chance.between(1600, 90_000) / 100;
}

function wrongly(body: Record<string, unknown>, chance: Chance): unknown {
  return chance.pick<unknown>([
    { ...body, external_reference: undefined },
    { ...body, items: {} },
    { ...body, items: undefined, total_amount: 'free' },
    '{"title": ',
    { ...body, external_reference: '' },
  ]);
}
