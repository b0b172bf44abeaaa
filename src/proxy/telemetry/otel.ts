/** The OpenTelemetry providers and exporters; loaded only when telemetry is on. Registers nothing globally. */
import { setTimeout as sleep } from 'node:timers/promises';
import { OTLPMetricExporter as JsonMetrics } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as JsonTraces } from '@opentelemetry/exporter-trace-otlp-http';
import { OTLPTraceExporter as ProtobufTraces } from '@opentelemetry/exporter-trace-otlp-proto';
import {
  defaultResource,
  detectResources,
  type Resource,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources';
import {
  ConsoleMetricExporter,
  MeterProvider,
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
import { readingsProducer } from './otel-metrics.ts';
import { createIds, createSpans, createSpanWriter, type WriteSpan } from './otel-spans.ts';
import type { Exporter, Protocol, RunningTelemetry, TelemetryParts, TelemetrySettings } from './port.ts';

/** A stop waits this long for a collector. */
const STOP_MS = 2_000;

/** Starts the exports of OpenTelemetry that the settings name; `stop` waits for the collector, two seconds at most. */
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

/** An unavailable collector refuses every few seconds; one line a minute is enough. */
const REPORT_EVERY_MS = 60_000;

export type Signal = 'traces' | 'metrics';
export type ReportFault = (signal: Signal, error: unknown) => void;

/** Logs once a minute for each signal. Names the error's code, because a message may quote an address or an answer. */
function createFaultLog(log: Log, clock: Required<Pick<Clock, 'monotonic'>>): ReportFault {
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

/** The same exporter; each refused export is reported, for a log that says once what is wrong. */
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
