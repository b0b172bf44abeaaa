/** Gaps in the tests of amounts: refused JSON, refunds with too few fields, and the bounds of an amount. */
import fc from 'fast-check';
import { LosslessNumber, parse, stringify } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  decodeUtf8,
  isExactNumber,
  isObject,
  type Json,
  jsonObject,
  parseJson,
  plainNumber,
  stringifyJson,
  withoutNulls,
  withWholeNumbers,
  writtenInteger,
} from '../../src/contract/json.ts';
import type { Order } from '../../src/contract/orders.ts';
import { decimalText, minorUnits, requestedAmount } from '../../src/mapping/values.ts';
import { asPaymentShows, withMade } from '../../src/proxy/payments/made-refunds.ts';
import {
  factsOf,
  findRefund,
  isEverything,
  isOpen,
  judgeRefund,
  recognise as recogniseBy,
} from '../../src/proxy/payments/refund-decisions.ts';
import type { Refund } from '../../src/proxy/records/refunds.ts';
import { nodesOf, sumsOf } from '../../src/proxy/sales/order-transition.ts';
import { refundOf } from '../proxy/payments/refund-kit.ts';
import { answered } from './stand.ts';

const WHOLE = { amount_minor: null, transaction_id: undefined, has_cash: false };
const exact = (text: string) => new LosslessNumber(text);

describe('a field that is null', () => {
  it.each([
    ['{"a":null,"b":0,"c":""}', '{"b":0,"c":""}'],
    ['{"a":{"b":null,"c":{"d":null}}}', '{"a":{"c":{}}}'],
    ['{"a":[{"b":null,"c":1.0},null,[{"d":null}]]}', '{"a":[{"c":1.0},null,[{}]]}'],
  ])('counts as absent at any depth, and nothing else changes: %s', (text, rest) => {
    expect(stringifyJson(withoutNulls(parseJson(text)))).toBe(rest);
  });

  it('costs no copy where there is none', () => {
    const value = parseJson('{"a":[1,null,{"b":1.50}],"c":false}');
    expect(withoutNulls(value)).toBe(value);
    expect(['', 0, null, exact('1.0')].map(withoutNulls)).toEqual(['', 0, null, exact('1.0')]);
  });
});

describe('a whole number', () => {
  it.each([
    ['1500.0', 1500],
    ['1.5E+3', 1500],
    ['150000e-2', 1500],
    ['-2.50e1', -25],
    ['0.0', 0],
    ['1e14', 100_000_000_000_000],
    ['10500.0', 10_500],
    [`1.${'0'.repeat(62)}`, 1],
  ])(
    'in the spelling %s is %d, alone, inside of lists and objects, and where an integer is asked for',
    (text, number) => {
      const value = parseJson(`{"a":[${text}],"b":${text},"c":null,"d":"x"}`);
      expect(withWholeNumbers(value)).toEqual({ a: [number], b: number, c: null, d: 'x' });
      expect(plainNumber(parseJson(text))).toBe(number);
      expect(writtenInteger.parse(parseJson(text))).toBe(number);
    },
  );

  it.each([
    '12.34',
    '-0',
    '-0.0',
    '1e15',
    '1234567890123456',
    '1e-1',
    '1e12345',
    `1${'0'.repeat(64)}.0`,
    `1.${'0'.repeat(63)}`,
  ])('%s is none, and keeps its text', (text) => {
    const value = parseJson(text) as LosslessNumber; // no number that a double holds
    expect(withWholeNumbers({ a: value } as Json)).toEqual({ a: exact(text) });
    expect(plainNumber(value)).toBe(value);
    expect(writtenInteger.safeParse(value).success).toBe(false);
  });

  it('is no text', () => {
    expect([plainNumber('15'), writtenInteger.safeParse('15').success, withWholeNumbers('15')]).toEqual([
      '15',
      false,
      '15',
    ]);
  });
});

