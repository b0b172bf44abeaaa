/** The one wiring place: settings in, a running Puente out. */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { doorUrl, openPublicDoor, readTls } from './app/public.ts';
import { closeLeftovers, createRuntime, secretKey, systemClock } from './app/runtime.ts';
import { startWork } from './app/work.ts';
import type { Config } from './config.ts';
import type { Clock, Log, Runtime } from './core/runtime.ts';
import { Secret } from './core/secret.ts';
import { createVault } from './core/vault.ts';
import { PuenteError } from './error.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { opsApp } from './http/ops.ts';
import { createPassthrough } from './http/passthrough.ts';
import { type Listening, listen } from './http/server.ts';
import { loadTables } from './mapping/load.ts';
import type { Tables } from './mapping/tables.ts';
import { checkUrl, type OutboundPolicy } from './outbound/guard.ts';
import { createLog } from './outbound/log.ts';
import { createUpstream, type UpstreamClient } from './outbound/upstream.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from './sandbox/server.ts';
import { openSqliteStore } from './store/sqlite/store.ts';

export interface App {
  public_url: string;
  ops_url: string;
  ops_token: Secret;
  /** True when the token was made at this start, so that it has to be told. */
  ops_token_made: boolean;
  /** Set while the upstream is the sandbox. */
  sandbox: Sandbox | null;
  /** What the start decided by itself, as sentences for the operator. */
  remarks: string[];
  /** Stops accepting, lets running calls end within the grace period, and closes the store. */
  close(): Promise<void>;
}

/** What a test may hand in instead of the real thing. */
export interface AppParts {
  clock?: Clock;
  /** [0, 1): jitter of pauses. */
  random?: () => number;
  log?: Log;
  /** Proved and compiled already, e.g. to watch which rows fire. */
  tables?: Tables;
  failpoint?: (name: string) => void;
  /** The store can't be trusted any more. */
  onFatal?: (error: PuenteError) => void;
}

const MAPPINGS = join(import.meta.dirname, '..', 'mappings');

/**
 * Starts everything: tables and their proofs first, then the store, then the doors.
 * @throws PuenteError bad_tables, store_unusable or bad_setting; then nothing listens.
 */
export async function startApp(config: Config, parts: AppParts = {}): Promise<App> {
  const remarks: string[] = [];
  const metrics = createMetrics();
  const inside = await openInside(config, parts, metrics, remarks);
  const { runtime, sandbox } = inside;
  const policy: OutboundPolicy = {
    allow_private: config.outbound.allow_private,
    allow_http: config.outbound.allow_http,
    ports: [...config.outbound.ports],
    own_hosts: [],
  };
  const passthrough = createPassthrough(inside.legacy_url, runtime.log);
  const webhook_secret = config.webhook.secret ?? (sandbox === null ? null : new Secret(randomUUID()));
  let eventsWaiting = (): void => undefined; // what comes before the work has started is in the inbox
  const publicDoor = await openPublicDoor({
    runtime,
    config,
    metrics,
    passthrough,
    webhook_secret,
    eventsWaiting: () => eventsWaiting(),
  });
  const public_url = config.public.url ?? publicDoor.own_url;
  policy.own_hosts.push(new URL(public_url).host);
  if (sandbox === null && config.public.url === null)
    remarks.push(
      `public.url is not set: notices of QR sales send receivers to ${public_url}; set it to what they reach.`,
    );
  const work = startWork(runtime, config, metrics, policy, public_url);
  inside.onNotices(work.notices);
  eventsWaiting = work.events;
  const state = { ready: true };
  if (sandbox !== null) {
    const webhooks = {
      webhook_url: `${publicDoor.own_url}/webhooks/orders`,
      webhook_secret: webhook_secret?.reveal() ?? '',
    };
    sandbox.world.configure(webhooks);
    sandbox.world.onReset(() => {
      if (!state.ready) return;
      sandbox.world.configure(webhooks);
      // A create that is under way ends by itself; what has its order has lost it.
      closeLeftovers(runtime, (link) => link.order_id !== null).catch((error: unknown) =>
        runtime.log.error('open payments could not be closed after a reset', { cause: String(error) }),
      );
    });
  }

  const ops_token = config.ops.token ?? new Secret(randomBytes(24).toString('base64url'));
  const opsDoor = await openOpsDoor(config, runtime, metrics, ops_token, policy, () => state.ready);
  return {
    public_url,
    ops_url: doorUrl('http', config.ops.host, opsDoor.port),
    ops_token,
    ops_token_made: config.ops.token === null,
    sandbox,
    remarks,
    async close() {
      state.ready = false;
      await Promise.all([publicDoor.close(config.shutdown.grace_ms), opsDoor.close(config.shutdown.grace_ms)]);
      passthrough.close();
      await work.stop();
      await inside.closeUpstreams();
      await runtime.store.close();
      await sandbox?.close();
    },
  };
}

