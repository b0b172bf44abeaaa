/** Puts telemetry beside what runs, when the environment asks for it. */
import type { Config } from '../config/config.ts';
import { type Reading, type RunningTelemetry, startTelemetry } from '../proxy/telemetry/telemetry.ts';
import { version } from '../version.ts';
import type { AppParts, Inside } from './inside.ts';

/** @param readings what `/metrics` shows. @returns null unless a standard variable asks for it. */
export function observe(
  config: Config,
  { environment = {} }: AppParts,
  { runtime, log, legacy_url, sandbox }: Inside,
  readings: () => Promise<Reading[]>,
  remarks: string[],
): Promise<RunningTelemetry | null> {
  const { tables, boot_id } = runtime;
  const parts = {
    log,
    clock: { monotonic: () => performance.now() },
    operations: tables.operations,
    hosts: { orders: hostOf(sandbox?.url ?? config.upstream), legacy: hostOf(legacy_url) },
    readings,
    instance: boot_id,
    version,
  };
  return startTelemetry(environment, parts, remarks);
}

function hostOf(url: string): string {
  return new URL(url).hostname;
}