describe('JSON', () => {
  it('keeps numbers that a double could change as they were written', () => {
    expect(parseJson('[0,-1,123456789012345,-123456789012345]')).toEqual([0, -1, 123456789012345, -123456789012345]);
    for (const text of ['1.5', '1.0', '-0', '1e3', '1234567890123456', '-1234567890123456', '0.1']) {
      const value = parseJson(text);
      expect(isExactNumber(value), text).toBe(true);
      expect(stringifyJson(value)).toBe(text);
    }
    expect([isExactNumber(1), isExactNumber('1')]).toEqual([false, false]);
  });

  it('is read and written the same by the quick way and by the careful one', () => {
    const digits = fc.stringMatching(/^-?(?:0|[1-9]\d{0,17})(?:\.\d{1,3})?(?:[eE]-?\d)?$/);
    const leaf = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify(text)),
      digits,
      fc.constantFrom('true', 'false', 'null', '"a:1e5"', '"\\"-1.5"'),
    );
    const key = fc.constantFrom('"a"', '"b"', '"c:d"', '"e1"', '"\\u0061"');
    const { text } = fc.letrec((tie) => ({
      text: fc.oneof({ maxDepth: 3 }, leaf, tie('list'), tie('object')),
      list: fc.array(tie('text'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
      object: fc
        .array(fc.tuple(key, tie('text')), { maxLength: 3 })
        .map((pairs) => `{ ${pairs.map(([name, value]) => `${name} : ${value}`).join(',')} }`),
    }));
    const tried = (read: () => unknown): unknown => {
      try {
        return read();
      } catch {
        return 'refused';
      }
    };
    const parseNumber = (source: string) =>
      /^-?(?:0|[1-9]\d{0,14})$/.test(source) && source !== '-0' ? Number(source) : new LosslessNumber(source);
    const check = (json: string): void => {
      const value = tried(() => parseJson(json));
      expect(value).toEqual(tried(() => parse(json, null, { parseNumber })));
      expect(stringifyJson(value)).toBe(stringify(value));
    };
    fc.assert(fc.property(text.map(String), check), { numRuns: 3_000 });
  });

  it('that gives a key twice is refused, unless it says the same both times', () => {
    expect(() => parseJson('{"a":1,"a":2}')).toThrow(SyntaxError);
    expect(parseJson('{"a":1,"\\u0061":1}')).toEqual({ a: 1 });
    expect(() => parseJson('{"a":[{"b":1,"b":2}]}')).toThrow(SyntaxError);
  });

  it('is written by the careful way for what the engine can not write', () => {
    expect(stringifyJson({ long: 12345678901234567890n })).toBe('{"long":12345678901234567890}');
    expect(stringifyJson(12345678901234567890n)).toBe('12345678901234567890');
    expect(stringifyJson(Object.assign(Object.create(null), { a: exact('1.50') }))).toBe('{"a":1.50}');
  });

  it('of nothing is null', () => {
    expect(stringifyJson(undefined)).toBe('null');
    expect(stringifyJson({ a: [1, exact('2.50')] })).toBe('{"a":[1,2.50]}');
  });

  it('nests 32 levels and no more, in lists and objects', () => {
    const lists = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    for (const nested of [lists, objects]) {
      expect(() => parseJson(nested(32))).not.toThrow();
      expect(() => parseJson(nested(33))).toThrow('JSON is nested deeper than 32 levels');
    }
    expect(() => parseJson(`[${Array(40).fill('[]').join(',')}]`), 'closed ones do not count').not.toThrow();
    expect(() => parseJson(`[${Array(40).fill('{}').join(',')}]`)).not.toThrow();
    expect(() => parseJson(JSON.stringify('['.repeat(40))), 'nor do those in a text').not.toThrow();
    expect(() => parseJson(JSON.stringify(`"${'['.repeat(40)}`)), 'nor after an escaped quote').not.toThrow();
  });

  it.each([
    '{"__proto__":1}',
    '{"constructor" : 1}',
    '{"a":{"prototype"\n:1}}',
    '{"\\u005f_proto__":1}',
    '[{"b":1,"constructor":{}}]',
  ])('with a key that reaches a prototype is refused: %s', (text) => {
    expect(() => parseJson(text)).toThrow(/^The key '(?:__proto__|constructor|prototype)' is not allowed$/);
  });

  it.each(['{"a":"__proto__"}', '["constructor"]', '{"a":"\\"constructor\\":1"}', '{"protos":1}', '{"__proto_":1}'])(
    'that only mentions one is taken: %s',
    (text) => {
      expect(() => parseJson(text)).not.toThrow();
    },
  );

  it.each(['{', '"open', '{"a":1,"a":2}', '', '{"a', '"\\'])('that is none is refused: %s', (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError);
  });

  it.each([
    [{}, true],
    [{ a: null }, true],
    [[], false],
    [null, false],
    [undefined, false],
    ['a', false],
    [5, false],
    [exact('1.5'), false],
    [new Date(0), false],
  ])('of %j is an object: %s', (value, is_object) => {
    expect(isObject(value)).toBe(is_object);
  });

  it('of an object with unknown keys is no number', () => {
    const shape = jsonObject({ a: z.number().optional() });
    expect(shape.safeParse({ a: 1, b: 2 }).data).toEqual({ a: 1, b: 2 });
    expect(shape.safeParse(exact('1.5')).success).toBe(false);
    expect(shape.safeParse({ isLosslessNumber: false }).success).toBe(true);
  });

  it('is UTF-8, without replacements', () => {
    expect(decodeUtf8(Buffer.from('señal'))).toBe('señal');
    expect(() => decodeUtf8(Buffer.from([0xc3]))).toThrow(TypeError);
  });
});

