/** The OpenTelemetry providers and exporters; loaded only when telemetry is on. Registers nothing globally. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraces } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraces } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  emptyResource,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  ConsoleMetricExporter,
  DataPointType,
  type Histogram,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ConsoleSpanExporter,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { createIds, createSpans, createSpanWriter, type WriteSpan } from './otel-spans.ts';
import type { Exporter, Protocol, RunningTelemetry, TelemetryParts, TelemetrySettings } from './port.ts';
import type { Reading } from './telemetry.ts';

/** A stop waits this long for a collector. */
const STOP_MS = 2_000;

export function openTelemetry(settings: TelemetrySettings, parts: TelemetryParts): RunningTelemetry {
  const resource = resourceOf(parts);
  const report = createFaultLog(parts.log, parts.clock);
  const ids = createIds();
  const traces = new TracerProvider({
    resource,
    idGenerator: ids,
    sampler: new ParentBasedSampler({ root: samplerOf(settings) }),
    spanProcessors: settings.traces.map(
      (name) =>
        new BatchSpanProcessor({
          exporter: watched(spanExporter(name, settings.traces_protocol), 'traces', report),
          scheduledDelayMillis: settings.batch.delay_ms,
          exportTimeoutMillis: settings.batch.timeout_ms,
          maxQueueSize: settings.batch.queue,
          maxExportBatchSize: settings.batch.size,
        }),
    ),
  });
  const metrics = new MeterProvider({
    resource,
    readers: settings.metrics.map(
      (name) =>
        new PeriodicExportingMetricReader({
          exporter: watched(metricExporter(name, settings.metrics_protocol), 'metrics', report),
          exportIntervalMillis: settings.metric_interval_ms,
          exportTimeoutMillis: settings.metric_timeout_ms,
          metricProducers: [readingsProducer(parts, report)],
        }),
    ),
  });
  const write = createSpanWriter(traces.getTracer('puente', parts.version), ids, parts.hosts);
  // An error here must not disturb the caller.
  const safely: WriteSpan = (work) => {
    try {
      write(work);
    } catch (error) {
      report('traces', error);
    }
  };
  return {
    ...createSpans(safely, parts.operations),
    async stop() {
      const stopped = Promise.allSettled([traces.shutdown(), metrics.shutdown()]);
      await Promise.race([stopped, sleep(STOP_MS, undefined, { ref: false })]);
    },
  };
}

/** The operator's resource attributes override Puente's own. */
function resourceOf({ instance, version }: TelemetryParts): Resource {
  const own = { 'service.name': 'puente', 'service.version': version, 'service.instance.id': instance };
  const configured = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  return defaultResource().merge(resourceFromAttributes(own)).merge(configured);
}

function samplerOf({ sampler, sampled_share }: TelemetrySettings): Sampler {
  if (sampler === 'traceidratio') return new TraceIdRatioBasedSampler(sampled_share);
  return sampler === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler();
}

function spanExporter(name: Exporter, protocol: Protocol): SpanExporter {
  if (name === 'console') return new ConsoleSpanExporter();
  return protocol === 'http/json' ? new JsonTraces() : new ProtobufTraces();
}

function metricExporter(name: Exporter, protocol: Protocol): PushMetricExporter {
  if (name === 'console') return new ConsoleMetricExporter();
  return protocol === 'http/json' ? new JsonMetrics() : new ProtobufMetrics();
}

/** The values of `/metrics`, read at every export, so that nothing is counted twice; empty after a read that failed. */
export function readingsProducer(
  { readings, version }: Pick<TelemetryParts, 'readings' | 'version'>,
  report: ReportFault,
): MetricProducer {
  const collected = (metrics: MetricData[]): CollectionResult => ({
    resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope: { name: 'puente', version }, metrics }] },
    errors: [],
  });
  return {
    async collect() {
      try {
        const span: Span = { startTime: timeOf(performance.timeOrigin), endTime: timeOf(Date.now()) };
        return collected((await readings()).flatMap((reading) => metricOf(reading, span)));
      } catch (error) {
        report('metrics', error);
        return { ...collected([]), resourceMetrics: { resource: emptyResource(), scopeMetrics: [] } };
      }
    },
  };
}

