/** Refunds on orders: full, partial, repeated, in doubt (`docs/field-notes.md` QR §3, `docs/protocol.md` §3.9). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { ARGENTINA, call, eventually, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import {
  openPayments,
  payment,
  QUIET,
  type RefundShown,
  refund,
  refundsAsked,
  type Sale,
  type SearchShown,
  search,
  sellAtTerminal,
  sellByQr,
  TELLS_NOBODY,
} from './payment-sale.ts';
import { preference, preferencePath, type QrShop, TILL } from './qr-till.ts';
import { type Outside, startOutside } from './unruly.ts';

const shop = openForAll(() => openPayments({ PUENTE_READS_FRESH_MS: '0' }));

const listed = async (sale: Sale): Promise<RefundShown[]> =>
  (await shop.till(`/v1/payments/${sale.payment}/refunds`)).body as RefundShown[]; // an array in every case here

describe('POST /v1/payments/{id}/refunds', () => {
  it('refunds parts, and what is left as the whole', async () => {
    const sale = await sellByQr(shop);
    expect((await refund(shop, sale.payment, { amount: 100.5 })).body).toMatchObject({ amount: 100.5 });
    expect(await payment(shop, sale.payment)).toMatchObject({
      status: 'approved',
      status_detail: 'partially_refunded',
    });
    const last = await refund(shop, sale.payment, { amount: 200.5 });
    expect(last.body, last.text).toMatchObject({ amount: 200.5 });
    expect(await payment(shop, sale.payment)).toMatchObject({ status: 'refunded', transaction_amount_refunded: 301 });
    expect((await listed(sale)).map((one) => one.amount)).toEqual([100.5, 200.5]);
  });

  it('makes one refund of a repeated key, whatever the form of the amount, and answers it again', async () => {
    const sale = await sellByQr(shop);
    const key = { 'x-idempotency-key': 'the same' };
    const [first, second, third] = await Promise.all([
      refund(shop, sale.payment, { amount: 10 }, key),
      refund(shop, sale.payment, { amount: 10 }, key),
      shop.till(`/v1/payments/${sale.payment}/refunds/`, { body: '{"amount":10.00}', headers: key }),
    ]);
    expect([first?.status, second?.status, third?.status]).toEqual([201, 201, 201]);
    expect(second?.text).toBe(first?.text);
    expect(third?.text).toBe(first?.text);
    expect(await refundsAsked(shop, sale)).toHaveLength(1);
  });

  it.each([{}, { 'x-idempotency-key': 'the one' }])(
    'makes another one when the first has failed, and the till asks again with %j',
    async (headers: Record<string, string>) => {
      await shop.upstreamSettings({ processing_refund_ends: 'failed' });
      const sale = await sellByQr(shop);
      const first = (await refund(shop, sale.payment, undefined, headers)).body as RefundShown;
      await shop.control('/clock', { body: { advance_ms: 1_000 } });
      await shop.upstreamSettings({ processing_refund_ends: 'processed' });
      const second = await refund(shop, sale.payment, undefined, headers);
      await shop.control('/clock', { body: { advance_ms: 1_000 } });
      expect(second.status, second.text).toBe(201);
      expect((second.body as RefundShown).id).not.toBe(first.id);
      expect(await payment(shop, sale.payment)).toMatchObject({ status: 'refunded', transaction_amount_refunded: 301 });
    },
  );

  it('refuses a key that comes back with another request', async () => {
    const sale = await sellByQr(shop);
    const key = { 'x-idempotency-key': 'once' };
    await refund(shop, sale.payment, { amount: 10 }, key);
    const other = await refund(shop, sale.payment, { amount: 11 }, key);
    expect(other.body).toMatchObject({ status: 400, cause: [{ code: 1 }] });
    expect(await refundsAsked(shop, sale)).toHaveLength(1);
  });

  it.each(['', '{}', 'null'])('refunds all of a payment by the body %j', async (body) => {
    const sale = await sellByQr(shop);
    const answer = await shop.till(`/v1/payments/${sale.payment}/refunds`, { method: 'POST', body });
    expect(answer.body, answer.text).toMatchObject({ payment_id: sale.payment, amount: 301 });
    expect(await payment(shop, sale.payment)).toMatchObject({ status: 'refunded' });
  });

  it('takes an empty key for none: parts of a payment are refunds of their own', async () => {
    const sale = await sellByQr(shop);
    const key = { 'x-idempotency-key': '' };
    const parts = [
      await refund(shop, sale.payment, { amount: 10 }, key),
      await refund(shop, sale.payment, { amount: 11 }, key),
    ];
    expect(parts.map(({ status }) => status)).toEqual([201, 201]);
    expect((await listed(sale)).map((one) => one.amount)).toEqual([10, 11]);
  });

  it('refuses what is refunded already, with the number that clients compare', async () => {
    const sale = await sellByQr(shop);
    await refund(shop, sale.payment);
    expect((await refund(shop, sale.payment)).status, 'its answer may have been lost').toBe(201);
    await listed(sale);
    expect((await refund(shop, sale.payment)).body).toMatchObject({ status: 404, cause: [{ code: 4296 }] });
  });
});

describe('the date of a refund', () => {
  const datesOf = async (one: QrShop, sale: Sale, refund_id: number): Promise<Set<string>> => {
    const path = `/v1/payments/${sale.payment}`;
    const own = (all: RefundShown[]) => all.filter(({ id }) => id === refund_id);
    const { body: list } = await one.till(`${path}/refunds`);
    const { body: single } = await one.till(`${path}/refunds/${refund_id}`);
    const { body: collection } = await one.till(`/collections/${sale.payment}`);
    const found = (await search(one, { external_reference: sale.reference })).results;
    const shown = [
      own(list as RefundShown[]), // an array in every case here, as are the others
      [single as RefundShown],
      own((await payment(one, sale.payment)).refunds),
      own(found.find(({ id }) => id === sale.payment)?.refunds ?? []),
      own((collection as { collection: { refunds: RefundShown[] } }).collection.refunds),
    ];
    expect(shown.map((all) => all.length)).toEqual([1, 1, 1, 1, 1]);
    return new Set(shown.flat().map(({ date_created }) => date_created));
  };

  it.each([
    ['by QR', sellByQr],
    ['at a terminal', sellAtTerminal],
  ])(
    '%s is the one that the till was answered, whatever clock the service has, and after another refund',
    async (_how, sell) => {
      const ticking = await openPayments({ PUENTE_READS_FRESH_MS: '0', PUENTE_READS_SEARCH_FRESH_MS: '0' });
      try {
        const sale = await sell(ticking);
        await ticking.control('/clock', { body: { advance_ms: 90_000 } });
        const first = (await refund(ticking, sale.payment, { amount: 5 })).body as RefundShown;
        // Upstream's own date is later.
        const real = await call(`${ticking.sandbox.url}/v1/payments/${sale.payment}/refunds`, {
          token: tokenOf(ARGENTINA),
        });
        expect((real.body as RefundShown[])[0]?.date_created).not.toBe(first.date_created);
        expect(await datesOf(ticking, sale, first.id)).toEqual(new Set([first.date_created]));
        await ticking.control('/clock', { body: { advance_ms: 90_000 } });
        const second = (await refund(ticking, sale.payment)).body as RefundShown;
        for (const order_payments of ['readable', 'hidden']) {
          await ticking.upstreamSettings({ order_payments });
          expect(await datesOf(ticking, sale, first.id)).toEqual(new Set([first.date_created]));
          expect(await datesOf(ticking, sale, second.id)).toEqual(new Set([second.date_created]));
        }
      } finally {
        await ticking.close();
      }
    },
  );

  it('is the same where the event comes before the answer to the refund', async () => {
    const sale = await sellByQr(shop);
    await shop.control('/clock', { body: { advance_ms: 90_000 } });
    const path = `/v1/orders/${sale.order_id}/refund`;
    await shop.fault({ method: 'POST', path, kind: 'delay', when: 'after', delay_ms: 1_500 });
    const asked = refund(shop, sale.payment, { amount: 5 });
    const [early] = await eventually(
      () => listed(sale),
      (all) => all.length > 0,
    );
    const made = (await asked).body as RefundShown;
    expect(early).toMatchObject({ id: made.id, date_created: made.date_created });
  });

  it('of one that somebody else made stays when the next is made, also where it is told from the order', async () => {
    const sale = await sellByQr(shop);
    const panel = (amount: string) =>
      call(`${shop.sandbox.url}/v1/orders/${sale.order_id}/refund`, {
        method: 'POST',
        token: tokenOf(ARGENTINA),
        headers: { 'x-idempotency-key': `the panel ${amount} of ${sale.order_id}` },
        ...(amount === '' ? {} : { body: { transactions: [{ id: transaction, amount }] } }),
      });
    const order = await call(`${shop.sandbox.url}/v1/orders/${sale.order_id}`, { token: tokenOf(ARGENTINA) });
    const transaction = (order.body as { transactions: { payments: { id: string }[] } }).transactions.payments[0]?.id;
    await shop.upstreamSettings({ order_payments: 'hidden' });
    try {
      expect((await panel('5.00')).status).toBe(201);
      const [first] = await eventually(
        () => listed(sale),
        (all) => all.length === 1,
      );
      await shop.control('/clock', { body: { advance_ms: 90_000 } });
      expect((await panel('')).status).toBe(201);
      const both = await eventually(
        () => listed(sale),
        (all) => all.length === 2,
      );
      expect(both[0]).toEqual(first);
    } finally {
      await shop.upstreamSettings({ order_payments: 'readable' });
    }
  });

  it('is the same after a restart', async () => {
    const sandbox = await startSandbox({ port: 0, host: '127.0.0.1' });
    const settings = { ...QUIET, PUENTE_DATA_DIR: mkdtempSync(join(tmpdir(), 'puente-test-')) };
    const reference = 'INV 9001';
    const found = async (till: Outside['till']) =>
      ((await till(`/v1/payments/search?external_reference=${encodeURIComponent(reference)}`)).body as SearchShown)
        .results[0];
    let puente = await startOutside(sandbox.url, settings);
    try {
      const body = preference({ external_reference: reference, ...TELLS_NOBODY });
      expect((await puente.till(preferencePath(TILL), { body })).status).toBe(200);
      await call(`${sandbox.url}/_sandbox/pos/${ARGENTINA}/${TILL}/pay`, { body: {} });
      const path = `/v1/payments/${(await found(puente.till))?.id}/refunds`;
      await call(`${sandbox.url}/_sandbox/clock`, { body: { advance_ms: 90_000 } });
      const made = (await puente.till(path, { body: { amount: 5 } })).body as RefundShown;
      await puente.close();
      puente = await startOutside(sandbox.url, settings);
      const { id, date_created } = made;
      expect((await puente.till(path)).body).toMatchObject([{ id, date_created }]);
      expect((await puente.till(`${path}/${id}`)).body).toMatchObject({ id, date_created });
      expect((await found(puente.till))?.refunds).toMatchObject([{ id, date_created }]);
    } finally {
      await puente.close();
      await sandbox.close();
      rmSync(settings.PUENTE_DATA_DIR, { recursive: true, force: true });
    }
  });
});