describe('amounts', () => {
  it.each([
    [1500, 2, '15.00'],
    [5, 2, '0.05'],
    [0, 2, '0.00'],
    [1500, 0, '1500'],
    [1234, 3, '1.234'],
    [-1, 2, undefined],
    [1.5, 2, undefined],
    ['15', 2, undefined],
    [2 ** 53, 2, undefined],
    [2 ** 53 - 1, 2, '90071992547409.91'],
    [1, Number.NaN, undefined],
    [1, -1, undefined],
  ])('%s with %d decimals is %s', (minor, exponent, expected) => {
    expect(decimalText(minor, exponent)).toBe(expected);
  });

  it.each([
    ['24.5', 2, 2450],
    ['24.500', 2, 2450],
    ['24.505', 2, undefined],
    ['24', 0, 24],
    ['24.0', 0, 24],
    ['24.1', 0, undefined],
    ['007', 2, 700],
    ['', 2, undefined],
    ['.5', 2, undefined],
    ['5.', 2, undefined],
    ['x5', 2, undefined],
    ['5x', 2, undefined],
    ['-15.00', 2, undefined],
    ['15,00', 2, undefined],
    ['1e3', 2, undefined],
    ['24', 2, 2400],
    ['0.05', 2, 5],
    [5, 2, undefined],
    ['1234567890123456', 2, undefined],
    ['90071992547409.91', 2, 9007199254740991],
    ['90071992547409.92', 2, undefined],
    ['1', Number.NaN, undefined],
    ['1', -1, undefined],
    ['1.0000000000000000', 2, undefined],
  ])('%s with %d decimals is %s', (decimal, exponent, expected) => {
    expect(minorUnits(decimal, exponent)).toBe(expected);
  });
});

describe('the amount of a refund', () => {
  it.each<[unknown, number | null]>([
    [undefined, null],
    [10, 1000],
    ['10.5', 1050],
    [exact('10.50'), 1050],
    [exact('1.05e1'), 1050],
    ['1e1', 1000],
    ['1E+1', 1000],
    ['0.01', 1],
  ])('%s is %s', (amount, expected) => {
    expect(requestedAmount(amount, 2)).toBe(expected);
  });

  it('has no decimals where the currency has none', () => {
    expect(requestedAmount(exact('10.00'), 0)).toBe(10);
    expect(() => requestedAmount(10.5, 0)).toThrow(expect.objectContaining({ code: 'refused' }));
  });

  it.each<[unknown, string]>([
    ['ten', 'amount_not_numeric'],
    ['', 'amount_not_numeric'],
    [null, 'amount_not_numeric'],
    [{}, 'amount_not_numeric'],
    ['1,5', 'amount_not_numeric'],
    ['x1', 'amount_not_numeric'],
    ['1x', 'amount_not_numeric'],
    ['1.', 'amount_not_numeric'],
    ['--1', 'amount_not_numeric'],
    ['1e', 'amount_not_numeric'],
    [true, 'amount_not_numeric'],
    [0, 'amount_not_positive'],
    ['0.00', 'amount_not_positive'],
    ['-5', 'amount_not_positive'],
    ['-0.5', 'amount_not_positive'],
    [-1, 'amount_not_positive'],
    [exact('0.0e5'), 'amount_not_positive'],
    [exact('10.005'), 'invalid_property'],
    [exact('1e99'), 'invalid_property'],
    ['0e5', 'amount_not_positive'],
    ['10.005', 'invalid_property'],
    ['1e-5', 'invalid_property'],
    ['1e20', 'invalid_property'],
  ])('%s is refused: %s', (amount, error) => {
    expect(() => requestedAmount(amount, 2)).toThrow(
      expect.objectContaining({
        code: 'refused',
        message: `The refund was refused: ${error}`,
        facts: { error, detail: 'amount' },
      }),
    );
  });
});

const ORDER_ID = 'ORD01KG9Z8Q7X4V20000000000001';
const paid = (payment: object, refunds: object[] = [], status = 'processed'): Order => ({
  id: ORDER_ID,
  status,
  transactions: { payments: [{ id: 'PAY1', amount: '24.10', ...payment }], refunds },
});

