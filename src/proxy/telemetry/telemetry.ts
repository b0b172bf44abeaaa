/** OpenTelemetry, off unless a standard variable asks for it; then, and only then, its packages are loaded. */
import type { Registry } from 'prom-client';
import type { Operation } from '../../mapping/tables.ts';
import type { Clock, Log } from '../runtime.ts';
import type { Telemetry } from './spans.ts';
import { readTelemetry } from './telemetry-settings.ts';

/** A counter, gauge or histogram with its values. */
export type Reading = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number];

export interface TelemetryParts {
  log: Log;
  /** In which the durations between two log lines are counted. */
  clock: Required<Pick<Clock, 'monotonic'>>;
  operations: readonly Operation[];
  /** Host names of the two upstreams. */
  hosts: { orders: string; legacy: string };
  /** What `/metrics` shows, read anew for every export. */
  readings(): Promise<Reading[]>;
  /** Tells one run of the process from another. */
  instance: string;
  version: string;
}

export interface RunningTelemetry extends Telemetry {
  /** Sends what waits, within two seconds; the rest is dropped. Never rejects. */
  stop(): Promise<void>;
}

/**
 * @param environment the standard variables; the exporters read `OTEL_EXPORTER_OTLP_…` of the process by themselves.
 * @param remarks gets a sentence for what is asked for and not done, and for where things go.
 * @returns null while nothing asks for it; nothing is loaded then.
 */
export async function startTelemetry(
  environment: NodeJS.ProcessEnv,
  parts: TelemetryParts,
  remarks: string[],
): Promise<RunningTelemetry | null> {
  const settings = readTelemetry(environment);
  remarks.push(...settings.remarks);
  if (settings.traces.length === 0 && settings.metrics.length === 0) return null;
  const { openTelemetry } = await import('./telemetry-sdk.ts');
  for (const signal of ['traces', 'metrics'] as const)
    if (settings[signal].length > 0) remarks.push(`OpenTelemetry: ${signal} go to ${settings[signal].join(' and ')}.`);
  return openTelemetry(settings, parts);
}
