/** The standard variables of OpenTelemetry, and the messages for unsupported values. */
import { describe, expect, it } from 'vitest';
import { readTelemetry } from '../../../src/proxy/telemetry/otel-settings.ts';

const ADDRESS = 'http://collector.example:4318';
const on = { OTEL_EXPORTER_OTLP_ENDPOINT: ADDRESS };

describe('which signals are on', () => {
  it.each<[string, Record<string, string>, string[], string[]]>([
    ['nothing is set', {}, [], []],
    ['only a name is set', { OTEL_SERVICE_NAME: 'puente-1', OTEL_RESOURCE_ATTRIBUTES: 'a=b' }, [], []],
    ['only headers are set', { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=x' }, [], []],
    ['the address is blank', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, [], []],
    ['both are disabled', { ...on, OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_EXPORTER: 'otlp' }, [], []],
    ['both are none', { ...on, OTEL_TRACES_EXPORTER: 'none', OTEL_METRICS_EXPORTER: 'none' }, [], []],
    ['there is an address', on, ['otlp'], ['otlp']],
    ['disabled is false', { ...on, OTEL_SDK_DISABLED: 'false' }, ['otlp'], ['otlp']],
    ['there is an address for traces', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${ADDRESS}/v1/traces` }, ['otlp'], []],
    ['there is an address for metrics', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${ADDRESS}/v1/x` }, [], ['otlp']],
    ['one is named without an address', { OTEL_METRICS_EXPORTER: 'otlp' }, [], ['otlp']],
    ['one of two is none', { ...on, OTEL_METRICS_EXPORTER: 'none' }, ['otlp'], []],
    ['two are named', { OTEL_TRACES_EXPORTER: 'console, otlp' }, ['otlp', 'console'], []],
  ])('%s', (_case, environment, traces, metrics) => {
    expect(readTelemetry(environment)).toMatchObject({ traces, metrics, remarks: [] });
  });

  it('an exporter that there is not is left out and named without its value', () => {
    const read = readTelemetry({ ...on, OTEL_TRACES_EXPORTER: 'zipkin-with-a-secret' });
    expect(read).toMatchObject({ traces: [], metrics: ['otlp'] });
    expect(read.remarks).toEqual([
      'OTEL_TRACES_EXPORTER has an unknown value, so its default is used; known: otlp, console, none.',
    ]);
  });
});

describe('how', () => {
  it('the defaults are those of the standard', () => {
    expect(readTelemetry(on)).toMatchObject({
      traces_protocol: 'http/protobuf',
      metrics_protocol: 'http/protobuf',
      sampler: 'always_on',
      sampled_share: 1,
      metric_interval_ms: 60_000,
      metric_timeout_ms: 30_000,
      batch: { delay_ms: 5_000, timeout_ms: 30_000, queue: 2_048, size: 512 },
    });
  });

  it.each<[Record<string, string>, object]>([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, { traces_protocol: 'http/json', metrics_protocol: 'http/json' }],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' },
      { traces_protocol: 'http/protobuf', metrics_protocol: 'http/json' },
    ],
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, { sampler: 'always_off' }],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_on' }, { sampler: 'always_on' }],
    [
      { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      { sampler: 'traceidratio', sampled_share: 0.25 },
    ],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio' }, { sampler: 'traceidratio', sampled_share: 1 }],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '1000' }, { metric_interval_ms: 1_000, metric_timeout_ms: 1_000 }],
    [{ OTEL_BSP_MAX_QUEUE_SIZE: '10' }, { batch: { delay_ms: 5_000, timeout_ms: 30_000, queue: 10, size: 10 } }],
  ])('%o', (environment, expected) => {
    expect(readTelemetry({ ...on, ...environment })).toMatchObject({ ...expected, remarks: [] });
  });

  it.each<[Record<string, string>, object]>([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, { traces_protocol: 'http/protobuf' }],
    [{ OTEL_TRACES_SAMPLER: 'jaeger_remote' }, { sampler: 'always_on' }],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '7' }, { sampled_share: 1 }],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' }, { sampled_share: 1 }],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '0' }, { metric_interval_ms: 60_000 }],
    [{ OTEL_METRIC_EXPORT_INTERVAL: '1e12' }, { metric_interval_ms: 60_000 }],
    [{ OTEL_BSP_SCHEDULE_DELAY: 'soon' }, { batch: { delay_ms: 5_000 } }],
  ])('%o is not known: the default counts, and one remark says so', (environment, expected) => {
    const read = readTelemetry({ ...on, ...environment });
    expect(read).toMatchObject(expected);
    expect(read.remarks).toHaveLength(1);
    expect(read.remarks[0]).toContain(Object.keys(environment).at(-1));
  });
});
