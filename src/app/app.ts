/** The one wiring place: settings in, a running Puente out. */
import { randomBytes, randomUUID } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Config } from '../config/config.ts';
import { hasNoPeople } from '../config/contradictions.ts';
import { assumptionsOf } from '../config/describe.ts';
import { healthApp } from '../ops/api/health.ts';
import { type OpsApp, opsApp, refuseOpsHead } from '../ops/api/server.ts';
import { type Alerting, startAlerting } from '../ops/incidents/alerts.ts';
import type { Ports } from '../ops/ports.ts';
import { type Admission, createAdmission } from '../proxy/http/admission.ts';
import { loadedLate } from '../proxy/http/loaded-late.ts';
import { createPassthrough } from '../proxy/http/passthrough.ts';
import { type Listening, listen } from '../proxy/http/server.ts';
import { checkUrl, type OutboundPolicy } from '../proxy/notices/guard.ts';
import { createMetrics, type Metrics } from '../proxy/telemetry/telemetry.ts';
import { Secret } from '../proxy/vault.ts';
import type { Sandbox } from '../sandbox/server.ts';
import { type Inside, observe, openInside } from './inside.ts';
import { installationOf } from './installation.ts';
import { type AppParts, closeLeftovers, outboundPolicy } from './ports.ts';
import { doorUrl, openPublicDoor } from './public.ts';
import type { Started } from './welcome.ts';
import { startWork, type WorkWithSender } from './work.ts';
import type { WorkerSide } from './workers.ts';

export type { AppParts };

export interface App extends Started {
  /** Set in a worker process; null in a single process. */
  worker: WorkerSide | null;
  /** Imports the operators' API and console before their first request; tills use neither. */
  loadRest(): Promise<void>;
  /** Stops accepting, lets running calls end within the grace period, and closes the store. */
  close(): Promise<void>;
}

/**
 * Starts everything: tables and their proofs first, then the store, then the doors.
 * @throws PuenteError bad_tables, store_unusable or bad_setting; the caller then ends the process.
 */
export async function startApp(config: Config, parts: AppParts = {}): Promise<App> {
  const remarks: string[] = [];
  const metrics = createMetrics();
  const admission = createAdmission(config.limits, () => performance.now(), metrics.count);
  const inside = await openInside(config, parts, metrics, admission, remarks);
  const { ports, sandbox } = inside;
  const readings = () => metrics.read(ports.store, admission);
  const telemetry = await observe(config, parts, inside, readings, remarks);
  const worker = parts.joinWorkers?.(readings) ?? null;
  const policy = outboundPolicy(config);
  const passthrough = createPassthrough(inside.legacy_url, config.limits.calls, ports.log);
  const webhook_secret = config.webhook.secret ?? (sandbox === null ? null : new Secret(randomUUID()));
  const publicDoor = await openPublicDoor({
    ports,
    config,
    metrics,
    passthrough,
    admission,
    webhook_secret,
    telemetry,
  });
  const public_url = config.public.url ?? publicDoor.own_url;
  policy.own_hosts.push(new URL(public_url).host);
  if (!config.outbound.allow_private) policy.own_hosts.push(...ownAddresses());
  if (sandbox === null && config.public.url === null) remarks.push(urlNotSet(public_url));
  const work = startWork(ports, config, metrics, policy, public_url, telemetry);
  const { receivers, language, allow_private } = config.alerts;
  const alerting = startAlerting(
    ports,
    { receivers, language },
    alertPolicy(policy, allow_private, public_url),
    config.notices.user_agent,
  );
  const state = { ready: true };
  if (sandbox !== null) attachSandbox(sandbox, ports, webhook_secret, publicDoor.own_url, () => state.ready);
  // A generated token is printed and so ends up in logs: only a sandbox without configured operators gets one.
  const ops_token_made = sandbox !== null && hasNoPeople(config.ops);
  const ops_token = ops_token_made ? new Secret(randomBytes(24).toString('base64url')) : config.ops.token;
  const shown = worker === null ? metrics : { ...metrics, render: worker.pageOfAll };
  const ops = opsAppOf(config, inside, shown, admission, ops_token, policy, work.sender, alerting, () => state.ready);
  const probed = healthApp({ ready: () => state.ready, admission, store: ports.store });
  const { listening, ...urls } = await openOpsDoors(config, ops.app, probed, metrics);
  return {
    public_url,
    own_url: publicDoor.own_url,
    ...urls,
    ops_token,
    ops_token_made,
    sandbox,
    remarks,
    worker,
    loadRest: ops.load,
    async close() {
      state.ready = false;
      await closeDoors(publicDoor, listening, config.shutdown, worker);
      passthrough.close();
      admission.stop();
      await Promise.all([work.stop(), alerting.stop()]);
      await ports.evidence.safety.settled();
      await inside.finish();
      await telemetry?.stop();
      await ports.store.close();
      await sandbox?.close();
    },
  };
}

