/** Synthetic numbers: ascending, unique, exact in a double, and above every real one. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createSyntheticNumbers, orderNumberOf } from '../../../src/proxy/ids.ts';
import { newLink } from '../../store/contract/harness.ts';

const FIRST = 8_000_000_000_000_000;
const YEAR_2026 = Date.parse('2026-01-01T00:00:00Z');
const YEAR_2057 = Date.parse('2057-01-01T00:00:00Z');
const instant = fc.integer({ min: YEAR_2026, max: YEAR_2057 });

describe('a synthetic number', () => {
  it('rises and never repeats, whatever the clock does', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(instant, fc.constant(YEAR_2026)), { minLength: 2, maxLength: 200 }), (moments) => {
        const mint = createSyntheticNumbers();
        const numbers = moments.map((now) => mint(now));
        expect(numbers.every((number, index) => index === 0 || number > (numbers[index - 1] ?? 0))).toBe(true);
        expect(numbers.every((number) => Number.isSafeInteger(number) && number >= FIRST)).toBe(true);
      }),
    );
  });

  it('goes on above those of an earlier run, once a millisecond has passed for every thousand of them', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: 1, max: 3000 }), (now, count) => {
        const earlier = createSyntheticNumbers();
        let last = 0;
        for (let index = 0; index < count; index++) last = earlier(now);
        expect(createSyntheticNumbers()(now + Math.ceil(count / 1000))).toBeGreaterThan(last);
      }),
    );
  });

  it('has sixteen digits, more than any real one', () => {
    for (const now of [0, YEAR_2026, Date.parse('2026-11-21T12:00:00Z'), YEAR_2057]) {
      expect(String(createSyntheticNumbers()(now))).toMatch(/^8\d{15}$/);
    }
  });
});

describe('the number of an order that a payment names', () => {
  it.each<[string, object, unknown, string]>([
    ['by QR its merchant order, whatever upstream says', { merchant_order_id: FIRST + 17 }, '7', String(FIRST + 17)],
    [
      'at a terminal the one that upstream says, as a text',
      { payment_id: '9' },
      '2326513804447055222',
      '2326513804447055222',
    ],
    ['and as a number', { payment_id: '9' }, 40_123_456_789, '40123456789'],
    [
      'where upstream says an id of orders, one that follows from the payment',
      { payment_id: '9' },
      'ORD01',
      '900000000000000009',
    ],
    ['where it says more than 64 bits hold, too', { payment_id: '9' }, '9999999999999999999', '900000000000000009'],
    ['where it says nothing, too', { payment_id: '9' }, undefined, '900000000000000009'],
    ['before there is a payment, the first of those', { payment_id: null }, undefined, '900000000000000000'],
  ])('is %s', (_what, link, said, number) => {
    expect(orderNumberOf(newLink(link), said)).toBe(number);
  });
});
