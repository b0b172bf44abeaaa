/** Times in searches, as clients write them. */
import { describe, expect, it } from 'vitest';
import { searchKey, searchMoment } from '../../../src/proxy/payments/legacy-search.ts';

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
    ['NOW+2DAYS', '2026-04-02T12:00:00.000Z'],
  ])('%s', (text, instant) => {
    expect(new Date(searchMoment(text, NOW) ?? Number.NaN).toISOString()).toBe(instant);
  });
});

describe('the key of a search', () => {
  const key = (query: Record<string, string>, step_ms = 5_000): string => searchKey(query, ['end_date'], step_ms);

  it('is the same for moments of one step, however they are written', () => {
    const first = key({ end_date: '2026-03-01T10:00:00.000Z', limit: '5' });
    expect(key({ limit: '5', end_date: '2026-03-01T10:00:04.999Z' })).toBe(first);
    expect(key({ limit: '5', end_date: '2026-03-01T06:00:01-04:00' })).toBe(first);
    expect(key({ limit: '5', end_date: '2026-03-01T10:00:05.000Z' })).not.toBe(first);
    expect(key({ limit: '6', end_date: '2026-03-01T10:00:00.000Z' })).not.toBe(first);
  });

  it.each([
    [
      'another parameter',
      { external_reference: '2026-03-01T10:00:00Z' },
      { external_reference: '2026-03-01T10:00:01Z' },
    ],
    ['what is relative to now', { end_date: 'NOW-1HOUR' }, { end_date: 'NOW' }],
    ['what is no moment', { end_date: 'yesterday' }, { end_date: 'today' }],
  ])('keeps %s as it is', (_what, one, other) => {
    expect(key(one)).toBe(new URLSearchParams(one).toString());
    expect(key(one)).not.toBe(key(other));
  });

  it('keeps every moment apart where nothing may be cached', () => {
    expect(key({ end_date: '2026-03-01T10:00:00.000Z' }, 0)).not.toBe(key({ end_date: '2026-03-01T10:00:00.001Z' }, 0));
  });
});
