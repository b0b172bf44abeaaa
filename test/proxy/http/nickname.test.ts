/** The seller's name in merchant orders and refunds; no call waits for it (`docs/field-notes.md` QR §2, §3). */
import { describe, expect, it } from 'vitest';
import { openForAll } from '../../open.ts';
import { openPayments, type RefundShown, refund, refundsAsked, sellByQr } from './payment-sale.ts';

const USERS = '/users/me';

/** Faults that hide the name; each has its own Puente, because a learned name is cached. */
describe.each([
  ['answers an error', { kind: 'error', status: 503, code: 'away' }, 1],
  ['is silent', { kind: 'no_answer' }, 1],
  // On a second connection, too.
  ['breaks off', { kind: 'reset' }, 2],
])('while %s', (_name, fault, requests) => {
  const shop = openForAll(() => openPayments({ PUENTE_READS_FRESH_MS: '0', PUENTE_CREATE_DEADLINE_MS: '3000' }));

  const asked = async (): Promise<number> => (await shop.requests(USERS)).length;

  it('is asked for once, before the refund, and then for a minute not again', async () => {
    const sale = await sellByQr(shop);
    await shop.fault({ path: USERS, ...fault, times: 'always' });
    const before = await asked();
    const made = await refund(shop, sale.payment, { amount: 1 });
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    expect((made.body as { source: object }).source).toMatchObject({ name: '' });
    const log = await shop.requests('/');
    const sent_at = log.findIndex(({ path }) => path === `/v1/orders/${sale.order_id}/refund`);
    expect(log.findLastIndex(({ path }) => path === USERS)).toBeLessThan(sent_at);
    for (let read = 0; read < 5; read++) {
      const found = await shop.till(`/merchant_orders/search?external_reference=${encodeURIComponent(sale.reference)}`);
      expect(found.body).toMatchObject({ total: 1, elements: [{ collector: { nickname: '' } }] });
    }
    const again = await refund(shop, sale.payment);
    expect((again.body as RefundShown).amount).toBe(300);
    expect((await asked()) - before).toBe(requests);
    expect(await refundsAsked(shop, sale)).toHaveLength(2);
  });
});

describe('while the call has hardly any time left', () => {
  const shop = openForAll(() => openPayments({ PUENTE_CREATE_DEADLINE_MS: '1200' }));

  it('the refund keeps what it needs of it', async () => {
    const sale = await sellByQr(shop);
    await shop.fault({ path: USERS, kind: 'no_answer', times: 'always' });
    expect((await refund(shop, sale.payment)).status).toBe(201);
  });
});
