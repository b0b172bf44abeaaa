/** Generators of the property tests: amounts in every notation, texts in every script; and the number of runs. */
import fc from 'fast-check';
import { LosslessNumber } from 'lossless-json';
import { anyText } from '../any-text.ts';

/** Cases of one property; `PROPERTY_RUNS` changes it. A failure prints its seed and path. */
export const RUNS = Number(process.env.PROPERTY_RUNS ?? 500);

/** Decimals that `exact` distinguishes; more than these tests generate. */
const SCALE = 400;
const NUMBER = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** A decimal as a whole number of 10^-400, from its source text; independent of the code under test. */
export function exact(written: unknown): bigint {
  const match = NUMBER.exec(sourceText(written));
  if (match === null) throw new Error(`${String(written)} is no number`);
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const zeros = SCALE - fraction.length + Number(exponent);
  const digits = BigInt(whole + fraction);
  if (zeros >= 0) return digits * 10n ** BigInt(zeros);
  const unit = 10n ** BigInt(-zeros);
  if (digits % unit !== 0n) throw new Error(`${match[0]} has more than ${SCALE} decimals`);
  return digits / unit;
}

export function isNumber(written: unknown): boolean {
  return NUMBER.test(sourceText(written));
}

export function sourceText(written: unknown): string {
  return written instanceof LosslessNumber ? written.value : String(written);
}

export type Written = LosslessNumber | string;

/** One amount as clients write it: short, padded, with an exponent, in quotes, with leading zeros. */
export function spelled(minor: bigint, exponent: number): fc.Arbitrary<Written> {
  const plain = pointed(minor, exponent);
  const short = plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain;
  const padded = fc.integer({ min: 1, max: 9 }).map((zeros) => pad(plain, zeros));
  const scientific = fc
    .tuple(fc.constantFrom('e', 'E'), fc.integer({ min: 0, max: 3 }))
    .map(([letter, zeros]) => `${minor}${minor === 0n ? '' : '0'.repeat(zeros)}${letter}-${exponent + zeros}`);
  const grown = fc.constantFrom('e', 'e+').map((letter) => grownBy(plain, letter));
  const texts = fc.oneof(
    { weight: 3, arbitrary: fc.constant(short) },
    { weight: 3, arbitrary: fc.constant(plain) },
    padded,
    scientific,
    grown,
  );
  const quoted = fc
    .tuple(texts, fc.constantFrom('', '0', '00'))
    .map(([text, zeros]) => (text.length < 10 ? zeros : '') + text);
  return fc.oneof(
    { weight: 4, arbitrary: texts.map((text): Written => new LosslessNumber(text)) },
    { weight: 1, arbitrary: quoted.map((text): Written => text) },
  );
}

function pointed(minor: bigint, exponent: number): string {
  if (exponent === 0) return String(minor);
  const digits = String(minor).padStart(exponent + 1, '0');
  return `${digits.slice(0, -exponent)}.${digits.slice(-exponent)}`;
}

function pad(plain: string, zeros: number): string {
  return (plain.includes('.') ? plain : `${plain}.`) + '0'.repeat(zeros);
}

/** `120.50` as `1.2050e2`, `0.05` as `0.05e0`. */
function grownBy(plain: string, letter: string): string {
  const [whole = '0', fraction = ''] = plain.split('.');
  if (whole === '0') return `${plain}${letter}0`;
  const behind = whole.slice(1) + fraction;
  return `${whole[0]}${behind === '' ? '' : `.${behind}`}${letter}${whole.length - 1}`;
}

export function spelledQuantity(quantity: number): fc.Arbitrary<Written> {
  const number = (text: string): Written => new LosslessNumber(text);
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(number(String(quantity))) },
    fc.constant(number(`${quantity}.0`)),
    fc.constant(number(`${quantity}0e-1`)),
    fc.constant<Written>(String(quantity)),
  );
}

/** Text of at most `most` UTF-16 units: ASCII, any script, or grapheme clusters. */
export function texts(least: number, most: number): fc.Arbitrary<string> {
  const limits = { minLength: least, maxLength: most, size: 'small' } as const;
  const long = fc.nat({ max: most - least }).map((more) =>
    'año nuevo 🧉 '
      .repeat(26)
      .slice(0, least + more)
      .toWellFormed(),
  );
  return fc
    .oneof(fc.string({ unit: 'grapheme', ...limits }), anyText(limits), long)
    .filter((text) => text.length <= most);
}

export function maybe<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null | undefined> {
  return fc.oneof(
    { weight: 3, arbitrary: arbitrary as fc.Arbitrary<T | null | undefined> },
    { weight: 1, arbitrary: fc.constantFrom(null, undefined) },
  );
}

export const unknownKeys = fc.dictionary(
  fc.constantFrom('presets', 'discounts', 'x', 'campaign_id', 'métadata', 'Title'),
  fc.oneof(fc.boolean(), fc.string({ maxLength: 5 }), fc.constant({ deep: [1, 'two'] })),
  { maxKeys: 2, depthIdentifier: 'unknown', noNullPrototype: true },
);

export const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, '', ' ', [], {}, [{}], 'abc', -1, 0, '-5', '1,5', '١٢', 'Infinity', 1e15),
  fc
    .constantFrom('0.1', '0.001', '1e2', '1e-3', '-0', '0e0', '1e99', '999999999999', '1000000000000', '120.505')
    .map((text) => new LosslessNumber(text)),
  anyText({ maxLength: 300 }),
  fc.jsonValue({ maxDepth: 2 }),
);
