/**
 * A till with a card terminal, like Odoo's `pos_mercado_pago`, on the legacy API (`docs/field-notes.md` Point §4.1).
 */
import type { Answer } from '../http.ts';
import { fieldsOf, noteSale, type Sale, type Shop } from './shop.ts';

export const POINT = '/point/integration-api';

/** Optional parts of a sale's body that legacy accepted. */
export interface Extras {
  reference?: string;
  amount_minor?: number;
  body?: object;
}

const AMOUNT_MINOR = 2500;

/** Creates a sale. @throws Error when it is refused. */
export async function openIntent(shop: Shop, device: string, extras: Extras = {}): Promise<Sale> {
  const { sale, answer } = await tryIntent(shop, device, extras);
  if (sale === null) throw new Error(`The till could not sell: ${answer.status} ${JSON.stringify(answer.body)}`);
  return sale;
}

export async function tryIntent(
  shop: Shop,
  device: string,
  extras: Extras = {},
): Promise<{ sale: Sale | null; answer: Answer }> {
  const { reference = shop.nextReference(), amount_minor = AMOUNT_MINOR } = extras;
  const answer = await askIntent(shop, device, reference, amount_minor, extras.body);
  const { id } = Object(answer.body) as { id?: string }; // refusals have none
  if (answer.status >= 300 || id === undefined) return { sale: null, answer };
  const sale = noteSale(shop, { family: 'point', unit: device, reference, id, amount_minor, state: 'OPEN' });
  await readIntent(shop, sale);
  return { sale, answer };
}

/** Only the create, for tills that press the button again. */
export function askIntent(
  shop: Shop,
  device: string,
  reference: string,
  amount_minor = AMOUNT_MINOR,
  more: object = {},
): Promise<Answer> {
  const additional_info = { external_reference: reference, print_on_terminal: true };
  return shop.call('point.create_intent', 'POST', `${POINT}/devices/${device}/payment-intents`, {
    body: { amount: amount_minor, additional_info, ...more },
    headers: { 'x-platform-id': 'dev_demo' },
  });
}

export async function readIntent(shop: Shop, sale: Sale): Promise<void> {
  const { state, payment } = fieldsOf(
    await shop.call('point.get_intent', 'GET', `${POINT}/payment-intents/${sale.id}`),
  );
  sale.state = String(state);
  const { id } = Object(payment) as { id?: number }; // absent before the payment
  if (id !== undefined) sale.payment_id = id;
}

/** The person at the terminal acts, and the till waits for its notice. */
export async function atTerminal(shop: Shop, sale: Sale, action: 'pay' | 'decline' | 'cancel'): Promise<void> {
  await shop.act(`/terminals/${shop.merchant}/${sale.unit}/${action}`);
  await settle(shop, sale);
}

/** The cashier cancels before the terminal shows the sale. */
export async function cancelIntent(shop: Shop, sale: Sale): Promise<Answer> {
  const target = `${POINT}/devices/${sale.unit}/payment-intents/${sale.id}`;
  const answer = await shop.call('point.cancel_intent', 'DELETE', target);
  if (answer.status === 200) await settle(shop, sale);
  return answer;
}

export async function refund(shop: Shop, sale: Sale): Promise<Answer> {
  const answer = await shop.call('payments.create_refund', 'POST', `/v1/payments/${sale.payment_id}/refunds`, {
    body: {},
  });
  if (answer.status < 300) sale.refunded = true;
  return answer;
}

/** After its notice the till reads the intent and the payment. */
async function settle(shop: Shop, sale: Sale): Promise<void> {
  await shop.toldOf(({ subject }) => subject === sale.id);
  await readIntent(shop, sale);
  if (sale.payment_id !== null) fieldsOf(await shop.call('payments.get', 'GET', `/v1/payments/${sale.payment_id}`));
}
