/** The window of moves: its syntax, and when it is open, across clock changes too. */
import { describe, expect, it } from 'vitest';
import { isOpen, nextOpening, parseWindow } from '../../../src/ops/moves/window.ts';

describe('what is refused, with a sentence', () => {
  it.each([
    ['', 'needs days, hours and a time zone'],
    ['Mon-Fri 09:00-17:00', 'needs days, hours and a time zone'],
    ['Mon-Fri 09:00 - 17:00 UTC', 'needs days, hours and a time zone'],
    ['Mo-Fr 09:00-17:00 UTC', "has days that can't be read: Mo-Fr"],
    ['Mon-Wed-Fri 09:00-17:00 UTC', "has days that can't be read: Mon-Wed-Fri"],
    ['Mon, 09:00-17:00 UTC', "has days that can't be read"],
    ['Mon 9:00-17:00 UTC', "has hours that can't be read: 9:00-17:00"],
    ['Mon 09:00-25:00 UTC', 'has hours that no day has'],
    ['Mon 09:60-10:00 UTC', 'has hours that no day has'],
    ['Mon 24:00-10:00 UTC', 'has hours that no day has'],
    ['Mon 09:00-09:00 UTC', 'is never open'],
    ['Mon 09:00-17:00 America/Sao_Paolo', 'names a time zone that does not exist: America/Sao_Paolo'],
  ])('%s', (text, says) => {
    expect(() => parseWindow(text)).toThrow(says);
    expect(() => parseWindow(text)).toThrow('Mon-Fri 09:00-17:00 America/Sao_Paulo');
  });
});

describe('when it is open', () => {
  it.each([
    // 2026-11-18 is a Wednesday.
    ['Mon-Fri 09:00-17:00 America/Sao_Paulo', '2026-11-18T12:00:00Z', true], // 09:00 there
    ['Mon-Fri 09:00-17:00 America/Sao_Paulo', '2026-11-18T11:59:59Z', false],
    ['Mon-Fri 09:00-17:00 America/Sao_Paulo', '2026-11-18T20:00:00Z', false], // 17:00 there
    ['Mon-Fri 09:00-17:00 America/Sao_Paulo', '2026-11-21T15:00:00Z', false], // Saturday
    ['mon,WED 00:00-24:00 UTC', '2026-11-18T23:59:59Z', true],
    ['Mon,Tue 00:00-24:00 UTC', '2026-11-18T00:00:00Z', false],
    ['Fri-Mon 10:00-11:00 UTC', '2026-11-22T10:30:00Z', true], // Sunday
    ['Tue 22:00-02:00 UTC', '2026-11-17T23:00:00Z', true],
    ['Tue 22:00-02:00 UTC', '2026-11-18T01:59:00Z', true], // the night that began on Tuesday
    ['Tue 22:00-02:00 UTC', '2026-11-18T22:30:00Z', false],
    // On the day the clocks go back this hour exists twice; the window is open both times.
    ['Sun 01:00-02:00 America/New_York', '2026-11-01T05:30:00Z', true],
    ['Sun 01:00-02:00 America/New_York', '2026-11-01T06:30:00Z', true],
    ['Sun 01:00-02:00 America/New_York', '2026-11-01T07:00:00Z', false],
    // On the day the clocks go forward this hour does not exist.
    ['Sun 02:00-03:00 America/New_York', '2026-03-08T06:59:00Z', false],
    ['Sun 02:00-03:00 America/New_York', '2026-03-08T07:00:00Z', false],
    // The same local window is one hour apart in UTC, summer and winter.
    ['Mon-Fri 09:00-17:00 America/Santiago', '2026-01-14T12:00:00Z', true],
    ['Mon-Fri 09:00-17:00 America/Santiago', '2026-07-15T12:00:00Z', false],
  ])('%s at %s: %s', (text, at, open) => {
    expect(isOpen(parseWindow(text), Date.parse(at))).toBe(open);
  });
});

describe('the next opening', () => {
  it.each([
    ['Mon-Fri 09:00-17:00 America/Sao_Paulo', '2026-11-18T13:00:00Z', '2026-11-18T13:00:00.000Z'], // open now
    ['Mon-Fri 09:00-17:00 America/Sao_Paulo', '2026-11-20T20:00:30Z', '2026-11-23T12:00:00.000Z'], // over the weekend
    ['Wed 09:07-09:08 UTC', '2026-11-18T09:08:00Z', '2026-11-25T09:07:00.000Z'],
    // Zones a quarter of an hour, and a change of half an hour, from others.
    ['Mon-Fri 09:10-17:00 Asia/Kathmandu', '2026-11-18T12:00:00Z', '2026-11-19T03:25:00.000Z'],
    ['Sun 02:10-02:20 Australia/Lord_Howe', '2026-10-03T12:00:00Z', '2026-10-10T15:10:00.000Z'],
    ['Sun 02:10-02:40 Australia/Lord_Howe', '2026-10-03T12:00:00Z', '2026-10-03T15:30:00.000Z'],
    // The clock change removes the whole window that week.
    ['Sun 02:00-03:00 America/New_York', '2026-03-07T12:00:00Z', '2026-03-15T06:00:00.000Z'],
  ])('%s after %s', (text, after, next) => {
    const at = nextOpening(parseWindow(text), Date.parse(after));
    expect(at === null ? null : new Date(at).toISOString()).toBe(next);
  });
});
