/** What `/metrics` shows, in the shape of OpenTelemetry: the registry is read at every export, so that nothing is counted twice. */
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type Histogram,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Reading, TelemetryParts } from './telemetry.ts';
import type { TellFault } from './telemetry-faults.ts';

/** Gives the readings of the moment. One that fails is told and leaves this export empty: the next may work. */
export function readingsProducer(
  { readings, version }: Pick<TelemetryParts, 'readings' | 'version'>,
  tell: TellFault,
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
        tell('metrics', error);
        return { ...collected([]), resourceMetrics: { resource: emptyResource(), scopeMetrics: [] } };
      }
    },
  };
}

/** Since when values have been counted, and until when. */
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
  // A value that is no number can't be written in JSON, and a collector would refuse the whole export for it.
  const dataPoints = reading.values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ value, labels }) => ({ ...span, attributes: attributesOf(labels), value }));
  if (type === 'counter') return [{ ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }];
  return type === 'gauge' ? [{ ...base, dataPointType: DataPointType.GAUGE, dataPoints }] : [];
}

/** Prometheus counts a bucket with all below it and labels each by its upper bound; here each is counted by itself. */
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

/** The library leaves the names of a histogram's parts out of its types. */
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
