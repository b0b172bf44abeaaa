/** The corners of single converters that no golden exchange reaches. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { converters } from '../../src/mapping/converters.ts';

function convert(name: string, value: unknown, reads: unknown[] = [], context: Record<string, unknown> = {}) {
  const converter = converters[name];
  if (!converter) throw new Error(`no converter ${name}`);
  return converter.convert(value, { reads, context });
}

describe('short_description', () => {
  it('says what it cuts, and never cuts a character in half', () => {
    const cut = convert('short_description', `${'x'.repeat(149)}😀 and more`);
    expect(cut).toEqual({ value: `${'x'.repeat(149)}😀`, loss: expect.stringContaining('150') });
    expect(convert('short_description', 'x'.repeat(150))).toEqual({ value: 'x'.repeat(150) });
  });

  it('gives a beginning of at most 150 units', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (text) => {
        const { value, loss } = convert('short_description', text);
        expect(text.startsWith(String(value))).toBe(true);
        expect(String(value).length).toBeLessThanOrEqual(150);
        expect(loss === undefined).toBe(value === text);
      }),
    );
  });
});

describe('lifetime', () => {
  it.each([
    ['-1', {}],
    ['1.5', {}],
    ['', {}],
    ['1e3', {}],
    ['0', { value: 'PT30S' }],
    ['29', { value: 'PT30S' }],
    ['10801', { value: 'PT10800S' }],
  ])('%s is a loss', (seconds, kept) => {
    expect(convert('lifetime', seconds)).toEqual({ ...kept, loss: expect.any(String) });
  });

  it.each([
    ['30', 'PT30S'],
    ['10800', 'PT10800S'],
    ['0600', 'PT600S'],
  ])('%s is %s', (seconds, value) => {
    expect(convert('lifetime', seconds)).toEqual({ value });
  });
});

describe('numbers', () => {
  it('are exact or not written', () => {
    expect(convert('whole_number', '9007199254740993')).toEqual({ loss: expect.any(String) });
    expect(convert('whole_number', '12a')).toEqual({});
    expect(convert('whole_number', 1.5)).toEqual({});
    expect(convert('whole_number', '0042')).toEqual({ value: 42 });
  });

  it('keep the amount of the create when the order cannot be read exactly', () => {
    expect(convert('amount_of_order', 1500, ['15.005'], { exponent: 2 })).toEqual({ value: 1500 });
    expect(convert('amount_of_order', 1500, ['16'], { exponent: 2 })).toEqual({ value: 1600 });
    expect(convert('amount_of_order', 1500, [undefined], {})).toEqual({ value: 1500 });
  });
});

describe('times', () => {
  it('that are none are not written', () => {
    expect(convert('second_instant', Number.NaN)).toEqual({ value: undefined });
    expect(convert('date_time', 'yesterday')).toEqual({ value: undefined });
  });
});
