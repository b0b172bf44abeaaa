/** Numbers for Prometheus; labels are closed sets, never ids (`test/faults/README.md` F102). */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Admission, sheddingLevels } from '../http/admission.ts';
import type { Count } from '../log.ts';
import { roomLevels } from '../records/upkeep.ts';
import type { Store } from '../store.ts';

/** Seconds; tills wait 10, and a local translation takes a few milliseconds. */
const DURATION_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Pressure = Pick<Admission, 'level' | 'callsUnderWay'>;
/** A metric with its values, which can be added to those of other processes. */
export type Reading = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

/** Counts an answered call. */
export type Observe = (operation: string, outcome: string, duration_ms: number) => void;
export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS_S, registers });
  const counters = counter('puente_total', 'Counters of the proxy', 'what', 'label');
  const calls = histogram('puente_call_seconds', 'Legacy calls answered on the orders lane', 'operation', 'outcome');
  const upstream = histogram('puente_upstream_seconds', 'Calls to the orders API', 'call', 'outcome');
  const notices = counter('puente_notice_attempts_total', 'Notice attempts', 'outcome');
  const refresh = createGauges(registry);
  const count: Count = (name, label = '') => counters.inc({ what: name, label });
  const observe: Observe = (operation, outcome, duration_ms) =>
    calls.observe({ operation, outcome }, duration_ms / 1000);
  return {
    count,
    observe,
    /** Counts an upstream call. */
    upstream: (name: string, outcome: string, duration_ms: number): void =>
      upstream.observe({ call: name, outcome }, duration_ms / 1000),
    /** Counts a notice attempt. */
    notice: (outcome: string): void => notices.inc({ outcome }),
    /** The page in Prometheus's text format. */
    async render(store: Store, admission: Pressure): Promise<{ type: string; text: string }> {
      await refresh(store, admission);
      return { type: registry.contentType, text: await registry.metrics() };
    },
    /** The same as values. */
    async read(store: Store, admission: Pressure): Promise<Reading[]> {
      await refresh(store, admission);
      return registry.getMetricsAsJSON();
    },
  };
}

/** Gauges that are set when they are read. */
function createGauges(registry: Registry): (store: Store, admission: Pressure) => Promise<void> {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry] });
  const links = gauge('puente_links', 'Links by state', 'state');
  const waiting = gauge('puente_waiting', 'Work waiting in the store', 'kind');
  const in_flight = gauge('puente_calls_under_way', 'Calls of the public port in flight');
  const shedding = gauge('puente_shedding', 'Load shedding: 0 nothing, 1 shadows, 2 reads, 3 all');
  const writer = gauge('puente_writer_heap_bytes', 'JavaScript heap of the writer thread', 'kind');
  const disk_level = gauge('puente_disk_level', 'Room on the disk: 0 enough, 1 low, 2 full');
  const disk = gauge('puente_disk_bytes', 'Free on the disk, and in the write-ahead log', 'kind');
  return async (store, admission) => {
    in_flight.set(admission.callsUnderWay());
    shedding.set(sheddingLevels.indexOf(admission.level()));
    const counts = await store.upkeep.counts();
    links.reset();
    for (const [state, count] of Object.entries(counts.links)) links.set({ state }, count);
    waiting.set({ kind: 'notices' }, counts.notices_pending);
    waiting.set({ kind: 'events' }, counts.events_waiting);
    const heap = store.upkeep.writerHeap();
    if (heap !== null) {
      writer.set({ kind: 'used' }, heap.used_bytes);
      writer.set({ kind: 'total' }, heap.total_bytes);
    }
    const { level, free_bytes, log_bytes } = store.upkeep.room();
    disk_level.set(roomLevels.indexOf(level));
    if (free_bytes !== null) disk.set({ kind: 'free' }, free_bytes);
    disk.set({ kind: 'write_ahead_log' }, log_bytes);
  };
}
