/** Puente as an operator runs it, with the few settings that a benchmark needs. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, type Running, readStartScript, startProcess } from '../processes.ts';
import type { Ground } from './contestants.ts';

export const WEBHOOK_SECRET = 'the webhook secret of the benchmark';
/** Fixed, because a later start on the same database must read what an earlier one sealed. */
const SECRET_KEY = 'the sealing key of the benchmark, 32 characters or more';
export const OPS_TOKEN = 'the-ops-token-of-the-benchmark-0001';
/** The benchmark's terminals never change, so polls of open orders would be noise; production relies on events. */
const NO_LOOKS_MS = '3600000';

export function databaseOf(directory: string): string {
  return join(directory, 'puente-data', 'puente.db');
}

interface PuentesGround extends Ground {
  node_options?: readonly string[];
  /** The checkout that runs; by default this one. */
  root?: string;
}

/**
 * Starts Puente with the shipped settings, except addresses, keys and polls of open orders.
 * @param settings added to these, as environment variables.
 */
export async function startPuente(
  ground: PuentesGround,
  settings: Record<string, string> = {},
  start_limit_ms?: number,
): Promise<Running> {
  const { root = ROOT } = ground;
  const first = compiled.get(root) ?? compileOnce(ground);
  compiled.set(root, first);
  await first;
  return start(ground, settings, start_limit_ms);
}

/** On a file no measurement is a first start: an earlier one fills Node's compile cache, as in any installation. */
const compiled = new Map<string, Promise<void>>();

async function compileOnce(ground: PuentesGround): Promise<void> {
  const { fsync_delay_us: _slow, ...plain } = ground;
  const first = await start({ ...plain, directory: join(ground.directory, 'first') }, {});
  await first.stop();
}

function start(
  { upstream, core, directory, node_options = [], fsync_delay_us, root = ROOT }: PuentesGround,
  settings: Record<string, string>,
  start_limit_ms?: number,
): Promise<Running> {
  mkdirSync(join(directory, 'puente-data'), { recursive: true });
  const { environment, options } = readStartScript(root);
  return startProcess({
    name: 'puente',
    script: 'src/main.ts',
    root,
    core,
    directory,
    ready: /public door +(http:\/\/127\.0\.0\.1:\d+)/,
    node_options: [...options, ...node_options],
    ...(start_limit_ms === undefined ? {} : { start_limit_ms }),
    ...(fsync_delay_us === undefined ? {} : { fsync_delay_us }),
    env: {
      ...environment,
      PUENTE_UPSTREAM: upstream,
      PUENTE_SECRET_KEY: SECRET_KEY,
      PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
      PUENTE_DATA_DIR: join(directory, 'puente-data'),
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_OPS_TOKEN: OPS_TOKEN,
      PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
      PUENTE_RECONCILE_POINT_INTERVAL_MS: NO_LOOKS_MS,
      PUENTE_RECONCILE_QR_INTERVAL_MS: NO_LOOKS_MS,
      PUENTE_RECONCILE_MAX_INTERVAL_MS: NO_LOOKS_MS,
      ...settings,
    },
  });
}