describe('what a refund came to', () => {
  const made = (change: object = {}) => ({
    id: ORDER_ID,
    status: 'processed',
    transactions: { refunds: [{ id: 'REF1', amount: '10.00', reference_id: '17', status: 'processing' }] },
    ...change,
  });

  it('is the sum of all that went back with the cash, whichever transactions that were', () => {
    const goods = { id: 'REF1', transaction_id: 'PAY1', amount: '10.00', status: 'processed' };
    const cash = { id: 'REF2', transaction_id: 'CSH1', amount: '50.00', status: 'processed' };
    const factsOf = (refunds: object[], amount_minor: number | null = null) => {
      const asked = { amount_minor, transaction_id: 'PAY1', has_cash: true };
      return judgeRefund(answered(201, made({ transactions: { refunds } })), ORDER_ID, asked, 2, false);
    };
    const facts = (upstream_id: string, refunded_minor: number | null) => ({ facts: { upstream_id, refunded_minor } });
    expect(factsOf([goods, cash])).toMatchObject(facts('REF1', 6_000));
    expect(factsOf([cash]), 'the payment went back before').toMatchObject(facts('REF2', 5_000));
    expect(factsOf([{ ...goods, status: 'failed' }, cash]), 'what failed did not go back').toMatchObject(
      facts('REF2', 5_000),
    );
    expect(factsOf([{ ...goods, amount: undefined }, cash]), 'without an amount').toMatchObject(facts('REF1', 5_000));
    expect(factsOf([goods, cash], 1_000), 'a part is one refund').toMatchObject(facts('REF1', 1_000));
  });

  it.each([
    ['another amount', { amount: '1.00' }, { amount_minor: 1_000, transaction_id: 'PAY1', has_cash: true }],
    ['another payment', { transaction_id: 'PAY2' }, { amount_minor: null, transaction_id: 'PAY1', has_cash: false }],
  ])('is not told by a success that names %s', (_name, node, asked) => {
    const refunds = [{ id: 'REF1', amount: '10.00', ...node }];
    const outcome = answered(201, made({ transactions: { refunds } }));
    const other = { kind: 'unknown', other: true };
    expect(judgeRefund(outcome, ORDER_ID, asked, 2, false)).toEqual(other);
  });

  it.each([200, 201])('is told by %d', (status) => {
    expect(judgeRefund(answered(status, made()), ORDER_ID, WHOLE, 2, false)).toEqual({
      kind: 'made',
      facts: { upstream_id: 'REF1', reference_id: '17', refunded_minor: 1000, upstream_status: 'processing' },
    });
  });

  it.each([
    [202, false, 'unknown'],
    [399, false, 'unknown'],
    [400, false, 'refused'],
    [408, false, 'unknown'],
    [409, false, 'refused'],
    [428, false, 'refused'],
    [499, false, 'refused'],
    [500, false, 'unknown'],
    [429, false, 'not_executed'],
    [429, true, 'unknown'],
    [302, false, 'unknown'],
  ])('is told by %d, repeated %s: %s', (status, repeated, kind) => {
    expect(judgeRefund(answered(status), ORDER_ID, WHOLE, 2, repeated).kind).toBe(kind);
  });

  it.each([
    ['nothing left', { kind: 'not_sent', cause: 'x' } as const, true],
    ['nothing came', { kind: 'broken', cause: 'x' } as const, true],
    ['a failure', answered(500), true],
    ['a rate limit', answered(429), true],
    ['no order', answered(200, {}), false],
    ['another order', answered(200, made({ id: ORDER_ID.replace(/1$/, '2') })), false],
    ['its own key', answered(409, { code: 'idempotency_key_already_used' }), false],
    ['its own key again', answered(409, { code: 'idempotency_key_already_used' }), true],
    ['another one under way', answered(409, { code: 'refund_in_progress' }), true],
    ['a dead token', answered(401, { code: 'unauthorized' }), true],
    ['a token of somebody', answered(403, { code: 'forbidden' }), true],
    ['no money left', answered(428, { code: 'insufficient_money_for_refund' }), true],
    ['nothing left to refund', answered(400, { code: 'refund_amount_exceeds' }), true],
  ])('is not known: %s', (_what, outcome, repeated) => {
    expect(judgeRefund(outcome, ORDER_ID, WHOLE, 2, repeated)).toEqual({ kind: 'unknown' });
  });
});

