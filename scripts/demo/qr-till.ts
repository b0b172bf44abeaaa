/** A till with a printed code: legacy in-store API (v2), payments by IPN (`docs/field-notes.md` QR §1.2, §5). */
import type { Answer } from '../http.ts';
import { fieldsOf, noteSale, type Sale, type Shop } from './shop.ts';

/** Without decimals, because Chile has none. */
const PRICE = 1250;

/** Puts a sale on the code, waits for its first notice (a later one would supersede it). @throws Error when refused. */
export async function showSale(shop: Shop, till: string): Promise<Sale> {
  const { sale, answer } = await tryCode(shop, till);
  if (sale === null) throw new Error(`The till could not sell: ${answer.status} ${JSON.stringify(answer.body)}`);
  await shop.toldOf((told) => told.topic === 'merchant_order' && told.reference === sale.reference);
  return sale;
}

export async function tryCode(shop: Shop, till: string): Promise<{ sale: Sale | null; answer: Answer }> {
  const reference = shop.nextReference();
  const answer = await shop.call('qr.put_order', 'PUT', pathOf(shop, till), {
    body: {
      external_reference: reference,
      title: 'Two coffees',
      description: 'At the bar',
      notification_url: shop.notice_url,
      total_amount: 2 * PRICE,
      items: [{ title: 'Coffee', unit_price: PRICE, quantity: 2, unit_measure: 'unit', total_amount: 2 * PRICE }],
    },
  });
  if (answer.status >= 300) return { sale: null, answer };
  const amount_minor = 2 * PRICE * 10 ** (shop.site === 'MLC' ? 0 : 2);
  const sale = noteSale(shop, { family: 'qr', unit: till, reference, id: null, amount_minor, state: 'opened' });
  return { sale, answer };
}

/** The buyer scans the code and pays; the till waits for both notices. */
export async function payByCode(shop: Shop, sale: Sale): Promise<void> {
  await shop.act(`/pos/${shop.merchant}/${sale.unit}/pay`);
  const payment = await shop.toldOf(({ topic, reference }) => topic === 'payment' && reference === sale.reference);
  sale.payment_id = payment === null ? null : Number(payment.subject);
  await order(shop, sale, 'closed');
}

export async function takeAway(shop: Shop, sale: Sale): Promise<Answer> {
  const answer = await shop.call('qr.cancel_order', 'DELETE', pathOf(shop, sale.unit));
  if (answer.status < 300) await order(shop, sale, 'expired');
  return answer;
}

/** Reads the merchant order of a sale by the tills' usual search. */
export async function readOrder(shop: Shop, sale: Sale): Promise<void> {
  const target = `/merchant_orders/search?external_reference=${sale.reference}`;
  const { elements } = fieldsOf(await shop.call('merchant_orders.search', 'GET', target));
  const [found] = (elements ?? []) as { status: string }[]; // the search's shape
  sale.state = found?.status ?? 'not found';
}

async function order(shop: Shop, sale: Sale, state: string): Promise<void> {
  await shop.toldOf(
    (told) => told.topic === 'merchant_order' && told.reference === sale.reference && told.state === state,
  );
  await readOrder(shop, sale);
}

function pathOf({ merchant }: Shop, till: string): string {
  return `/instore/qr/seller/collectors/${merchant}/pos/${till}/orders`;
}
