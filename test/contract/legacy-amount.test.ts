/** Amounts as QR tills write them: exact decimals, read from the source text of any number notation. */
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { parseJson, stringifyJson } from '../../src/contract/json.ts';
import {
  decimalOf,
  jsonNumber,
  quantityOf,
  withoutNoise,
  writtenAmount,
  writtenQuantity,
} from '../../src/contract/legacy-amount.ts';

const written = (text: string): unknown => parseJson(text);

describe('decimalOf', () => {
  it.each([
    '-1',
    '-0',
    '-0.01',
    '1e13',
    '1e99',
    '1e-33',
    '1234567890123',
    '0.123456789012345678901234567890123',
    'true',
    'null',
    '[]',
    '{}',
    '""',
    '" 1"',
    '"1,5"',
    '"1."',
    '".5"',
    '"1.2.3"',
    '"0x10"',
    '"Infinity"',
    '"1e100"',
    '"x1e5"',
    '"1e5x"',
    '"e5"',
  ])('%s is no amount', (text) => {
    expect(decimalOf(written(text))).toBeNull();
    expect(writtenAmount.safeParse(written(text)).success).toBe(false);
  });

  it.each([undefined, Number.NaN, Number.POSITIVE_INFINITY, -0.5, Symbol('1')])('nor is %s', (value) => {
    expect(decimalOf(value)).toBeNull();
  });

  it.each([
    ['0', '0'],
    ['100', '100'],
    ['120.5', '120.5'],
    ['100.10', '100.10'],
    ['0.01', '0.01'],
    ['"500"', '500'],
    ['"120.50"', '120.50'],
    ['999999999999.99', '999999999999.99'],
    ['0.1000000000000000', '0.1000000000000000'],
    ['1e-16', '0.0000000000000001'],
    ['0.12345678901234567', '0.12345678901234567'],
    ['1.205e2', '120.5'],
    ['1.205E+2', '120.5'],
    ['1.2e1', '12'],
    ['12e0', '12'],
    ['12.50e0', '12.50'],
    ['5e-1', '0.5'],
    ['125e-2', '1.25'],
    ['1.5e-3', '0.0015'],
    ['1e3', '1000'],
    ['0e5', '0'],
    ['0.5e1', '5'],
    ['"1e2"', '100'],
    ['"5E-2"', '0.05'],
    ['"5e0"', '5'],
    ['"12e+1"', '120'],
  ])('%s is %s', (text, decimal) => {
    expect(decimalOf(written(text))).toBe(decimal);
    expect(writtenAmount.safeParse(written(text)).success).toBe(true);
  });

  it('takes a plain number as its shortest text', () => {
    const numbers = [100, 0.1, 1.5, 1e-7, 1e21];
    expect(numbers.map(decimalOf)).toEqual(['100', '0.1', '1.5', '0.0000001', null]);
  });

  it('property: a decimal comes through JSON as it was written', () => {
    fc.assert(
      fc.property(decimal, (text) => {
        expect(decimalOf(written(text))).toBe(text);
        expect(decimalOf(written(`"${text}"`))).toBe(text);
      }),
    );
  });

  it('property: an exponent only moves the point', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 999_999_999_999n }), fc.integer({ min: 0, max: 12 }), (digits, places) => {
        const found = decimalOf(new LosslessNumber(`${digits}e-${places}`));
        const [whole = '', fraction = ''] = (found ?? '').split('.');
        expect(BigInt(whole + fraction)).toBe(digits);
        expect(fraction).toHaveLength(places);
      }),
    );
  });
});

describe('withoutNoise', () => {
  it.each([
    ['99.89999999999999', 2, '99.90'],
    ['100.10000000000001', 2, '100.10'],
    ['99.99999999999999', 2, '100.00'],
    ['9.989999771118164', 2, '9.99'],
    ['1.00001', 2, '1.00'],
    ['1500.0000000000000', 2, '1500.00'],
    ['1499.9999999999998', 0, '1500'],
    ['1500.0000000000002', 0, '1500'],
    ['1500.00', 0, '1500'],
    ['1.005', 0, '1'],
    ['1.995', 0, '2'],
    ['1.0001', 0, '1'],
  ])('%s with %i decimals is %s', (sent, exponent, meant) => {
    expect(withoutNoise(sent, exponent)).toBe(meant);
  });

  it.each([
    ['1.005', 2],
    ['1.0001', 2],
    ['1.99', 0],
    ['1.9999', 2],
    ['99.899', 2],
    ['1.01', 0],
    ['0.00000001', 2],
    ['12.34', 2],
    ['12', 2],
  ])('%s with %i decimals stays: a real fraction, or none', (sent, exponent) => {
    expect(withoutNoise(sent, exponent)).toBe(sent);
  });
});

describe('quantityOf', () => {
  it.each(['0', '0.0', '-1', '1.5', '2.01', '1000000', '1e6', '"two"', '"x2"', '"2x"', 'null', '[1]'])(
    '%s is no quantity',
    (text) => {
      expect(quantityOf(written(text))).toBeNull();
      expect(writtenQuantity.safeParse(written(text)).success).toBe(false);
    },
  );

  it.each([
    ['1', 1],
    ['2.0', 2],
    ['2.000', 2],
    ['"3"', 3],
    ['"3.0"', 3],
    ['2e1', 20],
    ['999999', 999_999],
  ])('%s is %s', (text, quantity) => {
    expect(quantityOf(written(text))).toBe(quantity);
    expect(writtenQuantity.safeParse(written(text)).success).toBe(true);
  });
});

describe('jsonNumber', () => {
  it.each([
    ['241.00', '241'],
    ['120.50', '120.5'],
    ['100', '100'],
    ['1000', '1000'],
    ['0', '0'],
    ['0.00', '0'],
    ['0.10', '0.1'],
    ['0.0000001', '0.0000001'],
    ['10.00', '10'],
    ['0012.50', '12.5'],
    ['000', '0'],
    ['12345678901234567.80', '12345678901234567.8'],
    ['999999999999.99', '999999999999.99'],
    ['999999999999.123456789', '999999999999.123456789'],
  ])('%s is written as %s', (text, number) => {
    expect(stringifyJson(jsonNumber(text))).toBe(number);
  });

  it('property: a decimal text comes back from JSON with the same value, digit for digit', () => {
    fc.assert(
      fc.property(decimal, (text) => {
        const back = decimalOf(parseJson(stringifyJson(jsonNumber(text))));
        expect(digitsOf(back ?? '')).toEqual(digitsOf(text));
      }),
    );
  });
});

/** Whole part without leading zeros, and up to fifteen digits after the point. */
const decimal = fc
  .tuple(fc.bigInt({ min: 0n, max: 999_999_999_999n }), fc.option(fc.stringMatching(/^\d{1,15}$/), { nil: null }))
  .map(([whole, fraction]) => (fraction === null ? `${whole}` : `${whole}.${fraction}`));

function digitsOf(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(15, '0'));
}
