/** Samples the server from outside every few seconds: `/proc`, its file, its metrics, and the tills' waiting times. */
import { readdirSync, statSync } from 'node:fs';
import { percentile } from '../../bench/statistics.ts';
import type { Measure, Sample } from './flat.ts';
import { nativeBytes, residentBytes } from './memory.ts';

const MIB = 2 ** 20;
const mib = { size: MIB, word: 'MiB' };
const one = { size: 1, word: '' };
const ms = { size: 1, word: 'ms' };
const seconds_as_ms = { size: 0.001, word: 'ms' };

/** The soak's limits in `docs/protocol.md` §5.1. */
const MEMORY_PER_HOUR = MIB;
const MOST_WAL = 64 * MIB;
/** Event loop delay, p99 of two seconds. */
const LONGEST_DELAY_S = 0.02;
/** Three quarters of a container's gibibyte. */
const MOST_RSS = 768 * MIB;
/**
 * SQLite's page caches hold 16 MiB each for writer and reader, so memory grows with the file until it is larger. The
 * answer caches are full after about 16,000 sales, which make a file of this size.
 */
const WARM_FILE = 80 * MIB;
/**
 * Normal movement of a healthy server: V8 resizes its generations, allocators keep arenas. Smaller growth is no
 * evidence of a leak, and a run of this length cannot find a smaller one.
 */
const HEAP_NOISE = 6 * MIB;
const NATIVE_NOISE = 8 * MIB;
/** New space is excluded: a full collection leaves it, and it varies by dozens of MiB. */
const YOUNG = ['new', 'new_large_object'];
const USED = 'nodejs_heap_space_size_used_bytes';
/** Every how many samples native memory is read, because reading it blocks the server for a moment. */
const NATIVE_EVERY = 5;
/** A few connections or timers more or less are no leak. */
const COUNT_NOISE = 6;

const memory = (name: string, value: string, by: 'floor' | 'level', noise: number): Measure => ({
  name,
  value,
  unit: mib,
  judgement: { by, per_hour: MEMORY_PER_HOUR, noise, once_warm: true },
});
const count = (name: string): Measure => ({
  name,
  value: name,
  unit: one,
  judgement: { by: 'rest', noise: COUNT_NOISE },
});
const most = (name: string, limit: number): Measure => ({
  name: `${name} at most`,
  value: name,
  unit: mib,
  judgement: { by: 'most', limit },
});
const typical = (name: string, unit: Measure['unit'], limit: number): Measure => ({
  name: `${name} mostly`,
  value: name,
  unit,
  judgement: { by: 'typical', limit },
});
const told = (name: string, unit: Measure['unit']): Measure => ({ name, value: name, unit, judgement: { by: 'told' } });

export const MEASURES: readonly Measure[] = [
  memory('heap collected', 'kept', 'floor', HEAP_NOISE),
  memory('writer heap', 'writer', 'level', HEAP_NOISE),
  memory('outside heaps', 'native', 'level', NATIVE_NOISE),
  count('descriptors'),
  count('timers'),
  count('resources'),
  most('rss', MOST_RSS),
  most('wal', MOST_WAL),
  typical('loop p99', seconds_as_ms, LONGEST_DELAY_S),
  told('till p50', ms),
  told('till p99', ms),
  told('external', mib),
  told('notices waiting', one),
  told('events waiting', one),
];

export interface Watched {
  pid: number;
  database: string;
  metrics(): Promise<string>;
  takeDurations(): number[];
}

/** @returns a function that takes a sample; `at_s`: seconds since the start of the load. */
export function startLooking({
  pid,
  database,
  metrics,
  takeDurations,
}: Watched): (at_s: number, is_at_rest?: boolean) => Promise<Sample> {
  let collections = Number.POSITIVE_INFINITY;
  let looks = 0;
  return async (at_s, is_at_rest = false) => {
    const page = await metrics();
    const of = (name: string, label = ''): number => readValue(page, name, label);
    const sorted = takeDurations().toSorted((first, second) => first - second);
    const before = collections;
    collections = of('nodejs_gc_duration_seconds_count', 'kind="major"');
    return {
      at_s,
      is_collected: collections > before,
      is_warm: sizeOf(database) >= WARM_FILE,
      is_at_rest,
      values: {
        rss: residentBytes(pid),
        heap: of('nodejs_heap_size_used_bytes'),
        kept: of('nodejs_heap_size_used_bytes') - YOUNG.reduce((sum, space) => sum + of(USED, `space="${space}"`), 0),
        writer: of('puente_writer_heap_bytes', 'kind="used"'),
        native: looks++ % NATIVE_EVERY === 0 || is_at_rest ? nativeBytes(pid) : Number.NaN,
        external: of('nodejs_external_memory_bytes'),
        descriptors: readdirSync(`/proc/${pid}/fd`).length,
        timers: of('nodejs_active_resources', 'type="Timeout"'),
        resources: of('nodejs_active_resources_total'),
        wal: sizeOf(`${database}-wal`),
        'loop p99': of('nodejs_eventloop_lag_p99_seconds'),
        'till p50': percentile(sorted, 0.5),
        'till p99': percentile(sorted, 0.99),
        'notices waiting': of('puente_waiting', 'kind="notices"'),
        'events waiting': of('puente_waiting', 'kind="events"'),
      },
    };
  };
}

/**
 * A value in Prometheus's text format. A label that never occurred is not listed and counts as 0.
 * @throws Error for a missing name: an unmeasured value must not look flat.
 */
function readValue(page: string, name: string, label: string): number {
  const lines = page.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  if (lines.length === 0) throw new Error(`the server's metrics have no ${name}`);
  const found = lines.find((line) => line.includes(label));
  return found === undefined ? 0 : Number(found.slice(found.lastIndexOf(' ') + 1));
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