describe('what an order says of refunds', () => {
  it('is nothing where it says nothing', () => {
    expect([nodesOf(null), nodesOf({ id: ORDER_ID, status: 'created' })]).toEqual([[], []]);
    expect(factsOf({}, 2)).toEqual({
      upstream_id: null,
      reference_id: null,
      refunded_minor: null,
      upstream_status: null,
    });
    expect(sumsOf(null, 700, 2)).toEqual({
      ...{ paid_minor: 700, sale_minor: 700 },
      ...{ refunded_minor: 0, ever_refunded_minor: 0 },
    });
  });

  it('is the greater of its sum and of what it lists of this payment', () => {
    const listed = [
      { amount: '3.00', transaction_id: 'PAY1' },
      { amount: '2.00' },
      { amount: 'much' },
      { amount: '9.00', transaction_id: 'PAY2' },
    ];
    expect(sumsOf(paid({ refunded_amount: '4.00' }, listed), 0, 2).refunded_minor).toBe(500);
    expect(sumsOf(paid({ refunded_amount: '6.00' }, listed), 0, 2).refunded_minor).toBe(600);
    expect(sumsOf(paid({ amount: 'x', paid_amount: '5.00' }), 700, 2)).toEqual({
      paid_minor: 500,
      refunded_minor: 0,
      ever_refunded_minor: 0,
      sale_minor: 700,
    });
    const failed = paid({}, [{ amount: '3.00', status: 'failed' }, { amount: '2.00' }]);
    expect(sumsOf(failed, 0, 2), 'one that failed is nothing that went back').toMatchObject({
      refunded_minor: 200,
      ever_refunded_minor: 500,
    });
  });

  it('everything is what is left of the payment, or of the sale after a discount', () => {
    const sums = { paid_minor: 2000, refunded_minor: 500, sale_minor: 2410 };
    expect([1500, 1910, 2410, 1499].map((asked) => isEverything(asked, sums))).toEqual([true, true, false, false]);
    const plain = { paid_minor: 2410, refunded_minor: 500, sale_minor: 2000 };
    expect([1910, 1500].map((asked) => isEverything(asked, plain))).toEqual([true, false]);
    const equal = { paid_minor: 2000, refunded_minor: 0, sale_minor: 2000 };
    expect([2000, 1999].map((asked) => isEverything(asked, equal))).toEqual([true, false]);
  });

  it.each([
    [{}, 2410, true],
    [{ refunded_amount: '4.10' }, 2000, true],
    [{ paid_amount: '26.10', tip_amount: '2.00' }, 2410, false],
    [{ paid_amount: '26.10', tip_amount: '2.00' }, 2610, true],
    [{ paid_amount: '20.00' }, 2000, true],
    [{ paid_amount: '20.00' }, 2410, true],
  ])('everything of %j is %d: %s', (payment, asked_minor, expected) => {
    expect(isEverything(asked_minor, sumsOf(paid(payment), 0, 2))).toBe(expected);
  });

  // 24.10 of goods and 50.00 of cash.
  it.each([
    [{}, [], 2410, false],
    [{}, [], 7410, true],
    [{ refunded_amount: '10.00' }, [], 6410, true],
    [{ refunded_amount: '24.10' }, [], 5000, true],
    [{}, [{ amount: '50.00', transaction_id: 'CSH1' }], 2410, true],
    [{}, [{ amount: '50.00', transaction_id: 'CSH1', status: 'failed' }], 2410, false],
    [{ paid_amount: '20.00' }, [], 7000, true],
    [{ paid_amount: '20.00' }, [], 7410, true],
    [{ paid_amount: '20.00' }, [], 2000, false],
  ])('everything of %j with a cash withdrawal and %j is %d: %s', (payment, refunds, asked_minor, expected) => {
    expect(isEverything(asked_minor, sumsOf(paid(payment, refunds), 7410, 2))).toBe(expected);
  });

  it('counts refunds of an order without a payment, which is all cash', () => {
    const order = {
      id: ORDER_ID,
      status: 'processed',
      transactions: { refunds: [{ amount: '50.00', transaction_id: 'CSH1' }] },
    };
    expect(sumsOf(order, 5_000, 2)).toEqual({
      ...{ paid_minor: 5_000, sale_minor: 5_000 },
      ...{ refunded_minor: 5_000, ever_refunded_minor: 5_000 },
    });
  });

  it('a refund of all is found with the cash, as the last ones of payment and cash', () => {
    const nodes = [
      { id: 'REF0', transaction_id: 'PAY1', amount: '4.10' },
      { id: 'REF1', transaction_id: 'PAY1', amount: '20.00', reference_id: '17' },
      { id: 'REF2', transaction_id: 'CSH1', amount: '50.00', reference_id: '18' },
    ];
    const order = paid({ refunded_amount: '24.10' }, nodes, 'refunded');
    const asked = refundOf({ amount_minor: null, refunded_before_minor: 410 });
    expect(findRefund(order, asked, [], 7410, 2)).toMatchObject({ upstream_id: 'REF1', refunded_minor: 7000 });
    expect(findRefund(paid({}, nodes.slice(0, 2)), asked, [], 7410, 2), 'the cash has not gone back').toBeNull();
  });

  const ten = { id: 'REF1', transaction_id: 'PAY1', amount: '10.00', reference_id: '17', status: 'processed' };

  it.each<[string, Order, Partial<Refund>, unknown]>([
    ['nothing rose', paid({}), {}, null],
    ['it rose by less', paid({ refunded_amount: '9.99' }), {}, null],
    ['it rose by as much', paid({ refunded_amount: '10.00' }), {}, { upstream_id: null, refunded_minor: 1000 }],
    [
      'it rose by less, and one like it was there before',
      paid({}, [ten, { ...ten, id: 'REF2', amount: '2.00' }]),
      { refunded_before_minor: 1000 },
      null,
    ],
    ['it rose by more, and none is like it', paid({ refunded_amount: '10.01' }), {}, null],
    ['it is listed', paid({ refunded_amount: '12.00' }, [ten]), {}, { upstream_id: 'REF1' }],
    ['without an id', paid({}, [{ ...ten, id: undefined }]), {}, { upstream_id: null, reference_id: '17' }],
    ['it is another one of ours', paid({ refunded_amount: '10.00' }, [{ ...ten, id: 'OWN' }]), {}, null],
    [
      'it rose by as much as another one of ours and this one',
      paid({ refunded_amount: '20.00' }, [{ ...ten, id: 'OWN' }]),
      {},
      { upstream_id: null, refunded_minor: 1000 },
    ],
    [
      'it rose after what was there before, another one of ours included',
      paid({ refunded_amount: '25.00' }, [{ ...ten, id: 'OWN' }]),
      { refunded_before_minor: 1500 },
      { upstream_id: null, refunded_minor: 1000 },
    ],
    [
      'another of ours was missed by the read at its opening',
      paid({ refunded_amount: '15.00' }, [
        { ...ten, id: 'OWN' },
        { ...ten, id: 'REF2', amount: '5.00' },
      ]),
      { refunded_before_minor: 500 },
      null,
    ],
    ['none has its amount', paid({ refunded_amount: '15.00' }, [ten]), { amount_minor: 700 }, null],
    ['the last of two alike', paid({}, [ten, { ...ten, id: 'REF2' }]), {}, { upstream_id: 'REF2' }],
    ['not all went back', paid({ refunded_amount: '24.00' }), { amount_minor: null }, null],
    [
      'all went back',
      paid({}, [{ ...ten, amount: '24.10' }], 'refunded'),
      { amount_minor: null },
      { refunded_minor: 2410 },
    ],
    [
      'all went back, unlisted',
      paid({ refunded_amount: '24.10' }, [], 'refunded'),
      { amount_minor: null },
      { refunded_minor: 2410, upstream_status: 'processed', reference_id: null },
    ],
    [
      'all went back, and another one has failed since',
      paid({ refunded_amount: '14.10' }, [
        { ...ten, id: 'OWN', status: 'failed' },
        { ...ten, id: 'REF2', amount: '14.10' },
      ]),
      { amount_minor: null, refunded_before_minor: 1000 },
      { upstream_id: 'REF2', refunded_minor: 1410 },
    ],
    [
      'another one has failed, and less than all went back',
      paid({ refunded_amount: '4.10' }, [
        { ...ten, id: 'OWN', status: 'failed' },
        { ...ten, id: 'REF2', amount: '4.10' },
      ]),
      { amount_minor: null, refunded_before_minor: 1000 },
      null,
    ],
    [
      'another one has failed, and its sum is counted still',
      paid({ refunded_amount: '24.10' }, [{ ...ten, id: 'OWN', amount: '24.10', status: 'failed' }]),
      { amount_minor: null, refunded_before_minor: 2410 },
      null,
    ],
    ['the payment has no amount', paid({ amount: undefined }, [ten]), { amount_minor: null }, null],
    ['it went back before', paid({ refunded_amount: '10.00' }, [ten]), { refunded_before_minor: 1000 }, null],
  ])('%s', (_what, order, change, expected) => {
    const found = findRefund(order, refundOf(change), ['OWN'], 2410, 2);
    if (expected === null) expect(found).toBeNull();
    else expect(found).toMatchObject(expected as object);
  });
});

