/** A shop that loses answers: a Puente that restarts, an upstream that keeps running, and a relay before Puente. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Clock } from '../../src/proxy/clock.ts';
import { faultSchema } from '../../src/sandbox/actions.ts';
import { createFault } from '../../src/sandbox/faults.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/server.ts';
import { usualKeeping } from '../engines/keeping.ts';
import { beginWriter } from '../engines/writer-threads.ts';
import { call, OPS_TOKEN, sandboxProfile, tables } from '../kit.ts';
import type { Authority } from './authority.ts';
import { startRelay } from './sdk-relay.ts';

/** Short, because tests wait for lost answers; long enough for six shops at once on a loaded machine. */
const TIMES = { PUENTE_CREATE_DEADLINE_MS: '5000', PUENTE_CREATE_ATTEMPT_TIMEOUT_MS: '1500' };

export interface LossyShop {
  door_url: string;
  sandbox: Sandbox;
  /** Advances Puente's clock only. */
  advance(duration_ms: number): void;
  /** Until `mendUpstream`, orders are made and their answers are lost. */
  loseOrders(): void;
  mendUpstream(): void;
  /** Whether upstream's events reach Puente. */
  sendEvents(are_sent: boolean): void;
  /** Resolves when an answer to a till was lost. */
  loseNextAnswer(): Promise<void>;
  restart(): Promise<void>;
  /** The person at a terminal, or the buyer: `path` of the sandbox's control door. */
  act(path: string, body?: unknown): Promise<void>;
  ops(path: string, options?: Parameters<typeof call>[1]): ReturnType<typeof call>;
  close(): Promise<void>;
}

/** @param authority signs the door's certificate; null for a door without TLS. */
export async function openLossyShop(
  authority: Authority | null,
  settings: Record<string, string> = {},
): Promise<LossyShop> {
  const relay = await startRelay();
  const data_dir = mkdtempSync(join(tmpdir(), 'puente-lossy-'));
  const sandbox = await startSandbox({
    host: '127.0.0.1',
    port: 0,
    profile: sandboxProfile(),
    ...(authority === null ? {} : { webhook_certificate: readFileSync(authority.certificate_file, 'utf8') }),
  });
  const door_url = `${authority === null ? 'http' : 'https'}://127.0.0.1:${relay.port}`;
  const webhook_secret = 'webhook-secret-of-the-lossy-shop';
  sandbox.world.configure({ webhook_url: `${door_url}/webhooks/orders`, webhook_secret });
  let ahead_ms = 0;
  const clock: Clock = {
    now: () => Date.now() + ahead_ms,
    sleep: (duration_ms) => new Promise((resolve) => setTimeout(resolve, duration_ms)),
    monotonic: () => performance.now() + ahead_ms,
  };
  const config = loadConfig({
    env: {
      PUENTE_UPSTREAM: sandbox.url,
      PUENTE_LEGACY_UPSTREAM: sandbox.url,
      PUENTE_DATA_DIR: data_dir,
      PUENTE_PUBLIC_PORT: '0',
      PUENTE_OPS_PORT: '0',
      PUENTE_OPS_TOKEN: OPS_TOKEN,
      PUENTE_SECRET_KEY: 'b5'.repeat(32),
      PUENTE_WEBHOOK_SECRET: webhook_secret,
      PUENTE_ROUTING_DEFAULT_STAGE: 'orders',
      PUENTE_OUTBOUND_ALLOW_PRIVATE: 'true',
      PUENTE_LOG_LEVEL: 'silent',
      PUENTE_READS_FRESH_MS: '0',
      PUENTE_READS_SEARCH_FRESH_MS: '0',
      PUENTE_LIMITS_LAG_MS: '600000',
      ...TIMES,
      ...(authority === null
        ? {}
        : {
            PUENTE_PUBLIC_TLS_CERTIFICATE_FILE: authority.certificate_file,
            PUENTE_PUBLIC_TLS_KEY_FILE: authority.key_file,
          }),
      ...(await usualKeeping().settings(data_dir)),
      ...settings,
    },
    cwd: process.cwd(),
  });
  const start = async (): Promise<App> => {
    const app = await startApp(config, { tables: tables(), clock, beginWriter });
    relay.target = Number(new URL(app.public_url).port);
    return app;
  };
  let app = await start();
  return {
    door_url,
    sandbox,
    advance(duration_ms) {
      ahead_ms += duration_ms;
    },
    loseOrders() {
      const rule = { method: 'POST', path: '/v1/orders', kind: 'no_answer', when: 'after', times: 'always' };
      sandbox.world.faults.push(createFault(faultSchema.parse(rule)));
    },
    mendUpstream() {
      sandbox.world.faults.length = 0;
    },
    sendEvents: (are_sent) => void sandbox.world.configure({ webhook_mode: are_sent ? 'normal' : 'drop' }),
    loseNextAnswer: relay.loseNextAnswer,
    async restart() {
      relay.target = null;
      await app.close();
      app = await start();
    },
    async act(path, body = {}) {
      const { status, text } = await call(`${sandbox.url}/_sandbox/${path}`, { body });
      if (status !== 200) throw new Error(`that could not be done: ${text}`);
    },
    ops: (path, options) => call(app.ops_url + path, { token: OPS_TOKEN, ...options }),
    async close() {
      await app.close();
      await relay.close();
      await sandbox.close();
      await usualKeeping().drop(data_dir);
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}
