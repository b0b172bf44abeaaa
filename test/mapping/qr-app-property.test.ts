/** Any v2 sale through the whole of Puente: upstream gets its exact amount, and the till reads its own values back. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseJson, stringifyJson } from '../../src/contract/json.ts';
import { ARGENTINA, type Bench, BRAZIL, CHILE, call, startBench, tokenOf, URUGUAY } from '../kit.ts';
import { exact, RUNS } from './property-kit.ts';
import { type QrBody, type Site, storeOrdersOf } from './property-qr-bodies.ts';

/** A case is six calls over real sockets. */
const APP_RUNS = Math.ceil(RUNS / 8);
const HOUR_MS = 3_600_000;
/** Upstream's least amount in Argentina. */
const LEAST_MINOR = 1500n;

const sellers: readonly { site: Site; merchant: string }[] = [
  { site: 'MLA', merchant: ARGENTINA },
  { site: 'MLB', merchant: BRAZIL },
  { site: 'MLC', merchant: CHILE },
  { site: 'MLU', merchant: URUGUAY },
];

let bench: Bench;
let sold = 0;

beforeAll(async () => {
  bench = await startBench({ PUENTE_ROUTING_DEFAULT_STAGE: 'orders', PUENTE_READS_SEARCH_FRESH_MS: '0' });
});

afterAll(async () => {
  await bench?.close();
});

const paths = fc.constantFrom('/stores/SUC001/pos/SUC001POS001', '/pos/SUC001POS001', '/pos/SUC002POS001');

const cases = fc
  .constantFrom(...sellers)
  .chain(({ site, merchant }) =>
    fc.record({ merchant: fc.constant(merchant), path: paths, sale: storeOrdersOf(site, LEAST_MINOR, false) }),
  );

/** Adapts a body to the sandbox's seller: no cash-out, no marketplace, dates from now, and its own reference. */
function sendable(body: QrBody): QrBody {
  const number = ++sold;
  const entries = Object.entries(body).filter(([key]) => key !== 'marketplace_fee' && key !== 'sponsor');
  return Object.fromEntries(
    entries.map(([key, value]) => {
      if (key === 'expiration_date' && value !== null) return [key, new Date(Date.now() + HOUR_MS).toISOString()];
      if (key === 'notification_url' && value !== null) return [key, `http://127.0.0.1:9/${number}?ünicode=1&x=%20`];
      if (key !== 'external_reference') return [key, value];
      return [key, typeof value === 'string' ? `${number} ${value}`.slice(0, 256).toWellFormed() : number];
    }),
  );
}

test('reaches the service over the same money, and is read back as it was sent', async () => {
  await fc.assert(
    fc.asyncProperty(cases, async ({ merchant, path, sale }) => {
      const text = stringifyJson(sendable(sale.body));
      const sent = parseJson(text) as Record<string, unknown>; // generated bodies are objects
      const url = `/instore/qr/seller/collectors/${merchant}${path}/orders`;
      const put = await bench.till(url, { method: 'PUT', merchant, body: text });
      expect(`${put.status} ${put.text}`).toBe('204 ');
      expect((await bench.till(url, { merchant })).text).toBe(text);
      await expectOrder(merchant, sent);
      await expectMerchantOrder(merchant, sent);
    }),
    { numRuns: APP_RUNS },
  );
}, 600_000);

async function expectOrder(merchant: string, sent: Record<string, unknown>): Promise<void> {
  const { body } = await bench.control('/state');
  const { orders } = body as { orders: { id: string }[] }; // the control door's form
  const newest = orders.at(-1);
  const order = await call(`${bench.sandbox.url}/v1/orders/${newest?.id}`, { token: tokenOf(merchant) });
  const { total_amount, transactions } = order.body as {
    total_amount: string;
    transactions: { payments: { amount: string }[] };
  }; // as test/sandbox shows
  expect(exact(total_amount)).toBe(exact(sent.total_amount));
  expect(transactions.payments.map(({ amount }) => exact(amount))).toEqual([exact(sent.total_amount)]);
}

async function expectMerchantOrder(merchant: string, sent: Record<string, unknown>): Promise<void> {
  const reference = String(sent.external_reference);
  const query = `external_reference=${encodeURIComponent(reference)}`;
  const found = (await bench.till(`/merchant_orders/search?${query}`, { merchant })).body as {
    elements: { id: number; external_reference: string }[] | null;
  }; // the documented form of a search
  expect(found.elements?.map(({ external_reference }) => external_reference)).toEqual([reference]);
  const answer = await bench.till(`/merchant_orders/${found.elements?.[0]?.id}`, { merchant });
  const shown = parseJson(answer.text) as Record<string, unknown>; // the documented form of a merchant order
  expect(shown.external_reference).toBe(reference);
  expect(exact(shown.total_amount)).toBe(exact(sent.total_amount));
  const priced = (items: unknown) =>
    ((items ?? []) as { title: string; unit_price: unknown; quantity: unknown }[]).map((item) => ({
      title: item.title,
      unit_price: exact(item.unit_price),
      quantity: exact(item.quantity),
    }));
  expect(priced(shown.items)).toEqual(priced(sent.items));
}
