/** Legacy calls that everyday tills leave out, so that a soak uses every operation. */
import type { Answer } from '../http.ts';
import type { Chance } from '../make-capture/chance.ts';
import type { Connection } from '../make-capture/counter.ts';

export interface RareTill {
  device: string;
  pos: string;
  pos_number: number;
  currency: string;
}

const POINT = '/point/integration-api';

/** One round, independent of earlier calls. @param number for references. */
export async function rareCalls(connection: Connection, chance: Chance, till: RareTill, number: number): Promise<void> {
  const round = chance.pick([cancelWithoutDevice, refundByNumber, byInternalNumber, singularCode] as const);
  await round(connection, till, number);
}

async function cancelWithoutDevice(connection: Connection, { device }: RareTill, number: number): Promise<void> {
  const id = await intent(connection, device, number);
  await connection.call('point.get_intent_by_device', 'GET', `${POINT}/devices/${device}/payment-intents/${id}`);
  await connection.call('point.cancel_intent_without_device', 'DELETE', `${POINT}/payment-intents/${id}`);
}

async function refundByNumber(connection: Connection, { device }: RareTill, number: number): Promise<void> {
  const id = await intent(connection, device, number);
  await connection.act(`/terminals/${connection.merchant}/${device}/pay`);
  const seen = await connection.call('point.get_intent', 'GET', `${POINT}/payment-intents/${id}`);
  const { payment } = fields(seen) as { payment?: { id?: number } }; // absent when the sale failed
  const body = { payment_id: payment?.id ?? 0 };
  await connection.call('point.create_refund_intent', 'POST', `${POINT}/devices/${device}/refund`, { body });
  const refunds = `/v1/payments/${payment?.id ?? 0}/refunds`;
  const made = await connection.call('payments.create_refund', 'POST', refunds, { body: { amount: 1 } });
  await connection.call('payments.get_refund', 'GET', `${refunds}/${fields(made).id ?? 0}`);
}

async function byInternalNumber(connection: Connection, till: RareTill, number: number): Promise<void> {
  const target = `/mpmobile/instore/qr/${till.pos_number}`;
  const item = { id: 'R1', title: 'Rare', currency_id: till.currency, unit_price: 50, quantity: 2 };
  const body = { external_reference: `R-${number}`, items: [item] };
  await connection.call('qr_v1.replace_by_number', 'PUT', target, { body });
  await connection.call('qr_v1.get_by_number', 'GET', target);
  await connection.call('qr_v1.cancel_by_number', 'DELETE', target);
}

async function singularCode(connection: Connection, till: RareTill, number: number): Promise<void> {
  const { merchant } = connection;
  const target = `/instore/orders/qr/seller/collector/${merchant}/pos/${till.pos}/qrs`;
  const external_reference = `R-${number}`;
  const item = { title: 'Rare', unit_price: 75, quantity: 1, unit_measure: 'unit', total_amount: 75 };
  const body = { external_reference, title: 'Shop', description: 'Rare', total_amount: 75, items: [item] };
  const isEven = number % 2 === 0;
  const code = isEven
    ? await connection.call('qr.create_code_singular', 'POST', target, { body })
    : await connection.call('qr.put_code_singular', 'PUT', target, { body });
  await connection.act(`/payables/${fields(code).in_store_order_id ?? 'none'}/pay`);
  const query = `external_reference=${external_reference}`;
  const found = await connection.call('merchant_orders.search_by_query', 'GET', `/merchant_orders?${query}`);
  await connection.call('merchant_orders.search_with_slash', 'GET', `/merchant_orders/?${query}`);
  const { elements } = fields(found) as { elements?: { id: number }[] | null }; // the search's shape
  const id = elements?.[0]?.id ?? 0;
  await connection.call('merchant_orders.get', 'GET', `/merchant_orders/${id}`);
  const confirmation = { body: { status: 'confirm', status_detail: 'confirmed' } };
  await connection.call('qr.confirm_withdrawal', 'POST', `/instore/orders/${id}/confirmation`, confirmation);
}

/** Creates a sale on the terminal; returns `none` when it was refused. */
async function intent(connection: Connection, device: string, number: number): Promise<unknown> {
  const body = { amount: 2_500, additional_info: { external_reference: `R-${number}` } };
  const target = `${POINT}/devices/${device}/payment-intents`;
  const answer = await connection.call('point.create_intent', 'POST', target, { body });
  return fields(answer).id ?? 'none';
}

function fields({ body }: Answer): Record<string, unknown> {
  return Object(body) as Record<string, unknown>; // text and numbers have no such fields
}
