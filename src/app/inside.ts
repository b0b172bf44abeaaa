/** Opens everything behind the doors: tables, store, upstreams and evidence, and makes the ports of them. */
import { getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { loadTables } from '../mapping/load.ts';
import type { Ports } from '../ops/ports.ts';
import { noteTables } from '../ops/tables.ts';
import { systemClock } from '../proxy/clock.ts';
import { type EvidenceSettings, startEvidence } from '../proxy/evidence/recorder.ts';
import type { Admission } from '../proxy/http/admission.ts';
import type { Log } from '../proxy/log.ts';
import { identify } from '../proxy/routing/merchant-identity.ts';
import { startTelemetry } from '../proxy/telemetry/otel-settings.ts';
import type { RunningTelemetry, ServerHost } from '../proxy/telemetry/port.ts';
import { createLog, type Metrics, type Reading, standardOutput } from '../proxy/telemetry/telemetry.ts';
import { withBreaker } from '../proxy/upstream/breaker.ts';
import { createUpstream, type UpstreamClient } from '../proxy/upstream/client.ts';
import { createVault, type Secret } from '../proxy/vault.ts';
import type { Sandbox, SandboxOptions } from '../sandbox/server.ts';
import { version } from '../version.ts';
import { openStore } from './open-store.ts';
import { type AppParts, closeLeftovers, createPorts, makeDataDirectory, secretKey } from './ports.ts';
import { readTls } from './public.ts';

const MAPPINGS = join(import.meta.dirname, '..', '..', 'mappings');

export interface Inside {
  ports: Ports;
  sandbox: Sandbox | null;
  legacy_url: string;
  /** Writes queued evidence and waits for upstream calls in flight; the store may be closed afterwards. */
  finish(): Promise<void>;
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
      standardOutput(() => metrics.count('dropped_log_lines')),
    );
  const clock = parts.clock ?? systemClock;
  const tables = parts.tables ?? loadTables(MAPPINGS, getCompileCacheDir() ?? null, config.mappings.folder);
  parts.onStep?.('tables');
  makeDataDirectory(config.data_dir);
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
    // `ports` is made below, before any call is shadowed.
    identify: (token) => sellerOf(ports, token),
    fingerprint: (token) => vault.fingerprint(token),
  });
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
    failpoint: parts.failpoint ?? (() => undefined),
  });
  await noteTables(ports);
  const leftovers = sandbox === null ? 0 : await closeLeftovers(ports, sandbox);
  if (leftovers > 0)
    remarks.push(`${leftovers} open payments of an earlier sandbox were closed: the sandbox does not know them.`);
  if (sandbox !== null) parts.onStep?.('sandbox');
  return {
    ports,
    sandbox,
    legacy_url,
    async finish() {
      await evidence.stop();
      await Promise.all([upstream.close(), legacy_upstream.close()]);
    },
  };
}

/** Merchant and site of a token. The rules of orders depend on the site, which proxied calls do not contain. */
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
    onOutcome: (call, kind, status, duration_ms) => metrics.upstream(service, call, kind, status, duration_ms),
  });
  const settings = {
    failures: upstream_pool.breaker_failures,
    probe_ms: upstream_pool.breaker_probe_ms,
    steady_ms: upstream_pool.breaker_steady_ms,
  };
  return withBreaker(client, settings, (calls, state) => {
    metrics.count('breaker_changes', service, calls, state);
    log.warn('the breaker of an upstream changed its state', { lane: service, operation: calls, action: state });
  });
}

/** Imported only when used: a start with a real upstream is faster without its hundred files. */
async function ownSandbox(config: Config): Promise<Sandbox> {
  const { startSandbox } = await import('../sandbox/server.ts');
  return startSandbox(sandboxOptions(config));
}

/** The sandbox sends its webhooks to the public door, whose certificate may come from a private authority. */
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

// Telemetry, when the standard OTEL variables are set.

/** @param readings the values of `/metrics`. @returns null unless one of those variables is set. */
export function observe(
  config: Config,
  { environment = {} }: AppParts,
  { ports, legacy_url, sandbox }: Inside,
  readings: () => Promise<Reading[]>,
  remarks: string[],
): Promise<RunningTelemetry | null> {
  const { tables, memory, log } = ports;
  const parts = {
    log,
    clock: { monotonic: () => performance.now() },
    operations: tables.operations,
    hosts: { orders: hostOf(sandbox?.url ?? config.upstream), legacy: hostOf(legacy_url) },
    scheme: config.public.tls.certificate_file === null ? ('http' as const) : ('https' as const),
    readings,
    instance: memory.ids.boot,
    version,
  };
  return startTelemetry(environment, parts, remarks);
}

function hostOf(url: string): ServerHost {
  const { hostname, port, protocol } = new URL(url);
  return { address: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}
