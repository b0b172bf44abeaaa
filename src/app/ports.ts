/** Makes the ports of the proxy from the settings. */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { PuenteError } from '../error.ts';
import type { LoadedTables } from '../mapping/tables.ts';
import type { Ports } from '../ops/ports.ts';
import { type Clock, rememberingClock } from '../proxy/clock.ts';
import type { Log } from '../proxy/log.ts';
import { checkUrl, type OutboundPolicy } from '../proxy/notices/guard.ts';
import { withoutCredentials } from '../proxy/notices/request.ts';
import { createProcessMemory, type Failpoint } from '../proxy/process-memory.ts';
import { LATE_EFFECT_MS } from '../proxy/records/routing.ts';
import { createSafetyWatch } from '../proxy/safety.ts';
import type { Link } from '../proxy/sales/link.ts';
import { lost } from '../proxy/sales/recover.ts';
import { changeLink } from '../proxy/sales/settle.ts';
import type { CoreSettings } from '../proxy/settings.ts';
import { Secret } from '../proxy/vault.ts';
import type { Sandbox } from '../sandbox/server.ts';
import { makeDirectory } from '../store/directory.ts';
import type { BeginWriter } from '../store/sqlite/group-commit.ts';
import type { StartStep } from './welcome.ts';
import type { joinWorkers } from './workers.ts';

/** Most links that are closed at once after a sandbox lost its orders. */
const MAX_LEFTOVERS = 10_000;

export interface PortParts extends Pick<Ports, 'store' | 'upstreams' | 'tables' | 'vault' | 'clock' | 'log' | 'count'> {
  evidence: Omit<Ports['evidence'], 'safety'>;
  /** Jitter of pauses, in [0, 1). */
  random: () => number;
  failpoint: Failpoint;
}

/** Ports with the settings of the proxy and an empty process memory, without an exchange; each call gets its own. */
export function createPorts(config: Config, { random, failpoint, ...parts }: PortParts): Ports {
  const settings = coreSettings(config);
  const safety = createSafetyWatch({ ...parts, settings });
  return {
    ...parts,
    clock: rememberingClock(parts.clock),
    evidence: { ...parts.evidence, safety },
    settings,
    notices: noticeUrls(config),
    memory: createProcessMemory({ now: parts.clock.now, random, failpoint }),
    exchange: null,
  };
}

function noticeUrls(config: Config): Ports['notices'] {
  const policy = outboundPolicy(config);
  const { allow_private, allow_http } = policy;
  return {
    scheme: allow_private || allow_http ? 'http' : 'https',
    mayCall(url) {
      try {
        checkUrl(withoutCredentials(url).url, policy);
        return true;
      } catch {
        return false;
      }
    },
  };
}

/** Without own hosts: the start adds them once the public door has an address. */
export function outboundPolicy({ outbound }: Config): OutboundPolicy {
  const { allow_private, allow_http, ports } = outbound;
  return { allow_private, allow_http, ports: [...ports], own_hosts: [] };
}

/**
 * Closes links and ends legacy sales that a fresh or reset sandbox has lost, so that they hold no terminals. A sandbox
 * that restored its world keeps its legacy sales too.
 * @param which links may be closed. @returns how many were closed.
 */
export async function closeLeftovers(
  runtime: Ports,
  { world, is_restored }: Sandbox,
  which: (link: Link) => boolean = () => true,
): Promise<number> {
  const due = await runtime.store.links.dueLinks(Number.MAX_SAFE_INTEGER, MAX_LEFTOVERS);
  // A create in doubt is resolved by its idempotency key, which a restored world still has.
  const isLost = ({ order_id }: Link): boolean => (order_id === null ? !is_restored : !world.orders.has(order_id));
  const leftovers = due.filter((link) => which(link) && isLost(link));
  const close = (link: Link) => changeLink(runtime, link, () => ({ change: lost(link, runtime.clock.now()) }));
  // The mutex lets a read that was answered before the reset apply first: later it would reopen the link.
  for (const link of leftovers) await runtime.memory.mutex.run(`order:${link.order_id}`, () => close(link));
  const keepsLegacy = is_restored && world.intents.size + world.qr_orders.size > 0;
  return leftovers.length + (keepsLegacy ? 0 : await endLegacySales(runtime));
}