describe('an order that lags behind the refunds that were made', () => {
  const money = { sale_minor: 2410, exponent: 2 };
  const made = (change: Partial<Refund> = {}) =>
    refundOf({ state: 'DONE', upstream_id: 'REF1', refunded_minor: 1000, upstream_status: 'processed', ...change });

  it.each<[string, Partial<Refund>]>([
    ['by its id', { upstream_id: 'REF9', refunded_before_minor: 500 }],
    ['by its number, where one has no id', { upstream_id: null, reference_id: '17', refunded_before_minor: 500 }],
    ['by a sum that has risen', { refunded_minor: 500 }],
    ['as far as can be told, where its amount is not known', { refunded_minor: null, refunded_before_minor: 900 }],
    ['unless it was made', { state: 'IN_DOUBT' }],
  ])('shows one already %s', (_how, change) => {
    const order = paid({}, [{ id: 'REF9', reference_id: '17', amount: '5.00' }]);
    expect(withMade(order, [made(change)], money)).toBe(order);
  });

  it('shows it then as upstream answered it, in its order, after what others refunded', () => {
    const order = paid({ refunded_amount: '3.00' });
    const second = { upstream_id: null, reference_id: '18', refunded_minor: 1110, upstream_status: null };
    const shown = withMade(
      order,
      [made({ refunded_before_minor: 300 }), made({ refunded_before_minor: 1300, ...second })],
      money,
    );
    expect(shown).toMatchObject({
      ...{ status: 'refunded', status_detail: 'refunded' },
      transactions: {
        payments: [{ id: 'PAY1', status: 'refunded', refunded_amount: '24.10' }],
        refunds: [
          { id: 'REF1', transaction_id: 'PAY1', amount: '10.00', status: 'processed' },
          { reference_id: '18', transaction_id: 'PAY1', amount: '11.10' },
        ],
      },
    });
    expect(withMade(shown, [made({ refunded_before_minor: 300 })], money)).toBe(shown);
  });

  it('is refunded by one of all that was left, whatever its sum, and without a payment, too', () => {
    const all = made({ amount_minor: null, refunded_minor: 2000 });
    expect(withMade(paid({ amount: '20.00', paid_amount: '20.00' }), [all], money)).toMatchObject({
      status: 'refunded',
    });
    const cash = { id: ORDER_ID, status: 'processed' };
    expect(withMade(cash, [all], money)).toEqual({
      ...cash,
      ...{ status: 'refunded', status_detail: 'refunded' },
      transactions: { refunds: [{ id: 'REF1', amount: '20.00', status: 'processed' }] },
    });
  });
});

