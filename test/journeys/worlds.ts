/** The three routes of a till's calls, each in its own world: legacy directly, proxied by Puente, or on orders. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/proxy/clock.ts';
import { systemClock } from '../../src/proxy/clock.ts';
import type { Profile } from '../../src/sandbox/assumptions.ts';
import { startSandbox } from '../../src/sandbox/server.ts';
import { usualKeeping } from '../engines/keeping.ts';
import { type Bench, call, eventually, type Receiver, sandboxProfile, startBench, startReceiver } from '../kit.ts';
import { closing } from '../open.ts';
import { closed, reportOnClosed, WORLD_KEY } from './limitation-hits.ts';
import type { ScriptWorld } from './till-script.ts';

export type Way = 'direct' | 'proxied' | 'orders';

export interface WorldOptions {
  merchant: string;
  dialect?: 'point_integration_ipn' | 'point_integration_wh';
  /** The merchant's settings at Puente. The default shows a declined payment as legacy did. */
  settings?: Record<string, unknown>;
  /** Profile of the sandbox; the default is that of the whole run. */
  profile?: Profile;
  /** Puente's settings, as environment variables. */
  environment?: Record<string, string>;
  clock?: Clock;
}

export interface OpenWorld extends ScriptWorld {
  /** Without Puente where tills call legacy directly. */
  bench: Pick<Bench, 'sandbox' | 'control' | 'close'> & Partial<Bench>;
  receiver: Receiver;
  close(): Promise<void>;
}

const NOTICE_SECRET = 'notice-secret-of-the-till';

export async function openWorld(way: Way, options: WorldOptions): Promise<OpenWorld> {
  const { merchant, dialect = 'point_integration_ipn', settings = { declined: 'finished' } } = options;
  const receiver = await startReceiver();
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-world-'));
  const { clock = systemClock } = options;
  const since = clock.now();
  const environment = {
    PUENTE_ROUTING_DEFAULT_STAGE: way === 'orders' ? 'orders' : 'legacy',
    // Scripts poll faster than people; LIM-11 has its own test.
    PUENTE_READS_FRESH_MS: '0',
    PUENTE_DATA_DIR: data_dir,
    PUENTE_SECRET_KEY: WORLD_KEY,
    ...(options.profile === undefined ? {} : { PUENTE_SANDBOX_PROFILE: options.profile }),
    ...options.environment,
  };
  const bench: OpenWorld['bench'] =
    way === 'direct' ? await startAlone(options.profile) : await startBench(environment, { clock });
  const url = `${receiver.url}?tenant=7`;
  const tells_payments = dialect === 'point_integration_ipn';
  // The vendor's panel keeps the URL in all three worlds; its IPN covers payments too.
  const target = { url, topic: dialect, secret: NOTICE_SECRET, ...(tells_payments ? { ipn_url: url } : {}) };
  const panel = `${bench.sandbox.url}/_sandbox/legacy/merchants/${merchant}/notifications`;
  await call(panel, { method: 'PUT', body: target });
  if (way === 'orders')
    await bench.notify?.(merchant, { notice_url: url, dialect, notice_secret: NOTICE_SECRET, ...settings });
  const delivered = async (): Promise<number> => {
    const text = (await bench.ops?.('/metrics'))?.text ?? '';
    return Number(/^puente_notice_attempts_total\{outcome="delivered"\} (\d+)$/m.exec(text)?.[1] ?? 0);
  };
  return {
    bench,
    receiver,
    door_url: bench.app?.public_url ?? bench.sandbox.url,
    control_url: bench.sandbox.url,
    merchant,
    tells_payments,
    async notices(count) {
      const received = await receiver.waitFor(count);
      // A till that is answered then is known to have its sale; on a database server that is stored some milliseconds later.
      if (way === 'orders') await eventually(delivered, (notices) => notices >= received.length);
      return received;
    },
    async close() {
      await bench.close();
      await receiver.close();
      const notice_agent = options.environment?.PUENTE_NOTICES_USER_AGENT ?? 'Puente';
      if (way === 'orders') closed.reports?.push(await reportOnClosed(data_dir, { since, clock, notice_agent }));
      await usualKeeping().drop(data_dir);
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}

async function startAlone(profile = sandboxProfile()): Promise<OpenWorld['bench']> {
  const settings = { local_notification_urls: 'called' };
  const sandbox = await startSandbox({ port: 0, host: '127.0.0.1', profile, settings });
  return { sandbox, control: (path, options) => call(`${sandbox.url}/_sandbox${path}`, options), close: sandbox.close };
}

/** Runs `run` in each world, one after the other, and closes the worlds. */
export async function inEachWay<T, World extends { close(): Promise<void> } = OpenWorld>(
  options: WorldOptions,
  ways: readonly Way[],
  run: (world: World) => Promise<T>,
  open = openWorld as unknown as (way: Way, options: WorldOptions) => Promise<World>, // the default world
): Promise<Record<Way, T>> {
  const results: Partial<Record<Way, T>> = {};
  for (const way of ways) {
    await using world = closing(await open(way, options));
    results[way] = await run(world);
  }
  return results as Record<Way, T>; // callers read only the ways they named
}
