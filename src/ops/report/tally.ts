/** Sums over exchanges, page by page: memory grows with operations and findings, never with calls. */
import { OTHERS } from '../../mapping/tables.ts';
import type { Exchange, Outcome } from '../../proxy/evidence/exchange.ts';
import type { LossSeen, StoredExchange } from '../../proxy/records/evidence.ts';
import { DAY_MS, dayOf, rounded } from '../fields.ts';
import type { Line } from './report.ts';

/** All calls without an operation are one line. */
export const NO_OPERATION = '(no operation)';
/** Distinct lines of errors and losses: legacy's answers and unknown fields are no closed sets. */
const MOST_LINES = 2_000;
/** Invented tokens name invented merchants; the calls of further merchants are counted under one name. */
const MOST_MERCHANTS = 20_000;
export const MORE_FIELDS = 'More fields than one report names.';

interface MerchantSums {
  calls: number;
  /** Calls with a refused token, which may be another merchant's. */
  refused: number;
  faults: number;
  losses: number;
}

export type Tally = ReturnType<typeof createTally>;

/** Filled by `addExchange`, one exchange after the other, so that a report of many calls needs no memory for them. */
export function createTally() {
  return {
    count: 0,
    first_sequence: 0,
    last_sequence: 0,
    traffic: new Map<string, Line<'traffic'>>(),
    /** Calls on legacy that named no sale and no refund, by operation and outcome. */
    without_row: new Map<string, number>(),
    latency: new Map<string, { operation: string; lane: Exchange['lane']; histogram: Histogram }>(),
    errors: new Map<string, Line<'errors'>>(),
    days: new Map<number, Line<'days'>>(),
    losses: new Map<string, Omit<Line<'losses'>, 'advice'>>(),
    shadow: new Map<string, Line<'shadow'>>(),
    tables: new Map<string, number>(),
    /** Calls that met a limitation, by its number. */
    limitations: new Map<string, number>(),
    /** Calls on orders whose limitations were not counted. */
    uncounted: 0,
    /** Calls that showed a difference, by merchant and signature. */
    signatures: new Map<string, number>(),
    merchants: new Map<string, MerchantSums>(),
  };
}

/** In ascending sequence: the first and the last one become the bounds of the period. */
export function addExchange(tally: Tally, exchange: StoredExchange): void {
  const operation = exchange.operation ?? NO_OPERATION;
  const { lane, sequence } = exchange;
  if (tally.count === 0) tally.first_sequence = sequence;
  tally.count++;
  tally.last_sequence = sequence;
  addTraffic(tally, operation, exchange);
  if (lane === 'legacy' && exchange.legacy_id === null) countOne(tally.without_row, `${operation} ${exchange.outcome}`);
  addLatency(tally, 'all', lane, exchange.duration_ms);
  addLatency(tally, operation, lane, exchange.duration_ms);
  if (exchange.error !== null) addError(tally, operation, exchange, exchange.error);
  addDay(tally, exchange);
  if (exchange.merchant_id !== null) addMerchant(tally, exchange.merchant_id, exchange);
  for (const loss of exchange.lost) addLoss(tally, loss);
  if (exchange.shadow !== null) addShadow(tally, operation, exchange.shadow);
  countOne(tally.tables, exchange.tables_revision);
  if (exchange.limitations === null) tally.uncounted += Number(lane === 'orders');
  else for (const id of exchange.limitations) countOne(tally.limitations, id);
  for (const signature of exchange.signatures) countOne(tally.signatures, `${exchange.merchant_id ?? ''} ${signature}`);
}

