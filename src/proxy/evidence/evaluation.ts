/** Evaluating one exchange after the other: a till that polls, or sells in its one way, teaches the same each time. */
import type { Tables } from '../../mapping/tables.ts';
import { createRecent } from '../recent.ts';
import type { RecordedExchange } from '../records/evidence.ts';
import type { Exchange } from './exchange.ts';
import { type Found, type Lesson, lessonOf, type Taught } from './findings.ts';

/** Ways of calling that are remembered; polls and plain sales have some dozens. */
const WAYS = 1_000;
/** What a till wrote may be in a loss, and a sale may lose something of each of its items: such calls are one of a kind. */
const MOST_LOSSES = 16;
const LONGEST_WAY = 4_000;

/** @returns the same as `recordedOf`. What calls of one way taught they share, and nobody may change. */
export function createEvaluation(tables: Tables): (seen: Exchange, found: Found) => RecordedExchange {
  const lessons = createRecent<Lesson & Pick<Exchange, 'fired'>>(WAYS);
  return (seen, found) => {
    const way = isPlain(found) ? wayOf(seen, found) : null;
    if (way === null) return { ...seen, ...lessonOf(tables, seen, found) };
    let lesson = lessons.get(way);
    if (lesson === undefined) {
      lesson = { ...lessonOf(tables, seen, found), fired: seen.fired };
      for (const list of [lesson.losses, lesson.limitations, lesson.cells, lesson.lost, lesson.fired])
        Object.freeze(list);
      lessons.set(way, lesson);
    }
    return { ...seen, ...lesson };
  };
}

/** True where nothing was compared: the call itself is all that was found. */
function isPlain({ differences, cells, compared, paper }: Found): boolean {
  return !compared && paper === undefined && differences.length + cells.length === 0;
}

/** All that `lessonOf` looks at; null for a call that is hardly like another, so that nobody's calls fill the memory. */
function wayOf(
  { lane, operation, status, error, outcome, shadow, upstream, fired, losses, limitations }: Taught,
  { came }: Found,
): string | null {
  if (shadow !== null || losses.length > MOST_LOSSES || losses.some(({ unknown }) => unknown === true)) return null;
  // Names of ours, none of them with a blank; what others may have written goes through JSON, so that no two ways are one.
  const named = `${lane} ${operation ?? ''} ${status} ${outcome} ${fired.length} ${fired.join(' ')} ${came.join(' ')}`;
  const is_plain = error === null && limitations.length + losses.length + upstream.length === 0;
  const rest = (): string =>
    JSON.stringify([
      error,
      limitations,
      losses.map(({ table, path, why }) => [table, path, why]),
      upstream.map(({ name, status, code }) => [name, status, code]),
    ]);
  const way = is_plain ? named : `${named} ${rest()}`;
  return way.length > LONGEST_WAY ? null : way;
}