describe('an order by its payment', () => {
  it('has the refunds of the payment, by their numbers', () => {
    const refunds = [
      { id: 17, amount: exact('10.50'), status: 'approved' },
      { id: 18, amount: 2, status: 'in_process' },
      { id: 19, amount: 'much', status: 'rejected' },
      { status: 'cancelled' },
      null,
    ];
    const shown = asPaymentShows(
      paid({ refunded_amount: '1.00' }, [{ id: 'REF1' }]),
      { status: 'refunded', transaction_amount_refunded: exact('12.50'), refunds },
      2,
    );
    expect(shown).toMatchObject({ id: ORDER_ID, status: 'refunded' });
    expect(shown.transactions).toMatchObject({
      payments: [{ id: 'PAY1', refunded_amount: '12.50' }],
      refunds: [
        { reference_id: '17', amount: '10.50', status: 'processed' },
        { reference_id: '18', amount: '2.00', status: 'processing' },
        { reference_id: '19', amount: undefined, status: 'failed' },
        { status: 'failed' },
        { status: 'processing' },
      ],
    });
  });

  it('is paid, and has none, where the payment says no more', () => {
    const bare = { id: ORDER_ID, status: 'refunded' };
    expect(asPaymentShows(bare, { status: 'approved' }, 2)).toEqual({
      ...bare,
      status: 'processed',
      transactions: { payments: [{ refunded_amount: undefined }], refunds: [] },
    });
  });
});

const isOf = (asked: Refund) => (one: Refund) => one.fingerprint === asked.fingerprint;

/** By a clock that was always right. */
const recognise = (earlier: Refund[], asked: Refund, settled_id: string | null, arrived_at = asked.created_at) => {
  const call = { arrived_at, decided_at: asked.created_at, join_window_ms: 60_000, isAlike: isOf(asked) };
  return recogniseBy(earlier, asked, settled_id, call, (one) => asked.created_at - one.created_at);
};

