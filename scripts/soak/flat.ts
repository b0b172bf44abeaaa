/** Judges whether a measure stayed flat: its slope after warm-up against the allowed change per hour and the noise. */

export interface Sample {
  /** Seconds since the start of the load. */
  at_s: number;
  /** The server has run a full garbage collection since the previous sample. */
  is_collected: boolean;
  /** Bounded caches are full, so later growth of memory is no cache filling. */
  is_warm: boolean;
  /** The load has ended and no work is pending. */
  is_at_rest: boolean;
  values: Readonly<Record<string, number>>;
}

/**
 * Rule for a measure. `floor`: the lowest values, right after collections, may not rise, because memory between two
 * collections is a sawtooth. `level`: the median may not rise. `most`: no sample may exceed the limit. `typical`: half
 * of the samples may not. `rest`: after the load it may not exceed its value at the start, because under load it
 * follows the calls under way, which depend on the machine. `told`: shown, never judged.
 */
export type Judgement =
  | {
      by: 'floor' | 'level';
      per_hour: number;
      noise: number;
      /** Only samples with full caches count. */
      once_warm: boolean;
    }
  | { by: 'most' | 'typical'; limit: number }
  | { by: 'rest'; noise: number }
  | { by: 'told' };

export interface Measure {
  name: string;
  /** Key in a sample's values. */
  value: string;
  /** Divisor for display, and the word for the unit. */
  unit: { size: number; word: string };
  judgement: Judgement;
}

export interface Trend {
  name: string;
  unit: string;
  /** In the measure's unit: first and last judged block; for `most` the end is the highest value. */
  start: number;
  end: number;
  /** Change per hour in the measure's unit; null where none is judged. */
  slope_per_hour: number | null;
  /** Smallest slope that a run of this length can tell from noise, in the measure's unit; null where none is judged. */
  resolution_per_hour: number | null;
  verdict: 'flat' | 'within' | 'told' | 'too short' | 'rises' | 'too high';
}

/** The first third is warm-up: caches fill, code is compiled, pools open. */
const WARM_UP_SHARE = 1 / 3;
/** Enough blocks that one odd block cannot bend the slope. */
const MOST_BLOCKS = 12;
/** Fewer blocks give no slope. */
const LEAST_BLOCKS = 4;
/**
 * In a run long enough for that many blocks, a floor block holds a whole tooth of each sawtooth. A cache of two halves
 * (`proxy/concurrency.ts`) is one: it grows until a half is full, then drops the other, whenever garbage is collected.
 */
const FLOOR_BLOCK_S = 600;
/** Length from which memory is warm at the usual rate. */
const JUDGED_FROM_MIN = 60;
/** Longer than a burst of calls. */
const LEVEL_BLOCK_S = 25;

/** @param looks samples of the whole load, oldest first, and one at rest. */
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

/** Compares the value at the start of the load with the value at rest. */
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

/** Whether this measure fails a run of so many minutes: a long run that could not judge it has shown nothing. */
export function isBroken({ verdict }: Trend, minutes: number): boolean {
  return verdict === 'rises' || verdict === 'too high' || (verdict === 'too short' && minutes >= JUDGED_FROM_MIN);
}

/** Points that count: after warm-up (a limit counts always), and for a floor only after collections. */
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
  // A value that was never seen is not within a limit.
  if ('limit' in judgement) return highest >= 0 && highest <= judgement.limit ? 'within' : 'too high';
  if (blocks < LEAST_BLOCKS) return 'too short';
  const rises = per_hour > judgement.per_hour && per_hour * hours > judgement.noise;
  return rises ? 'rises' : 'flat';
}

interface Point {
  at_s: number;
  value: number;
}

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

function lengthOf(points: readonly Point[]): number {
  return (points.at(-1)?.at_s ?? 0) - (points[0]?.at_s ?? 0);
}

/** Blocks of equal duration, without those that have no point. */
function blocksOf(points: readonly Point[], count: number): Point[][] {
  const from_s = points[0]?.at_s ?? 0;
  const block_s = lengthOf(points) / count;
  const placeOf = ({ at_s }: Point): number => Math.min(count - 1, Math.floor((at_s - from_s) / block_s));
  return Array.from({ length: count }, (_, place) => points.filter((point) => placeOf(point) === place)).filter(
    ({ length }) => length > 0,
  );
}

/** Theil–Sen estimator: the median slope of all pairs, per second. */
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
