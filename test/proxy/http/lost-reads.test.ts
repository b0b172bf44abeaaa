/** A read whose answer was lost makes nothing known to its till: equal requests are repeats (`docs/protocol.md` §3.9). */
import { afterEach, expect, it } from 'vitest';
import { createLog } from '../../../src/proxy/telemetry/telemetry.ts';
import { type Answer, ARGENTINA, eventually, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import {
  freshReference,
  openPayments,
  payment,
  type RefundShown,
  refund,
  type Sale,
  sellByQr,
  TELLS_NOBODY,
} from './payment-sale.ts';
import { preference, preferencePath } from './qr-till.ts';

/** Of the sale, in every answer that shows it. */
const TOTAL = '301';

const lines: string[] = [];
const log = createLog('info', { write: (line) => void lines.push(line) });
const FRESH = { PUENTE_READS_FRESH_MS: '0', PUENTE_READS_SEARCH_FRESH_MS: '0' };
const shop = openForAll(() => openPayments(FRESH, { log }));
afterEach(() => shop.clearFaults());

/** Sends a read, and disconnects while Puente waits for upstream; resolves when Puente has answered nobody. */
async function lose(path: string, upstream_path: string): Promise<void> {
  const answered = (): number => lines.join('').split('"msg":"call"').length;
  const before = { answered: answered(), asked: (await shop.requests(upstream_path)).length };
  await shop.fault({ method: 'GET', path: `${upstream_path}*`, kind: 'delay', delay_ms: 200 });
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${tokenOf(ARGENTINA)}` };
  const gone = fetch(shop.app.public_url + path, { headers, signal: leaving.signal });
  await eventually(
    () => shop.requests(upstream_path),
    ({ length }) => length > before.asked,
  );
  leaving.abort();
  await expect(gone).rejects.toThrow();
  await eventually(
    async () => answered(),
    (count) => count > before.answered,
  );
}

it.each<[string, (sale: Sale) => string, (sale: Sale) => string]>([
  ['of its payment', ({ payment }) => `/v1/payments/${payment}`, ({ payment }) => `/v1/payments/${payment}`],
  ['of its refunds', ({ payment }) => `/v1/payments/${payment}/refunds`, ({ payment }) => `/v1/payments/${payment}`],
  [
    'by the reference',
    ({ reference }) => `/v1/payments/search?${new URLSearchParams({ external_reference: reference })}`,
    () => '/v1/payments/search',
  ],
])('a refund is not made again after a lost read %s, and is after one that arrived', async (_what, read, upstream) => {
  const sale = await sellByQr(shop);
  const part = async (): Promise<unknown> =>
    ((await refund(shop, sale.payment, { amount: 10 })).body as { id: number }).id;
  const first = await part();
  await lose(read(sale), upstream(sale));
  expect(await part()).toBe(first);
  expect((await shop.till(read(sale))).status).toBe(200);
  expect(await part()).not.toBe(first);
});

it("a refund is not made again after a read that does not show it, because upstream's payments lag", async () => {
  const sale = await sellByQr(shop);
  const path = `/v1/payments/${sale.payment}`;
  const part = async () => ((await refund(shop, sale.payment, { amount: 10 })).body as RefundShown).id;
  const first = await part();
  expect((await payment(shop, sale.payment)).refunds).toMatchObject([{ id: first }]);
  const { refunds } = await payment(shop, sale.payment);
  const second = await part();
  expect(second).not.toBe(first);
  const set = { transaction_amount_refunded: 10, refunds };
  await shop.fault({ method: 'GET', path, kind: 'alter', when: 'after', set });
  expect((await payment(shop, sale.payment)).refunds).toHaveLength(1);
  expect(await part()).toBe(second);
  expect((await payment(shop, sale.payment)).refunds).toHaveLength(2);
  expect(await part()).not.toBe(second);
});

it.each(['/v1/payments/search', '/merchant_orders/search'])(
  'a sale is not made again after a lost answer of %s, nor after one without it, and is after one that shows it',
  async (path) => {
    const till = shop.freshTill().external_id;
    const external_reference = freshReference();
    const sell = (): Promise<Answer> =>
      shop.till(preferencePath(till), { body: preference({ external_reference, ...TELLS_NOBODY }) });
    const search = `${path}?${new URLSearchParams({ external_reference })}`;
    const first = (await sell()).body as { id: string };
    await shop.buyer(till, 'pay');
    await lose(search, path);
    expect((await sell()).body).toMatchObject({ id: first.id });
    expect((await shop.till(preferencePath(till), { method: 'GET' })).status, 'shows no payment').toBe(404);
    expect((await sell()).body).toMatchObject({ id: first.id });
    expect(await shop.ordersAt(till)).toHaveLength(1);
    expect((await shop.till(`${search}&status=expired`)).text).not.toContain(TOTAL);
    expect((await sell()).body).toMatchObject({ id: first.id });
    expect((await shop.till(search)).text).toContain(TOTAL);
    expect((await sell()).body).not.toMatchObject({ id: first.id });
    expect(await shop.ordersAt(till)).toHaveLength(2);
  },
);
