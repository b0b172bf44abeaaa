/** Payments whose event is late or lost still belong to their sale (`docs/field-notes.md` QR §3). */
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ARGENTINA, BRAZIL, call, tokenOf } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { freshReference, openPayments, payment, refund, search, TELLS_NOBODY } from './payment-sale.ts';
import { preference, preferencePath } from './qr-till.ts';

const NOBODYS = '131313131313';

const shop = openForAll(() => openPayments());
beforeAll(async () => {
  await shop.upstreamSettings({ webhook_mode: 'drop' });
});
afterEach(() => shop.clearFaults());

interface UpstreamPaid {
  transactions: { payments?: { reference_id?: string }[] };
}

/** A QR sale that its buyer has just paid, and the number of the payment; Puente got no event. */
async function paidUnseen(reference: string): Promise<number> {
  const till = shop.freshTill().external_id;
  const created = await shop.till(preferencePath(till), {
    body: preference({ external_reference: reference, ...TELLS_NOBODY }),
  });
  expect(created.status, created.text).toBe(200);
  expect((await shop.buyer(till, 'pay')).status).toBe(200);
  const [order] = (await shop.ordersAt(till)) as UpstreamPaid[];
  return Number(order?.transactions.payments?.[0]?.reference_id);
}

const reads = async (path: string): Promise<number> =>
  (await shop.requests(path)).filter(({ method }) => method === 'GET').length;

describe('a payment of ours that nobody told us of', () => {
  it.each([
    ['a derived reference', () => freshReference()],
    ["the till's own reference", () => `plain-${freshReference().slice(4)}`],
  ])('is read in our words right after the buyer paid, with %s', async (_name, newReference) => {
    const reference = newReference();
    const number = await paidUnseen(reference);
    expect(await payment(shop, number)).toMatchObject({
      id: number,
      status: 'approved',
      external_reference: reference,
      order: { type: 'mercadopago', id: expect.stringMatching(/^8\d{15}$/) },
    });
  });

  it('is refunded right after the buyer paid', async () => {
    const number = await paidUnseen(freshReference());
    const part = await refund(shop, number, { amount: 100.5 });
    expect([part.status, part.body]).toEqual([201, expect.objectContaining({ payment_id: number, amount: 100.5 })]);
    expect(await payment(shop, number)).toMatchObject({ transaction_amount_refunded: 100.5 });
  });

  it('is refunded as a collection', async () => {
    const number = await paidUnseen(freshReference());
    const whole = await shop.till(`/collections/${number}`, { method: 'PUT', body: { status: 'refunded' } });
    expect([whole.status, whole.body]).toEqual([200, expect.objectContaining({ id: number, status: 'refunded' })]);
  });

  it('at a terminal too', async () => {
    const device = shop.freshDevice();
    const reference = freshReference();
    await shop.create(device, { additional_info: { external_reference: reference } });
    await shop.atTerminal('pay', { device });
    const { orders } = (await shop.control('/state')).body as { orders: UpstreamPaid[] }; // the control door's form
    const number = Number(orders.at(-1)?.transactions.payments?.[0]?.reference_id);
    expect(await payment(shop, number)).toMatchObject({ external_reference: reference });
    expect((await refund(shop, number)).status).toBe(201);
  });

  it('is known by its number once any search has found it', async () => {
    const number = await paidUnseen(freshReference());
    expect((await search(shop, { id: String(number) })).results).toMatchObject([{ id: number }]);
    const before = await reads(`/v1/payments/${number}`);
    expect((await refund(shop, number)).status).toBe(201);
    expect(await reads(`/v1/payments/${number}`)).toBe(before);
  });

  it.each([
    ['is answered with an error', { kind: 'error', status: 503, code: 'away' }, 'away'],
    ['has a page in its place [F138]', { kind: 'html', status: 404 }, '<html>'],
  ])('is proxied while it %s, and ours as soon as it can be read', async (_name, fault, told) => {
    const reference = freshReference();
    const number = await paidUnseen(reference);
    const path = `/v1/payments/${number}`;
    await shop.fault({ method: 'GET', path, times: 2, ...fault });
    const proxied = await shop.till(path);
    expect([proxied.status, proxied.text]).toEqual([fault.status, expect.stringContaining(told)]);
    expect(await payment(shop, number)).toMatchObject({ external_reference: reference });
  });
});

it('a page in place of a payment of ours is no word that there is none [F138]', async () => {
  const number = await paidUnseen(freshReference());
  const path = `/v1/payments/${number}`;
  const known = await payment(shop, number);
  await refund(shop, number, { amount: 1 }); // its order has changed, so that the payment is read anew
  await shop.fault({ method: 'GET', path, kind: 'html', status: 404, times: 1 });
  expect((await shop.till(path)).status).toBe(503);
  expect(await payment(shop, number)).toMatchObject({ id: known.id, transaction_amount_refunded: 1 });
});

describe('a payment that is none of ours', () => {
  it('is asked about once, however often it is read', async () => {
    const till = shop.freshTill().external_id;
    await call(`${shop.sandbox.url}${preferencePath(till)}`, { token: tokenOf(ARGENTINA), body: preference() });
    await shop.buyer(till, 'pay');
    const [foreign] = (await search(shop, { sort: 'date_created', criteria: 'desc', limit: '1' })).results;
    const path = `/v1/payments/${foreign?.id}`;
    const before = await reads(path);
    for (let read = 0; read < 5; read++) {
      expect((await shop.till(path)).body).toEqual(foreign);
    }
    expect((await reads(path)) - before).toBe(6);
  });

  it('is proxied without a question for a merchant who never had a sale on orders', async () => {
    const [before, users] = [await reads(`/v1/payments/${NOBODYS}`), await reads('/users/me')];
    expect((await shop.till(`/v1/payments/${NOBODYS}`, { merchant: BRAZIL })).status).toBe(404);
    expect((await reads(`/v1/payments/${NOBODYS}`)) - before).toBe(1);
    expect(await reads('/users/me')).toBe(users);
  });

  it('is proxied with a token that nobody has accepted, which legacy refuses', async () => {
    const number = await paidUnseen(freshReference());
    const token = `APP_USR-1-112026-${'f'.repeat(32)}-${ARGENTINA}`;
    const before = await reads(`/v1/payments/${number}`);
    expect((await shop.till(`/v1/payments/${number}`, { token })).status).toBe(401);
    expect((await reads(`/v1/payments/${number}`)) - before).toBe(1);
  });
});
