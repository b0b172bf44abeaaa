/** The pure decisions about refunds: what an outcome means, what an order shows, and whether a request is a new one. */

import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import type { Order } from '../../../src/contract/orders.ts';
import { askedAmount } from '../../../src/mapping/amount.ts';
import {
  findRefund,
  isEverything,
  judgeRefund,
  recognise as recogniseBy,
} from '../../../src/proxy/payments/refund-decisions.ts';
import type { Refund } from '../../../src/proxy/records/refunds.ts';
import { sumsOf } from '../../../src/proxy/sales/order-transition.ts';
import type { UpstreamOutcome } from '../../../src/proxy/upstream/upstream.ts';
import { refundOf } from './refund-kit.ts';

const ORDER_ID = 'ORD01KG9Z8Q7X4V20000000000001';
const WHOLE = { amount_minor: null, transaction_id: 'PAY1' };

function answered(status: number, code: string | null = null, body?: unknown): UpstreamOutcome {
  const errors = code === null ? {} : { errors: [{ code }] };
  return { kind: 'answered', status, retry_after_ms: null, body: body ?? errors };
}

function orderOf(payment: object, refunds: object[] = [], status = 'processed'): Order {
  return { id: ORDER_ID, status, transactions: { payments: [{ id: 'PAY1', amount: '24.10', ...payment }], refunds } };
}

describe('the outcome of a refund', () => {
  const made = { id: ORDER_ID, status: 'processed', transactions: { refunds: [{ id: 'REF1', amount: '10.00' }] } };

  it.each<[string, UpstreamOutcome, boolean, string]>([
    ['nothing left', { kind: 'not_sent', cause: 'x' }, false, 'not_executed'],
    ['nothing left now, but maybe before', { kind: 'not_sent', cause: 'x' }, true, 'unknown'],
    ['broken', { kind: 'broken', cause: 'x' }, false, 'unknown'],
    ['a rate limit', answered(429), false, 'not_executed'],
    ['a rate limit of a repeat', answered(429), true, 'unknown'],
    ['a timeout told', answered(408), false, 'unknown'],
    ['a failure', answered(500, 'internal_error'), false, 'unknown'],
    ['a redirect', answered(302), false, 'unknown'],
    ['a success that says nothing', answered(201, null, {}), false, 'unknown'],
    ['a success of another order', answered(201, null, { ...made, id: ORDER_ID.replace(/1$/, '2') }), false, 'unknown'],
    ['our own key', answered(409, 'idempotency_key_already_used'), false, 'unknown'],
    ['a refusal', answered(409, 'order_already_refunded'), false, 'refused'],
    ['a success', answered(201, null, made), false, 'made'],
    ['a success of a repeat', answered(200, null, made), true, 'made'],
  ])('%s', (_name, outcome, repeated, kind) => {
    expect(judgeRefund(outcome, ORDER_ID, WHOLE, 2, repeated).kind).toBe(kind);
  });

  it.each([
    ['another amount', { amount: '1.00' }, { amount_minor: 1_000, transaction_id: 'PAY1' }],
    ['another payment', { transaction_id: 'PAY2' }, WHOLE],
  ])('a success that names %s is none', (_name, node, asked) => {
    const refunds = [{ id: 'REF1', amount: '10.00', ...node }];
    const outcome = answered(201, null, { ...made, transactions: { refunds } });
    expect(judgeRefund(outcome, ORDER_ID, asked, 2, false)).toEqual({
      kind: 'unknown',
      contradicted: false,
      other: true,
    });
  });

  it.each([
    ['order_already_refunded', 409, true],
    ['insufficient_money_for_refund', 428, true],
    ['refund_in_progress', 409, false],
    ['idempotency_key_already_used', 409, false],
    ['unauthorized', 401, false],
  ])('a repeat that is refused with %s', (code, status, contradicted) => {
    expect(judgeRefund(answered(status, code), ORDER_ID, WHOLE, 2, true)).toEqual({ kind: 'unknown', contradicted });
  });
});

