/** The hours in which merchants may be moved forward, as `Mon-Fri 09:00-17:00 America/Sao_Paulo`: pure. */
import { PuenteError } from '../../error.ts';

const DAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** A change of the clocks can skip a weekly window until the week after; two weeks and a day include any opening. */
const LOOK_AHEAD_MINUTES = 15 * DAY_MINUTES;
/** Zones differ from UTC by a multiple of it, and their clocks change at one. */
const STEP_MINUTES = 15;
const EXAMPLE = 'write it as Mon-Fri 09:00-17:00 America/Sao_Paulo';

interface MoveWindow {
  text: string;
  /** Days on which the window opens; 0 is Monday. */
  days: ReadonlySet<number>;
  /** Minutes after local midnight; a window that closes at or before its opening closes on the next day. */
  opens: number;
  closes: number;
  zone: string;
}

/** @throws PuenteError bad_setting, saying what is wrong. */
export function parseWindow(text: string): MoveWindow {
  const parts = text.trim().split(/\s+/);
  const [days = '', hours = '', zone = ''] = parts;
  if (parts.length !== 3) throw bad(text, `needs days, hours and a time zone`);
  const [opens, closes] = readHours(text, hours);
  return { text: parts.join(' '), days: readDays(text, days), opens, closes, zone: readZone(text, zone) };
}

/** By the wall clock of the zone, so a change of the clocks makes a window longer or shorter. @param now epoch ms. */
export function isOpen(window: MoveWindow, now: number): boolean {
  return openAt(window, wallClock(window.zone), now);
}

/** Epoch ms of the next minute in which the window is open; `now` itself while it is; null when none is in sight. */
export function nextOpening(window: MoveWindow, now: number): number | null {
  const clock = wallClock(window.zone);
  if (openAt(window, clock, now)) return now;
  const first = Math.floor(now / MINUTE_MS) * MINUTE_MS + MINUTE_MS;
  for (let minute = 0; minute < LOOK_AHEAD_MINUTES; minute++) {
    const at = first + minute * MINUTE_MS;
    // A window opens at no other minute. Reading the wall clock at every minute of a weekend took 16 ms, in which the process could answer no till.
    const place = (at / MINUTE_MS) % STEP_MINUTES;
    if (place !== 0 && place !== window.opens % STEP_MINUTES) continue;
    if (openAt(window, clock, at)) return at;
  }
  return null;
}

function openAt({ days, opens, closes }: MoveWindow, clock: Intl.DateTimeFormat, now: number): boolean {
  const { day, minute } = wallTime(clock, now);
  const evening = days.has(day) && minute >= opens && (closes <= opens || minute < closes);
  const morning = closes <= opens && days.has((day + 6) % 7) && minute < closes;
  return evening || morning;
}

function wallClock(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
}

function wallTime(clock: Intl.DateTimeFormat, now: number): { day: number; minute: number } {
  const said: Partial<Record<Intl.DateTimeFormatPartTypes, string>> = {};
  for (const { type, value } of clock.formatToParts(now)) said[type] = value;
  const day = DAYS.findIndex((name) => said.weekday?.startsWith(name));
  return { day, minute: Number(said.hour) * 60 + Number(said.minute) };
}

/** `Mon-Fri`, `Sat`, `Mon,Wed-Fri`; a range may wrap around the week. */
function readDays(text: string, days: string): ReadonlySet<number> {
  const found = new Set<number>();
  for (const range of days.split(',')) {
    const [from, to, ...rest] = range
      .split('-')
      .map((name) => DAYS.findIndex((day) => day.toLowerCase() === name.toLowerCase()));
    const last = to ?? from;
    if (from === undefined || last === undefined || from < 0 || last < 0 || rest.length > 0)
      throw bad(text, `has days that can't be read: ${range === '' ? days : range}`);
    for (let day = from; ; day = (day + 1) % 7) {
      found.add(day);
      if (day === last) break;
    }
  }
  return found;
}

function readHours(text: string, hours: string): [number, number] {
  const match = /^(\d{2}):(\d{2})-(\d{2}):(\d{2})$/.exec(hours);
  if (match === null) throw bad(text, `has hours that can't be read: ${hours}`);
  const [h1 = 0, m1 = 0, h2 = 0, m2 = 0] = match.slice(1).map(Number);
  const [opens, closes] = [h1 * 60 + m1, h2 * 60 + m2];
  if (m1 > 59 || m2 > 59 || opens >= DAY_MINUTES || closes > DAY_MINUTES)
    throw bad(text, `has hours that no day has: ${hours}`);
  if (opens === closes) throw bad(text, `is never open: ${hours}`);
  return [opens, closes];
}

function readZone(text: string, zone: string): string {
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    throw bad(text, `names a time zone that does not exist: ${zone}`);
  }
}

function bad(text: string, what: string): PuenteError {
  return new PuenteError('bad_setting', `moves.window is '${text}', which ${what}; ${EXAMPLE}.`);
}