/** With private receivers allowed, one may be on this machine; the public door stays refused. */
function alertPolicy(policy: OutboundPolicy, allow_private: boolean, public_url: string): OutboundPolicy {
  const own_hosts = [new URL(public_url).host, ...(allow_private ? [] : ownAddresses())];
  return { ...policy, allow_private, own_hosts };
}

function urlNotSet(public_url: string): string {
  return `public.url is not set: notices of QR sales send receivers to ${public_url}; set it to what they reach.`;
}

/** A stopping worker answers `Connection: close` this long: clients in use call sooner, and reconnect elsewhere. */
const WORKER_FAREWELL_MS = 1_000;

/**
 * Closes the ops and the health door last: `/readyz` answers a load balancer 503 while calls end (`test/faults/README.md`
 * F53). A worker closes its own first, because the other workers keep answering for the host.
 */
async function closeDoors(
  publicDoor: Listening,
  probedDoors: readonly Listening[],
  { farewell_ms, grace_ms }: Config['shutdown'],
  worker: WorkerSide | null,
): Promise<void> {
  const closeProbed = (within_ms: number) => Promise.all(probedDoors.map((door) => door.close(within_ms)));
  if (worker !== null) await closeProbed(grace_ms);
  const notice_ms = worker?.isReplaced() === true ? 0 : farewell_ms;
  await publicDoor.farewell(notice_ms, worker === null ? 0 : WORKER_FAREWELL_MS);
  const end = performance.now() + grace_ms;
  await publicDoor.close(grace_ms);
  await closeProbed(Math.max(0, end - performance.now()));
}

/** Sends the sandbox's events to the public door; after its reset or restore, closes links to orders that it lost. */
function attachSandbox(
  sandbox: Sandbox,
  ports: Ports,
  secret: Secret | null,
  own_url: string,
  isRunning: () => boolean,
): void {
  const { world } = sandbox;
  const webhooks = { webhook_url: `${own_url}/webhooks/orders`, webhook_secret: secret?.reveal() ?? '' };
  world.configure(webhooks);
  world.onReset(async () => {
    if (!isRunning()) return;
    world.configure(webhooks);
    // A create in flight ends normally; only links that have an order id have lost their order.
    await closeLeftovers(ports, sandbox, (link) => link.order_id !== null);
  });
}

/** Addresses of this machine: a notice URL that resolves to one of them would reach Puente's own doors. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((found = []) => found.map(({ address }) => address));
}

/** Limits of the ops door, which serves a few people on one network, and of the one for probes. */
const opsLimits = {
  headers_timeout_ms: 10_000,
  request_timeout_ms: 30_000,
  keep_alive_timeout_ms: 5_000,
  write_timeout_ms: 30_000,
  header_limit_bytes: 8_192,
  max_connections: 200,
  max_requests_per_connection: 1_000,
};

function opsAppOf(
  config: Config,
  { ports, sandbox, legacy_url }: Inside,
  metrics: Metrics,
  admission: Admission,
  token: Secret | null,
  policy: OutboundPolicy,
  sender: WorkWithSender['sender'],
  alerting: Alerting,
  ready: () => boolean,
): OpsApp {
  const { host, hosts, tokens } = config.ops;
  return opsApp({
    ports,
    people: { token, tokens },
    hosts: [...hosts, host],
    metrics,
    admission,
    alerting,
    ready,
    installation: installationOf(config, { orders: sandbox?.url ?? config.upstream, legacy: legacy_url }, ports.clock),
    report_facts: {
      get assumptions() {
        return assumptionsOf(config);
      },
      notice_agent: config.notices.user_agent,
    },
    checkUrl: (url) => void checkUrl(url, policy),
    sender,
    console: (parts) =>
      loadedLate(async () => (await import('../ops/console/console.ts')).createConsole(parts)).handler,
  });
}

/** The ops door, and the one for probes if `health.port` is set. */
async function openOpsDoors(
  { ops, health: { host, port } }: Config,
  app: OpsApp['app'],
  probed: OpsApp['app'],
  metrics: Metrics,
): Promise<{ listening: Listening[]; ops_url: string; health_url: string | null }> {
  const door = await listenForOps('ops', ops, app, metrics);
  const ops_url = doorUrl('http', ops.host, door.port);
  if (port === null) return { listening: [door], ops_url, health_url: null };
  const health = await listenForOps('health', { host, port }, probed, metrics);
  return { listening: [door, health], ops_url, health_url: doorUrl('http', host, health.port) };
}

function listenForOps(
  door: 'ops' | 'health',
  { host, port }: { host: string; port: number },
  app: OpsApp['app'],
  metrics: Metrics,
): Promise<Listening> {
  return listen(app, {
    ...opsLimits,
    name: `${door}.port`,
    host,
    port,
    refuse: (_request, response) => refuseOpsHead(response),
    dropped: () => metrics.count('dropped_connections', door),
  });
}
