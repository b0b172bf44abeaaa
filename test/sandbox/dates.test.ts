/** Times in searches of the payments family. */
import { describe, expect, test } from 'vitest';
import { parseMoment } from '../../src/sandbox/dates.ts';

describe('moments', () => {
  const now_ms = Date.UTC(2026, 2, 31, 12);
  test.each([
    ['NOW', '2026-03-31T12:00:00.000Z'],
    ['NOW-30DAYS', '2026-03-01T12:00:00.000Z'],
    ['NOW-1DAY+1HOUR', '2026-03-30T13:00:00.000Z'],
    ['NOW 1HOUR', '2026-03-31T13:00:00.000Z'],
    ['NOW-2YEARS', '2024-03-31T12:00:00.000Z'],
    ['NOW-90SECONDS', '2026-03-31T11:58:30.000Z'],
    ['2026-01-05T10:00:00.000-04:00', '2026-01-05T14:00:00.000Z'],
    ['2026-01-05T10:00:00.000 03:00', '2026-01-05T07:00:00.000Z'],
    ['2026-01-05T10:00:00-0300', '2026-01-05T13:00:00.000Z'],
    ['2026-01-05T10:00', '2026-01-05T10:00:00.000Z'],
    ['2026-01-05', '2026-01-05T00:00:00.000Z'],
  ])('%s', (text, iso) => {
    expect(new Date(parseMoment(text, now_ms) ?? 0).toISOString()).toBe(iso);
  });

  test.each(['', 'now', 'NOW-', 'NOW-DAYS', 'NOW-1', '05/01/2026', '2026-02-30T99:00:00Z'])('%j is none', (text) => {
    expect(parseMoment(text, now_ms)).toBeNull();
  });
});
