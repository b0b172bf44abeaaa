/** Tills and receivers as in public code (`docs/field-notes.md` QR §2 "What integrators actually check", §7). */
import { type Answer, call, type Delivery } from '../kit.ts';

type Json = Record<string, unknown>;

export interface Connection {
  door_url: string;
  token: string;
  merchant: string;
}

const send = ({ door_url, token }: Connection, method: string, path: string, body?: object): Promise<Answer> =>
  call(door_url + path, { method, token, ...(body === undefined ? {} : { body }) });

export interface Handled {
  topic: string;
  /** The path that the receiver requested. */
  asked: string;
  status: unknown;
  order_status: unknown;
  verdict: 'not paid' | 'release the item' | 'paid, ship it first';
}

/**
 * The official IPN example. A payment notice leads to the payment and by `order.id` to the merchant order; a merchant
 * order notice leads straight there. The sale is paid when the approved payments add up to the total.
 */
export async function handleIpn(connection: Connection, { query, body }: Delivery): Promise<Handled> {
  const topic = query.get('topic') ?? '';
  const order =
    topic === 'payment'
      ? await orderOfPayment(connection, query.get('id') ?? '')
      : await orderOfResource(connection, String((body as Json).resource));
  const payments = order.found.payments as { status: string; transaction_amount: number }[]; // not validated, as in the example
  let paid_amount = 0;
  for (const payment of payments) if (payment.status === 'approved') paid_amount += payment.transaction_amount;
  const { status, order_status } = order.found;
  const isPaid = paid_amount >= Number(order.found.total_amount);
  const ships = (order.found.shipments as unknown[]).length > 0;
  const verdict = !isPaid ? 'not paid' : ships ? 'paid, ship it first' : 'release the item';
  return { topic, asked: order.asked, status, order_status, verdict };
}

interface FoundOrder {
  asked: string;
  found: Json;
}

async function orderOfPayment(connection: Connection, payment_id: string): Promise<FoundOrder> {
  const payment = await send(connection, 'GET', `/v1/payments/${payment_id}`);
  if (payment.status !== 200) throw new Error(`The payment was not there: ${payment.text}`);
  const { order } = payment.body as { order: { id: number } };
  const asked = `/merchant_orders/${order.id}`;
  const found = await send(connection, 'GET', asked);
  if (found.status !== 200) throw new Error(`The merchant order was not there: ${found.text}`);
  return { asked, found: found.body as Json };
}

/** Requests the URL in the notice, as many receivers do. */
async function orderOfResource({ token }: Connection, resource: string): Promise<FoundOrder> {
  const found = await call(resource, { token });
  if (found.status !== 200) throw new Error(`The resource was not there: ${found.text}`);
  return { asked: new URL(resource).pathname, found: found.body as Json };
}

interface Sale {
  reference: string;
  title: string;
  /** In whole units, as these tills send it. */
  total: number;
  notification_url?: string;
}

const storeOrder = ({ reference, title, total, notification_url }: Sale): object => ({
  external_reference: reference,
  title,
  description: title,
  notification_url,
  total_amount: total,
  items: [
    {
      sku_number: reference,
      category: 'others',
      title,
      unit_price: total,
      quantity: 1,
      unit_measure: 'unit',
      total_amount: total,
    },
  ],
  cash_out: { amount: 0 },
});

/** A code of its own (`POST`), or one that the till's printed code shows too (`PUT`). */
export async function makeCode(
  connection: Connection,
  method: 'POST' | 'PUT',
  till: string,
  sale: Sale,
): Promise<{ qr_data: string; in_store_order_id: string }> {
  const path = `/instore/orders/qr/seller/collectors/${connection.merchant}/pos/${till}/qrs`;
  const { status, body, text } = await send(connection, method, path, storeOrder(sale));
  if (status < 200 || status > 299) throw new Error(`There is no code: ${text}`);
  return body as { qr_data: string; in_store_order_id: string }; // not validated, as in public code
}
