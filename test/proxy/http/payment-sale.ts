/** Paid sales for the tests of payments: by QR and at a terminal, with the numbers of upstream and of the till. */
import type { AppParts } from '../../../src/app/app.ts';
import { type Answer, ARGENTINA, eventually } from '../../kit.ts';
import { openQrShop, preference, preferencePath, type QrShop } from './qr-till.ts';

export interface PaymentShown {
  id: number;
  status: string;
  status_detail: string;
  external_reference: string | null;
  transaction_amount: number;
  transaction_amount_refunded: number;
  order?: { id: string; type: string };
  refunds: RefundShown[];
  fee_details?: unknown[];
  date_approved: string | null;
}

export interface RefundShown {
  id: number;
  payment_id: number;
  amount: number;
  status: string;
  date_created: string;
}

export interface SearchShown {
  paging: { total: number; limit: number; offset: number };
  results: PaymentShown[];
}

export interface Sale {
  payment: number;
  order_id: string;
  reference: string;
}

export const QUIET = {
  PUENTE_RECONCILE_QR_INTERVAL_MS: '3600000',
  PUENTE_RECONCILE_POINT_INTERVAL_MS: '3600000',
  PUENTE_RECONCILE_MAX_INTERVAL_MS: '3600000',
};

/** Without a notice URL, so that no test calls an outside receiver. */
export const TELLS_NOBODY = { notification_url: undefined };

let sales = 0;

/** Its space makes Puente derive a reference for upstream. */
export function freshReference(): string {
  return `INV ${String(++sales).padStart(4, '0')}`;
}

export function openPayments(settings: Record<string, string> = {}, parts: AppParts = {}): Promise<QrShop> {
  return openQrShop({ ...QUIET, ...settings }, parts);
}

/** A v1 sale of 301 on its own till, paid by its buyer. */
export async function sellByQr(shop: QrShop, options: SaleOptions = {}): Promise<Sale> {
  const { merchant = ARGENTINA, till = shop.freshTill().external_id, reference = freshReference(), change } = options;
  const body = preference({ external_reference: reference, ...TELLS_NOBODY, ...change });
  const created = await shop.till(preferencePath(till, merchant), { merchant, body });
  if (created.status !== 200) throw new Error(`the sale was not made: ${created.text}`);
  await shop.control(`/pos/${merchant}/${till}/pay`, { body: options.pay ?? {} });
  return paid(shop, reference, merchant);
}

export interface SaleOptions {
  merchant?: string;
  till?: string;
  reference?: string;
  change?: object;
  pay?: object;
}

/** An intent of 15.00 on its own terminal, paid there. */
export async function sellAtTerminal(shop: QrShop, amount = 1500): Promise<Sale> {
  const device = shop.freshDevice();
  const reference = freshReference();
  await shop.create(device, { amount, additional_info: { external_reference: reference } });
  await shop.atTerminal('pay', { device });
  return paid(shop, reference, ARGENTINA);
}

/** Waits until the search finds the payment, as a till does. */
async function paid(shop: QrShop, reference: string, merchant: string): Promise<Sale> {
  const found = await eventually(
    () => search(shop, { external_reference: reference }, merchant),
    ({ results }) => results.length > 0,
  );
  const payment = found.results[0]?.id ?? 0;
  const { orders } = (await shop.control('/state')).body as { orders: UpstreamPaid[] }; // the control door's form
  const order = orders.find((one) => one.transactions.payments?.[0]?.reference_id === String(payment));
  return { payment, reference, order_id: order?.id ?? '' };
}

interface UpstreamPaid {
  id: string;
  transactions: { payments?: { reference_id?: string }[] };
}

export async function search(shop: QrShop, query: Record<string, string>, merchant = ARGENTINA): Promise<SearchShown> {
  const answer = await shop.till(`/v1/payments/search?${new URLSearchParams(query)}`, { merchant });
  if (answer.status !== 200) throw new Error(`the search was refused: ${answer.text}`);
  return answer.body as SearchShown; // the tests check every field they use
}

export async function payment(shop: QrShop, id: number, merchant = ARGENTINA): Promise<PaymentShown> {
  const answer = await shop.till(`/v1/payments/${id}`, { merchant });
  if (answer.status !== 200) throw new Error(`the payment was refused: ${answer.text}`);
  return answer.body as PaymentShown; // as above
}

export function refund(
  shop: QrShop,
  id: number,
  body?: object,
  headers: Record<string, string> = {},
  merchant = ARGENTINA,
): Promise<Answer> {
  const options = { method: 'POST', merchant, headers };
  return shop.till(`/v1/payments/${id}/refunds`, body === undefined ? options : { ...options, body });
}

export function refundsAsked(shop: QrShop, sale: Sale) {
  return shop.requests(`/v1/orders/${sale.order_id}/refund`);
}
