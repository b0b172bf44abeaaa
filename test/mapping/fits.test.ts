/** What a row writes fits its target, or the tables are refused with what would fit. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { shapeOf } from '../../src/mapping/contracts.ts';
import { misfitOf } from '../../src/mapping/fits.ts';
import { rowsOf, type writtenRow } from '../../src/mapping/row.ts';

const WHY = 'A reason that is long enough.';
const copy = { copy: 'from', to: 'to' };

/** The end of the sentence about a row of an answer; null when it fits. */
function answered(row: Partial<z.infer<typeof writtenRow>>, from: z.ZodType, to: z.ZodType, is_answer = true) {
  const [one] = rowsOf('table', [{ ...row, why: WHY }]);
  return one === undefined ? undefined : misfitOf(one, shapeOf(from), shapeOf(to), is_answer);
}

const word = z.enum(['yes', 'no']);
const pair = z.object({ id: z.string(), size: z.int().optional() });

it.each([
  ['a value of its kind', copy, z.string(), z.string()],
  ['anything', copy, z.string(), z.unknown()],
  ['a whole number as a number', copy, z.int(), z.number()],
  ['a number or nothing', copy, z.int().nullish(), z.union([z.int(), z.string()])],
  ['one word of more', copy, z.literal('yes'), word],
  ['a list of its kind', copy, z.array(z.int()), z.array(z.int())],
  ['an object with all that is required', copy, pair.extend({ more: z.string() }), pair],
  ['an object of any keys', copy, z.record(z.string(), z.int()), z.record(z.string(), z.int())],
  ['nothing', copy, z.never(), z.string()],
  ['an object of any form', copy, pair, z.looseObject({})],
  ['a form of its own', copy, z.string().regex(/^a$/), z.string().regex(/^a$/)],
  ['a form that a story promises', { context: 'from', to: 'to' }, z.string(), z.string().regex(/^a$/)],
  ['a word that a story promises', { context: 'from', to: 'to' }, z.string(), word],
  ['some words of a story', { context: 'from', to: 'to' }, z.enum(['no', 'never']), word],
  ['what a converter makes', { ...copy, with: 'number_text' }, z.int(), z.string()],
  ['what a converter leaves out', { ...copy, with: 'filled' }, z.literal(''), z.int()],
  ['a list made of a list', { each: 'from', to: 'to', rows: [] }, z.array(pair), z.array(pair)],
  ['a list of what may be one', { each: 'from', to: 'to', rows: [] }, z.unknown(), z.unknown()],
] as const)('%s is taken', (_what, row, from, to) => {
  expect(answered(row as typeof copy, from, to)).toBeNull();
});

it.each([
  [copy, z.int(), z.string(), /^takes string, and from is integer: convert it; there are .*number_text/],
  [copy, z.unknown(), z.string(), /^takes string, and from is anything: convert it; there are/],
  [copy, z.string(), z.object({}), /^takes object, and from is string$/],
  [copy, z.string(), z.string().max(9), /^takes string maxLength 9, and from is string/],
  [copy, z.string(), word, /^takes yes, no, and from is string/],
  [copy, z.enum(['no', 'never']), word, /^takes yes, no, and from is no, never/],
  [copy, z.array(z.int()), z.array(z.string()), /^takes array, and from is array/],
  [copy, z.object({}), pair, /^takes object, and from is object$/],
  [copy, z.object({ id: z.int() }), pair, /^takes object, and from is object$/],
  [copy, z.union([z.int(), z.string()]), z.int(), /^takes integer, and from is integer or string: convert it/],
  [{ context: 'from', to: 'to' }, z.literal('never'), word, /^takes yes, no, and from is never/],
  [{ ...copy, with: 'number_text' }, z.int(), z.int(), /^takes integer, and number_text makes "12" of integer/],
  [
    { ...copy, with: 'or_null' },
    z.array(z.int()),
    z.array(z.string()),
    /^takes array, and or_null makes \[\] of array/,
  ],
  [{ ...copy, with: 'history' }, z.string(), z.string(), /^takes string, and history makes undefined of string/],
  [{ each: 'from', to: 'to', rows: [] }, z.array(pair), z.string(), /^takes string, and from is array$/],
] as const)('%j of another kind is refused', (row, from, to, expected) => {
  expect(answered(row as typeof copy, from, to)).toMatch(expected);
});

it('lets a request refuse a value of the right kind, and none of a wrong one', () => {
  expect(answered(copy, z.string(), z.string().max(9), false)).toBeNull();
  expect(answered({ ...copy, with: 'number_text' }, z.int(), z.int(), false)).toBeNull();
  expect(answered(copy, z.string(), z.int(), false)).toMatch(/^takes integer, and from is string/);
});
