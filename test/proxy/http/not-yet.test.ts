/** Work that upstream can't do yet: retried with the same key while the till waits, then 503 with retry-after. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit.ts';
import { openForAll } from '../../open.ts';
import { openPayments, payment, refund, sellAtTerminal, sellByQr } from './payment-sale.ts';
import { orderPath, preference, preferencePath, type QrShop } from './qr-till.ts';
import { idOf } from './till.ts';

/** Where upstream is ready at the next try. */
const patient = openForAll(() => openPayments());
/** Where it is not until the deadline: a short one, because the budget of retries is for all of its tests. */
const hasty = openForAll(() => openPayments({ PUENTE_CREATE_DEADLINE_MS: '1500' }));
beforeEach(() => Promise.all([patient.clearFaults(), hasty.clearFaults()]));

const SAYS: [number, string][] = [
  [425, 'order_payment_not_yet_enabled_for_refund'],
  [409, 'movement_operations_pending'],
  [409, 'post_processing_operation_pending'],
  [409, 'processor_communication_error'],
  [409, 'refund_in_progress'],
  [422, 'unprocessable_entity'],
];

function fault(shop: QrShop, path: string, status: number, code: string, times: number | 'always'): Promise<Answer> {
  return shop.fault({ method: 'POST', path, kind: 'error', status, code, message: 'Try again shortly.', times });
}

/** In the family's form, so that an official SDK repeats the call. */
function expectAnotherTry(answer: Answer): void {
  expect(answer.status, answer.text).toBe(503);
  expect(answer.body).toMatchObject({ status: 503, message: expect.stringContaining('try again') });
  expect(answer.headers['retry-after']).toBe('1');
}

async function keysOf(shop: QrShop, path: string, before: number): Promise<(string | null)[]> {
  return (await shop.requests(path))
    .filter(({ method }) => method === 'POST')
    .slice(before)
    .map((one) => one.idempotency_key);
}

describe('a refund', () => {
  it.each(SAYS)('%i %s once: made under one key', async (status, code) => {
    const shop = patient;
    const sale = await sellAtTerminal(shop);
    const path = `/v1/orders/${sale.order_id}/refund`;
    await fault(shop, path, status, code, 1);
    expect((await refund(shop, sale.payment, { amount: 1 }, { 'x-idempotency-key': 'a' })).status).toBe(201);
    const keys = await keysOf(shop, path, 0);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
    expect((await payment(shop, sale.payment)).transaction_amount_refunded).toBe(1);
  });

  it.each<[string, object | undefined, number]>([
    ['of a part', { amount: 1 }, 1],
    ['of the whole', undefined, 15],
  ])('%s, for as long as it lasts: another try, and one refund in the end', async (_name, body, refunded) => {
    const shop = hasty;
    const sale = await sellAtTerminal(shop);
    await fault(shop, `/v1/orders/${sale.order_id}/refund`, 409, 'movement_operations_pending', 'always');
    expectAnotherTry(await refund(shop, sale.payment, body, { 'x-idempotency-key': 'b' }));
    expect((await payment(shop, sale.payment)).transaction_amount_refunded).toBe(0);
    await shop.clearFaults();
    expect((await refund(shop, sale.payment, body, { 'x-idempotency-key': 'b' })).status).toBe(201);
    expect((await refund(shop, sale.payment, body, { 'x-idempotency-key': 'b' })).status).toBe(201);
    expect((await payment(shop, sale.payment)).transaction_amount_refunded).toBe(refunded);
  });

  it('of a QR payment, as the oldest clients ask for it', async () => {
    const shop = hasty;
    const sale = await sellByQr(shop);
    const path = `/v1/orders/${sale.order_id}/refund`;
    const ask = () => shop.till(`/collections/${sale.payment}`, { method: 'PUT', body: { status: 'refunded' } });
    await fault(shop, path, 425, 'too_early', 'always');
    expectAnotherTry(await ask());
    await shop.clearFaults();
    expect((await ask()).status).toBe(200);
  });
});

describe('a cancel', () => {
  it('at the terminal, once: done under one key', async () => {
    const shop = patient;
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    const path = `/v1/orders/${shop.rows(device)[0]?.order_id}/cancel`;
    await fault(shop, path, 409, 'processor_communication_error', 1);
    expect((await shop.cancel(device, id)).status).toBe(200);
    const keys = await keysOf(shop, path, 0);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    expect((await shop.read(id)).body).toMatchObject({ state: 'CANCELED' });
  });

  it('at the terminal, for as long as it lasts: told as worth another try, and done by it', async () => {
    const shop = hasty;
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    await fault(shop, '/v1/orders/*/cancel', 409, 'processor_communication_error', 'always');
    expectAnotherTry(await shop.cancel(device, id));
    await shop.clearFaults();
    expect((await shop.cancel(device, id)).status).toBe(200);
    expect((await shop.read(id)).body).toMatchObject({ state: 'CANCELED' });
  });

  it('that was done all the same is told as done when it is repeated', async () => {
    const shop = patient;
    const device = shop.freshDevice();
    const id = idOf(await shop.create(device));
    const path = `/v1/orders/${shop.rows(device)[0]?.order_id}/cancel`;
    const said = { kind: 'error', status: 409, code: 'processor_communication_error', times: 'always' };
    await shop.fault({ method: 'POST', path, when: 'after', ...said });
    expect((await shop.cancel(device, id)).status).toBe(200);
  });

  it('of a QR sale, and the sale that replaces it', async () => {
    const shop = hasty;
    const { external_id } = shop.freshTill();
    const body = preference({ notification_url: undefined });
    expect((await shop.till(preferencePath(external_id), { body })).status).toBe(200);
    await fault(shop, '/v1/orders/*/cancel', 409, 'processor_communication_error', 'always');
    expectAnotherTry(await shop.till(orderPath(external_id), { method: 'DELETE' }));
    expectAnotherTry(
      await shop.till(preferencePath(external_id), { body: { ...body, external_reference: 'Factura 9' } }),
    );
    await shop.clearFaults();
    expect((await shop.till(orderPath(external_id), { method: 'DELETE' })).status).toBe(204);
  });
});

describe('a create', () => {
  it('once: made under one key', async () => {
    const shop = patient;
    const device = shop.freshDevice();
    const before = (await keysOf(shop, '/v1/orders', 0)).length;
    await fault(shop, '/v1/orders', 409, 'post_processing_operation_pending', 1);
    expect((await shop.create(device)).status).toBe(201);
    expect(new Set(await keysOf(shop, '/v1/orders', before)).size).toBe(1);
    expect(await shop.orders(device)).toHaveLength(1);
  });

  it('for as long as it lasts: another try, nothing is left in the way of the next one', async () => {
    const shop = hasty;
    const device = shop.freshDevice();
    await fault(shop, '/v1/orders', 422, 'unprocessable_entity', 'always');
    expectAnotherTry(await shop.create(device));
    expect(shop.rows(device)[0]?.state).toBe('NOT_SENT');
    const { external_id } = shop.freshTill();
    expectAnotherTry(
      await shop.till(preferencePath(external_id), { body: preference({ notification_url: undefined }) }),
    );
    await shop.clearFaults();
    expect((await shop.create(device)).status).toBe(201);
    expect(await shop.orders(device)).toHaveLength(1);
  });
});
