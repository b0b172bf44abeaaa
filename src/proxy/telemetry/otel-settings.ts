/** Starts telemetry by the standard `OTEL_…` variables; the exporters read destination and headers themselves. */
import type { Exporter, Protocol, RunningTelemetry, TelemetryParts, TelemetrySettings } from './port.ts';

/**
 * @param environment the standard variables; the exporters read `OTEL_EXPORTER_OTLP_…` of the process directly.
 * @param remarks gets a sentence for every ignored setting, and for the destinations.
 * @returns null while nothing enables it; nothing is loaded then.
 */
export async function startTelemetry(
  environment: NodeJS.ProcessEnv,
  parts: TelemetryParts,
  remarks: string[],
): Promise<RunningTelemetry | null> {
  const settings = readTelemetry(environment);
  remarks.push(...settings.remarks);
  if (settings.traces.length === 0 && settings.metrics.length === 0) return null;
  const { openTelemetry } = await import('./otel.ts');
  for (const signal of ['traces', 'metrics'] as const)
    if (settings[signal].length > 0) remarks.push(`OpenTelemetry: ${signal} go to ${settings[signal].join(' and ')}.`);
  return openTelemetry(settings, parts);
}

const EXPORTERS: readonly string[] = ['otlp', 'console', 'none'];
const PROTOCOLS: readonly string[] = ['http/protobuf', 'http/json'];
const SAMPLERS: readonly string[] = ['always_on', 'always_off', 'traceidratio'];
/** A Node timer that is longer fires at once. */
const MAX_NUMBER = 2 ** 31 - 1;

/**
 * Reads the standard variables. Off unless one enables it; `OTEL_SDK_DISABLED=true` overrides all. As the standard
 * requires, an unknown value stops nothing: the default is used, and a remark says so. Defaults:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export function readTelemetry(environment: NodeJS.ProcessEnv): TelemetrySettings {
  const read = createReader(environment);
  const is_disabled = read.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true';
  const exporters = (signal: Signal): Exporter[] => (is_disabled ? [] : exportersOf(read, signal));
  const metric_interval_ms = read.number('OTEL_METRIC_EXPORT_INTERVAL', 60_000);
  const queue = read.number('OTEL_BSP_MAX_QUEUE_SIZE', 2_048);
  return {
    traces: exporters('TRACES'),
    metrics: exporters('METRICS'),
    traces_protocol: protocolOf(read, 'TRACES'),
    metrics_protocol: protocolOf(read, 'METRICS'),
    ...samplingOf(read),
    metric_interval_ms,
    metric_timeout_ms: Math.min(read.number('OTEL_METRIC_EXPORT_TIMEOUT', 30_000), metric_interval_ms),
    batch: {
      delay_ms: read.number('OTEL_BSP_SCHEDULE_DELAY', 5_000),
      timeout_ms: read.number('OTEL_BSP_EXPORT_TIMEOUT', 30_000),
      queue,
      size: Math.min(read.number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512), queue),
    },
    remarks: is_disabled ? [] : read.remarks,
  };
}

type Signal = 'TRACES' | 'METRICS';
type Reader = ReturnType<typeof createReader>;

/** Named destinations; without any, the address of a collector enables `otlp`. */
function exportersOf(read: Reader, signal: Signal): Exporter[] {
  const named = read.text(`OTEL_${signal}_EXPORTER`);
  if (named === null) {
    const address = read.text(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) ?? read.text('OTEL_EXPORTER_OTLP_ENDPOINT');
    return address === null ? [] : ['otlp'];
  }
  const names = named.split(',').map((name) => name.trim());
  for (const name of names) if (!EXPORTERS.includes(name)) read.unknown(`OTEL_${signal}_EXPORTER`, EXPORTERS);
  if (names.includes('none')) return [];
  return (['otlp', 'console'] as const).filter((known) => names.includes(known));
}

function protocolOf(read: Reader, signal: Signal): Protocol {
  const name = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`;
  const variable = read.text(name) === null ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : name;
  return read.choice(variable, PROTOCOLS, 'http/protobuf') === 'http/json' ? 'http/json' : 'http/protobuf';
}

/** A till does not decide about sampling, so a `parentbased_` sampler acts as at a root. */
function samplingOf(read: Reader): Pick<TelemetrySettings, 'sampler' | 'sampled_share'> {
  const known = [...SAMPLERS, ...SAMPLERS.map((name) => `parentbased_${name}`)];
  const sampler = read.choice('OTEL_TRACES_SAMPLER', known, 'always_on').replace('parentbased_', '');
  if (sampler !== 'traceidratio')
    return { sampler: sampler === 'always_off' ? sampler : 'always_on', sampled_share: 1 };
  const share = Number(read.text('OTEL_TRACES_SAMPLER_ARG') ?? 1);
  if (share >= 0 && share <= 1) return { sampler, sampled_share: share };
  read.unknown('OTEL_TRACES_SAMPLER_ARG', ['a number from 0 to 1']);
  return { sampler, sampled_share: 1 };
}

/** By the standard, a blank value is not set. */
function createReader(environment: NodeJS.ProcessEnv) {
  const remarks: string[] = [];
  const text = (name: string): string | null => environment[name]?.trim() || null;
  /** Omits the value, which may be a secret. */
  const unknown = (name: string, known: readonly string[]): void => {
    const remark = `${name} has an unknown value, so its default is used; known: ${known.join(', ')}.`;
    if (!remarks.includes(remark)) remarks.push(remark);
  };
  return {
    remarks,
    text,
    unknown,
    choice(name: string, known: readonly string[], otherwise: string): string {
      const value = text(name)?.toLowerCase() ?? otherwise;
      if (known.includes(value)) return value;
      unknown(name, known);
      return otherwise;
    },
    number(name: string, otherwise: number): number {
      const value = Number(text(name) ?? otherwise);
      if (Number.isInteger(value) && value > 0 && value <= MAX_NUMBER) return value;
      unknown(name, [`a whole number from 1 to ${MAX_NUMBER}`]);
      return otherwise;
    },
  };
}
