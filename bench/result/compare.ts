/** This run against a saved one: ratios and processor time, and which of them are certainly worse. */
import { existsSync, readFileSync } from 'node:fs';
import { PUENTE } from '../contestants/contestants.ts';
import type { Spread } from '../statistics.ts';
import type { Line } from './lines.ts';
import type { Result } from './result.ts';

export interface Change {
  what: string;
  before: number;
  now: number;
  /** Above 1 is better. */
  better: number;
  /** `same` when the spreads overlap, or the change is smaller than the noise of a shared machine. */
  verdict: 'better' | 'same' | 'worse';
}

/** Smaller changes come from other work on the machine. */
const NOISE = 0.1;

/** @throws Error when there is no such file, or when it was measured with other programs. */
export function readBaseline(path: string, now: Pick<Result, 'upstream' | 'load' | 'engine'>): Result {
  if (!existsSync(path)) throw new Error(`There is no saved run at ${path}; make one with --save-baseline.`);
  // Written by this program; files without `engine` were measured on SQLite.
  const saved: Result = { engine: 'SQLite', ...JSON.parse(readFileSync(path, 'utf8')) };
  if (saved.upstream !== now.upstream || saved.load !== now.load || saved.engine !== now.engine) {
    throw new Error(
      `The saved run had ${partsOf(saved)}, this one has ${partsOf(now)}: not to be compared. Make a new one with --save-baseline.`,
    );
  }
  return saved;
}

function partsOf({ upstream, load, engine }: Pick<Result, 'upstream' | 'load' | 'engine'>): string {
  return `${upstream} as upstream, ${load} as load, and its rows on ${engine}`;
}

/** Changes of values in both runs. Absolute rates are left out, because they depend on the machine. */
export function changesOf(before: Result, now: Result): Change[] {
  const changes: Change[] = [];
  for (const line of now.lines.filter(({ contestant }) => contestant === PUENTE)) {
    const old = before.lines.find((one) => keyOf(one) === keyOf(line));
    if (old === undefined) continue;
    if (old.ratio !== null && line.ratio !== null)
      changes.push(changeOf(`${keyOf(line)}: ratio to the bare proxy`, old.ratio, line.ratio, 'more'));
    if (old.cpu_ratio !== null && line.cpu_ratio !== null)
      changes.push(
        changeOf(`${keyOf(line)}: processor time to the bare proxy's`, old.cpu_ratio, line.cpu_ratio, 'less'),
      );
  }
  return changes;
}

function keyOf({ case_name, arrangement, fsync_delay_us, in_flight, rate, contestant }: Line): string {
  const slow = fsync_delay_us === null ? '' : `, fsync +${fsync_delay_us / 1000} ms`;
  const load = rate === null ? `${in_flight} in flight` : `${rate}/s arriving`;
  return `${contestant} ${case_name}, ${load}, ${arrangement}${slow}`;
}

function changeOf(what: string, before: Spread, now: Spread, good: 'more' | 'less'): Change {
  const better = good === 'more' ? now.median / before.median : before.median / now.median;
  const overlap = now.min <= before.max && before.min <= now.max;
  const isNoise = Math.abs(better - 1) < NOISE || overlap;
  const verdict = isNoise ? 'same' : better > 1 ? 'better' : 'worse';
  return { what, before: before.median, now: now.median, better, verdict };
}