function countOne(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/**
 * Milliseconds, rounded to tenths; percentiles are exact to the class of the histogram. The lines of all operations
 * together come first.
 */
export function latencyLines(tally: Tally): Line<'latency'>[] {
  return [...tally.latency.values()]
    .map(({ operation, lane, histogram }) => ({
      operation,
      lane,
      calls: histogram.total,
      p50_ms: rounded(quantile(histogram, 0.5), 1),
      p95_ms: rounded(quantile(histogram, 0.95), 1),
      p99_ms: rounded(quantile(histogram, 0.99), 1),
      max_ms: rounded(histogram.max_ms, 1),
    }))
    .toSorted((a, b) => Number(b.operation === 'all') - Number(a.operation === 'all') || b.calls - a.calls);
}

/** Durations of all operations by lane, from the shortest to the longest class with a call, without a gap. */
export function waitLines(tally: Tally): Line<'waits'>[] {
  const of = (lane: Exchange['lane']): Map<number, number> => {
    const found = tally.latency.get(`all ${lane}`);
    return found === undefined ? new Map() : byDoubling(found.histogram);
  };
  const [legacy, orders] = [of('legacy'), of('orders')];
  const seen = [...legacy.keys(), ...orders.keys()];
  const lines: Line<'waits'>[] = [];
  for (let from_ms = Math.min(...seen); from_ms <= Math.max(...seen); from_ms = Math.max(2, from_ms * 2)) {
    const up_to_ms = Math.max(2, from_ms * 2) - 1;
    lines.push({ from_ms, up_to_ms, legacy: legacy.get(from_ms) ?? 0, orders: orders.get(from_ms) ?? 0 });
  }
  return lines;
}

/** Ascending by UTC day. */
export function dayLines({ days }: Tally): Line<'days'>[] {
  return [...days.values()].toSorted((a, b) => (a.day < b.day ? -1 : 1));
}

const NO_OUTCOMES = { ok: 0, business: 0, auth: 0, fault: 0 } as const satisfies Record<Outcome, 0>;

function addTraffic(tally: Tally, operation: string, { lane, outcome }: StoredExchange): void {
  const none = { operation, lane, calls: 0, outcomes: { ...NO_OUTCOMES } };
  const line = lineOf(tally.traffic, `${operation} ${lane}`, none);
  line.calls++;
  line.outcomes[outcome]++;
}

function addLatency(tally: Tally, operation: string, lane: Exchange['lane'], duration_ms: number): void {
  const key = `${operation} ${lane}`;
  const line = tally.latency.get(key) ?? { operation, lane, histogram: createHistogram() };
  tally.latency.set(key, line);
  addDuration(line.histogram, duration_ms);
}

function addError(tally: Tally, operation: string, { id, lane, status }: StoredExchange, error: string): void {
  const key = `${operation} ${lane} ${status} ${error}`;
  const is_full = tally.errors.size >= MOST_LINES && !tally.errors.has(key);
  const none = { operation, lane, status, error: is_full ? OTHERS : error, calls: 0, sample: id };
  lineOf(tally.errors, is_full ? `${operation} ${lane} ${status} ${OTHERS}` : key, none).calls++;
}

function addDay(tally: Tally, { at, lane, outcome }: StoredExchange): void {
  const line = lineOf(tally.days, Math.floor(at / DAY_MS), { day: dayOf(at), legacy: 0, orders: 0, faults: 0 });
  line[lane]++;
  if (lane === 'orders' && outcome === 'fault') line.faults++;
}

function addMerchant(tally: Tally, merchant_id: string, { outcome, lost }: StoredExchange): void {
  const is_full = tally.merchants.size >= MOST_MERCHANTS && !tally.merchants.has(merchant_id);
  const none = { calls: 0, refused: 0, faults: 0, losses: 0 };
  const sums = lineOf(tally.merchants, is_full ? OTHERS : merchant_id, none);
  sums.calls++;
  if (outcome === 'auth') sums.refused++;
  if (outcome === 'fault') sums.faults++;
  sums.losses += lost.length;
}

function addLoss(tally: Tally, { would_be, unknown: _unknown, ...seen }: LossSeen): void {
  const { operation, table, path } = seen;
  const is_full = tally.losses.size >= MOST_LINES && !tally.losses.has(`${operation} ${table} ${path}`);
  const loss = is_full ? { ...seen, path: OTHERS, why: MORE_FIELDS } : seen;
  const none = { ...loss, count: 0, would_be_count: 0 };
  const line = lineOf(tally.losses, `${operation} ${table} ${loss.path}`, none);
  if (would_be) line.would_be_count++;
  else line.count++;
}

function addShadow(tally: Tally, operation: string, { verdict, code, error }: NonNullable<Exchange['shadow']>): void {
  const key = `${operation} ${verdict} ${code} ${error}`;
  lineOf(tally.shadow, key, { operation, verdict, code, error, count: 0 }).count++;
}

function lineOf<Key, Sums>(lines: Map<Key, Sums>, key: Key, none: Sums): Sums {
  const line = lines.get(key) ?? none;
  lines.set(key, line);
  return line;
}

// Durations in classes that grow by an eighth, so that a million of them take a few hundred numbers.

/** Each class is an eighth of a power of two wide: a quantile is at most 12.5 % above the true value. */
const CLASSES_PER_DOUBLING = 8;
/** 2^40 ms is longer than any call. */
const MOST_CLASSES = 40 * CLASSES_PER_DOUBLING;

interface Histogram {
  counts: Uint32Array;
  total: number;
  max_ms: number;
}

/** Of durations in classes: its size does not grow with the calls. */
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

/** Counts by doubling: up to 1 ms, 2 to 3, 4 to 7 and so on, by the first ms of each class; 0 for the first. */
function byDoubling({ counts }: Histogram): Map<number, number> {
  const sums = new Map<number, number>();
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const ms = upperBound(index);
    const from = ms < 2 ? 0 : 2 ** Math.floor(Math.log2(ms));
    sums.set(from, (sums.get(from) ?? 0) + count);
  }
  return sums;
}

/** Upper bound, ms, of the class with the share, never above the longest seen; 0 without calls. @param share 0 to 1. */
export function quantile({ counts, total, max_ms }: Histogram, share: number): number {
  return Math.min(max_ms, shareOf(counts.entries(), total, share));
}

/** Upper bound, ms, of the class that holds the share; 0 without calls. @param counts by class, ascending. */
export function shareOf(counts: Iterable<[wait: number, count: number]>, total: number, share: number): number {
  let left = Math.ceil(total * share);
  for (const [wait, count] of counts) {
    left -= count;
    if (left <= 0 && count > 0) return upperBound(wait);
  }
  return 0;
}

/** The class of a duration, ms. Below 8 ms every whole millisecond is a class; above, each doubling has eight. */
export function classOf(duration_ms: number): number {
  const whole = Math.max(0, Math.ceil(duration_ms));
  if (whole < CLASSES_PER_DOUBLING) return whole;
  const doubling = Math.floor(Math.log2(whole));
  const within = Math.floor((whole / 2 ** doubling - 1) * CLASSES_PER_DOUBLING);
  return Math.min(MOST_CLASSES, CLASSES_PER_DOUBLING * (doubling - 2) + within);
}

/** The longest duration of a class, whole ms. */
function upperBound(index: number): number {
  if (index < CLASSES_PER_DOUBLING) return index;
  const doubling = Math.floor(index / CLASSES_PER_DOUBLING) + 2;
  const within = index % CLASSES_PER_DOUBLING;
  return Math.ceil(2 ** doubling * (1 + (within + 1) / CLASSES_PER_DOUBLING)) - 1;
}
