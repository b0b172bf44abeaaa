/** Judges whether a measure stayed flat: the slope after warm-up against what is allowed an hour and what is only noise. */

/** One look at the server. */
export interface Sample {
  /** Seconds since the load began. */
  at_s: number;
  /** The server has collected all its garbage since the look before. */
  is_collected: boolean;
  /** Caches with a bound are full: what memory takes from here on, it keeps. */
  is_warm: boolean;
  /** The load has ended, and nothing waits any more. */
  is_at_rest: boolean;
  values: Readonly<Record<string, number>>;
}

/**
 * How a measure is judged. `floor`: what is left right after a collection may not rise, because between two of them it is a
 * saw. `level`: its middle may not rise. `most`: no sample may be above the limit. `typical`: half of them may not.
 * `rest`: once the load has ended there may be no more of it than while it began, because during it there are as many as
 * calls are under way, which is up to the machine. `told`: shown, never judged.
 */
export type Judgement =
  | {
      by: 'floor' | 'level';
      per_hour: number;
      noise: number;
      /** Counts only once caches are full. */
      once_warm: boolean;
    }
  | { by: 'most' | 'typical'; limit: number }
  | { by: 'rest'; noise: number }
  | { by: 'told' };

export interface Measure {
  name: string;
  /** Of its value in a sample. */
  value: string;
  /** What its values are divided by to be shown, and the word for that. */
  unit: { size: number; word: string };
  judgement: Judgement;
}

export interface Trend {
  name: string;
  unit: string;
  /** In the measure's unit: the first and the last block of what is judged; at the end the highest value for `most`. */
  start: number;
  end: number;
  /** Change in an hour, in the measure's unit; null where none is judged. */
  slope_per_hour: number | null;
  /** The least slope that a run of this length can tell from noise, in the measure's unit; null where none is judged. */
  resolution_per_hour: number | null;
  verdict: 'flat' | 'within' | 'told' | 'too short' | 'rises' | 'too high';
}

/** The first third warms up: caches fill, code is compiled, pools open. */
const WARM_UP_SHARE = 1 / 3;
/** Blocks of what is judged: enough for a slope that one odd block can't bend. */
const MOST_BLOCKS = 12;
/** Fewer have no slope. */
const LEAST_BLOCKS = 4;
/**
 * A block of a floor holds a tooth of every saw, where the run is long enough for so many blocks. What is bounded in two halves is one too (`proxy/recent.ts`): it grows until a
 * half is full, and its other half goes at once, however often garbage is collected.
 */
const FLOOR_BLOCK_S = 600;
/** So long a run has to be for memory to be warm, at the usual rate. */
const JUDGED_FROM_MIN = 60;
/** A block of a level is longer than a burst of calls. */
const LEVEL_BLOCK_S = 25;

/** @param looks of the whole load, oldest first, and one at rest. */
export function trendOf(measure: Measure, looks: readonly Sample[]): Trend {
  const { name, unit, judgement } = measure;
  if (judgement.by === 'rest') return restOf(measure, judgement, looks);
  const samples = looks.filter(({ is_at_rest }) => !is_at_rest);
  const points = pointsOf(measure, samples);
  const blocks = judgement.by === 'floor' ? floorBlocks(points) : levelBlocks(points);
  const [first, last] = [blocks[0], blocks.at(-1)];
  const hours = ((last?.at_s ?? 0) - (first?.at_s ?? 0)) / 3600;
  const per_hour = slopeOf(blocks) * 3600;
  const highest = Math.max(...points.map(({ value }) => value));
  const isJudged = (judgement.by === 'floor' || judgement.by === 'level') && hours > 0;
  const resolution = isJudged ? judgement.noise / hours : null;
  return {
    name,
    unit: unit.word,
    start: (first?.value ?? Number.NaN) / unit.size,
    end: (judgement.by === 'most' ? highest : (last?.value ?? Number.NaN)) / unit.size,
    slope_per_hour: per_hour / unit.size,
    resolution_per_hour: resolution === null ? null : resolution / unit.size,
    verdict: verdictOf(judgement, {
      blocks: blocks.length,
      per_hour,
      hours,
      highest: judgement.by === 'typical' ? median(points.map(({ value }) => value)) : highest,
    }),
  };
}

