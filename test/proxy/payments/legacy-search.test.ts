/** The cache key of a search. */
import { describe, expect, it } from 'vitest';
import { searchKey } from '../../../src/proxy/payments/legacy-search.ts';

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