/** Start and end of the count. */
interface Span {
  startTime: HrTime;
  endTime: HrTime;
}

function metricOf(reading: Reading, span: Span): MetricData[] {
  const base = {
    descriptor: { name: reading.name, description: reading.help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const type = String(reading.type); // an enum in the types, a word at run time
  if (type === 'histogram') {
    return [{ ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(reading, span) }];
  }
  // JSON has no NaN, and a collector would refuse the whole export for it.
  const dataPoints = reading.values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }) => ({ ...span, attributes: attributesOf(labels), value }));
  if (type === 'counter') return [{ ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
  return type === 'gauge' ? [{ ...base, dataPointType: DataPointType.GAUGE, dataPoints }] : [];
}

/** Buckets of Prometheus are cumulative and labeled by their upper bound; those of OpenTelemetry are not cumulative. */
function histograms(
  reading: Reading,
  span: Span,
): { attributes: Attributes; value: Histogram; startTime: HrTime; endTime: HrTime }[] {
  const groups = Map.groupBy(reading.values, ({ labels }) =>
    JSON.stringify(Object.entries(attributesOf(labels)).sort()),
  );
  return [...groups.values()].map((values) => {
    const named = (suffix: string) => values.filter((value) => nameOf(value) === `${reading.name}_${suffix}`);
    const buckets = named('bucket').map(({ labels, value }) => ({ le: Number(boundOf(labels)), value }));
    const finite = buckets.filter(({ le }) => Number.isFinite(le)).sort((one, other) => one.le - other.le);
    const count = named('count')[0]?.value ?? 0;
    const upTo = [...finite.map(({ value }) => value), count];
    return {
      ...span,
      attributes: attributesOf(values[0]?.labels ?? {}),
      value: {
        count,
        sum: named('sum')[0]?.value ?? 0,
        buckets: {
          boundaries: finite.map(({ le }) => le),
          counts: upTo.map((value, index) => value - (upTo[index - 1] ?? 0)),
        },
      },
    };
  });
}

type Value = Reading['values'][number];

/** The library's types lack the name of a histogram's parts. */
function nameOf(value: Value): string | undefined {
  return 'metricName' in value && typeof value.metricName === 'string' ? value.metricName : undefined;
}

function boundOf(labels: Value['labels']): string | number | undefined {
  return (labels as Record<string, string | number | undefined>).le; // every bucket has one
}

function attributesOf(labels: Value['labels']): Attributes {
  const { le: _bound, ...attributes } = labels as Record<string, string | number | undefined>;
  return attributes;
}

function timeOf(epoch_ms: number): HrTime {
  const seconds = Math.trunc(epoch_ms / 1000);
  return [seconds, Math.round((epoch_ms - seconds * 1000) * 1e6)];
}

/** An unavailable collector refuses every few seconds; one line a minute is enough. */
const REPORT_EVERY_MS = 60_000;

export type Signal = 'traces' | 'metrics';
export type ReportFault = (signal: Signal, error: unknown) => void;

/** Logs once a minute for each signal. Names the error's code, because a message may quote an address or an answer. */
export function createFaultLog(log: Log, clock: Required<Pick<Clock, 'monotonic'>>): ReportFault {
  const reported = new Map<Signal, number>();
  return (signal, error) => {
    const now = clock.monotonic();
    if (now - (reported.get(signal) ?? Number.NEGATIVE_INFINITY) < REPORT_EVERY_MS) return;
    reported.set(signal, now);
    log.warn('telemetry was not accepted and is dropped', { action: signal, cause: codeOf(error) });
  };
}

interface Exporting<Items, Result> {
  export(items: Items, done: (result: Result) => void): void;
}

export function watched<Items, Result extends { code: number; error?: Error }, E extends Exporting<Items, Result>>(
  exporter: E & Exporting<Items, Result>,
  signal: Signal,
  report: ReportFault,
): E {
  const send = exporter.export.bind(exporter);
  exporter.export = (items: Items, done: (result: Result) => void) =>
    send(items, (result) => {
      if (result.code !== 0) report(signal, result.error);
      done(result);
    });
  return exporter;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && error.code !== undefined ? String(error.code) : error.name;
}
