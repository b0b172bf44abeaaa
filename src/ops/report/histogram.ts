/** Durations in classes that grow by an eighth, so that a million of them take a few hundred numbers. */

/** Each class is an eighth of a power of two wide: a quantile is at most 12.5 % above the true value. */
const CLASSES_PER_DOUBLING = 8;
/** 2^40 ms is longer than any call. */
const MOST_CLASSES = 40 * CLASSES_PER_DOUBLING;

export interface Histogram {
  counts: Uint32Array;
  total: number;
  max_ms: number;
}

export function createHistogram(): Histogram {
  return { counts: new Uint32Array(MOST_CLASSES + 1), total: 0, max_ms: 0 };
}

/** @param duration_ms negative ones, of a clock that was set back, count as 0. */
export function addDuration(histogram: Histogram, duration_ms: number): void {
  const index = classOf(duration_ms);
  histogram.counts[index] = (histogram.counts[index] ?? 0) + 1;
  histogram.total++;
  histogram.max_ms = Math.max(histogram.max_ms, duration_ms);
}

/**
 * Counts by doublings: up to 1 ms, 2 to 3, 4 to 7, 8 to 15 and so on; the key is the power of two that each begins with,
 * 0 for the first. Durations are whole ms, rounded up.
 */
export function byDoubling({ counts }: Histogram): Map<number, number> {
  const sums = new Map<number, number>();
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const ms = upperBound(index);
    const from = ms < 2 ? 0 : 2 ** Math.floor(Math.log2(ms));
    sums.set(from, (sums.get(from) ?? 0) + count);
  }
  return sums;
}

/** Upper bound of the class that holds the share, ms, never above the longest seen; 0 without any. @param share 0 to 1. */
export function quantile(histogram: Histogram, share: number): number {
  const wanted = Math.ceil(histogram.total * share);
  let seen = 0;
  for (const [index, count] of histogram.counts.entries()) {
    seen += count;
    if (seen >= wanted && count > 0) return Math.min(upperBound(index), histogram.max_ms);
  }
  return 0;
}

/** The class of a duration, ms. Below 8 ms every whole millisecond has a class of its own; above, each doubling has eight. */
export function classOf(duration_ms: number): number {
  const whole = Math.max(0, Math.ceil(duration_ms));
  if (whole < CLASSES_PER_DOUBLING) return whole;
  const doubling = Math.floor(Math.log2(whole));
  const within = Math.floor((whole / 2 ** doubling - 1) * CLASSES_PER_DOUBLING);
  return Math.min(MOST_CLASSES, CLASSES_PER_DOUBLING * (doubling - 2) + within);
}

/** The longest duration of a class, whole ms. */
export function upperBound(index: number): number {
  if (index < CLASSES_PER_DOUBLING) return index;
  const doubling = Math.floor(index / CLASSES_PER_DOUBLING) + 2;
  const within = index % CLASSES_PER_DOUBLING;
  return Math.ceil(2 ** doubling * (1 + (within + 1) / CLASSES_PER_DOUBLING)) - 1;
}
