/** Log lines as JSON, with allow-listed fields (`test/faults/README.md` F132, F133), and metrics for Prometheus. */
import { STATUS_CODES } from 'node:http';
import pino from 'pino';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { INTENT_ID } from '../../contract/identifiers.ts';
import { version } from '../../version.ts';
import { type Exchange, TILL_LEFT } from '../evidence/exchange.ts';
import { maskText } from '../evidence/redact-text.ts';
import { type Admission, sheddingLevels } from '../http/admission.ts';
import { type Count, type CounterName, counters, type Log, type LogFields } from '../log.ts';
import { roomLevels } from '../records/upkeep.ts';
import { contradictions } from '../sales/settle.ts';
import type { Store } from '../store.ts';
import type { UpstreamOutcome } from '../upstream/upstream.ts';

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
  let isClosed = false;
  const open = () => {
    const output = pino.destination({
      fd,
      sync: false,
      maxLength: MAX_WAITING_BYTES,
      minLength: GATHERED_BYTES,
      maxWrite: WRITTEN_BYTES,
      periodicFlush: GATHERED_MS,
    });
    output.on('drop', dropped);
    output.on('error', () => {
      isClosed = true;
    });
    return output;
  };
  // With the first line: its timer writes ten times a second for ever, even where nothing was logged.
  let output: ReturnType<typeof open> | null = null;
  return {
    write(line) {
      output ??= open();
      if (isClosed) dropped();
      else output.write(line);
    },
  };
}

// Metrics by the conventions of Prometheus (https://prometheus.io/docs/practices/naming/); labels are closed sets, never
// ids (`test/faults/README.md` F102).

/** Seconds, as the conventions of OpenTelemetry advise (`otel-metrics.ts`); tills wait 10. */
const DURATION_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** The label of an operation or a status that there is none of. */
export const NONE = 'none';

type Pressure = Pick<Admission, 'level' | 'callsUnderWay'>;
/** A metric with its values, which can be added to those of other processes. */
export type Reading = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

/** A finished call of the public door, of either lane. */
interface ObservedCall extends Pick<Exchange, 'operation' | 'lane' | 'status' | 'duration_ms'> {
  method: string;
  /** `left`: the till disconnected at once; nobody's fault. */
  outcome: Exchange['outcome'] | 'left';
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Metrics of this process itself, collected once: each collection keeps a sampler of the event loop and an observer of GC. */
let of_process: Registry | null = null;

function processMetrics(): Registry {
  if (of_process !== null) return of_process;
  of_process = new Registry();
  collectDefaultMetrics({ register: of_process });
  return of_process;
}

/** Puente's metrics for Prometheus; Node's own are shared by all instances of a process. */
export function createMetrics() {
  const registry = Registry.merge([processMetrics()]);
  const registers = [registry];
  const histogram = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Histogram({ name, help, labelNames, buckets: DURATION_BUCKETS_S, registers });
  const calls = histogram(
    'puente_http_request_duration_seconds',
    'Calls of the public door until the till had its answer',
    ...(['method', 'operation', 'lane', 'outcome', 'status'] as const),
  );
  const upstream = histogram(
    'puente_upstream_request_duration_seconds',
    'Calls to the orders API and to legacy, proxied ones included',
    ...(['method', 'service', 'call', 'outcome', 'status'] as const),
  );
  const notices = new Counter({
    name: 'puente_notice_attempts_total',
    help: 'Notice attempts',
    labelNames: ['outcome'],
    registers,
  });
  new Gauge({
    name: 'puente_build_info',
    help: 'Always 1; labels say what runs',
    labelNames: ['version', 'node'],
    aggregator: 'first',
    registers,
  }).set({ version, node: process.versions.node }, 1);
  const refresh = createGauges(registry);
  return {
    count: createCounters(registers),
    /** Counts a finished call of the public door. */
    observe({ method, operation, lane, outcome, status, duration_ms }: ObservedCall): void {
      const labels = { method: methodOf(method), operation: operation ?? NONE, lane, outcome };
      calls.observe({ ...labels, status: statusOf(status === TILL_LEFT ? null : status) }, duration_ms / 1000);
    },
    /** Counts an upstream call. @param outcome `left`: its till disconnected. @param status null unless answered. */
    upstream(
      service: 'orders' | 'legacy',
      { name, method }: { name: string; method: string },
      outcome: UpstreamOutcome['kind'] | 'left',
      status: number | null,
      duration_ms: number,
    ): void {
      const labels = { method: methodOf(method), service, call: name, outcome, status: statusOf(status) };
      upstream.observe(labels, duration_ms / 1000);
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

/** Of the standard's list, so that a caller can't invent labels. */
export function methodOf(method: string): string {
  return METHODS.includes(method) ? method : '_OTHER';
}

/** Only statuses that HTTP has a name for: legacy could answer any number. */
function statusOf(status: number | null): string {
  if (status === null) return NONE;
  return STATUS_CODES[status] === undefined ? 'other' : String(status);
}

function createCounters(registers: Registry[]): Count {
  const made = new Map<CounterName, Counter>();
  for (const name of Object.keys(counters) as CounterName[]) {
    // the record's own keys
    const [help, ...labelNames] = counters[name];
    made.set(name, new Counter({ name: `puente_${name}_total`, help, labelNames, registers }));
  }
  // `increase()` misses the first count of a series that did not exist before: those of the alerts exist at once.
  for (const what of contradictions) made.get('contradictions')?.inc({ what }, 0);
  for (const mode of ['armed', 'observe']) made.get('safety_stops')?.inc({ mode }, 0);
  for (const outcome of ['made', 'failed']) made.get('backups')?.inc({ outcome }, 0);
  return (name, ...labels) =>
    made
      .get(name)
      ?.labels(...labels)
      .inc();
}

/** Gauges that are set when they are read. */
function createGauges(registry: Registry): (store: Store, admission: Pressure) => Promise<void> {
  const registers = [registry];
  /** Workers read one store and one disk, so that their values are not added up. */
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, aggregator: 'max', registers });
  const links = gauge('puente_links', 'Links by state', 'state');
  const waiting = gauge('puente_waiting', 'Work waiting in the store', 'kind');
  const in_flight = new Gauge({
    name: 'puente_calls_under_way',
    help: 'Calls of the public door in flight',
    registers,
  });
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
