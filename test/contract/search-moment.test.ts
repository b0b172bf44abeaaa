/** Moments of searches, as clients write them. */
import { describe, expect, it } from 'vitest';
import { searchMoment } from '../../src/contract/search-moment.ts';

const NOW = Date.parse('2026-03-31T12:00:00.000Z');

describe('what is no moment', () => {
  it.each([
    '',
    'now',
    'NOW-',
    'NOW-1',
    'NOW-1FORTNIGHT',
    'NOW*2DAYS',
    'NOW-999999YEARS',
    '2026',
    '2026-1-5',
    '2026-01-05T10',
    '2026-13-01',
    '2026-01-05T25:00:00Z',
    '2026-01-05T10:00:00+4',
    '1767225600000',
    '05/01/2026',
    'NOW-DAYS',
  ])('%j', (text) => {
    expect(searchMoment(text, NOW)).toBeNull();
  });
});

describe('what is one', () => {
  it.each([
    ['2026-01-05', '2026-01-05T00:00:00.000Z'],
    ['2026-01-05T10:00', '2026-01-05T10:00:00.000Z'],
    ['2026-01-05 10:00:00', '2026-01-05T10:00:00.000Z'],
    ['2026-01-05T10:00:00.123456789Z', '2026-01-05T10:00:00.123Z'],
    ['2026-01-05T10:00:00.000-04:00', '2026-01-05T14:00:00.000Z'],
    ['2026-01-05T10:00:00+0300', '2026-01-05T07:00:00.000Z'],
    ['2026-01-05T10:00:00 03:00', '2026-01-05T07:00:00.000Z'],
    ['NOW', '2026-03-31T12:00:00.000Z'],
    ['NOW-30DAYS', '2026-03-01T12:00:00.000Z'],
    ['NOW-1HOUR', '2026-03-31T11:00:00.000Z'],
    ['NOW-1MONTH', '2026-03-03T12:00:00.000Z'],
    ['NOW-1YEAR-90MINUTES', '2025-03-31T10:30:00.000Z'],
    ['NOW 10SECONDS', '2026-03-31T12:00:10.000Z'],
    ['NOW-2YEARS', '2024-03-31T12:00:00.000Z'],
    ['NOW-1DAY+1HOUR', '2026-03-30T13:00:00.000Z'],
    ['NOW-90SECONDS', '2026-03-31T11:58:30.000Z'],
    ['NOW+2DAYS', '2026-04-02T12:00:00.000Z'],
  ])('%s', (text, instant) => {
    expect(new Date(searchMoment(text, NOW) ?? Number.NaN).toISOString()).toBe(instant);
  });
});