describe('a refund in doubt on its order', () => {
  const ten = { id: 'REF1', transaction_id: 'PAY1', amount: '10.00', reference_id: '17', status: 'processed' };

  it('is not there while nothing went back', () => {
    expect(findRefund(orderOf({}), refundOf(), [], 2)).toBeNull();
  });

  it('is there by its amount', () => {
    const found = findRefund(orderOf({ refunded_amount: '10' }, [ten]), refundOf(), [], 2);
    expect(found).toEqual({
      upstream_id: 'REF1',
      reference_id: '17',
      refunded_minor: 1000,
      upstream_status: 'processed',
    });
  });

  it('is there by the sum alone, where the order lists no refunds', () => {
    const found = findRefund(orderOf({ refunded_amount: '10.00' }), refundOf(), [], 2);
    expect(found).toMatchObject({ upstream_id: null, refunded_minor: 1000 });
  });

  it('is not the one that was there before', () => {
    const order = orderOf({ refunded_amount: '10.00' }, [ten]);
    expect(findRefund(order, refundOf({ refunded_before_minor: 1000 }), [], 2)).toBeNull();
  });

  it("is not another of ours, nor somebody else's of another amount", () => {
    const both = orderOf({ refunded_amount: '15.00' }, [ten, { ...ten, id: 'REF2', amount: '5.00' }]);
    // The read at its opening lagged behind, and had missed the first one.
    expect(findRefund(both, refundOf({ refunded_before_minor: 500 }), ['REF1'], 2)).toBeNull();
    expect(findRefund(both, refundOf({ amount_minor: 700 }), ['REF1'], 2)).toBeNull();
  });

  it('is there as the whole only when everything went back', () => {
    const whole = refundOf({ amount_minor: null });
    expect(findRefund(orderOf({ refunded_amount: '10.00' }, [ten]), whole, [], 2)).toBeNull();
    const all = { ...ten, amount: '24.10' };
    expect(findRefund(orderOf({ refunded_amount: '24.10' }, [all], 'refunded'), whole, [], 2)).toMatchObject({
      refunded_minor: 2410,
    });
  });
});

describe('everything that is left', () => {
  it.each([
    [{}, 2410, true],
    [{}, 2409, false],
    [{ refunded_amount: '4.10' }, 2000, true],
    [{ paid_amount: '26.10', tip_amount: '2.00' }, 2410, false],
    [{ paid_amount: '26.10', tip_amount: '2.00' }, 2610, true],
    [{ paid_amount: '20.00' }, 2000, true],
    [{ paid_amount: '20.00' }, 2410, true],
  ])('of %j is %d: %s', (payment, asked_minor, expected) => {
    expect(isEverything(asked_minor, sumsOf(orderOf(payment), 0, 2))).toBe(expected);
  });

  it('is the amount of the create while no order says anything', () => {
    expect(isEverything(1500, sumsOf(null, 1500, 2))).toBe(true);
  });
});

/** By a clock that was right all the time. */
const recognise = (earlier: Refund[], asked: Refund, settled_id: string | null) =>
  recogniseBy(earlier, asked, settled_id, 60_000, (one) => asked.created_at - one.created_at);

