/** Numbers for Prometheus; labels are closed sets, never ids (`test/faults/README.md` F102). */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Admission, sheddingLevels } from '../http/admission.ts';
import type { Count } from '../log.ts';
import { type Room, roomLevels } from '../records/upkeep.ts';
import type { Store } from '../store.ts';

/** Seconds; tills wait 10, and a local translation takes a few milliseconds. */
const DURATION_BUCKETS_S = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts an answered call. */
export type Observe = (operation: string, outcome: string, duration_ms: number) => void;

export interface Metrics {
  count: Count;
  observe: Observe;
  /** Counts an upstream call. */
  upstream(name: string, outcome: string, duration_ms: number): void;
  /** Counts a notice attempt. */
  notice(outcome: string): void;
  /** The page in Prometheus's text format. */
  render(store: Store, admission: Pressure): Promise<{ type: string; text: string }>;
  /** The same as values. */
  read(store: Store, admission: Pressure): Promise<Reading[]>;
}

type Pressure = Pick<Admission, 'level' | 'callsUnderWay'>;
/** A metric with its values, which can be added to those of other processes. */
export type Reading = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const counters = new Counter({
    name: 'puente_total',
    help: 'Counters of the proxy',
    labelNames: ['what', 'label'],
    registers: [registry],
  });
  const calls = histogram(registry, 'puente_call_seconds', 'Legacy calls answered on the orders lane', [
    'operation',
    'outcome',
  ]);
  const upstream = histogram(registry, 'puente_upstream_seconds', 'Calls to the orders API', ['call', 'outcome']);
  const notices = new Counter({
    name: 'puente_notice_attempts_total',
    help: 'Notice attempts',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const links = gauge(registry, 'puente_links', 'Links by state', ['state']);
  const waiting = gauge(registry, 'puente_waiting', 'Work waiting in the store', ['kind']);
  const underWay = gauge(registry, 'puente_calls_under_way', 'Calls of the public port in flight', []);
  const shedding = gauge(registry, 'puente_shedding', 'Load shedding: 0 nothing, 1 shadows, 2 reads, 3 all', []);
  const writer = gauge(registry, 'puente_writer_heap_bytes', 'JavaScript heap of the writer thread', ['kind']);
  const room = roomGauges(registry);
  const refresh = async (store: Store, admission: Pressure): Promise<void> => {
    underWay.set(admission.callsUnderWay());
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
    room(store.upkeep.room());
  };
  return {
    count: (name, label = '') => counters.inc({ what: name, label }),
    observe: (operation, outcome, duration_ms) => calls.observe({ operation, outcome }, duration_ms / 1000),
    upstream: (name, outcome, duration_ms) => upstream.observe({ call: name, outcome }, duration_ms / 1000),
    notice: (outcome) => notices.inc({ outcome }),
    async render(store, admission) {
      await refresh(store, admission);
      return { type: registry.contentType, text: await registry.metrics() };
    },
    async read(store, admission) {
      await refresh(store, admission);
      return registry.getMetricsAsJSON();
    },
  };
}

function roomGauges(registry: Registry): (room: Room) => void {
  const level = gauge(registry, 'puente_disk_level', 'Room on the disk: 0 enough, 1 low, 2 full', []);
  const bytes = gauge(registry, 'puente_disk_bytes', 'Free on the disk, and in the write-ahead log', ['kind']);
  return (room) => {
    level.set(roomLevels.indexOf(room.level));
    if (room.free_bytes !== null) bytes.set({ kind: 'free' }, room.free_bytes);
    bytes.set({ kind: 'write_ahead_log' }, room.log_bytes);
  };
}

function gauge<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[],
): Gauge<Label> {
  return new Gauge({ name, help, labelNames, registers: [registry] });
}

function histogram<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labelNames: Label[],
): Histogram<Label> {
  return new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS_S, registers: [registry] });
}