interface Inside {
  runtime: Runtime;
  sandbox: Sandbox | null;
  /** Base URL of the legacy API. */
  legacy_url: string;
  closeUpstreams(): Promise<void>;
  /** Names who delivers notices; they can be committed before. */
  onNotices(wake: () => void): void;
}

/** Everything behind the doors: tables, store, upstream, and what the stories are handed. */
async function openInside(config: Config, parts: AppParts, metrics: Metrics, remarks: string[]): Promise<Inside> {
  const log = parts.log ?? createLog(config.log.level);
  const clock = parts.clock ?? systemClock;
  const tables = parts.tables ?? loadTables(MAPPINGS);
  makeDirectory(config.data_dir);
  const vault = createVault(secretKey(config, remarks));
  const path = join(config.data_dir, 'puente.db');
  if (!existsSync(path)) remarks.push(`A new database was made: ${path}.`);
  const store = await openSqliteStore({
    path,
    create: true,
    key_mark: vault.keyed('key-check', 'puente'),
    now: clock.now,
    ...(parts.onFatal === undefined ? {} : { onFatal: parts.onFatal }),
    ...(parts.failpoint === undefined ? {} : { failpoint: parts.failpoint }),
  });
  const sandbox = config.upstream === 'sandbox' ? await startSandbox(sandboxOptions(config)) : null;
  const legacy_url = config.legacy_upstream === 'sandbox' ? (sandbox?.url ?? '') : config.legacy_upstream;
  const upstream = upstreamClient(sandbox?.url ?? config.upstream, config, metrics);
  const legacy_upstream = upstreamClient(legacy_url, config, metrics);
  let wake = (): void => undefined;
  const runtime = createRuntime(config, {
    store,
    upstream,
    legacy_upstream,
    tables,
    vault,
    clock,
    random: parts.random ?? Math.random,
    log,
    count: metrics.count,
    noticesWaiting: () => wake(),
    failpoint: parts.failpoint ?? (() => undefined),
  });
  const leftovers = sandbox === null ? 0 : await closeLeftovers(runtime);
  if (leftovers > 0)
    remarks.push(`${leftovers} open payments of an earlier sandbox were closed: the sandbox starts empty.`);
  return {
    runtime,
    sandbox,
    legacy_url,
    async closeUpstreams() {
      await Promise.all([upstream.close(), legacy_upstream.close()]);
    },
    onNotices: (named) => {
      wake = named;
    },
  };
}

function upstreamClient(baseUrl: string, config: Config, metrics: Metrics): UpstreamClient {
  return createUpstream({
    baseUrl,
    connections: config.upstream_pool.connections,
    connectTimeout_ms: config.upstream_pool.connect_timeout_ms,
    userAgent: 'Puente',
    onOutcome: (name, kind, status, duration_ms) => metrics.upstream(name, outcomeLabel(kind, status), duration_ms),
  });
}

/** The sandbox sends its events to our own door, whose certificate may be a private one. */
function sandboxOptions(config: Config): SandboxOptions {
  const tls = readTls(config);
  return { ...config.sandbox, ...(tls === null ? {} : { webhook_certificate: tls.certificate }) };
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

/** The ops door serves a few people on one network. */
const opsLimits = {
  headers_timeout_ms: 10_000,
  request_timeout_ms: 30_000,
  keep_alive_timeout_ms: 5_000,
  max_connections: 200,
};

function openOpsDoor(
  config: Config,
  runtime: Runtime,
  metrics: Metrics,
  token: Secret,
  policy: OutboundPolicy,
  ready: () => boolean,
): Promise<Listening> {
  const app = opsApp({ runtime, token, metrics, ready, checkUrl: (url) => void checkUrl(url, policy) });
  return listen(app, { ...opsLimits, name: 'ops.port', host: config.ops.host, port: config.ops.port });
}

function outcomeLabel(kind: string, status: number | null): string {
  return status === null ? kind : `${Math.floor(status / 100)}xx`;
}
