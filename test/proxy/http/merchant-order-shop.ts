/** Shared by the tests of merchant orders: sales of each family, the buyer, reads and searches. */
import { afterAll, beforeAll, expect } from 'vitest';
import type { MerchantOrder } from '../../../src/proxy/qr/merchant-orders.ts';
import { type Answer, ARGENTINA, type Bench, call, startBench, tokenOf } from '../../kit.ts';

/** The tills of every merchant of the sandbox. */
export const TILL = 'SUC001POS001';
export const OTHER_TILL = 'SUC001POS002';
/** Real numbers have eleven or twelve digits (`docs/field-notes.md` QR finding 5). */
export const ABOVE_REAL_ONES = 1_000_000_000_000;
/** Longer than every test: background reads are off. */
export const NEVER = { PUENTE_RECONCILE_QR_INTERVAL_MS: '3600000', PUENTE_RECONCILE_MAX_INTERVAL_MS: '3600000' };
const FRESH = { ...NEVER, PUENTE_READS_FRESH_MS: '0', PUENTE_READS_SEARCH_FRESH_MS: '0' };

export const v1 = (till: string, merchant = ARGENTINA): string => `/mpmobile/instore/qr/${merchant}/${till}`;
export const v2 = (till: string, merchant = ARGENTINA): string =>
  `/instore/qr/seller/collectors/${merchant}/pos/${till}/orders`;
export const code = (till: string): string => `/instore/orders/qr/seller/collectors/${ARGENTINA}/pos/${till}/qrs`;

export const ITEM = { id: 'A1', title: 'Coffee', currency_id: 'ARS', unit_price: 120.5, quantity: 2 };
export const PREFERENCE = { notification_url: 'https://shop.test/ipn?tenant=7', items: [ITEM] };
export const STORE_ITEM = {
  sku_number: 'A1',
  category: 'food',
  title: 'Coffee',
  unit_price: 120.5,
  quantity: 2,
  unit_measure: 'unit',
  total_amount: 241,
};
export const SALE = { title: 'Sale', total_amount: 241, items: [STORE_ITEM] };

export interface Found {
  elements: MerchantOrder[] | null;
  next_offset: number;
  total: number;
}
export const NOTHING: Found = { elements: null, next_offset: 0, total: 0 };

interface UpstreamOrder {
  id: string;
  transactions: { payments: { id: string }[] };
}

export interface Shop {
  /** Available while the tests of its `describe` run. */
  readonly bench: Bench;
  search(query: Record<string, string>, path?: string, merchant?: string): Promise<Found>;
  only(reference: string, merchant?: string): Promise<MerchantOrder>;
  read(id: number): Promise<MerchantOrder>;
  buyer(action: string, till?: string, merchant?: string): Promise<void>;
  /** The newest order upstream, whose id tills never see. */
  newestOrder(): Promise<UpstreamOrder>;
  /** @param amount null for all of it. */
  refund(amount: string | null): Promise<void>;
  /** A sale made past Puente. */
  legacySale(reference: string): Promise<void>;
  /** Number of upstream reads whose path starts like this. */
  reads(path: string): Promise<number>;
}

/** Puente and the sandbox for the tests of one `describe`; by default without caches. */
export function openShop(settings: Record<string, string> = FRESH): Shop {
  let started: Bench | null = null;
  beforeAll(async () => {
    started = await startBench(settings);
  });
  afterAll(() => started?.close());
  const bench = (): Bench => {
    if (started === null) throw new Error('the bench stands inside of tests alone');
    return started;
  };
  const token = tokenOf(ARGENTINA);
  const shop: Shop = {
    get bench() {
      return bench();
    },
    async search(query, path = '/merchant_orders/search', merchant = ARGENTINA) {
      const answer = await bench().till(`${path}?${new URLSearchParams(query)}`, { merchant });
      expect(answer.status, answer.text).toBe(200);
      return answer.body as Found; // every success has this form
    },
    async only(reference, merchant = ARGENTINA) {
      const { elements } = await shop.search({ external_reference: reference }, '/merchant_orders', merchant);
      expect(elements).toHaveLength(1);
      return elements?.[0] as MerchantOrder; // its length was checked
    },
    async read(id) {
      const answer = await bench().till(`/merchant_orders/${id}`);
      expect(answer.status, answer.text).toBe(200);
      return answer.body as MerchantOrder; // every success has this form
    },
    buyer: (action, till = TILL, merchant = ARGENTINA) =>
      made(bench().control(`/pos/${merchant}/${till}/${action}`, { body: {} })),
    async newestOrder() {
      const { orders } = (await bench().control('/state')).body as { orders: { id: string }[] };
      const { body } = await call(`${bench().sandbox.url}/v1/orders/${orders.at(-1)?.id}`, { token });
      return body as UpstreamOrder; // upstream's form
    },
    async refund(amount) {
      const { id, transactions } = await shop.newestOrder();
      const body = amount === null ? undefined : { transactions: [{ id: transactions.payments[0]?.id, amount }] };
      const headers = { 'x-idempotency-key': `refund-${++count}` };
      await made(call(`${bench().sandbox.url}/v1/orders/${id}/refund`, { method: 'POST', token, headers, body }));
    },
    legacySale: (reference) =>
      made(
        call(bench().sandbox.url + v2(OTHER_TILL), {
          method: 'PUT',
          token,
          body: { ...SALE, external_reference: reference },
        }),
      ),
    async reads(path) {
      const { requests } = (await bench().control('/state')).body as { requests: { method: string; path: string }[] };
      return requests.filter((one) => one.method === 'GET' && one.path.startsWith(path)).length;
    },
  };
  return shop;
}

let count = 0;

/** A reference that no other test uses; its space makes Puente derive one for upstream. */
export function freshReference(): string {
  return `INV ${String(++count).padStart(4, '0')}`;
}

export async function made(answer: Promise<Answer>): Promise<void> {
  const { status, text } = await answer;
  expect(status, text).toBeLessThan(300);
}