/** What was there as the load began, against what is left of it. */
function restOf({ name, value, unit }: Measure, { noise }: { noise: number }, looks: readonly Sample[]): Trend {
  const first = looks.filter(({ at_s }) => at_s <= LEVEL_BLOCK_S).map(({ values }) => values[value] ?? Number.NaN);
  const start = median(first);
  const end = looks.find(({ is_at_rest }) => is_at_rest)?.values[value] ?? Number.NaN;
  const isKnown = !Number.isNaN(end - start);
  return {
    name,
    unit: unit.word,
    start: start / unit.size,
    end: end / unit.size,
    slope_per_hour: null,
    resolution_per_hour: null,
    verdict: isKnown ? (end - start > noise ? 'rises' : 'flat') : 'too short',
  };
}

/** Whether a run of so many minutes may not pass for this measure: a long one that could not judge it has shown nothing. */
export function isBroken({ verdict }: Trend, minutes: number): boolean {
  return verdict === 'rises' || verdict === 'too high' || (verdict === 'too short' && minutes >= JUDGED_FROM_MIN);
}

/** What counts of a measure: after the warm-up, but a limit holds all the time; and where its floor is, after collections. */
function pointsOf({ value, judgement }: Measure, samples: readonly Sample[]): Point[] {
  const end_s = samples.at(-1)?.at_s ?? 0;
  const from_s = judgement.by === 'most' ? 0 : end_s * WARM_UP_SHARE;
  return samples
    .filter((sample) => sample.at_s >= from_s && counts(judgement, sample))
    .map(({ at_s, values }) => ({ at_s, value: values[value] ?? Number.NaN }))
    .filter((point) => !Number.isNaN(point.value));
}

function counts(judgement: Judgement, { is_collected, is_warm }: Sample): boolean {
  if (judgement.by !== 'floor' && judgement.by !== 'level') return true;
  return (is_warm || !judgement.once_warm) && (is_collected || judgement.by !== 'floor');
}

function verdictOf(
  judgement: Exclude<Judgement, { by: 'rest' }>,
  { blocks, per_hour, hours, highest }: { blocks: number; per_hour: number; hours: number; highest: number },
): Trend['verdict'] {
  if (judgement.by === 'told') return 'told';
  // What was never seen is not within anything.
  if ('limit' in judgement) return highest >= 0 && highest <= judgement.limit ? 'within' : 'too high';
  if (blocks < LEAST_BLOCKS) return 'too short';
  const rises = per_hour > judgement.per_hour && per_hour * hours > judgement.noise;
  return rises ? 'rises' : 'flat';
}

interface Point {
  at_s: number;
  value: number;
}

/** The lowest point of each. */
function floorBlocks(points: readonly Point[]): Point[] {
  const lowest = (block: readonly Point[]): Point[] =>
    block.toSorted((one, other) => one.value - other.value).slice(0, 1);
  const count = Math.max(LEAST_BLOCKS, Math.min(MOST_BLOCKS, Math.floor(lengthOf(points) / FLOOR_BLOCK_S)));
  return blocksOf(points, count).flatMap(lowest);
}

function levelBlocks(points: readonly Point[]): Point[] {
  const count = Math.min(MOST_BLOCKS, Math.max(1, Math.floor(lengthOf(points) / LEVEL_BLOCK_S)));
  return blocksOf(points, count).map((block) => ({
    at_s: median(block.map(({ at_s }) => at_s)),
    value: median(block.map(({ value }) => value)),
  }));
}

/** Seconds. */
function lengthOf(points: readonly Point[]): number {
  return (points.at(-1)?.at_s ?? 0) - (points[0]?.at_s ?? 0);
}

/** Equally long in time; one without a point is left out. */
function blocksOf(points: readonly Point[], count: number): Point[][] {
  const from_s = points[0]?.at_s ?? 0;
  const block_s = lengthOf(points) / count;
  const placeOf = ({ at_s }: Point): number => Math.min(count - 1, Math.floor((at_s - from_s) / block_s));
  return Array.from({ length: count }, (_, place) => points.filter((point) => placeOf(point) === place)).filter(
    ({ length }) => length > 0,
  );
}

/** Theil and Sen: the median of the slopes between all pairs, a second. */
function slopeOf(points: readonly Point[]): number {
  const slopes = points.flatMap((one, index) =>
    points.slice(index + 1).map((other) => (other.value - one.value) / (other.at_s - one.at_s)),
  );
  return median(slopes);
}

function median(values: number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}