describe('a refund is recognised', () => {
  const kind = (earlier: Partial<Refund>[], asked: Partial<Refund> = {}, settled: string | null = null) =>
    recognise(
      earlier.map((one, index) => refundOf({ id: `e${index}`, ...one })),
      refundOf({ id: 'new', created_at: 5, ...asked }),
      settled,
    );

  it('by what is open, not by what is over', () => {
    expect(
      ['SENDING', 'IN_DOUBT', 'DONE', 'REFUSED', 'NOT_SENT'].map((state) =>
        isOpen(refundOf({ state } as Partial<Refund>)),
      ),
    ).toEqual([true, true, false, false, false]);
    expect(
      kind([
        { state: 'REFUSED', answered_at: null, known_at: null },
        { state: 'NOT_SENT', answered_at: null, known_at: null },
      ]).kind,
    ).toBe('new');
  });

  it('by the last of its key, while that is remembered or open', () => {
    const key = { client_key: 'k' };
    const done = { ...key, state: 'DONE' as const };
    expect(kind([{ ...done, fingerprint: 'old' }, done], key)).toMatchObject({ kind: 'same', refund: { id: 'e1' } });
    expect(kind([done], { ...key, created_at: 86_399_999 }).kind).toBe('same');
    expect(kind([done], { ...key, created_at: 86_400_000 }).kind).toBe('new');
    expect(kind([{ ...key, state: 'REFUSED' }], key).kind, 'may be tried again').toBe('new');
    expect(kind([{ ...key, state: 'IN_DOUBT' }], { ...key, created_at: 86_400_000 }).kind).toBe('same');
    expect(kind([done], { client_key: 'other' }).kind).toBe('new');
    expect(kind([{ ...done, fingerprint: 'other' }], key)).toMatchObject({ kind: 'key_reused', refund: { id: 'e0' } });
  });

  it('by what nobody was told of', () => {
    const untold = { state: 'DONE' as const, answered_at: null, known_at: null };
    expect(kind([untold])).toMatchObject({ kind: 'same', refund: { id: 'e0' } });
    expect(kind([{ ...untold, fingerprint: 'other' }]).kind).toBe('new');
    expect(kind([{ state: 'DONE' }], {}, 'e0')).toMatchObject({ kind: 'same' });
    expect(kind([{ state: 'DONE' }], {}, 'e1').kind).toBe('new');
    expect(kind([untold], { client_key: 'k' }).kind).toBe('new');
    expect(kind([untold], { created_at: 899_999 }).kind).toBe('same');
    expect(kind([untold], { created_at: 900_000 }).kind, 'nobody waits for longer').toBe('new');
    const keyed = { ...untold, client_key: 'k' };
    expect(kind([keyed]).kind, 'its till repeats it with its key').toBe('in_progress');
    expect(kind([keyed], {}, 'e0').kind, 'also when it was found only now').toBe('in_progress');
    expect(kind([{ ...keyed, answered_at: 1 }]).kind, 'its till has heard').toBe('new');
    expect(kind([keyed], { created_at: 900_000 }).kind).toBe('new');
    expect(kind([keyed], { client_key: 'another' }, 'e0').kind).toBe('new');
    expect(kind([keyed, untold])).toMatchObject({ refund: { id: 'e1' } });
  });

  it('by what was answered lately and is not known to have arrived', () => {
    const unheard = { state: 'DONE' as const, answered_at: 1, known_at: null };
    expect(kind([unheard, { ...unheard, fingerprint: 'other' }])).toMatchObject({ kind: 'same', refund: { id: 'e0' } });
    expect(kind([{ ...unheard, answered_at: 5_000 }], { created_at: 64_999 }).kind).toBe('same');
    expect(kind([{ ...unheard, answered_at: 5_000 }], { created_at: 65_000 }).kind).toBe('new');
    expect(kind([unheard], { created_at: 60_001 }).kind).toBe('new');
    expect(kind([{ ...unheard, known_at: 2 }]).kind).toBe('new');
    expect(kind([{ ...unheard, client_key: 'k' }]).kind).toBe('new');
    expect(kind([unheard], { client_key: 'k' }).kind).toBe('new');
  });

  it('whatever was heard of it while the call waited for its turn', () => {
    const asked = refundOf({ id: 'new', created_at: 9_000 });
    const kindOf = (change: Partial<Refund>, arrived_at: number): string =>
      recognise([refundOf({ id: 'e0', state: 'DONE', ...change })], asked, null, arrived_at).kind;
    expect(kindOf({ answered_at: 4_000, known_at: 5_000 }, 3_000), 'its till could not know').toBe('same');
    expect(kindOf({ answered_at: null, known_at: 5_000 }, 4_999)).toBe('same');
    expect(kindOf({ answered_at: 4_000, known_at: 5_000 }, 5_000)).toBe('new');
    expect(kindOf({ answered_at: 4_000, known_at: 9_000 }, 3_000)).toBe('same');
    expect(kindOf({ answered_at: 4_000, known_at: 10_000 }, 3_000), 'by another process, whose clock is ahead').toBe(
      'same',
    );
    expect(kindOf({ answered_at: 4_000, known_at: 10_001 }, 3_000), 'by a clock that was set back since').toBe('new');
    // Answered, and acknowledged, between the request's row and the decision.
    const waited = { arrived_at: 3_000, decided_at: 12_000, join_window_ms: 60_000, isAlike: isOf(asked) };
    const first = refundOf({ id: 'e0', state: 'DONE', answered_at: 11_000, known_at: 11_000 });
    expect(recogniseBy([first], asked, null, waited, () => 9_000).kind).toBe('same');
  });

  it('as in the way of one that is open', () => {
    expect(kind([{ state: 'SENDING', fingerprint: 'other' }])).toMatchObject({
      kind: 'in_progress',
      refund: { id: 'e0' },
    });
    expect(kind([{ state: 'SENDING' }], { client_key: 'k' }).kind).toBe('in_progress');
    expect(kind([{ state: 'DONE', answered_at: null, known_at: null }, { state: 'SENDING' }])).toMatchObject({
      kind: 'same',
      refund: { id: 'e1' },
    });
  });
});
