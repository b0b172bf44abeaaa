/** Days as they are drawn and listed. */

const DAY_MS = 86_400_000;
/** More bars than pixels could not be told apart; then days are put together. */
const MOST_BARS = 120;

/** Numbers of a UTC day, ISO 8601. */
export interface Day {
  day: string;
}

/** Those without anything, too, so that time keeps its measure. @param empty what such a day has. */
export function withoutGaps<Line extends Day>(days: readonly Line[], empty: Omit<Line, 'day'>): Line[] {
  return days.flatMap((one, nth) => {
    const before = Date.parse(days[nth - 1]?.day ?? one.day);
    const between: Line[] = [];
    for (let at = before + DAY_MS; at < Date.parse(one.day); at += DAY_MS)
      between.push({ ...empty, day: new Date(at).toISOString().slice(0, 10) } as Line); // an empty one with its day
    return [...between, one];
  });
}

/** Neighbours in one line where there are more days than bars: each by its first day, with the sums of its numbers. */
export function spansOf<Line extends Day>(days: readonly Line[], add: (sum: Line, day: Line) => Line): Line[] {
  const size = Math.ceil(days.length / MOST_BARS);
  const spans: Line[] = [];
  for (const [nth, day] of days.entries()) {
    const sum = nth % size === 0 ? undefined : spans.pop();
    spans.push(sum === undefined ? day : add(sum, day));
  }
  return spans;
}

/** The newest days of which each has a bar of its own. */
export function newest<Line extends Day>(days: readonly Line[]): readonly Line[] {
  return days.slice(-MOST_BARS);
}
