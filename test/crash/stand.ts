/** The parts of a crash test that outlive the server: sandbox, receiver, webhook address and data directory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { faultSchema } from '../../src/sandbox/actions.ts';
import { createFault } from '../../src/sandbox/faults.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { type Keeping, usualKeeping } from '../engines/keeping.ts';
import { startRelay } from '../journeys/sdk-relay.ts';
import { call, OPS_TOKEN, type Receiver, startReceiver } from '../kit.ts';
import { closing } from '../open.ts';
import { type Build, type Child, SOURCES, startChild } from './child.ts';
import { keptBundle } from './kept-bundle.ts';

/** Every sale has its own terminal, so that an open one never blocks the next. */
const TERMINALS = 600;
/** A key of full length: deriving one from a passphrase is slow on purpose, at every start. */
export const SECRET_KEY = 'c7'.repeat(32);
const WEBHOOK_SECRET = 'webhook-secret-of-the-crash-tests';

/** Short, because every kill waits for them; long enough for a busy machine. */
const TIMES = {
  PUENTE_CREATE_DEADLINE_MS: '2000',
  PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '800',
  PUENTE_CREATE_SETTLE_AFTER_MS: '500',
  // Minutes may pass between a kill and a retry without a key; other tests cover the window.
  PUENTE_CREATE_JOIN_WINDOW_MS: '900000',
  PUENTE_READS_FRESH_MS: '0',
  PUENTE_READS_TIMEOUT_MS: '2000',
  PUENTE_RECONCILE_POINT_INTERVAL_MS: '300',
  PUENTE_RECONCILE_MAX_INTERVAL_MS: '1000',
  // Many servers on one machine all lag; other tests cover load shedding.
  PUENTE_LIMITS_LAG_MS: '30000',
};

export interface Stand {
  sandbox: Sandbox;
  receiver: Receiver;
  data_dir: string;
  /** Path of the SQLite file, if used. */
  database: string;
  read<Row>(sql: string): Promise<Row[]>;
  integrity(): Promise<string>;
  environment: Record<string, string>;
  child: Child | null;
  /** Starts the server; `armed` is a failpoint, `name` or `name:n`. Null when it was killed during its start. */
  start(armed?: string, build?: Build): Promise<Child | null>;
  said(): string;
  /** Kills the last server, even while it starts. */
  killStarting(): void;
  fault(rule: Record<string, unknown>): void;
  /** Advances the sandbox's clock: webhooks are sent again, orders expire. */
  advance(duration_ms: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * @param settings environment of the server on top of the short times.
 * @param terminals limits the number of sales.
 */
export async function startStand(
  settings: Record<string, string> = {},
  keeping: Keeping = usualKeeping(),
  terminals = TERMINALS,
): Promise<Stand> {
  const receiver = await startReceiver();
  const sandbox = await startSandbox({ host: '127.0.0.1', port: 0, settings: { extra_terminals: terminals } });
  // A fixed address in front of the server's changing port: the upstream repeats webhooks to the same URL.
  const address = await startRelay();
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-crash-'));
  sandbox.world.configure({
    webhook_url: `http://127.0.0.1:${address.port}/webhooks/orders`,
    webhook_secret: WEBHOOK_SECRET,
  });
  const environment = {
    PUENTE_UPSTREAM: sandbox.url,
    PUENTE_LEGACY_UPSTREAM: sandbox.url,
    PUENTE_DATA_DIR: data_dir,
    PUENTE_PUBLIC_PORT: '0',
    PUENTE_OPS_PORT: '0',
    PUENTE_OPS_TOKEN: OPS_TOKEN,
    PUENTE_SECRET_KEY: SECRET_KEY,
    PUENTE_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
    // C13 moves a merchant at random; other tests cover the conditions of a move.
    PUENTE_MOVES_GATE: 'advise',
    PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
    PUENTE_MERCHANTS_NOTICE_URL: receiver.url,
    PUENTE_LOG_LEVEL: 'warn',
    ...TIMES,
    ...(await keeping.settings(data_dir)),
    ...settings,
  };
  const children: Child[] = [];
  const stand: Stand = {
    sandbox,
    receiver,
    data_dir,
    database: join(data_dir, 'puente.db'),
    read: (sql) => keeping.read(data_dir, sql),
    integrity: () => keeping.integrity(data_dir),
    environment,
    child: null,
    async start(armed, build = usual) {
      const arm = armed === undefined ? {} : { NODE_ENV: 'test', CRASH_TEST_FAILPOINT: armed };
      address.target = null;
      await keeping.release(data_dir);
      stand.child = await startChild({ ...environment, ...arm }, build, (kill) => {
        stand.killStarting = kill;
      });
      if (stand.child !== null) children.push(stand.child);
      address.target = stand.child === null ? null : Number(new URL(stand.child.public_url).port);
      return stand.child;
    },
    said: () => children.map((child, index) => `--- ${index + 1}\n${child.output()}`).join('\n'),
    killStarting: () => undefined,
    fault: (rule) => void sandbox.world.faults.push(createFault(faultSchema.parse(rule))),
    async advance(duration_ms) {
      await call(`${sandbox.url}/_sandbox/clock`, { body: { advance_ms: duration_ms } });
      await sandbox.world.settled();
    },
    async close() {
      await stand.child?.kill();
      await sandbox.close();
      await address.close();
      await receiver.close();
      await keeping.drop(data_dir);
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
  return stand;
}

let usual: Build = SOURCES;

export async function bundleSources(): Promise<void> {
  usual = await keptBundle(warmUp);
}

export function usualBuild(): Build {
  return usual;
}

/** One start with a clean stop, which fills the compile cache for the many starts after it. */
export async function warmUp(build: Build): Promise<void> {
  await using stand = closing(await startStand());
  const child = await stand.start(undefined, build);
  await child?.stop();
  if (child?.process.exitCode !== 0) throw new Error(`the server did not end cleanly:\n${child?.output()}`);
}
