/** Refunds through the sandbox's payments API: every refusal that something can cause, whole, in parts and repeated. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { refundAnswer } from '../../src/contract/payments.ts';
import { BRAZIL, type Kit, openKit, type Reply } from './kit.ts';
import { advance, CHILE, configure, DAY_MS, payIntent, payOrder, payQr } from './payment-kit.ts';

let kit: Kit;
beforeAll(async () => {
  kit = await openKit();
});
beforeEach(() => kit.control('POST', 'reset'));
afterAll(() => kit.close());

const refund = (id: number, options: object = {}) => kit.call('POST', `/v1/payments/${id}/refunds`, options);
const part = (id: number, amount: unknown, options: object = {}) => refund(id, { body: { amount }, ...options });
const read = async (id: number) => (await kit.call('GET', `/v1/payments/${id}`)).body;
const causeOf = (reply: Reply) => [reply.status, reply.body.cause[0].code];

describe('refusals', () => {
  test('2000: an unknown payment, and one of another merchant', async () => {
    const id = await payIntent(kit);
    expect(causeOf(await refund(1))).toEqual([404, 2000]);
    expect(causeOf(await refund(id, { merchant: BRAZIL }))).toEqual([404, 2000]);
  });

  test('2063: a rejected payment', async () => {
    expect(causeOf(await refund(await payIntent(kit, 15_000, 'T', 'decline')))).toEqual([400, 2063]);
  });

  test('2063: a payment of an order, which is refunded through the order', async () => {
    expect(causeOf(await refund((await payOrder(kit)).payment))).toEqual([400, 2063]);
  });

  test('4296: a payment that is refunded already', async () => {
    const id = await payIntent(kit);
    await refund(id);
    expect(causeOf(await refund(id))).toEqual([404, 4296]);
  });

  test.each([[0], [-1], ['0.00'], [-10.5]])('4040: amount %j', async (amount) => {
    expect(causeOf(await part(await payIntent(kit), amount))).toEqual([401, 4040]);
  });

  test.each([['ten'], [true], [null], [[10]], [{}], ['']])('4041: amount %j', async (amount) => {
    expect(causeOf(await part(await payIntent(kit), amount))).toEqual([401, 4041]);
  });

  test('an amount with more decimals than the currency has: 400', async () => {
    expect(causeOf(await part(await payIntent(kit), 10.505))).toEqual([400, 1]);
    expect(causeOf(await part(await payQr(kit, 15_990, CHILE), 10.5, { merchant: CHILE }))).toEqual([400, 1]);
  });

  test('4017: more than is left', async () => {
    const id = await payIntent(kit);
    expect(causeOf(await part(id, 150.01))).toEqual([400, 4017]);
    await part(id, 100);
    expect(causeOf(await part(id, 50.01))).toEqual([400, 4017]);
  });

  test('3024: a part of a payment with a tip, and of one by voucher', async () => {
    const tipped = await payIntent(kit, 15_000, 'T', 'pay', { tip_minor: 100 });
    const voucher = await payIntent(kit, 15_000, 'T', 'pay', { payment_method_type: 'voucher_card' });
    expect(causeOf(await part(tipped, 10))).toEqual([404, 3024]);
    expect(causeOf(await part(voucher, 10))).toEqual([404, 3024]);
    expect((await refund(tipped)).body.amount).toBe(151);
  });

  test('2024: too old, or 15016 by setting; the last moment is not too old', async () => {
    const id = await payIntent(kit);
    await advance(kit, 180 * DAY_MS);
    expect((await part(id, 1)).status).toBe(201);
    await advance(kit, 1);
    expect(causeOf(await refund(id))).toEqual([404, 2024]);
    await configure(kit, { refund_too_old_code: 15016 });
    expect(causeOf(await refund(id))).toEqual([404, 15016]);
    await configure(kit, { payment_refund_days: 181 });
    expect((await refund(id)).status).toBe(201);
  });

  test('4292: without a key, when the setting wants one', async () => {
    const id = await payIntent(kit);
    await configure(kit, { refund_key_required: true });
    expect(causeOf(await refund(id))).toEqual([400, 4292]);
    expect((await refund(id, { key: 'k' })).status).toBe(201);
  });

  test('a broken body, or one that is no object: 400', async () => {
    const id = await payIntent(kit);
    expect((await refund(id, { body: '{"amount":' })).status).toBe(400);
    expect((await refund(id, { body: '[]' })).status).toBe(400);
    expect((await read(id)).refunds).toEqual([]);
  });

  test('2032: an unknown refund, and a refund of another payment', async () => {
    const [one, other] = [await payIntent(kit), await payIntent(kit)];
    const { body } = await refund(other);
    expect(causeOf(await kit.call('GET', `/v1/payments/${one}/refunds/1`))).toEqual([404, 2032]);
    expect(causeOf(await kit.call('GET', `/v1/payments/${one}/refunds/${body.id}`))).toEqual([404, 2032]);
  });

  test('the misspelt …/refounds is nothing', async () => {
    const id = await payIntent(kit);
    expect((await kit.call('POST', `/v1/payments/${id}/refounds`)).status).toBe(404);
    expect((await read(id)).status).toBe('approved');
  });
});

describe('whole', () => {
  test.each([[undefined], ['{}']])('with body %j: 201 and the contract shape', async (body) => {
    const id = await payIntent(kit, 15_050);
    const reply = await refund(id, { body });
    expect([reply.status, refundAnswer.safeParse(reply).success]).toEqual([201, true]);
    expect(reply.body).toMatchObject({
      payment_id: id,
      amount: 150.5,
      amount_refunded_to_payer: 150.5,
      adjustment_amount: 0,
      refund_mode: 'standard',
      source: { id: '700100200', name: 'TESTSELLER1', type: 'collector' },
      status: 'approved',
    });
    expect(await read(id)).toMatchObject({
      status: 'refunded',
      status_detail: 'refunded',
      transaction_amount_refunded: 150.5,
      refunds: [reply.body],
    });
  });

  test('setting payment_refund_status in_process: approved after a while', async () => {
    await configure(kit, { payment_refund_status: 'in_process' });
    const id = await payIntent(kit);
    const { body } = await refund(id);
    expect(body.status).toBe('in_process');
    await advance(kit, 200);
    expect((await kit.call('GET', `/v1/payments/${id}/refunds/${body.id}`)).body.status).toBe('approved');
  });
});

describe('in parts', () => {
  test('until the sum is reached; a part leaves the payment approved', async () => {
    const id = await payIntent(kit);
    expect((await part(id, 10.5)).body.amount).toBe(10.5);
    expect(await read(id)).toMatchObject({
      status: 'approved',
      status_detail: 'partially_refunded',
      transaction_amount_refunded: 10.5,
    });
    expect((await part(id, '39.50')).body.amount).toBe(39.5);
    expect((await part(id, 1e2)).body.amount).toBe(100);
    expect(await read(id)).toMatchObject({ status: 'refunded', transaction_amount_refunded: 150 });
  });

  test('no body after a part refunds what is left', async () => {
    const id = await payIntent(kit);
    await part(id, 10.5);
    expect((await refund(id)).body.amount).toBe(139.5);
  });

  test('whole numbers in Chile', async () => {
    const id = await payQr(kit, 15_990, CHILE);
    expect((await part(id, 990, { merchant: CHILE })).body.amount).toBe(990);
    expect((await refund(id, { merchant: CHILE })).body.amount).toBe(15_000);
  });
});

describe('keys', () => {
  test('the same key with the same body: the same refund', async () => {
    const id = await payIntent(kit);
    const first = await part(id, 10, { key: 'same' });
    const again = await part(id, 10, { key: 'same' });
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect((await read(id)).transaction_amount_refunded).toBe(10);
  });

  test('the same key with another body: 400, and no refund', async () => {
    const id = await payIntent(kit);
    await part(id, 10, { key: 'same' });
    expect((await part(id, 11, { key: 'same' })).status).toBe(400);
    expect((await read(id)).transaction_amount_refunded).toBe(10);
  });

  test('without keys, two equal parts are two refunds', async () => {
    const id = await payIntent(kit);
    await part(id, 10);
    await part(id, 10);
    expect((await read(id)).transaction_amount_refunded).toBe(20);
  });

  test('a refusal is not remembered', async () => {
    const id = await payIntent(kit);
    expect((await part(id, 151, { key: 'k' })).status).toBe(400);
    expect((await part(id, 15, { key: 'k' })).status).toBe(201);
  });
});

describe('reading', () => {
  test.each([['/refunds'], ['/refunds/']])('GET …%s is an array', async (path) => {
    const id = await payIntent(kit);
    expect((await kit.call('GET', `/v1/payments/${id}${path}`)).body).toEqual([]);
    const [one, other] = [await part(id, 10), await part(id, 20)];
    expect((await kit.call('GET', `/v1/payments/${id}${path}`)).body).toEqual([one.body, other.body]);
  });

  test('GET …/refunds/{id} is the answer of its creation', async () => {
    const id = await payIntent(kit);
    const { body } = await part(id, 10);
    expect((await kit.call('GET', `/v1/payments/${id}/refunds/${body.id}`)).body).toEqual(body);
  });
});

describe('PUT /collections/{id}', () => {
  const collect = (id: number, body?: unknown) => kit.call('PUT', `/collections/${id}`, { body });

  test('status refunded refunds the whole payment', async () => {
    const id = await payIntent(kit);
    const reply = await collect(id, { status: 'refunded' });
    expect([reply.status, reply.body.id, reply.body.status]).toEqual([200, id, 'refunded']);
    expect((await read(id)).refunds).toHaveLength(1);
  });

  test('twice: 4296', async () => {
    const id = await payIntent(kit);
    await collect(id, { status: 'refunded' });
    expect(causeOf(await collect(id, { status: 'refunded' }))).toEqual([404, 4296]);
  });

  test.each([
    [undefined, 1],
    [{ status: 'paid' }, 1],
    [{ status: 'cancelled' }, 2063],
  ])('body %j: 400', async (body, cause) => {
    expect(causeOf(await collect(await payIntent(kit), body))).toEqual([400, cause]);
  });
});

describe('setting order_payment_refunds allowed', () => {
  test('the order and its payment are refunded together', async () => {
    await configure(kit, { order_payment_refunds: 'allowed' });
    const { order, payment } = await payOrder(kit);
    expect((await part(payment, 10.5)).body.amount).toBe(10.5);
    expect((await kit.call('GET', `/v1/orders/${order}`)).body.status_detail).toBe('partially_refunded');
    expect((await refund(payment)).body.amount).toBe(139.5);
    expect((await kit.call('GET', `/v1/orders/${order}`)).body.status).toBe('refunded');
    expect(await read(payment)).toMatchObject({ status: 'refunded', transaction_amount_refunded: 150 });
  });
});
