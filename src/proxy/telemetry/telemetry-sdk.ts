/** The OpenTelemetry providers and exporters; loaded only when telemetry is on. Nothing global of the library is touched. */
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
import type { RunningTelemetry, TelemetryParts } from './telemetry.ts';
import { createFaultLog, watched } from './telemetry-faults.ts';
import { createIds } from './telemetry-ids.ts';
import { readingsProducer } from './telemetry-metrics.ts';
import type { Exporter, Protocol, TelemetrySettings } from './telemetry-settings.ts';
import { createSpans } from './telemetry-spans.ts';
import { createTell, type Tell } from './telemetry-tell.ts';

/** A stop waits this long for a collector; what it misses is no money. */
const STOP_MS = 2_000;

/** Opens what the settings ask for. */
export function openTelemetry(settings: TelemetrySettings, parts: TelemetryParts): RunningTelemetry {
  const resource = resourceOf(parts);
  const told = createFaultLog(parts.log, parts.clock);
  const ids = createIds();
  const traces = new TracerProvider({
    resource,
    idGenerator: ids,
    sampler: new ParentBasedSampler({ root: samplerOf(settings) }),
    spanProcessors: settings.traces.map(
      (name) =>
        new BatchSpanProcessor({
          exporter: watched(spanExporter(name, settings.traces_protocol), 'traces', told),
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
          exporter: watched(metricExporter(name, settings.metrics_protocol), 'metrics', told),
          exportIntervalMillis: settings.metric_interval_ms,
          exportTimeoutMillis: settings.metric_timeout_ms,
          metricProducers: [readingsProducer(parts, told)],
        }),
    ),
  });
  const write = createTell(traces.getTracer('puente', parts.version), ids, parts.hosts);
  // Those who tell of finished work have more important work, which a mistake here must not undo.
  const tell: Tell = (work) => {
    try {
      write(work);
    } catch (error) {
      told('traces', error);
    }
  };
  return {
    ...createSpans(tell, parts.operations),
    async stop() {
      await within(STOP_MS, Promise.allSettled([traces.shutdown(), metrics.shutdown()]));
    },
  };
}

/** What the operator says of the service wins over what Puente says of itself. */
function resourceOf({ instance, version }: TelemetryParts): Resource {
  const own = { 'service.name': 'puente', 'service.version': version, 'service.instance.id': instance };
  const asked = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  return defaultResource().merge(resourceFromAttributes(own)).merge(asked);
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

/** Resolves when the work is over, or the time is. */
async function within(duration_ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, duration_ms);
  });
  await Promise.race([work, over]);
  clearTimeout(timer);
}
