/** The calls of tills, as in the legacy documentation. */
import type { Sale } from './clients.ts';
import type { Ask } from './door.ts';
import type { RefundAsk } from './history.ts';
import { merchants, type QrForm } from './steps.ts';

const QR_LIFE_MS = 12 * 60_000;

/** The invented token of a merchant of the sandbox's cast. */
export function tokenOf(merchant_id: string): string {
  return `APP_USR-4004001-112026-00000000000000000000000000000a01-${merchant_id}`;
}

export function headersOf(merchant_id: string): Record<string, string> {
  return { authorization: `Bearer ${tokenOf(merchant_id)}`, 'content-type': 'application/json' };
}

export function pointSale(unit: string, amount: number, external_reference: string) {
  const body = { amount, additional_info: { external_reference, print_on_terminal: true } };
  const url = `/point/integration-api/devices/${unit}/payment-intents`;
  return { method: 'POST', url, place: url, body: JSON.stringify(body) };
}

export function qrSale(
  { kind, unit, form }: { kind: string; unit: string; form?: QrForm },
  merchant_id: string,
  amount_minor: number,
  external_reference: string,
  now: number,
) {
  const amount = decimal(amount_minor);
  const item = `{"sku_number":"A1","category":"food","title":"Sale","unit_price":${amount},"quantity":1,"unit_measure":"unit","total_amount":${amount}}`;
  const until = new Date(now + QR_LIFE_MS).toISOString();
  const body = `{"external_reference":"${external_reference}","title":"Shop","description":"Counter","total_amount":${amount},"expiration_date":"${until}","items":[${item}]}`;
  const place = placeOf(merchant_id, unit);
  if (form === 'v1 POST' || form === 'v1 PUT') {
    const currency = merchant_id === merchants[0] ? 'ARS' : 'BRL';
    const goods = `{"id":"A1","title":"Sale","currency_id":"${currency}","unit_price":${amount},"quantity":1}`;
    const preference = `{"external_reference":"${external_reference}","items":[${goods}]}`;
    const url = `/mpmobile/instore/qr/${merchant_id}/${unit}`;
    return { method: form === 'v1 POST' ? 'POST' : 'PUT', url, place: url, body: preference };
  }
  if (kind === 'dynamic' || form === 'hybrid') {
    const url = `/instore/orders/qr/seller/collectors/${merchant_id}/pos/${unit}/qrs`;
    return { method: kind === 'dynamic' ? 'POST' : 'PUT', url, place, body };
  }
  return { method: 'PUT', url: place, place, body };
}

/** The path to read and delete the order on a counter. */
function placeOf(merchant_id: string, unit: string): string {
  return `/instore/qr/seller/collectors/${merchant_id}/pos/${unit}/orders`;
}

/** A sale that is known to its till. */
type Named = Pick<Sale, 'kind' | 'merchant_id' | 'legacy_id' | 'place'>;

export function readAsk(sale: Named): Ask {
  const url = sale.kind === 'point' ? `/point/integration-api/payment-intents/${sale.legacy_id}` : sale.place;
  return { method: 'GET', url, headers: headersOf(sale.merchant_id), body: null };
}

export function cancelAsk(sale: Named): Ask {
  const url = sale.kind === 'point' ? `${sale.place}/${sale.legacy_id}` : sale.place;
  return { method: 'DELETE', url, headers: headersOf(sale.merchant_id), body: null };
}

export function merchantOrderAsk(merchant_id: string, merchant_order_id: number): Ask {
  return { method: 'GET', url: `/merchant_orders/${merchant_order_id}`, headers: headersOf(merchant_id), body: null };
}

/** The body `{}` requests all that is left. */
export function refundAsk(merchant_id: string, { payment_id, minor, key }: RefundAsk): Ask {
  const headers = { ...headersOf(merchant_id), ...(key === null ? {} : { 'x-idempotency-key': key }) };
  const body = Buffer.from(minor === null ? '{}' : `{"amount":${decimal(minor)}}`);
  return { method: 'POST', url: `/v1/payments/${payment_id}/refunds`, headers, body };
}

export function refundsAsk(merchant_id: string, payment_id: string): Ask {
  return { method: 'GET', url: `/v1/payments/${payment_id}/refunds`, headers: headersOf(merchant_id), body: null };
}

/** As text, because an amount must not pass through a double. */
function decimal(minor: number): string {
  return `${Math.floor(minor / 100)}.${String(minor % 100).padStart(2, '0')}`;
}