describe('a request', () => {
  const done = refundOf({ id: 'r0', state: 'DONE' });

  it('without a key is a new one each time, once its till has read the one before', () => {
    expect(recognise([done], refundOf(), null).kind).toBe('new');
  });

  it('without a key is the same while nobody was told what became of the first', () => {
    expect(recognise([refundOf({ state: 'IN_DOUBT' })], refundOf(), null).kind).toBe('same');
    expect(recognise([done], refundOf(), 'r0').kind).toBe('same');
  });

  it('without a key is the same for a quarter of an hour after one that was made, and whose till heard nothing', () => {
    const untold = refundOf({ id: 'r0', state: 'DONE', told_at: null, heard_at: null });
    const again = (created_at: number) => recognise([untold], refundOf({ created_at }), null).kind;
    expect([again(899_999), again(900_000)]).toEqual(['same', 'new']);
    expect(recognise([untold], refundOf({ fingerprint: 'other' }), null).kind).toBe('new');
    expect(recognise([untold], refundOf({ client_key: 'a key' }), null).kind).toBe('new');
    const keyed = { ...untold, client_key: 'a key' };
    expect(recognise([keyed], refundOf(), null).kind, 'its till repeats it with its key').toBe('in_progress');
    expect(recognise([keyed], refundOf(), 'r0').kind, 'also when it was found only now').toBe('in_progress');
    expect(recognise([{ ...keyed, told_at: 1 }], refundOf(), null).kind, 'its till has heard').toBe('new');
    const later = refundOf({ created_at: 900_000 });
    expect(recognise([keyed], later, null).kind, 'nobody waits for longer').toBe('new');
    expect(recognise([keyed], refundOf({ client_key: 'another' }), 'r0').kind).toBe('new');
    expect(recognise([keyed, { ...untold, id: 'r1' }], refundOf(), null)).toMatchObject({
      refund: { id: 'r1' },
    });
  });

  it('without a key is the same for a minute after one whose answer has left and that its till has not read', () => {
    const unheard = refundOf({ id: 'r0', state: 'DONE', told_at: 5_000, heard_at: null });
    const again = (created_at: number, change: Partial<Refund> = {}) =>
      recognise([unheard], refundOf({ created_at, ...change }), null).kind;
    expect([again(64_999), again(65_000)]).toEqual(['same', 'new']);
    expect(again(6_000, { client_key: 'a key' })).toBe('new');
    expect(again(6_000, { fingerprint: 'other' })).toBe('new');
    expect(recognise([{ ...unheard, client_key: 'a key' }], refundOf(), null).kind).toBe('new');
  });

  it('of another amount waits for one in doubt', () => {
    const doubtful = refundOf({ state: 'IN_DOUBT' });
    expect(recognise([doubtful], refundOf({ fingerprint: 'other' }), null).kind).toBe('in_progress');
    expect(recognise([doubtful], refundOf({ client_key: 'a new key' }), null).kind).toBe('in_progress');
    expect(recognise([{ ...doubtful, client_key: 'k' }], refundOf(), null).kind).toBe('in_progress');
  });

  it('with a key is the same for a day, and afterwards new', () => {
    const known = refundOf({ state: 'DONE', client_key: 'k' });
    const again = (created_at: number) => recognise([known], refundOf({ client_key: 'k', created_at }), null).kind;
    expect([again(86_399_999), again(86_400_000)]).toEqual(['same', 'new']);
  });

  it('with a key of another request is refused', () => {
    const known = refundOf({ state: 'DONE', client_key: 'k', fingerprint: 'other' });
    expect(recognise([known], refundOf({ client_key: 'k' }), null).kind).toBe('key_reused');
  });

  it('that was refused may be tried again with its key', () => {
    const refused = refundOf({ state: 'REFUSED', client_key: 'k' });
    expect(recognise([refused], refundOf({ client_key: 'k' }), null).kind).toBe('new');
  });
});

describe('the amount of a refund', () => {
  it.each([
    [10.5, 2, 1050],
    ['10.50', 2, 1050],
    [new LosslessNumber('1.05e1'), 2, 1050],
    [new LosslessNumber('10.00'), 0, 10],
    [undefined, 2, null],
  ])('%s with %d decimals is %s', (amount, exponent, minor) => {
    expect(askedAmount(amount, exponent)).toBe(minor);
  });

  it.each([
    ['ten', 2, 'amount_not_numeric'],
    [null, 2, 'amount_not_numeric'],
    [true, 2, 'amount_not_numeric'],
    [-1, 2, 'amount_not_positive'],
    [new LosslessNumber('0.0e5'), 2, 'amount_not_positive'],
    [new LosslessNumber('10.005'), 2, 'invalid_property'],
    [10.5, 0, 'invalid_property'],
    [new LosslessNumber('1e99'), 2, 'invalid_property'],
  ])('%s with %d decimals is %s', (amount, exponent, error) => {
    expect(() => askedAmount(amount, exponent)).toThrow(
      expect.objectContaining({ facts: { error, detail: 'amount' } }),
    );
  });
});
