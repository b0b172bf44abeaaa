/** The orders behind intents and QR sales that exist before an exchange begins. */
import { decimalText } from '../../src/mapping/values.ts';
import type { Given, GivenIntent, GivenSale } from './kit.ts';

/** Creation time of the orders unless a file says otherwise: so long ago that nothing of them is pending. */
export const MADE_AT = '2026-01-31T17:10:37.402Z';
const ENDED_AT = '2026-01-31T17:11:37.402Z';

export interface OrderFacts {
  order_id: string;
  merchant: string;
  reference: string;
}

/** The fields of Puente's create that the order repeats. */
export interface AskedOrder {
  external_reference: string;
  total_amount?: string;
  config?: { qr?: { external_pos_id: string; mode: string } };
  transactions?: { payments?: { amount: string }[] };
}

export function isSale(given: Given): given is GivenSale {
  return 'sale' in given;
}

export function orderOf(given: GivenIntent, facts: OrderFacts): Record<string, unknown> {
  return {
    id: facts.order_id,
    type: 'point',
    user_id: facts.merchant,
    external_reference: facts.reference,
    ...created,
    config: { point: { terminal_id: given.device } },
    transactions: { payments: [{ amount: decimalText(given.body.amount, 2), status: 'created' }] },
  };
}

/** The same for a QR sale: the order repeats the create, and dynamic and hybrid codes have a text to render. */
export function qrOrderOf(given: GivenSale, facts: OrderFacts, asked: AskedOrder): Record<string, unknown> {
  const { total_amount, config, transactions } = asked;
  const payments = (transactions?.payments ?? []).map(({ amount }) => ({
    id: paymentOf(facts),
    amount,
    status: 'created',
  }));
  return {
    id: facts.order_id,
    type: 'qr',
    user_id: facts.merchant,
    external_reference: facts.reference,
    ...created,
    total_amount,
    config,
    transactions: { payments },
    type_response: { qr_data: `00020101021243650016COM.MERCADOLIBRE${facts.order_id}` },
    ...given.order,
  };
}

const created = {
  status: 'created',
  status_detail: 'created',
  created_date: MADE_AT,
  last_updated_date: MADE_AT,
};

export function ended(order: Record<string, unknown>, given: Given): Record<string, unknown> {
  return { ...order, last_updated_date: ENDED_AT, ...given.ends };
}

/** The n-th order id of a run, in upstream's form. */
export function orderId(count: number): string {
  return `ORD01KG9Z8Q7X4V2${String(count).padStart(13, '0')}`;
}

function paymentOf({ order_id }: OrderFacts): string {
  return `PAY${order_id.slice('ORD'.length)}`;
}
