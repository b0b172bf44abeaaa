/** Log lines as JSON, with allow-listed fields (`test/faults/README.md` F132, F133), and metrics for Prometheus. */
import pino from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { INTENT_ID } from '../../contract/identifiers.ts';
import { maskText } from '../evidence/redact-text.ts';
import { type Admission, sheddingLevels } from '../http/admission.ts';
import type { Count, Log, LogFields } from '../log.ts';
import { roomLevels } from '../records/upkeep.ts';
import type { Store } from '../store.ts';

const ALLOWED = [
  'merchant',
  'operation',
  'request_id',
  'legacy_id',
  'order_id',
  'unit',
  'lane',
  'status',
  'code',
  'cause',
  'attempts',
  'duration_ms',
  'action',
  'table',
  'path',
  'count',
] as const satisfies readonly (keyof LogFields)[];

/** Digits that could be a card number, whatever their check digit (`test/faults/README.md` F134). */
const CARD_LIKE = /(?<!\d)\d{13,19}(?!\d)/g;
/** Console control characters and text direction, which JSON does not escape (`test/faults/README.md` F132). */
const UNPRINTABLE = /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
/** Longest text of a field; a cause is a sentence, not a dump. */
const MAX_TEXT = 300;

/** @param level a pino level. */
export function createLog(level: string, destination?: { write(line: string): void }): Log {
  const options = { level, base: null };
  const logger = destination === undefined ? pino(options) : pino(options, destination);
  return {
    debug: (message, fields) => logger.debug(allowed(fields), cleaned(message)),
    info: (message, fields) => logger.info(allowed(fields), cleaned(message)),
    warn: (message, fields) => logger.warn(allowed(fields), cleaned(message)),
    error: (message, fields) => logger.error(allowed(fields), cleaned(message)),
  };
}

function allowed(fields: LogFields = {}): Record<string, string | number> {
  const kept: Record<string, string | number> = {};
  for (const name of ALLOWED) {
    const value: unknown = fields[name];
    if (typeof value === 'number') kept[name] = value;
    else if (typeof value === 'string') kept[name] = cleaned(value);
  }
  return kept;
}

/** The rest of a longer text is not masked, because it is cut off. */
const MAX_READ = 4_096;

/** Masks tokens, cards, addresses and keys, encoded ones too; cuts after that, so that no half of a secret stays. */
function cleaned(text: string): string {
  // The id of a sale has nothing to mask.
  if (INTENT_ID.test(text)) return text;
  const masked = maskText(text.slice(0, MAX_READ).replaceAll(CARD_LIKE, '[digits]'), true);
  return masked.slice(0, MAX_TEXT).replaceAll(UNPRINTABLE, '?');
}

/** Lines that wait for a slow reader of the output: a quarter of a minute of a busy process. */
const MAX_WAITING_BYTES = 1_048_576;
/** Lines are gathered up to this size or for `GATHERED_MS`: a write costs more than a line. One more fits a write. */
const GATHERED_BYTES = 3_584;
/** Workers share one pipe, which keeps writes whole only up to this size (`PIPE_BUF` of pipe(7)). */
const WRITTEN_BYTES = 4_096;
const GATHERED_MS = 100;

/**
 * Standard output that never blocks a call (`test/faults/README.md` F63): lines wait for a slow reader, then they are
 * dropped, as all lines are once the output is closed.
 * @param dropped called for each lost line. @param fd another output in tests.
 */
export function standardOutput(dropped: () => void, fd = 1): { write(line: string): void } {
  const output = pino.destination({
    fd,
    sync: false,
    maxLength: MAX_WAITING_BYTES,
    minLength: GATHERED_BYTES,
    maxWrite: WRITTEN_BYTES,
    periodicFlush: GATHERED_MS,
  });
  let isClosed = false;
  output.on('drop', dropped);
  output.on('error', () => {
    isClosed = true;
  });
  return {
    write(line) {
      if (isClosed) dropped();
      else output.write(line);
    },
  };
}

// Metrics; labels are closed sets, never ids (`test/faults/README.md` F102).

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
    /** Counts an upstream call. @param status null unless answered. */
    upstream: (name: string, kind: string, status: number | null, duration_ms: number): void => {
      const outcome = status === null ? kind : `${Math.floor(status / 100)}xx`;
      upstream.observe({ call: name, outcome }, duration_ms / 1000);
    },
    notice: (outcome: string): void => notices.inc({ outcome }),
    /** The page in Prometheus's text format. */
    async render(store: Store, admission: Pressure): Promise<{ type: string; text: string }> {
      await refresh(store, admission);
      return { type: registry.contentType, text: await registry.metrics() };
    },
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
