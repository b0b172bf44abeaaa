/** The retry schedule of notices as a table, and the parsing of `Retry-After`. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AfterAttempt, afterNoticeAttempt, noticePause_ms } from '../../../src/proxy/notices/retry-schedule.ts';
import { readRetryAfter } from '../../../src/proxy/upstream/upstream.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 10, 2, 12);

function outcomeOf(more: Partial<AfterAttempt>) {
  return afterNoticeAttempt({
    outcome: 'theirs',
    is_by_settings: false,
    attempts: 1,
    created_at: NOW,
    now: NOW,
    retry_after_ms: null,
    horizon_ms: null,
    random: 0,
    ...more,
  });
}

describe('the pause after an attempt [F118]', () => {
  const table: [number, number][] = [
    [1, 15 * MINUTE],
    [2, 15 * MINUTE],
    [3, 15 * MINUTE],
    [4, 30 * MINUTE],
    [5, 1 * HOUR],
    [6, 2 * HOUR],
    [7, 4 * HOUR],
    [8, 8 * HOUR],
    [9, 12 * HOUR],
    [10, 24 * HOUR],
    [11, 24 * HOUR],
    [5_000, 24 * HOUR],
  ];
  it.each(table)('number %i', (attempts, pause_ms) => {
    expect(noticePause_ms(attempts)).toBe(pause_ms);
    expect(outcomeOf({ attempts })).toEqual({ state: 'pending', next_attempt_at: NOW + pause_ms });
    expect(outcomeOf({ attempts, random: 0.5 }).next_attempt_at).toBe(NOW + pause_ms * 1.05);
    expect(outcomeOf({ attempts, random: 0.999_999 }).next_attempt_at).toBeLessThanOrEqual(NOW + pause_ms * 1.1);
  });
});

describe('the jitter', () => {
  it.each(['theirs', 'ours'] as const)(
    'only adds, whatever the attempt and the luck, when the fault is %s',
    (outcome) => {
      fc.assert(
        fc.property(
          fc.integer({ min: 1, max: 40 }),
          fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          (attempts, random) => {
            const pause_ms = outcome === 'theirs' ? noticePause_ms(attempts) : 15 * MINUTE;
            expect(outcomeOf({ outcome, attempts, random }).next_attempt_at).toBeGreaterThanOrEqual(NOW + pause_ms);
          },
        ),
      );
    },
  );
});

describe('Retry-After', () => {
  const table: [string, number | null, number][] = [
    ['none', null, 15 * MINUTE],
    ['shorter than the schedule', 1_000, 15 * MINUTE],
    ['longer', 20 * MINUTE, 20 * MINUTE],
    ['absurd: twice the schedule', 1e12, 30 * MINUTE],
  ];
  it.each(table)('%s', (_name, retry_after_ms, pause_ms) => {
    expect(outcomeOf({ retry_after_ms }).next_attempt_at).toBe(NOW + pause_ms);
  });

  it('does not shorten what the jitter has added', () => {
    expect(outcomeOf({ retry_after_ms: 15 * MINUTE, random: 0.5 }).next_attempt_at).toBe(NOW + 15.75 * MINUTE);
  });
});

describe('the end', () => {
  it('never comes by default', () => {
    expect(outcomeOf({ attempts: 900, created_at: 0 }).state).toBe('pending');
  });

  it('comes with the horizon, for what the receiver refused', () => {
    const horizon_ms = 72 * HOUR;
    expect(outcomeOf({ attempts: 9, horizon_ms, created_at: NOW - horizon_ms + 1 }).state).toBe('pending');
    expect(outcomeOf({ attempts: 9, horizon_ms, created_at: NOW - horizon_ms })).toEqual({
      state: 'dead',
      next_attempt_at: NOW,
    });
  });

  it.each([
    [0, 15 * MINUTE],
    [150 * MINUTE, 15 * MINUTE],
    [200 * MINUTE, 20 * MINUTE],
    [5 * 24 * HOUR, 12 * HOUR],
    [365 * 24 * HOUR, 24 * HOUR],
    [-HOUR, 15 * MINUTE], // a clock was set back
  ])(
    'never comes for what we held ourselves for %i ms: a merchant without a receiver has thousands',
    (age_ms, pause_ms) => {
      const held = { outcome: 'ours', attempts: 40, horizon_ms: 1, created_at: NOW - age_ms } as const;
      const by_settings = outcomeOf({ ...held, is_by_settings: true });
      expect(by_settings).toEqual({ state: 'pending', next_attempt_at: NOW + pause_ms });
      // A fault of this machine may be over in a moment, however old the notice is.
      expect(outcomeOf(held)).toEqual({ state: 'pending', next_attempt_at: NOW + 15 * MINUTE });
    },
  );

  it('is delivery', () => {
    expect(outcomeOf({ outcome: 'delivered', horizon_ms: 1, created_at: 0 })).toEqual({
      state: 'delivered',
      next_attempt_at: NOW,
    });
  });
});

describe('a Retry-After header is read [F19]', () => {
  const table: [string | null | undefined, number | null][] = [
    [null, null],
    [undefined, null],
    ['', null],
    [' 3 ', 3_000],
    ['0', 0],
    ['-1', 0],
    ['1.5', 1_500],
    ['61', 60_000],
    ['1e400', 60_000],
    ['9'.repeat(400), 60_000],
    ['Mon, 02 Nov 2026 12:00:30 GMT', 30_000],
    ['Mon, 02 Nov 2026 11:59:30 GMT', 0],
    ['Monday, 02-Nov-26 12:00:30 GMT', 30_000],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 60_000],
    ['Mon, 99 Nov 2026 12:00:30 GMT', null],
    ['2026-11-02', null],
    ['1;2', null],
    ['NaN', null],
    ['Infinity', null],
    ['0x10', null],
  ];
  it.each(table)('%j', (header, wait_ms) => {
    expect(readRetryAfter(header, NOW, 60_000)).toBe(wait_ms);
  });

  it('stays within its bounds for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.double().map(String),
          fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
        ),
        (text) => {
          const wait_ms = readRetryAfter(text, NOW, 60_000);
          expect(wait_ms === null || (Number.isInteger(wait_ms) && wait_ms >= 0 && wait_ms <= 60_000)).toBe(true);
        },
      ),
    );
  });
});