/** Ends the open legacy sales, except a create that is being proxied now: it ends normally. */
async function endLegacySales({ store, clock }: Ports): Promise<number> {
  let ended = 0;
  for (const { id } of await store.merchants.merchants()) {
    for (const sale of await store.legacy_sales.openLegacySales(id, clock.now(), MAX_LEFTOVERS)) {
      if (sale.state === 'SENDING' && sale.updated_at + LATE_EFFECT_MS > clock.now()) continue;
      await store.legacy_sales.saveLegacySale(sale.id, { state: 'ENDED' });
      ended++;
    }
  }
  return ended;
}

/** @throws PuenteError bad_setting when it can't be made, or this user can't write there. */
export function makeDataDirectory(path: string): void {
  try {
    makeDirectory(path);
  } catch (error) {
    throw unusableDirectory(path, error);
  }
}

function unusableDirectory(path: string, cause: unknown): PuenteError {
  const why = cause instanceof Error ? cause.message : 'unknown';
  return new PuenteError(
    'bad_setting',
    `data_dir: ${path} can't be used as a directory (${why}); give this user a directory with room to write to, or name another with PUENTE_DATA_DIR`,
    { cause },
  );
}

/** The configured key, or the sandbox's own, generated in the data directory (`docs/architecture.md` Decision 9). */
export function secretKey(config: Config, remarks: string[]): Secret {
  if (config.secret_key !== null) return config.secret_key;
  const path = join(config.data_dir, 'sandbox.key');
  try {
    if (!existsSync(path)) {
      writeFileSync(path, randomBytes(32).toString('base64'), { mode: 0o600, flag: 'wx' });
      remarks.push(`A key for sealing tokens was made in ${path}; with a real upstream set PUENTE_SECRET_KEY instead.`);
    }
    return new Secret(readFileSync(path, 'utf8'));
  } catch (error) {
    throw unusableDirectory(config.data_dir, error);
  }
}

function coreSettings(config: Config): CoreSettings {
  return {
    create: config.create,
    reads: config.reads,
    tokens: config.tokens,
    reconcile: config.reconcile,
    // The stage of merchants without one of their own.
    merchants: { ...config.merchants, stage: config.routing.default_stage },
    notices: config.notices,
    routing: config.routing,
    moves: config.moves,
    safety: config.safety,
    sweep: { per_second: config.reconcile.sweep_per_second, age_ms: config.reconcile.sweep_age_ms },
    evidence: config.evidence,
    retention: config.retention,
  };
}

/** Optional parts: replacements for tests, and hooks of the process. */
export interface AppParts {
  clock?: Clock;
  /** Jitter of pauses, in [0, 1). */
  random?: () => number;
  log?: Log;
  /** Proved and compiled already, for example to observe which rows fire. */
  tables?: LoadedTables;
  failpoint?: Failpoint;
  /** Set in a worker process: shares the metrics of all workers. */
  joinWorkers?: typeof joinWorkers;
  /** Called as each step of a start ends. */
  onStep?: (step: StartStep) => void;
  /** Called when the store can't be trusted any more. */
  onFatal?: (error: PuenteError) => void;
  /** Free space on the disk of the database; simulates a full disk. */
  free_bytes?: () => Promise<number>;
  /** Source of the standard OpenTelemetry variables; without it there is no telemetry. */
  environment?: NodeJS.ProcessEnv;
  /** Upper limit of the database, pages; simulates a full disk. */
  max_pages?: number;
  /** Starts the thread that writes the file; by default one for this store alone. */
  beginWriter?: BeginWriter;
}
