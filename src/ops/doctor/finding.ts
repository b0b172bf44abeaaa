/** What the doctor finds: one sentence, how bad it is, and the repair. */

/** `problem`: money or data is at risk now. `warning`: it will be, or a promise is weaker. `note`: worth knowing. */
export const findingLevels = ['ok', 'note', 'warning', 'problem'] as const;
export type FindingLevel = (typeof findingLevels)[number];

export interface Finding {
  /** What was looked at, such as `disk`. */
  name: string;
  level: FindingLevel;
  /** What was found. */
  says: string;
  /** What to do; null when there is nothing to do. */
  repair: string | null;
}

export function fine(name: string, says: string): Finding {
  return { name, level: 'ok', says, repair: null };
}

export function found(level: Exclude<FindingLevel, 'ok'>, name: string, says: string, repair: string): Finding {
  return { name, level, says, repair };
}

const KIB = 1024;
const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Bytes for people: two digits are enough to judge by. */
export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= KIB && unit < UNITS.length - 1) {
    value /= KIB;
    unit++;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit] ?? 'B'}`;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** A duration for people, in its largest unit. */
export function durationText(duration_ms: number): string {
  if (duration_ms >= 2 * DAY_MS) return `${Math.round(duration_ms / DAY_MS)} days`;
  if (duration_ms >= 2 * HOUR_MS) return `${Math.round(duration_ms / HOUR_MS)} hours`;
  if (duration_ms >= 2 * MINUTE_MS) return `${Math.round(duration_ms / MINUTE_MS)} minutes`;
  return `${Math.round(duration_ms / 1000)} seconds`;
}
