/** Tables: full width in pipes, as narrow as the terminal otherwise, always with all their content. */
import { expect, it } from 'vitest';
import { hanging, tableOf } from '../../../src/ops/cli/output.ts';

const head = ['at', 'what'];
const rows = [
  [
    '2026-11-22T10:16:19.500Z',
    'The till called point.create_intent (stage orders, lane orders) and was answered 200 after 95.6 ms',
  ],
  ['never', `x${'y'.repeat(70)}z\na second line`],
];
const lines = (width: number) => tableOf(head, rows, width).split('\n');

it('is as wide as it has to be where nothing ends', () => {
  expect(lines(Number.POSITIVE_INFINITY)[3]).toContain(' after 95.6 ms ');
});

it.each([200, 80, 60, 40])('fits into %i columns', (width) => {
  for (const line of lines(width)) expect(line.length).toBeLessThanOrEqual(width);
});

it('loses nothing, also where there is no room at all', () => {
  for (const width of [60, 5]) {
    const letters = lines(width)
      .join('')
      .replace(/[^a-z]/g, '');
    for (const letter of 'xyz') expect(letters.split(letter).length).toBe(rows.join('').split(letter).length);
  }
});

it('keeps words whole where they have room', () => {
  expect(lines(80).join('\n')).toContain('point.create_intent');
});

it('hangs text beside a margin, and leaves it alone where nothing ends', () => {
  expect(hanging('one two three\nfour', '    ', 20)).toBe('one two three\n    four');
  expect(hanging('one two three four', '    ', 18)).toBe('one two three\n    four');
  expect(hanging('one two\nthree', '  ', Number.POSITIVE_INFINITY)).toBe('one two\n  three');
  expect(hanging('one two three four five', '    ', 10)).toBe('one two three four five');
});
