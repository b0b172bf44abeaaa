/** Everything behind the doors: tables, store, upstreams, evidence, and the ports that is made of them. */

import { mkdirSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import pino from 'pino';
import type { Config } from '../config/config.ts';
import { PuenteError } from '../error.ts';
import { loadTables } from '../mapping/load.ts';
import type { Ports } from '../ops/ports.ts';
import { systemClock } from '../proxy/clock.ts';
import { type EvidenceSettings, startEvidence } from '../proxy/evidence/recorder.ts';
import type { Admission } from '../proxy/http/admission.ts';
import type { Log } from '../proxy/log.ts';
import { identify } from '../proxy/routing/merchant-identity.ts';
import { createLog } from '../proxy/telemetry/log.ts';
import type { Metrics, Reading } from '../proxy/telemetry/metrics.ts';
import type { RunningTelemetry } from '../proxy/telemetry/port.ts';
import { startTelemetry } from '../proxy/telemetry/telemetry.ts';
import { withBreaker } from '../proxy/upstream/breaker.ts';
import { createUpstream, type UpstreamClient } from '../proxy/upstream/client.ts';
import { createVault, type Secret } from '../proxy/vault.ts';
import type { Sandbox, SandboxOptions } from '../sandbox/server.ts';
import { version } from '../version.ts';
import { openStore } from './open-store.ts';
import { type AppParts, closeLeftovers, createPorts, secretKey } from './ports.ts';
import { readTls } from './public.ts';

const MAPPINGS = join(import.meta.dirname, '..', '..', 'mappings');

export interface Inside {
  ports: Ports;
  /** For what is about no call: the ports's own names the sale of the call that something was started in. */
  log: Log;
  sandbox: Sandbox | null;
  /** Base URL of the legacy API. */
  legacy_url: string;
  /** Writes what evidence waits, and lets the calls under way end; then the store may be closed. */
  settle(): Promise<void>;
  /** Names who delivers notices; they can be committed before. */
  onNotices(wake: () => void): void;
}

/** @throws PuenteError bad_tables, store_unusable or bad_setting. */
export async function openInside(
  config: Config,
  parts: AppParts,
  metrics: Metrics,
  admission: Pick<Admission, 'level'>,
  remarks: string[],
): Promise<Inside> {
  const log =
    parts.log ??
    createLog(
      config.log.level,
      standardOutput(() => metrics.count('log_lines', 'dropped')),
    );
  const clock = parts.clock ?? systemClock;
  const tables = parts.tables ?? loadTables(MAPPINGS, getCompileCacheDir() ?? null);
  parts.onStep?.('tables');
  makeDirectory(config.data_dir);
  const vault = createVault(secretKey(config, remarks));
  const store = await openStore(config, parts, { clock, log, vault, metrics }, remarks);
  parts.onStep?.('store');
  const sandbox = config.upstream === 'sandbox' ? await ownSandbox(config) : null;
  const legacy_url = config.legacy_upstream === 'sandbox' ? (sandbox?.url ?? '') : config.legacy_upstream;
  const upstream = upstreamClient('orders', sandbox?.url ?? config.upstream, config, metrics, log);
  const legacy_upstream = upstreamClient('legacy', legacy_url, config, metrics, log);
  const evidence = startEvidence({
    store,
    tables,
    clock,
    log,
    count: metrics.count,
    upstream,
    legacy_upstream,
    settings: evidenceSettings(config),
    isBusy: () => admission.level() !== 'nothing',
    // The runtime has the evidence as a part, and is there before anything is shadowed.
    identify: (token) => sellerOf(ports, token),
    fingerprint: (token) => vault.fingerprint(token),
  });
  let wake = (): void => undefined;
  const ports = createPorts(config, {
    store,
    upstreams: { orders: upstream, legacy: legacy_upstream },
    tables,
    vault,
    clock,
    random: parts.random ?? Math.random,
    log,
    count: metrics.count,
    evidence,
    noticesWaiting: () => wake(),
    failpoint: parts.failpoint ?? (() => undefined),
  });
  const leftovers = sandbox === null ? 0 : await closeLeftovers(ports, sandbox);
  if (leftovers > 0)
    remarks.push(`${leftovers} open payments of an earlier sandbox were closed: the sandbox does not know them.`);
  if (sandbox !== null) parts.onStep?.('sandbox');
  return {
    ports,
    log,
    sandbox,
    legacy_url,
    async settle() {
      await evidence.stop();
      await Promise.all([upstream.close(), legacy_upstream.close()]);
    },
    onNotices: (named) => {
      wake = named;
    },
  };
}

/** Proxied calls do not say the seller's site, on which the rules of orders depend. */
async function sellerOf(ports: Ports, token: Secret): Promise<{ merchant_id: string; site: string | null } | null> {
  const identity = await identify(ports, token);
  return identity.kind === 'accepted' ? { merchant_id: identity.merchant.id, site: identity.merchant.site } : null;
}

function evidenceSettings({ evidence, shadow }: Config): EvidenceSettings {
  return {
    ...evidence,
    shadow_queue: shadow.queue,
    shadow_queue_bytes: shadow.queue_bytes,
    double_reads: shadow.double_reads,
  };
}

function upstreamClient(
  service: 'orders' | 'legacy',
  baseUrl: string,
  { upstream_pool }: Config,
  metrics: Metrics,
  log: Log,
): UpstreamClient {
  const client = createUpstream({
    baseUrl,
    connections: upstream_pool.connections,
    connectTimeout_ms: upstream_pool.connect_timeout_ms,
    userAgent: 'Puente',
    onOutcome: (name, kind, status, duration_ms) => metrics.upstream(name, outcomeLabel(kind, status), duration_ms),
  });
  const settings = {
    failures: upstream_pool.breaker_failures,
    probe_ms: upstream_pool.breaker_probe_ms,
    steady_ms: upstream_pool.breaker_steady_ms,
  };
  return withBreaker(client, settings, (calls, state) => {
    metrics.count('breaker', `${service}_${calls}_${state}`);
    log.warn('the breaker of an upstream moved', { lane: service, operation: calls, action: state });
  });
}

/** Loaded only where the sandbox is upstream: a start with a real upstream is faster without its hundred files. */
async function ownSandbox(config: Config): Promise<Sandbox> {
  const { startSandbox } = await import('../sandbox/server.ts');
  return startSandbox(sandboxOptions(config));
}

/** The sandbox sends its events to our own door, whose certificate may be a private one. */
function sandboxOptions(config: Config): SandboxOptions {
  const { settings, local_notification_urls, keeps_world, ...rest } = config.sandbox;
  const tls = readTls(config);
  return {
    ...rest,
    data: keeps_world ? join(config.data_dir, 'sandbox.json') : null,
    settings: { local_notification_urls, ...settings },
    ...(tls === null ? {} : { webhook_certificate: tls.certificate }),
  };
}

/** @throws PuenteError bad_setting when the directory can't be made. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    const why = error instanceof Error ? error.message : 'unknown';
    throw new PuenteError('bad_setting', `data_dir: ${path} can't be used as a directory (${why}); name another`, {
      cause: error,
    });
  }
}

function outcomeLabel(kind: string, status: number | null): string {
  return status === null ? kind : `${Math.floor(status / 100)}xx`;
}

// Telemetry, when the standard OTEL variables are set.

/** @param readings what `/metrics` shows. @returns null unless one of those variables is set. */
export function observe(
  config: Config,
  { environment = {} }: AppParts,
  { ports, log, legacy_url, sandbox }: Inside,
  readings: () => Promise<Reading[]>,
  remarks: string[],
): Promise<RunningTelemetry | null> {
  const { tables, memory } = ports;
  const parts = {
    log,
    clock: { monotonic: () => performance.now() },
    operations: tables.operations,
    hosts: { orders: hostOf(sandbox?.url ?? config.upstream), legacy: hostOf(legacy_url) },
    readings,
    instance: memory.ids.boot,
    version,
  };
  return startTelemetry(environment, parts, remarks);
}

function hostOf(url: string): string {
  return new URL(url).hostname;
}

/** Lines that wait for a slow reader of the output: a quarter of a minute of a busy process. */
const MAX_WAITING_BYTES = 1_048_576;
/** Lines are gathered up to this size, or for `GATHERED_MS`: a write for each costs more than making the line. One more still fits a write. */
const GATHERED_BYTES = 3_584;
/** Workers share one pipe, which keeps writes whole only up to this size (`PIPE_BUF` of pipe(7)). */
const WRITTEN_BYTES = 4_096;
const GATHERED_MS = 100;

/**
 * Standard output that never blocks a call (`test/faults/README.md` F63). Lines wait for a slow reader, then they are dropped; all are
 * once the output is closed.
 * @param dropped called for each line that is lost.
 */
function standardOutput(dropped: () => void): { write(line: string): void } {
  const output = pino.destination({
    fd: 1,
    sync: false,
    maxLength: MAX_WAITING_BYTES,
    minLength: GATHERED_BYTES,
    maxWrite: WRITTEN_BYTES,
    periodicFlush: GATHERED_MS,
  });
  let isClosed = false;
  output.on('drop', dropped);
  output.on('error', () => {
    isClosed = true;
  });
  return {
    write(line) {
      if (isClosed) dropped();
      else output.write(line);
    },
  };
}
