/** Evaluating one exchange after the other: a till that polls, or sells in its one way, teaches the same each time. */
import type { Tables } from '../../mapping/tables.ts';
import type { Exchange } from '../exchange.ts';
import { createRecent } from '../recent.ts';
import type { RecordedExchange } from '../records/evidence.ts';
import { type Found, type Lesson, lessonOf, nothingFound, type Taught } from './findings.ts';

/** Ways of calling that are remembered; an installation has some dozens. */
const WAYS = 1_000;

/** @returns the same as `recordedOf`. What calls of one way taught they share, and nobody may change. */
export function createEvaluation(tables: Tables): (seen: Exchange, found: Found) => RecordedExchange {
  const lessons = createRecent<Lesson>(WAYS);
  return (seen, found) => {
    const way = found === nothingFound ? wayOf(seen) : null;
    if (way === null) return { ...seen, ...lessonOf(tables, seen, found) };
    let lesson = lessons.get(way);
    if (lesson === undefined) {
      lesson = lessonOf(tables, seen, found);
      for (const list of [lesson.losses, lesson.limitations, lesson.cells, lesson.lost, lesson.differences])
        Object.freeze(list);
      lessons.set(way, lesson);
    }
    return { ...seen, ...lesson };
  };
}

/** All that `lessonOf` looks at; null where a caller could make up ever new ones, or that is too much to compare. */
function wayOf({
  lane,
  operation,
  status,
  error,
  outcome,
  shadow,
  upstream,
  fired,
  losses,
  limitations,
}: Taught): string | null {
  if (shadow !== null || losses.some(({ unknown }) => unknown === true)) return null;
  return JSON.stringify([
    [lane, operation, status, error, outcome],
    fired,
    limitations,
    losses.map(({ table, path, why }) => [table, path, why]),
    upstream.map(({ name, status, code }) => [name, status, code]),
  ]);
}
