/** Coverage counts every documented field of every create and list that a till sends. */
import { describe, expect, it } from 'vitest';
import type { CoverageView } from '../../../src/ops/readiness/coverage.ts';
import { ARGENTINA, BRAZIL, eventually, POINT, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { codePath, openQrShop, orderPath, preferencePath, type QrShop } from './qr-till.ts';

interface Sent {
  operation: string;
  merchant: string;
  method: string;
  path: (till: { external_id: string; number: number }, device: string) => string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: object;
}

const item = { title: 'Café', unit_price: 100, quantity: 1, unit_measure: 'unit', total_amount: 100 };
const described = { ...item, sku_number: 'K-1', category: 'food', description: 'Black' };
const sale = {
  external_reference: 'sale-1',
  title: 'Shop',
  description: 'At the bar',
  notification_url: 'https://till.example/notices?shop=7',
  total_amount: 100,
  items: [described],
  sponsor: { id: 57 },
};
const sold: Sent[] = [
  {
    operation: 'point.create_intent',
    merchant: BRAZIL,
    method: 'POST',
    path: (_till, device) => `${POINT}/devices/${device}/payment-intents`,
    headers: { 'x-ttl-store-preference': '600' },
    body: {
      amount: 1500,
      description: 'Two coffees',
      external_reference: 'sale-1',
      notification_url: 'https://till.example/notices',
      payment: { type: 'credit_card', installments: 3 },
      additional_info: { external_reference: 'sale-2', print_on_terminal: true, ticket_number: 'T1' },
    },
  },
  {
    operation: 'qr.put_order',
    merchant: ARGENTINA,
    method: 'PUT',
    path: (till) => orderPath(till.external_id),
    body: sale,
  },
  {
    operation: 'qr.create_code',
    merchant: ARGENTINA,
    method: 'POST',
    path: (till) => codePath(till.external_id),
    body: sale,
  },
  {
    operation: 'qr.put_code',
    merchant: ARGENTINA,
    method: 'PUT',
    path: (till) => codePath(till.external_id),
    body: sale,
  },
  ...(['qr_v1.create', 'qr_v1.replace'] as const).map((operation) => ({
    operation,
    merchant: ARGENTINA,
    method: operation === 'qr_v1.create' ? 'POST' : 'PUT',
    path: (till: { external_id: string }) => preferencePath(till.external_id),
    body: {
      external_reference: 'Factura 0001',
      notification_url: 'https://till.example/notices',
      sponsor_id: 57,
      items: [{ id: 'K-1', title: 'Café', currency_id: 'ARS', unit_price: 100, quantity: 1, description: 'Black' }],
    },
  })),
  {
    operation: 'point.list_devices',
    merchant: ARGENTINA,
    method: 'GET',
    path: () => `${POINT}/devices`,
    query: { limit: '50', offset: '0', store_id: '10001', pos_id: '1000001' },
  },
];

describe.each(['orders', 'shadow'])('for a merchant on %s', (stage) => {
  const shop = openForAll(() => openQrShop({ PUENTE_ROUTING_DEFAULT_STAGE: stage }));

  it.each(sold)('$operation: each field that came is seen', async (sent) => {
    const { operation, merchant, method, headers = {}, query = {}, body } = sent;
    const target = `${sent.path(shop.freshTill(), shop.freshDevice())}?${new URLSearchParams(query)}`;
    const options = body === undefined ? {} : { body };
    const answer = await shop.till(target.replace(/\?$/, ''), {
      method,
      headers,
      token: tokenOf(merchant),
      ...options,
    });
    expect(answer.status, answer.text).toBeLessThan(300);
    const came = new Set([
      ...namesOf(body, 'body'),
      ...Object.keys(headers).map((name) => `headers.${name}`),
      ...Object.keys(query).map((name) => `query.${name}`),
    ]);
    const cells = await eventually(
      () => cellsOf(shop, merchant, operation),
      (all) => all.some(({ equal, different }) => equal + different > 0),
    );
    const known = cells.filter(({ field }) => came.has(field));
    expect(known.length).toBeGreaterThan(2);
    expect(known.filter(({ equal, different }) => equal + different === 0)).toEqual([]);
    const others = cells.filter(({ field }) => !came.has(field) && /^(body|query|headers)\./.test(field));
    const isInside = (field: string): boolean =>
      [...came].some((one) => field.startsWith(`${one}.`) || field.startsWith(`${one}[`));
    expect(others.filter(({ field, equal }) => equal > 0 && !isInside(field) && !isAround(came, field))).toEqual([]);
  });
});

/** True for a field that contains one of the sent fields. */
function isAround(came: ReadonlySet<string>, field: string): boolean {
  return [...came].some((one) => one.startsWith(`${field}.`) || one.startsWith(`${field}[`));
}

async function cellsOf(shop: QrShop, merchant: string, operation: string): Promise<CoverageView['cells']> {
  const { body } = await shop.ops(`/api/merchants/${merchant}/coverage?operation=${operation}`);
  return (body as Pick<CoverageView, 'cells'>).cells;
}

/** Field paths as in the tables: `body.items[].title`. */
function namesOf(value: unknown, at: string): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => namesOf(one, `${at}[]`));
  if (typeof value !== 'object' || value === null) return [at];
  return Object.entries(value).flatMap(([name, inner]) => namesOf(inner, `${at}.${name}`));
}
