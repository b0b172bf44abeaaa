/**
 * The values of `/metrics` for OpenTelemetry, by its semantic conventions: HTTP
 * (https://opentelemetry.io/docs/specs/semconv/http/http-metrics/), Node
 * (https://opentelemetry.io/docs/specs/semconv/runtime/nodejs-metrics/), names without units
 * (https://opentelemetry.io/docs/specs/semconv/general/metrics/).
 */
import { type Attributes, type AttributeValue, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { TelemetryParts } from './port.ts';
import { NONE, type Reading } from './telemetry.ts';

/** Read at every export, so that nothing is counted twice; empty after a read that failed. */
export function readingsProducer(
  parts: Pick<TelemetryParts, 'readings' | 'version' | 'operations' | 'hosts' | 'scheme'>,
  report: (signal: 'metrics', error: unknown) => void,
): MetricProducer {
  const scope = { name: 'puente', version: parts.version };
  const collected = (metrics: MetricData[]): CollectionResult => ({
    resourceMetrics: { resource: emptyResource(), scopeMetrics: metrics.length === 0 ? [] : [{ scope, metrics }] },
    errors: [],
  });
  const naming = namingOf(parts);
  return {
    async collect() {
      try {
        const span: Span = { startTime: timeOf(performance.timeOrigin), endTime: timeOf(Date.now()) };
        return collected((await parts.readings()).flatMap((reading) => metricOf(reading, naming(reading.name), span)));
      } catch (error) {
        report('metrics', error);
        return collected([]);
      }
    },
  };
}

// Names: those of the conventions where there is one, else `puente.…`.

type Labels = Readonly<Record<string, string | number | undefined>>;

interface Named {
  name: string;
  unit: string;
  attributes(labels: Labels): Attributes;
}

function namingOf({
  operations,
  hosts,
  scheme,
}: Pick<TelemetryParts, 'operations' | 'hosts' | 'scheme'>): (name: string) => Named {
  const routes = new Map(operations.map(({ name, path }) => [name, path]));
  const http: Readonly<Record<string, Named>> = {
    puente_http_request_duration_seconds: {
      name: 'http.server.request.duration',
      unit: 's',
      attributes: ({ method, operation, lane, outcome, status }) =>
        set({
          ...ofHttp(method, status),
          'url.scheme': scheme,
          'http.route': routes.get(String(operation)),
          'error.type': outcome === 'fault' ? faultNamed(status) : undefined,
          'puente.operation': operation,
          'puente.lane': lane,
          'puente.outcome': outcome,
        }),
    },
    puente_upstream_request_duration_seconds: {
      name: 'http.client.request.duration',
      unit: 's',
      attributes: ({ method, service, call, outcome, status }) => {
        const { address, port } = hosts[service === 'legacy' ? 'legacy' : 'orders'];
        const is_error = outcome !== 'answered' || Number(status) >= 400;
        return set({
          ...ofHttp(method, status),
          'server.address': address,
          'server.port': port,
          'error.type': !is_error ? undefined : outcome === 'answered' ? status : outcome,
          'puente.service': service,
          'puente.call': call,
        });
      },
    },
  };
  return (name) => http[name] ?? plainly(name);
}

function ofHttp(method: Labels[string], status: Labels[string]): Labels {
  const code = Number(status);
  return { 'http.request.method': method, 'http.response.status_code': Number.isNaN(code) ? undefined : code };
}

/** A till that disconnected has no status. */
function faultNamed(status: Labels[string]): string {
  return status === NONE ? '_OTHER' : String(status);
}

const OF_PROCESS: readonly (readonly [RegExp, string])[] = [
  [/^process_cpu_seconds_total$/, 'process.cpu.time'],
  [/^process_resident_memory_bytes$/, 'process.memory.usage'],
  [/^nodejs_eventloop_lag_(min|max|mean|stddev|p50|p90|p99)_seconds$/, 'nodejs.eventloop.delay.$1'],
];

/** Other metrics of the process have no convention and keep their name. */
function plainly(name: string): Named {
  const [of_process] = OF_PROCESS.flatMap(([found, to]) => (found.test(name) ? [name.replace(found, to)] : []));
  const [, own] = /^puente_(.+?)(?:_seconds|_bytes)?(?:_total)?$/.exec(name) ?? [];
  const prefix = own === undefined ? '' : 'puente.';
  return {
    name: of_process ?? (own === undefined ? name : `puente.${own}`),
    unit: /_bytes(_total)?$/.test(name) ? 'By' : /_seconds(_total)?$/.test(name) ? 's' : '',
    attributes: (labels) =>
      set(Object.fromEntries(Object.entries(labels).map(([label, value]) => [`${prefix}${label}`, value]))),
  };
}

function set(values: Labels): Attributes {
  return Object.fromEntries(
    Object.entries(values).filter(
      (entry): entry is [string, AttributeValue & (string | number)] => entry[1] !== undefined,
    ),
  );
}

// Values.

/** Start and end of the count. */
interface Span {
  startTime: HrTime;
  endTime: HrTime;
}

function metricOf(reading: Reading, { name, unit, attributes }: Named, span: Span): MetricData[] {
  const base = {
    descriptor: { name, description: reading.help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const type = String(reading.type); // an enum in the types, a word at run time
  if (type === 'histogram') {
    const dataPoints = histograms(reading).map(([labels, value]) => ({
      ...span,
      attributes: attributes(labels),
      value,
    }));
    return [{ ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints }];
  }
  // JSON has no NaN, and a collector would refuse the whole export for it.
  const dataPoints = reading.values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }) => ({ ...span, attributes: attributes(labels), value }));
  if (type === 'counter') return [{ ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
  return type === 'gauge' ? [{ ...base, dataPointType: DataPointType.GAUGE, dataPoints }] : [];
}

/** Buckets of Prometheus are cumulative and labeled by their upper bound; those of OpenTelemetry are not cumulative. */
function histograms(reading: Reading): [Labels, Histogram][] {
  const groups = Map.groupBy(reading.values, ({ labels }) =>
    JSON.stringify(Object.entries(withoutBound(labels)).sort()),
  );
  return [...groups.values()].map((values) => {
    const named = (suffix: string) => values.filter((value) => partOf(value) === `${reading.name}_${suffix}`);
    const buckets = named('bucket').map(({ labels, value }) => ({ le: Number((labels as Labels).le), value })); // as below
    const finite = buckets.filter(({ le }) => Number.isFinite(le)).sort((one, other) => one.le - other.le);
    const count = named('count')[0]?.value ?? 0;
    const upTo = [...finite.map(({ value }) => value), count];
    const counts = upTo.map((value, index) => value - (upTo[index - 1] ?? 0));
    const histogram = {
      count,
      sum: named('sum')[0]?.value ?? 0,
      buckets: { boundaries: finite.map(({ le }) => le), counts },
    };
    return [withoutBound(values[0]?.labels ?? {}), histogram];
  });
}

/** The library's types lack the name of a histogram's parts. */
function partOf(value: Reading['values'][number]): string | undefined {
  return 'metricName' in value && typeof value.metricName === 'string' ? value.metricName : undefined;
}

function withoutBound(labels: Reading['values'][number]['labels']): Labels {
  const { le: _bound, ...others } = labels as Labels; // the library's type is a union over metrics
  return others;
}

function timeOf(epoch_ms: number): HrTime {
  const seconds = Math.trunc(epoch_ms / 1000);
  return [seconds, Math.round((epoch_ms - seconds * 1000) * 1e6)];
}
